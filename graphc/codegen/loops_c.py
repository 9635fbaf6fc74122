"""Loops in C: turns a kernel's tree into the model that codegen_templates/c/ renders.

The generated code is plain scalar C in counted loops with `restrict` pointers, which the compiler turns into SIMD; the
order of every reduction is spelled out in the templates, so that vectorising changes no bit.
"""
from __future__ import annotations

import functools
import hashlib
import itertools
import json

from msgspec.structs import replace

from graphc.codegen import Rendered
from graphc.codegen.ahead_c import between, far_rows, is_large, scattered, soon, soon_in_rows
from graphc.codegen.attention_c import attention
from graphc.codegen.blocked_c import blocked
from graphc.codegen.copied_c import turned_from
from graphc.codegen.edges_c import Pieces, loops, misleads, near
from graphc.codegen.direct_c import direct
from graphc.codegen.gemm_c import gemm, gemv
from graphc.codegen.halves_c import in_runs, loads, strides
from graphc.codegen.helpers_c import apart, helper_texts
from graphc.codegen.mma_c import mma
from graphc.codegen.macros import macros, tidied
from graphc.codegen.overlapping_c import overlapping
from graphc.codegen.reductions_c import dealt, reduction, scan
from graphc.codegen.short_stretches_c import ShortStretches, short_stretches
from graphc.codegen.spell import dialect, register_bytes
from graphc.codegen.spell_c import CSpeller
from graphc.codegen.stretches_c import Stretches, stretches
from graphc.codegen.strips_c import MANY_LOADS, called_often, is_long_arithmetic, strips
from graphc.codegen.turns_c import in_turns
from graphc.codegen.weighted_c import weighted
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import (
    LOAD, Accumulate, If, Kernel, Let, Local, Loop, Store, Template, accumulations, data_exprs,
)
from graphc.ir.node import Node
from graphc.ir.program import KernelSource
from graphc.ir.target import LINE, rounded_up

WORDS = {4: "float", 8: "double"}     # of bits that are turned in registers
RUN = 512           # elements that are stored past the caches at a time: they wait in the nearest one
SCRATCH_ALIGNMENT = 64
FEW_VECTORS = 4     # of a short row that may go by whole ones
MOST_STRIDED = 64   # elements that a turn reads beside no other turn's: GCC takes minutes to sort hundreds
TEMPLATES = {"gemm": gemm, "gemv": gemv, "direct": direct, "mma": mma, "attention": attention, "weighted": weighted,
             "blocked": blocked}


def render(kernel: Kernel, environment, name: str) -> Rendered:
    model = _Model(kernel, name)
    entry = "kernel"
    text, parts = _text(environment, model, entry)
    entry = f"{kernel.name}_{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
    text = text.replace(" kernel(void", f" {entry}(void")
    return Rendered.of(KernelSource(entry, text, parts=parts), model.spell, model.scratch)


def prepare(environment) -> None:
    """Compile the template of the frame."""
    environment.get_template("c/kernel.c.j2")
    macros(environment, "c/loops.c.j2")["body"]
    dialect("c")


def _text(environment, model: _Model, entry: str) -> tuple[str, tuple[str, ...]]:
    """The text, and the parts of it that many kernels have."""
    spell = model.spell
    prologue = model.statements(model.kernel.prologue, {})
    body = model.statements(model.kernel.body, {})
    asked = far_rows(model) if model.kernel.parallel and not model.streams else []
    axes = model.axes()
    chunk, total = spell.arg(model.kernel.chunk), model.total
    buffers = [{"name": b.name, "number": k, "type": spell.language.memory(b.dtype), "written": b.written,
                "shared": b.same is not None} for k, b in enumerate(model.kernel.buffers)]
    params = [{"name": name, "type": spell.language.register(dtype), "value": spell.scalar(f"arg[{k}]", dtype)}
              for k, (name, dtype, _) in enumerate(spell.params, len(spell.args))]
    frame = macros(environment, "c/helpers.c.j2")["frame"]().strip()
    helpers, parts = apart((frame, *helper_texts(environment, spell)))
    values = {"entry": entry, "helpers": helpers, "routines": list(model.routines.values()), "buffers": buffers,
              "params": params, "axes": axes, "body": body, "prologue": prologue,
              "args": [f"a{k}" for k in range(len(spell.args))], "checks": len(spell.checks),
              "halves": [model.dealt >> k for k in range(1, model.dealt.bit_length())] if model.lanes else [],
              "masked": model.masked, "interleaved": model.interleaved, "streams": model.streams,
              "chunk": chunk, "total": total, "tiled": model.kernel.tiled, "tile": model.tile,
              "asked": asked}
    return _filled(environment, json.dumps(values)), parts


