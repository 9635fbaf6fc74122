"""NVIDIA's compiler as a library (the package nvidia-cuda-nvrtc): CUDA text to machine code, without a GPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from graphc.errors import CompileError, NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime.compiler import first_error

# No contraction: a multiplication and an addition become one operation only where the text says so.
OPTIONS = ("--fmad=false", "-std=c++17", "--ptxas-options=-v")
_USE = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_lock = threading.RLock()  # older versions are not thread-safe


class Cubin(Struct, frozen=True):
    """Machine code for one kind of GPU.

    registers  of a thread
    stack      bytes of local memory of a thread, what its registers spill among them
    spills     bytes that are stored to and loaded from there because registers ran out
    shared     bytes of static shared memory of a block
    """

    code: bytes
    arch: str
    registers: int
    stack: int
    spills: int
    shared: int


@cache
def library() -> Any:
    """The library. Raises NoCompilerError if it is not installed."""
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError:  # of another system, or it lacks its own libraries: the next one may do
            continue
    raise NoCompilerError("NVRTC was not found", op="cuda",
                          fix="pip install nvidia-cuda-nvrtc, or install the CUDA toolkit")


def _paths() -> Iterator[str]:
    """Where it may lie: in the packages of PyPI first, then where the system looks."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from map(str, sorted(Path(folder).glob("*/lib/libnvrtc.so.*"), reverse=True))
    found = ctypes.util.find_library("nvrtc")
    if found:
        yield found


def version() -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def compile(kernel: KernelSource, arch: str) -> Cubin:
    """The kernel for an architecture such as "sm_90". Raises CompileError with the compiler's first error."""
    return _described(*_compiled(kernel, arch, "CUBIN"))


def assembly(kernel: KernelSource, arch: str) -> str:
    """The kernel as PTX, for an architecture such as "compute_90"."""
    code, _, _ = _compiled(kernel, arch, "PTX")
    return code.rstrip(b"\0").decode()


def _compiled(kernel: KernelSource, arch: str, form: str) -> tuple[bytes, str, str]:
    """The code in one of the forms that the compiler gives, the architecture, and what it says."""
    lib, program = library(), ctypes.c_void_p()
    options = [f"--gpu-architecture={arch}".encode(), *[option.encode() for option in OPTIONS]]
    with _lock:
        lib.nvrtcCreateProgram(ctypes.byref(program), kernel.text.encode(), b"kernel.cu", 0, None, None)
        try:
            failed = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
            log = _bytes(lib, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if failed:
                raise CompileError(f"NVRTC refused {kernel.entry} for {arch}: {first_error(log)}", op="cuda")
            return _bytes(lib, program, form), arch, log
        finally:
            lib.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(lib: Any, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, content)
    return content.raw


def _described(code: bytes, arch: str, log: str) -> Cubin:
    use, spills = _USE.search(log), _SPILLS.search(log)
    if use is None or spills is None:
        raise CompileError(f"NVRTC says nothing of registers for {arch}: {log.strip()[:200]!r}", op="cuda")
    stack, stores, loads = map(int, spills.groups())
    return Cubin(code, arch, int(use[1]), stack, stores + loads, int(use[2] or 0))
