"""Host memory: 64-byte aligned buffers from a pool that keeps what was freed.

Reuse matters more than it looks: a fresh page costs a fault and a sweep of zeroing, which takes longer than most
kernels need for it. Small buffers are cut from slabs, large ones are mappings of their own on huge pages.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from graphc.config import settings
from graphc.errors import OutOfMemory
from graphc.runtime import memory

ALIGNMENT = 64
SLAB = 1 << 21  # memory comes from the system in pieces of at least this size; larger blocks are mappings of their own
LARGEST_SLAB = 1 << 24  # slabs grow with what their size has taken: weights of many layers come to lie on huge pages
HUGE_PAGE = 1 << 21
LEAST_ON_HUGE_PAGES = 1 << 16  # of a slab: for blocks of fewer bytes a page of 2 MB would be much for a few of them
CHECK_EVERY = 64 << 20  # the system is asked for its free memory once per so many new bytes
MOST_LISTS = 1 << 14
_blank = object.__new__


class Block:
    """A piece of memory that the pool lends out again and again."""

    __slots__ = ("address", "size", "mapping", "free")

    def __init__(self, address: int, size: int, mapping: object, free: list[Block]):
        self.address = address
        self.size = size
        self.mapping = mapping  # keeps the memory mapped
        self.free = free  # the list of free blocks of its size, to which it returns


class Buffer:
    """Bytes at an address. They stay where they are as long as the Buffer, or a view of it, is alive.

    address, nbytes  the memory; an empty buffer has a valid address too
    exports          NumPy views of it that are alive
    owner            what keeps the memory: a Block of the pool, or the array that was wrapped
    """

    __slots__ = ("address", "nbytes", "owner", "exports", "__weakref__")
    remote = False  # whether it is the memory of a device, of which NumPy sees copies

    def __init__(self, address: int, nbytes: int, owner: Any):
        self.address = address
        self.nbytes = nbytes
        self.owner = owner
        self.exports = 0

    @classmethod
    def wrap(cls, array: np.ndarray) -> Buffer:
        """The memory of a C-contiguous, aligned array in native byte order, shared and not copied.

        The caller sees to it that nobody writes to the array while the buffer is in use.
        """
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned and array.dtype.isnative):
            raise ValueError("only a C-contiguous, aligned array in native byte order can be wrapped")
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects is no memory for kernels")
        return cls(array.__array_interface__["data"][0] or ALIGNMENT, array.nbytes, array)

    def part(self, offset: int, nbytes: int) -> Buffer:
        """Some of its bytes, to be read. They keep the whole alive, and nobody writes to it in place meanwhile."""
        if offset < 0 or offset + nbytes > self.nbytes:
            raise ValueError(f"{nbytes} bytes at offset {offset} do not lie in a buffer of {self.nbytes} bytes")
        return Buffer(self.address + offset, nbytes, self)

    def view(self, dtype: Any, shape: Sequence[int]) -> np.ndarray:
        """A read-only array on this memory; it keeps the buffer alive."""
        return self._array(np.dtype(dtype), tuple(shape), True)

    def array(self, dtype: Any, shape: Sequence[int], wanted: int) -> np.ndarray | None:
        """The view for a user who wants so many bytes of it. None, on a device, if it is not worth copying for that."""
        return self.view(dtype, shape)

    def writable(self, dtype: Any, shape: Sequence[int]) -> np.ndarray:
        """An array on this memory for those who fill it: uploads and library calls."""
        return self._array(np.dtype(dtype), tuple(shape), False)

    def fill(self, array: np.ndarray) -> None:
        """Write the values of an array, from the start."""
        if array.size:
            self.writable(array.dtype, array.shape)[...] = array

    def _array(self, dtype: np.dtype, shape: tuple[int, ...], readonly: bool) -> np.ndarray:
        needed = math.prod(shape) * dtype.itemsize
        if needed > self.nbytes:
            raise ValueError(f"{needed} bytes do not lie in a buffer of {self.nbytes} bytes")
        if not needed:
            empty = np.empty(shape, dtype)
            empty.flags.writeable = not readonly
            return empty
        text = _typestr(dtype)
        if text is None:
            raw = np.asarray(Export(self, "|u1", (needed,), readonly))
            return np.ndarray(shape, dtype, buffer=raw)
        return np.asarray(Export(self, text, shape, readonly))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.nbytes} bytes at {self.address:#x}>"


class PooledBuffer(Buffer):
    """A buffer whose block goes back to the pool when Python lets go of it."""

    __slots__ = ("_pool",)

    def __del__(self) -> None:
        # The garbage collector may call this inside any allocation of this thread: it must not take a lock.
        block = self.owner
        lender = self._pool
        lender.in_use -= self.nbytes
        if lender.cached < lender.keep or block.size <= SLAB // 2:
            lender.cached += block.size
            block.free.append(block)  # else the system gets it back with the last reference to it


class Export:
    """What NumPy holds as the base of a view."""

    __slots__ = ("buffer", "__array_interface__")

    def __init__(self, buffer: Buffer, typestr: str, shape: tuple[int, ...], readonly: bool):
        self.buffer = buffer
        data = (buffer.address, readonly)
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "data": data}
        buffer.exports += 1

    def __del__(self) -> None:
        self.buffer.exports -= 1


@cache
def _typestr(dtype: np.dtype) -> str | None:
    """NumPy's short name of one of its own dtypes; those of other packages, such as bfloat16, have none."""
    return dtype.str if dtype.isbuiltin == 1 and dtype.isnative else None


