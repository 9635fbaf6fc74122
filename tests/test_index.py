"""Indices that are taken apart and put together again."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from graphc.ir import index as ix
from graphc.ir.index import Axis, FloorDiv, Index

SHAPES = st.lists(st.integers(1, 40), min_size=1, max_size=4).map(tuple)


def value(index: Index, at: dict[Axis, int]) -> int:
    total = index.const
    for atom, factor in index.terms:
        if type(atom) is Axis:
            found = at[atom]
        else:
            inner = value(atom.numerator, at)
            found = inner // atom.denominator if type(atom) is FloorDiv else inner % atom.denominator
        total += factor * found
    return total


@given(SHAPES, st.integers(1, 2000), st.data())
def test_a_position_that_was_taken_apart_is_found_again(shape, block, data):
    """That of element j of block i, as a reduction over blocks of a flattened array reads it."""
    size = prod(shape)
    i, j = Axis("i", -(-size // block)), Axis("j", block)
    position = ix.add(ix.mul(ix.of(i), block), ix.of(j))
    coordinates = ix.unflatten(position, shape)
    for _ in range(5):
        flat = data.draw(st.integers(0, size - 1))
        at = {i: flat // block, j: flat % block}
        expected = [flat // step % n for n, step in zip(shape, ix.strides(shape), strict=True)]
        assert [value(c, at) for c in coordinates] == expected
        assert value(ix.flatten(coordinates, shape), at) == flat


def test_nothing_is_left_to_divide_by():
    i, j = Axis("i", 976), Axis("j", 1024)
    position = ix.add(ix.mul(ix.of(i), 1024), ix.of(j))
    for shape in ((333, 1000, 3), (3, 1000, 333), (999, 1000), (37, 27, 5, 200), (9, 37, 3, 1000)):
        assert ix.flatten(ix.unflatten(position, shape), shape) == position
