"""Graphs that are built over and over: recognised without the walk of graphc/canonical.py.

A loop that records the same operations each turn pays for recording and for finding its program. The walk makes a key
of any graph; for one that was met often, its nodes are compared one by one instead, in Python that is written for this
graph, as graphc/tracing/written_out.py does for the calls of jitted functions. What is kept beside the results
(graphc/again.py) is a part of it: a graph is familiar if somebody holds the same of its nodes.
"""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from msgspec import Struct

from graphc.again import is_nothing, is_watched, is_worth_it
from graphc.canonical import Graph
from graphc.config import settings
from graphc.ir.node import Node, const_words, is_exponent
from graphc.ir.ops import ALIAS, BUFFER, CONST, PARAM, POW
from graphc.references import COUNTED, reads_of

if TYPE_CHECKING:
    from graphc.runtime.backend import Executable
    from graphc.runtime.executable import Direct

OFTEN = 8           # times that a graph is met before it is written out; one of more than 32 nodes
NODES = 4           # is met once for every so many nodes before,
LARGEST = 256       # and one of more than these never is
MOST_ROOTS = 512    # kinds of first roots; and graphs of one kind:
MOST_ALIKE = 4


class Familiar(Struct, frozen=True, eq=False):
    """A graph that is recognised.

    match  nodes to be computed -> (buffers of the program's inputs, its parameters, nodes kept beside these), None for
           another graph
    run    from these to the buffers of its results
    """

    match: Callable[..., tuple[list, list, list] | None]
    run: Callable[[list, list], list]
    disable: frozenset
    matmul: str


_known: dict[tuple, list[Familiar]] = {}


def find(roots: Sequence[Node]) -> tuple[Callable[[list, list], list], list, list, list] | None:
    """(what runs it, buffers, parameters, nodes kept beside the roots) of a graph that is familiar."""
    if settings.verify:
        return None
    root = roots[0]
    for graph in _known.get((root.op, root.dtype, root.shape), ()):
        found = graph.match(*roots)
        if found is not None and graph.disable is settings.disable and graph.matmul == settings.matmul:
            return graph.run, *found
    return None


