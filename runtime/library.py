"""Library steps on the host: the routines of graphc/ir/routines.py, run on a program's buffers.

A step's attrs are (("arguments", tuple),), the arguments of its LIBRARY_CALL node. A routine gets contiguous read-only
input arrays, output arrays to fill, and those arguments. The shapes and dtypes of the outputs are settled when the
program is made; a result of another shape is an error. What NumPy raises for the values, such as
numpy.linalg.LinAlgError, is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from graphc.ir.routines import TABLE

Routine = Callable[..., None]


def _fill(name: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], arguments: tuple = ()) -> None:
    TABLE[name].run(arguments, tuple(inputs), tuple(outputs))


ROUTINES: dict[str, Routine] = {name: partial(_fill, name) for name in TABLE}
