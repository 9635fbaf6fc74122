"""Products of complex matrices as four real ones, which have the templates of products; the sums and differences of
their results fuse behind them.

    dot(a, b)   ->  complex(re a . re b - im a . im b, re a . im b + im a . re b)
"""
from __future__ import annotations

from graphc.config import settings
from graphc.ir.node import Node, make, rewritten
from graphc.ir.ops import ADD, COMPLEX, DOT, IMAG, REAL, SUB

ROWS, COLUMNS = 4, 2   # with fewer, reading both factors twice takes longer


def part_products(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    if settings.matmul == "library":
        return roots
    return rewritten(roots, lambda node: _parted(node) if _is_wide(node) else None)


def _is_wide(node: Node) -> bool:
    return node.op is DOT and node.dtype.kind == "c" and node.shape[-2] >= ROWS and node.shape[-1] >= COLUMNS


def _parted(node: Node) -> Node:
    def of(op, dtype, shape, *srcs: Node, attrs: tuple = ()) -> Node:
        return make(op, dtype, shape, srcs, attrs, device=node.device, site=node.site)

    def dot(x: Node, y: Node) -> Node:
        return of(DOT, real, node.shape, x, y, attrs=node.attrs)
    real, (a, b) = node.dtype.real, node.srcs
    a_re, a_im, b_re, b_im = (of(op, real, s.shape, s) for s in (a, b) for op in (REAL, IMAG))
    return of(COMPLEX, node.dtype, node.shape,
              of(SUB, real, node.shape, dot(a_re, b_re), dot(a_im, b_im)),
              of(ADD, real, node.shape, dot(a_re, b_im), dot(a_im, b_re)))
