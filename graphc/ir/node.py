"""The one node type of the graph.

A `Node` says: apply `op` to `srcs` with `attrs`; the result has `dtype` and `shape`. Nodes are interned (weakly):
building the same expression twice gives the same object, so common subexpressions are found by construction and
`is` is equality. A node never changes, with one exception: `fulfil` puts a computed buffer into `value`, after which
the node is a leaf and forgets how it was made.

Four slots are outside the key: `value`, `site` (where the user wrote it), `depth` (the longest way to a leaf) and
`tracked` (whether a gradient may ask how it was made).
"""
from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from math import prod

import numpy as np

from graphc.ir.dtype import DType
from graphc.ir.ops import ALIAS, BUFFER, CONST, Op


class Node:
    __slots__ = ("op", "dtype", "shape", "srcs", "attrs", "device", "value", "site", "depth", "tracked", "met",
                 "__weakref__")

    op: Op
    dtype: DType                # a tuple of dtypes for a multi-output op, read through GET
    shape: tuple[int, ...]      # likewise a tuple of shapes
    srcs: tuple[Node, ...]
    attrs: tuple                # hashable facts of the op: axes, starts, the bits of a constant
    device: str | None          # None: a constant, at home on every device
    value: object | None        # the runtime's buffer, once computed: always contiguous
    site: object | None         # errors.Site of the user's call
    depth: int
    tracked: int                # a bit for each level of differentiation with a variable under this node
    met: int                    # 1: a schedule has computed it without keeping it; -1: nor is it worth it (again.py)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __repr__(self) -> str:
        what = f"{self.op.name}{list(self.attrs) if self.attrs else ''}"
        return f"<{what} {self.dtype}{list(self.shape)} of {len(self.srcs)}>"

    def fulfil(self, value: object) -> None:
        """Record the computed buffer. The node becomes a leaf; its sources it keeps only for gradients."""
        self.value = value
        self.depth = 0
        if not self.tracked:
            interned.pop((self.op, self.dtype, self.shape, self.srcs, self.attrs, self.device), None)
            self.op, self.srcs, self.attrs = BUFFER, (), ()


_blank = object.__new__


class _Entry(weakref.ref):
    """A weak reference that knows its key, so that a dead node can be taken out of the table."""

    __slots__ = ("key",)


interned: dict[tuple, _Entry] = {}      # by what `make` was asked for; without those that nobody holds


def _forget(entry: _Entry, table=interned) -> None:
    present = table.pop(entry.key, None)
    if present is not entry and present is not None:    # rare: the expression was made again in the meantime
        table.setdefault(entry.key, present)


def make(op: Op, dtype, shape: tuple, srcs: tuple[Node, ...] = (), attrs: tuple = (), *, device: str | None = None,
         site: object = None) -> Node:
    """The node with these facts: the existing one if there is one."""
    if device is None:
        for src in srcs:
            if src.device is not None:
                device = src.device
                break
    key = (op, dtype, shape, srcs, attrs, device)
    entry = interned.get(key)
    if entry is not None:
        node = entry()
        if node is not None and node.op is op:      # else it has just been fulfilled, and its memory may be reused
            return node
    node = _new(op, dtype, shape, srcs, attrs, device, site)
    entry = _Entry(node, _forget)
    entry.key = key
    while True:     # setdefault is atomic: of two threads that come here at once, both return the node of the first
        present = interned.setdefault(key, entry)
        if present is entry:
            return node
        other = present()
        if other is not None and other.op is op:
            return other
        _forget(present)


def _new(op, dtype, shape, srcs, attrs, device, site) -> Node:
    node = Node()
    node.op, node.dtype, node.shape, node.srcs, node.attrs = op, dtype, shape, srcs, attrs
    node.device, node.value, node.site, node.met = device, None, site, 0
    depth = tracked = 0
    for src in srcs:
        if src.depth >= depth:
            depth = src.depth + 1
        if src.tracked:
            tracked |= src.tracked
    node.depth, node.tracked = depth, tracked
    return node


def buffer(dtype: DType, shape: tuple[int, ...], value: object, device: str, site: object = None) -> Node:
    """A leaf over memory that exists. Never interned: two leaves are two things even when they look alike."""
    node = _blank(Node)     # as `_new`, without its call and its loop
    node.op, node.dtype, node.shape, node.srcs, node.attrs = BUFFER, dtype, shape, (), ()
    node.device, node.value, node.site, node.depth, node.tracked, node.met = device, value, site, 0, 0, 0
    return node


def variable(node: Node, bit: int) -> Node:
    """The same value as a node of its own, which the gradients of this bit end at."""
    if node.value is not None and not node.tracked:
        found = buffer(node.dtype, node.shape, node.value, node.device, node.site)
    else:
        found = _new(ALIAS, node.dtype, node.shape, (node,), (), node.device, node.site)
    found.tracked |= bit
    return found


def is_variable(node: Node) -> bool:
    """Whether a node that is not computed yet is a variable. Gradients end at this very node: it is never copied."""
    return node.op is ALIAS and len(node.srcs) == 1 and not node.attrs


