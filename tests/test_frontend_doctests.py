"""Every example in a public docstring is run: with `gc`, `np` and the names of its own module at hand."""
from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import graphc as gc

MODULES = ["graphc.tensor"] + [f"graphc.api.{name}" for name in (
    "elementwise composites creation dtypes indexing info session".split())]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder().find(module, extraglobs={"gc": gc, "np": np})
    tests += _made_by_makers(module)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for test in tests:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def _made_by_makers(module) -> list[doctest.DocTest]:
    """Functions whose docstring was put together by a table are not found by their code's place."""
    finder, found = doctest.DocTestParser(), []
    for name, value in vars(module).items():
        code = getattr(value, "__code__", None)
        if code is not None and code.co_name != value.__name__ and value.__module__ == module.__name__ and value.__doc__:
            found.append(finder.get_doctest(value.__doc__, {**vars(module), "gc": gc, "np": np}, name, None, None))
    return found
