"""Run somebody's program in this process and collect the plan of every schedule that it realizes."""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

from graphc.errors import GraphcError


class Collected(NamedTuple):
    plans: list[Any]  # graphc.driver.Plan, in the order of their first use
    status: int  # 0, or 1 if the program failed after them


def collect(target: str, arguments: list[str], backend: str | None) -> Collected:
    """The plans of a script or of MODULE:FUNC. What the program prints goes to stderr: stdout is for the kernels."""
    from graphc import driver

    if not _is_function(target) and not os.path.exists(target):
        raise GraphcError(f"there is no file {target}", op="graphc", site="the command line",
                          fix="give the path of a script, or MODULE:FUNC")  # fmt: skip
    plans: list[Any] = []
    use_backend(backend)
    driver.observers.append(plans.append)
    try:
        with contextlib.redirect_stdout(sys.stderr), _as_main(target, arguments):
            _run(target)
        return Collected(plans, 0)
    except SystemExit as exit:
        return Collected(plans, 0 if exit.code in (None, 0) else 1)
    except Exception as error:
        # The kernels up to here are what the reader needs to understand the failure.
        traceback.print_exception(type(error), error, _users_part(error.__traceback__))
        return Collected(plans, 1)
    finally:
        driver.observers.remove(plans.append)


def use_backend(name: str | None) -> None:
    """Choose the backend for this process and for those that it starts, as GRAPHC_BACKEND does."""
    if name:
        os.environ["GRAPHC_BACKEND"] = name
        import graphc as gc

        gc.set_backend(name)


@contextlib.contextmanager
def _as_main(target: str, arguments: list[str]) -> Iterator[None]:
    """sys.argv and sys.path as `python SCRIPT ARGUMENTS` has them; for MODULE:FUNC, as `python -m` has them."""
    argv, path = list(sys.argv), list(sys.path)
    folder = os.getcwd() if _is_function(target) else os.path.dirname(os.path.abspath(target))
    sys.argv[:] = [target, *arguments]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv[:], sys.path[:] = argv, path


def _is_function(target: str) -> bool:
    return ":" in target and not os.path.exists(target)


def _run(target: str) -> None:
    if not _is_function(target):
        runpy.run_path(target, run_name="__main__")
        return
    import graphc as gc

    module, _, name = target.partition(":")
    result = getattr(importlib.import_module(module), name)()
    tensors = [value for value in _leaves(result) if isinstance(value, gc.Tensor)]
    if tensors:
        gc.realize(*tensors)


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that only led to the user's program."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy", "importlib"):
        trace = trace.tb_next
    return trace


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    else:
        yield value
