"""`fast_math`: operations that may be computed less exactly than they are written.

A mark is the `attrs` of a node, so a marked node is another one than the strict one of the same operation. Recording
has to pay nothing for it: `record.make` is the plain function while no thread is inside a block, as the slots of a
Tensor are plain while no thread traces.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graphc.api import record
from graphc.driver import marks
from graphc.ir.node import Node, make
from graphc.ir.ops import FAST, Op

_lock = threading.RLock()
_threads = 0        # blocks that threads are in, all together


@contextmanager
def fast_math() -> Iterator[None]:
    """Allow what is recorded inside, in this thread, to be computed faster and less exactly. Also a decorator.

    float32 and float64 only. With what is recorded inside a backend may, and need not,

    - round `a * b + c` and `a * b - c` once instead of twice, where both operations were recorded inside;
    - multiply by the reciprocal of a divisor that many elements share;
    - take a GPU's approximations of float32 quotients, `exp`, `log`, `log2`, `log10`, `sin` and `cos`;
    - round the factors of float32 matrix products to 11 digits (TF32 on CUDA), and add the products in float32.

    No sum changes its order. NaN stays NaN; docs/numerics.md has the bounds, and what becomes of infinities. What is
    recorded outside keeps its bits, also where it is fused with what is inside; gradients of what is inside are marked
    too. A function under `jit` is traced inside and outside separately. The reference backend computes as written.

    >>> import graphc as gc
    >>> x, y = gc.asarray([1.0, 2.0]), gc.asarray([3.0, 4.0])
    >>> with gc.fast_math():
    ...     z = x * y + 1
    >>> z.tolist()
    [4.0, 9.0]
    """
    global _threads
    with _lock:
        _threads += 1
        record.make = _make_marked
    marks.inside += 1
    try:
        yield
    finally:
        marks.inside -= 1
        with _lock:
            _threads -= 1
            if not _threads:
                record.make = make


def _make_marked(op: Op, dtype, shape: tuple, srcs: tuple[Node, ...] = (), attrs: tuple = (), *,
                 device: str | None = None, site: object = None) -> Node:
    """`make` while some thread is inside `fast_math`."""
    if op.marked and marks.inside and dtype.kind == "f" and dtype.itemsize >= 4:
        attrs = FAST
    return make(op, dtype, shape, srcs, attrs, device=device, site=site)
