"""Random sequences of statements: values, views, updates in place, realizing now and then, arrays held on to.

A sequence is run twice, on tensors and on NumPy arrays that are copied wherever NumPy would show the same memory under
two names. Arithmetic is exact or rounded once, so that both give the same bits.
"""

from __future__ import annotations

import copy
import gc as garbage
import random as randoms
from collections.abc import Callable

import numpy as np

import graphc as gc

MOST = 2_000        # elements of a variable


class Shown:
    """Arrays that were taken out of tensors, and what they showed then: nothing may change them afterwards."""

    def __init__(self):
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []

    def keep(self, x) -> None:
        array = np.asarray(x)
        self.arrays.append((array, array.copy()))

    def changed(self) -> int:
        return sum(not np.array_equal(array, before, equal_nan=True) for array, before in self.arrays)


def leaf(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


NUMPY = {
    "leaf": leaf, "value": np.array, "copied": np.array, "maximum": np.maximum, "where": np.where,
    "total": lambda x, axis: x.sum(axis), "largest": lambda x, axis: x.max(axis), "flat": lambda x: x.reshape(-1),
    "turned": np.transpose, "joined": lambda x, y: np.concatenate([x, y]), "added": np.add.at,
    "realize": lambda *x: None, "collect": lambda: None, "keep": lambda x: None,
}
GRAPHC = {
    "leaf": lambda *facts: gc.asarray(leaf(*facts)), "value": lambda x: x, "copied": copy.copy, "maximum": gc.maximum,
    "where": gc.where, "total": gc.sum, "largest": gc.max, "flat": lambda x: x.reshape(-1), "turned": lambda x: x.T,
    "joined": lambda x, y: gc.concat([x, y]), "added": gc.add.at, "realize": gc.realize, "collect": garbage.collect,
}


def run(lines: list[str], functions: dict) -> dict:
    """The variables after the statements."""
    names = dict(functions)
    for line in lines:
        exec(line, names)
    return {name: names[name] for name in _variables(names)}


def _variables(names: dict) -> list[str]:
    return [name for name in names if name[0] == "v" and name[1:].isdigit()]


class _Author:
    """Writes statements, and runs them on NumPy arrays to know the shapes."""

    def __init__(self, seed: int):
        self.random = randoms.Random(f"statements {seed}")
        self.names = dict(NUMPY)
        self.lines: list[str] = []
        self.count = 0

    def variables(self, fits: Callable = lambda x: True) -> list[str]:
        return [name for name in _variables(self.names) if fits(self.names[name])]

    def write(self, line: str) -> None:
        exec(line, self.names)
        self.lines.append(line)

    def new(self, expression: str) -> None:
        value = eval(expression, dict(self.names))
        if np.size(value) <= MOST:
            self.write(f"v{self.count} = value({expression})")
            self.count += 1

    def key(self, shape: tuple[int, ...]) -> str:
        parts = []
        for n in shape:
            kind = self.random.random()
            start, stop = sorted((self.random.randint(0, n), self.random.randint(0, n)))
            parts.append(":" if kind < 0.35 or not n else str(self.random.randrange(-n, n)) if kind < 0.5 else
                         "::-1" if kind < 0.6 else f"{start}:{stop}" if kind < 0.85 else f"{start}:{stop}:2")
        return ", ".join(parts) or "..."

    def step(self) -> None:
        choose = self.random.choice
        every = self.variables()
        if len(every) < 2:
            shape = choose(((5,), (3, 4), (4, 3), (1,), (0, 3), (17,), (2, 3, 4), (40, 33)))
            return self.new(f"leaf({choose(('float32', 'int64'))!r}, {shape}, {self.random.randint(0, 99)})")
        x = choose(every[-6:])
        own = self.names[x]
        like = choose(self.variables(lambda y: y.dtype == own.dtype and _fits(y.shape, own.shape)))
        kind = self.random.random()
        if kind < 0.22:
            return self.new(choose((f"{x} + {like}", f"{x} - 2 * {like}", f"maximum({x}, {like})", f"-{x}",
                                    f"where({x} > {like}, {x}, {like} + 1)", f"{x} * 3 + {like}")))
        if kind < 0.34:
            return self.new(f"{x}[{self.key(own.shape)}]")
        if kind < 0.42:
            return self.new(choose((f"flat({x})", f"turned({x})", f"copied({x})")))
        if kind < 0.48 and own.ndim and own.size:
            axis = self.random.randrange(own.ndim)
            return self.new(f"{'total' if own.dtype.kind == 'i' else 'largest'}({x}, {axis})")
        if kind < 0.52 and own.ndim:
            return self.new(f"joined({x}, {x})")
        if kind < 0.72:
            return self.update(x, own, like)
        if kind < 0.80:
            return self.write(f"{x} {choose(('+=', '-=', '*='))} {choose((like, '2'))}")
        if kind < 0.84:
            return self.write(f"keep({x})")
        if kind < 0.92:
            some = self.random.sample(every, min(len(every), choose((1, 1, 2, 3))))
            return self.write(f"realize({', '.join(some)})")
        if kind < 0.94:
            return self.write("collect()")
        if len(every) > 3:
            self.write(f"del {choose(every)}")

    def update(self, x: str, own: np.ndarray, like: str) -> None:
        choose = self.random.choice
        kind = self.random.random()
        if kind < 0.15 and own.ndim and own.shape[0]:
            at = [self.random.randrange(-own.shape[0], own.shape[0]) for _ in range(3)]
            return self.write(choose((f"{x}[{at}] = {self.random.randint(0, 9)}", f"added({x}, {at}, 2)")))
        if kind < 0.3:
            return self.write(f"{x}[{x} > {like}] = {self.random.randint(0, 9)}")
        key = self.key(own.shape)
        shape = own[eval(f"np.s_[{key}]")].shape
        fitting = self.variables(lambda y: y.dtype == own.dtype and _fits(y.shape, shape))
        value = f"{choose(fitting)} + 1" if fitting and self.random.random() < 0.5 else str(self.random.randint(0, 9))
        if self.random.random() < 0.3:      # from another place of its own: the old values
            value = f"{x}[{key}] * 2"
        self.write(f"{x}[{key}] {choose(('=', '=', '+='))} {value}")


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether a broadcasts to b."""
    return len(a) <= len(b) and all(m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def of_seed(seed: int) -> list[str]:
    author = _Author(seed)
    length = author.random.randint(8, 40)
    while len(author.lines) < length:
        author.step()
    return author.lines
