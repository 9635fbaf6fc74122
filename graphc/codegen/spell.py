"""Expressions to text, by the op table and a dialect's table of spellings.

Sizes, strides and offsets become arguments here: an integer of the kernel's indices is literal when it is 0, 1 or -1
(or a step of at most SHORT elements from one vector lane to the next), and otherwise the next `a{k}`, numbered by use
and not by value, so that kernels which differ in sizes alone have one source. Scalars of the user's program are `p{k}`,
numbered by use too.
"""
from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import numpy as np
from msgspec import Struct

from graphc import codegen_templates
from graphc.errors import CLASSES
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.index import Axis, Data, FloorDiv, Index, Mod
from graphc.ir.kernel import INDEX, LOAD, LOCAL, VALUE, Accumulate, Let, Loop
from graphc.ir.node import Node, const_value
from graphc.ir.ops import (
    ABS, BITCAST, CAST, CHECK_INDEX, CONST, FAST, FENCE, MAXIMUM, MINIMUM, NEG, NEXTAFTER, PARAM, WHERE, Op,
    identity,
)
from graphc.ir.target import Target

TEMPLATES = Path(*codegen_templates.__path__)
_HELPER = re.compile(r"\bgc_[a-z0-9_]+\b")
_PLACE = re.compile(r"\{(\d)\}")
_BEGIN, _BRACKET = re.compile(r"([\w.]+)\Z|\w*[(\[]"), re.compile(r"[()\[\]]")
SHORT = 16      # steps up to this may be literal where no axis goes along neighbours: they say how to fill a vector,
DEALT = (2, 3, 4, 8, 16)    # if GCC 12 can do that for several neighbours at a time; by other steps it gives up
FEW = 4         # what is divided by up to so many needs no division
NARROW = (dt.float16, dt.bfloat16)      # held in float32 and rounded after every operation
_EXACT = (WHERE, FENCE, MAXIMUM, MINIMUM, NEG, ABS)     # but for these, which give no more digits than they take


class Unit(Struct, frozen=True):
    """A matrix unit: which 16 rows and some columns a warp multiplies at once, and what of them each lane holds.

    lanes    of a warp
    columns  multiplied at once
    row, column  where a lane's sum number `e` stands among the results, as text
    held     of 16 neighbours along k, how many a lane holds of the row (of the second factor the column) lane % 16: the
             next lanes, by 16, hold the next, or the same if these are all; 0 where GC_MATRICES deals them out
    copies   whether tiles are filled by asynchronous copies, GC_COPY; else by way of registers
    """

    lanes: int
    columns: int
    row: str
    column: str
    held: int = 0
    copies: bool = False


class Dialect(Struct, frozen=True):
    name: str
    types: dict[str, str]
    storage: dict[str, str]
    ops: dict[str, str]
    fast: dict[str, str]    # of marked nodes of float32
    family: str             # whose templates it is written with
    target: Target
    suffix: str             # of files
    table: bool = False     # a launch passes one pointer, to a table of addresses and words
    shared_words: bool = False      # kernels that are short of registers keep their words in shared memory
    read: str = "{0}"       # how an element of a buffer that the kernel does not write is read
    unit: Unit | None = None

    def register(self, dtype: DType) -> str:
        """The type in which a value is computed."""
        return self.types[dtype.name]

    def memory(self, dtype: DType) -> str:
        """The type that buffers hold."""
        return self.storage.get(dtype.name) or self.types[dtype.name]


