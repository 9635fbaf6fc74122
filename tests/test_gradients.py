"""Gradients against finite differences in float64, first and second order, for every differentiable op and composite.

On the reference backend: a gradient is a graph like any other, whose kernels the other tests hold.
"""
from __future__ import annotations

import math

import numpy as np
import pytest

import graphc as gc
from graphc.ir import ops


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed).normal(size=shape)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed).uniform(0.4, 2.5, size=shape)


def inside(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed).uniform(-0.8, 0.8, size=shape)


def apart(*shape: int, seed: int = 0) -> np.ndarray:
    """Values no two of which are close, none of them near an integer."""
    n = int(np.prod(shape))
    return (rng(seed).permutation(n) - n / 2 + 0.37).reshape(shape) * 0.5


def complexes(*shape: int, seed: int = 0) -> np.ndarray:
    r = rng(seed)
    return r.normal(size=shape) + 1j * r.normal(size=shape)


def hermitian(n: int, complex_: bool = False) -> np.ndarray:
    a = complexes(n, n) if complex_ else normal(n, n)
    return a + a.conj().T + np.diag(np.arange(n) * 3.0)


def spread(m: int, n: int) -> np.ndarray:
    """A matrix whose singular values are well apart."""
    u, _ = np.linalg.qr(normal(m, m, seed=1))
    v, _ = np.linalg.qr(normal(n, n, seed=2))
    k = min(m, n)
    return u[:, :k] * (np.arange(k) + 1.5) @ v[:k]


def loss(f, *args):
    """A real number that depends on all results of f, with different weights."""
    results = f(*args)
    results = results if isinstance(results, (tuple, list)) else (results,)
    total = 0.0
    for k, y in enumerate(results):
        w = gc.asarray(rng(100 + k).normal(size=y.shape))
        if y.dtype.kind == "c":
            total = total + (gc.real(y) * w).sum() + (gc.imag(y) * (w + 0.5)).sum()
        else:
            total = total + (y * w).sum()
    return total


def directions(arrays):
    r = rng(7)
    return [r.normal(size=a.shape) + (1j * r.normal(size=a.shape) if a.dtype.kind == "c" else 0) for a in arrays]


def dot(gradients, vs):
    """The change of a real number along vs: dL/dRe and dL/dIm times their changes."""
    return sum(gc.real(gc.conj(g) * gc.asarray(v)).sum() if g.dtype.kind == "c" else (g * gc.asarray(v)).sum()
               for g, v in zip(gradients, vs, strict=True))


def numeric(value, arrays, vs, h=1e-5):
    """The directional derivative by a central difference of fourth order."""
    def at(t):
        return float(value(*(gc.asarray(a + t * v) for a, v in zip(arrays, vs, strict=True))))
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check(f, *arrays, second: bool = True, rtol: float = 1e-6):
    numbers = tuple(range(len(arrays)))
    vs = directions(arrays)

    def value(*args):
        return loss(f, *args)

    def slope(*args):
        return dot(gc.grad(value, numbers)(*args), vs)

    tensors = [gc.asarray(a) for a in arrays]
    assert float(slope(*tensors)) == pytest.approx(numeric(value, arrays, vs), rel=rtol, abs=rtol)
    if second:
        along = [gc.asarray(v) for v in directions(arrays)]
        found = float(dot(gc.grad(slope, numbers)(*tensors), [a.numpy() for a in along]))
        assert found == pytest.approx(numeric(slope, arrays, vs), rel=10 * rtol, abs=10 * rtol)


