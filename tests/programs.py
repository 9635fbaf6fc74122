"""Random graphc programs. A program is text: lines of Python that anyone can paste, run and shorten.

    v0 = leaf("float32", (3, 1, 5), "special", 17)
    v1 = gc.flip(v0, axis=2)
    v2 = gc.softmax(v1 * 2, axis=0)

`make(random.Random(seed))` gives the program of a seed; with a `Random` of hypothesis it is a strategy that shrinks.
Every line is valid by construction: the generator records it at once and so knows the shapes and dtypes.
"""

from __future__ import annotations

import copy
import random as randoms
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import hypothesis.strategies as st
import numpy as np

import graphc as gc

SIZES = (0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 13, 17, 33)
LONG = (64, 65, 129, 1000, 1025, 2049, 5000)            # past the lanes and the chunks of reductions
MAX_SIZE, MAX_LARGE = 4_000, 300_000                    # elements of a value
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64", "complex64")  # fmt: skip
WEIGHTS = (2, 1, 1, 3, 3, 2, 1, 1, 1, 3, 3, 12, 6, 1)


# --------------------------------------------------------------------------------------------------------------- data

def data(dtype: str, shape: Sequence[int], kind: str, seed: int) -> np.ndarray:
    """Leaf values: "plain" numbers of moderate size, "special" ones with the awkward values of the dtype mixed in."""
    rng = np.random.default_rng(seed)
    wanted = getattr(gc, dtype).numpy
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if wanted.kind in "iu":
        low = 0 if wanted.kind == "u" else -9
        x = rng.integers(low, 10, shape).astype(wanted)
        return _sprinkle(x, rng, [np.iinfo(wanted).min, np.iinfo(wanted).max, 0, 1]) if kind == "special" else x
    x = rng.normal(size=shape) * 2
    if wanted.kind == "c":
        return (x + 1j * rng.normal(size=shape)).astype(wanted)
    x = x.astype(wanted)
    return _sprinkle(x, rng, _awkward(wanted)) if kind == "special" else x


def _awkward(dtype: np.dtype) -> list[float]:
    limits = gc.finfo(dtype)
    tiny = float(limits.smallest_normal)
    return [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny / 4, float(limits.max)]


def _sprinkle(x: np.ndarray, rng: np.random.Generator, values: list) -> np.ndarray:
    """x with about one element in five replaced."""
    chosen = rng.random(x.shape) < 0.2
    with np.errstate(all="ignore"):
        return np.where(chosen, rng.choice(np.array(values).astype(x.dtype), x.shape), x).astype(x.dtype)


def leaf(dtype: str, shape: Sequence[int], kind: str, seed: int) -> gc.Tensor:
    return gc.asarray(data(dtype, shape, kind, seed))


def assigned(x: gc.Tensor, key, value) -> gc.Tensor:
    """x with x[key] = value."""
    x = copy.copy(x)
    x[key] = value
    return x


def added(x: gc.Tensor, key, value) -> gc.Tensor:
    """x with value added at the indices, duplicates in order."""
    x = copy.copy(x)
    gc.add.at(x, key, value)
    return x


NAMES = {"gc": gc, "np": np, "leaf": leaf, "assigned": assigned, "added": added}


# ----------------------------------------------------------------------------------------------------------- programs

@dataclass(frozen=True)
class Program:
    """`lines[k]` is the expression of v{k}; `outputs` are the numbers of the results."""

    lines: tuple[str, ...]
    outputs: tuple[int, ...]

    def record(self) -> list[gc.Tensor]:
        """All values, recorded afresh over fresh leaves."""
        names = dict(NAMES)
        for number, line in enumerate(self.lines):
            names[f"v{number}"] = eval(line, names)
        return [names[f"v{number}"] for number in range(len(self.lines))]

    def results(self) -> list[gc.Tensor]:
        values = self.record()
        return [values[k] for k in self.outputs]

    def __str__(self) -> str:
        lines = [f"v{number} = {line}" for number, line in enumerate(self.lines)]
        return "\n".join([*lines, "outputs: " + ", ".join(f"v{k}" for k in self.outputs)])

    def only(self, output: int) -> Program:
        """The lines that one value needs, renumbered."""
        needed, stack = set(), [output]
        while stack:
            k = stack.pop()
            if k not in needed:
                needed.add(k)
                stack += _mentions(self.lines[k])
        order = sorted(needed)
        new = {k: position for position, k in enumerate(order)}
        return Program(tuple(_renumber(self.lines[k], new) for k in order), (new[output],))


