"""einsum: sums of products by index labels, taken down to DOT, elementwise products and sums.

Operands are combined two at a time, in the order that `optimize` finds. Labels that both have are summed in a DOT where
nothing later needs them, otherwise they form its stack; a pair without a label to sum is an elementwise product, and
one without labels of its own on either side a sum of products, which reads both in the order in which they lie in
memory.
"""
from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from graphc.api import reductions as red
from graphc.api.manipulation import permute_dims, reshape, slice_axis
from graphc.api.products import matmul, promoted, sum_of_products
from graphc.errors import ArgumentError, DTypeError, ShapeError

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(subscripts: str, /, *operands, optimize=True):
    """Einstein's summation: each operand's axes are named by letters, and letters not in the result are summed.

    "ij,jk->ik" multiplies matrices, "ii" is a trace, "...ij->...ji" transposes. Without "->" the result has the letters
    that occur once, in alphabetical order. An ellipsis stands for axes that broadcast. As in NumPy, an axis of size 1
    broadcasts against a larger one of the same letter. NumPy's other form, einsum(x, [0, 1], y, [1, 2], [0, 2]), has
    numbers for letters.

    optimize: in which order more than two operands are multiplied. True (NumPy's default is False), "greedy" or
    "optimal": in the order with few multiplications that numpy.einsum_path finds; or a path of its. False: from left to
    right.

    Raises ShapeError for sizes that do not fit the subscripts, ArgumentError for subscripts that do not fit the number
    of operands and for an unknown optimize; both are ValueErrors.

    >>> import graphc as gc
    >>> gc.einsum("ij,jk->ik", gc.ones((2, 3)), gc.ones((3, 4))).shape
    (2, 4)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    tensors = promoted("einsum", *operands) if operands else []
    terms, result = _parse(subscripts, tensors)
    sizes = _sizes(subscripts, terms, tensors)
    work = [_prepared(x, term, sizes) for x, term in zip(tensors, terms, strict=True)]
    for places in _path(terms, result, tensors, optimize):
        chosen = [work[k] for k in sorted(places)]
        work = [part for k, part in enumerate(work) if k not in places]
        x, labels = chosen.pop(0)
        while chosen:
            other = chosen.pop(0)
            later = {label for _, others in chosen + work for label in others} | set(result)
            x, labels = _pair(x, labels, *other, later)
        work.append((x, labels))
    x, labels = _summed(*work[0], set(result))
    x = permute_dims(x, tuple(labels.index(label) for label in result if label in labels))
    # A label of size 1 may have been dropped.
    return reshape(x, tuple(sizes[label] for label in result))


def _from_lists(given: tuple) -> tuple[str, tuple]:
    """The subscripts and the operands of einsum(x, [0, 1], y, [1, 2], [0, 2]); the last list may be left out."""
    count = len(given) // 2
    lists = [*given[1:2 * count:2], *given[2 * count:]]
    for axes in lists:
        if not isinstance(axes, list | tuple) or not all(
                i is Ellipsis or isinstance(i, int) and 0 <= i < len(_LETTERS) for i in axes):
            raise DTypeError("subscripts must be text, or a list of numbers after each operand", op="einsum",
                             fix="write einsum('ij,jk->ik', x, y), or einsum(x, [0, 1], y, [1, 2], [0, 2])")
    letters = sorted(_LETTERS)      # so that the order of a result without a list is that of the numbers
    terms = ["".join("..." if i is Ellipsis else letters[i] for i in axes) for axes in lists]
    return ",".join(terms[:count]) + "".join("->" + term for term in terms[count:]), given[:2 * count:2]


def _path(terms: list[str], result: str, tensors: list, optimize) -> list[tuple[int, ...]]:
    """Which operands are multiplied, one after the other; the product stands behind those that are left."""
    if optimize is False or len(tensors) < 3:
        return [tuple(range(len(tensors)))]
    shapes = tuple(x.shape for x in tensors)
    try:
        find = _found if isinstance(optimize, bool | str) else _found.__wrapped__
        return find(f"{','.join(terms)}->{result}", shapes, optimize)
    except (KeyError, TypeError, RuntimeError, ValueError) as error:
        raise ArgumentError(f"optimize={optimize!r}: {error}", op="einsum",
                            fix="use True, False, 'greedy' or 'optimal'") from None


@lru_cache(maxsize=256)
def _found(subscripts: str, shapes: tuple[tuple[int, ...], ...], optimize) -> list[tuple[int, ...]]:
    examples = [np.broadcast_to(0.0, shape) for shape in shapes]
    return np.einsum_path(subscripts, *examples, optimize=optimize)[0][1:]


def _parse(subscripts: str, tensors: list) -> tuple[list[str], str]:
    """The labels of each operand and of the result, with ellipses replaced by unused letters."""
    text = subscripts.replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ArgumentError(f"{subscripts!r} names {len(terms)} operands, but there are {len(tensors)}", op="einsum")
    wrong = set(text.replace("...", "").replace("->", "").replace(",", "")) - set(_LETTERS)
    if wrong:
        raise ArgumentError(f"{subscripts!r} holds {sorted(wrong)[0]!r}, which is no label", op="einsum")
    free = [c for c in _LETTERS if c not in text]
    filled, longest = [], ""
    for term, x in zip(terms, tensors, strict=True):
        rest = x.ndim - len(term.replace("...", ""))
        if rest < 0 or (rest and "..." not in term):
            raise ShapeError(f"{term!r} does not name the {x.ndim} axes of shape {x.shape}", op="einsum")
        dots = "".join(free[rest - 1::-1]) if rest else ""      # aligned from the right, as broadcasting is
        longest = max(longest, dots, key=len)
        filled.append(term.replace("...", dots))
    if not arrow:
        joined = "".join(filled)
        once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in longest)
        return filled, longest + "".join(once)
    result = result.replace("...", longest)
    for label in result:
        if result.count(label) > 1 or not any(label in term for term in filled):
            raise ArgumentError(f"{subscripts!r}: label {label!r} of the result must occur in an operand, and once in "
                                "the result", op="einsum")
    return filled, result


def _sizes(subscripts: str, terms: list[str], tensors: list) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        own: dict[str, int] = {}
        for label, n in zip(term, x.shape, strict=True):
            if own.setdefault(label, n) != n:       # a diagonal, for which no axis broadcasts
                raise ShapeError(f"{subscripts!r}: label {label!r} is both {own[label]} and {n} in shape {x.shape}",
                                 op="einsum")
            if sizes.setdefault(label, n) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise ShapeError(f"{subscripts!r}: label {label!r} is both {sizes[label]} and {n}", op="einsum")
    return sizes


def _prepared(x, term: str, sizes: dict[str, int]) -> tuple:
    """The operand with each label once (repeated ones are a diagonal), without axes of size 1 that broadcast."""
    keep = [i for i, label in enumerate(term) if x.shape[i] != 1 or sizes[label] == 1]
    x, labels = reshape(x, tuple(x.shape[i] for i in keep)), [term[i] for i in keep]
    for label in sorted(set(labels), key=labels.index):
        while labels.count(label) > 1:
            i = labels.index(label)
            x, labels = _diagonal(x, labels, i, labels.index(label, i + 1))
    return x, labels


def _diagonal(x, labels: list[str], i: int, j: int) -> tuple:
    """Axes i and j as one, at the front: the elements where both indices are equal."""
    order = (i, j, *(a for a in range(x.ndim) if a not in (i, j)))
    x = permute_dims(x, order)
    n = x.shape[0]
    x = slice_axis(reshape(x, (n * n, *x.shape[2:])), 0, 0, n, n + 1)
    return x, [labels[a] for a in order if a != j]


def _summed(x, labels: list[str], keep: set[str]) -> tuple:
    """x summed over the labels that nothing needs any more."""
    gone = tuple(i for i, label in enumerate(labels) if label not in keep)
    if not gone:
        return x, labels
    return red.sum(x, gone, dtype=x.dtype), [label for label in labels if label in keep]


def _pair(a, left: list[str], b, right: list[str], later: set[str]) -> tuple:
    """The product of two operands, summed over what they share and nothing later needs."""
    a, left = _summed(a, left, later | set(right))
    b, right = _summed(b, right, later | set(left))
    shared = [c for c in left if c in right]
    stack, inner = [c for c in shared if c in later], [c for c in shared if c not in later]
    rows, columns = [c for c in left if c not in shared], [c for c in right if c not in shared]
    size = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))
    labels = stack + rows + columns

    def arranged(x, names, order, shape):
        return reshape(permute_dims(x, tuple(names.index(c) for c in order)), shape)

    def sizes(names):
        return tuple(size[c] for c in names)

    if not inner:
        a = arranged(a, left, stack + rows, (*sizes(stack), *sizes(rows), *(1 for _ in columns)))
        b = arranged(b, right, stack + columns, (*sizes(stack), *(1 for _ in rows), *sizes(columns)))
        return a * b, labels
    if not rows and not columns:
        b = permute_dims(b, tuple(right.index(c) for c in left))
        return sum_of_products(a, b, tuple(left.index(c) for c in inner)), [c for c in left if c in later]
    m, k, n = prod(sizes(rows)), prod(sizes(inner)), prod(sizes(columns))
    a = arranged(a, left, stack + rows + inner, (*sizes(stack), m, k))
    b = arranged(b, right, stack + inner + columns, (*sizes(stack), k, n))
    return reshape(matmul(a, b), sizes(labels)), labels