@functools.lru_cache(maxsize=64)
def _filled(environment, model: str) -> str:
    """The text for a model, which is plain data. Many kernels of one program have the same."""
    loops = macros(environment, "c/loops.c.j2")
    return tidied(environment.get_template("c/kernel.c.j2").render(k=json.loads(model), loops=loops))


class _Model:
    def __init__(self, kernel: Kernel, name: str):
        self.kernel = kernel
        self.spell = CSpeller(dialect(name), kernel)
        self.scratch = 0
        # of vectors that may overlap: not where an element is written over that is then read again
        self.lanes_of_row = kernel.lanes if all(b.same is None for b in kernel.buffers) else 0
        self.lanes = False          # whether a reduction folds lanes, and whether what is left goes by masked vectors,
        self.masked = False
        self.dealt = dealt(kernel)     # to how many elements are dealt
        self.interleaved = False    # whether strips of plain operations want the compiler's first scheduler
        self.routines: dict[str, dict] = {}     # functions of whole strips
        self.streams = False        # whether results are stored past the caches
        # buffer and index of a store -> the array in which its value waits for that, and where that begins
        self.kept: dict[tuple, tuple[str, str, str]] = {}
        self.swept: set[Node] = set()       # loads by the sweeps over a row so far
        self.lets: dict[str, Node] = {}     # what is named so far
        self.nears = itertools.count()      # numbers of names for indices (edges_c.py)
        self.tile = None
        last = kernel.parallel[-1] if kernel.parallel else None
        if kernel.tiled:
            extent = self.spell.extent(last)
            self.tile = {"axis": last.name, "start": f"{last.name}_start", "stop": f"{last.name}_stop",
                         "extent": extent, "width": kernel.width}
        for block in (x.block for s in kernel.body if type(s) is Template for x in s.spans if x.block is not None):
            self.spell.as_argument(block)       # one block or many: the same text
        self.total = " * ".join(self.spell.extent(a) for a in kernel.parallel)

    def axes(self) -> list[dict]:
        """The parallel coordinates, the last axis first, and what they are for the iteration `at`."""
        out, rest = [], "at"
        for k, axis in enumerate(reversed(self.kernel.parallel)):
            first, last = k == len(self.kernel.parallel) - 1, k == 0
            extent = self.spell.extent(axis)
            name = self.tile["start"] if self.tile and last else axis.name
            out.append({"name": name, "extent": extent, "first": rest if first else f"{rest} % {extent}"})
            rest = f"{rest} / {extent}"
        return out

    # -------------------------------------------------------------------------------------------- statements

    def statements(self, body: tuple, enclosing: dict) -> list[dict]:
        with self.spell.inside(body):
            return between([self.statement(s, enclosing) for s in body])

    def statement(self, s, enclosing: dict) -> dict:
        if type(s) is Let:
            self.lets[s.name] = s.value
            register, value = self.spell.let(s)
            return {"kind": "let", "name": s.name, "type": register, "value": value}
        if type(s) is Local:
            offset = self.take_scratch(s.extent * register_bytes(s.dtype))
            return {"kind": "local", "name": s.name, "type": self.spell.language.register(s.dtype),
                    "offset": str(offset) if self.kernel.tiled else self.spell.arg(offset)}
        if type(s) is Store:
            if s.local is not None:
                return {"kind": "store", "target": self.spell.local(s.local, s.index),
                        "value": self.spell.expr(s.value)}
            kept = self.kept.get((s.buffer, s.index))
            place = f"{kept[0]}[{kept[2]} - {kept[1]}]" if kept else \
                f"{self.kernel.buffers[s.buffer].name}[{self.spell.index(s.index, s.buffer)}]"
            return {"kind": "store", "target": place, "value": self.spell.keep(s.value)}
        if type(s) is Accumulate:
            return enclosing[s.name](s)
        if type(s) is Template:
            return TEMPLATES[s.name](self, s)
        if type(s) is If:
            return {"kind": "branch", "test": self.spell.expr(s.test), "body": self.statements(s.body, enclosing),
                    "otherwise": self.asking(s.otherwise)}
        return self.loop(s, enclosing)

    def take_scratch(self, size: int) -> int:
        """The offset of that many bytes of a thread's scratch memory."""
        offset = self.scratch
        self.scratch += rounded_up(size, SCRATCH_ALIGNMENT)
        return offset

    def here(self) -> str:
        """The subscript of this column in an array over the tile."""
        return f"[{self.tile['axis']} - {self.tile['start']}]" if self.tile else ""

    def range_of(self, s: Loop) -> tuple[str, str]:
        """Where a loop starts and stops, over the tile for example."""
        start, stop = (self.tile["start"], self.tile["stop"]) if self.tile else ("0", self.spell.extent(s.axis))
        if s.start is not None and s.start.const:
            start = f"MAX({start}, {self.spell.index(s.start)})"
        if s.limit is not None and s.limit.const != s.axis.extent:
            stop = f"MIN({stop}, {self.spell.index(s.limit)})"
        return start, stop

    def loop(self, s: Loop, enclosing: dict) -> dict:
        if s.kind == "reduce":
            return reduction(self, s)
        if s.kind == "serial" and (running := [x for x in accumulations(s.body) if x.order == "scan"]):
            return scan(self, s, running)
        if self.tile and s.axis == self.kernel.parallel[-1]:
            start, stop = self.range_of(s)
            if turned := turned_from(s):
                store, rows = turned
                whole = store.value.dtype.itemsize in WORDS and store.value.attrs[1].coefficient(rows.axis) in (1, -1)
                return self.turned(s, store, rows) if whole else self.counted(s, start, stop, enclosing)
            if s.kind == "scalar":
                return {"kind": "scalar", "axis": s.axis.name, "start": start, "stop": stop,
                        "body": self.statements(s.body, enclosing)}
            streams = self.kernel.streams and all(_is_streamable(x, s.axis) for x in s.body)
            if streams and self.by_few(s.body, s.axis) is None:
                return self.moved(s, start, stop, "gc_stream") if _is_move(s) else self.streamed(s, start, stop)
            return self.along_tile(s, start, stop, enclosing)
        start, stop = "0" if s.start is None else self.spell.index(s.start), self.spell.stop(s)
        if all(type(x) in (Let, Store) for x in s.body) and (rows := stretches(s.body, s.axis)):
            return self.stretched(rows, start, stop)
        few = s.kind == "vector" and s.axis.extent <= FEW_VECTORS * self.lanes_of_row
        return few and overlapping(self, s, start, stop, fixed_length(s)) or self.counted(s, start, stop, enclosing)

    def asking(self, body: tuple) -> list[dict]:
        """Loops with conditions that hold for all of a loop or for nothing."""
        names: dict = {}
        lets = self.lets | {x.name: x.value for x in body if type(x) is Let}
        body = tuple(replace(x, body=near(self, x.body, x.axis, lets, names)) if type(x) is Loop else x for x in body)
        return [*(x.model(self.spell) for x in names.values()), *(self.statement(x, {}) for x in body)]

    def turned(self, columns: Loop, s: Store, rows: Loop) -> dict:
        """Squares of memory, turned into rows of a local array."""
        number, index = s.value.attrs
        t = WORDS[s.value.dtype.itemsize]       # bits that are only moved
        for name in ("vectors", "square", "turn", "anyturn"):
            self.spell.helpers[f"gc_tiles_{name}_{t}"] = None
        stride, start, stop = index.coefficient(columns.axis), self.tile["start"], self.tile["stop"]
        step, count = index.coefficient(rows.axis), self.spell.stop(rows)
        first = ix.add(index, ix.mul(ix.of(rows.axis), -step))
        first = ix.add(ix.add(first, ix.mul(ix.of(columns.axis), -stride)), ix.mul(ix.of(Axis(start, stride)), stride))
        name, row = s.local, self.spell.arg(s.index.coefficient(rows.axis))
        if step < 0:        # what lies first in memory is the last row
            first = ix.add(first, ix.mul(ix.of(Axis(f"({count} - 1)", rows.axis.extent)), step))
            name, row = f"({name} + ({count} - 1) * {row})", f"-{row}"
        place = f"{self.kernel.buffers[number].name}[{self.spell.index(first, number)}]"
        return {"kind": "turned", "type": t, "place": place, "stride": self.spell.arg(stride),
                "next": self.kernel.width if is_large(self, s.value) else 0, "step": LINE // s.value.dtype.itemsize,
                "columns": f"{stop} - {start}", "rows": count, "extent": rows.axis.extent, "name": name, "row": row}

    def moved(self, s: Loop, start: str, stop: str, mover: str = "__builtin_memcpy") -> dict:
        if mover == "gc_stream":
            self.past_caches()
        (store,) = s.body
        number, index = store.value.attrs
        to, source = self.kernel.buffers[store.buffer].name, self.kernel.buffers[number].name
        return {"kind": "moved", "axis": s.axis.name, "start": start, "stop": stop, "mover": mover,
                "to": f"{to}[{self.spell.index(store.index, store.buffer)}]",
                "from": f"{source}[{self.spell.index(index, number)}]"}

    def counted(self, s: Loop, start: str, stop: str, enclosing: dict) -> dict:
        if (runs := in_runs(self, s, start, stop)) is not None:
            return runs
        if (few := self.by_few(s.body, s.axis)) is not None:
            return few.model(self, start, stop, s)
        kind = "independent" if self.independent(s.body, s.axis) else "loop"
        if strides(s.body, s.axis) > MOST_STRIDED:
            kind = "scalar"
        body, asked = self.statements(s.body, enclosing), scattered(self, s)
        return in_turns(s, kind, start, stop, [asked, *body] if asked else body)

    def by_few(self, body: tuple, axis: Axis) -> ShortStretches | None:
        return short_stretches(body, axis, self.spell.arrays)

    def stretched(self, rows: Stretches, start: str, stop: str, parts: Pieces | None = None) -> dict:
        """A loop in stretches, and `parts` of each of them."""
        body = loops(self, parts, rows.inner, "from", "to") if parts else \
            [self.counted(Loop(rows.inner, "vector", rows.body), "from", "to", {})]
        return rows.model(self.spell, start, stop, body)

    def along_tile(self, s: Loop, start: str, stop: str, enclosing: dict) -> dict:
        if (few := self.by_few(s.body, s.axis)) is not None:
            return few.model(self, start, stop, s)
        length = fixed_length(s)
        long = is_long_arithmetic(s.body) and (not self.lanes_of_row or length >= self.kernel.strip)
        if not (long and called_often(s.body)) and (found := overlapping(self, s, start, stop, length)):
            return found
        if not self.lanes_of_row and _is_move(s):
            return self.moved(s, start, stop)
        if long:
            return strips(self, s, start, stop)
        return self.counted(s, start, stop, enclosing)

    def independent(self, body: tuple, axis: Axis) -> bool:
        """Whether gcc must be told that each turn of a loop stores in a place of its own. With scratch memory it would
        make a second copy of the loop for arrays that overlap, and so it does for windows of one array; it gives up
        where stores times loads are more than ten."""
        stores = [s for s in body if type(s) is Store]
        if not stores or any(type(s) not in (Let, Store, Accumulate) for s in body):
            return False
        if len(stores) == 1 and not self.scratch and len(loads(body)) <= MANY_LOADS:
            return False
        return not misleads(body) and all(s.index.coefficient(axis) and not data_exprs(s.index) for s in stores)

    def past_caches(self) -> None:
        self.streams = True
        self.spell.helpers["gc_stream"] = None

    def streamed(self, s: Loop, start: str, stop: str) -> dict:
        """Runs of elements that are first kept in the nearest cache and then stored past all of them. Those of a square
        ask for the next square, a line of a page each."""
        axis, kept = s.axis, []
        square = self.kernel.width if any(type(x) is Local for x in self.kernel.body) else 0
        first, last = f"{axis.name}_from", f"{axis.name}_to"
        for k, x in enumerate(x for x in s.body if type(x) is Store):
            buffer = self.kernel.buffers[x.buffer]
            place = ix.add(ix.add(x.index, ix.mul(ix.of(axis), -1)), ix.of(Axis(first, axis.extent)))
            kept.append({"name": f"kept{k}", "type": self.spell.language.memory(buffer.dtype),
                         "place": f"{buffer.name}[{self.spell.index(place)}]"})
            self.kept[x.buffer, x.index] = f"kept{k}", first, axis.name
        lets = self.lets | {x.name: x.value for x in s.body if type(x) is Let}
        places = [soon(self, x, axis, "l", square) if square else soon_in_rows(self, x, lets) for x in loads(s.body)]
        body = self.along_tile(s, first, last, {})
        self.kept.clear()
        self.past_caches()
        asked = [{"rising": False, **place, "start": first, "stop": last} for place in places if place is not None]
        if any(place["rising"] for place in asked) and not square:
            self.spell.helpers["gc_amd"] = None
        return {"kind": "streamed", "start": start, "stop": stop, "first": first, "last": last, "run": RUN,
                "kept": kept, "ahead": asked, "square": square, "body": [body]}


def fixed_length(s: Loop) -> int:
    """Turns of a loop; 0 if that is known only when it runs."""
    start, stop = s.start or ix.ZERO, s.limit or ix.constant(s.axis.extent)
    return stop.const - start.const if start.is_const and stop.is_const else 0


def _is_move(s: Loop) -> bool:
    """Whether a piece of a loop moves neighbours in memory as they are. Each loop of its own takes the compiler long,
    and an array may have fifty parts."""
    if (s.start is None and s.limit is None) or len(s.body) != 1 or type(s.body[0]) is not Store:
        return False
    (store,) = s.body
    return store.local is None and store.value.op is LOAD and not store.value.srcs and all(
        index.coefficient(s.axis) == 1 and not data_exprs(index) for index in (store.index, store.value.attrs[1]))


def _is_streamable(s, axis: Axis) -> bool:
    """Whether a statement is a value, or a store of neighbours along the axis to neighbours in memory."""
    return type(s) is Let or (type(s) is Store and s.local is None and s.index.coefficient(axis) == 1
                              and not data_exprs(s.index))
