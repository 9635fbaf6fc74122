"""The common call of a jitted function, written out as Python without loops and inner calls.

Tensors and numbers, by position and in tuples, lists and dicts, results that are fresh tensors: for these a call is a
few comparisons and the call of the native library, and what costs is Python's own frames and loops. So for each such
Replay a function is written and compiled, as the standard library does for namedtuples. It returns MISS where anything
is not as it was: then the way of jitted.py is gone, which also tells what is wrong with an index: a call without side
effects may be made again.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import graphc.tracing as tracing
from graphc import driver
from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir.node import Node, buffer
from graphc.pytree import LEAF
from graphc.runtime.backend import IndexFault
from graphc.tensor import Tensor

if TYPE_CHECKING:
    from graphc.tracing.replay import Replay

MISS = object()
_FORMATS = {dt.float32: "f4x", dt.float64: "d", dt.int64: "q", dt.uint64: "Q"}     # how struct packs a number
_TREES = {tuple: "({},)", list: "[{}]"}


def written_out(replay: Replay, forms: Sequence, nodes: Sequence[Node], surroundings: tuple) -> Callable | None:
    """A function of the arguments of a call, as a tuple; None where the replay is not of the common kind.

    forms: for each argument Tensor, float or int, what is Known, or (tuple, list or dict; keys, all of them text; forms
    of what it holds). nodes: those of the call. surroundings: as in the key.
    """
    if not all(map(_is_common, forms)):
        return None
    direct = getattr(getattr(replay.entry, "executable", None), "direct", None)
    if direct is None or direct.big or replay.structure != LEAF and (
            replay.structure[0] not in _TREES or any(part != LEAF for part in replay.structure[2])):
        return None
    plain = not (replay.writes or replay.lost or replay.donated or replay.fills or replay.looked or replay.scalars)
    fresh = [kind == "tensor" and place < len(replay.made) for kind, place in replay.results]
    if not (plain and all(fresh)) or replay.pattern is not None or replay.no_grad is not None:
        return None
    if any(entry[0] != "argument" for entry in replay.tape) or any(
            source.position is None or source.dtype not in _FORMATS for _, source in replay.patches):
        return None
    if any(node.tracked or node.value is None for node in (*nodes, *(handle.node for handle in replay.closed))):
        return None
    return _Writer(replay, forms, [*nodes, *(handle.node for handle in replay.closed)], surroundings, direct).function()


class Known(NamedTuple):
    """A static argument: a call with another one is another."""

    value: Any


def _is_common(form) -> bool:
    if form.__class__ is Known:
        return form.value.__class__ in (bool, int, str, type(None))
    if form.__class__ is not tuple:
        return form in (Tensor, float, int)
    kind, keys, parts = form
    return (kind in (tuple, list) or kind is dict and keys.__class__ is tuple) and all(map(_is_common, parts))


class _Writer:
    def __init__(self, replay: Replay, forms: Sequence, nodes: Sequence[Node], surroundings: tuple, direct):
        self.replay, self.forms, self.nodes, self.surroundings, self.direct = replay, forms, nodes, surroundings, direct
        self.tensors: list[str] = []
        self.numbers: list[str] = []
        self.names = {"Tensor": Tensor, "MISS": MISS, "tracing": tracing, "driver": driver, "settings": settings,
                      "marks": driver.marks, "dt": dt, "blank": object.__new__, "leaf": buffer,
                      "device": replay.device, "errors": (struct.error, OverflowError, IndexFault)}

    def name(self, prefix: str, value) -> str:
        """A value under a name of its own."""
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def function(self) -> Callable:
        body = [*self.arguments(), *self.guards(), *self.call(), *self.results()]
        exec("def fast(args):\n" + "".join(f"    {line}\n" for line in body), self.names)
        return self.names["fast"]

    def arguments(self) -> list[str]:
        """Take the arguments, and hold on to the nodes under the lock; see Jitted.__call__."""
        lines = [f"if len(args) != {len(self.forms)} or tracing.watchers: return MISS",
                 *self.parts("a", "args", self.forms)]
        tensors = [*self.tensors, *(self.name("closed", handle) for handle in self.replay.closed)]
        if tensors:
            lines += ["with driver.lock:", *(f"    n{k} = {tensor}.node" for k, tensor in enumerate(tensors))]
        return lines

    def parts(self, name: str, held: str, forms: Sequence) -> list[str]:
        """Give what something holds names of its own, and look whether it is of these forms."""
        args = [f"{name}{k}" for k in range(len(forms))]
        lines = [f"{', '.join(args)}, = {held}"] if args else []
        for arg, form in zip(args, forms, strict=True):
            kind, keys, inner = form if form.__class__ is tuple else (form, None, None)
            if form.__class__ is Known:
                kind = form.value.__class__
            lines += [f"if {arg}.__class__ is not {self.name('kind', kind)}: return MISS"]
            if form.__class__ is Known:
                lines += [f"if {arg} != {self.name('known', form.value)}: return MISS"]
            elif inner is None:
                (self.tensors if kind is Tensor else self.numbers).append(arg)
            elif kind is dict:
                lines += [f"if (*{arg},) != {self.name('keys', keys)}: return MISS",
                          *self.parts(f"{arg}_", f"{arg}.values()", inner)]
            else:
                lines += [f"if len({arg}) != {len(inner)}: return MISS", *self.parts(f"{arg}_", arg, inner)]
        return lines

    def guards(self) -> list[str]:
        *others, strict = self.surroundings
        current, disable, matmul, default = (self.name("was", value) for value in others)
        lines = [f"if (marks.backend or driver._current) is not {current} or settings.disable is not {disable} or "
                 f"settings.verify or settings.matmul != {matmul} or dt._default_float is not {default} or "
                 f"{'' if strict else 'not '}marks.inside: return MISS"]
        outside = self.replay.outside
        if outside is not None:
            was, counted = self.name("outside", outside), self.name("counted", tracing.Counted)
            lines += [f"if {was}.seen != {counted}.changes{f' or not {was}.in_place()' if outside.loose else ''}: "
                      "return MISS"]
        for k, node in enumerate(self.nodes):
            dtype, shape = self.name("dtype", node.dtype), self.name("shape", node.shape)
            device = self.name("device", node.device)
            lines += [f"v{k} = n{k}.value",
                      f"if v{k} is None or n{k}.dtype is not {dtype} or n{k}.shape != {shape} or n{k}.tracked or "
                      f"n{k}.device != {device}: return MISS"]
        return lines

    def call(self) -> list[str]:
        replay = self.replay
        inputs = [f"v{place}.address" if place < len(self.nodes)
                  else repr(replay.extras[place - len(self.nodes)].value.address) for place in replay.inputs]
        params, formats, patched = [], "", dict(replay.patches)
        for word, value in enumerate(replay.words[:self.direct.params]):
            source = patched.get(word)
            params.append(repr(value) if source is None else self.numbers[replay.tape[source.position][1]])
            formats += "q" if source is None else _FORMATS[source.dtype]
        lines, names = self.direct.written_out(inputs, params, formats)
        # The replay may be dropped before this function is, and its constants with it.
        self.names |= names | {"kept": [node.value for node in replay.extras]}
        return ["try:", *(f"    {line}" for line in lines), "except errors:", "    return MISS"]

    def results(self) -> list[str]:
        lines = []
        for k, (_, root) in enumerate(self.replay.results):
            dtype, shape, site = (self.name("made", value) for value in self.replay.made[root])
            lines += [f"t{k} = blank(Tensor)", f"t{k}.node = leaf({dtype}, {shape}, o{root}, device, {site})"]
        picked = ", ".join(f"t{k}" for k in self.replay.picks)
        tree = "{}" if self.replay.structure == LEAF else _TREES[self.replay.structure[0]]
        return [*lines, f"return {tree.format(picked) if picked else '()'}"]
