"""Realizing, planning, counting, and choosing where things run."""
from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from graphc import driver
from graphc.api.record import as_tensor
from graphc.errors import DTypeError
from graphc.tensor import Tensor


def realize(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Compute these tensors in one schedule. Returns them: one tensor as itself, several as a tuple.

    >>> import graphc as gc
    >>> x = gc.asarray([1.0, 2.0])
    >>> gc.realize(x + 1).tolist()
    [2.0, 3.0]
    """
    if len(tensors) == 1 and tensors[0].__class__ is Tensor:    # as below, without its loops
        driver.realize((tensors[0].node,))
        return tensors[0]
    driver.realize(_nodes(tensors, "realize"))
    return tensors[0] if len(tensors) == 1 else tensors


def _nodes(tensors: tuple, name: str) -> list:
    for t in tensors:
        if not isinstance(t, Tensor):
            raise DTypeError(f"{type(t).__name__} is not a tensor", op=name, fix="give tensors, one by one")
    return [t.node for t in tensors]


def plan(*tensors: Tensor, backend: str | None = None):
    """What `realize(*tensors)` would launch for these; tensors that were changed in place, and would be realized with
    them, are left out. Nothing runs and nothing is compiled.

    The Plan has .kernels (each .name .source .bytes_read .bytes_written .flops .origins), .bytes_moved, .flops and
    .peak_bytes; str(plan) is a report.

    >>> import graphc as gc
    >>> len(gc.plan(gc.exp(gc.ones(10)) + 1).kernels)
    1
    """
    return driver.plan(_nodes(tensors, "plan"), backend)


def counters():
    """Launches, compiles, compile_seconds, program_hits and _misses, kernel_hits and _misses of this process.

    >>> import graphc as gc
    >>> before = gc.counters()
    >>> (gc.counters() - before).launches
    0
    """
    return driver.counters()


def set_backend(name: str) -> None:
    """Use a backend ("cpu", "reference", "auto", ...) or the first of a comma list for tensors made from now on.

    Raises BackendError, which lists what is available and what to install.
    """
    driver.set_backend(name)


def get_backend():
    """The backend that new tensors live on."""
    return driver.current_backend()


def get_backend_name() -> str:
    """The name of the backend that new tensors live on."""
    return driver.default_device()


def backend(name: str) -> AbstractContextManager[None]:
    """Use another backend inside a `with` block, in this thread; set_backend inside it holds until it ends.

    >>> import graphc as gc
    >>> with gc.backend("reference"):
    ...     gc.ones(2).device
    'reference'

    Raises BackendError, which lists what is available and what to install.
    """
    return driver.in_block(name)


def devices() -> list[str]:
    """The names of the backends that can run here.

    >>> import graphc as gc
    >>> "reference" in gc.devices()
    True
    """
    return driver.available()


def to_numpy(x) -> np.ndarray:
    """x as a NumPy array: a tensor's values, anything else by np.asarray."""
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


def to_backend(x, device: str | None = None) -> Tensor:
    """x as a tensor on a device, by default the current one."""
    return as_tensor(x).to(device or driver.default_device())
