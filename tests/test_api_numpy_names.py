"""Functions that NumPy has beyond the Array API, all composites, on the reference: the same calls to both."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from api_compare import check, sample
from test_gradients import check as check_gradient

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
    **{f"unravel_index {order} {k}": lambda np, x, order=order, places=places: np.stack(np.unravel_index(
        np.asarray(places, dtype="int16"), np.asarray([2, 3, 4]), order=order))
       for order in "CF" for k, places in enumerate([[0, 7, 23], [[5], [1]], 9, []])},
    "unravel_index of one axis": lambda np, x: np.unravel_index(np.asarray([2, 0]), 3)[0],
    **{f"ravel_multi_index {mode} {order}": lambda np, x, mode=mode, order=order: np.ravel_multi_index(
        (np.asarray([7, -1, -9, 1]), np.asarray([[2], [-4]])), (3, 4), mode=mode, order=order)
       for mode in ("wrap", "clip", ("wrap", "clip"), ["clip", "wrap"]) for order in "CF"},
    "ravel_multi_index of rows": lambda np, x: np.ravel_multi_index(np.asarray([[0, 1], [2, 0]]), (2, 3), order="F"),
    "ravel_multi_index of nothing": lambda np, x: np.ravel_multi_index((np.asarray([], int),) * 2, (2, 3)),
    **{f"{name}.reduce {k}": lambda np, x, name=name, values=values, options=options:
       getattr(np, name).reduce(np.asarray(*values), **options)
       for name in ("gcd", "lcm") for k, (values, options) in enumerate([
           (([4, 6, 10, 9, 3],), {}), (([[12, -8], [6, 4], [9, 10]], "int8"), {"keepdims": True}),
           (([[12, 8, 4], [6, 4, 2]], "uint8"), {"axis": -1}), (([-4],), {}), (([[], []], "int32"), {"axis": 0})])},
    "gcd.reduce of all": lambda np, x: np.gcd.reduce(np.asarray([[12, 8], [6, 4]]), axis=(0, 1)),
    "gcd.reduce of none": lambda np, x: np.gcd.reduce(np.asarray([[], []], "int32"), axis=1),
    **{f"sparse indices {k}": lambda np, x, k=k: np.indices((2, 3, 4), "int16", sparse=True)[k] for k in range(3)},
    "polymul by none": lambda np, x: np.polymul([1], []), "polymul of none": lambda np, x: np.polymul([], []),
    "polymul of no integers": lambda np, x: np.polymul(np.asarray([], "int32"), np.asarray([1, 2], "int32")),
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
    **{f"insert {k}": lambda np, x, arguments=arguments: np.insert(x, *arguments[:-1], axis=arguments[-1])
       for k, arguments in enumerate([(2, 7.0, None), (2, 7.0, 1), (-1, [1, 2, 3, 4, 5], 1), ([1], [[1, 2]] * 5, 1),
                                      (1, [[1] * 5, [2] * 5], 1), ([5, 0, 0, 2], [1, 2, 3, 4], 1), ([], 9, 1),
                                      (slice(0, 6, 2), 9, 1), (np.array([True, False] * 3), 8, 1),
                                      ([1, 2], [3, 4], None)])},
    "insert into integers": lambda np, x: np.insert(np.asarray([1, 2], "int32"), 1, 9.7),
    **{f"delete {k}": lambda np, x, arguments=arguments: np.delete(x, *arguments) for k, arguments in enumerate([
        (2,), ([0, -1, 3], 1), (slice(1, None, 2), 1), ([True, False] * 3, 1), ([], 0), (list(range(0, 30, 2)),),
        (np.arange(24), None)])},
    **{f"unwrap {k}": lambda np, x, options=options: np.unwrap(x * 9, **options)
       for k, options in enumerate([{}, {"axis": 0}, {"discont": 5.0}, {"period": 3.5}])},
    **{f"unwrap {n} samples": lambda np, x, n=n: np.unwrap(x[:, :n]) for n in (0, 1)},
    **{f"unwrap integers by {n}": lambda np, x, n=n: np.unwrap(np.asarray([0, 2, 3, -2, 9, 1]), period=n)
       for n in (4, 5)},
    "unwrap half a turn": lambda np, x: np.unwrap(np.asarray([0.0, np.pi, 2 * np.pi, np.pi])),
    "lexsort": lambda np, x: np.lexsort((np.asarray([1, 5, 1, 4, 3, 4, 4]), np.asarray([9, 4, 0, 4, 0, 2, 1]))),
    "lexsort along 0": lambda np, x: np.lexsort((np.round(x), np.round(x[::-1] / 2)), axis=0),
    "lexsort of rows": lambda np, x: np.lexsort(np.round(x)),
    "partition": lambda np, x: np.partition(x, 2)[:, 2], "argpartition": lambda np, x: np.argpartition(x, 2, axis=0)[2],
    **{f"{name} {k}": lambda np, x, name=name, pair=pair: getattr(np, name)(*map(np.asarray, pair))
       for name in ("gcd", "lcm") for k, pair in enumerate([([12, -9, 0, 0], [18, 6, 5, 0]), (7, [[21], [14]]),
                                                            ([2**40 * 9, 4], [2**20 * 6, 2**30])])},
    "gcd of the least": lambda np, x: np.gcd(np.asarray([-2**63, 2**62]), 6),
    "gcd of bytes": lambda np, x: np.gcd(np.asarray([-128, 12], "int8"), 6),
    "bitwise_count": lambda np, x: np.bitwise_count(np.asarray([-2**63, 12, 2**63 - 1, 0, -1])),
    **{f"histogram2d {k}": lambda np, x, k=k, options=options: np.histogram2d(x[0], x[1], **options)[k]
       for k, options in enumerate([{}, {"bins": [3, [-2.0, 0, 1, 2]]}, {"bins": 4, "range": [[-1, 1], [-2, 2]]}])},
    "histogram2d weighted": lambda np, x: np.histogram2d(x[0], x[1], 3, weights=x[2])[0],
    "histogram2d as a density": lambda np, x: np.histogram2d(x[0], x[1], [-1.0, 0, 0.5, 2], density=True)[0],
    "histogramdd": lambda np, x: np.histogramdd(x[:, :3], (2, 3, 4))[0],
    **{f"multi_dot {k}": lambda np, x, of=of: np.linalg.multi_dot(of(x)) for k, of in enumerate(
        [lambda x: [x, x.T], lambda x: [x, x.T, x, x[0]], lambda x: [x[:, 0], x, x[0]], lambda x: [x.T, x, x.T, x]])},
    "polyfit": lambda np, x: np.polyfit(x[0], x[1], 3), "polyfit of several": lambda np, x: np.polyfit(x[0], x.T, 2),
    "polyfit weighted": lambda np, x: np.polyfit(x[0], x[1], 2, w=abs(x[2])),
    "polyfit with covariance": lambda np, x: np.polyfit(x[0], x[1], 2, cov=True)[1],
    "polyfit unscaled": lambda np, x: np.polyfit(x[0], x.T, 2, cov="unscaled")[1],
    "polyfit of several with covariance": lambda np, x: np.polyfit(x[0], x.T, 2, cov=True)[1],
    "vander": lambda np, x: np.vander(x[0], 3), "vander rising": lambda np, x: np.vander(x[0], increasing=True),
    "polyder": lambda np, x: np.polyder(x[0], 2), "polyint": lambda np, x: np.polyint(x[0], 2, [1, 2]),
    "polymul": lambda np, x: np.polymul(x[0], x[1, :3]), "polysub": lambda np, x: np.polysub(x[0], x[1, :3]),
    "polysub of unsigned": lambda np, x: np.polysub(
        np.asarray([3, -1]), np.asarray(np.asarray([5, 7]), dtype=np.uint32)),
    "vander of bytes": lambda np, x: np.vander(np.asarray(np.asarray([100, 3]), dtype=np.int8), 3),
    "select by name": lambda np, x: np.select([x > 0, x < -1], [x, -x], default=7),
    "trapezoid by name": lambda np, x: np.trapezoid(x[0], x=x[1]),
    "roots": lambda np, x: np.sort(abs(np.roots(np.concat([np.zeros(1), x[0], np.zeros(2)])))),
    "roots of one": lambda np, x: np.roots(np.asarray([2.0, 4.0])).real, "no roots": lambda np, x: np.roots(
        np.asarray([0.0, 3.0])).real,
    "cbrt": lambda np, x: np.cbrt(np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1e300, -64])),
    "modf": lambda np, x: np.stack(np.modf(np.asarray([1.25, -2.5, np.inf, -np.inf, np.nan, -3.0, -0.0]))),
    "logaddexp2": lambda np, x: np.logaddexp2(x, np.asarray([np.inf, -np.inf, 1.0, 2.0, 900.0, -900.0])),
    "float_power": lambda np, x: np.float_power(np.asarray([2, 4]), -1), "fabs": lambda np, x: np.fabs(x),
    "fix": lambda np, x: np.fix(x * 3), "around": lambda np, x: np.around(x, 1), "amax": lambda np, x: np.amax(x, 0),
    "indices": lambda np, x: np.indices((2, 3)), "ix_": lambda np, x: x[np.ix_([0, 2], [True, False] * 3)],
    "diag_indices": lambda np, x: np.stack(np.diag_indices(3)), "bartlett": lambda np, x: np.bartlett(6),
    **{f"atleast_3d {n}": lambda np, x, n=n: np.atleast_3d([np.asarray(3.0), x[0], x, np.stack([x, x])][n])
       for n in range(4)},
    "dsplit": lambda np, x: np.dsplit(np.stack([x, x, x], -1), 3)[1],
    "tensorsolve": lambda np, x: np.linalg.tensorsolve(
        np.moveaxis((np.eye(30) + 0.1).reshape(5, 6, 30), -1, 0), x, (0,)),
    "tensorinv": lambda np, x: np.linalg.tensorinv(np.eye(30).reshape(5, 6, 30) + 0.1),
    **{f"cond {p}": lambda np, x, p=p: np.linalg.cond(x[:3, :3] + np.eye(3), p) for p in (None, 1, "fro", -2)},
    **{f"cond of the singular {p}": lambda np, x, p=p: np.linalg.cond(np.stack([np.ones((3, 3)), x[:3, :3] + np.eye(3)])
                                                                     * np.asarray([0.0, 1.0])[:, None, None], p)
       for p in (None, 1, "fro")},
    **{f"{name} of nan": lambda np, x, name=name: getattr(np, name)(x[:2], x[1:4] + np.asarray([np.nan, 0] * 3))
       for name in ("union1d", "setdiff1d", "setxor1d")},
    "intersect1d of dtypes": lambda np, x: np.intersect1d(np.asarray([1, 2]), np.asarray([2.0, 0.5])),
}


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_numpy_gives(call):
    x = X if "nan" in next(name for name, c in CALLS.items() if c is call) else np.nan_to_num(X)
    with gc.backend("reference"):
        check(call(gc, gc.asarray(x)), call(np, x))


def test_arguments_that_do_not_fit():
    x = gc.zeros((2, 3))
    for error, text, call in (
            (IndexError, "position 4 is out of range for an axis of 3", lambda: gc.insert(x, 4, 0, axis=1)),
            (IndexError, "position 3 is out of range", lambda: gc.delete(x, [0, 3], axis=1)),
            (TypeError, "positions are integers", lambda: gc.delete(x, 1.5)),
            (ValueError, r"a mask of shape \(2,\)", lambda: gc.delete(x, [True, False])),
            (ValueError, "do not fit into shape", lambda: gc.insert(x[0], 1, x)),
            (ValueError, "arrays of one shape", lambda: gc.lexsort([x, x[0]])),
            (ValueError, "kth is 7", lambda: gc.partition(x, 7)),
            (TypeError, "needs integers, not float64", lambda: gc.gcd(x, 2)),
            (TypeError, "needs integers", lambda: gc.bitwise_count(x)),
            (ValueError, "bins and a range for each axis", lambda: gc.histogramdd(x, [2, 2])),
            (ValueError, "at least two matrices", lambda: gc.linalg.multi_dot([x])),
            (ValueError, "not square", lambda: gc.linalg.expm(x)),
            (ValueError, "no polynomial of degree", lambda: gc.polyfit(x[0], x[0, :2], 1)),
            (ValueError, "do not scale the covariance", lambda: gc.polyfit(x[0], x[0], 2, cov=True)),
            (RuntimeError, "outside of the traced function", lambda: gc.jit(gc.roots)(gc.ones(3)))):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 30.0])
def test_the_exponential_of_matrices(size):
    x = sample((2, 4, 4)) * size * np.array([[[-1.0]], [[0.1]]])
    with gc.backend("reference"):
        found = gc.linalg.expm(gc.asarray(x))
        np.testing.assert_allclose(found.numpy(), scipy.linalg.expm(x), rtol=0, atol=1e-11 * found.numpy().max())
        z = x[0] * (0.3 + 1j)
        np.testing.assert_allclose(gc.linalg.expm(gc.asarray(z)).numpy(), scipy.linalg.expm(z), rtol=1e-9, atol=1e-11)


def test_the_exponential_of_other_matrices():
    with gc.backend("reference"):
        half = gc.linalg.expm(gc.asarray([[0.0, 1.0], [0.0, 0.0]], dtype="float16"))
        assert half.dtype == gc.float16 and half.tolist() == [[1, 1], [0, 1]]
        assert gc.linalg.expm(gc.zeros((3, 0, 0))).shape == (3, 0, 0)
        for wrong in (1e9, np.nan, np.inf):
            assert np.isnan(gc.linalg.expm(gc.asarray([[wrong, 0.0], [0.0, 1.0]])).numpy()).all()
        x = sample((3, 3))
        check(gc.jit(gc.linalg.expm)(gc.asarray(x)), scipy.linalg.expm(x))
        check(gc.vmap(gc.linalg.expm)(gc.asarray([x, x * 9])), scipy.linalg.expm(np.stack([x, x * 9])))


COMPOSITES = {
    "insert": lambda x: gc.insert(x, [1, 3, 3], gc.stack([x[:, 0], x[:, 2], x[:, 1]], 1), axis=1),
    "delete": lambda x: gc.delete(x, [1, 3], axis=1), "unwrap": lambda x: gc.unwrap(x * 9),
    "expm": lambda x: gc.linalg.expm(x[:, :4]), "multi_dot": lambda x: gc.linalg.multi_dot([x, x.T, x, x[0]]),
    "polyfit": lambda x: gc.polyfit(x[0], x[1], 2), "cbrt": gc.cbrt, "logaddexp2": lambda x: gc.logaddexp2(x, x.T[0]),
    "polyint": lambda x: gc.polyint(x[0], 2), "roots of squares": lambda x: gc.polymul(x[0], x[1]),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_have_gradients_and_batches(name):
    f, x = COMPOSITES[name], sample((4, 5), seed=3)[:, :5]
    x = x[:, :4] if name == "logaddexp2" else x
    with gc.backend("reference"):
        check_gradient(f, x, second=False, rtol=1e-5)
        check(gc.jit(f)(gc.asarray(x)), f(gc.asarray(x)).numpy())
        batch = np.stack([x, x[::-1]])
        check(gc.vmap(f)(gc.asarray(batch)), np.stack([f(gc.asarray(row)).numpy() for row in batch]))


@pytest.mark.parametrize("choices, default", [
    (("int8", "bool"), 0), (("bool", "uint8"), 3), (("float32", 1.5), 0), (("uint64", "bool"), 1), ((2.5, "int16"), 0),
    (("bool", "float32"), 2), ((1, "complex64"), 0.5)])
def test_the_dtype_of_a_selection_is_that_of_all_choices(choices, default):
    """Python numbers are weak beside each of them, not beside the next one."""
    arrays = [np.asarray([0, 1, 1]).astype(c) if isinstance(c, str) else c for c in choices]
    arrays = [a - 1 + 2**63 if isinstance(a, np.ndarray) and a.dtype == np.uint64 else a for a in arrays]
    conditions = [np.asarray([True, True, False]), np.asarray([False, False, True])]
    want = np.select(conditions, arrays, default)
    found = gc.select(conditions, [gc.asarray(a) if isinstance(a, np.ndarray) else a for a in arrays], default)
    assert (found.dtype.name, found.tolist()) == (want.dtype.name, want.tolist())


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
    for negative in (-1, [0, -1], gc.asarray([-1]), gc.asarray([0, -1]) * 1):
        for call in (lambda x: gc.unravel_index(x, (2, 3)), lambda x: gc.ravel_multi_index((x, 0), (2, 3)),
                     lambda x: gc.ravel_multi_index((0, x), (2, 3), ("wrap", "raise"))):
            with pytest.raises(IndexError):
                found = call(negative)
                gc.realize(*(found if isinstance(found, tuple) else (found,)))
    with pytest.raises(ValueError, match="order must be 'C' or 'F'"):
        gc.unravel_index(0, (2, 3), order="K")
    with pytest.raises(ValueError, match=r"\[ravel_multi_index\] there is no mode 'edge'"):
        gc.ravel_multi_index((0, 1), (2, 3), mode="edge")
    with pytest.raises(ValueError, match="2 indices and 1 modes for 2 axes"):
        gc.ravel_multi_index((0, 1), (2, 3), mode=("wrap",))
    with pytest.raises(ValueError, match="of no elements there is no lcm"):
        gc.lcm.reduce(gc.zeros(0, dtype="int64"))
    with pytest.raises(TypeError, match="needs integers, not float64"):
        gc.gcd.reduce(gc.zeros(2))
    with pytest.raises(ValueError, match="2 conditions and 1 choices"):
        gc.select([True, False], [1])
    with pytest.raises(gc.linalg.LinAlgError):
        gc.linalg.inv(gc.zeros((2, 2))).numpy()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16", "bool"])
@pytest.mark.parametrize("shape", [(1,), (0, 3), (7, 5), (3, 130), (70_001,)])
def test_running_extrema(shape, dtype):
    x = sample(shape, dtype, special=dtype == "float32")
    for name, accumulate in (("cumulative_max", np.maximum.accumulate), ("cumulative_min", np.minimum.accumulate)):
        for axis in range(len(shape)):
            found = getattr(gc, name)(gc.asarray(x), axis=axis)
            check(found, accumulate(x, axis=axis) if x.size else x)
            with gc.backend("reference"):
                check(getattr(gc, name)(gc.asarray(x), axis=axis), found.numpy())


def test_running_extrema_of_zeros_and_in_one_kernel(compiled):
    x = np.array([-0.0, 0.0, -0.0, -1.0, np.nan, 3.0])
    for f, expected in ((gc.cumulative_max, [-0.0, 0, 0, 0, np.nan, np.nan]),
                        (gc.cumulative_min, [-0.0, -0.0, -0.0, -1, np.nan, np.nan])):
        check(f(gc.asarray(x)), np.array(expected), exact=True)
        assert len(gc.plan(f(gc.asarray(x) * 2) + 1).kernels) == 2
    with pytest.raises(gc.errors.DTypeError):
        gc.cumulative_max(gc.asarray([1j]))


def test_gradients_where_there_are_many_take_that_of_pytorch():
    """The norm of zeros, the deviation of a constant: 0, not NaN. In a running maximum the last of equals has all."""
    zeros = gc.zeros((2, 3))
    for f in (lambda x: gc.linalg.norm(x), lambda x: gc.sum(gc.linalg.vector_norm(x, axis=1)), gc.std,
              lambda x: gc.linalg.vector_norm(x, ord=3), lambda x: gc.sum(gc.std(x + 5, axis=0, correction=1))):
        assert gc.grad(f)(zeros).tolist() == [[0.0] * 3] * 2
    mixed = gc.grad(lambda x: gc.sum(gc.linalg.vector_norm(x, axis=1)))(gc.asarray([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(mixed.numpy(), [[0, 0], [0.6, 0.8]], rtol=1e-6)
    weights = gc.asarray([1.0, 10.0, 100.0, 1000.0])
    for x, expected in (([2.0, 1.0, 5.0, 4.0], [11, 0, 1100, 0]), ([2.0, 2.0, 1.0, 2.0], [1, 110, 0, 1000])):
        assert gc.grad(lambda x: gc.sum(gc.cumulative_max(x) * weights))(gc.asarray(x)).tolist() == expected
    rows = gc.asarray([[1.0, 3.0, 2.0], [4.0, 1.0, 5.0]])
    assert gc.grad(lambda x: gc.sum(gc.cumulative_min(x, axis=0)))(rows).tolist() == [[2, 1, 2], [0, 1, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_integers_larger_than_any_among_floats(dtype):
    x = np.array([1.0, 2.0], dtype)
    check(gc.insert(gc.asarray(x), 1, 10**20), np.insert(x, 1, 10**20), exact=True)
    check(gc.insert(gc.asarray(x), [0, 2], [10**20, 3]), np.insert(x, [0, 2], [1e20, 3]), exact=True)
    check(gc.polyval(gc.asarray(x), 10**20), np.polyval(x.astype(float), 1e20))
    with pytest.raises(OverflowError):
        gc.insert(gc.asarray([1], dtype="int8"), 0, 300)
