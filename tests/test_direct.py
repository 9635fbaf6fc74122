"""Products that pack nothing: of small matrices, of few results, of one row and narrow ones, of short columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_gemm import array, check, needs_kernels, templates

import graphc as gc
from graphc.passes import contract
from graphc.tolerances import equal_bits

__all__ = ["needs_kernels"]


@pytest.mark.parametrize("m, k, n, dtype", [
    (24, 24, 24, "float32"), (16, 16, 16, "float64"), (2, 33, 40, "float32"), (5, 7, 9, "int32"),
    (13, 40, 33, "float64"), (98, 9, 79, "float32"), (7, 128, 8, "float32"), (9, 30, 14, "float64"),
])
def test_a_factor_that_fits_a_near_cache_is_read_where_it_lies(m: int, k: int, n: int, dtype: str):
    a, b, c = array(3, m, k, dtype=dtype), array(3, k, n, dtype=dtype), array(3, k, n, dtype=dtype)
    wide = array(3, k, n + 5, dtype=dtype)[:, :, 2:-3]
    for left in (a, array(3, k, m, dtype=dtype).mT):
        for result in (left @ b, left @ wide, gc.maximum(left @ c + 1, 0)):
            (template,) = templates(result)
            assert template.name == "direct"
            check(result)
    assert templates(a @ array(3, n, k, dtype=dtype).mT)[0].name != "direct"


@pytest.mark.parametrize("m, k, n, dtype", [(2, 1100, 3, "float32"), (12, 600, 12, "float64"), (40, 513, 64, "float32"),
                                            (7, 64, 20, "float64"), (3, 2000, 5, "int32")])
def test_few_results_of_a_long_sum_are_direct_also_of_what_is_computed(m: int, k: int, n: int, dtype: str):
    x, y, w = array(k, m, dtype=dtype), array(k, n, dtype=dtype), array(k, 1, dtype=dtype)
    rows = array(m, k, dtype=dtype)
    results = [x.T @ y, rows @ y, gc.maximum(x.T @ y[:, ::-1] + 1, 0)]
    if max(m, n) >= contract.FEW:       # else a loop of a column kernel
        results += [rows @ (y * w), (x * w).T @ y, (rows + 2) @ (y - w), (x * 2).T @ (y[::-1] * w)]
    for result in results:
        (template,) = templates(result)
        assert template.name == "direct"
        check(result)


def test_one_small_product_of_few_rows_is_not_direct_and_one_of_more_has_the_same_bits():
    a, b = array(40, 50), array(50, 60)
    assert [templates(a[:m] @ b)[0].name for m in (1, 5, 6, 40)] == ["gemv", "gemv", "direct", "direct"]
    assert templates(a @ array(50, 100))[0].name == "gemm"      # of 20,000 bytes
    whole = (a @ b).numpy()
    for m in (1, 2, 5, 6, 7, 12, 13, 39):
        assert equal_bits((a[:m] @ b).numpy(), whole[:m])
        assert equal_bits((a[:m] @ b[:, :9]).numpy(), whole[:m, :9])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_one_row_meets_narrow_rows_in_several_chunks_at_once(dtype: str):
    """What is read behind a row is not what counts: neither behind the last one, nor where chunks are cut."""
    many = array(9000, 200, dtype=dtype)
    q = array(9000, dtype=dtype)
    for columns in (2, 3, 7, 8, 15, 17, 33, 70, 131, 200):
        (template,) = templates(q @ many[:, :columns])
        assert template.name == "gemv" and "gc_narrow(a_rows" in gc.plan(q @ many[:, :columns]).kernels[0].source
        whole = (q @ many[:, :columns]).numpy()
        assert equal_bits((q @ gc.asarray(many[:, :columns].numpy())).numpy(), whole)
        assert equal_bits((q @ (many[:, :columns] + 0)).numpy(), whole)
    for k in (128, 511, 512, 1023, 1600, 4096, 4100, 9000):
        check(q[:k] @ gc.asarray(many[:k, 1:6].numpy()))
        check(q[:k] @ (many[:k, 1:10] * 2))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_what_short_columns_lack_is_not_read_from_the_next(dtype: str):
    """Columns of b as rows in memory, behind which others lie, or nothing."""
    rows = array(300, 70, dtype=dtype)
    for k in (1, 2, 3, 5, 8, 13, 16, 19, 31, 37, 70):
        w = array(k, dtype=dtype)
        whole = (rows[:, :k] @ w).numpy()
        beside = rows.numpy().copy()
        beside[:, k:] = np.nan if dtype != "int32" else 99
        assert equal_bits((gc.asarray(beside)[:, :k] @ w).numpy(), whole)
        for count in (2, 15, 16, 17, 33, 300):
            assert equal_bits((gc.asarray(beside[:count, :k].copy()) @ w).numpy(), whole[:count])


@pytest.mark.parametrize("columns", [3, 12, 40])
def test_rows_that_are_one_or_lie_the_other_way_about(columns: int):
    """Behind such rows lies nothing that a vector could read."""
    rows, q, x = array(600, columns), array(600), array(600, 9)
    back, one = rows[::-1], gc.broadcast_to(rows[:1], (600, columns))
    for b in (back, one):
        same = gc.asarray(b.numpy().copy())
        assert equal_bits((q @ b).numpy(), (q @ same).numpy())
        assert equal_bits((x.T @ b).numpy(), (x.T @ same).numpy())
        assert equal_bits((b @ b[0]).numpy(), (same @ same[0]).numpy())


@pytest.mark.skipif(sys.platform != "linux", reason="pages are closed by mprotect")
def test_nothing_is_read_behind_an_array():
    done = subprocess.run([sys.executable, Path(__file__).parent / "guarded_arrays.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
