"""What passes know of the machine that a program is for: limits and abilities, never a name.

A dialect states them in its `dialect.toml`, under [target]; what it leaves out is as here, as for a CPU.
"""
from __future__ import annotations

import functools

from msgspec import Struct

from graphc.ir.dtype import DType, float32
from graphc.ir.ops import FAST

CACHE_SCRATCH = 1 << 17     # bytes: half of a small L2 cache
CPUINFO = "/proc/cpuinfo"
L2 = "/sys/devices/system/cpu/cpu0/cache/index2/size"
LINE = 64                   # bytes of a cache line
FEW_ROWS = 16               # of the first factor of a product: up to so many it is not worth packing the second,
SWEPT_ROWS = 32             # nor on a CPU up to so many where the second is large and read as it lies,
FAR_ROWS = 64               # or up to so many where no cache holds it
WHOLE_GROUP = 256           # work items of a group, but on devices whose groups are smaller: 128 or 64
SMALL_L2, LARGE_L2 = 1 << 18, 1 << 21       # more is shared with other cores, as a rule


class Target(Struct, frozen=True):
    """
    group      work items that share memory and barriers, and run a chunk together; 0: a chunk is one thread's
    scratch    bytes that a chunk may keep between the stages of a row
    shared     bytes of memory that a group of work items shares, for what templates keep there
    large      the same of a group that asks for more
    buffers    of one kernel, with a few to spare
    templates  kinds of Template that codegen has a text for; what it has none for is plain loops. "panels": products
               that multiply by panels in memory
    members    whether a launch can have several members
    arguments  bytes that a launch's arguments may have, where its members' buffers and words are arguments; 0: they
               lie in memory
    matrix     what a matrix unit multiplies, by the names of `unit_type` (docs/numerics.md: an order of their own)
    pairs      what instructions multiply by pairs of neighbours, in the order of other products
    block      rows and columns of a result that a group computes on it, where there are many,
    warpgroup  and of matrices of 16 bits that lie in memory, where warps multiply together, out of shared memory
    """

    group: int = 0
    scratch: int = CACHE_SCRATCH
    shared: int = 0
    large: int = 0
    buffers: int = 56
    templates: tuple[str, ...] = ("gemm", "gemv", "direct", "attention", "weighted", "blocked", "panels")
    members: bool = True
    arguments: int = 0
    matrix: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    block: tuple[int, int] = (128, 128)
    warpgroup: tuple[int, int] | None = None


CPU = Target()


def unit_type(dtype: DType, attrs: tuple) -> str:
    """What a matrix unit calls the factors of a product of this dtype and these attrs: TF32 only where it is marked."""
    return "tf32" if attrs == FAST and dtype is float32 else dtype.name


@functools.cache
def l2_bytes() -> int:
    """How large a core's L2 cache is, or 512 KB where the system does not say. It decides how much of a product is
    packed at a time, which changes no bit."""
    try:
        with open(L2) as file:
            text = file.read().strip()
    except OSError:
        return 1 << 19
    size = int(text[:-1]) << {"K": 10, "M": 20}[text[-1]] if text[-1:] in ("K", "M") else 1 << 19
    return min(max(size, SMALL_L2), LARGE_L2)


@functools.cache
def instruction_sets() -> frozenset[str]:
    """Of an x86-64 processor, by Linux's names for them; none where the system does not say."""
    try:
        with open(CPUINFO) as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return frozenset()
    return frozenset(flags.split())


@functools.cache
def vector_bytes() -> int:
    """Of the vectors in which the C compiler multiplies on this machine, as far as that is worth knowing: 64 with
    AVX-512, else 32, as if it had AVX."""
    return 64 if "avx512f" in instruction_sets() else 32


def panel_bytes() -> int:
    """Of a row of a panel, of which a product's second factor is made up (codegen_templates/c/tiles.c.j2)."""
    return vector_bytes() * (4 if vector_bytes() == 64 else 2)


def rows_of_group(rows: int, group: int) -> int:
    """Of a block that has so many where its group is whole: a smaller group takes fewer, an item as many as ever."""
    return rows * group // WHOLE_GROUP


def rounded_up(n: int, to: int) -> int:
    """The next multiple: of a vector, a panel, a line."""
    return -(-n // to) * to
