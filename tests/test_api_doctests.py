"""The examples in the docstrings of the API's families run and are right."""

from __future__ import annotations

import doctest
import importlib

import pytest

import graphc as gc

MODULES = ["activations", "arranging", "attention", "convolution", "distributions", "einsum", "fft", "linalg",
           "manipulation", "missing", "products", "random", "reductions", "running", "sets", "sorting"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"graphc.api.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"gc": gc})
    assert tried and not failed