ELEMENTWISE = {
    "neg": (lambda x: -x, normal(3, 5)), "abs": (gc.abs, normal(3, 5)), "sqrt": (gc.sqrt, positive(5)),
    "exp": (gc.exp, normal(5)), "exp2": (gc.exp2, normal(5)), "expm1": (gc.expm1, normal(5)),
    "log": (gc.log, positive(5)), "log2": (gc.log2, positive(5)), "log10": (gc.log10, positive(5)),
    "log1p": (gc.log1p, positive(5)), "cbrt": (gc.cbrt, normal(5)), "sin": (gc.sin, normal(5)),
    "cos": (gc.cos, normal(5)),
    "tan": (gc.tan, inside(5)), "asin": (gc.asin, inside(5)), "acos": (gc.acos, inside(5)),
    "atan": (gc.atan, normal(5)), "sinh": (gc.sinh, normal(5)), "cosh": (gc.cosh, normal(5)),
    "tanh": (gc.tanh, normal(5)), "asinh": (gc.asinh, normal(5)), "acosh": (gc.acosh, positive(5) + 1.1),
    "atanh": (gc.atanh, inside(5)), "erf": (gc.erf, normal(5)),
    "add": (lambda a, b: a + b, normal(3, 1), normal(4, seed=1)),
    "sub": (lambda a, b: a - b, normal(3, 1), normal(4, seed=1)),
    "mul": (lambda a, b: a * b, normal(2, 3, 1), normal(3, 4, seed=1)),
    "div": (lambda a, b: a / b, normal(3, 1), positive(4)),
    "remainder": (lambda a, b: a % b, apart(6), positive(6)), "fmod": (gc.fmod, apart(6), positive(6)),
    "pow": (lambda a, b: a ** b, positive(4), normal(4)), "square": (lambda a: a ** 2, normal(4)),
    "cube": (lambda a: a ** 3, normal(4)), "atan2": (gc.atan2, positive(5), normal(5)),
    "hypot": (gc.hypot, positive(5), normal(5)), "maximum": (gc.maximum, apart(5), apart(5, seed=1) + 0.1),
    "minimum": (gc.minimum, apart(5), apart(5, seed=1) + 0.1), "copysign": (gc.copysign, normal(5), apart(5)),
    "where": (lambda a, b: gc.where(a > b, a * a, b * 3), apart(5), apart(5, seed=3)),
    "complex": (lambda a, b: gc.exp(gc.make_complex(a, b)), normal(4), normal(4, seed=1)),
    "astype": (lambda a: a.astype("complex128") * (1 + 2j), normal(4)),
    "logaddexp": (gc.logaddexp, normal(4), normal(4, seed=1)), "clip": (lambda a: gc.clip(a, -0.7, 0.7), apart(6)),
}
COMPLEX = {name: (f, complexes(4)) for name, f in {
    "exp": gc.exp, "log": gc.log, "sqrt": gc.sqrt, "sin": gc.sin, "cos": gc.cos, "tan": gc.tan, "sinh": gc.sinh,
    "cosh": gc.cosh, "tanh": gc.tanh, "asin": gc.asin, "acos": gc.acos, "atan": gc.atan, "asinh": gc.asinh,
    "acosh": gc.acosh, "atanh": gc.atanh, "abs": gc.abs, "sign": gc.sign, "conj": gc.conj, "real": gc.real,
    "imag": gc.imag, "angle": gc.angle, "square": gc.square, "log1p": gc.log1p, "expm1": gc.expm1,
    "reciprocal": gc.reciprocal, "sum": gc.sum, "prod": gc.prod, "cumsum": gc.cumsum, "cumprod": gc.cumprod}.items()}
COMPLEX |= {"mul": (lambda a, b: a * b, complexes(4), complexes(4, seed=1)),
            "div": (lambda a, b: a / b, complexes(4), complexes(4, seed=1)),
            "pow": (lambda a, b: a ** b, complexes(4), complexes(4, seed=1)),
            "matmul": (lambda a, b: a @ b, complexes(3, 4), complexes(4, 2, seed=1)),
            "mixed": (lambda a, b: a * b, normal(4), complexes(4, seed=1))}