@functools.cache
def dialect(name: str) -> Dialect:
    """That of a folder. Behind a hyphen: how many work items a group has, of a device that has fewer than most, or
    which of the folder's matrix units the device has, or "plain" if it has none."""
    folder, _, kind = name.partition("-")
    own = _table(folder)
    family = own.get("family", folder)
    tables = [own] if family == folder else [_table(family), own]

    def both(part: str) -> dict:
        return functools.reduce(lambda a, b: {**a, **b.get(part, {})}, tables, {})
    units, limits = own.get("units", {}), both("target")
    unit = units.get("") if not kind or kind.isdigit() else units.get("", {}) | units[kind] if kind != "plain" else None
    if kind.isdigit():
        limits["group"] = int(kind)
    if unit is not None:
        unit = dict(unit)
        limits |= {key: unit.pop(key) for key in ("matrix", "pairs", "warpgroup") if key in unit}
    target = Target(**{key: tuple(v) if isinstance(v, list) else v for key, v in limits.items()})
    texts = (both(part) for part in ("types", "storage", "ops", "fast"))
    return Dialect(folder, *texts, family, target, own["suffix"], own.get("table", False),
                   own.get("shared_words", False), own.get("read", "{0}"), Unit(**unit) if unit else None)


@functools.cache
def dialect_names() -> frozenset[str]:
    """The dialects, with each matrix unit that one may have; a folder that only others build on is none."""
    tables = {f.name: _table(f.name) for f in TEMPLATES.iterdir() if (f / "dialect.toml").is_file()}
    families = {own.get("family") for own in tables.values()}
    return frozenset(f"{name}-{unit}".strip("-") for name, own in tables.items() if name not in families
                     for unit in ("", *own.get("units", {})))


def _table(folder: str) -> dict:
    return tomllib.loads((TEMPLATES / folder / "dialect.toml").read_text())


