"""Every example in a public docstring is run: with `gc`, `np` and the names of its own module at hand."""
from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import graphc as gc

MODULES = ["graphc.tensor", "graphc.estimate"] + [f"graphc.api.{name}" for name in (
    "elementwise composites creation dtypes fast indexing info session".split())]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder().find(module, extraglobs={"gc": gc, "np": np})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for test in tests:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
