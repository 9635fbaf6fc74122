"""Library steps on the host: the routines of graphc/ir/routines.py, run on a program's buffers.

A step's attrs are (("arguments", tuple),), the arguments of its LIBRARY_CALL node. A routine gets contiguous read-only
input arrays, output arrays to fill, and those arguments. The shapes and dtypes of the outputs are settled when the
program is made; results of others are an error. What NumPy raises for the values, such as
numpy.linalg.LinAlgError, is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from graphc.ir import dtype as dt
from graphc.ir.routines import TABLE, results

Routine = Callable[..., None]


def _fill(name: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], arguments: tuple = ()) -> None:
    given = tuple(dt.as_dtype(x.dtype) for x in inputs)
    dtypes, shapes = results(name, given, tuple(x.shape for x in inputs), arguments)
    for output, dtype, shape in zip(outputs, dtypes, shapes, strict=True):
        if (output.dtype, output.shape) != (dtype.numpy, shape):
            raise ValueError(
                f"{name} gives {dtype} of shape {shape}, but the program has room for {output.dtype} {output.shape}"
            )
    TABLE[name].run(arguments, tuple(inputs), tuple(outputs))


ROUTINES: dict[str, Routine] = {name: partial(_fill, name) for name in TABLE}