MOVEMENT = {
    "reshape": (lambda x: x.reshape(6, 2), normal(3, 4)), "permute": (lambda x: x.permute(2, 0, 1), normal(2, 3, 4)),
    "expand": (lambda x: gc.broadcast_to(x, (5, 3, 4)), normal(3, 1)),
    "flip": (lambda x: gc.flip(x, axis=1), normal(3, 4)),
    "slice": (lambda x: x[1:, ::2], normal(3, 5)), "negative steps": (lambda x: x[::-2, 4:0:-3], normal(5, 6)),
    "pad": (lambda x: gc.pad(x, ((1, 2), (0, 3))), normal(3, 4)),
    "reflect": (lambda x: gc.pad(x, 2, "reflect"), normal(4, 5)),
    "concat": (lambda a, b: gc.concat([a, b, a], axis=1), normal(3, 2), normal(3, 4)),
    "stack": (lambda a, b: gc.stack([a, b], axis=1), normal(3, 2), normal(3, 2, seed=1)),
    "roll": (lambda x: gc.roll(x, 2, axis=0), normal(5, 2)),
    "repeat": (lambda x: gc.repeat(x, 3, axis=0), normal(4, 2)),
    "tile": (lambda x: gc.tile(x, (2, 3)), normal(2, 3)), "split": (lambda x: gc.split(x, 3), normal(6, 2)),
    "overlapping slices": (lambda x: (x[:4] * x[1:5], x[2:]), normal(6)), "tril": (gc.tril, normal(4, 4)),
    "windows": (lambda x: gc.sliding_window_view(x, 3), normal(7)),
    "many windows": (lambda x: gc.sliding_window_view(x, 40).sum(axis=0), normal(50)),
    "windows 2d": (lambda x: gc.sliding_window_view(x, (2, 3)), normal(5, 6)),
    "diagonal": (lambda x: x.diagonal(), normal(3, 4)), "trace": (gc.trace, normal(4, 4)),
}
REDUCTIONS = {
    f"{name} {axis}": (lambda x, f=f, axis=axis: f(x, axis=axis), apart(3, 4, 2))
    for name, f in {"sum": gc.sum, "mean": gc.mean, "max": gc.max, "min": gc.min, "prod": gc.prod, "var": gc.var,
                    "std": gc.std, "logsumexp": gc.logsumexp}.items() for axis in (None, 0, 1, -1, (0, 2))}
