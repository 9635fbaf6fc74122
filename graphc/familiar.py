"""Graphs that are built over and over: recognised without the walk of graphc/canonical.py.

A loop that records the same few operations each turn pays for recording and for finding its program. The walk makes a
key of any graph; for a small one that was met often, its nodes are compared one by one instead, in Python that is
written for this graph, as graphc/tracing/written_out.py does for the calls of jitted functions.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from graphc.canonical import Graph
from graphc.config import settings
from graphc.ir.node import Node, const_words, is_exponent
from graphc.ir.ops import ALIAS, BUFFER, CONST, PARAM, POW

if TYPE_CHECKING:
    from graphc.runtime.backend import Executable
    from graphc.runtime.executable import Direct

OFTEN = 8           # times that a graph is met before it is written out
SMALL = 32          # nodes
MOST_ROOTS = 512    # kinds of first roots; and graphs of one kind:
MOST_ALIKE = 4


class Familiar(Struct, frozen=True, eq=False):
    """A graph that is recognised.

    match  nodes to be computed -> (buffers of the program's inputs, its parameters), None for another graph
    run    from these to the buffers of its results
    """

    match: Callable[..., tuple[list, list] | None]
    run: Callable[[list, list], list]
    disable: frozenset
    matmul: str


_known: dict[tuple, list[Familiar]] = {}


def find(roots: Sequence[Node]) -> tuple[Callable[[list, list], list], list, list] | None:
    """(what runs it, buffers, parameters) of a graph that is familiar."""
    if settings.verify:
        return None
    root = roots[0]
    for graph in _known.get((root.op, root.dtype, root.shape), ()):
        found = graph.match(*roots)
        if found is not None and graph.disable is settings.disable and graph.matmul == settings.matmul:
            return graph.run, *found
    return None


def learn(graph: Graph, executable: Executable) -> None:
    """Recognise this graph from now on, if it is of a kind that can be."""
    if graph.key[0] is None or graph.met:       # constants alone are computed wherever the user is
        return
    if graph.traced or graph.parts or len(graph.order) > SMALL or any(n.op in (ALIAS, PARAM) for n in graph.order):
        return
    root = graph.roots[0]
    if len(_known) >= MOST_ROOTS:
        _known.clear()
    alike = _known.setdefault((root.op, root.dtype, root.shape), [])
    direct = getattr(executable, "direct", None)
    if direct is None or direct.big:
        match, run = _Writer(graph, "word({0})").function(), executable.run
    else:
        match, run = _Writer(graph, "{0}.attrs[0]").function(), _caller(direct, len(graph.leaves))
    alike.insert(0, Familiar(match, run, settings.disable, settings.matmul))
    del alike[MOST_ALIKE:]


def forget() -> None:
    _known.clear()


def _caller(direct: Direct, inputs: int) -> Callable[[list, list], list]:
    """The executable's run, with parameters as the bits of constants, written out for one program."""
    values = [f"v{k}" for k in range(inputs)]
    call, names = direct.written_out([f"{v}.address" for v in values], [f"*bits[:{direct.params}]"],
                                     "8s" * direct.params)
    results = ", ".join(f"o{k}" for k in range(len(direct.output_bytes)))
    lines = ["def run(inputs, bits):", f"[{', '.join(values)}] = inputs", *call, f"return [{results}]"]
    exec("\n    ".join(lines), names)
    return names["run"]


class _Writer:
    """Writes `match` for a graph: from the roots down, each edge once. `word` is what a parameter is taken as."""

    def __init__(self, graph: Graph, word: str):
        self.graph, self.word = graph, word
        self.names: dict[str, object] = {"CONST": CONST, "word": const_words}
        self.nodes: dict[Node, str] = {}
        self.lines: list[str] = []
        self.params: dict[tuple[Node, int], str] = {}

    def function(self) -> Callable:
        roots = [f"r{k}" for k in range(len(self.graph.roots))]
        self.lines += ["def match(*roots):", f"if len(roots) != {len(roots)}: return", f"{', '.join(roots)}, = roots"]
        self.nodes |= zip(self.graph.roots, roots, strict=True)
        for node in reversed(self.graph.order):     # a node comes before its sources
            self.compare(node)
        inputs = [f"{self.nodes[leaf]}.value" for leaf in self.graph.leaves]
        words = [self.params[node, k] for node in self.graph.order for k in range(len(node.srcs))
                 if (node, k) in self.params]
        between = [self.nodes[n] for n in self.graph.order if n.value is None and n not in self.graph.roots
                   and n in self.nodes]
        self.lines += [f"{name}.met = {name}.met or 1" for name in between]
        self.lines += [f"return [{', '.join(inputs)}], [{', '.join(words)}]"]
        exec("\n    ".join(self.lines), self.names)
        return self.names["match"]

    def name(self, value: object) -> str:
        name = f"x{len(self.names)}"
        self.names[name] = value
        return name

    def compare(self, node: Node) -> None:
        own = self.nodes[node]
        leaf = node.value is not None or node.op is BUFFER
        tests = [f"{own}.value is {'' if leaf else 'not '}None", f"{own}.dtype is not {self.name(node.dtype)}",
                 f"{own}.shape != {self.name(node.shape)}"]
        if not leaf:
            tests += [f"{own}.op is not {self.name(node.op)}", f"{own}.attrs != {self.name(node.attrs)}",
                      f"{own}.met > 0"]
        if node in self.graph.roots:
            tests += [f"{own}.device != {self.name(node.device)}"]
        self.lines += [f"if {' or '.join(tests)}: return"]
        if not leaf and node.srcs:
            self.sources(node, own)

    def sources(self, node: Node, own: str) -> None:
        if node.op.arity < 0:
            self.lines += [f"if len({own}.srcs) != {len(node.srcs)}: return"]
        found = [f"{own}s{k}" for k in range(len(node.srcs))]
        self.lines += [f"{', '.join(found)}, = {own}.srcs"]
        for k, (src, name) in enumerate(zip(node.srcs, found, strict=True)):
            if src.op is CONST and not src.attrs[1]:
                self.scalar(node, k, name)
            elif src in self.nodes:
                self.lines += [f"if {name} is not {self.nodes[src]}: return"]
            else:
                self.nodes[src] = name

    def scalar(self, node: Node, k: int, name: str) -> None:
        """Any number of the dtype that is no part of the structure; as an exponent only this one."""
        src = node.srcs[k]
        other = f"{name}.attrs != {self.name(src.attrs)}" if node.op is POW else f"{name}.attrs[1]"
        self.lines += [f"if {name}.op is not CONST or {other} or {name}.dtype is not {self.name(src.dtype)}: return"]
        if node.op is not POW or not is_exponent(src):
            self.params[node, k] = self.word.format(name)
