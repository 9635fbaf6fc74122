"""Reading the keys of `x[key]`: integers, slices, ellipsis, None, boolean masks and integer arrays.

A key is read once into a `Selection`: the region that integers and slices cut out, and the index arrays that then
select from some axes of that region. Index arrays given as data of the program (lists, NumPy arrays) are checked at the
call; those that are computed are checked when they are realized, by CHECK_INDEX, and report the line of the call then.
"""
from __future__ import annotations

import operator
from weakref import WeakValueDictionary

import numpy as np
from msgspec import Struct

from graphc.api import record
from graphc.api.elementwise import less, where
from graphc.api.record import as_tensor, broadcast_shapes, cast, wrap
from graphc.errors import DTypeError, IndexOutOfRange, ShapeError, out_of_range, user_site
from graphc.ir import dtype as dtypes
from graphc.ir import ops
from graphc.ir.node import Node, argument, make
from graphc.tensor import Tensor, host_view

_MANY = 1 << 14     # indices from which a kernel wraps negative ones better, on its way


class Selection(Struct, frozen=True):
    """A key, read for one shape.

    starts, steps, lengths   the region along every axis of the source
    inner                    the shape of the region without integer axes and with new axes: what arrays select from
    arrays                   axis of `inner` -> index tensor (checked, int64) or None where no array selects
    place                    where the axes of the broadcast arrays stand in the result, counted in kept axes
    counted                  an axis of `inner` whose array counts it, as arange does; None if there is none
    """

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    lengths: tuple[int, ...]
    inner: tuple[int, ...]
    arrays: dict[int, Tensor]
    place: int
    counted: int | None = None

    @property
    def fetched(self) -> tuple[int, ...]:
        """The common shape of the index arrays."""
        return broadcast_shapes("getitem", *(a.shape for a in self.arrays.values()))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of `inner` with those that arrays select from together, at `place`."""
        kept = [i for i in range(len(self.inner)) if i not in self.arrays]
        return (*kept[:self.place], *self.arrays, *kept[self.place:])

    @property
    def result(self) -> tuple[int, ...]:
        if not self.arrays:
            return self.inner
        kept = [n for i, n in enumerate(self.inner) if i not in self.arrays]
        return (*kept[:self.place], *self.fetched, *kept[self.place:])


_MASKED = "choose by gc.where(mask, x, 0), which has the size of x, or by an index computed outside"
_BASIC = (int, slice, type(None), type(Ellipsis))


def _expanded(key, shape: tuple[int, ...], name: str) -> list:
    """The key as a list with one entry for each axis, None for new axes and perhaps an ellipsis for no axis; masks as
    the integer arrays they mean."""
    entries: list = []
    for item in key if isinstance(key, tuple) else (key,):
        if item.__class__ in _BASIC:
            entries.append(item)
        else:
            entries += _entry(item, name)
    used = sum(_axes_used(e) for e in entries)
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexOutOfRange("an index can hold only one ellipsis ('...')", op=name)
    if used > len(shape):
        raise IndexOutOfRange(f"{used} indices for shape {shape}, which has {len(shape)} axes", op=name)
    if not dots:
        entries += [slice(None)] * (len(shape) - used)
    elif used < len(shape):  # one for no axis stays: it parts the index arrays around it
        entries[dots[0]:dots[0] + 1] = [slice(None)] * (len(shape) - used)
    return _unmasked(entries, shape, name)


def _axes_used(entry) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) and entry.dtype == bool else 1


def _entry(item, name: str) -> list:
    """One item of a key, other than the plain Python ones, as entries."""
    if isinstance(item, (bool, np.bool_)):  # a mask without axes: a new axis of size 1 or 0
        return [np.asarray(item)]
    if isinstance(item, (np.integer,)):
        return [int(item)]
    if isinstance(item, Tensor):
        if item.dtype is dtypes.bool:
            return [record.deciding(item, name, _MASKED)]
        if item.dtype.kind in "iu":
            return [item]
        raise IndexOutOfRange(f"a {item.dtype} tensor can't be an index", op=name, fix="use integers or booleans")
    if isinstance(item, (list, tuple, range, np.ndarray)) or hasattr(item, "__array__"):
        array = record.to_array(list(item) if isinstance(item, range) else item, name)
        if not array.size and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind in "biu":
            return [array]
        raise IndexOutOfRange(f"arrays of {array.dtype} can't be indices", op=name, fix="use integers or booleans")
    try:
        return [operator.index(item)]
    except TypeError:
        raise IndexOutOfRange(f"an index can't be {item!r}", op=name,
                              fix="use integers, slices, '...', None, boolean masks or integer arrays") from None


def _fits_axes(mask: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """A mask without elements selects nothing: as in NumPy, its axis of size 0 fits any."""
    return len(mask) == len(sizes) and all(m in (0, n) for m, n in zip(mask, sizes, strict=True))


def _unmasked(entries: list, shape: tuple[int, ...], name: str) -> list:
    """Each boolean mask replaced by the positions of its true elements, an integer array per axis."""
    if not any(isinstance(e, np.ndarray) and e.dtype == bool for e in entries):
        return entries
    found, axis = [], 0
    for entry in entries:
        if isinstance(entry, np.ndarray) and entry.dtype == bool:
            if not _fits_axes(entry.shape, shape[axis:axis + entry.ndim]):
                raise IndexOutOfRange(f"a boolean mask of shape {entry.shape} does not fit axes of sizes "
                                      f"{shape[axis:axis + entry.ndim]}", op=name)
            found += list(np.nonzero(entry)) if entry.ndim else [_NewAxis(bool(entry))]
        else:
            found.append(entry)
        axis += _axes_used(entry)
    return found


_positions: WeakValueDictionary[Node, Node] = WeakValueDictionary()     # a mask -> where it is true


def positions(mask, name: str) -> Tensor:
    """Where a mask of any shape, flattened, is true: a vector of int64, the same one as long as anybody holds it.

    That one holds the mask's node too: else a jitted function might write to its memory in place meanwhile.
    """
    node = mask.node if isinstance(mask, Tensor) else None
    found = None if node is None else _positions.get(node)
    if found is None:
        values = _entry(mask, name)[0].reshape(-1)
        found = record.from_numpy(np.flatnonzero(values), copy=False, device=node and node.device, name=name).node
        if node is not None:
            _positions[node] = found
    return wrap(found)


class _NewAxis(Struct, frozen=True):
    """What a mask without axes stands for: a new axis from which one or no element is taken."""

    keep: bool


_PLAIN = frozenset((int, type(None), type(Ellipsis)))
_read: dict[tuple, Selection] = {}      # plain keys that were read: reading one takes longer than all else of x[key]
_KEYS = 4096


def _plain(key) -> tuple | None:
    """Something hashable that tells keys of Python integers, slices, None and ... apart; None for other keys."""
    parts: list = []
    for item in key if key.__class__ is tuple else (key,):
        if item.__class__ is slice:
            start, stop, step = ends = item.start, item.stop, item.step
            if not (start.__class__ in _PLAIN and stop.__class__ in _PLAIN and step.__class__ in _PLAIN):
                return None
            parts.append(ends)
        elif item.__class__ in _PLAIN:
            parts.append(item)
        else:
            return None
    return tuple(parts)


def select(key, shape: tuple[int, ...], name: str) -> Selection:
    """Read a key. Raises IndexOutOfRange for integers outside their axis and for too many indices."""
    plain = _plain(key)
    if plain is None:
        return _select(key, shape, name)
    found = _read.get((shape, plain))
    if found is None:
        if len(_read) >= _KEYS:
            _read.clear()
        found = _read[shape, plain] = _select(key, shape, name)
    return found


def _select(key, shape: tuple[int, ...], name: str) -> Selection:
    starts, steps, lengths, inner, arrays, counted = [], [], [], [], {}, None
    special = []  # where in the key integers and arrays stand: only if they are neighbours do their axes stay in place
    kept_before = None
    entries = _expanded(key, shape, name)
    for position, entry in enumerate(entries):
        if entry is Ellipsis:
            continue
        if entry is None or isinstance(entry, _NewAxis):
            if entry is not None:
                special.append(position)
                kept_before = len(inner) - len(arrays) if kept_before is None else kept_before
                arrays[len(inner)] = as_tensor(np.zeros(int(entry.keep), np.int64))
            inner.append(1)
            continue
        n = shape[len(starts)]
        if isinstance(entry, slice):
            start, length, step = _slice(entry, n, name)
            inner.append(length)
        else:
            special.append(position)
            kept_before = len(inner) - len(arrays) if kept_before is None else kept_before
            if isinstance(entry, int):
                start, length, step = integer_in(entry, n, len(starts), name), 1, 1
            else:
                start, length, step = 0, n, 1
                arrays[len(inner)] = checked(entry, n, name, len(starts))
                counted = len(inner) if _counts(entry, n) else counted
                inner.append(n)
        starts.append(start)
        lengths.append(length)
        steps.append(step)
    _together_or_not(arrays, name)
    neighbours = not special or special[-1] - special[0] == len(special) - 1
    place = kept_before if arrays and neighbours else 0
    return Selection(tuple(starts), tuple(steps), tuple(lengths), tuple(inner), arrays, place, counted)


def _counts(entry, n: int) -> bool:
    """Whether an index array is known to be 0 .. n-1."""
    if entry.shape != (n,) or isinstance(entry, Tensor):
        return entry.shape == (n,) and entry.node.op is ops.IOTA
    return n > 0 and entry[0] == 0 and entry[-1] == n - 1 and bool((entry == np.arange(n)).all())


def _together_or_not(arrays: dict[int, Tensor], name: str) -> None:
    """Raise IndexOutOfRange, as NumPy its IndexError, where the index arrays do not broadcast."""
    try:
        broadcast_shapes(name, *(a.shape for a in arrays.values()))
    except ShapeError as error:
        raise IndexOutOfRange(f"index arrays: {error.message}", op=name, fix=error.fix) from None


def _slice(entry: slice, n: int, name: str) -> tuple[int, int, int]:
    try:
        start, stop, step = entry.indices(n)
    except (TypeError, ValueError) as error:
        kind = ShapeError if isinstance(error, ValueError) else DTypeError
        raise kind(f"{entry} means nothing: {error}", op=name) from None
    length = len(range(start, stop, step))
    return (start if length else 0), length, (step if length > 1 else 1)


def integer_in(index: int, n: int, axis: int, name: str) -> int:
    if not -n <= index < n:
        raise out_of_range(index, n, axis, name)
    return index + n if index < 0 else index


def checked(index, n: int, name: str, axis: int = 0, negative: bool = True) -> Tensor:
    """An index array as an int64 tensor that is known, or will be checked, to lie in 0 .. n-1. negative: negative ones
    count from the end; otherwise they are out of range.

    Indices that exist on the host are checked now; others by CHECK_INDEX when they are computed. It looks at many again
    while it wraps them, for a tensor may share memory with an array that somebody writes to.
    """
    if not isinstance(index, Tensor):
        index = record.to_array(index, name)
        index = index if index.size else index.astype(np.int64)
    kind = index.dtype.kind
    if kind not in "iu":
        raise DTypeError(f"indices must be integers, not {index.dtype}", op=name)
    known = host_view(index.node, index.size <= _MANY) if isinstance(index, Tensor) else index
    if known is not None:
        least = _least(known, n, axis, name, negative)
        if known.size <= _MANY:
            return _wrapped(known, least, n, index.node if isinstance(index, Tensor) else None)
    index = record.as_tensor(index)
    if index.dtype is not dtypes.uint64:  # which would wrap around: it is cast afterwards
        index = cast(index, dtypes.int64)
        if not negative:
            index = where(less(index, 0), n, index)
    node = index.node
    node = make(ops.CHECK_INDEX, node.dtype, node.shape, (node,), (n, axis), device=node.device, site=user_site(2))
    return cast(wrap(node), dtypes.int64)


def _least(index: np.ndarray, n: int, axis: int, name: str, negative: bool) -> int:
    """The least of some indices, none of which is out of range."""
    if not negative and index.size and index.min() < 0:
        raise IndexOutOfRange(f"index {index.min()} is negative", op=name, fix=f"use 0 to {n - 1}, or index % {n}")
    least, most = (int(index.min()), int(index.max())) if index.size else (0, -1)
    if not -n <= least <= most + 1 <= n:
        bad = index[(index < -n) | (index >= n)].flat[0] if index.dtype.kind == "i" else index[index >= n].flat[0]
        raise out_of_range(int(bad), n, axis, name)
    return least


def _wrapped(index: np.ndarray, least: int, n: int, given: Node | None) -> Tensor:
    index = index.astype(np.int64, order="C")   # a copy, so that nobody can write to it
    if least < 0:
        index = np.where(index < 0, index + n, index)
    if not index.ndim:
        return wrap(argument(index, dtypes.int64, given))
    return record.from_numpy(index, copy=False, device=given and given.device)
