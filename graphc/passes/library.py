"""GRAPHC_MATMUL=library: matrix products as calls of NumPy's BLAS, outside of the promise of equal bits.

    dot(a, b)   ->  matmul(a, b)                dot(a.T, b)  ->  matmul(a, b) with a turned in the call
"""
from __future__ import annotations

from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir.node import Node, make, rewritten
from graphc.ir.ops import CONTRACT, GET, LIBRARY_CALL, PERMUTE

BLAS_TYPES = (dt.float32, dt.float64, dt.complex64, dt.complex128)


def call_library(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    if settings.matmul != "library":
        return roots
    return rewritten(roots, lambda node: _called(node) if _is_plain(node) else None)


def _is_plain(node: Node) -> bool:
    return node.op.kind == CONTRACT and node.dtype in BLAS_TYPES and all(s.size for s in node.srcs)


def _called(node: Node) -> Node:
    a, b = (_turned(s) for s in node.srcs)
    call = make(LIBRARY_CALL, (node.dtype,), (node.shape,), (a[0], b[0]), ("matmul", (a[1], b[1])), device=node.device,
                site=node.site)
    return make(GET, node.dtype, node.shape, (call,), (0,), device=node.device, site=node.site)


def _turned(src: Node) -> tuple[Node, bool]:
    """The factor, and whether the call has to exchange its last two axes."""
    rank = len(src.shape)
    if src.op is PERMUTE and src.attrs[0] == (*range(rank - 2), rank - 1, rank - 2):
        return src.srcs[0], True
    return src, False
