"""One random program in every way in which it can be realized. The bits must be the same; the values, the reference's.

The reference is asked node by node about the operands that the backend itself computed, so that the tolerance is that
of one operation (graphc/tolerances.py), however long the program is.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from programs import Program
from graphc.tolerances import equal_bits, mismatch, words

from graphc import driver
from graphc.config import settings
from graphc.ir.node import Node, const_value, topological
from graphc.ir.ops import CONST, GET
from graphc.runtime import compiler


class Wrong(AssertionError):
    """A program whose results differ. The text is all that is needed to see it again."""


def at_once(program: Program) -> list[np.ndarray]:
    results = program.results()
    driver.realize([t.node for t in results])
    return [t.numpy() for t in results]


def one_by_one(program: Program) -> list[np.ndarray]:
    """The last output first, so that shared values are computed in another company."""
    results = program.results()
    return [t.numpy() for t in reversed(results)][::-1]


def unfused(program: Program) -> list[np.ndarray]:
    with settings.override(disable="fuse"):
        return at_once(program)


def unsimplified(program: Program) -> list[np.ndarray]:
    with settings.override(disable="simplify"):
        return at_once(program)


def with_threads(count: int) -> Callable[[Program], list[np.ndarray]]:
    def run(program: Program) -> list[np.ndarray]:
        with settings.override(num_threads=count):
            return at_once(program)

    return run


def every_node(program: Program) -> list[np.ndarray]:
    """Each operation by itself, and each held against the reference."""
    results = program.results()
    # Lists of our own hold the sources: an update may write into the memory of a leaf that nobody holds.
    facts = [(n, n.op, n.attrs, list(n.srcs)) for n in topological([t.node for t in results]) if n.value is None]
    for node, op, attrs, srcs in facts:
        if op is CONST or isinstance(node.dtype, tuple):
            continue
        driver.realize([node])
        _hold_against_reference(node, op, attrs, srcs)
    return [t.numpy() for t in results]


def _hold_against_reference(node: Node, op, attrs, srcs) -> None:
    if op is GET:
        call = srcs[0]
        want = call.op.numpy(call.attrs, call.dtype, call.shape, *map(_array, call.srcs))[attrs[0]]
        problem = None if equal_bits(_array(node), np.asarray(want)) else "it differs"
        srcs = call.srcs
    else:
        with np.errstate(all="ignore"):
            problem = mismatch(op, attrs, node.dtype, node.shape, _array(node), [_array(s) for s in srcs])
    if problem is not None:
        operands = ", ".join(f"{s.dtype}{list(s.shape)}" for s in srcs)
        raise Wrong(f"{op}{list(attrs)} of {operands}: {problem}")


def _array(node: Node) -> np.ndarray:
    return np.asarray(const_value(node)) if node.op is CONST else node.value.view(node.dtype.numpy, node.shape)


WAYS: dict[str, Callable[[Program], list[np.ndarray]]] = {
    "at once, 1 thread": with_threads(1), "at once, 3 threads": with_threads(3), "every node": every_node,
    "unfused": unfused, "unsimplified": unsimplified, "one by one": one_by_one,
}  # fmt: skip
COMPANY = ("unfused", "one by one", "unsimplified")     # a program of a seed is realized in one of these as well


def ways(seed: int | None) -> Iterator[str]:
    """How a program is realized besides at once: in every way, or (to save compiles) in those of its seed."""
    for name in WAYS:
        if seed is None or name not in COMPANY or COMPANY[seed % len(COMPANY)] == name:
            yield name


@contextmanager
def compiler_flags(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Iterator[None]:
    """Kernels that are compiled in the block are compiled with other flags."""
    find = compiler.find_compiler
    compiler.find_compiler = lambda: replace(find(), flags=change(find().flags))
    try:
        yield
    finally:
        compiler.find_compiler = find


def _hardly_optimised(flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("-O1" if flag == "-O3" else flag for flag in flags)


def hold(program: Program, seed: int | None = None) -> None:
    """Raise Wrong unless every way gives the same bits and the reference agrees.

    At once, kernels are compiled as users get them; the other ways compile at -O1, which is twice as quick and shows
    besides that no bit depends on what the compiler makes SIMD.
    """
    expected = at_once(program)
    for name in ways(seed):
        try:
            with compiler_flags(_hardly_optimised):
                found = WAYS[name](program)
        except Wrong as wrong:
            raise Wrong(f"{wrong}\n{program}") from None
        for number, a, b in zip(program.outputs, expected, found, strict=True):
            if not equal_bits(a, b):
                raise Wrong(f"v{number} has other bits {name}: {_first(a, b)}\n{program.only(number)}")


def _first(a: np.ndarray, b: np.ndarray) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    differ = (words(a).reshape(-1) != words(b).reshape(-1)).reshape(*a.shape, -1).any(-1)
    at = tuple(int(k) for k in np.argwhere(differ)[0])
    return f"{int(differ.sum())} of {a.size} elements, at {at} {a[at]!r} and {b[at]!r}"


def problem_of(program: Program, seed: int | None = None) -> str | None:
    """What is wrong with a program: different results, or any exception."""
    try:
        hold(program, seed)
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:      # noqa: BLE001 (a crash is a finding like any other, reported with its program)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})\n{program}"
    return None


def shortest(program: Program) -> Program:
    """The program cut down to the first of its values that shows a problem by itself."""
    for number in range(len(program.lines)):
        part = program.only(number)
        if problem_of(part) is not None:
            return part
    return program
