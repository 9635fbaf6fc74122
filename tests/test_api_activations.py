"""Activations, against formulas in float64, at ordinary and extreme values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from api_compare import check, raises, sample
from scipy import special

import graphc as gc

ROWS = np.concatenate([np.linspace(-9, 9, 31), [0.0, -0.0, 1e-4, -1e-4, 40.0, -40.0, 800.0, -800.0]])


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "sigmoid": special.expit,
    "log_sigmoid": special.log_expit,
    "silu": lambda x: x * special.expit(x),
    "gelu": lambda x: x * special.ndtr(x),
    "elu": elu,
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "softmax": lambda x: special.softmax(x, axis=-1),
    "log_softmax": lambda x: special.log_softmax(x, axis=-1),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name, dtype):
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = ROWS.astype(kind)
    found = getattr(gc, name)(gc.asarray(x))
    assert found.dtype.name == dtype and found.shape == x.shape
    expected = FORMULAS[name](x.astype(np.float64))
    rtol = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 4e-6, "float64": 1e-13}[dtype]
    # gelu is a small difference of large terms at -9; subnormals of the narrow types have few digits.
    atol = {"float16": 1e-5, "bfloat16": 1e-5, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), expected, rtol, atol)


@pytest.mark.parametrize("name", FORMULAS)
def test_integers_and_empty_arrays(name):
    assert getattr(gc, name)(gc.asarray([1, 2])).dtype == (gc.int64 if name in ("relu", "relu6") else gc.float64)
    if "softmax" not in name:
        assert np.asarray(getattr(gc, name)(gc.zeros((0, 3)))).shape == (0, 3)


def test_nan_stays():
    for name in FORMULAS:
        assert np.isnan(np.asarray(getattr(gc, name)(gc.asarray([float("nan")])))).all(), name


def test_gelu_by_tanh():
    check(gc.gelu(gc.asarray(ROWS), approximate="tanh"), gelu_tanh(ROWS))
    raises(ValueError, "approximate must be 'none' or 'tanh', not 'fast'", gc.gelu, gc.zeros(2), approximate="fast")


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (1, 2)])
def test_softmax_along_axes(axis):
    x = sample((3, 4, 5), "float32") * 50
    check(gc.softmax(gc.asarray(x), axis=axis), special.softmax(x, axis=axis))
    check(gc.log_softmax(gc.asarray(x), axis=axis), special.log_softmax(x, axis=axis))


def test_parameters():
    x = gc.asarray(ROWS)
    check(gc.leaky_relu(x, 0.2), np.where(ROWS > 0, ROWS, 0.2 * ROWS))
    check(gc.elu(x, 2.0), np.where(ROWS > 0, ROWS, 2 * np.expm1(np.minimum(ROWS, 0))))
    check(gc.softplus(x, 3.0), np.logaddexp(3 * ROWS, 0) / 3)
    check(gc.hardtanh(x, -2, 3), np.clip(ROWS, -2, 3))
    y = sample((3, 6))
    check(gc.glu(gc.asarray(y)), y[:, :3] * special.expit(y[:, 3:]))
    raises(ValueError, "has no two halves", gc.glu, gc.zeros((3, 5)))


def test_methods_are_the_functions():
    x = gc.asarray(ROWS)
    for name in ("relu", "sigmoid", "softmax", "log_softmax", "silu", "gelu"):
        assert getattr(x, name)().node is getattr(gc, name)(x).node


def test_one_hot():
    labels = np.array([[0, 2], [1, -1]])
    check(gc.one_hot(gc.asarray(labels), 3), np.eye(3)[labels])
    check(gc.one_hot(gc.asarray(labels), 3, dtype="int8"), np.eye(3, dtype=np.int8)[labels])
    with pytest.raises(IndexError, match="3 is out of"):
        gc.one_hot(gc.asarray([0, 3]), 3).numpy()
    raises(TypeError, "[one_hot] labels are integers, not float64", gc.one_hot, gc.zeros(2), 3)


def test_cross_entropy():
    x, labels = sample((6, 4)), np.array([0, 3, 1, 2, 2, 0])
    losses = -special.log_softmax(x, axis=1)[np.arange(6), labels]
    check(gc.cross_entropy(gc.asarray(x), gc.asarray(labels)), losses.mean())
    check(gc.cross_entropy(gc.asarray(x), gc.asarray(labels), reduction="none"), losses)
    check(gc.cross_entropy(gc.asarray(x.T), gc.asarray(labels), axis=0, reduction="sum"), losses.sum())
    check(gc.cross_entropy(gc.asarray(x), gc.asarray(np.eye(4)[labels])), losses.mean())
    raises(ValueError, "labels of shape (3,) do not fit", gc.cross_entropy, gc.asarray(x), gc.asarray([0, 1, 2]))
    with pytest.raises(IndexError, match="label 4 is none of 4 classes"):
        gc.cross_entropy(gc.asarray(x), gc.asarray(labels + 1)).numpy()


def test_a_parameter_may_be_a_tensor_or_a_number_of_a_traced_call():
    x, slope = gc.asarray([-2.0, 3.0]), gc.Tensor(0.5, requires_grad=True)
    gc.leaky_relu(x, slope).sum().backward()
    assert slope.grad.item() == -2.0
    traced = gc.jit(lambda x, a: gc.elu(gc.leaky_relu(gc.hardtanh(x, -a, a), a), a))
    for a in (0.5, 0.25):
        assert traced(x, a).tolist() == gc.elu(gc.leaky_relu(gc.hardtanh(x, -a, a), a), a).tolist()
    assert gc.softplus(gc.asarray([1.0], dtype="float32"), np.float64(2)).dtype is gc.float32