def often(graph: Graph) -> int:
    """How often a graph has to be met before it is worth writing out."""
    return max(OFTEN, len(graph.order) // NODES)


def learn(graph: Graph, executable: Executable) -> None:
    """Recognise this graph from now on, if it is of a kind that can be."""
    if graph.met or any(root.device is None for root in graph.roots):   # constants are computed wherever the user is
        return
    if graph.traced or len(graph.order) > LARGEST or any(n.op in (ALIAS, PARAM) for n in graph.order):
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
        self.asked = graph.roots[:len(graph.roots) - graph.beside]
        self.names: dict[str, object] = {"CONST": CONST, "word": const_words, "count": sys.getrefcount}
        self.nodes: dict[Node, str] = {}
        self.variables: Counter[Node] = Counter()       # how many stand for a node
        self.lines: list[str] = []
        self.params: dict[tuple[Node, int], str] = {}

    def function(self) -> Callable:
        roots = [f"r{k}" for k in range(len(self.asked))]
        self.lines += ["def match(*roots):", f"if len(roots) != {len(roots)}: return", f"{', '.join(roots)}, = roots"]
        self.nodes |= zip(self.asked, roots, strict=True)
        order = self.graph.order
        for node in reversed(order):     # a node comes before its sources
            self.compare(node)
        self.compare_holders()
        inputs = [self.buffer(n) for n in order if n in self.graph.parts or _is_leaf(n)]
        words = [self.params[n, k] for n in order for k in range(len(n.srcs)) if (n, k) in self.params]
        beside = [self.nodes[n] for n in self.graph.roots[len(self.asked):]]
        self.lines += [f"{self.nodes[n]}.met = {self.nodes[n]}.met or 1" for n in order
                       if n not in self.graph.roots and not _is_leaf(n) and not is_nothing(n)]
        self.lines += [f"return [{', '.join(inputs)}], [{', '.join(words)}], [{', '.join(beside)}]"]
        exec("\n    ".join(self.lines), self.names)
        return self.names["match"]

    def name(self, value: object) -> str:
        name = f"x{len(self.names)}"
        self.names[name] = value
        return name

    def compare(self, node: Node) -> None:
        own, leaf = self.nodes[node], _is_leaf(node)
        tests = [f"{own}.value is {'' if leaf else 'not '}None", f"{own}.dtype is not {self.name(node.dtype)}",
                 f"{own}.shape != {self.name(node.shape)}"]
        if node in self.graph.parts:
            tests += [f"{own}.op is not {self.name(node.op)}", f"{own}.attrs[1] != {self.name(node.attrs[1])}"]
        elif not leaf:
            tests += [f"{own}.op is not {self.name(node.op)}", f"{own}.attrs != {self.name(node.attrs)}"]
            tests += [] if is_nothing(node) else [f"{own}.met > 0"]
        if node in self.asked:
            tests += [f"{own}.device != {self.name(node.device)}"]
        self.lines += [f"if {' or '.join(tests)}: return"]
        if node in self.graph.parts:
            self.lines += [f"{own}s, = {own}.srcs", f"if {own}s.value is None or {own}s.shape != "
                           f"{self.name(node.srcs[0].shape)}: return"]
        elif not leaf and node.srcs:
            self.sources(node, own)

    def sources(self, node: Node, own: str) -> None:
        if node.op.arity < 0:
            self.lines += [f"if len({own}.srcs) != {len(node.srcs)}: return"]
        found = [f"n{self.variables.total() + k}" for k in range(len(node.srcs))]
        self.lines += [f"{', '.join(found)}, = {own}.srcs"]
        self.variables.update(node.srcs)
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

    def buffer(self, leaf: Node) -> str:
        """That of a leaf, or of the part of one that a slice is, wherever it starts."""
        own = self.nodes[leaf]
        if leaf not in self.graph.parts:
            return f"{own}.value"
        source = leaf.srcs[0]
        strides = [prod(source.shape[axis + 1:]) * source.dtype.itemsize for axis in range(len(source.shape))]
        offset = " + ".join(f"{own}.attrs[0][{axis}] * {stride}" for axis, stride in enumerate(strides)
                            if source.shape[axis] > 1)
        return f"{own}s.value.part({offset or 0}, {leaf.nbytes})"

    def compare_holders(self) -> None:
        """Of the nodes that would be kept if somebody held them, the same are held as in this graph."""
        found = [n for n in self.graph.order
                 if is_watched(n) and n not in self.asked and is_worth_it(n, carried=True)]
        if not found:
            return
        reads, views = reads_of(self.graph.order), self.views()
        counted = {n: f"c{k}" for k, n in enumerate(dict.fromkeys(v for n in found for v in views[n]))}
        self.lines += [f"{', '.join(counted.values())}, = map(count, [{', '.join(self.nodes[n] for n in counted)}])"]
        for node in found:
            own = self.nodes[node]
            held = " or ".join(f"{counted[n]} > {COUNTED + reads[id(n)] + self.variables[n]}" for n in views[node])
            self.lines += [f"if {f'not ({held})' if node in self.graph.roots else held} or {own}.tracked "
                           f"or {own}.site != {self.name(node.site)}: return"]

    def views(self) -> dict[Node, list[Node]]:
        """Each node and the views of it: who holds one of them holds it."""
        found: dict[Node, list[Node]] = {}
        for node in reversed(self.graph.order):
            found.setdefault(node, []).append(node)
            if is_nothing(node) and node.srcs:
                found.setdefault(node.srcs[0], []).extend(found[node])
        return found


def _is_leaf(node: Node) -> bool:
    return node.value is not None or node.op is BUFFER
