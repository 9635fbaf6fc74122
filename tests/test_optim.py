"""Optimisers against their formulas in NumPy, step by step."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc import nn, optim
from graphc.errors import ArgumentError, DTypeError, GradientError, ShapeError, StateError


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def sgd(p, g, s, n, lr):
    return p - lr * g


def momentum(p, g, s, n, lr):
    s["m"] = 0.9 * s.get("m", 0) + g
    return p - lr * s["m"]


def nesterov(p, g, s, n, lr):
    s["m"] = 0.9 * s.get("m", 0) + g
    return p - lr * (g + 0.9 * s["m"])


def adam(p, g, s, n, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return p - lr * (s["m"] / (1 - 0.9 ** n)) / (np.sqrt(s["v"] / (1 - 0.999 ** n)) + 1e-8)


def adamw(p, g, s, n, lr):
    return adam(p, g, s, n, lr) - lr * 0.01 * p


def rmsprop(p, g, s, n, lr):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    return p - lr * g / (np.sqrt(s["v"]) + 1e-8)


def adagrad(p, g, s, n, lr):
    s["v"] = s.get("v", 0) + g * g
    return p - lr * g / (np.sqrt(s["v"]) + 1e-10)


def dampened(p, g, s, n, lr):
    g = g + 0.01 * p
    s["m"] = 0.9 * s["m"] + 0.5 * g if "m" in s else g
    return p - lr * s["m"]


def amsgrad(p, g, s, n, lr):
    s["m"], s["v"] = 0.9 * s.get("m", 0) + 0.1 * g, 0.999 * s.get("v", 0) + 0.001 * g * g
    s["most"] = np.maximum(s.get("most", 0), s["v"])
    return p - lr * (s["m"] / (1 - 0.9 ** n)) / (np.sqrt(s["most"] / (1 - 0.999 ** n)) + 1e-8)


def centered(p, g, s, n, lr):
    s["v"], s["mean"] = 0.99 * s.get("v", 0) + 0.01 * g * g, 0.99 * s.get("mean", 0) + 0.01 * g
    s["m"] = 0.9 * s.get("m", 0) + g / (np.sqrt(s["v"] - s["mean"] ** 2) + 1e-8)
    return p - lr * s["m"]


def decaying(p, g, s, n, lr):
    g = g + 0.01 * p
    s["v"] = s.get("v", 0.25) + g * g
    return p - lr / (1 + (n - 1) * 0.5) * g / (np.sqrt(s["v"]) + 1e-10)


CASES = {
    "dampening": (optim.SGD, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01}, dampened),
    "amsgrad": (optim.Adam, {"amsgrad": True}, amsgrad),
    "centered": (optim.RMSprop, {"momentum": 0.9, "centered": True}, centered),
    "decaying": (optim.Adagrad, {"lr_decay": 0.5, "weight_decay": 0.01, "initial_accumulator_value": 0.25}, decaying),
    "sgd": (optim.SGD, {}, sgd), "momentum": (optim.SGD, {"momentum": 0.9}, momentum),
    "nesterov": (optim.SGD, {"momentum": 0.9, "nesterov": True}, nesterov),
    "weight decay": (optim.SGD, {"weight_decay": 0.1}, lambda p, g, s, n, lr: sgd(p, g + 0.1 * p, s, n, lr)),
    "adam": (optim.Adam, {}, adam), "adamw": (optim.AdamW, {}, adamw), "rmsprop": (optim.RMSprop, {}, rmsprop),
    "adagrad": (optim.Adagrad, {}, adagrad),
}


@pytest.mark.parametrize("name", CASES)
def test_steps(name):
    kind, options, formula = CASES[name]
    values = [np.array([1.0, -2.0]), np.array([[0.5]])]
    params = [nn.parameter(v) for v in values]
    unused = nn.parameter(np.ones(3))
    optimizer = kind([*params, unused], lr=0.1, **options)
    states = [{} for _ in values]
    for n in range(1, 5):
        optimizer.zero_grad()
        sum(((p - 3) ** 2).sum() for p in params).backward()
        optimizer.step()
        values = [formula(v, 2 * (v - 3), s, n, np.float32(0.1)) for v, s in zip(values, states, strict=True)]
        for p, v in zip(params, values, strict=True):
            np.testing.assert_allclose(p.numpy(), v, rtol=2e-5)
            assert p.is_variable
    assert unused.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind, given, steps, expected", [
    (optim.SGD, (0.9, 0.5, 0.01), 3, [2.49144214975, 1.7454261505]),
    (optim.Adam, ((0.9, 0.999), 1e-8, 0.0, True), 5, [1.4970442187, -1.5009829478]),
    (optim.RMSprop, (0.99, 1e-8, 0.0, 0.9, True), 3, [4.4190866110, 2.2913249926]),
    (optim.Adagrad, (0.5, 0.01, 0.25), 3, [1.1727632804, -1.8250187835])])
@pytest.mark.parametrize("jitted", [False, True])
def test_arguments_have_the_order_of_torch(kind, given, steps, expected, jitted, compiled):
    """The numbers are torch's, for the same arguments."""
    p = nn.parameter(np.array([1.0, -2.0]))
    optimizer = kind([p], 0.1, *given)

    def step():
        optimizer.zero_grad()
        loss = ((p - 3) ** 2).sum()
        loss.backward()
        return loss.detach()

    call = gc.jit(lambda: optimizer.step(step)) if jitted else lambda: optimizer.step(step)
    assert call().item() == 29.0
    for _ in range(steps - 1):
        call()
    np.testing.assert_allclose(p.numpy(), expected, rtol=1e-6)


