"""Gradients where singular values, eigenvalues or neighbours are equal, and of other places where a formula divides by
0: against closed forms, and what PyTorch and JAX give."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc

H = np.array([[1.0, 1], [1, -1], [1, 1], [1, -1]]) / 2      # both singular values are 1


def gradient(f, *args, of: int = 0) -> np.ndarray:
    return gc.grad(f, argnums=of)(*map(gc.asarray, args)).numpy()


@pytest.mark.parametrize("f, x, want", [
    (lambda x: gc.linalg.eigh(x)[0].sum(), np.eye(2), np.eye(2)),
    (lambda x: gc.linalg.svd(x).S.sum(), np.eye(2), np.eye(2)),
    (lambda x: gc.linalg.svd(x, full_matrices=False).S.sum(), [[1.0, 0], [0, 0], [0, 0]], [[1, 0], [0, 1], [0, 0]]),
    (lambda x: gc.real(gc.linalg.eig(x)[0]).sum(), 2 * np.eye(2), np.eye(2)),
    (lambda x: gc.linalg.pinv(x).sum(), 2 * np.eye(2), np.full((2, 2), -0.25)),
    (lambda x: gc.linalg.pinv(x, hermitian=True).sum(), 2 * np.eye(2), np.full((2, 2), -0.25)),
    (lambda x: gc.linalg.pinv(x).sum(), H, [[-2, 0], [0, 0], [-2, 0], [0, 0]]),
    (lambda x: gc.linalg.lstsq(x, gc.asarray([1.0, 2, 3, 4])).x.sum(), H, [[-6, 0], [-1, -1], [-4, 2], [1, 1]]),
    (lambda x: gc.linalg.lstsq(x, gc.asarray([1.0, 2, 3, 4])).s.sum(), H, H),
])
def test_equal_values(f, x, want):
    np.testing.assert_allclose(gradient(f, x), want, atol=1e-12)


def test_only_a_gradient_of_the_vectors_themselves_has_no_value_there():
    assert np.isnan(gradient(lambda x: gc.linalg.eigh(x)[1].sum(), np.eye(2))).all()


def test_the_triangle_that_is_read():
    a, rate = np.array([[2.0, 1], [0, 3]]), gc.asarray([1.0, 2.0])
    found = [gradient(lambda x, which=which: (which(x) * rate).sum(), a) for which in (
        lambda x: gc.linalg.eigvalsh(x, UPLO="U"), lambda x: gc.linalg.eigh(x, UPLO="U")[0])]
    root = np.sqrt(5)
    want = np.array([[1.5 - 0.5 / root, 1 / root], [1 / root, 1.5 + 0.5 / root]])
    np.testing.assert_allclose(found, [want] * 2, rtol=1e-12)


def along(f, x: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The slope of f at x in a random direction, by differences and by its gradient."""
    step = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    by_differences = (f(gc.asarray(x + 1e-6 * step)) - f(gc.asarray(x - 1e-6 * step))).item() / 2e-6
    return by_differences, (np.conj(gradient(f, x)) * step).real.sum()


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 4, 3)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_pseudo_inverses_and_least_squares(shape, kind):
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == "complex" else 0)
    weights, b = rng.normal(size=(*shape[:-2], *shape[:-3:-1])), rng.normal(size=(shape[-2], 2))

    def inverted(x):
        return (gc.real(gc.linalg.pinv(x)) * weights).sum()

    def solved(x):
        found = gc.linalg.lstsq(x, gc.asarray(b))
        return gc.real(found.x).sum() + (found.s ** 2).sum() + found.residuals.sum()

    def slope(x):
        return (abs(gc.grad(inverted)(x)) ** 2).sum()
    for f in (inverted, solved, slope):
        by_differences, by_gradient = along(f, x, rng)
        assert by_gradient == pytest.approx(by_differences, rel=1e-5, abs=1e-6)


def test_the_right_side_of_least_squares():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(5, 2)), rng.normal(size=5)
    for tracked in (False, True):
        f = gc.grad(lambda a, b: gc.linalg.lstsq(a, b).x.sum(), argnums=(0, 1) if tracked else 1)
        found = f(gc.asarray(a), gc.asarray(b))
        np.testing.assert_allclose(found[1] if tracked else found, np.linalg.pinv(a).sum(0), rtol=1e-12)


def test_the_place_of_interpolation():
    xp, fp = [0.0, 1.0, 2.0], [0.0, 2.0, 4.0]
    assert gradient(lambda x: gc.interp(x, gc.asarray(xp), gc.asarray(fp)).sum(), [0.0, 0.5, 1, 2]).tolist() == [2] * 4
    table = gradient(lambda y: gc.interp(gc.asarray([0.25, 1.75]), gc.asarray(xp), y).sum(), [0.0, 0, 0])
    assert table.tolist() == [0.75, 0.5, 0.75]      # also where all values of the table are equal
    assert gradient(lambda x: gc.interp(gc.asarray([1.0]), x, gc.asarray(fp)).sum(), xp).tolist() == [0, -2, 0]
    twice = gradient(lambda y: gc.interp(gc.asarray([1.0]), gc.asarray([0.0, 1, 1]), y).sum(), [0.0, 1, 5])
    assert twice.tolist() == [0, 0, 1]


def test_angles_of_nothing():
    assert gradient(lambda z: gc.angle(z).sum(), [0j, 1j]).tolist() == [0, -1]
    assert gradient(lambda x: gc.angle(x).sum(), [0.0, 1.0]).tolist() == [0, 0]
    assert gradient(lambda y: gc.atan2(y, gc.asarray([0.0, 2.0])).sum(), [0.0, 0.0]).tolist() == [0, 0.5]
    for of in (0, 1):
        assert gradient(lambda y, x: gc.atan2(y, x), 0.0, 0.0, of=of).item() == 0


def test_draws_without_a_gradient_say_so():
    g = gc.random.Generator(0)
    for of in (0, 1):
        with pytest.raises(gc.errors.GradientError, match="draws have no gradient"):
            gc.grad(lambda mean, scale: g.wald(mean, scale, 3).sum(), argnums=of)(gc.asarray(1.0), gc.asarray(2.0))
    assert gc.grad(lambda x: (x * g.wald(gc.stop_gradient(x), 2.0)).sum())(gc.asarray(1.0)).item() > 0
