"""Loops for groups of work items: turns a kernel's tree into the model that codegen_templates/gpu/ renders.

Where nothing is added up across iterations of the nest, each item takes some of them by itself. Else an iteration is a
row, or a column, that several items share: they deal its loops out, and meet in shared memory in the order that
docs/numerics.md fixes, so that the bits are those of every other backend's sums.
"""
from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable

from msgspec import Struct

from graphc.codegen import Rendered
from graphc.codegen.attention_gpu import attention
from graphc.codegen.gemm_gpu import gemm
from graphc.codegen.gemv_gpu import gemv
from graphc.codegen.helpers_gpu import helpers
from graphc.codegen.macros import macros, tidied
from graphc.codegen.mma_gpu import mma
from graphc.codegen.spell import dialect, filled, register_bytes
from graphc.codegen.spell_gpu import GpuSpeller
from graphc.codegen.weighted_gpu import weighted
from graphc.codegen.wide_gpu import WORDS as WIDE_WORDS
from graphc.codegen.wide_gpu import Moved, first_of, wide
from graphc.ir.kernel import Accumulate, If, Kernel, Let, Local, Loop, Store, Template, accumulations, below
from graphc.ir.ops import M2, SUM
from graphc.ir.program import KernelSource
from graphc.ir.target import Target, rounded_up
from graphc.ir.trees import CHUNKS, LANES

ALIGNMENT = 16      # of a local array in shared memory
SIZES = {"int": 4, "float": 4, "double": 8, "uint4": 16}        # bytes of what lies in such an array
EACH = 16           # elements of a row that an item reads at once, if
SHORT = 24          # they cost no more operations than that: those are written out
TEMPLATES = {"gemm": gemm, "gemv": gemv, "mma": mma, "attention": attention, "weighted": weighted}


def render(kernel: Kernel, environment, name: str, members: bool = False) -> Rendered:
    """members: the text for a launch of several, where their buffers and words are arguments."""
    model = _Model(kernel, name)
    text, most = _text(environment, model, "kernel_name", members)
    entry = f"{kernel.name}_{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
    text = text.replace("kernel_name", entry)
    source = KernelSource(entry, text, bool(model.spell.checks), most if members else min(most, 1))
    return Rendered.of(source, model.spell, model.scratch, most)