REDUCTIONS |= {
    "prod with zeros": (gc.prod, np.array([2.0, 0.0, 3.0])),
    "prod with two zeros": (gc.prod, np.array([0.0, 2.0, 0.0])),
    "cumsum": (lambda x: gc.cumsum(x, axis=1), normal(3, 4)),
    "cumprod": (lambda x: gc.cumprod(x, axis=0), normal(4, 3)),
    "cumprod with zeros": (gc.cumprod, np.array([2.0, 0.0, 3.0, 0.0, 1.5])),
    "softmax": (lambda x: gc.softmax(x), normal(3, 5)), "log_softmax": (lambda x: gc.log_softmax(x), normal(3, 5)),
    "median": (lambda x: gc.median(x, axis=1), apart(3, 5)), "sort": (lambda x: gc.sort(x, axis=0), apart(5, 3)),
    "ptp": (lambda x: x.ptp(axis=0), apart(4, 3)), "norm": (lambda x: gc.linalg.norm(x), normal(3, 4)),
    "diff": (gc.diff, normal(6)), "topk": (lambda x: gc.topk(x, 2)[0], apart(3, 5)),
}
INDEX = np.array([[0, 2], [2, 1]])
GATHERS = {
    "take": (lambda x: gc.take(x, gc.asarray(INDEX), axis=1), normal(2, 3)),
    "rows": (lambda x: x[gc.asarray(INDEX)], normal(3, 2)),
    "pairs": (lambda x: x[gc.asarray([0, 2, 2]), gc.asarray([1, 1, 1])], normal(3, 2)),
    "mask": (lambda x: x[gc.asarray([True, False, True])], normal(3, 2)),
    "take_along_axis": (lambda x: gc.take_along_axis(x, gc.asarray([[0, 0, 1], [2, 2, 2]]), axis=1), normal(2, 3)),
    "at add": (lambda x, v: x.at[gc.asarray([0, 2, 2])].add(v), normal(3, 2), normal(3, 2, seed=1)),
    "at set": (lambda x, v: x.at[gc.asarray([0, 2, 2])].set(v), normal(3, 2), normal(3, 2, seed=1)),
    "at max": (lambda x, v: x.at[gc.asarray([0, 2, 2])].max(v), normal(3, 2), normal(3, 2, seed=1)),
    "at min": (lambda x, v: x.at[gc.asarray([0, 2, 2])].min(v), normal(3, 2), normal(3, 2, seed=1)),
    "region": (lambda x, v: x.at[1:, ::2].set(v), normal(3, 4), normal(2, 2, seed=1)),
}
PRODUCTS = {
    "matmul": (lambda a, b: a @ b, normal(3, 4), normal(4, 2, seed=1)),
    "stacks": (lambda a, b: a @ b, normal(5, 3, 4), normal(4, 2, seed=1)),
    "shared stacks": (lambda a, b: a @ b, normal(2, 1, 3, 4), normal(5, 4, 2, seed=1)),
    "vector": (lambda a, b: a @ b, normal(3, 4), normal(4, seed=1)),
    "inner": (lambda a, b: a @ b, normal(4), normal(4, seed=1)),
    "einsum": (lambda a, b: gc.einsum("ijk,kl->lij", a, b), normal(2, 3, 4), normal(4, 2, seed=1)),
    "outer": (gc.linalg.outer, normal(3), normal(4)),
}
LINALG = {
    "cholesky": (lambda a: gc.linalg.cholesky(a @ a.T + 4 * gc.eye(3)), normal(3, 3)),
    "inv": (gc.linalg.inv, hermitian(3)), "solve": (gc.linalg.solve, normal(3, 3) + 3 * np.eye(3), normal(3, 2)),
    "solve vector": (gc.linalg.solve, normal(3, 3) + 3 * np.eye(3), normal(3)), "det": (gc.linalg.det, normal(2, 3, 3)),
    "slogdet": (lambda a: gc.linalg.slogdet(a)[1], normal(3, 3)),
    "eigvalsh": (lambda a: gc.linalg.eigvalsh(a + a.mT), hermitian(3)),
    "eigh": (lambda a: [gc.abs(v) for v in gc.linalg.eigh(a + a.mT)], hermitian(4)),
    "svdvals": (gc.linalg.svdvals, spread(4, 3)),
    "svd tall": (lambda a: [gc.abs(v) for v in gc.linalg.svd(a, full_matrices=False)], spread(4, 3)),
    "svd wide": (lambda a: [gc.abs(v) for v in gc.linalg.svd(a, full_matrices=False)], spread(3, 4)),
    "qr tall": (lambda a: list(gc.linalg.qr(a)), spread(4, 3)),
    "qr wide": (lambda a: list(gc.linalg.qr(a)), spread(3, 5)),
    "pinv": (gc.linalg.pinv, spread(4, 3)),
    "complex inv": (gc.linalg.inv, complexes(3, 3)), "complex det": (gc.linalg.det, complexes(3, 3)),
    "complex slogdet": (lambda a: list(gc.linalg.slogdet(a)), complexes(3, 3)),
    "complex eigvalsh": (lambda a: gc.linalg.eigvalsh(a + gc.conj(a).mT), hermitian(3, True)),
    "complex svd": (lambda a: [gc.abs(v) for v in gc.linalg.svd(a, full_matrices=False)], complexes(4, 3)),
}
FFT = {
    **{name: (lambda x, name=name, norm=norm: getattr(gc.fft, name)(x, norm=norm), complexes(2, 5))
       for name, norm in (("fft", "backward"), ("ifft", "ortho"), ("fftn", "forward"), ("hfft", "backward"))},
    **{name: (lambda x, name=name, norm=norm: getattr(gc.fft, name)(x, norm=norm), normal(3, 6))
       for name, norm in (("rfft", "ortho"), ("rfftn", "backward"), ("ihfft", "backward"))},
    "irfft": (lambda x: gc.fft.irfft(x, n=7), complexes(2, 4)),
    "irfft even": (lambda x: gc.fft.irfft(x), complexes(2, 4)),
    "irfftn": (lambda x: gc.fft.irfftn(x), complexes(3, 4)),
    "fft padded": (lambda x: gc.fft.fft(x, n=8), complexes(2, 5)),
    "fft cut": (lambda x: gc.fft.fft(x, n=3), complexes(2, 5)),
    "rfft cut": (lambda x: gc.fft.rfft(x, n=4), normal(2, 6)),
}
CASES = {f"{family} {name}": case for family, cases in (
    ("real", ELEMENTWISE), ("complex", COMPLEX), ("movement", MOVEMENT), ("reduction", REDUCTIONS), ("gather", GATHERS),
    ("product", PRODUCTS), ("linalg", LINALG), ("fft", FFT)) for name, case in cases.items()}


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_finite_differences(name):
    f, *arrays = CASES[name]
    check(f, *arrays, rtol=3e-6 if name.startswith("linalg") else 1e-6)


