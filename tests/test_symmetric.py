"""Products of a matrix with its own transpose: one side of the diagonal is computed, with the bits of the whole."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from test_gemm import array, check, templates

import graphc as gc
from graphc import driver
from graphc.codegen import gemm_c
from graphc.config import settings
from graphc.passes import contract
from graphc.tolerances import equal_bits


rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def needs_kernels(backend):
    if backend != "cpu":
        pytest.skip("kernels of the C dialect")


@pytest.fixture
def small(monkeypatch):
    """Few rows are enough, and make several blocks."""
    monkeypatch.setattr(contract, "LEAST_SYMMETRIC", 20)
    monkeypatch.setattr(contract, "SIDE", 16)
    driver.forget_programs()
    yield
    driver.forget_programs()


def is_symmetric(result: gc.Tensor) -> bool:
    return any(dict(template.facts).get("symmetric", False) for template in templates(result))


def twins(x: gc.Tensor) -> tuple[gc.Tensor, gc.Tensor]:
    """An array and a copy, which is not known to be one."""
    return x, gc.realize(x + gc.asarray(0, dtype=x.dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint32"])
@pytest.mark.parametrize("k, n", [(5, 21), (530, 67), (33, 129)])
def test_one_side_has_the_bits_of_the_other(small, k: int, n: int, dtype: str):
    x, y = twins(array(k, n, dtype=dtype))
    assert is_symmetric(x.T @ x) and not is_symmetric(x.T @ y)
    assert equal_bits((x.T @ x).numpy(), (x.T @ y).numpy())
    assert equal_bits(((x.T * 2 + 1) @ (x * 2 + 1) - x[0]).numpy(), ((x.T * 2 + 1) @ (y * 2 + 1) - x[0]).numpy())
    if k * n < 200:
        check(x.T @ x)
        check(x.T @ x - x[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k, n", [(9, 160), (700, 161), (64, 321), (1100, 200), (20, 1500)])
def test_threads_change_no_bit(k: int, n: int, dtype: str):
    x, y = twins(array(k, n, dtype=dtype))
    row, column = array(n, dtype=dtype), array(n, 1, dtype=dtype)
    for threads in (1, 2, 5):
        with settings.override(num_threads=threads):
            driver.forget_programs()
            assert is_symmetric(x.T @ x) and not is_symmetric(x.T @ y)
            found, wanted = gc.realize(x.T @ x, x.T @ y)
            assert equal_bits(found.numpy(), wanted.numpy())
            found, wanted = (gc.exp((p * 0.01 - row) * 0.1) + column for p in (x.T @ x, x.T @ y))
            assert is_symmetric(found)
            assert equal_bits(found.numpy(), wanted.numpy())
    driver.forget_programs()


def test_whatever_fits_the_caches(monkeypatch, small):
    """Rows of a and columns of b that are packed a few at a time, in blocks of several of them."""
    monkeypatch.setattr(contract, "_side", lambda n, stacks, packing, most: (0, 192))
    for size in (1 << 15, 1 << 18, 1 << 21):
        monkeypatch.setattr(gemm_c, "l2_bytes", lambda size=size: size)
        driver.forget_programs()
        for a, b in map(twins, (array(600, 290), array(290, 70))):
            for more in (0, 3):     # as it is, and an epilogue
                assert equal_bits((a.T @ a + more).numpy(), (a.T @ b + more).numpy())
                assert equal_bits((a @ a.T + more).numpy(), (a @ b.T + more).numpy())


def test_stacks_views_and_gathered_rows(small):
    x, y = twins(array(3, 50, 41))
    rows = gc.asarray([4, 0, 4, 49, 1, 2, 3, 2, 9, 8])
    for view in (lambda x: x, lambda x: x[:, ::-2, 3:], lambda x: gc.take(x, rows, axis=1),
                 lambda x: gc.pad(x, ((0, 0), (1, 2), (0, 3)))):
        a, b = view(x), view(y)
        for more in (0, 3):
            assert is_symmetric(a.mT @ a + more)
            assert equal_bits((a.mT @ a + more).numpy(), (a.mT @ b + more).numpy())
    assert is_symmetric(gc.einsum("bki,bkj->bij", x, x))
    assert equal_bits(gc.einsum("bki,bkj->bij", x, x).numpy(), gc.einsum("bki,bkj->bij", x, y).numpy())


def test_results_are_stored_as_they_are_wanted(small):
    x, y = twins(array(30, 44))
    for stored in (lambda p: gc.reshape(p, (4, 11, 44)) * 2, lambda p: gc.stack([p, p * 3]), lambda p: p[:, ::-1],
                   lambda p: gc.pad(p, ((1, 2), (3, 4))), lambda p: gc.sum(p, axis=1)):
        assert equal_bits(stored(x.T @ x).numpy(), stored(x.T @ y).numpy())


def test_only_what_is_its_own_transpose(small):
    x, y = array(40, 40), array(40, 40)
    for result in (x @ x, x @ y.T, x @ (x.T + 1), x.T @ x[::-1], array(2, 40, 40).mT @ x, x[:30].T @ x[10:],
                   gc.einsum("aki,bkj->abij", array(2, 40, 40), array(2, 40, 40))):
        assert not is_symmetric(result)
    assert not is_symmetric(array(3, 19).T @ array(3, 19))
    windows, same = (gc.sliding_window_view(v, 50) for v in twins(array(90)))
    assert not is_symmetric(windows @ windows.T)
    assert equal_bits((windows @ windows.T).numpy(), (windows @ same.T).numpy())


def test_what_is_added_to_is_updated_once():
    """A covariance that grows in place: of no element is the sum added twice, on either side of the diagonal."""
    total = gc.asarray(rng.integers(-9, 9, (300, 300)).astype(np.float32))
    want = total.numpy().astype(np.float64)

    @partial(gc.jit, donate_argnums=0)
    def step(total, x):
        return total + x.T @ x

    for _ in range(3):
        x = rng.integers(-9, 9, (70, 300)).astype(np.float32)
        want += x.T.astype(np.float64) @ x
        total = step(total, gc.asarray(x))
        assert np.array_equal(total.numpy(), want)


def test_covariances_are_one_product_of_half_the_work():
    x = array(200, 320)
    centred = x - gc.mean(x, axis=0)
    product = [k for k in gc.plan(centred.T @ centred / 199).kernels if k.flops > 10 ** 7]
    assert len(product) == 1 and product[0].flops < 1.1 * 320 * 321 * 200
    np.testing.assert_allclose((centred.T @ centred / 199).numpy(), np.cov(x.numpy(), rowvar=False), rtol=2e-3,
                               atol=2e-3)


def test_half_the_blocks_keep_all_threads_busy(monkeypatch):
    monkeypatch.setattr(contract, "l2_bytes", lambda: 1 << 21)
    with settings.override(num_threads=2):
        for n, stacks, side in ((1000, 1, 512), (192, 1, 128), (200, 1, 128), (3000, 1, 1024), (192, 40, 192)):
            assert contract._side(n, stacks, 28, 1024)[1] == side
    x = array(500, 160)
    for threads, halved in ((2, True), (16, False)):    # too few blocks for so many threads
        with settings.override(num_threads=threads):
            driver.forget_programs()
            assert is_symmetric(x.T @ x) == halved
    driver.forget_programs()
