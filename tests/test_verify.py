"""The verifier: what it lets pass, and what it finds in graphs, schedules and kernels that are wrong in one thing."""

from __future__ import annotations

import programs as random_programs
import pytest
from msgspec.structs import replace

from graphc import canonical
from graphc.build import build
from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import VALUE, Kernel, KernelBuffer, Let, Loop, Store, index_value, load
from graphc.ir.node import Node, buffer, const, make
from graphc.ir.ops import (
    ADD, AND, CONCAT, DOT, EQ, EXP, EXPAND, LT, PERMUTE, RESHAPE, SLICE, SUM, TAKE, UPDATE, WHERE, WINDOW,
)
from graphc.passes import fuse, lower
from graphc.passes.verify import VerifyError, bounds, verify_graph, verify_kernel, verify_kernels, verify_schedule


def leaf(shape, dtype=dt.float32) -> Node:
    return buffer(dtype, shape, None, "cpu")


X = leaf((3, 4))


@pytest.mark.parametrize("disable", ["", "fuse", "simplify"])
def test_random_programs_pass(disable: str):
    for seed in range(100):
        pending = [n for n in dict.fromkeys(t.node for t in random_programs.of_seed(seed).results()) if n.value is None]
        with settings.override(verify=True, disable=disable):
            build(canonical.canonicalize(pending), "c")


# ------------------------------------------------------------------------------------------------------------- graphs

@pytest.mark.parametrize("node", [
    make(ADD, dt.float32, (3, 4), (X, leaf((4,)))),
    make(SUM, dt.float32, (3,), (X,), (1, "inner")),
    make(SLICE, dt.float32, (3, 2), (X,), ((0, 3), (1, -2))),
    make(DOT, dt.float32, (3, 5), (X, leaf((4, 5)))),
    make(WINDOW, dt.float32, (3, 2, 3), (X,), (1, 1, 1)),
], ids=lambda node: node.op.name)
def test_sound_nodes(node: Node):
    verify_graph([node], "test")


@pytest.mark.parametrize("node, message", [
    (make(ADD, dt.float32, (3, 4), (X, leaf((4,), dt.float64))), "mixes float32, float64"),
    (make(ADD, dt.float64, (3, 4), (X, X)), "should be float32"),
    (make(ADD, dt.float32, (3, 4), (X,)), "has 1 sources"),
    (make(ADD, dt.float32, (3, 5), (X, X)), "broadcast"),
    (make(EQ, dt.float32, (3, 4), (X, X)), "should be bool"),
    (make(WHERE, dt.float32, (3, 4), (X, X, X)), "chooses by float32"),
    (make(EXP, dt.int32, (3,), (leaf((3,), dt.int32),)), "does not take int32"),
    (make(SUM, dt.float32, (4,), (X,), (1, "inner")), "should have the shape (3,)"),
    (make(RESHAPE, dt.float32, (5,), (X,)), "should have the shape (3, 4)"),
    (make(PERMUTE, dt.float32, (3, 4), (X,), ((1, 0),)), "should have the shape (4, 3)"),
    (make(EXPAND, dt.float32, (2, 4), (X,)), "broadcast"),
    (make(SLICE, dt.float32, (3, 2), (X,), ((0, 3), (1, 1))), "should have the shape"),
    (make(SLICE, dt.float32, (3, 2), (X,), ((0, 0), (1, -1))), "should have the shape"),
    (make(CONCAT, dt.float32, (7, 4), (X, X), (0,)), "should have the shape (6, 4)"),
    (make(WINDOW, dt.float32, (3, 3, 3), (X,), (1, 1, 1)), "should have the shape"),
    (make(DOT, dt.float32, (3, 4), (X, X)), "should have the shape"),
    (make(TAKE, dt.float32, (3, 2), (X, leaf((3,), dt.int64)), (1,)), "should have the shape (3, 3)"),
    (make(UPDATE, dt.float32, (3, 4), (X, leaf((3, 2))), ((0, 3), (1, 1))), "should have the shape"),
], ids=lambda value: value.op.name if isinstance(value, Node) else "")
def test_wrong_nodes(node: Node, message: str):
    with pytest.raises(VerifyError) as caught:
        verify_graph([node], "some pass")
    assert message in str(caught.value)


# ---------------------------------------------------------------------------------------------------------- schedules

def _schedule():
    total = make(SUM, dt.float32, (3,), (make(EXP, dt.float32, (3, 4), (X,)),), (1, "inner"))
    shifted = make(ADD, dt.float32, (3, 4), (X, make(RESHAPE, dt.float32, (3, 1), (total,))))
    return fuse((make(SUM, dt.float32, (4,), (shifted,), (0, "outer")),))