def test_a_step_returns_what_its_closure_does():
    p = nn.parameter(np.array([2.0]))
    optimizer = optim.SGD([p], 0.25)

    @gc.no_grad
    def evaluate():
        return (p * p).sum()

    assert optimizer.step(lambda: (p * p).sum().backward() or 7.5) == 7.5 and p.tolist() == [1.0]
    assert optimizer.step() is None and not evaluate().requires_grad and (p * p).requires_grad


@pytest.mark.parametrize("jitted", [False, True])
def test_a_parameter_takes_only_the_steps_that_it_has_a_gradient_for(jitted, compiled):
    """One count for all made the first step of a parameter that joins after a thousand three times too long."""
    heads = [nn.parameter(np.array([1.0, -2.0])), nn.parameter(np.array([0.5]))]
    optimizer = optim.Adam(heads, lr=0.1)

    def step(head):
        optimizer.zero_grad()
        ((head - 3) ** 2).sum().backward()
        optimizer.step()
        return head.detach()

    steps = [gc.jit(lambda head=head: step(head)) if jitted else lambda head=head: step(head) for head in heads]
    values, states, taken = [h.numpy() for h in heads], [{}, {}], [0, 0]
    for k in (0, 0, 0, 1, 0, 1, 1, 0):
        taken[k] += 1
        steps[k]()
        values[k] = adam(values[k], 2 * (values[k] - 3), states[k], taken[k], np.float32(0.1))
        for head, value in zip(heads, values, strict=True):
            np.testing.assert_allclose(head.numpy(), value, rtol=2e-5)
    assert optimizer.count.item() == 8 and [t.item() for t in optimizer.state["missed"]] == [3, 5]


