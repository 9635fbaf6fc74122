"""The native library of the CPU runtime, seen from Python.

`native()` builds it once per machine through the kernel cache and loads it. `abi.py` declares its functions in the
form that cffi loads without parsing C, which would take 30 ms of each start; `python -m graphc.runtime.native.declare`
writes that file anew from the declarations.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

FOLDER = Path(__file__).parent
SOURCES = ("native.c", "graphc.h", "pool.c", "run.c", "loops.c")

# What gc_run returns, apart from 1 + the position of a bad index; graphc.h has the same numbers.
OK, INTERRUPTED, NO_MEMORY, FORKED = 0, -1, -2, -3
DONE = bytes([0] * 7 + [128])  # what it leaves in the first word of a run that no signal ends: the least int64


@cache
def source() -> str:
    """All of the C text, as one: the key of the cache."""
    return "".join((FOLDER / name).read_text() for name in SOURCES)


class Native(Struct, frozen=True):
    """The loaded library. `run` is its gc_run; a call of any function releases the interpreter lock."""

    ffi: Any
    lib: Any
    run: Any
    copy_kernel: int

    def open(self, path: Path, entry: str, spare: Callable[[], Path]) -> int:
        """The address of a kernel's entry point. Raises OSError with the loader's reason.

        The loader knows a library by its path. One that was opened before is copied to a path that `spare` makes, and
        opened there.
        """
        with _lock:
            if str(path) in _opened:
                import shutil

                path = Path(shutil.copyfile(path, spare()))
            _opened.add(str(path))
        message = self.ffi.new("char[]", 512)
        address = self.lib.gc_open(os.fsencode(path), entry.encode(), message, 512)
        if not address:
            raise OSError(self.ffi.string(message).decode(errors="replace"))
        return address


_lock = threading.RLock()
_opened: set[str] = set()  # paths this process has given to the loader
_raised = threading.local()  # the exception of a signal handler that ended a run of this thread


def load(path: Path) -> Native:
    """Load the built library from a path that was not loaded before."""
    from graphc.runtime.native.abi import ffi

    with _lock:
        _opened.add(str(path))
    # Its threads may still be running when the interpreter has let go of everything: it is never unloaded.
    lib = ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)
    lib.gc_init(_poll_callback(ffi))
    return Native(ffi, lib, lib.gc_run, lib.gc_copy_kernel())


@cache
def _poll_callback(ffi: Any) -> Any:
    """A C function for long runs to call now and then: Python runs pending signal handlers when it enters `poll`."""

    def keep(kind: type, error: BaseException, traceback: Any) -> None:
        _raised.error = error

    def poll() -> int:
        return 0

    try:
        return ffi.callback("int(void)", poll, error=1, onerror=keep)
    except MemoryError:  # a hardened system without executable memory: Ctrl-C waits for the end of a run
        return ffi.NULL


def take_raised() -> BaseException:
    """The exception that ended the last run of this thread."""
    error = getattr(_raised, "error", None)
    _raised.error = None
    return error if error is not None else KeyboardInterrupt()


def after_fork() -> None:
    """In the child the lock may be held by a thread that does not exist here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=after_fork)
