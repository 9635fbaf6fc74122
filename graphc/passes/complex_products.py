"""Products of complex matrices as four real ones, which have the templates of products; the sums and differences of
their results fuse behind them. A vector meets each row in two sums, which one kernel makes: it reads the matrix once.

    dot(a, b)   ->  complex(re a . re b - im a . im b, re a . im b + im a . re b)
    dot(a, v)   ->  complex(sum(re a * re v - im a * im v), sum(re a * im v + im a * re v))
"""
from __future__ import annotations

from graphc.config import settings
from graphc.ir.node import Node, make, rewritten
from graphc.ir.ops import ADD, COMPLEX, DOT, EXPAND, IMAG, MUL, REAL, RESHAPE, SUB, SUM

ROWS = 4        # with fewer, reading both factors twice takes longer


def part_products(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    if settings.matmul == "library":
        return roots
    return rewritten(roots, lambda node: _parted(node) if node.op is DOT and node.dtype.kind == "c" else None)


def _parted(node: Node) -> Node | None:
    real, (a, b), (*stacks, m, n) = node.dtype.real, node.srcs, node.shape

    def of(op, dtype, shape, *srcs: Node, attrs: tuple = node.attrs) -> Node:
        return make(op, dtype, shape, srcs, attrs, device=node.device, site=node.site)

    def parts(x: Node) -> list[Node]:
        return [of(op, real, x.shape, x, attrs=()) for op in (REAL, IMAG)]

    if n == 1 and node.size and a.shape[-1]:
        shape, last = (*stacks, m, a.shape[-1]), len(stacks) + 1
        row = of(RESHAPE, b.dtype, (*b.shape[:-2], 1, b.shape[-2]), b, attrs=())
        a, b = (x if x.shape == shape else of(EXPAND, x.dtype, shape, x, attrs=()) for x in (a, row))
        op, result = MUL, lambda x: of(RESHAPE, real, node.shape, of(SUM, real, shape[:-1], x, attrs=(last, "inner")),
                                       attrs=())
    elif n > 1 and m >= ROWS:
        shape, op, result = node.shape, DOT, lambda x: x
    else:
        return None
    (a_re, a_im), (b_re, b_im) = parts(a), parts(b)
    products = [of(op, real, shape, x, y) for x, y in ((a_re, b_re), (a_im, b_im), (a_re, b_im), (a_im, b_re))]
    return of(COMPLEX, node.dtype, node.shape, result(of(SUB, real, shape, *products[:2])),
              result(of(ADD, real, shape, *products[2:])), attrs=())
