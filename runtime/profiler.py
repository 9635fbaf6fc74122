"""How long each step of each program takes, for as long as somebody wants to know.

The native library logs its steps; library routines, which run in Python, are noted here. Programs that were loaded
before the profiler began are not known to it, so it begins before the first one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from graphc.ir.program import Program

if TYPE_CHECKING:
    from graphc.runtime.native import Native

ROOM = 1 << 20  # launches that one profile can hold


class StepTimes(Struct, frozen=True):
    """One step of one program and its launches so far."""

    program: Program
    step: int
    nanoseconds: tuple[int, ...]


class Profiler:
    """`with Profiler(native) as profiler: ...; profiler.times()`. One at a time in a process.

    dropped  launches for which there was no room
    """

    def __init__(self, lib: Native):
        self._lib = lib
        self._log = lib.ffi.new("int64_t[]", 2 * ROOM)
        self._steps: dict[Any, tuple[Program, int]] = {}  # address in memory, or the library segment
        self._kept: list[Any] = []  # an address is not given to another program meanwhile
        self._noted: list[tuple[Any, int]] = []
        self._used = 0
        self.dropped = 0

    def __enter__(self) -> Profiler:
        global current
        with _lock:
            if current is not None:
                raise RuntimeError("this process is being profiled already")
            current = self
        self._lib.lib.gc_profile(self._log, ROOM)
        return self

    def __exit__(self, *exception: object) -> None:
        global current
        self._used = self._lib.lib.gc_profile(self._lib.ffi.NULL, 0)
        self.dropped = max(0, self._used - ROOM)
        _finished.append(self._log)
        with _lock:
            current = None

    def add(self, program: Program, first: int, addresses: Sequence[int], segment: Any) -> None:
        """A segment of a program was loaded. Its native steps lie at these addresses."""
        self._kept.append(segment)
        for number, address in enumerate(addresses):
            self._steps[address or segment] = program, first + number

    def note(self, segment: Any, nanoseconds: int) -> None:
        """A library routine was called."""
        self._noted.append((segment, nanoseconds))

    def times(self) -> list[StepTimes]:
        """Every step that ran, in the order in which each ran first. For after the block."""
        count = min(self._used, ROOM)
        flat = self._lib.ffi.unpack(self._log, 2 * count) if count else []
        spent: dict[Any, list[int]] = {}
        for key, nanoseconds in [*zip(flat[::2], flat[1::2], strict=True), *self._noted]:
            if key in self._steps:
                spent.setdefault(key, []).append(nanoseconds)
        return [StepTimes(*self._steps[key], tuple(times)) for key, times in spent.items()]


current: Profiler | None = None
_lock = threading.RLock()
_finished: list[Any] = []  # a thread that began a step before the end still writes into the log