class Pool:
    """Blocks by size class. Thread-safe; a buffer comes back when Python lets go of it.

    in_use      bytes lent out, as they were asked for
    high_water  the most that in_use has been since the process started or `reset_high_water()`
    cached      bytes of free blocks that are kept for reuse

    The common case, a free block of the size, takes no lock: pop and append are atomic, and so is `+=` on an int
    attribute under the interpreter lock. (Without that lock the figures may drift; no block is ever lent twice.)
    """

    def __init__(self, keep: int | None = None):
        self._keep_given = keep is not None
        self.keep = keep or 0  # the most bytes of free blocks to hold; by default a quarter of the memory there is
        self.in_use = 0
        self.high_water = 0
        self.cached = 0
        self._lock = threading.RLock()
        self._free: dict[int, list[Block]] = {}  # by size class
        self._lists: dict[int, list[Block]] = {}  # the same lists by the number of bytes asked for
        self._taken: dict[int, int] = {}  # bytes of the slabs of each size class
        self._unchecked = 0

    # ------------------------------------------------------------------------------------------------------ borrowing

    def allocate(self, nbytes: int) -> PooledBuffer:
        """A buffer of nbytes, with anything in it. Raises MemoryError, before touching memory, if it cannot fit."""
        try:
            block = self._lists[nbytes].pop()
        except (KeyError, IndexError):
            block = self._block(nbytes)
        self.cached -= block.size
        used = self.in_use = self.in_use + nbytes
        if used > self.high_water:
            self.high_water = used
        buffer = _blank(PooledBuffer)   # as PooledBuffer(...), without its call
        buffer.address, buffer.nbytes, buffer.owner, buffer.exports = block.address, nbytes, block, 0
        buffer._pool = self
        if settings.memory_limit is not None and used > settings.memory_limit:
            raise over_limit(nbytes, used - nbytes)  # the buffer goes back as the error leaves
        return buffer

    def require(self, nbytes: int) -> None:
        """Raise MemoryError if nbytes more do not fit. For a program that is about to allocate them in pieces."""
        limit = settings.memory_limit
        if limit is not None and self.in_use + nbytes > limit:
            raise over_limit(nbytes, self.in_use)
        if nbytes > self.cached:
            with self._lock:
                self._check_system(nbytes)

    def _block(self, nbytes: int) -> Block:
        """A block from the free list of its class, from a new slab, or mapped for it."""
        size = size_class(nbytes)
        with self._lock:
            if not self._keep_given:
                self._keep_given = True
                self.keep = memory.total_bytes() // 4
            if self.cached + size > self.keep:  # sizes of the past make room for those of today
                self._release(size)
            free = self._free.setdefault(size, [])
            if len(self._lists) > MOST_LISTS:
                self._lists.clear()
            self._lists[nbytes] = free
            if not free:
                self._unchecked += self._slab(size)
                if self._unchecked >= CHECK_EVERY:
                    self._check_system(size)
                    self._unchecked = 0
                free += self._new_blocks(size, free)
            try:
                return free.pop()
            except IndexError:  # other threads were faster
                block, *others = self._new_blocks(size, free)
                free += others
                return block

    def _slab(self, size: int) -> int:
        """The bytes to take from the system for blocks of a size."""
        if size > SLAB // 2:
            return size
        return max(SLAB, min(self._taken.get(size, 0), LARGEST_SLAB, 256 * size))

    def _new_blocks(self, size: int, free: list[Block]) -> list[Block]:
        slab = self._slab(size)
        huge = slab > SLAB or slab == SLAB and size >= LEAST_ON_HUGE_PAGES
        try:
            address, mapping = _map(slab, huge)
        except OutOfMemory:
            self._release(self.cached)
            address, mapping = _map(slab, huge)
        count = slab // size
        self._taken[size] = self._taken.get(size, 0) + slab
        self.cached += size * count
        return [Block(address + number * size, size, mapping, free) for number in range(count)]

    def _release(self, excess: int) -> None:
        """Give large blocks back to the system, the largest first, until `excess` bytes are gone."""
        for size in sorted(self._free, reverse=True):
            with contextlib.suppress(IndexError):   # none is left
                while size > SLAB // 2 and excess > 0:
                    self._free[size].pop()
                    self.cached -= size
                    excess -= size

    def _check_system(self, nbytes: int) -> None:
        if nbytes <= memory.available_bytes():
            return
        self._release(nbytes)
        free = memory.available_bytes()
        if nbytes > free:
            raise OutOfMemory(
                f"{nbytes:,} bytes are needed, {free:,} are free",
                fix="let go of tensors that are no longer needed, or compute in smaller parts",
            )

    # -------------------------------------------------------------------------------------------------- housekeeping

    def reset_high_water(self) -> None:
        self.high_water = self.in_use

    def after_fork(self) -> None:
        """In the child the lock may be held by a thread that does not exist here."""
        self._lock = threading.RLock()


