"""Run somebody's program in this process and collect the plan of every schedule that it realizes."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, NamedTuple

from graphc.cli import UsageError
from graphc.errors import BackendError


class Collected(NamedTuple):
    plans: list[Any]  # graphc.report.Plan, in the order of their first use
    status: int  # 0, or 1 if the program failed after them


def collect(
    target: str, arguments: list[str], backend: str | None, repeat: int = 1, absent: bool = False
) -> Collected:
    """The plans of a script or of MODULE:FUNC, run so many times. What the program prints goes to stderr: stdout is for
    the kernels. absent: the program may run on another backend where this one cannot."""
    from graphc import driver

    if not _is_function(target):
        _check_file(target)
    plans: list[Any] = []
    shown = dialect_of_absent(backend) if absent else None
    use_backend(backend if shown is None else _other_than_absent())
    driver.shown_dialect = shown
    driver.observers.append(plans.append)
    try:
        with contextlib.redirect_stdout(sys.stderr), _as_main(target, arguments):
            status = 0
            for _ in range(repeat):
                try:
                    _run(target)
                except SystemExit as exit:
                    status = _status(exit.code)
                if status:
                    break
        return Collected(plans, status)
    except UsageError:
        raise
    except Exception as error:
        # The kernels up to here are what the reader needs to understand the failure.
        traceback.print_exception(type(error), error, _users_part(error.__traceback__))
        return Collected(plans, 1)
    finally:
        driver.observers.remove(plans.append)
        driver.shown_dialect = None


def _status(code: object) -> int:
    """0 or 1 of what a program handed to sys.exit: a status, or else what Python would print."""
    if code is None or code == 0:
        return 0
    print(f"graphc: the program ended with status {code}" if isinstance(code, int) else code, file=sys.stderr)
    return 1


def say_if_none(found: Collected, backend: str | None = None) -> None:
    """Tell a reader who would wonder that nothing is shown."""
    if any(plan.kernels for plan in found.plans):
        return
    import graphc as gc

    until = " before the program failed" if found.status else ""
    print(f"graphc: no kernel was needed on backend {backend or gc.get_backend_name()}{until}", file=sys.stderr)


def use_backend(name: str | None) -> None:
    """Choose the backend for this process and for those that it starts, as GRAPHC_BACKEND does."""
    if name:
        import graphc as gc

        try:
            gc.set_backend(name)
        except BackendError as error:
            raise UsageError(f"--backend {name}: {error.message}") from None
        os.environ["GRAPHC_BACKEND"] = name


def dialect_of_absent(name: str | None) -> str | None:
    """The dialect of a backend that cannot run here: its kernels can be written all the same."""
    from graphc.codegen import is_dialect
    from graphc.runtime import backend as backends

    if name is None or not is_dialect(name):
        return None
    try:
        backends.get(name)
    except BackendError:
        return name
    return None


def _other_than_absent() -> str | None:
    """Where a program runs whose kernels are shown for a device that is absent: None for where it would run anyhow."""
    from graphc.runtime import backend as backends

    try:
        backends.select()
    except BackendError:
        return "auto"
    return None


def _check_file(target: str) -> None:
    if not os.path.exists(target):
        raise UsageError(f"there is no file {target}; give the path of a script, or MODULE:FUNC")
    if os.path.isdir(target) and not os.path.exists(os.path.join(target, "__main__.py")):
        raise UsageError(f"{target} is a folder; give the path of a script, or MODULE:FUNC")
    if not os.access(target, os.R_OK):
        raise UsageError(f"{target} cannot be read")


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

    result = _function(target)()
    tensors = [value for value in _leaves(result) if isinstance(value, gc.Tensor)]
    if tensors:
        gc.realize(*tensors)


def _function(target: str) -> Callable:
    """The function of MODULE:FUNC. An error inside the module is the program's own and passes through."""
    name, _, attribute = target.partition(":")
    parts = name.split(".")
    if name.endswith(".py") and os.path.exists(name):
        module = os.path.relpath(name).removesuffix(".py").replace(os.sep, ".")
        raise UsageError(f"{name} is a file; its function is {module}:{attribute}, from this folder")
    if not all(part.isidentifier() for part in (*parts, attribute)):
        raise UsageError(f"{target} is neither a file nor MODULE:FUNC")
    for count in range(1, len(parts) + 1):  # a parent is imported to find its child
        part = ".".join(parts[:count])
        try:
            found = importlib.util.find_spec(part)
        except ModuleNotFoundError as error:  # the parent is no package
            if not str(error.name).startswith(part):
                raise
            found = None
        if found is None:
            raise UsageError(f"there is no module {part}")
    module = importlib.import_module(name)
    function = getattr(module, attribute, None)
    if not callable(function):
        raise UsageError(f"module {name} has no function {attribute}")
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise UsageError(f"{target} cannot be called without arguments: {error}") from None
    except ValueError:  # a builtin without a signature: the call will tell
        return function
    return function


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
