"""Arguments of NumPy's functions beyond the commonest, on the reference: the same calls to both."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, raises, sample

import graphc as gc

X = sample((5, 6), "float64")
METHODS = ("linear lower higher nearest midpoint inverted_cdf averaged_inverted_cdf closest_observation"
           " interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased").split()
WEIGHTS = {"none": {}, "counts": {"fweights": [3, 1, 2, 1, 4, 1]}, "shares": {"aweights": [0.5, 1, 2, 0.25, 1, 1]}}
WEIGHTS["both"] = WEIGHTS["counts"] | WEIGHTS["shares"]
CALLS = {
    **{f"{name} {kind}": lambda np, x, name=name, kind=kind: getattr(np, name)(np.round(x), axis=0, kind=kind)
       for name, kind in (("sort", "quicksort"), ("sort", "stable"), ("argsort", "mergesort"))},
    "sort heapsort": lambda np, x: np.sort(x, 1, "heapsort"), "argsort stable": lambda np, x: np.argsort(
        np.round(x), 0, "stable"),
    **{f"quantile {method} of {n}": lambda np, x, method=method, n=n:
       np.quantile(x.ravel()[:n], [0.0, 0.1, 0.25, 0.3, 0.5, 0.625, 0.9, 1.0], method=method)
       for method in METHODS for n in (1, 4, 5, 10)},
    **{f"nanquantile {method}": lambda np, x, method=method: np.nanquantile(
        np.where(x > 1, np.nan, x), [0.0, 0.25, 0.3, 0.5, 1.0], axis=1, method=method) for method in METHODS},
    "percentile": lambda np, x: np.percentile(x, 30, axis=0, method="nearest", keepdims=True),
    "nanpercentile": lambda np, x: np.nanpercentile(x, 30, method="higher"),
    **{f"take {mode} {axis}": lambda np, x, mode=mode, axis=axis:
       np.take(x, np.asarray([[7, -1], [-13, 2]]), axis=axis, mode=mode)
       for mode in ("wrap", "clip") for axis in (None, 1)},
    **{f"reshape {order}": lambda np, x, order=order: x.reshape((3, 2, -1), order=order) for order in "CF"},
    "reshape as a function": lambda np, x: np.reshape(x, (10, 3), order="F"),
    "reshape by sizes": lambda np, x: x.reshape(2, -1, order="F"),
    "ravel": lambda np, x: np.ravel(x, order="F"), "flatten": lambda np, x: x.flatten("F"),
    **{f"unique along {axis} {k}": lambda np, x, axis=axis, k=k: np.unique(
        np.asarray([[2, 1, 2], [1, 3, 1], [2, 1, 2]]), True, True, True, axis=axis)[k]
       for axis in (0, 1, -1) for k in range(4)},
    "unique columns alone": lambda np, x: np.unique(np.round(x), axis=1),
    **{f"cov {name} {ddof}": lambda np, x, options=options, ddof=ddof: np.cov(x, ddof=ddof, **options)
       for name, options in WEIGHTS.items() for ddof in (None, 0, 1)},
    "cov of complex numbers": lambda np, x: np.cov(x + 1j * x[::-1], **WEIGHTS["both"]),
    "cov of one variable": lambda np, x: np.cov(x[0], bias=True, **WEIGHTS["counts"]),
    **{f"gradient {order} {k}": lambda np, x, order=order, k=k: np.stack(np.gradient(x, *(
        [], [0.5], [2.0, np.cumsum(np.arange(6) + 1.0)])[k], edge_order=order)) for order in (1, 2) for k in range(3)},
    **{f"meshgrid {indexing} {k}": lambda np, x, indexing=indexing, k=k: np.meshgrid(
        x[0], x[:, 0], x[0, :2], indexing=indexing, sparse=True)[k] for indexing in ("xy", "ij") for k in range(3)},
    **{f"linspace step {k}": lambda np, x, k=k, options=options: np.asarray(np.linspace(1, 3, **options)[k])
       for k in (0, 1) for options in [{"num": 5, "retstep": True}]},
    "linspace without an end": lambda np, x: np.asarray(np.linspace(1, 3, 4, endpoint=False, retstep=True)[1]),
    "linspace of one": lambda np, x: np.asarray(np.linspace(1, 3, 1, retstep=True)[1]),
    **{f"linspace of arrays {num} {endpoint}": lambda np, x, num=num, endpoint=endpoint: np.linspace(
        x[0], x[:2] * 0 + x[1], num, endpoint=endpoint) for num in (0, 1, 2, 7) for endpoint in (True, False)},
    "linspace along the last": lambda np, x: np.linspace(x[0], 3, 4, axis=-1),
    "linspace of lists": lambda np, x: np.linspace([0, 10], [1, 10], 3, dtype="int64"),
    "linspace of complex numbers": lambda np, x: np.linspace(x[0] * 1j, 1, 4),
    "step of arrays": lambda np, x: np.linspace(x[0], x[1], 4, retstep=True)[1],
    **{f"average {k}": lambda np, x, k=k, options=options: np.stack(np.average(x, returned=True, **options))
       for k, options in enumerate([{}, {"axis": 1}, {"axis": 1, "weights": [1.0, 2, 3, 4, 0, 1]},
                                    {"axis": 0, "weights": [1.0, 2, 3, 4, 0], "keepdims": True}])},
    **{f"intersect1d {k}": lambda np, x, k=k: np.intersect1d(
        np.asarray([3, 1, 1, 7]), np.asarray([1, 2, 7, 7]), return_indices=True)[k] for k in range(3)},
    **{f"einsum {optimize}": lambda np, x, optimize=optimize: np.einsum(
        "ij,kj,kl,lm->im", x, x[:4], x[:4], x.T, optimize=optimize)
       for optimize in (False, True, "greedy", "optimal", ["einsum_path", (2, 3), (0, 1), (0, 1)])},
    "einsum that broadcasts": lambda np, x: np.einsum("...i,ij,j->...", x, x[:1, :6].T, x[0, :1], optimize=True),
    "einsum of a diagonal": lambda np, x: np.einsum("ii,ij,jk", x[:, :5], x, x.T, optimize=True),
    **{f"histogram by the rule {rule} {k}": lambda np, x, rule=rule, k=k: np.histogram(x, bins=rule)[k]
       for rule in ("auto", "fd", "sqrt", "sturges") for k in (0, 1)},
    **{f"edges of {bins}": lambda np, x, bins=bins: np.histogram_bin_edges(x, bins, range=(-1, 1))
       for bins in (4, "scott")},
    **{f"pad {mode} {k}": lambda np, x, mode=mode, k=k, options=options: np.pad(x, ((2, 3), (0, 4)), mode, **options)
       for mode, several in (("maximum", [{}, {"stat_length": 2}]), ("mean", [{}, {"stat_length": 2}]),
                             ("minimum", [{}, {"stat_length": ((1, 9), (2, 3))}]),
                             ("linear_ramp", [{}, {"end_values": ((1, -2), (3, 0.5))}]))
       for k, options in enumerate(several)},
    **{f"pad integers by {mode}": lambda np, x, mode=mode: np.pad(np.asarray([[3, 8, 4], [1, 2, 9]]), 2, mode)
       for mode in ("mean", "linear_ramp", "maximum")},
    **{f"{name}.outer": lambda np, x, name=name: getattr(np, name).outer(x[0], x[:2]) for name in (
        "add", "multiply", "maximum", "less", "logical_or", "hypot")},
    **{f"{name}.reduce {axis}": lambda np, x, name=name, axis=axis:
       getattr(np, name).reduce(x, axis=axis, keepdims=True)
       for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or") for axis in (0, 1, None)},
    **{f"{name}.accumulate {axis}": lambda np, x, name=name, axis=axis: getattr(np, name).accumulate(x, axis)
       for name in ("add", "multiply", "maximum", "minimum") for axis in (0, 1)},
    "reduce by itself": lambda np, x: np.add.reduce(x) + np.maximum.accumulate(x),
    "einsum by lists": lambda np, x: np.einsum(x, [0, 1], x.T, [1, 2], [2, 0]),
    "einsum by lists without a result": lambda np, x: np.einsum(x, [30, 2], x.T, [2, 1]),
    "einsum by lists with an ellipsis": lambda np, x: np.einsum(x, [Ellipsis, 1], x[0], [1], [Ellipsis]),
}


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_numpy_gives(call):
    with gc.backend("reference"):
        check(call(gc, gc.asarray(X)), call(np, X))


def test_refusals():
    x = gc.ones((3, 3))
    raises(ValueError, "there is no kind 'bubble' of sorting", gc.sort, x, kind="bubble")
    raises(ValueError, "use one of linear, lower", gc.quantile, x, 0.5, method="middle")
    raises(ValueError, "there is no mode 'edge'", gc.take, x, 0, mode="edge")
    raises(IndexError, "index 4 is out of range", gc.take, x, [4], axis=1, mode="raise")
    for call in (x.reshape, gc.ravel, x.flatten):
        arguments = [(9,)] if call == x.reshape else [x] if call is gc.ravel else []
        raises(ValueError, "order must be 'C' or 'F', not 'K'", call, *arguments, order="K")
    raises(ValueError, "weights of shape (2,) do not fit 3 observations", gc.cov, x, aweights=[1.0, 2.0])
    raises(TypeError, "fweights must be integers", gc.cov, x, fweights=[1.0, 2.0, 3.0])
    raises(ValueError, "use constant, edge, reflect, symmetric, wrap, maximum, ", gc.pad, x, 1, mode="best")
    raises(ValueError, "mode 'mean' has nothing to take", gc.pad, gc.ones((0, 2)), 1, mode="mean")
    raises(ValueError, "stat_length must be positive, not 0", gc.pad, x, 1, mode="mean", stat_length=0)
    raises(TypeError, "gc.bincount(labels, weights=x)", gc.add.reduceat, x, [0, 2])
    raises(TypeError, "functools.reduce(gc.bitwise_xor, gc.unstack(x))", gc.bitwise_xor.reduce, x)
    raises(TypeError, "itertools.accumulate(gc.unstack(x), gc.hypot)", gc.hypot.accumulate, x)
    for dtype in ("i4", np.int32, gc.int32):
        raises(TypeError, "gc.asarray(x.numpy().view(dtype)) for its bits", x.view, dtype)
    raises(ValueError, "edge_order must be 1 or 2", gc.gradient, x, edge_order=3)
    raises(ValueError, "give at least 3 samples", gc.gradient, x[:2], edge_order=2)
    raises(ValueError, "use True, False, 'greedy' or 'optimal'", gc.einsum, "ij,jk,kl", x, x, x, optimize="fast")
    for wrong in ((x, [0, 1], x), (x, [0, 1.5]), (x, "ij"), (x, [0, -1])):
        raises(TypeError, "a list of numbers after each operand", gc.einsum, *wrong)


def test_what_is_new_is_recorded():
    """Under jit, and with gradients."""
    x = gc.asarray(X)
    for f in (lambda x: gc.quantile(x, 0.3, axis=1, method="hazen"), lambda x: x.reshape(10, 3, order="F"),
              lambda x: gc.cov(x, aweights=x[0] ** 2), lambda x: gc.linspace(x[0], x[1], 4),
              lambda x: gc.gradient(x, edge_order=2)[1], lambda x: gc.einsum("ij,kj,kl->il", x, x, x, optimize=True),
              lambda x: gc.take(x, [9, -9], axis=0, mode="wrap")):
        check(gc.jit(f)(x), f(x).numpy())
        assert gc.any(gc.grad(lambda x, f=f: gc.sum(f(x) ** 2))(x) != 0)


@pytest.mark.parametrize("name", [
    *"exp sqrt add maximum hypot equal logical_and logical_not floor isnan abs negative square pow clip conj".split()])
def test_what_an_elementwise_function_does_not_take(name):
    x = gc.asarray([1.0, 2.0])
    operands = (x,) if name in "exp sqrt logical_not floor isnan abs negative square clip conj".split() else (x, x)
    function = getattr(gc, name)
    for option, text in (("out", f"y[...] = gc.{name}(...)"), ("where", f"gc.where(mask, gc.{name}(...), "),
                         ("dtype", f"gc.{name}(...).astype(dtype)"), ("casting", "there is no argument 'casting'")):
        raises(TypeError, text, function, *operands, **{option: x})
