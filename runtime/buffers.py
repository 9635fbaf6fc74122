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
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.config import settings
from graphc.errors import OutOfMemory
from graphc.runtime import memory

ALIGNMENT = 64
LARGE = 1 << 20  # blocks of this size and more are mappings of their own, returned to the system when there are many
SLAB = 1 << 20
HUGE_PAGE = 1 << 21
CHECK_EVERY = 64 << 20  # the system is asked for its free memory once per so many new bytes


class Block:
    """A piece of memory that the pool lends out again and again."""

    __slots__ = ("address", "size", "mapping", "lent")

    def __init__(self, address: int, size: int, mapping: object):
        self.address = address
        self.size = size
        self.mapping = mapping  # keeps the memory mapped
        self.lent = 0  # bytes that the present borrower asked for


class Buffer:
    """Bytes at an address. They stay where they are as long as the Buffer, or a view of it, is alive.

    address, nbytes  the memory; an empty buffer has a valid address too
    exports          NumPy views of it that are alive
    owner            what keeps the memory: a Block of the pool, or the array that was wrapped
    """

    __slots__ = ("address", "nbytes", "owner", "exports", "_returns", "__weakref__")

    address: int
    nbytes: int
    owner: object
    exports: int
    _returns: deque[Block] | None

    @classmethod
    def wrap(cls, array: np.ndarray) -> Buffer:
        """The memory of a C-contiguous, aligned array in native byte order, shared and not copied.

        The caller sees to it that nobody writes to the array while the buffer is in use.
        """
        if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
            raise ValueError("only a C-contiguous, aligned array in native byte order can be wrapped")
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects is no memory for kernels")
        self = cls.__new__(cls)
        self.address = array.__array_interface__["data"][0] or ALIGNMENT
        self.nbytes = array.nbytes
        self.owner = array
        self.exports = 0
        self._returns = None
        return self

    def view(self, dtype: Any, shape: Sequence[int], offset: int = 0) -> np.ndarray:
        """A read-only array on this memory; it keeps the buffer alive."""
        return self._array(np.dtype(dtype), tuple(shape), offset, readonly=True)

    def writable(self, dtype: Any, shape: Sequence[int], offset: int = 0) -> np.ndarray:
        """An array on this memory for those who fill it: uploads and library calls."""
        return self._array(np.dtype(dtype), tuple(shape), offset, readonly=False)

    def _array(self, dtype: np.dtype, shape: tuple[int, ...], offset: int, readonly: bool) -> np.ndarray:
        needed = math.prod(shape) * dtype.itemsize
        if offset < 0 or offset + needed > self.nbytes:
            raise ValueError(f"{needed} bytes at offset {offset} do not lie in a buffer of {self.nbytes} bytes")
        if not needed:
            empty = np.empty(shape, dtype)
            empty.flags.writeable = not readonly
            return empty
        return np.ndarray(shape, dtype, buffer=np.asarray(_Export(self, offset, needed, readonly)))

    def __del__(self) -> None:
        # May run inside any allocation of this thread, also while the pool's lock is held: append is all that is safe.
        if self._returns is not None:
            self._returns.append(self.owner)

    def __repr__(self) -> str:
        kind = "pooled" if self._returns is not None else "wrapped"
        return f"<{kind} Buffer of {self.nbytes} bytes at {self.address:#x}>"


class _Export:
    """What NumPy holds as the base of a view."""

    __slots__ = ("buffer", "__array_interface__")

    def __init__(self, buffer: Buffer, offset: int, nbytes: int, readonly: bool):
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (buffer.address + offset, readonly),
        }  # fmt: skip
        buffer.exports += 1

    def __del__(self) -> None:
        self.buffer.exports -= 1


