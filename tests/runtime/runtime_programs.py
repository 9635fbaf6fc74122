"""Hand-written kernels and programs for the tests of the runtime, also run in other processes."""

from __future__ import annotations

import struct
import subprocess

import numpy as np

from graphc.ir.program import Copy, KernelSource, Launch, Member, Program, Slot
from graphc.runtime import backend

CHUNK = 1000

SCALE = """
typedef long int64_t;
int64_t scale(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const double *x = buf[0];
    double *y = buf[1], factor;
    int64_t n = arg[0];
    __builtin_memcpy(&factor, arg + 1, sizeof factor);
    for (int64_t i = begin * 1000; i < end * 1000 && i < n; i++) y[i] = factor * x[i];
    return 0;
}
"""

ADD = """
typedef long int64_t;
int64_t add(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const double *x = buf[0], *y = buf[1];
    double *z = buf[2];
    for (int64_t i = begin * 1000; i < end * 1000 && i < arg[0]; i++) z[i] = x[i] + y[i];
    return 0;
}
"""

GATHER = """
typedef long int64_t;
int64_t gather(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const int64_t *index = buf[0];
    int64_t *y = buf[1];
    for (int64_t i = begin * 1000; i < end * 1000 && i < arg[0]; i++) {
        if (index[i] < 0 || index[i] >= arg[0]) return 1 + i;
        y[i] = index[i];
    }
    return 0;
}
"""

# Every thread writes its scratch memory and reads it again after some work.
SCRATCH = """
typedef long int64_t;
int64_t rows(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    int64_t *y = buf[0], *row = scratch, n = arg[0];
    if ((unsigned long)scratch % 64) return 1;
    for (int64_t c = begin; c < end; c++) {
        for (int64_t i = 0; i < n; i++) row[i] = c + i;
        y[c] = 0;
        for (int64_t i = 0; i < n; i++) y[c] += row[i];
    }
    return 0;
}
"""

# A chunk takes about a millisecond whatever the optimiser does.
SLOW = """
typedef long int64_t;
struct timespec { long s, ns; };
int nanosleep(const struct timespec *, struct timespec *);
int64_t slow(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    struct timespec t = {0, 1000000};
    for (int64_t c = begin; c < end; c++) nanosleep(&t, 0);
    ((double *)buf[0])[0] = 1;
    return 0;
}
"""


def bits(value: float) -> int:
    return struct.unpack("q", struct.pack("d", value))[0]


def chunks(n: int) -> int:
    return -(-n // CHUNK)


def launch(kernel: int, slots: tuple, args: tuple, params: tuple, chunks: int, scratch: int) -> Launch:
    """A launch of one member."""
    return Launch(kernel, (Member(slots, args, params, chunks),), scratch)


def scale(n: int, text: str = SCALE) -> Program:
    """y = parameter 0 * x over n float64."""
    return Program(
        slots=(Slot("input", 8 * n), Slot("output", 8 * n)),
        steps=(launch(0, (0, 1), (n, 0), ((1, 0),), chunks(n), 0),),
        kernels=(KernelSource("scale", text),),
        inputs=(0,), outputs=(1,), arena=0, labels=(f"scale of ({n},) float64",),
    )


def chain(n: int) -> Program:
    """z = (p0 * x) + (p1 * x), through two temporaries and a copy."""
    size, stride = 8 * n, -(-8 * n // 64) * 64
    return Program(
        slots=(Slot("input", size), Slot("temp", size, 0), Slot("temp", size, stride), Slot("temp", size, 2 * stride),
               Slot("output", size)),
        steps=(
            launch(0, (0, 1), (n, 0), ((1, 0),), chunks(n), 0),
            launch(0, (0, 2), (n, 0), ((1, 1),), chunks(n), 0),
            Copy(2, 3, size),
            launch(1, (1, 3, 4), (n,), (), chunks(n), 0),
        ),
        kernels=(KernelSource("scale", SCALE), KernelSource("add", ADD)),
        inputs=(0,), outputs=(4,), arena=3 * stride,
    )


def gather(n: int) -> Program:
    return Program(
        slots=(Slot("input", 8 * n), Slot("output", 8 * n)),
        steps=(launch(0, (0, 1), (n,), (), chunks(n), 0),),
        kernels=(KernelSource("gather", GATHER),),
        inputs=(0,), outputs=(1,), arena=0, labels=("take of (n,) int64",),
    )


def slow(count: int) -> Program:
    return Program(
        slots=(Slot("output", 8),),
        steps=(launch(0, (0,), (), (), count, 0),),
        kernels=(KernelSource("slow", SLOW),),
        inputs=(), outputs=(0,), arena=0,
    )


def run_scale(n: int = 5000, factor: float = 3.0, text: str = SCALE) -> None:
    """Compile, run and check one program on the cpu backend."""
    cpu = backend.get("cpu")
    x = np.arange(n, dtype=np.float64)
    (y,) = cpu.load(scale(n, text)).run([cpu.from_numpy(x)], [bits(factor)])
    assert np.array_equal(y.view(np.float64, (n,)), factor * x)


def output(process: subprocess.Popen) -> str:
    """What a process printed; it must succeed."""
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return text
