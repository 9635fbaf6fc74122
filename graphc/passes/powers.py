"""Small powers as products, by squares: a routine for any exponent takes ten to a hundred times as long.

    x ** 3   ->  x * (x * x)                    z ** -2  ->  1 / (z * z), of complex numbers, as NumPy does

The square of a real number is the power to the bit (passes/simplify.py); these differ from it by a rounding each, so
that this pass, unlike that one, is always made.
"""
from __future__ import annotations

from graphc.ir import dtype as dt
from graphc.ir.node import Node, const, make, rewritten
from graphc.ir.ops import DIV, MUL, POW
from graphc.passes.simplify import is_filled, spread

# The exponents, by dtype: a power of float32 and float64 may be 4 units in the last place off, of 16 bits 1.
EXPONENTS = {dt.float32: (3, 4), dt.float64: (3, 4)} | dict.fromkeys((dt.complex64, dt.complex128), tuple(range(-4, 9)))


def multiply_out(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    return rewritten(roots, lambda node: _product(node) if node.op is POW else None)


def _product(node: Node) -> Node | None:
    base, exponent = node.srcs
    n = next((n for n in EXPONENTS.get(node.dtype, ()) if is_filled(exponent, n)), 0)
    if not n:
        return None
    power = _power(base, abs(n), node)
    if n < 0:
        one = const(1, node.dtype)
        power = make(DIV, node.dtype, base.shape, (one, power), node.attrs, device=node.device, site=node.site)
    return spread(power, node)


def _power(x: Node, n: int, node: Node) -> Node:
    def times(a: Node, b: Node) -> Node:
        return make(MUL, x.dtype, x.shape, (a, b), node.attrs, device=node.device, site=node.site)
    if n == 1:
        return x
    half = _power(x, n // 2, node)
    return times(x, times(half, half)) if n % 2 else times(half, half)
