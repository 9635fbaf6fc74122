"""Nested arguments and results: tuples, lists, dicts, dataclasses and namedtuples, taken apart and put together again.

What is none of these is a leaf, None included. A structure is a hashable value, so that it can be part of a key.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

LEAF = "*"
_TEXT = frozenset((str,))


def flatten(tree: Any) -> tuple[list, Any]:
    """(leaves, structure).

    >>> flatten((1, {"a": [2, 3]}))
    ([1, 2, 3], (<class 'tuple'>, None, ('*', (<class 'dict'>, ('a',), ((<class 'list'>, None, ('*', '*')),)))))
    """
    leaves: list = []
    return leaves, _take_apart(tree, leaves)


class _Names(tuple):
    """The keys of a dict, not all of which are text: 1, 1.0 and True are equal, what is computed with them is not."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other) -> bool:
        return tuple.__eq__(self, other) and [*map(type, self)] == [*map(type, other)]


def _take_apart(tree: Any, leaves: list) -> Any:
    kind = tree.__class__
    children: Sequence
    names = None
    if kind is tuple or kind is list or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        children = tree
    elif kind is dict:
        names = tuple(tree) if _TEXT.issuperset(map(type, tree)) else _Names(tree)
        children = tuple(tree.values())
    elif dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
        children = [getattr(tree, name) for name in names]
    else:
        leaves.append(tree)
        return LEAF
    return kind, names, tuple([_take_apart(child, leaves) for child in children])


def unflatten(structure: Any, leaves: Sequence) -> Any:
    """The tree with this structure and these leaves.

    >>> unflatten(flatten([1, (2, 3)])[1], "abc")
    ['a', ('b', 'c')]
    """
    return _together(structure, iter(leaves))


def _together(structure: Any, leaves: Iterator) -> Any:
    if structure == LEAF:
        return next(leaves)
    kind, names, parts = structure
    children = [_together(part, leaves) for part in parts]
    if kind is tuple or kind is list:
        return kind(children)
    if kind is dict:
        return dict(zip(names, children, strict=True))
    if names is None:
        return kind._make(children)
    return _dataclass(kind, names, children)


def _dataclass(kind: type, names: Sequence[str], children: Sequence) -> Any:
    """Without its __init__, which may compute: the fields are what they were."""
    made = object.__new__(kind)
    put: Callable = object.__setattr__  # frozen ones as well
    for name, child in zip(names, children, strict=True):
        put(made, name, child)
    return made