def _mentions(line: str) -> list[int]:
    return [int(number) for number in re.findall(r"\bv(\d+)\b", line)]


def _renumber(line: str, new: dict[int, int]) -> str:
    return re.sub(r"\bv(\d+)\b", lambda match: f"v{new[int(match[1])]}", line)


def make(random: randoms.Random, large: bool = False) -> Program:
    """A program of some 2 to 10 operations. `large`: some values are long enough for several chunks and threads."""
    writer = _Writer(random, large)
    for _ in range(random.randint(1, 3)):
        writer.add(writer.new_leaf())
    while not writer.lines:         # all of them were too large
        writer.add(writer.new_leaf())
    wanted, tries = random.randint(2, 9), 0
    while len(writer.lines) < wanted + 3 and tries < 60:
        tries += 1
        line = random.choices(_ROWS, _ROW_WEIGHTS)[0](writer)
        if line is not None:
            writer.add(line)
    return Program(tuple(writer.lines), writer.outputs())


def of_seed(seed: int) -> Program:
    """Every tenth program is a large one."""
    return make(randoms.Random(f"graphc {seed}"), large=seed % 10 == 9)


def small(seed: int) -> Program:
    """The seed's program without large values, for what takes its time over each element."""
    return make(randoms.Random(f"graphc small {seed}"))


def strategy() -> st.SearchStrategy[Program]:
    """Programs as a hypothesis strategy: failures shrink."""
    return st.randoms(use_true_random=False).map(make)


