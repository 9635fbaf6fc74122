"""The trees of reductions, as functions on lists: what docs/numerics.md says in words.

A result depends on the length, the dtype and the order alone, so every backend and every fusion gives the same bits.
The functions take `combine(left, right)`; the C templates spell the same trees out as loops.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Combine = Callable[[T, T], T]

LANES = 64      # partial results in a chunk of an inner reduction
# elements of a chunk, by order
CHUNKS = {"inner": 1024, "outer": 16, "pairwise": 1, "chain": 512, "mma": 4096, "attention": 64}


def chunks(values: Sequence[T], order: str) -> list[Sequence[T]]:
    size = CHUNKS[order]
    return [values[k:k + size] for k in range(0, len(values), size)]


def reduce(values: Sequence[T], order: str, combine: Combine, identity: T) -> T:
    """All values in the tree that `order` names; the identity for none."""
    parts = [of_chunk(chunk, order, combine, identity) for chunk in chunks(values, order)]
    return pairwise(parts, combine) if parts else identity


def of_chunk(chunk: Sequence[T], order: str, combine: Combine, identity: T) -> T:
    return lanes(chunk, combine, identity) if order == "inner" else in_order(chunk, combine, identity)


def lanes(chunk: Sequence[T], combine: Combine, identity: T) -> T:
    """Element k goes to lane k % LANES; then lane k meets lane k + half, until one is left."""
    partial = [identity] * LANES
    for k, value in enumerate(chunk):
        partial[k % LANES] = combine(partial[k % LANES], value)
    half = LANES // 2
    while half:
        partial = [combine(partial[k], partial[k + half]) for k in range(half)]
        half //= 2
    return partial[0]


def in_order(chunk: Sequence[T], combine: Combine, identity: T) -> T:
    total = identity
    for value in chunk:
        total = combine(total, value)
    return total


def pairwise(parts: Sequence[T], combine: Combine) -> T:
    """Two results of one level become one of the next, as in a binary counter; what is left, from the shortest up."""
    levels: list[T | None] = []
    for part in parts:
        level = 0
        while level < len(levels) and levels[level] is not None:
            part = combine(levels[level], part)
            levels[level] = None
            level += 1
        if level == len(levels):
            levels.append(None)
        levels[level] = part
    left = [part for part in levels if part is not None]
    total = left[0]
    for part in left[1:]:
        total = combine(part, total)
    return total


def chain(pairs: Sequence[tuple[T, T]], fma: Callable[[T, T, T], T], add: Combine, zero: T, order: str = "chain") -> T:
    """A contraction: fused multiply-adds in rising order inside a chunk, the chunks' sums added in rising order."""
    total = None
    for chunk in chunks(pairs, order):
        part = zero
        for a, b in chunk:
            part = fma(a, b, part)
        total = part if total is None else add(total, part)
    return zero if total is None else total


def attention(scores: Sequence[T], values: Sequence[Sequence[T]], exp: Callable[[T], T],
              fma: Callable[[T, T, T], T], number: Callable) -> list[T]:
    """One query: the softmax of its scores times the rows of values, by blocks of keys with a running maximum; then
    the largest score and the sum of the weights."""
    least = number(-float("inf"))
    top, total, sums = least, number(0), [number(0)] * len(values[0]) if values else []
    for start in range(0, len(scores), CHUNKS["attention"]):
        block = scores[start:start + CHUNKS["attention"]]
        rows = values[start:start + CHUNKS["attention"]]
        most = top
        for score in block:
            most = score if score > most else most
        shift = number(0) if most == least else most
        factor, weights = exp(number(top - shift)), [exp(number(score - shift)) for score in block]
        added = in_order(weights, lambda a, b: number(a + b), number(0))
        total, top = fma(total, factor, added), most
        for e in range(len(sums)):
            part = number(0)
            for weight, row in zip(weights, rows, strict=True):
                part = fma(row[e], weight, part)
            sums[e] = fma(sums[e], factor, part)
    return [*(number(x / total) for x in sums), top, total]


def weighted(weights: Sequence[T], values: Sequence[Sequence[T]], fma: Callable[[T, T, T], T], number: Callable,
             width: int, start: int, stop: int) -> list[T]:
    """One row of weights times the rows of values, by blocks, of which those outside start .. stop are left out."""
    sums, block = [number(0)] * width, CHUNKS["attention"]
    for first in range(0, len(weights), block):
        if first >= stop or min(first + block, len(weights)) <= start:
            continue
        for e in range(width):
            part = number(0)
            for weight, row in zip(weights[first:first + block], values[first:first + block], strict=True):
                part = fma(row[e], weight, part)
            sums[e] = number(sums[e] + part)
    return sums


def squared_deviations(values: Sequence, order: str, combine: Combine, number: Callable, identity):
    """The sum of squared deviations from the mean: two sweeps over a chunk, then Chan's merge of chunks.

    `number(n)` is a count in the dtype. Chan, Golub & LeVeque: Algorithms for computing the sample variance, 1983.
    """
    def of_part(chunk):
        count = number(len(chunk))
        mean = of_chunk(chunk, order, combine, identity) / count
        squares = [(value - mean) * (value - mean) for value in chunk]
        return of_chunk(squares, order, combine, number(0)), mean, len(chunk)

    def merge(left, right):
        na, nb = number(left[2]), number(right[2])
        n = na + nb
        delta = right[1] - left[1]
        return left[0] + right[0] + delta * delta * (na * nb / n), left[1] + delta * (nb / n), left[2] + right[2]

    parts = [of_part(chunk) for chunk in chunks(values, order)]
    return pairwise(parts, merge)[0] if parts else identity
