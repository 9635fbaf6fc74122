"""Backends: what one is, which there are, and how one is chosen.

A backend is registered in package metadata and nowhere else, whether it comes with graphc or not:

    [project.entry-points."graphc.backends"]
    cpu = "graphc.runtime.cpu:CpuBackend"
    reference = "graphc.runtime.reference:ReferenceBackend"

Its module is imported when the backend is first asked for.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from graphc.config import settings
from graphc.errors import BackendError, CacheError, IndexOutOfRange, OutOfMemory, warn
from graphc.ir.program import KernelSource, Program
from graphc.runtime.buffers import Buffer

GROUP = "graphc.backends"
CHECKOUT = Path(__file__).resolve().parent.parent / "pyproject.toml"
ALIASES = {"c": "cpu", "numpy": "cpu"}

meanwhile: list[Callable[[], None]] = []  # what to do while a compiler that is new to the cache is asked what it can


class Executable(Protocol):
    """A program ready to run, any number of times and from several threads."""

    program: Program

    def run(
        self, inputs: Sequence[Buffer], params: Sequence[int] = (), donate: Sequence[int] = (),
        begun: Callable[[list[Buffer], Callable[[], bool]], None] | None = None,
    ) -> list[Buffer]:
        """Run on these inputs and return the outputs in fresh buffers.

        params  the program's scalars as the signed int64 of their bits
        donate  positions of inputs that the caller gives away: an output that is an alias takes the buffer over
        begun   where no signal can end a run, as on the CPU, called before one that writes in place, with the outputs
                and what tells whether they are computed: handlers of signals that came meanwhile run before it returns

        Raises IndexFault if an index from data lies outside its array. FAILURES may have an attribute `ended_at`, the
        step at which the run ended.
        """


@runtime_checkable
class Backend(Protocol):
    """A device and a way to run programs on it.

    name     as in GRAPHC_BACKEND
    dialect  the folder in codegen_templates that its kernels are written in, with the work items of a group behind a
             hyphen where the device has fewer than most; None if it interprets the graph
    rank     where it stands in `auto`, the least first: 10 CUDA, 20 HIP, 30 GPU through OpenCL, 50 CPU, 90 reference;
             None if it has to be named
    kind     "cpu" or "gpu"

    One whose memory other libraries share by DLPack also has dlpack, DLPack's number of such devices; dlpack_device,
    the pair of it and the device's number; from_array and lend, which take and give arrays there (runtime/cuda.py).
    """

    name: str
    dialect: str | None
    rank: int | None
    kind: str

    def is_available(self) -> str | None:
        """None if it can run here, else the reason why not and what to install. Cheap after the first call."""

    def warm_up(self, kernels: Sequence[KernelSource] = ()) -> None:
        """Begin what the kernels of a new program will need, in the background, and where that pays, to compile these.
        Never raises."""

    def describe(self) -> dict[str, str]:
        """What `graphc devices` prints: the device, the compiler, its limits."""

    def allocate(self, nbytes: int) -> Buffer:
        """Memory of the device. Raises MemoryError if it cannot fit."""

    def from_numpy(self, array: np.ndarray) -> Buffer:
        """The array in the device's memory; on the host it is shared where its layout permits."""

    def compile(self, kernels: Sequence[KernelSource]) -> list[int]:
        """Handles of the compiled kernels, built where no cache has them. Raises CompileError."""

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        """Where each kernel is found: "in memory", "on disk" or "not compiled". Compiles nothing."""

    def load(self, program: Program) -> Executable:
        """Check the program, compile its kernels and make it ready to run."""


class IndexFault(IndexOutOfRange):
    """An index from data lay outside its array.

    step      the step of the program that read it
    position  the position of the first bad index, counted in that kernel's order
    ended_at  the step at which the run ended; None: it went on to its end
    """

    def __init__(self, step: int, position: int, label: str, ended_at: int | None = None):
        what = f" of {label}" if label else ""
        super().__init__(f"the index at position {position}{what} lies outside the array")
        self.step = step
        self.position = position
        self.ended_at = ended_at


FAILURES = (IndexFault, np.linalg.LinAlgError, OutOfMemory)     # of a run: by the data, or for lack of memory


# ------------------------------------------------------------------------------------------------- what is registered


@cache
def registered() -> dict[str, str]:
    """Name -> "module:Class" of every registered backend."""
    return _cached_table()


def _cached_table() -> dict[str, str]:
    """The table from package metadata. Reading that takes 10 ms and more, so it is kept in the cache folder for as
    long as no folder on the path changes: installing or removing a package changes one. The first is the script's own,
    which changes all the time and holds no installed packages."""
    from graphc.runtime.cache import Store

    facts = [(folder, _modified(folder)) for folder in [*sys.path[1:], str(CHECKOUT)]]
    key = "backends-" + hashlib.blake2b(repr((GROUP, facts)).encode(), digest_size=16).hexdigest()
    store = Store("tools")
    try:
        known = store.load(key)
    except CacheError:  # the folder cannot be trusted; compiling says so, choosing a backend needs no cache
        return _table_of_checkout() | _table_of_metadata()
    if known is not None:
        return json.loads(known)
    table = _table_of_checkout() | _table_of_metadata()
    store.store(key, json.dumps(table).encode())
    return table