class _Writer:
    """Writes one program line by line; `values[k]` is v{k} as recorded."""

    def __init__(self, random: randoms.Random, large: bool):
        self.random, self.large = random, large
        self.limit = MAX_LARGE if large else MAX_SIZE
        self.lines: list[str] = []
        self.values: list[gc.Tensor] = []
        self.main = self.dtype()

    def add(self, line: str) -> None:
        names = {**NAMES, **{f"v{k}": v for k, v in enumerate(self.values)}}
        value = eval(line, names)
        if value.size <= self.limit:
            self.lines.append(line)
            self.values.append(value)

    def outputs(self) -> tuple[int, ...]:
        """What nothing else reads, and now and then something that is read as well."""
        read = {k for line in self.lines for k in _mentions(line)}
        ends = [k for k in range(len(self.lines)) if k not in read and not self.lines[k].startswith("leaf")]
        inner = [k for k in read if not self.lines[k].startswith("leaf") and self.random.random() < 0.2]
        return tuple(sorted({*ends, *inner})) or (len(self.lines) - 1,)

    # ------------------------------------------------------------------------------------------------- choices

    def dtype(self) -> str:
        return self.random.choices(DTYPES, WEIGHTS)[0]

    def shape(self) -> tuple[int, ...]:
        if self.large and self.random.random() < 0.7:
            return self.random.choice(((70_001,), (300, 257), (9, 5_000), (40_000, 3), (17, 40, 41), (3, 1, 30_001)))
        if self.random.random() < 0.15:
            shape = [self.random.choice(LONG), self.random.choice((1, 2, 3))]
            self.random.shuffle(shape)
            return tuple(shape[: self.random.randint(1, 2)])
        shape = tuple(self.random.choice(SIZES) for _ in range(self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))))
        return shape if prod(shape) <= self.limit else shape[:2]

    def seed(self) -> int:
        return self.random.randint(0, 999)

    def new_leaf(self, dtype: str | None = None, shape: Sequence[int] | None = None) -> str:
        dtype = dtype or (self.main if self.random.random() < 0.7 else self.dtype())
        kind = "special" if self.random.random() < 0.3 else "plain"
        return f"leaf({dtype!r}, {tuple(self.shape() if shape is None else shape)}, {kind!r}, {self.seed()})"

    def pick(self, kinds: str = "biufc", where=lambda t: True) -> str | None:
        """A value of one of these dtype kinds; the newer, the likelier."""
        fitting = [k for k, t in enumerate(self.values) if t.dtype.kind in kinds and where(t)]
        if not fitting:
            return None
        return f"v{self.random.choices(fitting, [1 + k for k in range(len(fitting))])[0]}"

    def value(self, name: str) -> gc.Tensor:
        return self.values[int(name[1:])]

    def like(self, name: str, dtype: str | None = None) -> str:
        """Something that broadcasts with a value: another one that happens to, or a new leaf."""
        own = self.value(name)
        dtype = dtype or own.dtype.name
        fitting = [k for k, t in enumerate(self.values) if t.dtype.name == dtype and _broadcast(own.shape, t.shape)
                   and prod(np.broadcast_shapes(own.shape, t.shape)) <= self.limit]  # fmt: skip
        if fitting and self.random.random() < 0.7:
            return f"v{self.random.choice(fitting)}"
        shape = [1 if self.random.random() < 0.4 else n for n in own.shape]
        return self.new_leaf(dtype, shape[self.random.choice((0, 0, 0, len(shape) // 2)):])

    def axes(self, ndim: int) -> int | tuple[int, ...] | None:
        if self.random.random() < 0.2 or ndim == 0:
            return None
        count = self.random.choice((1, 1, 1, min(2, ndim), ndim))
        chosen = tuple(sorted(self.random.sample(range(ndim), count)))
        return chosen[0] if count == 1 else chosen

    def scalar(self, kind: str) -> str:
        if kind == "f":
            return self.random.choice(("0.5", "2", "-1", "0", "0.1", "3.0", "1", "-0.0", "float('inf')"))
        return self.random.choice(("2", "1", "0", "3", "7"))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


# --------------------------------------------------------------------------------------------------------- operations

def row(weight: float):
    def note(function):
        _ROWS.append(function)
        _ROW_WEIGHTS.append(weight)
        return function
    return note


_ROWS: list = []
_ROW_WEIGHTS: list[float] = []
_UNARY = ("exp log sin cos tanh sqrt abs neg square sigmoid relu gelu floor ceil round trunc sign expm1 log1p erf"
          " isnan isfinite atan cosh asin").split()  # fmt: skip


@row(12)
def unary(w: _Writer) -> str | None:
    name = w.pick("f")
    op = w.random.choice(_UNARY)
    return None if name is None else f"-{name}" if op == "neg" else f"gc.{op}({name})"


@row(12)
def arithmetic(w: _Writer) -> str | None:
    name = w.pick("iufc")
    if name is None:
        return None
    kind = w.value(name).dtype.kind
    op = w.random.choice("+ - * + - * /".split() if kind in "fc" else "+ - * + *".split())
    other = w.scalar(kind) if w.random.random() < 0.3 else w.like(name)
    return f"{name} {op} {other}" if w.random.random() < 0.7 else f"{other} {op} {name}"


@row(4)
def integer(w: _Writer) -> str | None:
    name = w.pick("iu")
    op = w.random.choice("// % & | ^ << >>".split())
    return None if name is None else f"{name} {op} {w.like(name)}"


@row(3)
def special_binary(w: _Writer) -> str | None:
    name = w.pick("f")
    op = w.random.choice(("atan2", "hypot", "floor_divide", "remainder", "fmod", "logaddexp", "pow", "nextafter"))
    return None if name is None else f"gc.{op}({name}, {w.like(name)})"


@row(5)
def compare(w: _Writer) -> str | None:
    name = w.pick("biuf")
    op = w.random.choice("< <= > >= == !=".split())
    return None if name is None else f"{name} {op} {w.like(name)}"


@row(4)
def extreme(w: _Writer) -> str | None:
    name = w.pick("iuf")
    op = w.random.choice(("maximum", "minimum"))
    return None if name is None else f"gc.{op}({name}, {w.like(name)})"


@row(6)
def where(w: _Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    shape = w.value(name).shape
    other = w.new_leaf(w.value(name).dtype.name, [1 if w.random.random() < 0.4 else n for n in shape])
    condition = w.new_leaf("bool", [1 if w.random.random() < 0.4 else n for n in shape])
    if w.random.random() < 0.5 and w.value(name).dtype.kind in "fiu":
        condition = f"{name} > {other}"
    return f"gc.where({condition}, {name}, {other})"


@row(5)
def cast(w: _Writer) -> str | None:
    name = w.pick("biuf")
    if name is None:
        return None
    target = w.random.choice([d for d in DTYPES if d != "complex64"])
    if w.value(name).dtype.kind == "f" and target.startswith(("int", "uint")):     # outside the range: undefined
        low = 0 if target.startswith("uint") else -100
        return f"gc.clip(gc.where(gc.isnan({name}), 0, {name}), {low}, 100).astype({target!r})"
    return f"{name}.astype({target!r})"


@row(8)
def sliced(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    return None if name is None else f"{name}[{', '.join(_slice(w, n) for n in w.value(name).shape)}]"


def _slice(w: _Writer, n: int) -> str:
    choice = w.random.random()
    if choice < 0.3:
        return ":"
    if choice < 0.4 and n:
        return str(w.random.randrange(-n, n))
    if choice < 0.5:
        return "::-1"
    start, stop = sorted((w.random.randint(0, n), w.random.randint(0, n)))
    step = w.random.choice((1, 1, 2, 3))
    return f"{start}:{stop}:{step}" if w.random.random() < 0.7 else f"{stop}:{start}:-{step}"


@row(6)
def transposed(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 1)
    if name is None:
        return None
    axes = list(range(w.value(name).ndim))
    w.random.shuffle(axes)
    return f"gc.permute_dims({name}, {tuple(axes)})"


@row(6)
def reshaped(w: _Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    size, shape = w.value(name).size, []
    for factor in (2, 3, 4, 5, 7, 8, 13, 33):
        if size and size % factor == 0 and w.random.random() < 0.5:
            shape.append(factor)
            size //= factor
    shape.append(size)
    w.random.shuffle(shape)
    if w.random.random() < 0.2:
        shape.insert(w.random.randint(0, len(shape)), 1)
    return f"{name}.reshape({tuple(shape[:5]) if prod(shape[:5]) == w.value(name).size else (-1,)})"


@row(3)
def padded(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    widths = tuple((w.random.randint(0, 2), w.random.randint(0, 2)) for _ in w.value(name).shape)
    return f"gc.pad({name}, {widths}, constant_values={w.random.choice((0, 1))})"


@row(4)
def joined(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    own = w.value(name)
    axis = w.random.randrange(own.ndim)
    fitting = [f"v{k}" for k, t in enumerate(w.values) if t.ndim == own.ndim and t.dtype is own.dtype
               and t.shape[:axis] + t.shape[axis + 1:] == own.shape[:axis] + own.shape[axis + 1:]]  # fmt: skip
    parts = [name] + [w.random.choice(fitting) for _ in range(w.random.randint(1, 2))]
    if w.random.random() < 0.3:
        shape = [w.random.choice((0, 1, 3)) if k == axis else n for k, n in enumerate(own.shape)]
        parts.append(w.new_leaf(own.dtype.name, shape))
    return f"gc.concat([{', '.join(parts)}], axis={axis})"


@row(5)
def moved(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    return w.random.choice((
        f"gc.flip({name}, axis={axis})", f"gc.roll({name}, {w.random.randint(-5, 5)}, axis={axis})",
        f"gc.repeat({name}, 2, axis={axis})", f"gc.stack([{name}, {name}], axis={axis})",
        f"gc.expand_dims({name}, axis={axis})", f"gc.tile({name}, 2)"))  # fmt: skip


@row(2)
def expanded(w: _Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    shape = [w.random.choice((2, 3)) if n == 1 else n for n in w.value(name).shape]
    return f"gc.broadcast_to({name}, {(*[2] * w.random.randint(0, 1), *shape)})"


@row(2)
def windows(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.shape[-1] >= 3)
    return None if name is None else f"gc.sliding_window_view({name}, {w.random.randint(1, 3)}, axis=-1)"


@row(12)
def reduced(w: _Writer) -> str | None:
    op = w.random.choice(("sum", "sum", "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "max"))
    name = w.pick("f" if op in ("mean", "var", "std") else "biufc" if op == "sum" else "iuf")
    if name is None:
        return None
    own = w.value(name)
    axis = w.axes(own.ndim)
    if op in ("max", "min"):
        axes = range(own.ndim) if axis is None else np.atleast_1d(axis)
        if any(own.shape[k] == 0 for k in axes):
            return None
    keep = ", keepdims=True" if w.random.random() < 0.5 else ""
    if w.random.random() < 0.4:      # and what one does with a statistic: compare the rows with it
        return f"{name} - gc.{op}({name}, axis={axis}, keepdims=True)" if op not in ("any", "all") else None
    return f"gc.{op}({name}, axis={axis}{keep})"


@row(5)
def rows(w: _Writer) -> str | None:
    name = w.pick("f", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    op = w.random.choice(("softmax", "log_softmax", "logsumexp", "normal"))
    if op == "normal":
        return f"({name} - gc.mean({name}, axis={axis}, keepdims=True)) / gc.sqrt(gc.var({name}, axis={axis}," \
               " keepdims=True) + 1)"
    return f"gc.{op}({name}, axis={axis})"


@row(3)
def positions(w: _Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    axis = w.random.choice((None, w.random.randrange(w.value(name).ndim)))
    return f"gc.{w.random.choice(('argmax', 'argmin'))}({name}, axis={axis})"


@row(3)
def running(w: _Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0)
    if name is None:
        return None
    op = w.random.choice(("cumulative_sum", "cumulative_sum", "cumulative_prod"))
    return f"gc.{op}({name}, axis={w.random.randrange(w.value(name).ndim)})"


@row(4)
def product(w: _Writer) -> str | None:
    name = w.pick("iufc", where=lambda t: 0 < t.ndim < 4 and t.shape[-1] <= 2048)
    if name is None:
        return None
    own = w.value(name)
    shape = (own.shape[-1], w.random.choice((1, 2, 5, 9, 65)))
    if prod(own.shape[:-1]) * shape[1] > w.limit or prod(own.shape) * shape[1] > 30 * w.limit:
        return None
    fitting = [f"v{k}" for k, t in enumerate(w.values) if t.dtype is own.dtype and t.ndim == 2 and own.ndim == 2
               and t.shape[0] == own.shape[-1] and own.shape[0] * t.shape[1] <= w.limit]  # fmt: skip
    return f"{name} @ {w.random.choice(fitting) if fitting else w.new_leaf(own.dtype.name, shape)}"


def _positions(w: _Writer, n: int, shape: tuple[int, ...]) -> str:
    """An expression of integer indices below n."""
    line = f"leaf('int64', {shape}, 'plain', {w.seed()}) % {n}"
    return line if w.random.random() < 0.6 else f"{line} - {n}"


@row(4)
def taken(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    own = w.value(name)
    axis = w.random.randrange(own.ndim)
    shape = w.random.choice(((3,), (1,), (2, 3), (), (0,), (7,)))
    if w.random.random() < 0.3 and own.ndim >= 2:
        both = w.random.choice(((4,), (3, 2)))
        return f"{name}[{_positions(w, own.shape[0], both)}, {_positions(w, own.shape[1], both)}]"
    return f"gc.take({name}, {_positions(w, own.shape[axis], shape)}, axis={axis})"


@row(5)
def updated(w: _Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    own = w.value(name)
    if w.random.random() < 0.4:
        kind = "added" if own.dtype.kind in "iuf" and w.random.random() < 0.6 else "assigned"
        value = w.new_leaf(own.dtype.name, (4, *own.shape[1:]))
        return f"{kind}({name}, {_positions(w, own.shape[0], (4,))}, {value})"
    key = ", ".join(_slice(w, n) for n in own.shape)
    region = own[eval(f"np.s_[{key},]", {"np": np})]
    shape = [1 if w.random.random() < 0.2 else n for n in region.shape]
    value = w.scalar(own.dtype.kind) if w.random.random() < 0.2 and own.dtype.kind != "b" \
        else w.new_leaf(own.dtype.name, shape)
    return f"assigned({name}, np.s_[{key},], {value})"


@row(2)
def counted(w: _Writer) -> str:
    n = w.random.choice((1, 3, 7, 33))
    dtype = w.random.choice(("float32", "int64", "float64", "int32"))
    return w.random.choice((f"gc.arange({n}, dtype={dtype!r})", f"gc.eye({n}, {min(n, 7)}, dtype={dtype!r})",
                            f"gc.full(({n}, 3), 2, dtype={dtype!r})"))  # fmt: skip


@row(1)
def complex_parts(w: _Writer) -> str | None:
    name = w.pick("c")
    return None if name is None else f"gc.{w.random.choice(('abs', 'real', 'imag', 'conj', 'exp', 'sqrt'))}({name})"

