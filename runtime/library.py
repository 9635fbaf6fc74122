"""Library steps on the host: the routines of graphc/ir/routines.py, run on a program's buffers.

A step's attrs are (("arguments", tuple),), the arguments of its LIBRARY_CALL node. A routine gets contiguous read-only
input arrays, output arrays to fill, and those arguments. The shapes and dtypes of the outputs are settled when the
program is made; results of others are an error. What NumPy raises for the values, such as
numpy.linalg.LinAlgError, is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graphc.ir import dtype as dt
from graphc.ir.program import Library
from graphc.ir.routines import TABLE


def routine(step: Library) -> Callable[[tuple, tuple], None]:
    """What runs a step: a function of its input and its output arrays. ValueError where a program has no room for what
    the routine gives."""
    row, arguments = TABLE[step.call], dict(step.attrs).get("arguments", ())
    given = tuple(dt.as_dtype(x.dtype) for x in step.inputs)
    dtypes, shapes = row.results(given, tuple(x.shape for x in step.inputs), arguments)
    for output, dtype, shape in zip(step.outputs, dtypes, shapes, strict=True):
        if (output.dtype, output.shape) != (dtype.name, shape):
            raise ValueError(f"{step.call} gives {dtype} of shape {shape}, but the program has room for "
                             f"{output.dtype} {output.shape}")
    return partial(row.run, arguments)