def _modified(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def _table_of_metadata() -> dict[str, str]:
    """The group in the entry_points.txt of every package on the path; the first of a name counts. importlib.metadata
    reads the same files, but imports the parser of e-mails for that, which is 20 ms of a first start."""
    table: dict[str, str] = {}
    for path in _entry_point_files():
        _, found, rest = path.read_text(encoding="utf-8").partition(f"[{GROUP}]\n")
        lines = rest.partition("\n[")[0].splitlines() if found else []
        pairs = [line.partition("=")[::2] for line in lines if "=" in line and not line.startswith(("#", ";"))]
        table = {name.strip(): value.strip() for name, value in pairs} | table
    return table


def _entry_point_files() -> Iterator[Path]:
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:  # a zip file, or a folder that does not exist: nothing is installed there
            continue
        paths = [Path(folder, name, "entry_points.txt") for name in names if name.endswith((".dist-info", ".egg-info"))]
        yield from (path for path in paths if path.is_file())


def _table_of_checkout() -> dict[str, str]:
    """What the metadata of an installed checkout may lack: it is as old as the installation."""
    import tomllib

    try:
        return tomllib.loads(CHECKOUT.read_text())["project"]["entry-points"][GROUP]
    except (OSError, KeyError):
        return {}


# ----------------------------------------------------------------------------------------------------------- choosing

_instances: dict[str, Backend] = {}
_lock = threading.RLock()


def _after_fork() -> None:
    """In the child the lock may be held by a thread that does not exist here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


_NO_BACKEND = "there is no backend"


def get(name: str) -> Backend:
    """The backend of this name or alias; "gpu" is the best GPU. Raises BackendError if it is unknown or absent."""
    if not isinstance(name, str):
        raise BackendError(f"a backend is named by text, not {name!r}; {_listing()}", op="GRAPHC_BACKEND")
    name = ALIASES.get(name.strip(), name.strip())
    if name == "auto":
        return _automatic()
    if name == "gpu":
        return _best_gpu()
    if name not in registered():
        raise BackendError(f"{_NO_BACKEND} {name!r}; {_listing()}", op="GRAPHC_BACKEND")
    try:
        backend = _instance(name)
        reason = backend.is_available()
    except ImportError as error:
        reason = str(error)
    if reason is not None:
        raise BackendError(f"the backend {name!r} cannot run here: {reason}; {_listing()}", op="GRAPHC_BACKEND")
    return backend


def select(chain: str | None = None) -> list[Backend]:
    """The backends of a chain such as "auto" or "opencl,cpu" that can run here, in the order of preference.

    chain: by default GRAPHC_BACKEND. Raises BackendError if none of them can run, and warns of a name that none has.
    """
    chosen: list[Backend] = []
    errors = []
    chain = chain or settings.backend
    for name in chain.split(",") if isinstance(chain, str) else [chain]:
        try:
            backend = get(name)
        except BackendError as error:
            errors.append(error)
            continue
        if backend not in chosen:
            chosen.append(backend)
    if not chosen:
        raise errors[0]
    for error in errors:
        if error.message.startswith(_NO_BACKEND):
            warn(f"GRAPHC_BACKEND: {error.message}")
    return chosen


def sharing(dlpack: int) -> Backend:
    """The backend that shares arrays on devices of this kind of DLPack. Raises BackendError if there is none."""
    for name in registered():
        try:
            backend = _instance(name)
        except ImportError:
            continue
        if getattr(backend, "dlpack", None) == dlpack:
            return get(name)
    raise BackendError(f"no backend takes arrays on a device of DLPack's kind {dlpack}; {_listing()}", op="from_dlpack",
                       fix="copy the array to the host first")


def status() -> dict[str, str | None]:
    """Every registered backend and why it cannot run here; None where it can."""
    return {name: _reason(name) for name in registered()}


def _instance(name: str) -> Backend:
    with _lock:
        if name not in _instances:
            module, _, attribute = registered()[name].partition(":")
            _instances[name] = getattr(importlib.import_module(module), attribute)()
        return _instances[name]


def _reason(name: str) -> str | None:
    try:
        return _instance(name).is_available()
    except ImportError as error:  # a package that its module needs
        return str(error)


def _listing() -> str:
    states = status()
    here = [name for name, reason in states.items() if reason is None]
    absent = [f"{name} ({reason})" for name, reason in states.items() if reason is not None]
    return f"available: {', '.join(here)}" + (f"; not available: {', '.join(absent)}" if absent else "")


def _ranked() -> list[Backend]:
    """The backends that `auto` considers, best first. A plug-in that cannot be imported is passed over."""
    found = []
    for name in registered():
        try:
            backend = _instance(name)
        except ImportError:
            continue  # status() and the errors above give the reason
        if backend.rank is not None:
            found.append(backend)
    return sorted(found, key=lambda backend: (backend.rank, backend.name))


def _automatic() -> Backend:
    backend, skipped = _choose()
    if backend.dialect is None and skipped:
        _warn_slow("; ".join(skipped))
    return backend


@cache
def _choose() -> tuple[Backend, tuple[str, ...]]:
    """One backend for the whole process, and why better ones on the host were passed over."""
    skipped: list[str] = []
    for backend in _ranked():
        reason = backend.is_available()
        if reason is None:
            return backend, tuple(skipped)
        if backend.kind == "cpu":
            skipped.append(reason)
    raise BackendError(f"no backend can run here; {_listing()}", op="GRAPHC_BACKEND")


@cache
def _warn_slow(reason: str) -> None:
    warn(f"graphc computes with NumPy, without compiled kernels: {reason}")


def _best_gpu() -> Backend:
    for backend in _ranked():
        if backend.kind == "gpu" and backend.is_available() is None:
            return backend
    raise BackendError(f"there is no GPU that graphc can use; {_listing()}", op="GRAPHC_BACKEND")


def forget_choice() -> None:
    """Choose anew: for tests, and after the compiler's settings changed."""
    _choose.cache_clear()
    _warn_slow.cache_clear()
    _instances.clear()