def test_state_goes_round():
    def train(optimizer, p, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            ((p - 1) ** 4).sum().backward()
            optimizer.step()

    a, b = nn.parameter(np.array([3.0])), nn.parameter(np.array([3.0]))
    first, second = optim.Adam([a], lr=0.5), optim.Adam([b], lr=0.1)
    train(first, a, 3)
    with gc.no_grad():
        b.assign(a)
    second.load_state_dict({k: t.numpy() for k, t in first.state_dict().items()})
    train(first, a, 3)
    train(second, b, 3)
    assert a.item() == b.item()
    with pytest.raises(StateError, match="other names: count"):
        state = first.state_dict()
        del state["count"]
        second.load_state_dict(state)


def test_schedules_set_the_rate():
    p = nn.parameter(np.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    schedule = optim.Schedule(optimizer, optim.step_decay(2, 0.5))
    rates = []
    for _ in range(5):
        rates.append(optimizer.lr.item())
        schedule.step()
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25]
    assert optim.cosine(10)(10) == pytest.approx(0) and optim.cosine(10, least=0.1)(99) == pytest.approx(0.1)
    assert optim.exponential(0.5)(3) == 0.125


def test_schedules_go_on_where_they_were():
    def rates(schedule, n):
        found = []
        for _ in range(n):
            schedule.step()
            found.append(schedule.optimizer.lr.item())
        return found

    def fresh():
        return optim.Schedule(optim.SGD([nn.parameter(np.ones(1))], lr=0.5), optim.cosine(6, warmup=2))

    first, second = fresh(), fresh()
    rates(first, 3)
    second.load_state_dict(first.state_dict())
    assert second.optimizer.lr.item() == first.optimizer.lr.item()
    assert rates(second, 3) == rates(first, 3)


def test_clipping():
    a, b = nn.parameter(np.array([3.0])), nn.parameter(np.array([4.0]))
    ((a ** 2 + b ** 2).sum() / 2).backward()
    assert optim.clip_grad_norm([a, b], 1.0).item() == pytest.approx(5.0)
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [0.6, 0.8], rtol=1e-5)
    optim.clip_grad_value([a, b], 0.7)
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [0.6, 0.7], rtol=1e-5)


@pytest.mark.parametrize("order, norm, first", [
    (1.0, 9.0, 0.3333332963), (2.0, np.sqrt(29), 3 / (np.sqrt(29) + 1e-6)), (3.0, 4.6260650092, 0.6484991771),
    (np.inf, 4.0, 0.7499998125)])
def test_clipping_by_other_norms(order, norm, first):
    p, q = nn.parameter(np.zeros(2)), nn.parameter(np.zeros((1, 1)))
    p.grad, q.grad = gc.asarray([3.0, -4.0]), gc.asarray([[2.0]])
    np.testing.assert_allclose(optim.clip_grad_norm([p, q], 1.0, order).item(), norm, rtol=1e-9)
    np.testing.assert_allclose(p.grad[0].item(), first, rtol=1e-9)
    with pytest.raises(ArgumentError, match="order of a norm is positive"):
        optim.clip_grad_norm([p], 1.0, 0)


def test_parameters_of_float64_are_changed_in_float64():
    """Neither the rate nor the norm of the gradients is one of float32."""
    p = nn.parameter(np.array([0.3, 1.1]))
    optimizer = optim.SGD([p], lr=0.1)
    (p * gc.asarray([3.3, 4.7])).sum().backward()
    norm = optim.clip_grad_norm([p], 100.0)
    optimizer.step()
    np.testing.assert_allclose(norm.item(), np.hypot(3.3, 4.7), rtol=1e-15)
    np.testing.assert_allclose(p.tolist(), [0.3 - 0.1 * 3.3, 1.1 - 0.1 * 4.7], rtol=1e-15)
    assert optim.SGD([nn.parameter(np.ones(1, np.float16))], lr=0.1).lr.dtype is gc.float32


def test_a_single_tensor_is_clipped():
    """Its rows were, which have no gradients."""
    w = nn.parameter(np.array([3.0, 4.0]))
    for clip, norm in ((optim.clip_grad_norm, 5.0), (optim.clip_grad_value, None)):
        w.grad = None
        ((w ** 2).sum() / 2).backward()
        found = clip(w, 1.0)
        assert found is None if norm is None else found.item() == norm
        assert np.abs(w.grad.numpy()).max() <= 1.0


