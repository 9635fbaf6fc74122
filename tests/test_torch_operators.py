"""torch's operator database, where torch is installed: the first samples of each row of tests/torch_operators.py. And
what all of them have shown, as tests that need no torch."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc import nn


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def test_samples_of_torch():
    pytest.importorskip("torch.testing._internal.common_methods_invocations",
                        reason="torch, with what its tests need (expecttest), is not installed")
    from operator_samples import database, run
    found = [run(op, most=2) for op in database()]
    assert not [(f.name, f.failed) for f in found if f.failed]
    assert len(found) > 250 and sum(f.gradients for f in found) > 350


def test_samples_without_a_counterpart_are_no_failure(capsys):
    """Those of max (binary) made the status 1."""
    pytest.importorskip("torch.testing._internal.common_methods_invocations",
                        reason="torch, with what its tests need (expecttest), is not installed")
    from torch_operators import main
    assert main(["cumsum", "max"]) == 0 and "0 that differ" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no row of nonsense"):
        main(["cumsum", "nonsense"])


@pytest.mark.parametrize("a, b", [((5, 5, 0), (0, 5)), ((5, 0, 0), (0, 0)), ((0, 2, 3), (3, 4)), ((2, 0, 3), (3, 4))])
def test_gradients_of_products_of_nothing(a, b):
    x, y = gc.nn.parameter(np.ones(a)), gc.nn.parameter(np.ones(b))
    gc.matmul(x, y).sum().backward()
    assert x.grad.shape == a and y.grad.shape == b and not y.grad.numpy().any()


def test_normalising_nothing():
    assert nn.functional.group_norm(gc.ones((0, 4)), 2).shape == (0, 4)
    assert gc.softmax(gc.ones((5, 0, 0))).shape == gc.log_softmax(gc.ones((5, 0, 0))).shape == (5, 0, 0)


def test_no_difference_joins_nothing():
    x = np.arange(6.0).reshape(2, 3)
    found = gc.diff(gc.asarray(x), n=0, axis=0, prepend=gc.ones((1, 3)))
    np.testing.assert_array_equal(found.numpy(), np.diff(x, n=0, axis=0, prepend=np.ones((1, 3))))


def test_a_neighbour_moves_with_its_number():
    x = gc.asarray([1.0, 2.0])
    assert gc.grad(lambda x: gc.nextafter(x, 5.0).sum())(x).tolist() == [1.0, 1.0]


def test_one_padding_in_a_tuple_is_that_of_all_axes():
    x = gc.asarray(np.random.default_rng(0).normal(size=(1, 1, 4, 4)))
    np.testing.assert_array_equal(gc.avg_pool2d(x, (2,), 1, (1,)).numpy(), gc.avg_pool2d(x, 2, 1, 1).numpy())
