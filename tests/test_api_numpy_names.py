"""Functions that NumPy has beyond the Array API, all composites, on the reference: the same calls to both."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, sample

import graphc as gc

X = sample((5, 6), "float64", special=True)
X[np.isinf(X)] = 0.5
X[:, 3] = np.nan
CALLS = {
    **{f"{name} {axis}": lambda np, x, name=name, axis=axis: getattr(np, name)(x, axis=axis)
       for name in ("nanvar", "nanstd", "nanmedian") for axis in (None, 0, 1)},
    "nanvar with ddof": lambda np, x: np.nanvar(x, axis=1, ddof=1, keepdims=True),
    "nanvar of complex numbers": lambda np, x: np.nanvar(x + 1j * x[::-1], axis=1),
    "nanstd of half": lambda np, x: np.nanstd(x.astype("float16"), axis=1),
    "nanquantile": lambda np, x: np.nanquantile(x, [0.1, 0.5, 0.77, 1.0], axis=1),
    "nanpercentile": lambda np, x: np.nanpercentile(x, 30, axis=0, keepdims=True),
    "nanmedian of integers": lambda np, x: np.nanmedian(np.asarray([3, 1, 2])),
    "fliplr": lambda np, x: np.fliplr(x), "flipud": lambda np, x: np.flipud(x),
    **{f"rot90 {k}": lambda np, x, k=k: np.rot90(x, k) for k in (-1, 0, 1, 2, 3, 5)},
    "rot90 axes": lambda np, x: np.rot90(np.stack([x, x]), 1, (2, 0)),
    "column_stack": lambda np, x: np.column_stack([x[:, 0], x, x[:, 1]]),
    "dstack": lambda np, x: np.dstack([x, x * 2]), "dstack of vectors": lambda np, x: np.dstack([x[0], x[1]]),
    "append": lambda np, x: np.append(x, [[1, 2]]), "append rows": lambda np, x: np.append(x, x[:2], 0),
    "select": lambda np, x: np.select([x < 0, x < 0.5], [x, x * 2], 7.0),
    "triu_indices": lambda np, x: np.stack(np.triu_indices(4, 1, 6)),
    "tril_indices": lambda np, x: np.stack(np.tril_indices(4, -1)),
    "unravel_index": lambda np, x: np.stack(np.unravel_index(np.asarray([0, 7, 23]), (2, 3, 4))),
    "ravel_multi_index": lambda np, x: np.ravel_multi_index((np.asarray([0, 1]), np.asarray([2, 0])), (2, 3)),
    "trapezoid": lambda np, x: np.trapezoid(x), "trapezoid along 0": lambda np, x: np.trapezoid(x, None, 0.5, 0),
    "trapezoid over x": lambda np, x: np.trapezoid(x, np.cumsum(np.ones(6))),
    "trapezoid of one": lambda np, x: np.trapezoid(x[:, :1]), "trapezoid of none": lambda np, x: np.trapezoid(x[:, :0]),
    **{f"{name} {n}": lambda np, x, name=name, n=n: getattr(np, name)(n)
       for name in ("hanning", "hamming", "blackman") for n in (0, 1, 2, 9)},
    **{f"{name} {axis}": lambda np, x, name=name, axis=axis: getattr(np, name)(x[:, :3], axis=axis)
       for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod") for axis in (None, 0, 1)},
    "block": lambda np, x: np.block([[x, x[:, :2]], [x[:1], np.ones((1, 2))]]),
    "block of vectors": lambda np, x: np.block([x[0], x[1, :2]]),
    "block of ranks": lambda np, x: np.block([[x[0]], [x[1:3]]]),
    "diagflat": lambda np, x: np.diagflat(x[:2, :2], -1),
    "hsplit": lambda np, x: np.hsplit(x, 3)[1], "hsplit of a vector": lambda np, x: np.hsplit(x[0], [2, 5])[1],
    "vsplit": lambda np, x: np.vsplit(x, [1, 3])[2],
    "polyval": lambda np, x: np.polyval(np.asarray([1.0, -2.0, 0.5]), x), "sinc": lambda np, x: np.sinc(x),
    **{f"{name} where {axis}": lambda np, x, name=name, axis=axis: getattr(np, name)(x, axis=axis, where=x > 0.1)
       for name in ("sum", "prod", "mean", "any", "all", "var", "std") for axis in (None, 0, (0, 1))},
    **{f"{name} from {initial}": lambda np, x, name=name, initial=initial:
       getattr(np, name)(x, axis=1, keepdims=True, initial=initial, where=x[0] < 0)
       for name in ("sum", "prod", "max", "min") for initial in (0.25, -9)},
    "max of none": lambda np, x: np.max(x[:0], axis=0, initial=2.0),
    "sum of integers where": lambda np, x: np.sum(np.asarray([1, 2, 3]), where=np.asarray([True, False, True])),
    "var of complex numbers where": lambda np, x: np.var(x + 1j * x[::-1], axis=1, where=x > -0.5, ddof=1),
    **{name: lambda np, x, name=name: getattr(np, name)(np.asarray([3, 1, 5, 1]), np.asarray([[5, 2], [2, 9]]))
       for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")},
    **{f"cond {p}": lambda np, x, p=p: np.linalg.cond(x[:3, :3] + np.eye(3), p) for p in (None, 1, "fro", -2)},
}


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_numpy_gives(call):
    x = X if "nan" in next(name for name, c in CALLS.items() if c is call) else np.nan_to_num(X)
    with gc.backend("reference"):
        check(call(gc, gc.asarray(x)), call(np, x))


def test_refusals():
    with pytest.raises(ValueError, match="give initial"):
        gc.max(gc.zeros(3), where=gc.zeros(3) > 0)
    with pytest.raises(TypeError, match="a mask of bool"):
        gc.sum(gc.zeros(3), where=gc.zeros(3))
    with pytest.raises(ValueError, match="lists of depths"):
        gc.block([gc.zeros(2), [gc.zeros(2)]])
    with pytest.raises(ValueError, match="axis must be given"):
        gc.cumulative_max(gc.zeros((2, 2)))
    with pytest.raises(IndexError):
        gc.realize(*gc.unravel_index(gc.asarray([6]), (2, 3)))
    with pytest.raises(ValueError, match="2 conditions and 1 choices"):
        gc.select([True, False], [1])
    with pytest.raises(gc.linalg.LinAlgError):
        gc.linalg.inv(gc.zeros((2, 2))).numpy()


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("shape", [(1,), (0, 3), (7, 5), (3, 130)])
def test_running_extrema(shape, dtype):
    x = sample(shape, dtype, special=dtype == "float32")
    for name, accumulate in (("cumulative_max", np.maximum.accumulate), ("cumulative_min", np.minimum.accumulate)):
        for axis in range(len(shape)):
            found = getattr(gc, name)(gc.asarray(x), axis=axis)
            check(found, accumulate(x, axis=axis) if x.size else x)
            with gc.backend("reference"):
                check(getattr(gc, name)(gc.asarray(x), axis=axis), found.numpy())


def test_gradients_where_there_are_many_take_that_of_pytorch():
    """The norm of zeros, the deviation of a constant: 0, not NaN. In a running maximum each element has its share."""
    zeros = gc.zeros((2, 3))
    for f in (lambda x: gc.linalg.norm(x), lambda x: gc.sum(gc.linalg.vector_norm(x, axis=1)), gc.std,
              lambda x: gc.linalg.vector_norm(x, ord=3), lambda x: gc.sum(gc.std(x + 5, axis=0, correction=1))):
        assert gc.grad(f)(zeros).tolist() == [[0.0] * 3] * 2
    mixed = gc.grad(lambda x: gc.sum(gc.linalg.vector_norm(x, axis=1)))(gc.asarray([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(mixed.numpy(), [[0, 0], [0.6, 0.8]], rtol=1e-6)
    weights = gc.asarray([1.0, 10.0, 100.0, 1000.0])
    found = gc.grad(lambda x: gc.sum(gc.cumulative_max(x) * weights))(gc.asarray([2.0, 1.0, 5.0, 4.0]))
    assert found.tolist() == [11.0, 0.0, 1100.0, 0.0]