def test_schedules():
    schedule = _schedule()
    verify_schedule(schedule)
    first, second = schedule.groups
    with pytest.raises(VerifyError, match="before group"):
        verify_schedule(replace(schedule, groups=[second, first]))
    with pytest.raises(VerifyError, match="is not stored"):
        verify_schedule(replace(schedule, roots=(make(EXP, dt.float32, (9,), (leaf((9,)),)),)))
    with pytest.raises(VerifyError, match="never stored"):
        verify_schedule(replace(schedule, stored={n: g for n, g in schedule.stored.items() if g is not first}))
    with pytest.raises(VerifyError, match="by two groups"):
        verify_schedule(replace(schedule, groups=[first, second, first]))


def test_kernels_read_what_their_groups_do():
    schedule = _schedule()
    lowered = lower(schedule)
    verify_kernels(lowered)
    schedule.groups[1].reads.clear()
    with pytest.raises(VerifyError, match="knows nothing"):
        verify_kernels(lowered)


# ------------------------------------------------------------------------------------------------------------ kernels

AXIS, K, LONG = Axis("i", 6), Axis("k", 4), Axis("k", 9)
AT = ix.of(AXIS)
NODES = (leaf((6,)), leaf((6,)))


def kernel(*body) -> Kernel:
    buffers = (KernelBuffer("x0", dt.float32, 6, False), KernelBuffer("y0", dt.float32, 6, True))
    return Kernel("probe", buffers, (), (AXIS,), False, None, 2, body)


def x(index: ix.Index, mask: Node | None = None) -> Node:
    return load(0, index, dt.float32, mask)


INSIDE = make(LT, dt.bool, (), (index_value(AT), index_value(ix.constant(5))))


@pytest.mark.parametrize("body", [
    [Store(1, AT, x(AT))],
    [Store(1, AT, x(ix.shift(AT, 1), INSIDE))],
    [Let("t0", x(AT)), Store(1, AT, make(VALUE, dt.float32, (), (), ("t0",)))],
    [Loop(K, "serial", (Store(1, AT, x(ix.shift(ix.of(K), 2))),))],
    [Loop(LONG, "serial", (Store(1, AT, x(ix.shift(ix.of(LONG), -3))),), ix.constant(9), ix.constant(3))],
])
def test_sound_kernels(body):
    verify_kernel(kernel(*body), NODES)


@pytest.mark.parametrize("body, message", [
    ([Store(1, AT, x(ix.shift(AT, 1)))], "runs from 1 to 6, of 6"),
    ([Store(1, ix.shift(AT, -1), x(AT))], "runs from -1 to 4, of 6"),
    ([Store(1, AT, x(ix.of(K)))], "the axis k is used outside its loop"),
    ([Store(1, AT, x(ix.of(K), INSIDE))], "the axis k is used outside its loop"),
    ([Loop(AXIS, "serial", (Store(1, AT, x(AT)),))], "two loops over i are nested"),
    ([Store(0, AT, x(AT)), Store(1, AT, x(AT))], "is an input"),
    ([Store(1, AT, const(1, dt.float64))], "is stored into"),
    ([Store(1, AT, load(0, AT, dt.int32))], "is read as int32"),
    ([Store(1, AT, make(VALUE, dt.float32, (), (), ("t0",)))], "t0 is read before it is known"),
    ([Store(1, AT, make(ADD, dt.float32, (), (x(AT), const(1, dt.float64))))], "mixes float32, float64"),
    ([Store(1, AT, make(ADD, dt.float32, (4,), (x(AT), X)))], "is not a scalar"),
    ([Let("t0", make(AND, dt.bool, (), (INSIDE, INSIDE)))], "nothing is stored into"),
])
def test_wrong_kernels(body, message: str):
    with pytest.raises(VerifyError) as caught:
        verify_kernel(kernel(*body), NODES)
    assert message in str(caught.value) and "probe" in str(caught.value)


def test_buffers_fit_their_nodes():
    with pytest.raises(VerifyError, match="is not"):
        verify_kernel(kernel(Store(1, AT, x(AT))), (leaf((6,)), leaf((7,))))


def test_bounds_follow_the_ranges():
    inner = ix.floordiv(ix.shift(ix.of(AXIS), 1), 4)
    assert bounds(inner, {AXIS: (0, 5)}, {}) == (0, 1) and bounds(inner, {AXIS: (3, 5)}, {}) == (1, 1)
    assert bounds(ix.mod(ix.shift(ix.of(AXIS), 1), 4), {AXIS: (3, 5)}, {}) == (0, 2)


def test_bounds_follow_the_limits_of_loops_both_ways():
    block, lane = Axis("i", 3), Axis("j", 4)
    ranges, limits = {block: (0, 2), lane: (0, 3)}, {lane: ix.shift(ix.mul(ix.of(block), -4), 10)}
    position = ix.add(ix.mul(ix.of(block), 4), ix.of(lane))
    assert bounds(position, ranges, limits) == (0, 9)
    assert bounds(ix.shift(ix.mul(position, -1), 9), ranges, limits) == (0, 9)