def over_limit(nbytes: int, used: int) -> OutOfMemory:
    return OutOfMemory(
        f"{nbytes:,} bytes on top of {used:,} in use exceed GRAPHC_MEMORY_LIMIT={settings.memory_limit:,}",
        fix="raise GRAPHC_MEMORY_LIMIT, or let go of tensors that are no longer needed",
    )


def size_class(nbytes: int) -> int:
    """Multiples of 64 up to 1 KiB, then four to eight classes per doubling, so that at most a quarter lies idle.

    >>> [size_class(n) for n in (0, 1, 64, 65, 1024, 1025, 5000)]
    [64, 64, 64, 128, 1024, 1280, 5120]
    """
    if nbytes <= 1024:
        if nbytes < 0:
            raise ValueError(f"a buffer cannot have {nbytes} bytes")
        return (nbytes + 63) & -64 or 64
    step = (nbytes - 1).bit_length() - 3
    return -(-nbytes >> step) << step


def _map(size: int, huge: bool) -> tuple[int, object]:
    """(address, what keeps it mapped) of fresh private memory, on huge pages where that is asked for."""
    whole = (size + HUGE_PAGE // 2) // HUGE_PAGE * HUGE_PAGE  # of a last page that is less than half full most is waste
    try:
        room = max(size, whole) + HUGE_PAGE if huge else size
        mapping = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise OutOfMemory(f"the system does not give {size:,} bytes") from None
    array = np.frombuffer(mapping, np.uint8)
    address = array.__array_interface__["data"][0]
    if huge:
        start = -address % HUGE_PAGE
        with contextlib.suppress(OSError, AttributeError):  # a system without huge pages works as well, only slower
            mapping.madvise(mmap.MADV_HUGEPAGE, start, whole)
        address += start
    return address, array


pool = Pool()
"""The host memory of this process."""

os.register_at_fork(after_in_child=pool.after_fork)


def from_numpy(array: np.ndarray) -> Buffer:
    """The array's memory, shared where kernels can read it as it is, else a contiguous copy in native byte order."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return Buffer.wrap(array)
    buffer = pool.allocate(array.nbytes)
    if array.nbytes:
        buffer.writable(array.dtype.newbyteorder("="), array.shape)[...] = array
    return buffer