class Pool:
    """Blocks by size class. Thread-safe; a buffer comes back when Python lets go of it.

    in_use      bytes lent out, as they were asked for
    high_water  the most that in_use has been since the process started or `reset_high_water()`
    cached      bytes of free blocks that are kept for reuse
    """

    def __init__(self, keep: int | None = None):
        self._keep = keep
        self._lock = threading.Lock()
        self._free: dict[int, list[Block]] = {}
        self._returned: deque[Block] = deque()
        self._in_use = 0
        self._high_water = 0
        self._cached = 0
        self._unchecked = 0

    # ------------------------------------------------------------------------------------------------------ borrowing

    def allocate(self, nbytes: int) -> Buffer:
        """A buffer of nbytes, with anything in it. Raises MemoryError, before touching memory, if it cannot fit."""
        size = size_class(nbytes)
        with self._lock:
            if self._returned:
                self._take_back()
            free = self._free.get(size)
            if settings.memory_limit is not None:
                self._check_limit(nbytes)
            if free:
                block = free.pop()
                self._cached -= size
            else:
                block = self._new_block(size)
            block.lent = nbytes
            self._in_use += nbytes
            if self._in_use > self._high_water:
                self._high_water = self._in_use
        buffer = Buffer.__new__(Buffer)
        buffer.address = block.address
        buffer.nbytes = nbytes
        buffer.owner = block
        buffer.exports = 0
        buffer._returns = self._returned
        return buffer

    def require(self, nbytes: int) -> None:
        """Raise MemoryError if nbytes more do not fit. For a program that is about to allocate them in pieces."""
        with self._lock:
            self._take_back()
            if settings.memory_limit is not None:
                self._check_limit(nbytes)
            if nbytes > self._cached:
                self._check_system(nbytes)

    def _take_back(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            self._in_use -= block.lent
            self._cached += block.size
            self._free.setdefault(block.size, []).append(block)
        if self._cached > self.keep:
            self._release(self._cached - self.keep)

    def _release(self, excess: int) -> None:
        """Give large blocks back to the system, the largest first, until `excess` bytes are gone."""
        for size in sorted(self._free, reverse=True):
            blocks = self._free[size]
            while blocks and size >= LARGE and excess > 0:
                blocks.pop()
                self._cached -= size
                excess -= size

    # ------------------------------------------------------------------------------------------------- getting memory

    def _new_block(self, size: int) -> Block:
        self._unchecked += max(size, SLAB)
        if self._unchecked >= CHECK_EVERY:
            self._check_system(size)
            self._unchecked = 0
        if size >= LARGE:
            return Block(*_map(size))
        start, _, mapping = _map(SLAB)
        cut = [Block(start + offset, size, mapping) for offset in range(0, SLAB - size + 1, size)]
        self._free.setdefault(size, []).extend(cut[1:])
        self._cached += size * (len(cut) - 1)
        return cut[0]

    def _check_limit(self, nbytes: int) -> None:
        limit = settings.memory_limit
        if self._in_use + nbytes > limit:
            raise OutOfMemory(
                f"{nbytes:,} bytes on top of {self._in_use:,} in use exceed GRAPHC_MEMORY_LIMIT={limit:,}",
                fix="raise GRAPHC_MEMORY_LIMIT, or let go of tensors that are no longer needed",
            )

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

    # -------------------------------------------------------------------------------------------------------- figures

    @property
    def keep(self) -> int:
        """The most bytes of free blocks to keep: a quarter of the memory there is."""
        if self._keep is None:
            self._keep = memory.total_bytes() // 4
        return self._keep

    @property
    def in_use(self) -> int:
        self._settle()
        return self._in_use

    @property
    def high_water(self) -> int:
        return self._high_water

    @property
    def cached(self) -> int:
        self._settle()
        return self._cached

    def reset_high_water(self) -> None:
        self._settle()
        self._high_water = self._in_use

    def trim(self) -> None:
        """Give every large free block back to the system."""
        with self._lock:
            self._take_back()
            self._release(self._cached)

    def _settle(self) -> None:
        with self._lock:
            self._take_back()

    def after_fork(self) -> None:
        """In the child the lock may be held by a thread that does not exist here."""
        self._lock = threading.Lock()


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


def _map(size: int) -> tuple[int, int, object]:
    """(address, size, what keeps it mapped) of fresh private memory, on huge pages where it is large."""
    slack = HUGE_PAGE if size >= 2 * HUGE_PAGE else 0
    try:
        mapping = mmap.mmap(-1, size + slack, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise OutOfMemory(f"the system does not give {size:,} bytes") from None
    array = np.frombuffer(mapping, np.uint8)
    address = array.__array_interface__["data"][0]
    if slack:
        address += -address % HUGE_PAGE
        with contextlib.suppress(OSError):  # a system without huge pages works as well, only slower
            mapping.madvise(mmap.MADV_HUGEPAGE)
    return address, size, array


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
