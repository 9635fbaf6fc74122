"""Windows in an index: in a convolution, an element of an image is in as many windows as the kernel has elements.

The windows of an image have indices with sums n * stride + k * dilation, n being a position and k one of the kernel
(`Pair`). Where windows overlap, the elements that they share are those with the same sums.
"""
from __future__ import annotations

from math import gcd

from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import data_exprs, indices_of, innermost, statements


class Pair(Struct, frozen=True):
    """A window along one axis: indices have n * stride + k * dilation. `size`: positions of k."""

    n: Axis
    size: int = 1
    stride: int = 1
    dilation: int = 0
    k: Axis | None = None

    @property
    def reach(self) -> int:
        """How much a window sees."""
        return (self.size - 1) * self.dilation + 1

    @property
    def sum(self) -> Axis:
        return Axis(self.n.name, (self.n.extent - 1) * self.stride + self.reach)

    def summed(self, index: Index) -> Index:
        """The index in terms of the sum."""
        step = index.coefficient(self.n)
        rest = Index(tuple(term for term in index.terms if term[0] not in (self.n, self.k)), index.const)
        return ix.add(rest, ix.mul(ix.of(self.sum), step // self.stride)) if step else rest


class Windows(Struct, frozen=True):
    """How an operand has windows along the last axis of its positions and the one before it; one of the two may be
    without."""

    row: Pair
    column: Pair
    heads: tuple[Axis, ...]     # the other axes of positions
    rest: tuple[Axis, ...]      # and of kernels, which are before those of windows


def windows(positions: tuple[Axis, ...], kernel: tuple[Axis, ...], indices: list[Index]) -> Windows | None:
    """None where there are none that overlap."""
    if any(data_exprs(index) for index in indices):
        return None
    found, rest = [], list(kernel)
    for axis in (positions[-1], positions[-2] if len(positions) > 1 else Axis("row", 1)):
        pair = _pair(axis, rest[-1], indices) if rest else None
        found.append(pair or Pair(axis))
        if pair:
            rest.pop()
    column, row = found
    return Windows(row, column, positions[:-2], tuple(rest)) if column.k or row.k else None


def windows_of(body: tuple, positions: tuple[Axis, ...], kernel: tuple[Axis, ...]) -> Windows | None:
    """Those of a factor's nest, if they can be filled from what they share."""
    inner = innermost(body).axis
    if inner not in (positions[-1], kernel[-1]):
        return None
    found = windows(positions, kernel, indices_of((s.value for s in statements(body)), gathered=False))
    return None if found and found.column.k is None and inner in found.rest else found


def _pair(n: Axis, k: Axis, indices: list[Index]) -> Pair | None:
    ratios = set()
    for index in indices:
        if any({n, k} & ix.axes_of(Index(((atom, 1),))) for atom, _ in index.terms if type(atom) is not Axis):
            return None
        step, other = index.coefficient(n), index.coefficient(k)
        if step or other:
            common = gcd(step, other) * (-1 if step < 0 else 1)
            ratios.add((step // common, other // common))
    if len(ratios) != 1:
        return None
    (stride, dilation), = ratios
    overlap = 0 < stride <= dilation * (k.extent - 1) <= 2 * k.extent
    return Pair(n, k.extent, stride, dilation, k) if overlap and k.extent <= n.extent else None
