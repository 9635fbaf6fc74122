"""The stages as text, the same on every machine: for goldens, tests of passes, and bug reports.

    %0 = buffer float32[3, 4] @cpu (0,)
    %1 = const float32[] (b'\\x00\\x00 A', False)     # 10.0
    %2 = mul float32[3, 4] %0 %1
    %3 = sum float32[3] %2 (1, 'inner')
    return %3

Graphs can be read back: `parse_graph(graph_text(roots))` gives the same nodes, with numbered leaves for buffers.
Schedules and kernels are printed only.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.body import parse as parse_body
from graphc.ir.index import Index
from graphc.ir.kernel import INDEX, LOAD, LOCAL, VALUE, Accumulate, If, Kernel, Let, Local, Loop, Store, Template
from graphc.ir.node import Node, const_value, make, topological
from graphc.ir.ops import BUFFER, CONST, PARAM
from graphc.ir.schedule import Schedule

# ------------------------------------------------------------------------------------------------------------- graphs

def graph_text(roots: Sequence[Node]) -> str:
    numbers: dict[Node, int] = {}
    lines: list[str] = []
    leaves = 0
    for node in topological(roots):
        attrs = node.attrs
        if node.value is not None or (node.op is BUFFER and not attrs):     # not canonical: numbered as they come
            attrs, leaves = (leaves,), leaves + 1
        lines.append(f"%{len(numbers)} = {_node_text(node, attrs, numbers)}")
        numbers[node] = len(numbers)
    return "\n".join([*lines, "return " + " ".join(f"%{numbers[r]}" for r in roots), ""])


def _node_text(node: Node, attrs: tuple, numbers: dict[Node, int]) -> str:
    leaf = node.value is not None
    parts = ["buffer" if leaf else node.op.name, _type_text(node.dtype, node.shape)]
    srcs = () if leaf else node.srcs
    if node.device is not None and all(s.device is None for s in srcs):
        parts.append(f"@{node.device}")
    parts += [f"%{numbers[s]}" for s in srcs]
    if attrs:
        parts.append(repr(attrs))
    if node.op is CONST and not leaf:
        parts.append(f"    # {const_value(node)}")
    return " ".join(parts)


def _type_text(dtype, shape) -> str:
    if isinstance(dtype, tuple):
        return "(" + "; ".join(_type_text(d, s) for d, s in zip(dtype, shape, strict=True)) + ")"
    return f"{dtype}[{', '.join(map(str, shape))}]"


_LINE = re.compile(r"%(\d+) = (\w+) (\(.*?\]\)|\w+\[[\d, ]*\])(?: @([\w.:-]+))?((?: %\d+)*)(?: (\(.*\)))?")


def parse_graph(text: str) -> tuple[Node, ...]:
    """The roots of a printed graph. Raises ValueError with the line that is not understood."""
    nodes: dict[str, Node] = {}
    for line in text.strip().splitlines():
        line = line.strip()
        try:
            if line.startswith("return"):
                return tuple(nodes[number] for number in line.replace("%", "").split()[1:])
            match = _LINE.match(line)
            number, op, kind, device, srcs, attrs = match.groups()
            dtype, shape = _parse_type(kind)
            nodes[number] = make(ops.get(op), dtype, shape, tuple(nodes[s] for s in srcs.replace("%", "").split()),
                                 _attrs(ops.get(op), attrs), device=device)
        except (AttributeError, KeyError, SyntaxError, ValueError):
            raise ValueError(f"not a line of a graph: {line!r}") from None
    raise ValueError("the graph has no return line")


def _attrs(op: ops.Op, text: str | None) -> tuple:
    attrs = ast.literal_eval(text) if text else ()
    if op in (ops.LOOP, ops.WHILE, ops.IF):
        return tuple(parse_body(a) if isinstance(a, str) else a for a in attrs)
    return attrs


def _parse_type(text: str):
    if text.startswith("("):
        types = [_parse_type(part) for part in text[1:-1].split("; ")]
        return tuple(d for d, _ in types), tuple(s for _, s in types)
    name, _, shape = text[:-1].partition("[")
    return dt.by_name(name), tuple(int(n) for n in shape.split(",") if n)


# ---------------------------------------------------------------------------------------------------------- schedules

def schedule_text(schedule: Schedule) -> str:
    """The graph, then each group: what it reads, computes and stores, by the numbers of the graph."""
    order = topological(schedule.roots, is_leaf=lambda n: n.op is BUFFER)
    numbers = {node: f"%{k}" for k, node in enumerate(order)}

    def names(nodes) -> str:
        return " ".join(sorted((numbers[n] for n in nodes), key=lambda name: int(name[1:]))) or "-"
    lines = [graph_text(schedule.roots)]
    for k, group in enumerate(schedule.groups):
        stored = [n for n, g in schedule.stored.items() if g is group and n in numbers]
        lines.append(f"group {k}: {group.kind} over {list(group.parallel)}, level {group.level}")
        lines.append(f"    reads {names(group.reads)}; anchors {names(group.anchors)}; memory {names(stored)}")
    return "\n".join([*lines, ""])


# ------------------------------------------------------------------------------------------------------------ kernels

def kernel_text(kernel: Kernel) -> str:
    buffers = ", ".join(f"{'out ' if b.written else ''}{b.name} {b.dtype}[{b.size}]"
                        for b in kernel.buffers if b.same is None)
    axes = ", ".join(f"{a} < {a.extent}" for a in kernel.parallel) or "once"
    tiled = f", segments of {kernel.width or 'any length'}" if kernel.tiled else ""
    lines = [f"kernel {kernel.name}({buffers})", f"parallel {axes}; chunks of {kernel.chunk}{tiled}"]
    scalars = [f"p{k} {dtype} (the program's {number})" for k, (number, dtype) in enumerate(kernel.params)]
    lines += [f"scalars {', '.join(scalars)}"] if scalars else []
    names = [b.name for b in kernel.buffers]
    for title, body in (("first", kernel.prologue), ("then", kernel.body)):
        if body:
            lines += [f"{title}:", *_body_text(body, names, "    ")]
    return "\n".join([*lines, ""])


def _body_text(body: tuple, names: list[str], indent: str) -> Iterator[str]:
    for s in body:
        if type(s) is Loop:
            start = f"{_index_text(s.start, names)} <= " if s.start is not None else ""
            limit = f", below {_index_text(s.limit, names)}" if s.limit is not None else ""
            yield f"{indent}{s.kind} {start}{s.axis} < {s.axis.extent}{limit}:"
            yield from _body_text(s.body, names, indent + "    ")
        elif type(s) is If:
            yield f"{indent}if {_expr_text(s.test, names)}:"
            yield from _body_text(s.body, names, indent + "    ")
            yield f"{indent}else:"
            yield from _body_text(s.otherwise, names, indent + "    ")
        elif type(s) is Template:
            yield from _template_text(s, names, indent)
        else:
            yield indent + _statement_text(s, names)


def _template_text(s: Template, names: list[str], indent: str) -> Iterator[str]:
    spans = ", ".join(f"{x.name} < {x.size}" + (f" in blocks of {x.length} ({x.block})" if x.block else "")
                      for x in s.spans)
    yield f"{indent}{s.result} = {s.name} {s.dtype} over {spans}:"
    for operand in s.operands:
        yield f"{indent}  {operand.name}[{', '.join(operand.spans)}] {operand.dtype}:"
        yield from _body_text(operand.body, names, indent + "    ")
    yield f"{indent}  then:"
    yield from _body_text(s.epilogue, names, indent + "    ")


def _statement_text(s, names: list[str]) -> str:
    if type(s) is Let:
        return f"{s.name} = {_expr_text(s.value, names)}"
    if type(s) is Local:
        return f"local {s.name} {s.dtype}[{s.extent}]"
    if type(s) is Accumulate:
        values = ", ".join(_expr_text(e, names) for e in (s.value, s.other) if e is not None)
        return f"{s.name} = {s.op} {s.order} {s.dtype} ({values})"
    assert type(s) is Store
    target = s.local if s.local is not None else names[s.buffer]
    return f"{target}[{_index_text(s.index, names)}] := {_expr_text(s.value, names)}"


def _expr_text(e: Node, names: list[str]) -> str:
    if e.op is CONST:
        return f"{const_value(e)}"
    if e.op is PARAM:
        return f"p{e.attrs[0]}"
    if e.op is VALUE:
        return e.attrs[0]
    if e.op is INDEX:
        return f"{e.dtype}({_index_text(e.attrs[0], names)})"
    if e.op is LOAD:
        text = f"{names[e.attrs[0]]}[{_index_text(e.attrs[1], names)}]"
        return f"({text} if {_expr_text(e.srcs[0], names)})" if e.srcs else text
    if e.op is LOCAL:
        return f"{e.attrs[0]}[{_index_text(e.attrs[1], names)}]"
    name = f"{e.op}" if e.op.name != "cast" else f"{e.dtype}"
    return f"{'fast ' * (e.attrs == ops.FAST)}{name}({', '.join(_expr_text(s, names) for s in e.srcs)})"


def _index_text(index: Index, names: list[str]) -> str:
    """As str(index), with what is gathered spelled out."""
    text = str(index)
    for atom, _ in index.terms:
        if hasattr(atom, "expr"):
            text = re.sub(rf"\b{atom.name}\b", f"{{{_expr_text(atom.expr, names)}}}", text)
    return text
