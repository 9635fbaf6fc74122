"""One random program in every way in which it can be realized. The bits must be the same; the values, the reference's.

The reference is asked node by node about the operands that the backend itself computed, so that the tolerance is that
of one operation (graphc/tolerances.py), however long the program is.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

import numpy as np
from programs import Program
from together import Together

from graphc import driver, familiar
from graphc.codegen import target_of
from graphc.config import settings
from graphc.errors import TracerError
from graphc.ir.node import Node, const_value, topological
from graphc.ir.ops import CONST, GET, M2
from graphc.tolerances import equal_bits, mismatch, words
from graphc.tracing.jitted import jit


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
    with settings.override(disable=f"fuse,{STEPS}"):
        return at_once(program)


def unsimplified(program: Program) -> list[np.ndarray]:
    with settings.override(disable=f"simplify,{STEPS}"):
        return at_once(program)


def unsplit(program: Program) -> list[np.ndarray]:
    """Long reductions in one kernel: a block is a whole subtree. (Only deviations are taken otherwise when split.)"""
    nodes = topological([t.node for t in program.results()])
    with settings.override(disable=STEPS if any(n.op is M2 for n in nodes) else f"split,{STEPS}"):
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
    facts = [(n, n.op, n.attrs, list(n.srcs)) for n in topological([t.node for t in results])
             if n.value is None and n.op is not CONST and not isinstance(n.dtype, tuple)]
    for node, *_ in facts:
        driver.realize([node])
    for node, op, attrs, srcs in facts:
        _hold_against_reference(node, op, attrs, srcs)
    return [t.numpy() for t in results]


def _hold_against_reference(node: Node, op, attrs, srcs) -> None:
    if op is GET:
        call = srcs[0]
        want = np.asarray(call.op.numpy(call.attrs, call.dtype, call.shape, *map(_array, call.srcs))[attrs[0]])
        same = equal_bits(_array(node), want) or "fft" in call.attrs[0] and _of_other_library(_array(node), want)
        problem = None if same else "it differs"
        srcs = call.srcs
    else:
        language = driver.current_backend().dialect
        matrix = target_of(language).matrix if language else ()
        with np.errstate(all="ignore"):
            problem = mismatch(op, attrs, node.dtype, node.shape, _array(node), [_array(s) for s in srcs], matrix)
    if problem is not None:
        operands = ", ".join(f"{s.dtype}{list(s.shape)}" for s in srcs)
        raise Wrong(f"{op}{list(attrs)} of {operands}: {problem}")


def _of_other_library(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether a GPU's own library gave this Fourier transform, as close as that of the host."""
    if driver.current_backend().name not in ("cuda", "hip") or want.dtype.kind not in "fc":
        return False
    with np.errstate(all="ignore"):
        largest = np.abs(want[np.isfinite(want)]).max(initial=0)
        return np.allclose(got, want, 0, ROUNDINGS * np.finfo(want.dtype).eps * largest, equal_nan=True)


def _array(node: Node) -> np.ndarray:
    return np.asarray(const_value(node)) if node.op is CONST else node.value.view(node.dtype.numpy, node.shape)


def jitted(program: Program) -> list[np.ndarray]:
    """Leaves as arguments, everything else in one jitted function: its second call, which traces nothing."""
    arguments = program.leaf_lines()
    seen = []

    @jit
    def f(*leaves):
        seen.append(1)
        return program.results(dict(zip(arguments, leaves, strict=True)))

    try:
        f(*program.leaves(arguments))
    except TracerError:         # values decide the shape of a result
        return at_once(program)
    results = [t.numpy() for t in f(*program.leaves(arguments))]
    if len(seen) != 1:
        raise Wrong("the function was traced twice")
    return results


WAYS: dict[str, Callable[[Program], list[np.ndarray]]] = {
    "at once, 1 thread": with_threads(1), "at once, 2 threads": with_threads(2), "at once, 3 threads": with_threads(3),
    "every node": every_node, "unfused": unfused, "unsimplified": unsimplified, "unsplit": unsplit,
    "one by one": one_by_one, "under jit": jitted,
}
familiar.OFTEN = 2      # so that the last of the three "at once" is recognised without a walk over the graph
# What has other bits than its steps (docs/numerics.md): tests/test_attention.py and tests/test_fast_math.py hold it.
STEPS = "attention,relax"
Chosen = AbstractContextManager      # of a backend
ROUNDINGS = 64      # of the largest result, by which another library may be off
OPTIMISED = 2       # of so many programs one is compiled as users get it as well


def problems_of(programs: Sequence[Program]) -> list[str | None]:
    """What is wrong with each program: different results, or any exception.

    Kernels are compiled for all the programs together, without optimisation, which takes a tenth of the time, and those
    for at once also as users get them. So no bit depends on what the compiler makes of a loop.
    """
    with settings.override(disable=STEPS):
        return _problems_of(programs)


def _problems_of(programs: Sequence[Program]) -> list[str | None]:
    if driver.default_device() != "cpu":
        return [_problem_of(program, nullcontext(), None) for program in programs]
    plain, optimised = Together("-O0"), Together("-O3")
    for program in programs:
        for way in (at_once, *(way for name, way in WAYS.items() if not name.startswith("at once"))):
            _rehearse(way, program, plain)
    for program in programs[::OPTIMISED]:
        _rehearse(at_once, program, optimised)
    plain.compile_wanted()
    optimised.compile_wanted()
    return [_problem_of(program, plain.chosen(), None if k % OPTIMISED else optimised.chosen())
            for k, program in enumerate(programs)]


def problem_of(program: Program) -> str | None:
    return problems_of([program])[0]


def _rehearse(way: Callable, program: Program, backend: Together) -> None:
    with suppress(Exception), backend.chosen(rehearsing=True):      # what fails here fails again below, and is told
        way(program)


def _problem_of(program: Program, plain: Chosen, optimised: Chosen | None) -> str | None:
    try:
        with plain:
            expected = at_once(program)
            for name, way in WAYS.items():
                _compare(program, name, expected, way(program))
        if optimised is not None:
            with optimised:
                _compare(program, "optimised", expected, at_once(program))
    except Wrong as wrong:
        return f"{wrong}\n{program}"
    except Exception as error:      # noqa: BLE001 (a crash is a finding like any other, reported with its program)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})\n{program}"
    return None


def _compare(program: Program, way: str, expected: list[np.ndarray], found: list[np.ndarray]) -> None:
    for number, a, b in zip(program.outputs, expected, found, strict=True):
        if not equal_bits(a, b):
            raise Wrong(f"v{number} has other bits {way}: {_first(a, b)}")


def _first(a: np.ndarray, b: np.ndarray) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    differ = (words(a).reshape(-1) != words(b).reshape(-1)).reshape(*a.shape, -1).any(-1)
    at = tuple(int(k) for k in np.argwhere(differ)[0])
    return f"{int(differ.sum())} of {a.size} elements, at {at} {a[at]!r} and {b[at]!r}"


def shortest(program: Program) -> Program:
    """The program cut down to the first of its values that shows a problem by itself."""
    for number in range(len(program.lines)):
        part = program.only(number)
        if problem_of(part) is not None:
            return part
    return program
