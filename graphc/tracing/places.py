"""Where a jitted function finds tensors: names of its module, cells, default values, attributes, elements.

A tensor that the function closes over is known by its handle, so another tensor in the same place would go unnoticed.
So the places are looked for before the function is traced, from the function on, and those that lead to tensors which
it has read are looked at again at each call. Only what is replaced in a module counts itself (`Counted`): a model has
hundreds of such places.

Code is not run to find them: a function counts as reading every name in its code, and an object every attribute. What
lies in libraries is not searched.
"""
from __future__ import annotations

import functools
import itertools
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from operator import getitem
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from graphc.ir.dtype import DType
from graphc.tensor import Tensor

MOST = 10_000       # objects that are looked at; what lies farther away is not found
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"} | {"graphc", "numpy", "scipy"}
_PLAIN = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic, np.dtype, DType)
_ORDERED = (dict, OrderedDict, defaultdict)     # no code of the user's tells their order
_absent = object()
_numbers = itertools.count(1)

# (how to look, where, key, what is there)
Place = tuple[Callable, Any, Any, Any]
# (len, or _order; of what; what that gives)
Size = tuple[Callable, Any, Any]


class Counted:
    """An object that tells when something takes the place of one of its attributes.

    changes  another number after each such change, of any of these objects, or of the mode of a module
    """

    changes = 0

    def __setattr__(self, name: str, value) -> None:
        before = self.__dict__.get(name, _absent)
        super().__setattr__(name, value)
        if before is not value and before is not _absent and not (
                isinstance(before, _PLAIN) and isinstance(value, _PLAIN)):
            count_change()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        count_change()


def count_change() -> None:
    Counted.changes = next(_numbers)


class Places:
    """All places that can be reached from some objects."""

    def __init__(self, roots: Sequence):
        self._into: dict[int, list[tuple[int, Place | None, bool]]] = {}    # of what is there: owner, place, counted
        self._sizes: dict[int, Size] = {}
        self._empty: dict[int, list[Place]] = {}        # of what counts: attributes that are None
        self._alive = list(roots)
        waiting, met = deque(roots), set(map(id, roots))
        while waiting and len(met) < MOST:
            holder = waiting.popleft()
            if _is(holder, (list, dict, set, deque)):
                measure = _order if type(holder) in _ORDERED else len
                self._sizes[id(holder)] = measure, holder, measure(holder)
            for owner, place, child in itertools.islice(_inside(holder), MOST):
                counted = _is(owner, Counted) and place is not None and place[1] is vars(owner)
                if child is None and counted:
                    self._empty.setdefault(id(owner), []).append(place)
                if _is(child, _PLAIN):
                    continue
                self._into.setdefault(id(child), []).append((id(owner), place, counted))
                if id(child) not in met:
                    met.add(id(child))
                    self._alive.append(child)
                    waiting.append(child)

    def leading_to(self, tensors: Sequence[Tensor]) -> tuple[list[Place], list[Place], list[Size]]:
        """(places on the way to any of these, those of them that are Counted, the sizes of lists, dicts, sets there).
        Where there is nothing in an attribute, a tensor may come, such as the bias of a layer."""
        waiting, met = list(map(id, tensors)), set(map(id, tensors))
        loose, counts, sizes = [], [], []
        while waiting:
            for owner, place, counted in self._into.get(waiting.pop(), ()):
                if place is not None:
                    (counts if counted else loose).append(place)
                if owner not in met:
                    met.add(owner)
                    waiting.append(owner)
                    counts += self._empty.get(owner, ())
                    if owner in self._sizes:
                        sizes.append(self._sizes[owner])
        return loose, counts, sizes


def _order(held: dict) -> list[int]:
    """Which keys a dict has, in their order. They are not compared, which would run code: they may be tensors."""
    return [*map(id, held)]


def hold(places: Sequence[Place]) -> bool:
    """Is there in each place what was there?"""
    try:
        for look, holder, key, there in places:
            if look(holder, key) is not there:
                return False
    except (LookupError, AttributeError, ValueError):   # of an empty cell
        return False
    return True