class Speller:
    """Spells the expressions of one kernel and collects what they need."""

    divisions = "gc_floordiv_int64_t", "gc_remainder_int64_t"   # of an index that may be negative

    def __init__(self, language: Dialect, kernel):
        self.language, self.kernel = language, kernel
        self.args: list[int] = []               # values of the integer arguments
        self.params: list[tuple[str, DType, int]] = []      # name, dtype, the program's parameter number
        self.helpers: dict[str, None] = {}
        self.checks: list[Node] = []
        self.arrays: dict[str, str] = {}        # name of an accumulation that is an array -> the subscript here
        self.steps: Axis | None = None          # one whose steps are literal: neighbours of several turns are known
        self._axes: dict[Axis, str] = {}
        self._strides: dict[tuple, str] = {}    # buffer, what moves along it, by how much -> the argument
        self._offsets: dict[tuple, dict[int, str]] = {}     # buffer and terms of an index -> its constants so far

    # --------------------------------------------------------------------------------------------- integers

    def arg(self, value: int, literal: int = 1) -> str:
        """An integer of the kernel: literal when its value is part of the structure, else an argument."""
        if -literal <= value <= literal:
            return str(value)
        self.args.append(value)
        return f"a{len(self.args) - 1}"

    def extent(self, axis: Axis) -> str:
        """The extent of a loop: one argument for each axis."""
        if axis not in self._axes:
            self._axes[axis] = self.arg(axis.extent)
        return self._axes[axis]

    def as_literal(self, axis: Axis) -> None:
        """Make the extent of a loop a part of the text."""
        self._axes[axis] = str(axis.extent)

    def as_argument(self, axis: Axis) -> None:
        """Make the extent of a loop an argument, also where it is 1."""
        self._axes[axis] = self.arg(axis.extent, -1)

    def stop(self, s: Loop) -> str:
        """Where a loop ends."""
        extent = self.extent(s.axis)
        return extent if s.limit is None else f"MIN({extent}, {self.index(s.limit)})"

    def index(self, index: Index, buffer: int | None = None) -> str:
        """An index, of a buffer: what is read from one buffer at several offsets has its strides in common, so that
        the compiler sees that the addresses have."""
        parts = []
        short = 1 if any(k in (1, -1) for _, k in index.terms) else SHORT
        for atom, k in index.terms:
            text = self._atom(atom)
            if k == 1:
                parts.append(f" + {text}")
            elif k == -1:
                parts.append(f" - {text}")
            else:
                stride = self._strides.get((buffer, atom, k)) or \
                    self.arg(k, SHORT if atom == self.steps else short if k in DEALT else 1)
                if buffer is not None:
                    self._strides[buffer, atom, k] = stride
                parts.append(f" + {text} * {stride}")
        if index.const or not parts:
            parts.append(" + " + self._offset(index, buffer))
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else text[1:]

    def _offset(self, index: Index, buffer: int | None) -> str:
        """The constant of an index. Neighbours of what was read or written before are spelled as such: the compiler
        then loads or stores them together."""
        offset, before = index.const, self._offsets.setdefault((buffer, index.terms), {})
        for step in range(4) if buffer is not None else ():
            if offset - step in before:
                return f"{before[offset - step]} + {step}" if step else before[offset]
        text = self.arg(offset, SHORT if (self.kernel.unrolled or self.steps) and index.terms else 1)
        if text.startswith("a"):    # no literal
            before[offset] = text
        return text

    def _atom(self, atom) -> str:
        if type(atom) is Axis:
            return atom.name
        if type(atom) is Data:
            return f"(int64_t){self._operand(atom.expr)}"
        sign = "/" if type(atom) is FloorDiv else "%"
        inner = self.index(atom.numerator)
        low, _ = atom.numerator.bounds
        if low < 0:     # C rounds towards zero
            name = self.divisions[type(atom) is Mod]
            self.helpers[name] = None
            return f"{name}({inner}, {self.arg(atom.denominator)})"
        return f"(({inner}) {sign} {self.arg(atom.denominator, FEW)})"

    # ------------------------------------------------------------------------------------------ expressions

    def expr(self, node: Node) -> str:
        op = node.op
        if op is CONST:
            return self._literal(const_value(node), node.dtype)
        if op is PARAM:
            return self._param(node)
        if op is VALUE:
            name = node.attrs[0]
            return name + self.arrays.get(name, "")
        if op is INDEX:
            text = self.index(node.attrs[0])
            return f"({text})" if node.dtype is dt.int64 else self._convert(text, dt.int64, node.dtype)
        if op is LOAD:
            return self._load(node)
        if op is LOCAL:
            return self.local(node.attrs[0], node.attrs[1])
        return self._operation(node)

    def let(self, s: Let) -> tuple[str, str]:
        """The type and the value of a name."""
        return self.language.register(s.value.dtype), self.expr(s.value)

    def _operation(self, node: Node) -> str:
        op, operands = node.op, [self.expr(s) for s in node.srcs]
        source = node.srcs[0].dtype
        if op is CAST:
            return self._convert(operands[0], source, node.dtype)
        if op is BITCAST:
            return self._bitcast(node, operands[0])
        if op is CHECK_INDEX:
            self.checks.append(node)
            wraps = source is not dt.uint64 and node.attrs[1:] != (CLASSES,)
            helper = "gc_check_index" if wraps else "gc_check_unsigned"
            self._need(helper)
            check = f"{helper}({operands[0]}, {self.arg(node.attrs[0])}, {min(len(self.checks) - 1, 63)}, &bad)"
            return check if node.dtype is dt.int64 else f"({self.language.register(node.dtype)}){check}"
        return filled(self._open(op, source, node.dtype, len(operands), node.attrs == FAST), *operands)

    def _open(self, op: Op, source: DType, dtype: DType, count: int, fast: bool) -> str:
        spelling, helpers = _spelling(self.language.name, op, source, dtype, count, fast)
        for name in helpers:
            self._need(name)
        return spelling

    def binary(self, op: Op, dtype: DType) -> str:
        """An operation on two values of a dtype, with {0} and {1} left open; `filled` puts expressions there."""
        return self._open(op, dtype, dtype, 2, fast=False)

    def identity(self, s: Accumulate) -> str:
        """What combining with changes nothing."""
        return self._literal(identity(s.op.combine, s.dtype), s.dtype)

    def local(self, name: str, index: Index) -> str:
        """An element of a local array; in a tiled kernel it counts from the start of the tile."""
        start = f" - {self.kernel.parallel[-1].name}_start" if self.kernel.tiled else ""
        return f"{name}[{self.index(index)}{start}]"

    def _need(self, helper: str) -> None:
        self.helpers[helper] = None

    def _operand(self, node: Node) -> str:
        """As an operand of something else: in parentheses unless it is one token or a call."""
        text = self.expr(node)
        return text if node.op is VALUE or _closed(text) else f"({text})"

    def _load(self, node: Node) -> str:
        number, index = node.attrs
        buffer = self.kernel.buffers[number]
        text = self.fetch(f"{buffer.name}[{self.index(index, number)}]", node.dtype)
        if node.srcs:
            return f"{self._operand(node.srcs[0])} ? {text} : 0"
        return text

    def fetch(self, place: str, dtype: DType) -> str:
        """The value in register form of what lies at a place in memory."""
        if dtype in NARROW:
            self._need(f"gc_load_{dtype}")
            return f"gc_load_{dtype}({place})"
        return place

    def keep(self, value: Node) -> str:
        """The text that is stored for a value in memory form."""
        if value.dtype in NARROW:
            self._need(f"gc_store_{value.dtype}")
            return f"gc_store_{value.dtype}({self.unrounded(value)})"
        return self.expr(value)

    def unrounded(self, value: Node) -> str:
        """A value in register form, of a narrow dtype perhaps with more digits: what stores it rounds it."""
        text, rounding = self.expr(value), f"gc_round_{value.dtype}("
        return text[len(rounding):-1] if text.startswith(rounding) and _closed(text) else text

    def _param(self, node: Node) -> str:
        name = f"p{len(self.params)}"
        self.params.append((name, node.dtype, self.kernel.params[node.attrs[0]][0]))
        return name

    def scalar(self, word: str, dtype: DType) -> str:
        """A scalar out of the word of its argument."""
        register = self.language.register(dtype)
        if dtype in NARROW:
            return self.fetch(f"(uint16_t){word}", dtype)
        if dtype.kind in "biu":
            return f"({register}){word}"
        if dtype.kind == "c":
            raise NotImplementedError("complex scalars are folded before they reach a kernel")
        self._need(f"gc_bits_{register}")
        return f"gc_bits_{register}((uint{dtype.bits}_t){word})"

    def _bitcast(self, node: Node, text: str) -> str:
        source = node.srcs[0].dtype
        if source in NARROW:
            self._need(f"gc_store_{source}")
            text = f"gc_store_{source}({text})"
        target, origin = self.language.memory(node.dtype), self.language.memory(source)
        if target != origin:
            self._need(f"gc_bitcast_{target}_{origin}")
            text = f"gc_bitcast_{target}_{origin}({text})"
        return self.fetch(text, node.dtype)

    def _convert(self, text: str, source: DType, target: DType) -> str:
        """A conversion as NumPy's astype."""
        text = text if _closed(text) else f"({text})"
        name = self.language.register(target)
        if target is dt.bool:
            return f"{text} != 0"
        if source.kind == "c" and target.kind != "c":
            text, source = f"__real__ {text}", source.real
        if target in NARROW:
            self._need(f"gc_round_{target}")
            if target is dt.float16 and source is dt.float64:   # two roundings to nearest would differ from one
                self._need("gc_odd")
                return f"gc_round_float16(gc_odd({text}))"
            return f"gc_round_{target}((float){text})" if source is not dt.float32 else f"gc_round_{target}({text})"
        if source.kind in "bu" and source.itemsize < 4 and target.kind == "f":
            return f"({name})(int32_t){text}"       # several times faster than the direct conversion
        if source.kind == "f" and target.kind in "iu" and target.itemsize < 4:
            return f"({name})(int32_t){text}"       # out of range wraps as in NumPy, instead of undefined
        return f"({name}){text}"

    def _literal(self, value, dtype: DType) -> str:
        if dtype is dt.bool:
            return "1" if value else "0"
        if dtype.kind in "iu":
            return _integer(int(value), dtype)
        if dtype.kind == "c":
            real, imag = self._literal(value.real, dtype.real), self._literal(value.imag, dtype.real)
            return f"__builtin_complex({real}, {imag})" if dtype is dt.complex128 else \
                f"__builtin_complex((float){real}, (float){imag})"
        return self._float(float(value), dtype, value)

    def _float(self, value: float, dtype: DType, exact) -> str:
        suffix = "" if dtype is dt.float64 else "f"
        if value != value:
            word = int(np.asarray(exact).view(f"u{dtype.itemsize}"))
            if dtype in NARROW:
                return "__builtin_nanf(\"\")"
            self._need(f"gc_bits_{self.language.register(dtype)}")
            return f"gc_bits_{self.language.register(dtype)}(0x{word:x})"
        if value in (float("inf"), float("-inf")):
            return ("-" if value < 0 else "") + f"__builtin_inf{suffix}()"
        return f"{value!r}{suffix}" if "e" in repr(value) or "." in repr(value) else f"{value!r}.0{suffix}"