def untracked(node: Node, bits: int = -1) -> Node:
    """The same value, which the gradients of these bits do not pass."""
    if not node.tracked & bits:
        return node
    found = make(ALIAS, node.dtype, node.shape, (node,), (bits,), device=node.device, site=node.site)
    found.tracked = node.tracked & ~bits
    return found


_consts: dict[tuple, Node] = {}
_CONST_CACHE = 1024


def const(value, dtype: DType) -> Node:
    """A scalar constant of shape (), interned by dtype and bit pattern (0.0, -0.0 and NaN payloads stay apart)."""
    # Equal nonzero real numbers of one dtype have one bit pattern, so the number itself serves as the cache's key.
    cacheable = value == value and value != 0 and dtype.kind != "c"
    if cacheable:
        node = _consts.get((dtype, value))
        if node is not None:
            return node
    exact = np.asarray(value).astype(dtype.numpy)
    node = make(CONST, dtype, (), (), (exact.tobytes(), _is_structural(exact[()], dtype)))
    if cacheable:
        if len(_consts) >= _CONST_CACHE:
            _consts.clear()
        _consts[dtype, value] = node
    return node


_givers: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()
_numbers = count(1)


def argument(value, dtype: DType, given: Node | None = None) -> Node:
    """A scalar that is an argument of programs whatever its value, because data gave it: a value of 0, or two that are
    equal, would make another program of the same operations. `given`: the node that it was read from."""
    number = 0 if given is None else _givers.setdefault(given, next(_numbers))
    return make(CONST, dtype, (), (), (np.asarray(value).astype(dtype.numpy).tobytes(), False, number))


# Values that simplification or codegen looks at are part of a program's structure; all others are its scalar arguments.
_STRUCTURAL = (0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"))
_MASKS = (15,)      # of half a byte: what is unpacked from the upper half needs none


def _is_structural(value, dtype: DType) -> bool:
    return (dtype.kind in "bc" or bool(value != value) or float(value) in _STRUCTURAL
            or (dtype.kind in "iu" and value in _MASKS))


def const_value(node: Node):
    """The NumPy scalar of a CONST node."""
    return np.frombuffer(node.attrs[0], node.dtype.numpy)[0]


EXPONENTS = tuple(float(k) for k in range(-4, 9))


def is_exponent(node: Node) -> bool:
    """Small exponents are part of a program's structure: powers of them become products."""
    return const_value(node) in EXPONENTS


def const_words(node: Node) -> int:
    """The bits of a CONST of up to 8 bytes as a signed 64-bit integer, as kernels take them."""
    return struct.unpack("<q", node.attrs[0].ljust(8, b"\0"))[0]


def const_of_words(words: int, dtype: DType) -> Node:
    """The CONST whose bits are these: the inverse of const_words."""
    return const(np.frombuffer(struct.pack("<q", words), dtype.numpy, 1)[0], dtype)


def topological(roots: Iterable[Node], is_leaf=lambda node: node.value is not None) -> list[Node]:
    """All nodes under the roots, sources first, in an order that depends on the structure alone. Iterative."""
    order: dict[Node, None] = {}
    for root in roots:
        stack: list[Node | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:        # what the node below it reads is done
                order[stack.pop()] = None
            elif node not in order:
                srcs = node.srcs
                if not srcs or is_leaf(node):
                    order[node] = None
                else:
                    stack.append(node)
                    stack.append(None)
                    stack += srcs[::-1]
    return list(order)


def read(node: Node) -> tuple[Node, ...]:
    """The sources that the node's value is computed from. The others of an ALIAS say where a gradient goes."""
    return node.srcs[:1] if node.op is ALIAS else node.srcs


def needed(roots: Sequence[Node]) -> list[Node]:
    """The nodes that the values of the roots are computed from, sources first."""
    order = topological(roots)
    wanted = set(roots)
    for node in reversed(order):
        if node in wanted and node.value is None:
            wanted.update(read(node))
    return [node for node in order if node in wanted]


def rebuild(node: Node, srcs: Sequence[Node]) -> Node:
    """The same operation on other sources; the same object when nothing differs."""
    srcs = tuple(srcs)
    if srcs == node.srcs:
        return node
    return make(node.op, node.dtype, node.shape, srcs, node.attrs, device=node.device, site=node.site)


def rewritten(roots: Iterable[Node], rule: Callable[[Node], Node | None]) -> tuple[Node, ...]:
    """The roots where each node under them has become what `rule` makes of it, or stays (None). Sources come first, so
    that a rule sees what has become of them."""
    def step(node: Node, new: dict[Node, Node]) -> Node:
        current = rebuild(node, [new[s] for s in node.srcs])
        return rule(current) or current
    return replaced(topological(roots), roots, step)


def replaced(order: Sequence[Node], roots: Iterable[Node], rule: Callable[[Node, dict[Node, Node]], Node | None]
             ) -> tuple[Node, ...]:
    """The same for a rule that asks for a node as it was, and where it stood: it is given what has become of each node
    before. `order`: all nodes under the roots, sources first."""
    new: dict[Node, Node] = {}
    for node in order:
        new[node] = rule(node, new) or rebuild(node, [new[s] for s in node.srcs])
    return tuple(new[r] for r in roots)