def _inside(holder) -> Iterator[tuple[Any, Place | None, Any]]:
    """(owner, place, what is there) for all that an object holds; no place where it can't be replaced."""
    if _is(holder, Tensor):
        return
    if _is(holder, FunctionType):
        yield from _of_function(holder)
    elif _is(holder, MethodType):
        yield from ((holder, None, x) for x in (holder.__func__, holder.__self__))
    elif _is(holder, functools.partial):
        yield from ((holder, None, x) for x in (holder.func, holder.args, holder.keywords))
    elif _is(holder, (property, classmethod, staticmethod)):
        yield from ((holder, None, x) for x in (getattr(holder, "fget", None), getattr(holder, "__func__", None)))
    elif _is(holder, type):
        if not _in_library(holder.__module__):
            yield from ((holder, (getattr, holder, name, x), x) if _is(x, Tensor) else (holder, None, x)
                        for name, x in vars(holder).items())
            yield from ((holder, None, base) for base in holder.__bases__)
    elif not _is(holder, ModuleType):        # whose names are those of the functions that use them
        if _is(holder, (tuple, frozenset, set)):
            yield from ((holder, None, x) for x in list(holder))
        elif _is(holder, list):
            yield from ((holder, (list.__getitem__, holder, k, x), x) for k, x in enumerate(list.__iter__(holder)))
        elif _is(holder, deque):
            yield from ((holder, (deque.__getitem__, holder, k, x), x) for k, x in enumerate(deque.__iter__(holder)))
        elif _is(holder, dict):
            yield from ((holder, (dict.__getitem__, holder, key, x), x) for key, x in list(dict.items(holder)))
        yield from _of_object(holder)


def _of_object(holder) -> Iterator[tuple[Any, Place | None, Any]]:
    try:
        attributes = getattr(holder, "__dict__", None)
    except Exception:       # a proxy that stands for nothing now
        return
    if _is(attributes, dict):
        wrapped = attributes.get("__wrapped__")     # of what is jitted, or cached
        items = list(attributes.items()) if wrapped is None else [("__wrapped__", wrapped)]
        yield from ((holder, (getitem, attributes, name, x), x) for name, x in items)
    if not _in_library(type(holder).__module__):
        yield holder, None, type(holder)
        slots = [(name, slot) for kind in type(holder).__mro__ for name, slot in vars(kind).items()
                 if _is(slot, MemberDescriptorType)]
        for name, slot in slots:
            try:
                x = slot.__get__(holder)
            except AttributeError:      # it has no value
                continue
            yield holder, (getattr, holder, name, x), x


def _of_function(f: FunctionType) -> Iterator[tuple[Any, Place | None, Any]]:
    for name in ("__defaults__", "__kwdefaults__"):
        yield f, (getattr, f, name, getattr(f, name)), getattr(f, name)
    for cell in f.__closure__ or ():
        try:
            yield f, (getattr, cell, "cell_contents", cell.cell_contents), cell.cell_contents
        except ValueError:      # it is empty
            continue
    if _in_library(f.__module__):
        return
    names = set(_names(f.__code__))
    spaces: list[tuple[Any, dict]] = [(f, f.__globals__)]
    for owner, space in spaces:
        for name in names & space.keys():
            x = space[name]
            yield owner, (getitem, space, name, x), x
            if _is(x, ModuleType) and not _in_library(x.__name__) and all(vars(x) is not s for _, s in spaces):
                spaces.append((x, vars(x)))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if _is(constant, CodeType):
            yield from _names(constant)


def _is(x, kinds) -> bool:
    """isinstance, which would ask a proxy what it stands for."""
    return issubclass(type(x), kinds)


def _in_library(module: str | None) -> bool:
    parts = (module or "").split(".")
    return parts[0] in _LIBRARIES and parts[:2] != ["graphc", "examples"]
