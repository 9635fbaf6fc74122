"""Loops in C: turns a kernel's tree into the model that codegen_templates/c/ renders.

The generated code is plain scalar C in counted loops with `restrict` pointers, which the compiler turns into SIMD; the
order of every reduction is spelled out in the templates, so that vectorising changes no bit.
"""
from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from graphc.codegen import Rendered
from graphc.codegen.attention_c import attention
from graphc.codegen.blocked_c import blocked
from graphc.codegen.copied_c import turned_from
from graphc.codegen.edges_c import between, evaluated, misleads, near, pieces
from graphc.codegen.gemm_c import gemm, gemv
from graphc.codegen.halves_c import in_runs, loads, widened
from graphc.codegen.helpers_c import apart, helper_texts
from graphc.codegen.macros import macros
from graphc.codegen.spell import dialect, register_bytes
from graphc.codegen.spell_c import CSpeller
from graphc.codegen.stretches_c import stretches
from graphc.codegen.weighted_c import weighted
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import (
    LOAD, VALUE, Accumulate, If, Kernel, Let, Local, Loop, Store, Template, below, data_exprs,
)
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import (
    ABS, ADD, CAST, CONST, CONTRACT, EQ, EXP, FMA, LE, LT, MAX, MAXIMUM, MINIMUM, MUL, NEG, PARAM, SUB, TABLE,
    WHERE,
)
from graphc.ir.program import KernelSource
from graphc.ir.trees import CHUNKS, LANES

LONG, TOO_LONG = 24, 256     # cost from which strips pay, and from which compiling them takes over a second; but where
# one loop calls functions as often as that, the compiler gives up inlining them, and with that vectors
_WIDE = (dt.float32, dt.float64, dt.int32, dt.int64)     # narrower ones would need packing between the operations
_PLAIN = (ADD, SUB, MUL, FMA, NEG, LT, LE, EQ, WHERE, CAST)
_FUNCTIONS = tuple(TABLE[name] for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh erf sqrt div".split())
LINE = 64           # bytes of a cache line
NEAR = 1 << 16      # bytes of a row: the next one is prefetched if both stay in the L2 cache meanwhile
RUN = 512           # elements that are stored past the caches at a time: they wait in the nearest one
BLOCK = 32          # elements of a row that has them as a part of its text: half of the lanes, blocks that have a scale
LEVELS = 32         # of a pairwise sum; those of a tile of columns lie in scratch: a thread's stack is small
SCRATCH_ALIGNMENT = 64
TEMPLATES = {"gemm": gemm, "gemv": gemv, "attention": attention, "weighted": weighted, "blocked": blocked}


def render(kernel: Kernel, environment, name: str) -> Rendered:
    model = _Model(kernel, name)
    entry = "kernel"
    text, parts = _text(environment, model, entry)
    entry = f"{kernel.name}_{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
    text = text.replace(" kernel(void", f" {entry}(void")
    return Rendered.of(KernelSource(entry, text, parts=parts), model.spell, model.scratch)


def prepare(environment, name: str) -> None:
    """Compile the template of the frame."""
    environment.get_template("c/kernel.c.j2")
    macros(environment, "c/loops.c.j2")["body"]
    dialect(name)


def _text(environment, model: _Model, entry: str) -> tuple[str, tuple[str, ...]]:
    """The text, and the parts of it that many kernels have."""
    spell = model.spell
    prologue = model.statements(model.kernel.prologue, {})
    body = model.statements(model.kernel.body, {})
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
              "interleaved": model.interleaved, "streams": model.streams,
              "chunk": chunk, "total": total, "tiled": model.kernel.tiled, "tile": model.tile}
    return _filled(environment, json.dumps(values)), parts


@functools.lru_cache(maxsize=64)
def _filled(environment, model: str) -> str:
    """The text for a model, which is plain data. Many kernels of one program have the same."""
    loops = macros(environment, "c/loops.c.j2")
    return environment.get_template("c/kernel.c.j2").render(k=json.loads(model), loops=loops)


class _Operation(Struct, frozen=True):
    """How a reduction combines two values."""

    identity: str
    combine: str        # a format of left and right


