"""The reference backend: the driver interprets the graph with NumPy, so all that it needs from here is memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.errors import BackendError
from graphc.ir.program import KernelSource, Program
from graphc.runtime import buffers
from graphc.runtime.backend import Executable


class ReferenceBackend:
    """The meaning of every op, computed by NumPy one op at a time. Always there, and never fast."""

    name = "reference"
    dialect = None
    rank = 90
    kind = "cpu"

    def is_available(self) -> str | None:
        return None

    def warm_up(self, kernels: Sequence[KernelSource] = ()) -> None:
        """Nothing: it only interprets."""

    def describe(self) -> dict[str, str]:
        return {"device": "host", "compiler": "none", "numpy": np.__version__}

    def allocate(self, nbytes: int) -> buffers.Buffer:
        return buffers.pool.allocate(nbytes)

    def from_numpy(self, array: np.ndarray) -> buffers.Buffer:
        return buffers.from_numpy(array)

    def compile(self, kernels: Sequence[KernelSource]) -> list[int]:
        raise BackendError("the reference backend interprets graphs; it compiles nothing")

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        return ["not compiled"] * len(kernels)

    def load(self, program: Program) -> Executable:
        raise BackendError("the reference backend interprets graphs; it runs no programs")
