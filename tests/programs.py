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
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

import hypothesis.strategies as st
import numpy as np
from program_rows import DTYPES, ROW_WEIGHTS, ROWS, WEIGHTS

import graphc as gc

SIZES = (0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 13, 17, 33)
LONG = (64, 65, 129, 1000, 1025, 2049, 5000)            # past the lanes and the chunks of reductions
LARGE = ((70_001,), (300, 257), (9, 5_000), (40_000, 3), (17, 40, 41), (3, 1, 30_001), (140_003,), (131_073, 2),
         (2, 131_075), (3, 2_049, 40))  # the last ones are reduced in two kernels
MAX_SIZE, MAX_LARGE = 4_000, 300_000                    # elements of a value


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


def put_along(x: gc.Tensor, indices, value, axis: int) -> gc.Tensor:
    """x with a value where take_along_axis would read."""
    x = copy.copy(x)
    gc.put_along_axis(x, indices, value, axis)
    return x


NAMES = {"gc": gc, "np": np, "leaf": leaf, "assigned": assigned, "added": added, "put_along": put_along}


# ----------------------------------------------------------------------------------------------------------- programs

@dataclass(frozen=True)
class Program:
    """`lines[k]` is the expression of v{k}; `outputs` are the numbers of the results. `marked`: every other line is
    recorded in `fast_math`."""

    lines: tuple[str, ...]
    outputs: tuple[int, ...]
    marked: bool = False

    def record(self, given: Mapping[int, gc.Tensor] = MappingProxyType({})) -> list[gc.Tensor]:
        """All values, recorded afresh over fresh leaves; those that are given stand for their lines."""
        names = {**NAMES, **{f"v{number}": value for number, value in given.items()}}
        for number, line in enumerate(self.lines):
            if number not in given:
                with gc.fast_math() if self.marked and number % 2 else nullcontext():
                    names[f"v{number}"] = eval(line, names)
        return [names[f"v{number}"] for number in range(len(self.lines))]

    def results(self, given: Mapping[int, gc.Tensor] = MappingProxyType({})) -> list[gc.Tensor]:
        values = self.record(given)
        return [values[k] for k in self.outputs]

    def leaf_lines(self) -> list[int]:
        return [k for k, line in enumerate(self.lines) if line.startswith("leaf(") and not _mentions(line)]

    def leaves(self, numbers: Sequence[int]) -> list[gc.Tensor]:
        """Fresh leaves for these lines."""
        return [eval(self.lines[k], dict(NAMES)) for k in numbers]

    def __str__(self) -> str:
        lines = [f"v{number} = {line}" for number, line in enumerate(self.lines)]
        lines += ["marked"] * self.marked
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
        return Program(tuple(_renumber(self.lines[k], new) for k in order), (new[output],), self.marked)


def _mentions(line: str) -> list[int]:
    return [int(number) for number in re.findall(r"\bv(\d+)\b", line)]


def _renumber(line: str, new: dict[int, int]) -> str:
    return re.sub(r"\bv(\d+)\b", lambda match: f"v{new[int(match[1])]}", line)


def make(random: randoms.Random, large: bool = False, long: bool = False) -> Program:
    """A program of some 2 to 10 operations. `large`: some values are long enough for several chunks and threads.
    `long`: it has 20 to 50 operations, hence many groups that could be fused."""
    writer = Writer(random, large)
    for _ in range(random.randint(1, 3)):
        writer.add(writer.new_leaf())
    while not writer.lines:         # all of them were too large
        writer.add(writer.new_leaf())
    wanted, tries = random.randint(20, 50) if long else random.randint(2, 9), 0
    while len(writer.lines) < wanted + 3 and tries < 6 * wanted + 50:
        tries += 1
        line = random.choices(ROWS, ROW_WEIGHTS)[0](writer)
        if line is not None:
            writer.add(line)
    return Program(tuple(writer.lines), writer.outputs())


def of_seed(seed: int) -> Program:
    """Every tenth program is a large one, every twentieth a long one; every tenth has marks of `fast_math`."""
    program = make(randoms.Random(f"graphc {seed}"), large=seed % 10 == 9, long=seed % 20 == 5)
    return replace(program, marked=seed % 10 == 3)


def small(seed: int) -> Program:
    """The seed's program without large values, for what takes its time over each element."""
    return make(randoms.Random(f"graphc small {seed}"))


def strategy() -> st.SearchStrategy[Program]:
    """Programs as a hypothesis strategy: failures shrink."""
    return st.randoms(use_true_random=False).map(make)


class Writer:
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
            return self.random.choice(LARGE)
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
                   and prod(np.broadcast_shapes(own.shape, t.shape)) <= self.limit]
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
