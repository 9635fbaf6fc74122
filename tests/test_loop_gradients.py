"""Gradients of scan and cond against finite differences and against the same loop written out."""
from __future__ import annotations

import numpy as np
import pytest
from test_gradients import check, normal

import graphc as gc
from graphc.errors import GradientError
from graphc.ir.node import topological
from graphc.passes import drop_unread


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def recurrence(h, x, w):
    def turn(h, x):
        h = gc.tanh(x + h @ w) * 0.9
        return h, h * h
    return gc.scan(turn, h, x)


def test_a_recurrence():
    check(recurrence, normal(2, 3), normal(5, 2, 3), normal(3, 3) * 0.5)
    check(lambda h, x, w: gc.scan(lambda h, x: (gc.sin(h + x * w), None), h, x, reverse=True)[0],
          normal(3), normal(4, 3), normal(3))


def test_it_is_the_gradient_of_the_loop_written_out():
    h, x, w = (gc.asarray(a) for a in (normal(2, 3), normal(4, 2, 3), normal(3, 3)))

    def written_out(h, x, w):
        given = []
        for k in range(4):
            h = gc.tanh(x[k] + h @ w) * 0.9
            given.append(h * h)
        return h, gc.stack(given)

    def loss(f):
        def value(*args):
            last, given = f(*args)
            return (last * 2).sum() + (given * gc.arange(4.0).reshape(4, 1, 1)).sum()
        return gc.grad(value, (0, 1, 2))(h, x, w)

    for a, b in zip(loss(recurrence), loss(written_out), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_what_has_no_gradient_is_carried_along():
    def f(x, w):
        def turn(carry, x):
            n, s = carry
            return (n + 1, s * w + x * n), n
        (n, s), seen = gc.scan(turn, (gc.asarray(0), gc.asarray(1.0)), x)
        return s + n
    check(f, normal(4), normal())


def test_nested_and_in_part():
    def f(x, w):
        def outer(c, row):
            inner, _ = gc.scan(lambda s, v: (s * w + gc.sin(v), None), c, row)
            return inner, inner * c
        return gc.scan(outer, gc.asarray(0.3), x)
    check(f, normal(3, 4), normal() * 0.5, second=False)
    only = gc.grad(lambda w: gc.scan(lambda c, _: (c * w, None), 2.0, length=5)[0])(gc.asarray(1.5))
    assert only.item() == pytest.approx(2 * 5 * 1.5 ** 4)


def test_cond_takes_the_gradient_of_its_side():
    def f(x, w):
        return gc.cond((x.sum() > 0), lambda x: gc.sin(x) * w, lambda x: x * x, x)
    x = np.abs(normal(4))
    check(f, x, normal(4))
    check(f, -x, normal(4))


def test_what_a_body_cuts_off_stays_cut_off():
    def f(w):
        return gc.scan(lambda c, _: (c * w * w.detach(), None), 1.0, length=3)[0]
    assert gc.grad(f)(gc.asarray(2.0)).item() == pytest.approx(3 * 2.0 ** 5)     # of w**3 * 8, where 8 is constant

    def of(c):
        return gc.scan(lambda c, _: (c * gc.stop_gradient(c), None), c, length=2)[0]
    assert gc.grad(of)(gc.asarray(3.0)).item() == pytest.approx(27.0)           # 3, then 9
    check(lambda x: gc.scan(lambda c, row: (c + gc.softmax(row), None), gc.zeros(3), x)[0], normal(4, 3))
    kept = gc.grad(lambda w: gc.scan(gc.checkpoint(lambda c, _: (gc.sin(c * w), None)), 1.0, length=3)[0])
    plain = gc.grad(lambda w: gc.scan(lambda c, _: (gc.sin(c * w), None), 1.0, length=3)[0])
    assert kept(gc.asarray(0.7)).item() == plain(gc.asarray(0.7)).item()


def test_zeros_that_a_turn_writes_into():
    """They are made in the body; outside of it they have no device, and took that of the body with them."""
    def turn(c, row):
        z = gc.zeros(3)
        z[1] = c * row.sum()
        return c + gc.tanh(z).sum(), z.at[gc.asarray([0, 0])].add(row[:2])
    for part in range(2):
        check(lambda c, x, part=part: gc.scan(turn, c.sum(), x)[part], normal(1), normal(4, 3))
    check(lambda x: gc.cond(True, lambda: turn(x.sum(), x)[1], lambda: x), normal(3))


def test_a_rule_of_the_users_own_is_refused_inside():
    @gc.custom_vjp
    def doubled(x):
        return x * 2

    doubled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    with pytest.raises(GradientError, match="inside a loop"):
        gc.grad(lambda w: gc.scan(lambda c, _: (doubled(c * w), None), 1.0, length=2)[0])(gc.asarray(1.0))


def test_while_loop_says_that_it_has_none():
    with pytest.raises(GradientError, match="while_loop has no gradient"):
        gc.grad(lambda x: gc.while_loop(lambda v: v < 10, lambda v: v * 2, x))(gc.asarray(1.0))


def test_variables_that_are_not_realized_are_read_from_outside():
    gc.random.seed(1)
    w, v = gc.nn.parameter(gc.random.normal(size=3)), gc.nn.parameter(gc.arange(3.0))
    total, _ = gc.scan(lambda c, x: (c + x * w * v, None), gc.zeros(3), gc.ones((4, 3)))
    total.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 4 * v.detach().numpy())
    np.testing.assert_allclose(v.grad.numpy(), 4 * w.detach().numpy())


