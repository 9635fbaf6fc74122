"""Every exception of graphc, and the place in the user's program that it names.

An error reads:

    [matmul] shapes (3, 4) and (5, 6) do not fit: 4 is not 5
      at script.py:12 in main: y = a @ b
                                   ^^^^^
      fix: transpose one operand, e.g. a @ b.T

A class of graphc also derives from the built-in that NumPy raises for the same mistake, so that existing `except`
clauses keep working. This module imports nothing heavy: it is loaded by every `import graphc`.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import NamedTuple

# ---------------------------------------------------------------------------------------------------- the user's site


# np.sum(t), a decorator or a `with` pass through these on their way to graphc: the user's line lies further out.
_PLUMBING = ("graphc", "numpy", "contextlib", "functools", "threading", "concurrent")


class _Internal(dict):
    """Module name -> is it not the user's code? Answered once per name, because user_site() asks for every frame."""

    def __missing__(self, name: str) -> bool:
        parts = name.split(".")
        inside = parts[0] in _PLUMBING and parts[:2] != ["graphc", "examples"]  # written as a user writes
        self[name] = inside
        return inside


_INTERNAL = _Internal()


def user_site(skip: int = 1, _getframe=sys._getframe, _internal=_INTERNAL) -> tuple[CodeType, int] | None:
    """The instruction of the user's program that called graphc: (code object, offset of the instruction).

    Recorded for every op, so it does no formatting, and it holds the code object but not the frame: no local variable
    of the user's lives longer for it. None if no caller lies outside graphc. `Site(*pair)` makes it printable.

    skip: how many callers are known to be graphc's own. Python makes an object of every frame that is looked at, which
    is most of the cost here (0.1 us each), and of none that is skipped.
    """
    try:
        frame = _getframe(skip + 1)
        while _internal[frame.f_globals["__name__"]]:
            frame = frame.f_back
    except KeyError:  # globals without a name: code that the user runs with exec
        pass
    except (AttributeError, ValueError):  # the stack ended: no caller outside graphc
        return None
    return frame.f_code, frame.f_lasti


class Site(NamedTuple):
    """A place in the user's program; its line is looked up only when it is printed."""

    code: CodeType
    lasti: int

    def position(self) -> tuple[str, int, int | None, int | None]:
        """(file, line, first column, column after the last); the columns are None where Python dropped them or the
        expression runs over several lines."""
        positions = list(self.code.co_positions())
        index = self.lasti // 2  # instructions are two bytes wide
        line, end, first, last = positions[index] if 0 <= index < len(positions) else (None,) * 4
        if not line:  # None, or 0 for an instruction that no source asked for
            return self.code.co_filename, self.code.co_firstlineno, None, None
        if line != end:
            first = last = None
        return self.code.co_filename, line, first, last

    def location(self) -> str:
        """'script.py:12', the path relative to the current folder where it lies below it."""
        file, line, _, _ = self.position()
        return f"{_short(file)}:{line}"

    def resolve(self) -> str:
        """'script.py:12 in main', or without the function at the top level of a file."""
        name = self.code.co_name
        return self.location() + ("" if name == "<module>" else f" in {name}")

    def excerpt(self) -> str:
        """'script.py:12 in main: y = a @ b' and, below it, carets under the expression that made the call."""
        import linecache

        file, line, first, last = self.position()
        source = linecache.getline(file, line).rstrip()
        if not source:
            return self.resolve()
        head = f"{self.resolve()}: {source.lstrip()}"
        if first is None or last is None:
            return head
        # Columns are counted in bytes of UTF-8, a terminal shows characters.
        start = len(source.encode()[:first].decode(errors="ignore"))
        stop = len(source.encode()[:last].decode(errors="ignore"))
        indent = len(head) - len(source) + start
        return f"{head}\n{' ' * indent}{'^' * max(stop - start, 1)}"


def _short(file: str) -> str:
    if not os.path.isabs(file):
        return file
    try:
        here = os.getcwd()
    except OSError:  # the current folder was removed
        return file
    return file[len(here) + 1 :] if file.startswith(here + os.sep) else file


def warn(message: str) -> None:
    """A RuntimeWarning at the user's line; it names no line of graphc's own."""
    import warnings

    site = user_site()
    if site is None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    else:
        file, line, _, _ = Site(*site).position()
        warnings.warn_explicit(message, RuntimeWarning, file, line)


# --------------------------------------------------------------------------------------------------------- the errors