@functools.cache
def _spelling(name: str, op: Op, source: DType, dtype: DType, count: int, fast: bool) -> tuple[str, tuple[str, ...]]:
    """How an operation is spelled, with {0}, {1}, ... left open for its operands, and the helpers that it needs."""
    language = dialect(name)
    spelling = language.ops.get(op.name) or op.c
    if fast and dtype is dt.float32:
        spelling = language.fast.get(op.name, spelling)
    if isinstance(spelling, dict):
        spelling = next(text for kinds, text in spelling.items() if source.kind in kinds)
    # A neighbour is one of the dtype itself, not of the type that it is computed in.
    target = dtype.name if op is NEXTAFTER and dtype in NARROW else language.register(dtype)
    places = [f"{{{k}}}" for k in range(count)]
    text = spelling.format(*places, t=target, s=language.register(source), u=unsigned(target))
    helpers = [helper for helper in _HELPER.findall(text) if not helper.startswith("gc_v")]
    if dtype in NARROW and op not in _EXACT:
        helpers.append(f"gc_round_{dtype}")
        text = f"gc_round_{dtype}({text})"
    return text, tuple(helpers)


def register_bytes(dtype: DType) -> int:
    """What a value takes in the type in which it is computed."""
    return 4 if dtype in NARROW else dtype.itemsize