def test_a_weights_gradient_is_one_product_after_the_loop():
    h, x = gc.asarray(normal(2, 3)), gc.asarray(normal(5, 2, 3))

    def loss(w, b):
        last, given = gc.scan(lambda h, x: (gc.tanh(x + h @ w + b),) * 2, h, x)
        return (given * given).sum()

    found = gc.grad(loss, (0, 1))(gc.asarray(normal(3, 3)), gc.asarray(normal(3)))
    call = {n.op.name: n for n in topological([g.node for g in found]) if n.op.name == "loop"}["loop"]
    inside = [n.op.name for n in call.attrs[0].order]
    assert inside.count("dot") == 1 and "sum" not in inside       # the state's gradient; it carries nothing else
    assert call.attrs[1] == 1
    outside = [n for n in topological([g.node for g in found]) if n.op.name == "dot"]
    assert [n.srcs[0].shape[-1] for n in outside] == [10]         # k is that of all turns


def test_what_a_gradient_would_need_is_dropped_without_one():
    w = gc.nn.parameter(normal(3, 3))
    last, _ = gc.scan(lambda h, x: (gc.sin(gc.tanh(x + h @ w)), None), gc.zeros((2, 3)), gc.asarray(normal(5, 2, 3)))
    call = last.node.srcs[0]
    assert list(call.shape) == [(2, 3), (5, 2, 3), (5, 2, 3)]        # the state; before each turn; the tanh
    found, = drop_unread((last.node,))
    assert found.srcs[0].shape == ((2, 3),) and len(found.srcs[0].attrs[0].roots) == 1
    again, _ = gc.scan(gc.checkpoint(lambda h, x: (gc.sin(gc.tanh(x + h @ w)), None)), gc.zeros((2, 3)),
                       gc.asarray(normal(5, 2, 3)))
    gradients = []
    for end in (last, again):
        w.grad = None
        end.sum().backward()
        gradients.append(w.grad.numpy())
    np.testing.assert_array_equal(*gradients)


def test_scalars_of_a_loop_in_a_branch_stay_scalars(backend):
    """The branch's gradient hands arrays to its sides; a program's loops take their scalars as parameters."""
    def f(x):
        return gc.cond(x > 0, lambda x: gc.scan(lambda c, _: (gc.sin(c * 0.3), None), x, length=2)[0], lambda x: x, x)
    with gc.backend(backend):
        found = gc.grad(f)(gc.asarray(0.5)).item()
    assert found == pytest.approx(0.09 * np.cos(0.15) * np.cos(0.3 * np.sin(0.15)))


@pytest.mark.parametrize("f", [
    lambda s, x: gc.scan(lambda c, w: (c, c * w), s, x)[1], lambda s, x: gc.scan(lambda c, w: (c * w, c + w), s, x)[1],
    lambda s, x: gc.scan(lambda c, _: (c, gc.scan(lambda d, v: (d * v, d), c, x)[1]), s, x)[1].sum(0),
    lambda s, x: gc.scan(lambda c, w: (gc.sin(c * w), None), s, x)[0]])
def test_directional_derivatives_of_what_a_scan_gives(f):
    """A cotangent of zeros that is differentiated itself is no zero."""
    x = gc.asarray([2.0, 3.0, 5.0])
    value, change = gc.jvp(lambda s: f(s, x), (1.5,), (2.0,))
    step = 1e-6
    slope = (f(gc.asarray(1.5 + step), x).numpy() - f(gc.asarray(1.5 - step), x).numpy()) / step
    np.testing.assert_allclose(change.numpy(), slope, rtol=1e-6)
    np.testing.assert_array_equal(value.numpy(), f(gc.asarray(1.5), x).numpy())


def test_a_state_that_moves_on_to_another_one():
    """It is a root, yet only its last value is a result: the gradient needs all of them."""
    x = gc.asarray([2.0, 3.0, 0.5])

    def product(s, scan):
        return scan(lambda c, v: ((c[1], c[0] * c[1] * v), None), (s, s * 2), x)[0][1]

    def by_hand(f, state, values):
        for v in values:
            state, _ = f(state, v)
        return state, None
    found, expected = (gc.grad(lambda s, scan=scan: product(s, scan))(gc.asarray(0.7)).item() for scan in (
        gc.scan, lambda f, state, values: by_hand(f, state, [2.0, 3.0, 0.5])))
    assert found == pytest.approx(expected)
    assert gc.jvp(lambda s: product(s, gc.scan), (0.7,), (1.0,))[1].item() == pytest.approx(expected)