def test_every_differentiable_op_has_a_gradient():
    """Without one are sources, what gives integers or truth values, steps, and what only passes make."""
    flat = {"buffer", "const", "param", "iota", "floor", "ceil", "trunc", "round", "isnan", "signbit", "invert",
            "bitcast", "check_index", "floordiv", "nextafter", "eq", "ne", "lt", "le", "and", "or", "xor", "shl", "shr",
            "threefry", "index", "load", "local", "value", "alias", "get",
            "attention", "scores", "weighted", "blocked", "fma"}
    assert {name for name, op in ops.TABLE.items() if op.grad is None} <= flat


@pytest.mark.parametrize("name, first, second", [
    ("sigmoid", 0.25, 0.0), ("silu", 0.5, 0.5), ("log_sigmoid", 0.5, -0.25), ("softplus", 0.5, 0.25)])
def test_sigmoids_are_smooth_at_zero(name, first, second):
    """They are computed from |x|, whose own slope is 0 there."""
    slope = gc.grad(lambda x: getattr(gc, name)(x).sum())
    for zero in (0.0, -0.0):
        x = gc.asarray([zero], dtype=gc.float64)
        assert slope(x).item() == first
        assert gc.grad(lambda x: slope(x).sum())(x).item() == second


@pytest.mark.parametrize("f, second", [(gc.logaddexp, 0.25), (gc.logaddexp2, math.log(2) / 4)])
def test_logaddexp_is_smooth_where_both_are_equal(f, second):
    """A maximum and |a - b| are not, each by itself."""
    for a in (0.0, 3.0):
        for g in (lambda x, a=a: f(x, a), lambda x, a=a: f(a, x)):
            assert gc.grad(g)(a).item() == 0.5
            assert gc.grad(gc.grad(g))(a).item() == pytest.approx(second, rel=1e-15)
    assert [x.item() for x in gc.grad(f, argnums=(0, 1))(-math.inf, -math.inf)] == [0.5, 0.5]


def test_sinc_has_its_derivatives_at_zero():
    slopes = [gc.sinc]
    for expected in (0.0, -math.pi ** 2 / 3, 0.0, math.pi ** 4 / 5):
        slopes.append(gc.grad(slopes[-1]))
        assert slopes[-1](0.0).item() == pytest.approx(expected, rel=1e-14)


