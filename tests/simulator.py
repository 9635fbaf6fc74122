"""What Oclgrind, a simulator of an OpenCL device, says of the kernels that it runs: reads of what nobody wrote,
accesses outside a buffer, races between work items, barriers that not all of a group reach.

It writes that to a log; its exit status is 0 whatever it finds. tests/conftest.py reads the log after each test.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SHOWN = 40  # lines of a log that a failure quotes
CHECKS = {
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNINITIALIZED": "1",
    "OCLGRIND_MAX_ERRORS": "1000000",  # of a process; after them it says nothing more
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",  # LLVM's optimised code has instructions that the check does not know
}


class FindingError(Exception):
    """The simulator found something."""


def is_chosen(backend: str) -> bool:
    """Whether kernels of this backend run on the simulator."""
    return backend == "opencl" and "oclgrind" in os.environ.get("PYOPENCL_CTX", "").lower()


def switch_on() -> None:
    """All checks, for the devices that this process makes, and a log of its own."""
    handle, log = tempfile.mkstemp(prefix="graphc-simulator-")
    os.close(handle)
    os.environ.update(CHECKS, OCLGRIND_LOG=log)


def switch_off() -> None:
    Path(os.environ.pop("OCLGRIND_LOG")).unlink(missing_ok=True)
    for name in CHECKS:
        del os.environ[name]


def use_exact_buffers() -> None:
    """Each buffer is memory of its own, of its exact size, and holds NaN.

    The host writes whole buffers only: what the simulator knows of a buffer is as long as the last piece that the host
    wrote to it.
    """
    from graphc.runtime import device, opencl

    def allocate(pool: device.DevicePool, nbytes: int) -> device.PooledBuffer:
        buffer = lent(pool, nbytes)
        pool.queue.write(buffer.handle, 0, np.full(buffer.handle.size, 0xFF, np.uint8))
        return buffer

    def write(queue: opencl._Queue, handle: Any, offset: int, array: np.ndarray) -> None:
        if array.nbytes < handle.size:
            whole = np.empty(handle.size, np.uint8)
            queue.read(handle, 0, whole)
            whole[offset : offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
            array, offset = whole, 0
        written(queue, handle, offset, array)

    def copy(queue: opencl._Queue, source: Any, source_offset: int, target: Any, offset: int, nbytes: int) -> None:
        moved = np.empty(nbytes, np.uint8)
        queue.read(source, source_offset, moved)
        queue.write(target, offset, moved)

    lent, written = device.DevicePool.allocate, opencl._Queue.write
    device.DevicePool.allocate, opencl._Queue.write, opencl._Queue.copy = allocate, write, copy
    device.DevicePool.give_back = lambda pool, block: None
    device.size_class = lambda nbytes: max(nbytes, 1)


def findings() -> str:
    """What the log has, which is then empty."""
    log = Path(os.environ["OCLGRIND_LOG"])
    text = log.read_text(encoding="utf-8", errors="replace").strip("\0 \n")  # who writes it goes on where it was
    if text:
        os.truncate(log, 0)
    return text


def raise_findings() -> None:
    """FindingError if the log has anything."""
    lines = [line for line in findings().splitlines() if line.strip()]
    if lines:
        more = [f"... and {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
        raise FindingError("\n".join(["the simulator of OpenCL reports:", *lines[:SHOWN], *more]))