class GraphcError(Exception):
    """The base of every error that graphc raises on purpose.

    message  what is wrong, with the shapes, dtypes or values
    op       the name of the op as the user wrote it ("matmul"), or of the part that failed ("GRAPHC_BACKEND")
    fix      what would work
    site     where the user asked for it; None means the place that is calling graphc now. Errors that surface later,
             in realize, pass the site that was recorded with the op.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        fix: str | None = None,
        site: Site | tuple[CodeType, int] | str | None = None,
    ):
        super().__init__(message)
        self.message = message
        self.op = op
        self.fix = fix
        self.site = user_site() if site is None else site

    def where(self) -> str | None:
        """The user's line with carets, or None where there is none to show."""
        if self.site is None or isinstance(self.site, str):
            return self.site
        return Site(*self.site).excerpt()

    def __str__(self) -> str:
        lines = [f"[{self.op}] {self.message}" if self.op else self.message]
        where = self.where()
        if where:
            # The caret line was aligned for a line without this prefix.
            lines += ["  at " + where.replace("\n", "\n     ")]
        if self.fix:
            lines += [f"  fix: {self.fix}"]
        return "\n".join(lines)

    def __reduce__(self):
        # Code objects cannot be pickled: an error that crosses a process keeps its text.
        return _rebuild, (type(self), self.message, self.op, self.fix, self.where())


def _rebuild(kind: type[GraphcError], message: str, op: str | None, fix: str | None, where: str | None) -> GraphcError:
    error = kind(message, op=op, fix=fix, site=where)
    error.site = where  # also when it is None: the process that unpickles is not the place of the error
    return error


class ShapeError(GraphcError, ValueError):
    """Shapes that do not broadcast, multiply, reshape or concatenate."""


class ArgumentError(GraphcError, ValueError):
    """The value of an argument that is neither a shape nor a dtype: an unknown mode, a number out of bounds."""


class AxisError(GraphcError, ValueError, IndexError):
    """An axis outside the array, or given twice. Derives from what numpy.exceptions.AxisError derives from."""


class DTypeError(GraphcError, TypeError):
    """A dtype that the op does not take, or two that have no common one."""


class IndexOutOfRange(GraphcError, IndexError):
    """An index outside its axis, in the program text or in data."""


CLASSES = "classes"     # instead of the number of an axis: the indices are labels, of which negative ones are outside


def out_of_range(index: int, n: int, axis: int | str | None, op: str, site=None) -> IndexOutOfRange:
    """The error for an index into an axis (None: whose number is not known; CLASSES: see there) of n elements."""
    if axis == CLASSES:
        return IndexOutOfRange(f"label {index} is none of {n} classes", op="label", site=site,
                               fix=f"use 0 to {n - 1}; one that stands for no class: ignore_index={index}")
    where, fix = "an axis" if axis is None else f"axis {axis}", f"use {-n} to {n - 1}" if n else "the axis is empty"
    return IndexOutOfRange(f"index {index} is out of range for {where} of size {n}", op=op, site=site, fix=fix)


class IntegerOverflow(GraphcError, OverflowError):
    """A Python integer that does not fit the dtype of the tensor beside it."""


class PowerError(GraphcError, ValueError):
    """An integer to a negative integer power."""


class TruthValueError(GraphcError, ValueError):
    """bool() of a tensor of more than one element."""


class TracerError(GraphcError, RuntimeError):
    """A value was asked for while jit, grad or plan only records."""


class GradientError(GraphcError, ValueError):
    """A gradient that does not exist, or a variable used as a gradient forbids."""


class BatchingError(GraphcError, NotImplementedError):
    """An operation that vmap does not know how to batch."""


class JitError(GraphcError, TypeError):
    """A function or a call that jit cannot take: its arguments, a donation, or a trace that changed."""


class StateError(GraphcError, KeyError, ValueError):
    """Names in a state that a module or an optimiser does not have, or lacks."""

    __str__ = GraphcError.__str__   # KeyError's would quote the text


class WeightsError(GraphcError, ValueError):
    """A file of weights that is damaged, or of a kind that graphc does not read."""


class BackendError(GraphcError, RuntimeError):
    """A backend that is unknown, absent, or lacks an op."""


class NoCompilerError(BackendError):
    """No C compiler was found."""


class CompileError(GraphcError, RuntimeError):
    """The compiler refused a generated kernel."""


class KernelFault(GraphcError, RuntimeError):
    """A kernel does what a GPU leaves undefined: threads that diverge at a barrier, or race for one place."""


class CacheError(GraphcError, OSError):
    """A cache folder that cannot be trusted or used."""


class OutOfMemory(GraphcError, MemoryError):
    """A schedule whose peak does not fit; raised before anything is launched, or at the step ended_at."""

    ended_at = -1


class MismatchError(GraphcError, ArithmeticError):
    """GRAPHC_VERIFY found a result that is not what the reference says."""


class ConfigError(GraphcError, ValueError):
    """A GRAPHC_* variable, or a setting, with a value that means nothing."""
