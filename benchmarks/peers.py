"""The peers: what each needs, how it takes NumPy arrays, and how a formula becomes a call that ends with the answer.

`open_peer(name)` imports the library, so it is called in the peer's own process only (worker.py).
"""
from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from msgspec import Struct

OURS = "graphc"
# Peer: the distribution that it needs, and whose version is reported.
DISTRIBUTIONS = {"graphc": "graphc", "numpy": "numpy", "jax": "jax", "torch": "torch", "torchc": "torch",
                 "numexpr": "numexpr", "numba": "numba"}
TITLES = {"numpy": "NumPy", "jax": "JAX", "torchc": "torch.compile", "numba": "Numba"}
# Where a work's formula for a peer is looked for, in this order.
FORMULAS = {"graphc": ("graphc", "array"), "numpy": ("numpy", "array"), "jax": ("jax", "array"), "torch": ("torch",),
            "torchc": ("torchc", "torch"), "numexpr": ("numexpr",), "numba": ("numba",)}


class Peer(Struct, frozen=True):
    """A library, imported.

    take    NumPy arrays to its own
    bind    (formula, inputs) -> a call that computes the answer and waits for it
    give    its answer to a NumPy array
    """

    take: Callable[[Any], Any]
    bind: Callable[[Callable, tuple], Callable[[], Any]]
    give: Callable[[Any], Any]


def title(peer: str) -> str:
    return TITLES.get(peer, peer)


def version(peer: str) -> str | None:
    """The installed version, or None if the peer is not installed. Imports nothing."""
    if importlib.util.find_spec(peer.removesuffix("c") if peer == "torchc" else peer) is None:
        return None
    try:
        return importlib.metadata.version(DISTRIBUTIONS[peer])
    except importlib.metadata.PackageNotFoundError:     # a checkout on the path
        return "not packaged"


def formula(work: ModuleType, peer: str) -> Callable | None:
    """The work's formula for a peer; None if the work has none in its style."""
    return next((getattr(work, name) for name in FORMULAS[peer] if hasattr(work, name)), None)


def thread_environment(threads: int) -> dict[str, str]:
    """The variables by which the peers are told how many threads to use."""
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMBA", "GRAPHC")
    return {f"{name}_NUM_THREADS": str(threads) for name in names} | {"NUMEXPR_MAX_THREADS": str(threads)}


def as_one(answer, give: Callable[[Any], Any]):
    """An answer as one NumPy array: of several, all their elements one after the other. bfloat16 is widened: it would
    not be known in a file."""
    import numpy as np

    def widened(part):
        array = np.asarray(give(part))
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array

    if not isinstance(answer, (tuple, list)):
        return widened(answer)
    return np.concatenate([widened(part).ravel() for part in answer])


def open_peer(name: str) -> Peer:
    return globals()[f"_{name}"]()


# ---------------------------------------------------------------------------------------------------------- each peer


def _graphc() -> Peer:
    """As its users call it where JAX's call jax.jit and torch's torch.compile."""
    import graphc as gc

    def bind(formula, inputs):
        compiled = gc.jit(lambda *arrays: formula(gc, *arrays))
        return lambda: compiled(*inputs)

    return Peer(gc.asarray, bind, lambda answer: as_one(answer, lambda t: t.numpy()))


def _numpy() -> Peer:
    import numpy as np

    np.seterr(all="ignore")
    return Peer(lambda a: a, lambda formula, inputs: lambda: formula(np, *inputs), lambda answer: answer)


def _jax() -> Peer:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import numpy as np

    def take(array):
        jax.config.update("jax_enable_x64", array.dtype == np.float64)      # or it would become float32
        return jax.numpy.asarray(array)

    def bind(formula, inputs):
        compiled = jax.jit(lambda *arrays: formula(jax.numpy, *arrays))
        return lambda: jax.block_until_ready(compiled(*inputs))

    return Peer(take, bind, lambda answer: as_one(answer, np.asarray))


def _torch(compiled: bool = False) -> Peer:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.set_grad_enabled(False)

    def bind(formula, inputs):
        if not compiled:
            return lambda: formula(torch, *inputs)
        torch.compiler.reset()
        function = torch.compile(lambda *arrays: formula(torch, *arrays), dynamic=False)
        return lambda: function(*inputs)

    def take(array):
        narrow = array.dtype.name == "bfloat16"
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16) if narrow else torch.from_numpy(array)

    def give(tensor):
        return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).detach().numpy()

    return Peer(take, bind, lambda answer: as_one(answer, give))


def _torchc() -> Peer:
    return _torch(compiled=True)


def _numexpr() -> Peer:
    import numexpr

    numexpr.set_num_threads(int(os.environ.get("NUMEXPR_NUM_THREADS", "1")))
    return Peer(lambda a: a, lambda formula, inputs: lambda: formula(numexpr, *inputs), lambda answer: answer)


def _numba() -> Peer:
    import numba
    import numpy as np

    def bind(formula, inputs):
        compiled = formula(numba)
        return lambda: compiled(*inputs)

    return Peer(lambda a: a, bind, np.asarray)
