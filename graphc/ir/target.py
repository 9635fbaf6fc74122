"""What passes know of the machine that a program is for: limits and abilities, never a name.

A dialect states them in its `dialect.toml`, under [target]; what it leaves out is as here, as for a CPU.
"""
from __future__ import annotations

from msgspec import Struct

CACHE_SCRATCH = 1 << 17     # bytes: half of a small L2 cache


class Target(Struct, frozen=True):
    """
    group      work items that share memory and barriers, and run a chunk together; 0: a chunk is one thread's
    scratch    bytes that a chunk may keep between the stages of a row
    buffers    of one kernel, with a few to spare
    templates  kinds of Template that codegen has a text for; what it has none for is plain loops
    members    whether a launch can have several members
    """

    group: int = 0
    scratch: int = CACHE_SCRATCH
    buffers: int = 56
    templates: tuple[str, ...] = ("gemm", "gemv", "attention")
    members: bool = True


CPU = Target()
