"""Matrix products in C: the model of a gemm Template for codegen_templates/c/gemm.c.j2.

The template's operands and its epilogue are nests of loops over the axes of spans. A nest goes over a part of each span
at a time, from one flat position to another; a span of several axes is walked in runs along its last axis.
"""
from __future__ import annotations

from collections.abc import Iterable
from math import prod

from graphc.codegen.copied_c import Copied, copied_from
from graphc.codegen.lanes_c import Lanes
from graphc.codegen.windows_c import shared_windows, slab, slab_of_rows
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import (
    LOAD, VALUE, Loop, Operand, Span, Store, Template, below, data_exprs, in_panels, innermost,
)
from graphc.ir.node import Node
from graphc.ir.target import LINE, l2_bytes, rounded_up, vector_bytes
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["chain"]
WIDEST = 64                 # bytes of the widest vectors; what is packed ends on a panel of two
BLOCKS_AHEAD = 4            # blocks of k in which something is asked for before it is read
BYTES_AHEAD = 4096          # the same of what lies in one piece,
NARROW = 256                # in panels of so many columns at most
AHEAD = 8                   # rows of b that are asked for before they are packed
DEPTH, DEEPEST = 8, 64      # rows of b that are computed before few rows of a meet them: as many as
COMPUTED = 1 << 17          # bytes hold
SPAN = 8 * CHUNK            # elements of few rows of a that are packed at a time: 16 rows fit a stack (dots.c.j2)
NARROWEST = 512             # bytes of a row of b, of which many are computed before they meet the only row of a; else
WRITTEN_OUT = 32            # rows of b in a block of several short axes, a block of quantised weights for example
CHAINED = 32                # columns whose sums grow side by side, if there are no others
UNROLLED = 16               # rows of b that one row of a meets while a sum stays in its register
SQUARE = 64                 # elements on each side of what is turned at a time,
DEEP = 256                  # or along k, where memory is contiguous: it gives more for longer runs
COMPUTED_COLUMNS = 1 << 16  # elements of columns of b that are computed at a time, so that an L2 cache keeps them:
FEW_COLUMNS = 16            # of so many columns for up to
TAKING_TURNS = 4            # rows of a, else
MORE_COLUMNS = 128          # of more, which AVX-512 lays out anew for each of these parts
ABREAST = 8                 # columns that are computed side by side, as memory gives more of several at once
ROWS = 6                    # of a panel of a
MOST_ROWS = 60              # of a that are turned at a time, a multiple of them
PACKED = 1 << 19            # bytes of rows that are packed at a time at most, if not all of them are
GROUP = 64                  # columns after which the epilogue goes over their sums
APART = 5 * LINE            # bytes between the sums of few rows: no two of them share a set of the L1 cache
MANY = 96                   # rows that meet columns of b while the next are fetched
SPARE = 16                  # elements between the few rows of a, and between rows of sums, so that they share no set


