"""The examples in the docstrings of the API's families run and are right."""

from __future__ import annotations

import doctest
import importlib

import pytest

import graphc as gc

MODULES = ["activations", "arranging", "attention", "composites", "convolution", "distributions", "einsum", "fft",
           "integers", "linalg", "manipulation", "matrix_functions", "missing", "padding", "polynomials", "products",
           "quantiles", "random", "reductions", "running", "samples", "sets", "sorting", "ufuncs"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"graphc.api.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"gc": gc})
    assert tried and not failed
