"""The kernel interpreter: random programs give what C gives, whatever the order, and seeded faults are found."""

from __future__ import annotations

import math

import numpy as np
import programs as random_programs
import pytest
from kernel_interpreter import KernelFault, Memory, run_kernel, run_program
from programs import Program

from graphc import canonical, driver
from graphc.build import Built, build
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir import trees
from graphc.ir.index import Axis
from graphc.ir.kernel import LOCAL, Kernel, KernelBuffer, Local, Loop, Store, index_value, load
from graphc.ir.node import Node, make, topological
from graphc.ir.ops import CONST
from graphc.tolerances import ULPS, equal_bits

CHUNK = 10
ORDERS = ("forward", "reverse", "17")


def _numbers(config) -> int:
    """Programs to interpret: a twentieth of those that the differential test runs, because it is slow."""
    return max(CHUNK, config.getoption("--programs") // 20)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        metafunc.parametrize("first_seed", range(0, _numbers(metafunc.config), CHUNK))


def interpreted(program: Program) -> tuple[Built, list[np.ndarray], list[np.ndarray], bool]:
    """The built program, the interpreter's results, those of C, and whether they must be equal bit by bit."""
    nodes = dict.fromkeys(t.node for t in program.results())
    pending = [n for n in nodes if n.value is None and n.op is not CONST]
    exact = not any(n.op.name in ULPS or n.dtype in (dt.complex64, dt.complex128) for n in topological(pending))
    graph = canonical.canonicalize(pending)
    built = build(graph, "c")
    leaves = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    runs = [run_program(built, leaves, graph.params, order) for order in ORDERS]
    for run in runs[1:]:
        assert all(equal_bits(a, b) for a, b in zip(runs[0], run, strict=True)), f"the order matters\n{program}"
    facts = [(n.dtype.numpy, n.shape) for n in pending]
    driver.realize(pending)
    found = [raw[:math.prod(shape) * d.itemsize].view(d).reshape(shape)
             for raw, (d, shape) in zip(runs[0], facts, strict=True)]
    return built, found, [n.value.view(n.dtype.numpy, n.shape) for n in pending], exact


def test_random_programs_agree_with_c(first_seed: int, backend: str):
    if backend != "cpu":
        pytest.skip("kernels of the C dialect")
    for seed in range(first_seed, first_seed + CHUNK):
        program = random_programs.small(seed)
        try:
            _, found, compiled, exact = interpreted(program)
        except KernelFault as fault:
            pytest.fail(f"seed {seed}: {fault}\n{program}")
        for a, b in zip(found, compiled, strict=True):
            assert not exact or equal_bits(a, b), f"seed {seed}: {a} and by C {b} in\n{program}"


# ------------------------------------------------------------------------------------------------------ seeded faults

I = Axis("i", 6)            # noqa: E741 (the name that kernels give it)
AT = ix.of(I)


def kernel(*body, tiled: bool = False, size: int = 6) -> Kernel:
    buffers = (KernelBuffer("x0", dt.float32, 6, False), KernelBuffer("y0", dt.float32, size, True))
    return Kernel("probe", buffers, (), (I,), tiled, None, 2, body)


def run(k: Kernel, order: str = "forward") -> np.ndarray:
    x = Memory.given(np.arange(6, dtype=np.float32))
    y = Memory.fresh(dt.float32, k.buffers[1].size)
    run_kernel(k, [x, y], {}, order)
    return y.array


def x(index: ix.Index, mask: Node | None = None) -> Node:
    return load(0, index, dt.float32, mask)


def test_a_sound_kernel():
    assert run(kernel(Store(1, AT, x(ix.shift(ix.mul(AT, -1), 5))))).tolist() == [5, 4, 3, 2, 1, 0]
    tiled = kernel(Loop(I, "vector", (Store(1, AT, x(AT)),)), tiled=True)
    assert run(tiled, "reverse").tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("message, body, size", [
    ("x0[6] of 6 elements", [Store(1, AT, x(ix.shift(AT, 1)))], 6),
    ("x0[-1] of 6 elements", [Store(1, AT, x(ix.shift(AT, -1)))], 6),
    ("y0[6] of 6 elements", [Store(1, ix.shift(AT, 1), x(AT))], 6),
    ("1 of 7 elements of buffer 1 are never written", [Store(1, AT, x(AT))], 7),
    ("both write y0[0]", [Store(1, ix.ZERO, x(AT))], 1),
    ("y0[0] is read before it is written", [Store(1, AT, load(1, AT, dt.float32))], 6),
    ("which 0 writes", [Store(1, AT, x(AT)), Store(1, AT, load(1, ix.ZERO, dt.float32))], 6),
    ("row[3] is read before it is written", [Local("row", dt.float32, 4), Store(1, AT, make(
        LOCAL, dt.float32, (), (), ("row", ix.constant(3))))], 6),
    ("a store into x0", [Store(0, AT, x(AT))], 6),
    ("read as int32", [Store(1, AT, load(0, AT, dt.int32))], 6),
])
def test_faults_are_found(message, body, size):
    with pytest.raises(KernelFault, match="probe") as caught:
        run(kernel(*body, size=size))
    assert message in str(caught.value)


def test_a_masked_load_may_lie_outside():
    from graphc.ir.ops import LT

    mask = make(LT, dt.bool, (), (index_value(AT), index_value(ix.constant(5))))
    assert run(kernel(Store(1, AT, x(ix.shift(AT, 1), mask)))).tolist() == [1, 2, 3, 4, 5, 0]


# -------------------------------------------------------------------------------------------------------------- trees

def test_trees_add_everything_once():
    for n in (0, 1, 5, 63, 64, 65, 1023, 1024, 1025, 5000):
        for order in ("inner", "outer", "pairwise"):
            parts = trees.reduce([(k,) for k in range(n)], order, lambda a, b: a + b, ())
            assert sorted(parts) == list(range(n)), (n, order)


def test_a_block_is_a_subtree():
    """Splitting a reduction at a power of two of chunks changes no association."""
    values = [str(k) for k in range(5000)]

    def combine(a, b):
        return f"({a}+{b})"
    whole = trees.reduce(values, "outer", combine, "0")
    blocks = [trees.reduce(values[k:k + 64], "outer", combine, "0") for k in range(0, 5000, 64)]
    assert trees.pairwise(blocks, combine) == whole