def _dealt(kernel: Kernel) -> int:
    """Among how many lanes a kernel deals the elements of rows: of those without an element it needs none."""
    extents, stack = set(), list(kernel.body)
    while stack:
        s = stack.pop()
        if type(s) is Loop:
            extents |= {s.axis.extent for x in s.body if type(x) is Accumulate and x.order == "inner"}
            stack.extend(s.body)
    return BLOCK if extents == {BLOCK} else LANES


class _Model:
    def __init__(self, kernel: Kernel, name: str):
        self.kernel = kernel
        self.spell = CSpeller(dialect(name), kernel)
        self.scratch = 0
        # of vectors that may overlap: not where an element is written over that is then read again
        self.lanes_of_row = kernel.lanes if all(b.same is None for b in kernel.buffers) else 0
        self.lanes = False          # whether a reduction folds lanes,
        self.dealt = _dealt(kernel)     # to how many elements are dealt
        self.interleaved = False    # whether strips of plain operations want the compiler's first scheduler
        self.routines: dict[str, dict] = {}     # functions of whole strips
        self.streams = False        # whether results are stored past the caches
        # buffer and index of a store -> the array in which its value waits for that, and where that begins
        self.kept: dict[tuple, tuple[str, str, str]] = {}
        self.swept: set[Node] = set()       # loads by the sweeps over a row so far
        self.lets: dict[str, Node] = {}     # what is named so far
        self.width = kernel.width
        self.tile = None
        last = kernel.parallel[-1] if kernel.parallel else None
        if kernel.tiled:
            extent = self.spell.extent(last)
            self.tile = {"axis": last.name, "start": f"{last.name}_start", "stop": f"{last.name}_stop",
                         "extent": extent, "width": self.width}
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
        out: list[dict] = []
        for s in body:
            out.append(self.statement(s, enclosing))
        return out

    def statement(self, s, enclosing: dict) -> dict:
        if type(s) is Let:
            self.lets[s.name] = s.value
            return {"kind": "let", "name": s.name, "type": self.spell.language.register(s.value.dtype),
                    "value": self.spell.expr(s.value)}
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
        return self.loop(s, enclosing)

    def take_scratch(self, size: int) -> int:
        """The offset of that many bytes of a thread's scratch memory."""
        offset = self.scratch
        self.scratch += -(-size // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        return offset

    def loop(self, s: Loop, enclosing: dict) -> dict:
        if type(s) is If:
            return {"kind": "branch", "test": self.spell.expr(s.test), "body": self.statements(s.body, enclosing),
                    "otherwise": [y for x in s.otherwise for y in self.asking(x)]}
        if s.kind == "reduce":
            return self.reduction(s)
        if s.kind == "serial" and (running := _scans(s)):
            return self.scan(s, running)
        if self.tile and s.axis == self.kernel.parallel[-1]:
            start, stop = self.tile["start"], self.tile["stop"]
            if s.start is not None and s.start.const:
                start = f"MAX({start}, {self.spell.index(s.start)})"
            if s.limit is not None and s.limit.const != s.axis.extent:
                stop = f"MIN({stop}, {self.spell.index(s.limit)})"
            if turned := turned_from(s):
                return self.turned(s, *turned)
            if self.kernel.streams and all(_is_streamable(x, s.axis) for x in s.body):
                return self.streamed(s, start, stop)
            return self.along_tile(s, start, stop, enclosing)
        return self.counted(s, "0" if s.start is None else self.spell.index(s.start), self.spell.stop(s), enclosing)

    def asking(self, s) -> list[dict]:
        """A loop with conditions that hold for all of it or for nothing."""
        if type(s) is not Loop:
            return [self.statement(s, {})]
        names, body = near(s.body, s.axis, self.lets)
        return [*(x.model(self.spell) for x in names), self.loop(replace(s, body=body), {})]

    def turned(self, columns: Loop, s: Store, rows: Loop) -> dict:
        """Squares of memory, turned into rows of a local array."""
        number, index = s.value.attrs
        t = {4: "float", 8: "double"}[s.value.dtype.itemsize]       # bits that are only moved
        for name in ("vectors", "square", "turn", "anyturn"):
            self.spell.helpers[f"gc_tiles_{name}_{t}"] = None
        stride, start, stop = index.coefficient(columns.axis), self.tile["start"], self.tile["stop"]
        first = ix.add(index, ix.mul(ix.of(rows.axis), -1))
        first = ix.add(ix.add(first, ix.mul(ix.of(columns.axis), -stride)), ix.mul(ix.of(Axis(start, stride)), stride))
        place = f"{self.kernel.buffers[number].name}[{self.spell.index(first, number)}]"
        return {"kind": "turned", "type": t, "place": place, "stride": self.spell.arg(stride),
                "columns": f"{stop} - {start}", "rows": self.spell.stop(rows), "name": s.local,
                "row": self.spell.arg(s.index.coefficient(rows.axis))}

    def counted(self, s: Loop, start: str, stop: str, enclosing: dict) -> dict:
        if (runs := in_runs(self, s, start, stop)) is not None:
            return runs
        kind = "independent" if self.independent(s.body, s.axis) else "loop"
        return {"kind": kind, "axis": s.axis.name, "start": start, "stop": stop,
                "body": self.statements(s.body, enclosing)}

    def along_tile(self, s: Loop, start: str, stop: str, enclosing: dict) -> dict:
        length = (s.axis.extent if s.limit is None else s.limit.const) - (0 if s.start is None else s.start.const)
        long = _is_long_arithmetic(s.body) and (not self.lanes_of_row or length >= self.kernel.strip)
        lanes = self.lanes_of_row if length >= self.lanes_of_row else self.lanes_of_row // 2
        if length >= lanes > 1 and not (long and _called_often(s.body)) and not misleads(s.body):
            return {"kind": "overlapping", "axis": s.axis.name, "start": start, "stop": stop,
                    "lanes": lanes, "body": self.statements(s.body, {})}
        if long:
            return self.strips(s, start, stop)
        return self.counted(s, start, stop, enclosing)

    def independent(self, body: tuple, axis: Axis) -> bool:
        """Whether gcc must be told that each turn of a loop stores in a place of its own. With scratch memory it would
        make a second copy of the loop for arrays that overlap; it gives up where stores times loads are too many."""
        stores = [s for s in body if type(s) is Store]
        if not len(stores) > (not self.scratch) or any(type(s) not in (Let, Store, Accumulate) for s in body):
            return False
        return not misleads(body) and all(s.index.coefficient(axis) and not data_exprs(s.index) for s in stores)

    def streamed(self, s: Loop, start: str, stop: str) -> dict:
        """Runs of elements that are first kept in the nearest cache and then stored past all of them."""
        axis, kept = s.axis, []
        first, last = f"{axis.name}_from", f"{axis.name}_to"
        for k, x in enumerate(x for x in s.body if type(x) is Store):
            buffer = self.kernel.buffers[x.buffer]
            place = ix.add(ix.add(x.index, ix.mul(ix.of(axis), -1)), ix.of(Axis(first, axis.extent)))
            kept.append({"name": f"kept{k}", "type": self.spell.language.memory(buffer.dtype),
                         "place": f"{buffer.name}[{self.spell.index(place)}]"})
            self.kept[x.buffer, x.index] = f"kept{k}", first, axis.name
        body = self.along_tile(s, first, last, {})
        self.kept.clear()
        self.streams = True
        self.spell.helpers["gc_stream"] = None
        return {"kind": "streamed", "start": start, "stop": stop, "first": first, "last": last, "run": RUN,
                "kept": kept, "body": [body]}

    def strips(self, s: Loop, start: str, stop: str) -> dict:
        """Long formulas a strip of elements at a time, one operation after the other over the whole strip."""
        body = _functions_apart(s.body)
        calls = any(_is_call(x.value) for x in body)
        names = [x.name for x in body if type(x) is Let]
        self.spell.arrays.update(dict.fromkeys(names, "[l]"))
        strip = self.statements(body, {})
        for name in names:
            del self.spell.arrays[name]
        self.interleaved |= not calls
        width = 2 * self.kernel.strip if calls else self.kernel.strip   # a loop around a call stays a loop
        often = _called_often(s.body)
        for x, statement in zip(body, strip, strict=True):
            if type(x) is Let and (x.value.op, x.value.dtype) in often and x.value.srcs[0].op is VALUE \
                    and x.value.srcs[0].attrs[0] in names:      # not a column's sum
                statement["routine"] = self.routine(statement, width)
        return {"kind": "strips", "axis": s.axis.name, "start": start, "stop": stop, "width": width, "strip": strip,
                "body": self.statements(s.body, {})}

    def routine(self, statement: dict, width: int) -> dict:
        """A function that a kernel applies to many strips, as a routine of its own: it is compiled once, not at each
        place, and the compiler does not give up inlining it."""
        function, _, argument = statement["value"].partition("(")
        name = f"{function}_{width}"
        self.routines[name] = {"name": name, "function": function, "type": statement["type"], "width": width}
        return {"name": name, "argument": argument.removesuffix("[l])")}

    # -------------------------------------------------------------------------------------------- reductions

    def operation(self, s: Accumulate) -> _Operation:
        register = self.spell.language.register(s.dtype)
        if s.op.c == "add" or s.op.c == "m2" or s.op.kind == CONTRACT:
            # -0.0 is what adding to changes nothing
            zero = {"float": "-0.0f", "double": "-0.0", "cfloat": "__builtin_complex(-0.0f, -0.0f)",
                    "cdouble": "__builtin_complex(-0.0, -0.0)"}.get(register, "0")
            return _Operation(zero, self.spell.binary(ADD, s.dtype))
        if s.op.c == "mul":
            return _Operation("1", self.spell.binary(MUL, s.dtype))
        if s.op is MAX and s.value.op is ABS and register in ("float", "double"):
            self.spell.helpers[f"gc_most_{register}"] = None
            return _Operation(self.spell.extreme(s.dtype, True), f"gc_most_{register}({{0}}, {{1}})")
        op = MAXIMUM if s.op is MAX else MINIMUM
        return _Operation(self.spell.extreme(s.dtype, s.op is MAX), self.spell.binary(op, s.dtype))

    def accumulator(self, s: Accumulate) -> dict:
        how = self.operation(s)
        return {"name": s.name, "type": self.spell.language.register(s.dtype), "identity": how.identity,
                "combine": how.combine, "state": ["mean"] if s.op.c == "m2" else [], "here": self.here(),
                "whole": "int" in self.spell.language.register(s.dtype) or "gc_most_" in how.combine,
                "fold": how.combine.format(f"{s.name}_lane[l]", f"{s.name}_lane[l + half]")}

    def here(self) -> str:
        """The subscript of this column in an array over the tile."""
        return f"[{self.tile['axis']} - {self.tile['start']}]" if self.tile else ""

    def reduction(self, s: Loop) -> dict:
        inner = s.body[-1] if self.tile and type(s.body[-1]) is Loop else None
        sums = [x for x in (inner.body if inner else s.body) if type(x) is Accumulate]
        order = sums[0].order
        out = {"axis": s.axis.name, "stop": self.spell.stop(s), "chunk": CHUNKS[order], "lanes": self.dealt,
               "tile": self.tile, "exact": all(x.is_exact for x in sums), "here": self.here(), "independent": False,
               "accumulators": [self.accumulator(x) for x in sums]}
        if inner is None:
            return self.rows(s, sums, out)
        out["tile"] = {**self.tile, "width": self.width}
        if order == "chain":
            out["kind"] = "contract"
            out["lets"] = self.statements(s.body[:-1], {})
            out["body"] = self.statements(inner.body, {x.name: self._fma for x in sums})
        else:
            out["kind"] = "columns"
            for a, x in zip(out["accumulators"], sums, strict=True):
                names = [] if out["exact"] else [x.name, *(f"{x.name}_{state}" for state in a["state"])]
                a["levels"] = [(n, self.take_scratch(LEVELS * self.width * register_bytes(x.dtype))) for n in names]
            self.columns(s, inner.axis, (*s.body[:-1], *inner.body), {x.name: self._column_step for x in sums}, out)
        for x in sums:
            self.spell.arrays[x.name] = self.here()
        return out

    def _fma(self, s: Accumulate) -> dict:
        register = self.spell.language.register(s.dtype)
        self.spell.helpers[f"gc_fma_{register}"] = None
        part = f"{s.name}_part[l]"
        return _step(f"{part} = gc_fma_{register}({self.spell.expr(s.value)}, {self.spell.expr(s.other)}, {part})")

    def _column_step(self, s: Accumulate) -> dict:
        value, total = self.spell.expr(s.value), f"{s.name}_sum"
        if s.op.c == "m2":
            return _step(f"{s.name}_row[r] = {value}; {total} = {total} + {s.name}_row[r]")
        return _step(f"{total} = {self.operation(s).combine.format(total, f'({value})')}")

    def columns(self, s: Loop, column: Axis, body: tuple, steps: dict, out: dict) -> None:
        """What is done with the elements of rows: in pieces where that spares conditions, and for `test` rows only."""
        start, stop = self.tile["start"], self.tile["stop"]
        parts = pieces(body, column, self.lets, s.axis)
        out["test"] = self.spell.expr(parts.test) if parts and parts.test is not None else None
        out["pieces"] = [{"start": low, "stop": high, "body": self.statements(piece, steps)}
                         for low, high, piece in between(self, parts, start, stop)] if parts else []
        by_chunks = any(a["state"] for a in out["accumulators"])
        names, body = near(body, column, self.lets) if out["test"] and not by_chunks else ([], body)
        out["whole"] = [{"start": start, "stop": stop, "body": self.statements(body, steps)}]
        out["near"] = [x.model(self.spell) for x in names]
        out["pieces"] = out["pieces"] or out["whole"]

    def rows(self, s: Loop, sums: list[Accumulate], out: dict) -> dict:
        out["kind"] = "rows"
        if s.axis.extent == BLOCK:
            self.spell.as_literal(s.axis)
            out["stop"] = self.spell.stop(s)
        if out["chunk"] == 1 and not out["exact"]:
            for a, x in zip(out["accumulators"], sums, strict=True):
                a["value"] = self.spell.expr(x.value)
            out["lets"] = self.statements(tuple(x for x in s.body if type(x) is not Accumulate), {})
            out["body"] = []
            return out
        out["evaluated"] = None
        if (found := evaluated(self, s, self.lets, out["chunk"])) is not None:
            (s, out["evaluated"]), out["exact"] = found, False
            sums = list(s.body)
        self.lanes = True
        shared = {x.name: y.name for x in sums for y in sums if _begins_with(x, y)}
        ahead = self.ahead(s)
        for a, x in zip(out["accumulators"], sums, strict=True):
            a["lanes"] = shared.get(x.name, x.name)
            if a["state"]:
                again = tuple(y for y in s.body if type(y) is Let or y is x)
                a["again"] = {**out, "accumulators": [{**a, "identity": "0"}], "ahead": self.ahead(s),
                              **self.sweep(s, again, {x.name: self._deviation_step})}
        own = tuple(x for x in s.body if type(x) is not Accumulate or x.name not in shared)
        out["sweep"] = {**out, "accumulators": [a for a in out["accumulators"] if a["name"] not in shared],
                        "ahead": ahead, "independent": self.independent(own, s.axis),
                        **self.sweep(s, own, {x.name: self._row_step for x in sums})}
        return out

    def sweep(self, s: Loop, body: tuple, steps: dict) -> dict:
        """What is done with each element of a row, and the stretches by which it lies in memory."""
        parts = stretches(body, s.axis)
        wide = widened(self, body, s.axis, "base", "l") if parts is None else []
        out = {"body": self.statements(parts.body if parts else body, steps), "wide": wide,
               "stretches": parts.model(self.spell) if parts else None}
        self.spell.wide.clear()
        return out

    def ahead(self, s: Loop) -> list[dict]:
        """Places that the next row reads where this sweep reads what an earlier one has brought into the cache."""
        row, found = self.kernel.parallel[-1:], []
        for load in loads(s.body):
            number, index = load.attrs
            step = index.coefficient(row[0]) if row else 0
            if not step or load.srcs or index.coefficient(s.axis) != 1:
                continue
            if load in self.swept:
                itemsize = load.dtype.itemsize
                far = step if s.axis.extent * itemsize <= NEAR else 0
                place = ix.add(ix.add(ix.shift(index, far), ix.mul(ix.of(s.axis), -1)),
                               ix.of(Axis("base + l", self.dealt)))
                found.append({"step": LINE // itemsize,
                              "place": f"{self.kernel.buffers[number].name}[{self.spell.index(place)}]"})
            self.swept.add(load)
        return found

    def _row_step(self, s: Accumulate) -> dict:
        lane, value = f"{s.name}_lane[l]", self.spell.expr(s.value)
        return _step(f"{lane} = {self.operation(s).combine.format(lane, f'({value})')}")

    def _deviation_step(self, s: Accumulate) -> dict:
        lane, register = f"{s.name}_lane[l]", self.spell.language.register(s.dtype)
        return _step(f"const {register} d = ({self.spell.expr(s.value)}) - {s.name}_mean_part; {lane} = {lane} + d * d")

    def scan(self, s: Loop, running: list[Accumulate]) -> dict:
        here = self.here()
        for x in running:
            self.spell.arrays[x.name] = here

        def step(a: Accumulate) -> dict:
            text = self.operation(a).combine.format(a.name + here, f"({self.spell.expr(a.value)})")
            return _step(f"{a.name}{here} = {text}")
        accumulators = []
        for x in running:
            a = self.accumulator(x)
            a["declare"] = f"{x.name}[{self.width}]" if self.tile else x.name
            a["at"] = x.name + here
            accumulators.append(a)
        return {"kind": "scan", "axis": s.axis.name, "stop": self.spell.stop(s), "tile": self.tile,
                "accumulators": accumulators, "body": self.statements(s.body, {x.name: step for x in running})}


def _step(text: str) -> dict:
    return {"kind": "accumulate", "step": text}


def _begins_with(x: Accumulate, y: Accumulate) -> bool:
    """Whether the sum of squared deviations x begins with the sum y, for the means of its chunks."""
    return x.op.c == "m2" and y.op.c == "add" and (x.value, x.dtype, x.order) == (y.value, y.dtype, y.order)


def _scans(loop: Loop) -> list[Accumulate]:
    found = []
    for s in loop.body:
        if type(s) is Accumulate and s.order == "scan":
            found.append(s)
        elif type(s) is Loop:
            found += _scans(s)
    return found


def _is_long_arithmetic(body: tuple) -> bool:
    """Whether a loop is bound by the latency of one long chain of operations."""
    if not all(type(s) in (Let, Store) and s.value.dtype in _WIDE for s in body):
        return False
    cost = 0
    for expr in below((s.value for s in body), gathered=False):
        if expr.op in _PLAIN:
            cost += 1
        elif expr.op in _FUNCTIONS and expr.dtype.kind == "f":
            cost += expr.op.cost
        elif expr.op not in (LOAD, VALUE, CONST, PARAM) or expr.srcs:
            return False
    return LONG <= cost <= TOO_LONG or (cost > TOO_LONG and bool(_called_often(body)))


def _is_streamable(s, axis: Axis) -> bool:
    """Whether a statement is a value, or a store of neighbours along the axis to neighbours in memory."""
    return type(s) is Let or (type(s) is Store and s.local is None and s.index.coefficient(axis) == 1
                              and not data_exprs(s.index))


def _functions_apart(body: tuple) -> tuple:
    """The statements of a loop with every call of a function on its own, named where it is part of a formula. What
    is called often is called on names."""
    out: list = []
    often = _called_often(body)

    def named(expr: Node) -> Node:
        if expr.op is VALUE:
            return expr
        out.append(Let(f"f{len(out)}", expr))
        return make(VALUE, expr.dtype, (), (), (out[-1].name,))

    def apart(expr: Node, inside: bool) -> Node:
        expr = rebuild(expr, [apart(s, True) for s in expr.srcs])
        if (expr.op, expr.dtype) in often:
            expr = rebuild(expr, [named(s) for s in expr.srcs])
        return named(expr) if inside and _is_call(expr) else expr

    for s in body:
        value = apart(s.value, type(s) is Store)
        out.append(replace(s, value=value))
    return tuple(out)


def _called_often(body: tuple) -> set:
    """The functions, by op and dtype, that statements call at several places."""
    exprs = below((s.value for s in body), gathered=False)
    found = Counter((expr.op, expr.dtype) for expr in exprs if _is_call(expr))
    return {function for function, times in found.items() if times > 1}


def _is_call(expr: Node) -> bool:
    return expr.op in _FUNCTIONS and expr.op.cost >= EXP.cost
