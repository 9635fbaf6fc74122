"""The host as a device for emulated kernels. Fresh memory is full of NaN: what a kernel fails to write shows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from graphc.runtime.device import DeviceBuffer, DevicePool, Work, table_of
from graphc.runtime.emulator import EmulatedKernel, Memory

GROUP = 256  # threads of a block, as the dialects have them


class SpoiledPool(DevicePool):
    """Memory in which nothing is left of what lay there."""

    def allocate(self, nbytes: int) -> DeviceBuffer:
        buffer = super().allocate(nbytes)
        buffer.handle[:] = 0xFF
        return buffer


class _PointerTo(ctypes.c_void_p):
    """The address of something, which it keeps."""

    def __init__(self, table: Any):
        super().__init__(ctypes.addressof(table))
        self.table = table


class HostQueue:
    """The host as a device whose work is done at once; see runtime.device.Queue. A handle is an array of bytes."""

    def allocate(self, nbytes: int) -> np.ndarray:
        return np.empty(nbytes, np.uint8)

    def write(self, handle: np.ndarray, offset: int, array: np.ndarray) -> None:
        handle[offset : offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)

    def read(self, handle: np.ndarray, offset: int, array: np.ndarray) -> None:
        array.reshape(-1).view(np.uint8)[:] = handle[offset : offset + array.nbytes]

    def copy(self, source: Any, source_offset: int, target: Any, target_offset: int, nbytes: int) -> None:
        target[target_offset : target_offset + nbytes] = source[source_offset : source_offset + nbytes].copy()

    def launch(self, kernel: EmulatedKernel, members: Sequence[Work], shared: int, fault: DeviceBuffer) -> None:
        buffers = [b for work in members for b in work.buffers]
        memory = [Memory(b.handle.ctypes.data + b.offset, b.nbytes) for b in (*buffers, fault)]

        def arguments(places: Sequence[int]) -> list[Any]:
            given = iter(places)
            parts = []
            for groups, own, words in members:
                words[: len(own)] = 0  # the addresses are those of the buffers' own bytes
                parts.append((groups, list(islice(given, len(own))), words.tolist()))
            table = table_of(parts, places[-1])
            return [_PointerTo((ctypes.c_longlong * len(table))(*table))]
        kernel.launch((sum(work.groups for work in members), 1, 1), (GROUP, 1, 1), memory, arguments, shared)
