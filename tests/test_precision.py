"""Training in 16 bits, parameters in 32: the same losses within tolerance, and a loss scale that is no recompile."""
from __future__ import annotations

import collections
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import graphc as gc
from graphc.errors import DTypeError, GradientError

rng = np.random.default_rng(5)
X = rng.standard_normal((64, 8)).astype(np.float32)
Y = (np.sin(X[:, :1]) + X[:, 1:2] * X[:, 2:3]).astype(np.float32)


def network():
    gc.random.seed(1)
    return gc.nn.Sequential(gc.nn.Linear(8, 32), gc.nn.LayerNorm(32), gc.tanh, gc.nn.Linear(32, 1))


def trained(dtype, scaler=None, steps: int = 40) -> list[float]:
    net = network()
    model = gc.nn.MixedPrecision(net, dtype)
    optimizer = gc.optim.Adam(net.parameters(), lr=0.02)
    x, y = gc.asarray(X), gc.asarray(Y)

    @gc.jit
    def step():
        optimizer.zero_grad()
        loss = gc.nn.mse(model(x), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss.detach()
    losses = [float(step()) for _ in range(steps)]
    assert all(p.dtype is gc.float32 and p.is_variable for p in net.parameters())
    return losses


def test_the_same_losses_in_16_bits():
    with gc.backend("reference"):       # which rounds as the kernels do, and waits for no compiler
        exact = trained(gc.float32)
        assert exact[-1] < 0.3 * exact[0]
        for losses in (trained(gc.bfloat16), trained(gc.float16, gc.optim.GradScaler(256.0))):
            np.testing.assert_allclose(losses, exact, rtol=0.05, atol=0.02)
            assert losses != exact


def test_it_computes_in_the_dtype():
    seen = []

    class Look(gc.nn.Module):
        def __init__(self):
            self.inner, self.rows, self.shared = gc.nn.Linear(4, 4), {"a": [gc.nn.parameter(gc.ones(4))]}, None
            self.shared = self.inner.weight

        def forward(self, x, *, named):
            assert self.shared is self.inner.weight
            seen.append((x.dtype, named["t"].dtype, self.inner.weight.dtype, self.rows["a"][0].dtype))
            if x.shape[0] == 1:
                raise RuntimeError("in the middle")
            return {"y": self.inner(x) * self.rows["a"][0], "n": gc.arange(3), "text": "as it is"}
    look = Look()
    weight, row = look.inner.weight, look.rows["a"][0]
    half = gc.nn.MixedPrecision(look, "float16")
    found = half(gc.ones((2, 4), dtype=gc.float32), named={"t": gc.ones(3), "k": 5})
    assert seen == [(gc.float16,) * 4] and found["text"] == "as it is"
    assert found["y"].dtype is gc.float32 and found["n"].dtype is gc.int64
    with pytest.raises(RuntimeError, match="middle"):
        half(gc.ones((1, 4)), named={"t": gc.ones(3)})
    assert look.inner.weight is weight is look.shared and look.rows["a"][0] is row
    found["y"].sum().backward()
    assert weight.grad.dtype is weight.dtype and row.grad.shape == (4,)
    assert {name for name, _ in half.named_parameters()} == {f"module.{name}" for name, _ in look.named_parameters()}
    with pytest.raises(DTypeError, match="int32"):
        gc.nn.MixedPrecision(look, gc.int32)


def test_normalisations_compute_in_float32():
    """Of numbers whose squares have no place in float16."""
    with gc.backend("reference"):
        normalisations()


def normalisations():
    x = gc.asarray(np.linspace(300, 900, 24, dtype=np.float32).reshape(4, 6))
    for layer in (gc.nn.LayerNorm(6), gc.nn.RMSNorm(6), gc.nn.BatchNorm(6), gc.nn.GroupNorm(2, 6)):
        half = gc.nn.MixedPrecision(layer, gc.float16)
        np.testing.assert_allclose(half(x).numpy(), layer(x).numpy(), atol=0.01)   # the numbers are rounded


def test_the_loss_scale():
    w = gc.nn.parameter(gc.asarray([1.0, 1.0], dtype=gc.float32))
    optimizer = gc.optim.SGD([w], lr=0.5, momentum=0.9)
    scaler = gc.optim.GradScaler(2.0 ** 14, interval=2)

    @gc.jit
    def step(x):
        optimizer.zero_grad()
        scaler.scale((w.astype(gc.float16) * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    good = gc.asarray([0.25, 2.0 ** -20], dtype=gc.float16)      # the second times 2**14 is no longer subnormal
    huge = gc.asarray([0.25, 60000.0], dtype=gc.float16)        # times the scale: infinite in float16
    step(good)
    assert w.tolist() == [0.875, 1 - 2.0 ** -21] and scaler.factor.item() == 2.0 ** 14
    step(good)
    compiled = gc.counters().compiles
    held, momentum = w.tolist(), optimizer.state["momentum"][0].tolist()
    assert scaler.factor.item() == 2.0 ** 15    # two good steps
    step(huge)
    assert w.tolist() == held and optimizer.state["momentum"][0].tolist() == momentum and optimizer.count.item() == 2
    assert scaler.factor.item() == 2.0 ** 14 and scaler.skipped.item() == 1
    step(good)
    assert w.tolist() != held and gc.counters().compiles == compiled
    other = gc.optim.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.factor.item() == 2.0 ** 14 and other.good.item() == 1


def scaled(dtype=gc.float32):
    w = gc.nn.parameter(gc.asarray([1.0, 1.0], dtype=dtype))
    return w, gc.optim.SGD([w], lr=1.0)


@pytest.mark.parametrize("jitted", [False, True])
def test_gradients_are_clipped_after_they_are_unscaled(jitted):
    w, optimizer = scaled()
    scaler = gc.optim.GradScaler(1024.0)
    traced = []

    def step(x):
        traced.append(1)
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        scaler.unscale_(optimizer)
        norm = gc.optim.clip_grad_norm([w], 1.0)
        scaler.step(optimizer)
        scaler.update()
        return norm
    step = gc.jit(step) if jitted else step
    for k in range(1, 4):
        assert step(gc.asarray([3.0, 4.0], dtype=gc.float32)).item() == 5.0
        np.testing.assert_allclose(w.tolist(), [1 - 0.6 * k, 1 - 0.8 * k], rtol=1e-5)
    if jitted:
        assert len(traced) <= 2     # once more, where the factor is a constant no longer


@pytest.mark.parametrize("jitted", [False, True])
def test_one_scaler_for_two_optimisers(jitted):
    """The factor changed between their steps, and each step of both counted."""
    (a, first), (b, second) = scaled(), scaled()
    scaler = gc.optim.GradScaler(4.0, interval=2)

    def step(x, y):
        first.zero_grad()
        second.zero_grad()
        scaler.scale((a * x).sum() + (b * y).sum()).backward()
        scaler.step(first)
        scaler.step(second)
        scaler.update()
    step = gc.jit(step) if jitted else step
    one, bad = gc.ones(2, dtype=gc.float32), gc.asarray([np.inf, 1], dtype=gc.float32)
    step(bad, one)
    assert (a.tolist(), b.tolist()) == ([1, 1], [0, 0]) and scaler.factor.item() == 2 and scaler.skipped.item() == 1
    step(one, one)
    assert (a.tolist(), b.tolist()) == ([0, 0], [-1, -1]) and scaler.factor.item() == 2
    step(one, one)
    assert scaler.factor.item() == 4 and scaler.good.item() == 0


def test_the_factor_changes_in_update_alone():
    w, optimizer = scaled()
    scaler = gc.optim.GradScaler(4.0)
    step = gc.jit(lambda: scaler.scale((w * np.inf).sum()).backward() or scaler.step(optimizer))
    step()
    assert scaler.factor.item() == 4
    scaler.update()
    step()
    assert scaler.factor.item() == 2 and scaler.skipped.item() == 2 and w.tolist() == [1, 1]
    scaler.update()
    assert scaler.factor.item() == 1


def test_a_forgotten_update_is_told():
    w, optimizer = scaled()
    scaler = gc.optim.GradScaler(4.0)
    w.sum().backward()
    scaler.unscale_(optimizer)
    with pytest.raises(GradientError, match="divided by the factor since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(GradientError, match=r"(?s)since the last update.*call scaler.update\(\)"):
        scaler.step(optimizer)
    pickle.loads(pickle.dumps(scaler)).update()
    scaler.update()
    scaler.step(optimizer)


def test_what_is_jitted_has_both_unscale_and_step():
    w, optimizer = scaled()
    scaler = gc.optim.GradScaler(4.0)
    w.sum().backward()
    scaler.unscale_(optimizer)
    with pytest.raises(GradientError, match="same jitted function"):
        gc.jit(lambda: scaler.step(optimizer))()


class Pair(NamedTuple):
    weight: gc.Tensor
    count: object = None


class Storing(gc.nn.ModuleList):
    """Holds a parameter in each way, and stores in each."""

    def __init__(self):
        super().__init__([gc.nn.Linear(4, 4), gc.nn.parameter(gc.ones(4))])
        self.seen, self.log, self.numbers = gc.zeros(()), [], {"calls": 0}
        self.pair, self.named = Pair(self[1]), collections.defaultdict(list, weight=self[1])

    def forward(self, x):
        self.seen = self.seen + 1
        self.log.append(len(self.log))
        self.numbers["calls"] += 1
        self.found = {t.dtype.name for t in (self[0].weight, self[1], self.pair.weight, self.named["weight"])}
        self.named["new"].append(1)
        return gc.nn.functional.dropout(self[0](x) * self[1], 0.5, self.training)


def test_what_a_module_stores_while_it_computes_in_16_bits_stays():
    module = Storing().eval()
    model = gc.nn.MixedPrecision(module, gc.bfloat16).eval()
    x = gc.asarray(X[:2, :4])
    for calls in (1, 2, 3):
        np.testing.assert_allclose(model(x).numpy(), module[0](x).numpy(), rtol=0.05, atol=0.02)
        assert module.seen.item() == calls and module.log == list(range(calls)) and module.numbers == {"calls": calls}
        assert module.found == {"bfloat16"} and not module.training
    assert type(module.pair) is Pair and module.named.default_factory is list
    assert module[1] is module.pair.weight is module.named["weight"] and module[1].is_parameter
    assert all(t.dtype is not gc.bfloat16 for t in module.parameters())


def test_a_scaler_keeps_the_digits_of_gradients():
    w = gc.nn.parameter(gc.asarray([1 / 3]))
    optimizer, scaler = gc.optim.SGD([w], lr=1.0), gc.optim.GradScaler(1024.0)
    scaler.scale((w**3).sum()).backward()
    scaler.step(optimizer)
    assert w.grad.dtype is gc.float64 and abs(w.item()) < 1e-15