def unsigned(c_type: str) -> str:
    """The unsigned type as wide as an integer type; other types are returned as they are."""
    return "u" + c_type if c_type.startswith("int") else c_type


def _integer(value: int, dtype: DType) -> str:
    if dtype is dt.int64 and value == -(1 << 63):
        return "(-9223372036854775807 - 1)"
    if dtype is dt.uint64 and value >= 1 << 63:
        return f"{value}u"
    return f"(int64_t){value}" if dtype is dt.int64 and abs(value) >= 1 << 31 else str(value)


def filled(spelling: str, *operands: str) -> str:
    """What a spelling leaves open: operands in parentheses, unless they are an argument of a call, or need none."""
    return "".join([text if place is None else operands[place] if alone or _closed(operands[place]) else
                    f"({operands[place]})" for text, place, alone in _parts(spelling)])


@functools.cache
def _parts(spelling: str) -> list[tuple[str, int | None, bool]]:
    """Its text, and which operand lies between; is that one, with commas and parentheses around it, by itself?"""
    out: list[tuple[str, int | None, bool]] = []
    at = 0
    for match in _PLACE.finditer(spelling):
        alone = spelling[:match.start()].endswith(("(", ", ")) and spelling[match.end():match.end() + 1] in (",", ")")
        out += [(spelling[at:match.start()], None, False), ("", int(match[1]), alone)]
        at = match.end()
    return [*out, (spelling[at:], None, False)]


def _closed(text: str) -> bool:
    """True when the text needs no parentheses: a name, a literal, or one call or subscript."""
    match = _BEGIN.match(text)
    if not match or match[1]:
        return bool(match)
    depth = 1
    for bracket in _BRACKET.finditer(text, match.end()):
        depth += 1 if bracket[0] in "([" else -1
        if not depth:
            return bracket.end() == len(text)
    return False