def most_members(target: Target, buffers: int, words: int) -> int:
    """How many members' pointers, words and first groups there is room for, beside pointers to faults and scratch."""
    return max((target.arguments - 16) // (8 * (buffers + words + 1)), 1) if target.arguments else 0


@functools.cache
def _preamble(environment, name: str, on_unit: bool) -> str:
    language = dialect(name)
    return environment.get_template(f"{language.name}/preamble.j2").render(
        group=language.target.group, unit=language.unit if on_unit else None, kind=name.partition("-")[2]).strip()


def _text(environment, model: _Model, entry: str, members: bool) -> tuple[str, int]:
    """The text, and how many members a launch may have."""
    kernel, spell = model.kernel, model.spell
    prologue = model.prologue()
    body = model.statements(kernel.body, {})
    axes, strides, total, neighbours = model.axes(), model.strides(), model.total, model.wide()
    language = spell.language
    buffers = [{"name": b.name, "handle": f"memory{k}", "number": k, "type": language.memory(b.dtype),
                "written": b.written, "shared": b.same is not None} for k, b in enumerate(kernel.buffers)]
    params = [{"name": n, "type": language.register(d), "value": spell.scalar(f"words.w[{k}]", d)}
              for k, (n, d, _) in enumerate(spell.params, len(buffers) + len(spell.args))]
    if spell.checks:
        spell.helpers["gc_check_index"] = None
    words = len(buffers) + len(spell.args) + len(params) + 1
    most = most_members(language.target, len(buffers), words)
    values = {"entry": entry, "helpers": helpers(environment, list(spell.helpers)), "buffers": buffers,
              "params": params, "axes": axes, "strides": strides, "body": body, "prologue": prologue,
              "scratch": model.scratch > 0, "room": model.room if language.shared_words else 0,
              "args": [f"a{k}" for k in range(len(spell.args))], "checks": len(spell.checks),
              "words": words, "shared_words": model.crowded and language.shared_words,
              "teams": model.teams_text(), "members": most if members else 0,
              "shared": [{"name": n, "type": t, "size": size} for n, (t, size) in model.shared_sizes.items()],
              "in_scratch": [{"name": n, "type": t, "at": at} for n, (t, at) in model.in_scratch.items()],
              "on_unit": any(type(s) is Template and s.name == "mma" for s in kernel.body),
              "chunk": kernel.chunk, "total": total, "group": model.group, "wide": neighbours}
    return _filled(environment, model.name, json.dumps(values)), most


@functools.lru_cache(maxsize=64)
def _filled(environment, name: str, model: str) -> str:
    """The text for a model, which is plain data. Many kernels of one program have the same."""
    loops = macros(environment, "gpu/loops.j2")
    k = json.loads(model)
    preamble = _preamble(environment, name, k["on_unit"])
    return tidied(environment.get_template("gpu/kernel.j2").render(k=k, loops=loops, table=dialect(name).table,
                                                                   preamble=preamble))


class _Team(Struct, frozen=True):
    """Items that add something up together. `own`: the number of an item among them, as text.

    apart  how far apart in the group they stand
    """

    items: int
    own: str
    apart: int


class _Model:
    def __init__(self, kernel: Kernel, name: str):
        self.kernel, self.name = kernel, name
        self.spell = GpuSpeller(dialect(name), kernel)
        self.group = self.spell.language.target.group
        self.scratch = 0
        self.crowded = False                # it is short of registers
        self.inside = False                 # a loop whose turns are dealt out to the items of a team
        loops = [s for s in kernel.body if type(s) is Loop and s.kind == "reduce"]
        reduces = any(accumulations(loop.body)[0].order != "chain" for loop in loops)
        share = reduces and kernel.chunk < self.group
        self.team = _Team(1, "0", 0)        # that takes an iteration
        if share:
            items = self.group // kernel.chunk
            self.team = _Team(items, "own", kernel.chunk if kernel.tiled else 1)
        self.shared_sizes: dict[str, tuple[str, int]] = {}      # arrays in shared memory -> type and elements
        self.in_scratch: dict[str, tuple[str, int]] = {}        # arrays in scratch -> type, and where they begin
        self.is_large = False               # a group takes most of a multiprocessor's registers
        for template in (s for s in kernel.body if type(s) is Template):
            self.team = _Team(self.group, "own", 1)
            for block in (x.block for x in template.spans if x.block is not None):
                self.spell.as_argument(block)       # one block or many: the same text
        if not self.shares:
            self.spell.wide = wide(kernel, self.group)
        if not self.is_template:            # which order their reads themselves, and are short of registers
            self.spell.read = self.spell.language.read
        self.total = " * ".join(self.spell.extent(a) for a in kernel.parallel) or "1"

    @property
    def shares(self) -> bool:
        return self.team.items > 1

    @property
    def room(self) -> int:
        """Groups that a multiprocessor should have room for: while items wait for one another, another group's work."""
        if self.is_large:
            return 1
        return 4 if self.shares and not self.is_template else 2

    @property
    def is_template(self) -> bool:
        return any(type(s) is Template for s in self.kernel.body)

    def keep(self, name: str, register: str, size: int, in_scratch: bool) -> None:
        """An array of all items of the group, of more bytes than every kernel may have if it is in scratch."""
        if in_scratch:
            self.in_scratch[name] = register, self.scratch
            self.scratch += rounded_up(size * SIZES[register], ALIGNMENT)
        else:
            self.shared_sizes[name] = register, size

    def teams_text(self) -> dict | None:
        if not self.shares:
            return None
        rows, items = self.kernel.chunk, self.team.items
        if self.is_template:
            return {"count": items, "what": "a block", "own": "GC_ITEM", "place": "0"}
        if self.kernel.tiled:
            return {"count": items, "what": "a column", "own": f"GC_ITEM / {rows}", "place": f"GC_ITEM % {rows}"}
        return {"count": items, "what": "a row", "own": f"GC_ITEM % {items}", "place": f"GC_ITEM / {items}"}

    def axes(self) -> list[dict]:
        """The parallel coordinates of iteration `at`, the last axis first: what is left of `rest` behind whole turns
        of the axis, which are counted on the way."""
        out, rest = [], "at"
        for axis in reversed(self.kernel.parallel[1:]):
            out.append({"name": axis.name, "rest": rest, "extent": self.spell.extent(axis)})
            rest = f"turns_{axis.name}"
        return [*out, *({"name": axis.name, "rest": rest, "extent": ""} for axis in self.kernel.parallel[:1])]

    def strides(self) -> list[dict]:
        """By how much coordinates grow from one iteration of an item to its next, which takes no divisions; the last
        axis first, each with a carry to the next. None where an item has one iteration, or one axis."""
        axes, out, rest = self.kernel.parallel, [], str(self.group)
        if self.shares or self.spell.wide is not None or len(axes) < 2 or self.kernel.chunk <= self.group:
            return []
        for axis in reversed(axes[1:]):
            out.append({"name": axis.name, "rest": rest, "extent": self.spell.extent(axis)})
            rest = f"turn_{axis.name}"
        return [*out, {"name": axes[0].name, "rest": rest, "extent": ""}]

    def wide(self) -> dict | None:
        """What is moved for several neighbours at a time: codegen/wide_gpu.py."""
        found = self.spell.wide
        if found is None:
            return None

        def described(m: Moved) -> dict:
            buffer = self.kernel.buffers[m.buffer]
            place = self.spell.index(m.index, m.buffer)
            return {"name": m.name, "type": self.spell.language.memory(buffer.dtype), "array": buffer.name,
                    "word": WIDE_WORDS[found.count * buffer.dtype.itemsize], "place": f"{buffer.name}[{place}]",
                    "first": f"{buffer.name}[{self.spell.index(first_of(m.index, found.axis), m.buffer)}]"}
        loads, stores = [described(m) for m in found.loads], [described(m) for m in found.stores]
        arrays = dict.fromkeys(m["array"] for m in (*loads, *stores))
        self.spell.args.append(int(found.even))
        return {"count": found.count, "axis": found.axis.name, "even": f"a{len(self.spell.args) - 1}", "loads": loads,
                "stores": stores, "addresses": " | ".join(f"(uint64_t){name}" for name in arrays)}

    # -------------------------------------------------------------------------------------------- statements

    def prologue(self) -> list[dict]:
        """What all items of the group add up together, each time for themselves to know."""
        team, self.team = self.team, _Team(self.group, "GC_ITEM", 1)
        found = self.statements(self.kernel.prologue, {})
        self.team = team
        return found

    def statements(self, body: tuple, enclosing: dict) -> list[dict]:
        return [self.statement(s, enclosing) for s in body]

    def statement(self, s, enclosing: dict) -> dict:
        if type(s) is Let:
            register, value = self.spell.let(s)
            return {"kind": "let", "name": s.name, "type": register, "value": value}
        if type(s) is Local:
            return self.local(s)
        if type(s) is Store:
            if s.local is not None:
                return {"kind": "store", "target": self.spell.local(s.local, s.index),
                        "value": self.spell.expr(s.value), "alone": False}
            if self.spell.wide is not None:
                return {"kind": "store", "target": self.spell.wide.name_of_store(s.buffer),
                        "value": self.spell.keep(s.value), "alone": False}
            place = f"{self.kernel.buffers[s.buffer].name}[{self.spell.index(s.index, s.buffer)}]"
            return {"kind": "store", "target": place, "value": self.spell.keep(s.value),
                    "alone": self.shares and not self.inside}
        if type(s) is Accumulate:
            return enclosing[s.name](s)
        if type(s) is If:
            return {"kind": "branch", "test": self.spell.expr(s.test), "body": self.statements(s.body, enclosing),
                    "otherwise": self.statements(s.otherwise, enclosing)}
        return self.template(s) if type(s) is Template else self.loop(s, enclosing)

    def template(self, s: Template) -> dict:
        self.inside = True
        found = TEMPLATES[s.name](self, s)
        self.inside = False
        return found

    def local(self, s: Local) -> dict:
        """An array of each row of the group, in shared memory."""
        register = self.spell.language.register(s.dtype)
        offset = self.scratch
        self.scratch += rounded_up(s.extent * register_bytes(s.dtype) * self.kernel.chunk, ALIGNMENT)
        return {"kind": "local", "name": s.name, "type": register, "offset": self.spell.arg(offset),
                "extent": self.spell.arg(s.extent), "place": self.teams_text()["place"] if self.shares else "0"}

    # ------------------------------------------------------------------------------------------------- loops

    def loop(self, s: Loop, enclosing: dict) -> dict:
        if s.kind == "reduce":
            return self.contract(s) if accumulations(s.body)[0].order == "chain" else self.reduce(s)
        if s.kind == "serial" and (running := [x for x in accumulations(s.body) if x.order == "scan"]):
            return self.scan(s, running)
        if self.kernel.tiled and s.axis == self.kernel.parallel[-1]:
            return self.segment(s, enclosing)
        deal = self.shares and not self.inside and (self.kernel.tiled or s.kind == "vector")
        stop, start, step = self.spell.stop(s), "0", "1"
        if deal:
            start, step, stop = self.team.own, str(self.team.items), f"(live ? {stop} : 0)"
        self.inside |= deal
        body = self.statements(s.body, enclosing)
        if deal:
            self.inside = False
        return {"kind": "loop", "axis": s.axis.name, "start": start, "step": step, "stop": stop, "body": body,
                "barrier": deal and any(type(x) is Store and x.local is not None for x in s.body)}

    def segment(self, s: Loop, enclosing: dict) -> dict:
        tests = []
        if s.start is not None and s.start.const:
            tests.append(f"{s.axis.name} >= {self.spell.index(s.start)}")
        if s.limit is not None and s.limit.const != s.axis.extent:
            tests.append(f"{s.axis.name} < {self.spell.index(s.limit)}")
        return {"kind": "segment", "test": " && ".join(tests), "body": self.statements(s.body, enclosing)}

    def scan(self, s: Loop, running: list[Accumulate]) -> dict:
        def step(a: Accumulate) -> dict:
            return _step(f"{a.name} = {filled(self._combine(a), a.name, self.spell.expr(a.value))}")
        return {"kind": "scan", "axis": s.axis.name, "stop": self.spell.stop(s),
                "accumulators": [self.accumulator(x) for x in running],
                "body": self.statements(s.body, {x.name: step for x in running})}

    # -------------------------------------------------------------------------------------------- reductions

    def contract(self, s: Loop) -> dict:
        sums = accumulations(s.body)
        steps = {x.name: self._fma for x in sums}
        accumulators = [{**self.accumulator(x), "zero": self.spell.number("0", x.dtype)} for x in sums]
        return {"kind": "contract", "axis": s.axis.name, "stop": self.spell.stop(s), "chunk": CHUNKS["chain"],
                "accumulators": accumulators, "body": self.statements(s.body, steps)}

    def _fma(self, s: Accumulate) -> dict:
        fma = self.spell.helper(f"gc_fma_{self.spell.language.register(s.dtype)}")
        part = f"{s.name}_part"
        return _step(f"{part} = {fma}({self.spell.expr(s.value)}, {self.spell.expr(s.other)}, {part})")

    def reduce(self, s: Loop) -> dict:
        # Deviations last: their mean may come from a sum of the same.
        sums, team = sorted(accumulations(s.body), key=lambda x: x.op is M2), self.team
        exact = all(x.is_exact for x in sums)
        order = sums[0].order
        lanes = team.items if exact else min(LANES, team.items) if order == "inner" else 1
        teams = team.items // lanes
        chunk = CHUNKS[order]
        bound, stop = self.spell.extent(s.axis), self.spell.stop(s)
        if team.own == "own" and self.shares:
            stop = f"(live ? {stop} : 0)"
        own = team.own
        out = {"kind": "reduce", "axis": s.axis.name, "stop": stop, "bound": bound, "exact": exact, "lanes": lanes,
               "teams": teams, "chunk": chunk, "single": s.axis.extent <= chunk * teams,
               "lane": own if teams == 1 else f"{own} % {lanes}" if lanes > 1 else "0",
               "team": own if lanes == 1 else f"({own} / {lanes})", "stride": team.apart, "apart": team.apart * lanes,
               "each": (EACH if exact else chunk // lanes) if lanes > 1 and _is_short(s.body) else 0,
               "group": self.group}
        out["lane"] = f"({out['lane']})" if "%" in out["lane"] else out["lane"]
        accumulators = [self.accumulator(x) for x in sums]
        for a, x in zip(accumulators, sums, strict=True):
            a["fold"] = self._shared("fold", a["type"]) if team.items > 1 else None
            a["fold_mean"] = self._shared("mean", a["type"]) if team.items > 1 and a["state"] else None
            if a["state"]:
                again = _without_locals(s.body, x)
                a["again"] = self.statements(again, {x.name: self._deviation_step})
            a["like"] = next((y.name for y in sums if a["state"] and y.op is SUM and y.value is x.value), "")
        like = {a["name"] for a in accumulators if a["like"]}
        inside, self.inside = self.inside, True
        out["accumulators"], out["counted"] = accumulators, any(x.op is M2 for x in sums)
        steps = {x.name: self._mean_step(x.name in like, out["each"]) if x.op is M2 else self._step for x in sums}
        out["body"] = self.statements(s.body, steps)
        self.inside = inside
        return out

    def _shared(self, what: str, register: str) -> str:
        name = f"{what}_{register}"
        self.shared_sizes[name] = register, 2 * self.group
        return name

    def _step(self, s: Accumulate) -> dict:
        part = f"{s.name}_part"
        return _step(f"{part} = {filled(self._combine(s), part, self.spell.expr(s.value))}")

    def _mean_step(self, is_known: bool, each: int) -> Callable[[Accumulate], dict]:
        """What the deviations need first: a sum, unless another accumulation has the same, and in registers what they
        are of, where a lane reads as much as they hold."""
        def step(s: Accumulate) -> dict:
            value, part = self.spell.expr(s.value), f"{s.name}_part"
            kept = [f"{s.name}_kept[r] = {value}"] if each else []
            added = [] if is_known else [f"{part} = {part} + "]
            return _step("".join(x + f"({value})" for x in added),
                         "; ".join([*kept, *(x + f"{s.name}_kept[r]" for x in added)]))
        return step

    def _deviation_step(self, s: Accumulate) -> dict:
        register = self.spell.language.register(s.dtype)
        return _step(f"const {register} d = ({self.spell.expr(s.value)}) - {s.name}_mean_part; "
                     "squares = squares + d * d")

    def accumulator(self, s: Accumulate) -> dict:
        return {"name": s.name, "type": self.spell.language.register(s.dtype), "identity": self.spell.identity(s),
                "combine": self._combine(s), "state": ["mean"] if s.op is M2 else []}

    def _combine(self, s: Accumulate) -> str:
        """How two values are combined, with {0} and {1} left open."""
        return self.spell.binary(s.op.combine, s.dtype)


def _step(text: str, whole: str | None = None) -> dict:
    """whole: what stands there in its place where all that a lane reads of a chunk is written out."""
    return {"kind": "accumulate", "step": text, "whole": text if whole is None else whole}


def _is_short(body: tuple) -> bool:
    """Whether it is worth writing out for each of several elements: what waits for the memory, and not for itself."""
    return (all(type(s) in (Let, Store, Accumulate) for s in body)
            and len(list(below(s.value for s in body))) <= SHORT)


def _without_locals(body: tuple, kept: Accumulate) -> tuple:
    """The statements of a sweep that one accumulation needs."""
    found: list = []
    for s in body:
        if type(s) is Loop:
            found += _without_locals(s.body, kept)
        elif type(s) is Let or s is kept:
            found.append(s)
    return tuple(found)