def test_the_slope_of_a_power_changes_with_an_exponent_of_zero():
    """d/db d/da a ** b is 1 / a at b = 0; the slope in a itself is 0 there, whatever the base."""
    by_base = gc.grad(lambda a, b: a ** b)
    for order in (lambda a, b: gc.grad(by_base, 1)(a, b), lambda a, b: gc.grad(gc.grad(lambda a, b: a ** b, 1))(a, b)):
        assert order(2.0, 0.0).item() == 0.5
    assert gc.grad(gc.grad(lambda x: (1.0 + x) ** x))(0.0).item() == pytest.approx(2.0)
    for base in (0.0, math.inf, math.nan, -2.0):
        assert gc.grad(lambda a, b: a ** b, argnums=(0, 1))(base, 0.0)[0].item() == 0.0


@pytest.mark.parametrize("f, second", [
    (lambda d: gc.linalg.norm(gc.stack([d, 1 + d])), 1.0),
    (lambda d: gc.linalg.norm(gc.make_complex(gc.stack([d, 1 + d]), d)), 3.0),
    (lambda d: gc.linalg.matrix_norm(gc.stack([d, 1 + d])[None]), 1.0),
    (lambda d: gc.var(gc.stack([d, 2 * d]), mean=0.0), 5.0),
    (lambda d: gc.var(gc.stack([d, 3 * d]), where=gc.asarray([True, True])), 2.0),
    (lambda d: gc.nanvar(gc.stack([d, 3 * d])), 2.0),
    (lambda d: gc.nn.huber(d, gc.asarray(0.0)), 1.0), (lambda d: gc.nn.smooth_l1(d, gc.asarray(0.0), 0.5), 2.0)])
def test_squares_of_zero_have_a_second_derivative(f, second):
    """The slope of |x| is 0 at 0, so |x| * |x| has none there."""
    assert gc.grad(gc.grad(f))(0.0).item() == pytest.approx(second, rel=1e-14)


@pytest.mark.parametrize("name, at, slope", [
    ("logaddexp with 0", 0.0, 0.5), ("logaddexp with itself", 3.0, 1.0), ("logaddexp with itself", -np.inf, 1.0),
    ("relu", 0.0, 0.0), ("relu6", 0.0, 0.0), ("relu6", 6.0, 0.0), ("elu", 0.0, 1.0), ("selu", 0.0, 1.7580993408473766),
    ("bce_with_logits", 0.0, -0.5),
])
def test_slopes_where_two_pieces_meet(name, at, slope):
    """Of smooth functions the slope, of others that which is usual: a tie of `maximum` would give a half of it."""
    functions = {"logaddexp with 0": lambda x: gc.logaddexp(0.0, x),
                 "logaddexp with itself": lambda x: gc.logaddexp(x, x),
                 "bce_with_logits": lambda x: gc.nn.functional.bce_with_logits(x, gc.asarray(1.0))}
    f = functions.get(name) or getattr(gc, name)
    assert gc.grad(f)(gc.asarray(at)).item() == pytest.approx(slope, abs=1e-15)


def test_equal_extremes_at_one_place_share_the_gradient():
    index, weight = gc.asarray([0, 2, 0, 0, 1]), gc.asarray([1.0, 10.0, 100.0])
    found = gc.grad(lambda b, v: (b.at[index].max(v) * weight).sum(), argnums=(0, 1))(
        gc.zeros(3), gc.asarray([1.0, -3.0, 5.0, 5.0, 0.0]))
    assert [x.tolist() for x in found] == [[0.0, 5.0, 100.0], [0.0, 0.0, 0.5, 0.5, 5.0]]


@pytest.mark.parametrize("f", [gc.std, gc.nanstd, lambda x, axis: gc.std(x, axis=axis, where=x < 1.0)])
def test_the_deviation_of_a_constant_has_no_slope(f):
    """Its mean is rounded: three times 0.1, divided by three, is not 0.1."""
    x = np.full((3, 3), 0.1)
    x[2] = [0.1, 0.2, 0.4]
    slopes = gc.grad(lambda x: f(x, axis=1).sum())(gc.asarray(x)).numpy()
    assert (slopes[:2] == 0).all()
    assert (slopes[2] != 0).all()
    check(lambda x: f(x, axis=1), x[2:])
