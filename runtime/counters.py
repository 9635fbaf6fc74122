"""What the process has done so far: launches, compiles, hits and misses of the caches."""

from __future__ import annotations

from msgspec import Struct


class Counters(Struct):
    """Counts since the process started or since `reset()`. The difference of two snapshots is a Counters too.

    >>> before = Counters(launches=2)
    >>> Counters(launches=5, compiles=1) - before
    Counters(launches=3, compiles=1)

    Several threads may add at once. An addition is a load and a store, so a count may then miss one; counts are for
    reports and for tests on one thread, never for decisions.
    """

    launches: int = 0  # kernels and library calls
    compiles: int = 0  # kernels given to the compiler
    compile_seconds: float = 0.0  # waiting for compilers
    program_hits: int = 0
    program_misses: int = 0
    kernel_hits: int = 0  # kernels found, loaded already or in the disk cache
    kernel_misses: int = 0

    def snapshot(self) -> Counters:
        return Counters(*(getattr(self, name) for name in _NAMES))

    def reset(self) -> None:
        for name in _NAMES:
            setattr(self, name, 0.0 if name == "compile_seconds" else 0)

    def __sub__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, name) - getattr(other, name) for name in _NAMES))

    def __repr__(self) -> str:
        shown = (f"{name}={_text(getattr(self, name))}" for name in _NAMES if getattr(self, name))
        return f"Counters({', '.join(shown)})"


def _text(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


_NAMES = Counters.__struct_fields__

counters = Counters()
"""The counters of this process."""