def test_a_state_of_other_shapes_changes_nothing():
    def fresh(shape):
        return optim.SGD([nn.parameter(np.ones(shape)), nn.parameter(np.ones(2))], lr=0.1, momentum=0.9)

    optimizer, other = fresh((3, 2)), fresh((2,))
    before = {name: t.tolist() for name, t in optimizer.state_dict().items()}
    other.lr = 5.0
    with pytest.raises(ShapeError, match=r"momentum.0 has shape \(3, 2\), the state \(2,\)"):
        optimizer.load_state_dict(other.state_dict())
    assert {name: t.tolist() for name, t in optimizer.state_dict().items()} == before
    with pytest.raises(ShapeError, match=r"factor has shape \(\), the state \(2,\)"):
        optim.GradScaler().load_state_dict({"factor": np.ones(2), "good": 0.0, "skipped": 0.0})


def test_gradients_have_the_shape_of_their_parameter():
    w = nn.parameter(np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"gradient of shape \(3,\) for a tensor of shape \(2, 3\)"):
        w.grad = gc.ones(3)
    with pytest.raises(DTypeError, match="(?s)not a ndarray.*asarray"):
        w.grad = np.ones((2, 3))
    w.grad = gc.ones((2, 3), dtype=gc.float32)
    assert w.grad.shape == (2, 3)


def test_a_parameter_is_given_once():
    w = nn.parameter(np.ones(2))
    with pytest.raises(GradientError, match="given twice"):
        optim.SGD([w, nn.parameter(np.ones(2)), w], lr=0.1)


def test_errors():
    with pytest.raises(ArgumentError, match="no parameters"):
        optim.SGD([], lr=0.1)
    with pytest.raises(GradientError, match="does not require a gradient"):
        optim.Adam([gc.ones(2)])
    with pytest.raises(GradientError, match=r"(?s)single tensor.*pass \[w\]"):
        optim.Adam(nn.parameter(np.ones(2)))
    with pytest.raises(GradientError, match=r"(?s)no groups of parameters.*an optimiser for each group"):
        optim.Adam([{"params": nn.Linear(2, 2).parameters(), "lr": 0.1}])
    with pytest.raises(GradientError, match=r"(?s)a tuple is no parameter.*module.parameters\(\)"):
        optim.Adam(nn.Linear(2, 2).named_parameters())
    with pytest.raises(ArgumentError, match="momentum"):
        optim.SGD([nn.parameter(np.ones(1))], lr=0.1, nesterov=True)
    with pytest.raises(ArgumentError, match="no dampening"):
        optim.SGD([nn.parameter(np.ones(1))], 0.1, 0.9, 0.5, 0.0, True)


@pytest.mark.parametrize("shapes", [[(5, 3), (7,), (2, 2, 4)], [(5, 3), (), (1,), (7,)]])
def test_no_parameter_waits_for_the_number_of_the_step(shapes):
    """The number is a result and all updates read it: they were launched after it, and apart from the moments."""
    with gc.backend("cpu"):
        parameters = [nn.parameter(np.ones(shape, np.float32)) for shape in shapes]
        optimizer = optim.Adam(parameters, lr=0.5)
        for p in parameters:
            p.grad = gc.asarray(np.ones(p.shape, np.float32))
        optimizer.step()
        results = [*parameters, *(t for ts in optimizer.state.values() for t in ts), optimizer.count]
        plan = gc.plan(*results)
        assert len(plan.kernels) == 2 and sum(k.members for k in plan.kernels) <= len(shapes) + 1, str(plan)
        gc.realize(*results)
        assert float(optimizer.count) == 1 and all(np.allclose(p.numpy(), 0.5) for p in parameters)


