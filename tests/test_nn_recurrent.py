"""Recurrent layers against loops in NumPy, against torch where it is installed, and against finite differences."""
from __future__ import annotations

import doctest

import numpy as np
import pytest
from test_gradients import check

import graphc as gc
from graphc import nn
from graphc.errors import ArgumentError, ShapeError
from graphc.nn import recurrent

KINDS = ["RNN", "LSTM", "GRU"]


@pytest.fixture(autouse=True)
def on_the_reference():
    gc.random.seed(5)
    with gc.backend("reference"):
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind: str, x, state, w, u, b, c):
    """The published formulas, one gate after the other."""
    n = u.shape[1]
    gate = [x @ w[k:k + n].T + b[k:k + n] for k in range(0, len(w), n)]
    of_state = [state[0] @ u[k:k + n].T + c[k:k + n] for k in range(0, len(w), n)]
    if kind == "RNN":
        return (np.tanh(gate[0] + of_state[0]),)
    if kind == "GRU":
        r, z = (sigmoid(gate[k] + of_state[k]) for k in (0, 1))
        new = np.tanh(gate[2] + r * of_state[2])
        return ((1 - z) * new + z * state[0],)
    i, f, g, o = (a + b for a, b in zip(gate, of_state, strict=True))
    cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def expected(kind: str, layer, x, starts):
    """A loop over layers, directions and time: (what the last layer gave, the states)."""
    ends, suffixes = [], ["", "_reverse"][:1 + layer.bidirectional]
    for number in range(layer.num_layers):
        both = []
        for suffix in suffixes:
            weights = [getattr(layer, f"{name}_l{number}{suffix}").numpy() for name in (
                "weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            state, given = tuple(s[len(ends)] for s in starts), {}
            for t in reversed(range(len(x))) if suffix else range(len(x)):
                state = step(kind, x[t], state, *weights)
                given[t] = state[0]
            ends.append(state)
            both.append(np.stack([given[t] for t in range(len(x))]))
        x = np.concatenate(both, axis=-1)
    return x, [np.stack(parts) for parts in zip(*ends, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind):
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True).to("float64")
    starts = [normal(4, 2, 4, seed=k) for k in range(layer.states)]
    x = normal(6, 2, 3)
    wanted, ends = expected(kind, layer, x, starts)
    given = tuple(map(gc.asarray, starts)) if len(starts) > 1 else gc.asarray(starts[0])
    y, last = layer(gc.asarray(x), given)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-9)
    for found, end in zip(last if len(starts) > 1 else [last], ends, strict=True):
        np.testing.assert_allclose(found.numpy(), end, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ways_to_give_a_sequence(kind):
    layer = getattr(nn, kind)(3, 4).to("float64")
    x = gc.asarray(normal(6, 2, 3))
    y, last = layer(x)
    layer.batch_first = True
    other, _ = layer(x.swapaxes(0, 1))
    np.testing.assert_array_equal(other.swapaxes(0, 1).numpy(), y.numpy())
    alone, end = layer(x[:, 0])
    assert alone.shape == (6, 4) and (end[0] if kind == "LSTM" else end).shape == (1, 4)
    np.testing.assert_allclose(alone.numpy(), y[:, 0].numpy(), rtol=1e-12)
    cell = getattr(nn, kind + "Cell")(3, 4).to("float64")
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).assign(getattr(layer, name + "_l0").detach())
    state = None
    for t in range(6):
        state = cell(x[t], state)
    np.testing.assert_allclose((state[0] if kind == "LSTM" else state).numpy(), y[-1].numpy(), rtol=1e-12)
    assert layer(x[:, :0])[0].shape == (6, 0, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    layer = getattr(nn, kind)(2, 3).to("float64")
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]

    def f(x, start, *weights):
        for name, weight in zip(names, weights, strict=True):
            setattr(layer, name, weight)
        y, last = layer(x, (start, start * 2) if kind == "LSTM" else start)
        return (y, *last) if kind == "LSTM" else (y, last)
    weights = [getattr(layer, name).numpy() for name in names]
    check(f, normal(3, 2, 2), normal(1, 2, 3, seed=1), *weights, second=False)


def test_a_relu_state_no_bias_and_dropout_between_layers():
    layer = nn.RNN(3, 4, num_layers=2, nonlinearity="relu", bias=False, dropout=0.5)
    assert [name for name, _ in layer.named_parameters()] == [
        "weight_ih_l0", "weight_hh_l0", "weight_ih_l1", "weight_hh_l1"]
    x = gc.asarray(normal(5, 2, 3).astype(np.float32))
    assert (layer(x)[0].numpy() >= 0).all()
    assert (layer(x)[0].numpy() != layer(x)[0].numpy()).any()
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())


def test_it_says_what_does_not_fit():
    layer = nn.LSTM(3, 4)
    with pytest.raises(ShapeError, match="last axis should be 3"):
        layer(gc.ones((5, 2, 2)))
    with pytest.raises(ShapeError, match=r"the state has shape \(2, 2, 4\), not \(1, 2, 4\)"):
        layer(gc.ones((5, 2, 3)), (gc.ones((2, 2, 4)), gc.ones((1, 2, 4))))
    with pytest.raises(ShapeError, match="3 parts, not 2"):
        layer(gc.ones((5, 2, 3)), gc.ones((3, 1, 2, 4)))
    with pytest.raises(ShapeError, match="neither a sequence nor a batch"):
        layer(gc.ones(3))
    with pytest.raises(ArgumentError, match="tanh or relu"):
        nn.RNN(3, 4, nonlinearity="sin")


def test_the_examples_in_docstrings_run():
    failed, tried = doctest.testmod(recurrent)
    assert tried and not failed


@pytest.mark.parametrize("kind", KINDS)
def test_torch_has_the_same_values_and_gradients(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    theirs = getattr(torch.nn, kind)(5, 7, num_layers=2, bidirectional=True, batch_first=True)
    ours = getattr(nn, kind)(5, 7, num_layers=2, bidirectional=True, batch_first=True)
    ours.load_state_dict({name: p.detach().numpy() for name, p in theirs.named_parameters()})
    x = normal(3, 9, 5).astype(np.float32)
    given, place = torch.tensor(x, requires_grad=True), nn.parameter(x)
    (theirs(given)[0] ** 2).sum().backward()
    (ours(place)[0] ** 2).sum().backward()
    np.testing.assert_allclose(ours(place)[0].detach().numpy(), theirs(given)[0].detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(place.grad.numpy(), given.grad.numpy(), atol=1e-4)
    parameters = dict(ours.named_parameters())
    for name, p in theirs.named_parameters():
        np.testing.assert_allclose(parameters[name].grad.numpy(), p.grad.numpy(), atol=1e-4, err_msg=name)
