"""The floor: the time below which no implementation can be, from what this machine was measured to do in this run.

Bandwidth is measured with as many bytes as the work moves, because a large cache lifts what fits into it: by reading
alone, of several stretches at once, where a work writes little, else by the triad a = b + s * c (McCalpin's STREAM,
1995). Shared by benchmarks/, `graphc profile` and the tuner.
"""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from graphc.runtime.cpu import has_matrix_unit

SOURCE = Path(__file__).parent / "native" / "floor.c"
SIGNATURES = """
double read_bandwidth(int64_t bytes, int threads, int repeats);
double triad_bandwidth(int64_t bytes, int threads, int repeats);
double fma_peak(int threads, int repeats);
double unit_peak(int threads, int repeats, int bytes, int tiles);
"""
SMALLEST, LARGEST = 1 << 20, 1 << 28    # bytes: below, starting the threads is what would be measured
UNITS = {"bfloat16": 0, "int8": 1, "uint8": 1}     # whose factors are bytes
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared", "-pthread")


class Machine(Struct):
    """Measures on demand, and keeps the best of what it has seen, or forgets it (`keep`)."""

    threads: int
    native: Any
    keep: bool = True
    bandwidths: dict[tuple[str, int], float] = field(default_factory=dict)
    flops: dict[str, float] = field(default_factory=dict)

    def bandwidth(self, kind: str, nbytes: int) -> float:
        """Bytes per second of "read" or "triad" over a working set of so many bytes."""
        size = min(max(nbytes, SMALLEST), LARGEST)
        measured = getattr(self.native, f"{kind}_bandwidth")(size, self.threads, 3 + (1 << 26) // size)
        if self.keep:
            measured = self.bandwidths[kind, size] = max(measured, self.bandwidths.get((kind, size), 0.0))
        return measured

    def peak(self, unit: str = "") -> float:
        """Operations per second, a multiply-add counting as two: of float32, or of instructions for factors of this
        dtype, as a matrix unit has them, if the processor has any."""
        measured = 0.0
        if unit in UNITS:
            measured = self.native.unit_peak(self.threads, 5, UNITS[unit], has_matrix_unit())
        measured = measured or self.native.fma_peak(self.threads, 5)
        if self.keep:
            measured = self.flops[unit] = max(self.flops.get(unit, 0.0), measured)
        return measured

    def seconds(self, reads: int, writes: int, flops: float, size: int | None = None,
                unit: str = "") -> tuple[float, str]:
        """The floor of a work that reads and writes so many bytes, and whether "memory" or "flops" is what bounds it.
        `size`: the working set with which to measure, if that is not the bytes moved. `unit`: see `peak`."""
        kind = "read" if writes < 0.1 * reads else "triad"
        memory = (reads + writes) / self.bandwidth(kind, size or reads + writes)
        return max((memory, "memory"), (flops / self.peak(unit), "flops"))


def measure(threads: int, keep: bool = True) -> Machine | None:
    """The machine, or None where no C compiler is found."""
    import cffi

    from graphc.errors import NoCompilerError
    from graphc.runtime.compiler import find_compiler

    try:
        command = find_compiler().command
    except NoCompilerError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "floor.so"
        subprocess.run([*command, *FLAGS, str(SOURCE), "-o", str(library)], check=True)
        ffi = cffi.FFI()
        ffi.cdef(SIGNATURES)
        return Machine(threads, ffi.dlopen(str(library)), keep)