def test_learning_is_a_few_kernels_and_compiles_once():
    """A dense network's step with Adam: the products, the loss, two column sums; updates are epilogues."""
    gc.random.seed(0)
    with gc.backend("cpu"):
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        optimizer = optim.Adam(net.parameters(), lr=0.01)
        x = gc.asarray(np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32))
        y = gc.asarray(np.arange(12) % 4)

        def step():
            optimizer.zero_grad()
            loss = nn.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            state = [t for ts in optimizer.state.values() for t in ts]
            return loss, *net.parameters(), optimizer.count, *state

        gc.realize(*step())
        results = step()
        assert len(gc.plan(*results).kernels) <= 8
        gc.realize(*results)
        before = gc.counters()
        losses = []
        for k in range(30):
            optimizer.lr = 0.01 / (1 + k)
            results = step()
            gc.realize(*results)
            losses.append(float(results[0]))
        spent = gc.counters() - before
    assert spent.compiles == 0 and spent.program_misses == 0 and losses[-1] < losses[0]


def test_a_jitted_step_that_returns_its_loss_is_traced_once(compiled):
    """`backward` ends the loss's history, so that the step can be replayed; the step's number lies in memory."""
    model = gc.nn.Sequential(gc.nn.Linear(3, 4), gc.nn.Tanh(), gc.nn.Linear(4, 2))
    optimizer = gc.optim.Adam(model.parameters(), lr=0.01)
    x, y = gc.asarray(np.eye(3, dtype=np.float32)), gc.asarray([0, 1, 1])
    losses = []

    @gc.jit
    def step(x, y):
        losses.append(1)
        optimizer.zero_grad()
        loss = gc.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    found = [step(x, y) for _ in range(4)]
    assert len(losses) == 1 and not any(t.node.tracked for t in found)
    values = [float(t) for t in found]
    assert values == sorted(values, reverse=True) and float(optimizer.count) == 4


def test_retain_graph_keeps_the_history_of_what_a_jitted_function_returns(compiled):
    w = gc.nn.parameter(gc.asarray([1.0, 2.0]))

    @gc.jit
    def f():
        loss = (w * w).sum()
        loss.backward(retain_graph=True)
        return loss

    f().backward()
    assert w.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("dtype", [gc.float16, gc.bfloat16])
@pytest.mark.parametrize("kind", [optim.Adam, optim.RMSprop])
def test_parameters_of_16_bits_are_changed_as_those_of_float32(kind, dtype):
    """Beta is 1 in bfloat16, and epsilon 0 in float16: an element without a gradient became NaN, others stayed."""
    def trained(dtype):
        w = gc.nn.parameter(gc.asarray([1.0, 2.0, 0.5], dtype=dtype))
        optimizer = kind([w], lr=0.25)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w * gc.asarray([1.0, 1.0, 0.0], dtype=dtype)).sum().backward()
            optimizer.step()
        assert all(t.dtype is gc.float32 for ts in optimizer.state.values() for t in ts)
        return w.numpy().astype(np.float32)

    np.testing.assert_allclose(trained(dtype), trained(gc.float32), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("owner", ["module", "optimiser"])
def test_gradients_may_become_zero(owner):
    net = nn.Linear(2, 2)
    net(gc.ones(2)).sum().backward()
    net.bias.grad = None
    (net if owner == "module" else optim.SGD(net.parameters(), lr=0.1)).zero_grad(set_to_none=False)
    assert net.weight.grad.tolist() == [[0, 0], [0, 0]] and net.bias.grad is None
    net.zero_grad(set_to_none=True)
    assert net.weight.grad is None


@pytest.mark.parametrize("make, name", [
    (lambda p: optim.SGD(p, lr=-1.0), "lr"), (lambda p: optim.SGD(p, lr=float("nan")), "lr"),
    (lambda p: optim.AdamW(p, weight_decay=-0.1), "weight_decay"), (lambda p: optim.Adam(p, betas=(1.0, 0.9)), "beta1"),
    (lambda p: optim.Adam(p, betas=(0.9, -0.1)), "beta2")])
def test_rates_out_of_range(make, name):
    with pytest.raises(ArgumentError, match=f"{name} must be at least 0 and less than"):
        make([nn.parameter(gc.zeros(2))])