def gemv(model, s: Template) -> dict:
    """The model of a gemv Template."""
    m, n, k = (s.span(name) for name in "mnk")
    register, size = model.spell.language.register(s.dtype), s.dtype.itemsize
    span = min(SPAN, rounded_up(k.size, SQUARE))
    row = model.spell.arg(span + SPARE)
    some = MORE_COLUMNS if m.size > TAKING_TURNS else FEW_COLUMNS
    deep = min(COMPUTED_COLUMNS // some, span)
    apiece = model.spell.arg(deep + SPARE)
    need(model, register, "vectors", "fma")
    nests = {operand.name: _few_rows(model, s, operand, row, apiece) for operand in s.operands}
    one = m.size == 1
    computed = one and not nests["b"]["turn"] and not nests["b"]["direct"]
    narrow = computed and k.size > CHUNK and n.size * size <= NARROWEST
    chains = _chains(model, s) if computed and not (narrow and n.size <= CHAINED) else None
    narrow = narrow and chains is None
    if nests["a"]["turn"] or nests["b"]["turn"]:
        need(model, register, "square", *(["turn"] if nests["a"]["turn"] else []))
    swept = chains is None and not nests["b"]["turn"]
    if nests["b"]["turn"] or swept:
        need(model, register, "keep")
        model.spell.helpers["gc_amd"] = None
        need(model, register, "ask", file="rows")
    if nests["b"]["turn"]:
        rows = ["onerow"] if one else ["somerows", "fewrows" if m.size <= TAKING_TURNS else "morerows"]
        need(model, register, "columns", *(["eight"] if m.size <= TAKING_TURNS else []), *rows, file="dots")
    elif swept:
        names = ["narrow"] if narrow else ["sweep", "narrow"] if one and nests["b"]["direct"] else ["sweep"]
        need(model, register, *names, file="rows")
    apart = 0 if one else APART // size
    width = rounded_up(n.length, 2 * WIDEST // size) + apart
    turned = SQUARE * SQUARE if nests["a"]["turn"] else 0
    rows = 0        # of b that are computed at a time, if they are
    if swept and not nests["b"]["direct"]:
        deepest, step = (span, CHUNK) if narrow else (DEEPEST, DEPTH)
        rows = min(max(COMPUTED // (width * size) // step * step, step), deepest)
        turned = max(turned, rows * width)
    elif nests["b"]["turn"] and not nests["b"]["direct"]:
        turned = max(turned, some * (deep + SPARE))

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * size))
    nests["a"]["offset"] = scratch(rounded_up(m.size, WIDEST // size) * (span + SPARE))
    return {"kind": "gemv", "result": s.result, "type": register, "chunk": CHUNK, "square": SQUARE, "row": row,
            "span": SPAN, "chains": chains, "depth": rows and model.spell.arg(rows), "one": one, "narrow": narrow,
            "apart": apart,
            "length": " * ".join(map(model.spell.extent, k.axes)), "m": part(model, m), "n": part(model, n),
            "columns": " * ".join(map(model.spell.extent, n.axes)),
            "parts": None if nests["b"]["turn"] else scratch(m.size * width), "sums": scratch(m.size * width),
            "turned": scratch(turned) if turned else None, "some": model.spell.arg(some),
            "deep": model.spell.arg(deep), "apiece": apiece, "abreast": ABREAST, **nests,
            "epilogue": epilogue(model, s)}


def gemm(model, s: Template) -> dict:
    """The model of a gemm Template. `model` spells expressions, renders statements and hands out scratch memory."""
    m, n, k = (s.span(name) for name in "mnk")
    register = model.spell.language.register(s.dtype)
    size = s.dtype.itemsize
    panel = 4 * WIDEST // size        # of the widest vectors; what others have divides it
    width = rounded_up(n.length, panel)
    near = l2_bytes()
    packed = near // 8 * 3      # bytes of a that are packed at a time: they stay near while columns of b pass
    rows = packed // (CHUNK * size) // ROWS * ROWS
    if m.length > rows:         # several times as many, fewer if the rest of a large cache can hold columns
        rows = min(packed, PACKED) // (CHUNK * size) // ROWS * ROWS
        rows = m.length // -(-m.length // rows)
    rows = rounded_up(min(rows, m.length), ROWS)
    columns = width     # that are packed at a time: all, or fewer if they are needed only once
    if model.kernel.panel or m.length <= rows:
        columns = min(width, max((model.kernel.panel or near // 2) // (CHUNK * size) // panel, 1) * panel)
    need(model, register, "vectors", "fma", "keep", "prefetch")
    model.spell.helpers["gc_amd"] = None
    need(model, register, "ask", file="rows")
    nests = {operand.name: _panels(model, s, operand, rows, columns) for operand in s.operands}
    for name, nest in nests.items():
        if nest["turn"]:
            need(model, register, "square", f"turn{name}")
        elif nest["direct"]:
            need(model, register, f"copy{name}")
    shared = nests["a"]["windows"]
    need(model, register, "slabbed" if shared else "tile")
    squares = any(nest["turn"] and not nest["direct"] for nest in nests.values())
    symmetric = dict(s.facts).get("symmetric", False)
    plain = plain_store(model, s)
    group = panel if symmetric else GROUP
    # If all of a is packed, some columns can go through all of k before the next.
    whole = m.length <= rows and rows * k.size * size <= packed and not shared
    strip, kept = (columns, rows * (CHUNK + 1)) if whole else (width, 0)
    sums = rounded_up(m.length, ROWS) * (strip + SPARE) if k.size > CHUNK else rows * group

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * size))
    if not shared:
        nests["a"]["offset"] = scratch(max(rows * (CHUNK + 1), -(-k.size // CHUNK) * kept))
    nests["b"]["offset"] = scratch(columns * (CHUNK + 1))
    if symmetric:
        need(model, register, "square", "turn", "anyturn")
    opposite = scratch(group * (rows + SPARE)) if symmetric else None
    return {"kind": "gemm", "result": s.result, "type": register, "chunk": CHUNK, "deep": DEEP, "spare": SPARE,
            "many": MANY, "afar": model.spell.arg(near // 2 // size), "group": group,
            "rows": model.spell.arg(rows), "columns": model.spell.arg(columns),
            "strip": model.spell.arg(strip), "kept": model.spell.arg(kept, -1),
            "length": " * ".join(model.spell.extent(a) for a in k.axes), "m": part(model, m), "n": part(model, n),
            "sums": None if plain else scratch(sums),
            "turned": scratch(SQUARE * (DEEP + SPARE)) if squares else None, **nests,
            "plain": plain, "ahead": None if plain or symmetric else _ahead(model, s),
            "below": f"{n.block.name} < {m.block.name}" if symmetric else None, "opposite": opposite,
            "epilogue": None if plain else epilogue(model, s)}


def need(model, register: str, *names: str, file: str = "tiles") -> None:
    """Functions of codegen_templates/c/tiles.c.j2, or of another file there, for a type of elements."""
    for name in names:
        model.spell.helpers[f"gc_{file}_{name}_{register}"] = None


def part(model, span: Span) -> dict:
    """Where this iteration's block of a span begins and ends."""
    extent = " * ".join(model.spell.extent(a) for a in span.axes)
    length = model.spell.arg(span.length)
    return {"first": f"{span.block.name} * {length}",
            "last": f"MIN({span.block.name} * {length} + {length}, {extent})"}


def _panels(model, s: Template, operand: Operand, rows: int, columns: int) -> dict:
    """Fill panels of a along m, or of b along n, `rows` or `columns` of which are packed at a time. Where memory is
    contiguous along k, it is turned, squares of it if it is computed. `direct`: where it lies if it is not."""
    outer, start, stop, width = ("m", "m_from", "m_to", "GC_ROWS") if operand.name == "a" else (
        "n", "n_left", "n_right", "GC_PANEL")
    walked = s.walked(operand)
    turn = innermost(operand.body).axis in walked["k"].axes
    shared = shared_windows(s, operand)
    if shared:
        form, some = (slab_of_rows, rows) if operand.name == "a" else (slab, columns)
        found = form(model, s, operand, shared, some,
                     lambda elements: model.spell.arg(model.take_scratch(elements * s.dtype.itemsize)))
        rest = _rest(model, s, outer, start, stop) if operand.name == "b" else None
        return {"turn": False, "direct": None, "windows": found, "laid": None, "rest": rest}
    laid = _in_panels(model, s, operand) if operand.name == "b" else None
    direct = None if laid else matrix_in_memory(model, s, operand, "k_from", start)
    if turn:
        nest = squares(model, s, operand, outer, "k", DEEP + SPARE)
    elif not direct:
        nest = Nest(model, s, {outer: (start, stop), "k": ("k_from", "k_to")}, operand, (outer, width))
        if operand.name == "b":
            nest.copy(operand, "place", lambda at: (f"b_panels + ({at['k']} - k_from) * GC_PANEL", start))
        nest.target = lambda at: (f"{operand.name}_panels[({outer}_panel - {start}) * {CHUNK + 1} "
                                  f"+ ({at['k']} - k_from) * {width} + {at[outer]} - {outer}_panel]")
    return {"turn": turn, "span": outer, "start": start, "stop": stop, "side": MOST_ROWS if outer == "m" else SQUARE,
            "row": None, "windows": None, "body": None if direct else nest.statements(operand.body),
            "direct": direct, "laid": laid, "rest": None if turn or laid else _rest(model, s, outer, start, stop)}


def _rest(model, s: Template, outer: str, start: str, stop: str) -> str:
    """What the last panel may lack: where the panels are, how many rows or columns they hold, of how many in each."""
    need(model, model.spell.language.register(s.dtype), "rest")
    return f"{'a' if outer == 'm' else 'b'}_panels, {stop} - {start}, {'GC_ROWS' if outer == 'm' else 'GC_PANEL'}"


def _in_panels(model, s: Template, operand: Operand) -> dict | None:
    """Where the panel of the columns from n_left on begins in memory, at k_from, and how far panels are apart, if b is
    an array that passes/panels.py has laid out."""
    (store,) = innermost(operand.body).body[-1:]
    value, walked = store.value, s.walked(operand)
    n, k = walked["n"].axes, walked["k"].axes
    if value.dtype is not s.dtype or not in_panels(value, n, k):
        return None
    (panel, lane), (row,), index = n, k, value.attrs[1]
    width, stride = lane.extent, index.coefficient(panel)
    for axis, step, name in ((lane, 1, None), (panel, stride, f"n_left / {width}"), (row, width, "k_from")):
        index = ix.add(index, ix.mul(ix.of(axis), -step))
        index = ix.add(index, ix.mul(ix.of(Axis(name, axis.extent)), step)) if name else index
    return {"place": f"{model.kernel.buffers[value.attrs[0]].name}[{model.spell.index(index)}]",
            "vector": vector_bytes(), "width": width, "stride": model.spell.arg(stride)}


def _few_rows(model, s: Template, operand: Operand, row: str, apiece: str) -> dict:
    """Fill rows of a along k, or turn squares of them as in _panels; sweep rows of b, or go along columns."""
    outer = "m" if operand.name == "a" else "n"
    turn = (innermost(operand.body).axis in s.walked(operand)["k"].axes) != (outer == "m")
    if turn and outer == "m":
        nest = squares(model, s, operand, "k", "m")
    elif turn:
        nest = Nest(model, s, {"n": ("n_part", "n_end"), "k": ("k_part", "k_end")}, operand)
        nest.target = lambda at: f"turned[({at['n']} - n_left) * {apiece} + {at['k']} - k_from]"
        nest.copy(operand, "run",
                  lambda at: (f"turned + ({at['n']} - n_left) * {apiece} + k_part - k_from", "k_part"))
    elif outer == "n":
        nest = Nest(model, s, {"n": ("n_first", "n_last"), "k": ("k_part", "k_end")}, operand)
        nest.target = lambda at: f"turned[({at['k']} - k_part) * stride + {at['n']} - n_first]"
    else:
        nest = Nest(model, s, {"m": ("m_from", "m_to"), "k": ("k_from", "k_to")}, operand)
        nest.target = lambda at: f"a_rows[({at['m']} - m_from) * {row} + {at['k']} - k_from]"
    start = "n_first" if outer == "n" and not turn else f"{outer}_part"
    direct = matrix_in_memory(model, s, operand, "k_part", start) if turn or outer == "n" else None
    return {"turn": turn, "span": outer, "start": "m_from", "stop": "m_to", "side": SQUARE, "row": row,
            "windows": None, "direct": direct, "rest": None,
            "body": None if direct and turn and outer == "n" else nest.statements(operand.body)}


def squares(model, s: Template, operand: Operand, down: str, along: str, stride: int = SQUARE) -> Nest:
    """Fill a square, or what lies `stride` apart, that is turned afterwards."""
    nest = Nest(model, s, {x: (f"{x}_part", f"{x}_end") for x in (down, along)}, operand)
    nest.target = lambda at: f"turned[({at[down]} - {down}_part) * {stride} + {at[along]} - {along}_part]"
    nest.copy(operand, "run", lambda at: (f"turned + ({at[down]} - {down}_part) * {stride}", f"{along}_part"))
    return nest


def _chains(model, s: Template) -> list[dict] | None:
    """One row of a: b is computed in the loop that multiplies it, a vector at a time and never stored. None where its
    elements can't be spelled in vectors."""
    operand = next(x for x in s.operands if x.name == "b")
    loop = innermost(operand.body)
    lanes = Lanes(model.spell, loop.axis)
    if s.dtype is not dt.float32 or not lanes.spellable(list(loop.body[:-1]), loop.body[-1].value):
        return None
    nest = Nest(model, s, {"n": ("n_first", "n_last"), "k": ("k_from", "k_to")}, operand)
    nest.lanes = lanes
    return nest.statements(operand.body)


def _tail(span: Span) -> tuple[Axis, ...]:
    """The last axes of a span as far as all of them together are short enough to be written out."""
    tail = span.axes[-1:]
    for axis in reversed(span.axes[1:-1]):
        if axis.extent * prod(a.extent for a in tail) > WRITTEN_OUT:
            break
        tail = (axis, *tail)
    size = prod(a.extent for a in tail)
    return tail if len(tail) > 1 and CHUNK % size == 0 and span.size % size == 0 else span.axes[-1:]


def matrix_in_memory(model, s: Template, operand: Operand, k_start: str, start: str) -> dict | None:
    """Where the element at two positions lies in memory and how far apart rows lie, if the operand is one load."""
    (store,) = innermost(operand.body).body[-1:]
    value = store.value
    if value.op is not LOAD or value.srcs or data_exprs(value.attrs[1]):
        return None
    walked = s.walked(operand)
    outer = next(walked[name] for name in operand.spans if name != "k")
    k, index = walked["k"], value.attrs[1]
    if len(outer.axes) > 1 or len(k.axes) > 1:
        return None
    inner, across = innermost(operand.body).axis, outer.axes[0]
    across = across if inner in k.axes else k.axes[0]
    if index.coefficient(inner) != 1 or any(type(atom) is not Axis for atom, _ in index.terms):
        return None
    stride = index.coefficient(across)
    for axis, name in ((k.axes[0], k_start), (outer.axes[0], start)):
        index = ix.add(index, ix.mul(ix.add(ix.of(Axis(name, axis.extent)), ix.mul(ix.of(axis), -1)),
                                     index.coefficient(axis)))
    return {"place": f"{model.kernel.buffers[value.attrs[0]].name}[{model.spell.index(index)}]",
            "stride": model.spell.arg(stride)}


def plain_store(model, s: Template) -> dict | None:
    """Where the result at m_from and n_from lies in memory and how far apart rows lie, if nothing becomes of it and
    columns lie together; and where a row of what is opposite does, across the diagonal."""
    loop = innermost(s.epilogue)
    m, n = s.span("m").axes, s.span("n").axes
    if len(m) > 1 or len(n) > 1 or loop.axis != n[0] or len(loop.body) > 1 or type(loop.body[0]) is not Store:
        return None
    (store,) = loop.body
    if (store.value.op is not VALUE or store.value.attrs != (s.result,)
            or model.kernel.buffers[store.buffer].dtype is not s.dtype
            or any(type(atom) is not Axis for atom, _ in store.index.terms)):
        return None
    there = _stored(model, s, store, "m_from", "n_from")
    return there and {**there, "opposite": _stored(model, s, store, "row", "m_from")["place"]}


def _ahead(model, s: Template) -> dict | None:
    """The same of what becomes of the sums from n_from on, where rows are stored as they are computed. It need not hold
    everywhere: these lines are only asked for."""
    for store in innermost(s.epilogue).body:
        if type(store) is Store and store.local is None:
            return _stored(model, s, store, "m_from", "n_from")
    return None


def _stored(model, s: Template, store: Store, row: str, column: str) -> dict | None:
    """Where it goes at a row and a column, and how far apart rows lie, if columns lie together."""
    m, n = s.span("m").axes, s.span("n").axes
    buffer, index = model.kernel.buffers[store.buffer], store.index
    if index.coefficient(n[-1]) != 1 or buffer.dtype.itemsize != s.dtype.itemsize:
        return None
    stride = index.coefficient(m[-1])
    for axes, position in ((m, row), (n, column)):
        for axis, step in zip(axes, ix.strides(tuple(a.extent for a in axes)), strict=True):
            digit = position if step == 1 else f"({position} / {model.spell.arg(step)})"
            if axis is not axes[0]:
                digit = f"({digit} % {model.spell.extent(axis)})"
            there = ix.add(ix.of(Axis(digit, axis.extent)), ix.mul(ix.of(axis), -1))
            index = ix.add(index, ix.mul(there, index.coefficient(axis)))
    return {"place": f"{buffer.name}[{model.spell.index(index)}]", "stride": model.spell.arg(stride)}


def epilogue(model, s: Template) -> list[dict]:
    nest = Nest(model, s, {"m": ("m_from", "m_to"), "n": ("n_from", "n_to")})
    nest.result = s.result
    return nest.statements(s.epilogue)


class Nest:
    """Renders a nest of loops over parts of spans: that of an operand, or the epilogue. `panels`: the span whose
    positions lie in panels, and how wide these are."""

    def __init__(self, model, s: Template, parts: dict[str, tuple[str, str]], operand: Operand | None = None,
                 panels: tuple[str, str] = ("", "")):
        self.model, self.parts, self.panels = model, parts, panels
        self.span_of = {axis: span for span in s.walked(operand).values() for axis in span.axes}
        self.at: dict[str, str] = {}        # span -> the flat position here
        self.target = None                  # positions -> where a stored element goes,
        self.spelled = model.spell.expr     # and how its value is spelled there
        self.result: str | None = None      # the value that the sums hold
        self.lanes: Lanes | None = None     # how the innermost loop is spelled in vectors
        self.copied: Copied | None = None   # how runs are read, if they are copies of what lies in memory,
        self.copier = ""                    # the function that copies one,
        self.row = None                     # positions -> where the row of a run begins, and with which position

    def copy(self, operand: Operand, copier: str, row) -> None:
        """Copy runs along the last of several axes, if the operand is a copy of what lies in memory."""
        loop = innermost(operand.body)
        if len(self.span_of[loop.axis].axes) == 1:
            return
        memory = self.model.spell.language.memory(operand.dtype)
        self.copied, self.copier, self.row = copied_from(loop, operand.dtype), f"gc_{copier}_{memory}", row
        if self.copied:
            need(self.model, memory, copier, file="runs")

    def statements(self, body: tuple) -> list[dict]:
        found: list[dict] = []
        with self.model.spell.inside(body):
            for x in body:
                found += self._loop(x) if type(x) is Loop else [self._statement(x)]
        return found

    def _statement(self, x) -> dict:
        if self.result is not None:
            at = self.at
            if "m" in at and "n" in at:
                self.model.spell.arrays[self.result] = f"[({at['m']} - m_from) * stride + {at['n']} - n_from]"
        if type(x) is Store and x.local is not None:
            return {"kind": "store", "target": self.target(self.at), "value": self.spelled(x.value)}
        return self.model.statement(x, {})

    def _loop(self, x: Loop) -> list[dict]:
        span, name = self.span_of[x.axis], x.axis.name
        start, stop = self.parts[span.name]
        lanes = span.name == self.panels[0]
        panel = f"{span.name}_panel"
        if self.lanes is not None and span.name == "k":
            tail = _tail(span)
            if len(tail) > 1:
                return [self._whole(span, x, tail)]
            if x.axis == span.axes[-1]:
                return [self._chains(x)]
        if len(span.axes) == 1:
            self.at[span.name] = name
            if lanes:
                return [{"kind": "panels", "panel": panel, "width": self.panels[1], "start": start, "stop": stop,
                         "lanes": self._lanes(x, panel, f"{stop} - {panel}"), "ahead": self._ahead(x, panel)}]
            return [self._counted(x, start, stop)]
        if x.axis == span.axes[0]:
            return [self._runs(span, x, start, stop, lanes)]
        if x.axis != span.axes[-1]:
            return self.statements(x.body)
        first, run = f"{name}_first", f"{span.name}_run"
        if self.copied and not any(type(s) is Loop for s in x.body):
            return [self._placed(x, first, run)]
        if lanes:
            return [self._lanes(x, first, run)]
        return [self._counted(x, first, f"{first} + {run}")]

    def _counted(self, x: Loop, start: str, stop: str) -> dict:
        # gcc looks for overlaps while running, but gives up where stores times loads are too many
        independent = self.result is not None and all(type(s) is not Loop for s in x.body)
        return {"kind": "independent" if independent else "loop", "axis": x.axis.name, "start": start, "stop": stop,
                "body": self.statements(x.body)}

    def _within(self, span: Span) -> tuple[str, str]:
        """From where to where the last axis of a span goes here, whose other axes have been set."""
        name = span.axes[-1].name
        if len(span.axes) == 1:
            self.at[span.name] = name
            return self.parts[span.name]
        return f"{name}_first", f"{name}_first + {span.name}_run"

    def _chains(self, x: Loop) -> dict:
        """A vector of columns for all of the last axis of k: the sums stay in a register meanwhile."""
        *before, columns = x.body
        first, last = self._within(self.span_of[x.axis])
        statements = (*before, *columns.body)
        reads = sum(1 for _ in loads_of(s.value for s in statements))
        return {"kind": "chains", "axis": x.axis.name, "first": first, "last": last, "depth": UNROLLED,
                "written": max(UNROLLED // max(reads, 1), 1), "tail": None,
                "later": [], "next": self._next(statements, x.axis, columns.axis),
                **self._links(before, columns)}

    def _whole(self, span: Span, x: Loop, tail: tuple[Axis, ...]) -> dict:
        """The same for several short axes of k, which are written out: where in a block a row lies is then known."""
        size, at, place = prod(axis.extent for axis in tail), f"{span.name}_at", []
        self.at[span.name] = " + ".join([at, *(f"{axis.name} * {step}" for axis, step in
                                              zip(tail, ix.strides(tuple(a.extent for a in tail)), strict=True))])
        head, rest = span.axes[:-len(tail)], f"{at} / {size}"
        for k, axis in enumerate(reversed(head)):
            outermost = k == len(head) - 1
            place.append((axis.name, rest if outermost else f"{rest} % {self.model.spell.extent(axis)}"))
            rest = rest if outermost else f"{rest} / {self.model.spell.extent(axis)}"
        before: list = []
        while x.axis != tail[-1]:
            *lets, inner = x.body
            before += lets
            x = inner
        *lets, columns = x.body
        start, stop = self.parts[span.name]
        return {"kind": "chains", "axis": at, "first": start, "last": stop, "depth": size, "place": place,
                "tail": [(axis.name, axis.extent) for axis in tail],
                "later": self._later((*before, *lets, *columns.body), columns.axis, head[-1], tail) if head else [],
                **self._links([*before, *lets], columns)}

    def _later(self, statements: tuple, columns: Axis, block: Axis, tail: tuple[Axis, ...]) -> list[dict]:
        """What some blocks of k later will be read: each is a piece of memory of its own, too short for a processor to
        see where the next one is."""
        found = []
        for load in loads_of(s.value for s in statements):
            number, index = load.attrs
            step = index.coefficient(block)
            if load.srcs or data_exprs(index) or not step or index.coefficient(columns) != 1:
                continue
            later = ix.add(ix.add(ix.shift(index, BLOCKS_AHEAD * step), ix.mul(ix.of(columns), -1)),
                           ix.of(Axis(f"{columns.name}_at + l", columns.extent)))
            axes = [(a.name, a.extent) for a in tail if index.coefficient(a)]
            found.append({"axes": axes, "step": LINE // load.dtype.itemsize,
                          "place": f"{self.model.kernel.buffers[number].name}[{self.model.spell.index(later)}]"})
        return found

    def _next(self, statements: tuple, row: Axis, columns: Axis) -> list[dict]:
        """What is read a little later from panels that lie in one piece, one after the other: asked for in the order in
        which it lies. Of a panel each pass over some columns asks for as much as it reads."""
        found = []
        for load in loads_of(s.value for s in statements):
            number, index = load.attrs
            if (load.srcs or data_exprs(index) or index.coefficient(columns) != 1 or columns.extent > NARROW
                    or index.coefficient(row) != columns.extent):
                continue
            size, name = load.dtype.itemsize, columns.name
            start = ix.add(index, ix.mul(ix.add(ix.of(columns), ix.mul(ix.of(row), columns.extent)), -1))
            at = f"{name}_at * {self.model.spell.extent(row)} + {row.name}_at * {name}_step + l"
            start = ix.add(ix.shift(start, BYTES_AHEAD // size), ix.of(Axis(at, columns.extent)))
            found.append({"step": LINE // size,
                          "place": f"{self.model.kernel.buffers[number].name}[{self.model.spell.index(start)}]"})
        return found

    def _links(self, before: list, columns: Loop) -> dict:
        """The columns of a row of k: `before` is the same for all of them."""
        start, stop = self._within(self.span_of[columns.axis])
        *lets, store = columns.body
        vector = self.lanes.expr(store.value)
        self.model.spell.helpers["gc_fma_float"] = None
        abreast = 2 if columns.axis.extent % CHAINED else "GC_CHAINS"
        return {"lane": columns.axis.name, "abreast": abreast, "start": start, "stop": stop,
                "part": f"parts[{self.at['n']} - n_first]", "factor": f"a_rows[{self.at['k']} - k_first]",
                "vectors": self.statements(tuple(before)) + self.lanes.lets(lets), "vector": vector,
                "scalars": self.statements((*before, *lets)), "scalar": self.model.spell.expr(store.value)}

    def _lanes(self, x: Loop, start: str, count: str) -> dict:
        return {"kind": "lanes", "axis": x.axis.name, "width": self.panels[1], "start": start, "count": count,
                "body": self.statements(x.body)}

    def _placed(self, x: Loop, start: str, count: str) -> dict:
        target, origin = self.row(self.at)
        return {"kind": "placed", "copier": self.copier, "axis": x.axis.name, "start": start, "count": count,
                **self.copied.model(self.model), "target": target,
                "at": f"{self.span_of[x.axis].name}_at - {origin}"}

    def _ahead(self, x: Loop, panel: str) -> list[str]:
        """What the rows of a panel will be loaded from some iterations later: each lies on a page of its own."""
        k = next(s for s in self.span_of.values() if s.name == "k").axes[-1]
        found = []
        for expr in loads_of(s.value for s in x.body):
            if not data_exprs(expr.attrs[1]) and expr.attrs[1].coefficient(x.axis) == 1:
                later = ix.shift(expr.attrs[1], AHEAD * expr.attrs[1].coefficient(k))
                at = ix.add(ix.add(later, ix.mul(ix.of(x.axis), -1)), ix.of(Axis(panel, x.axis.extent)))
                found.append(f"{self.model.kernel.buffers[expr.attrs[0]].name}[{self.model.spell.index(at)}]")
        return found

    def _runs(self, span: Span, x: Loop, start: str, stop: str, lanes: bool) -> dict:
        last, digits, rest = span.axes[-1], [], start
        for k, axis in enumerate(reversed(span.axes)):
            extent = self.model.spell.extent(axis)
            digits.append({"name": axis.name if k else f"{axis.name}_first", "extent": extent,
                           "first": rest if axis == span.axes[0] else f"{rest} % {extent}"})
            rest = f"{rest} / {extent}"
        at = f"{span.name}_at"
        self.at[span.name] = f"({at} + {last.name} - {last.name}_first)"
        return {"kind": "runs", "at": at, "run": f"{span.name}_run", "start": start, "stop": stop, "digits": digits,
                "panel": f"{span.name}_panel" if lanes and not self.copied else None, "width": self.panels[1],
                "body": self.statements(x.body)}


def loads_of(roots: Iterable[Node]) -> list[Node]:
    """The loads of expressions, each once, without those of gathered indices."""
    return [expr for expr in below(roots, gathered=False) if expr.op is LOAD]
