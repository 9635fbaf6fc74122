"""Which C compiler this machine has, and the name that a kernel gets in the cache when it is compiled here.

A warm start goes through this file and no further; running the compiler is in build.py.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from graphc.config import settings
from graphc.errors import NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import cache

REQUIRED = ("-O3", "-fPIC", "-shared")
# Strict IEEE arithmetic is at stake in these: a compiler that does not take them is not used. Without the last it would
# compute cexpf of a constant itself, and get other bits than the library.
STRICT = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-fno-builtin")
# Speed only: left out one by one where the compiler does not know them (-mprefer-vector-width is for x86). The passes
# that are switched off, and registers by regions of a function, are a third of GCC's time, and gain nothing.
OPTIONAL = ("-march=native", "-mprefer-vector-width=512", "-fopenmp-simd", "-fno-gcse", "-fno-gcse-after-reload",
            "-fno-loop-unroll-and-jam", "-fno-thread-jumps", "-fira-region=one")
LIBRARIES = ("-lmvec", "-lm")   # not every C library has libmvec
# Nothing is searched but these, if they suffice: this process has the C library, and a tenth of a small kernel's time
# is saved.
ALONE = ("-nostdlib", *LIBRARIES, "-lgcc")
NATIVE_FLAGS = ("-O1", "-fPIC", "-shared", "-pthread")  # the thread pool gains nothing from -O3, and builds faster

ABI = "2"  # of the kernels' entry points and of the native library; part of every key


class Compiler(Struct, frozen=True):
    """A C compiler that works here.

    command   what to run, an absolute path first
    identity  version and target, the same wherever the compiler lies
    flags     for kernels, without libraries
    libraries to link kernels with
    """

    command: tuple[str, ...]
    identity: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]

    def key(self, entry: str, text: str, flags: Sequence[str] | None = None) -> str:
        """The name of a compiled source in the cache: everything that its machine code depends on."""
        used = (*self.flags, *self.libraries) if flags is None else tuple(flags)
        parts = (ABI, self.identity, machine(), *used, entry, text)
        digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
        return f"{entry[:100]}-{digest}"


class Job(Struct, frozen=True):
    """One source to build into a shared object, or (kind "objects") into a part of some.

    folder  of further sources that the text includes
    parts   jobs whose objects it is linked with
    """

    key: str
    text: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    folder: Path | None = None
    parts: tuple[Job, ...] = ()
    kind: str = "kernels"


def kernel_job(compiler: Compiler, kernel: KernelSource) -> Job:
    flags = tuple(flag for flag in compiler.flags if flag != "-shared") + ("-c",)
    parts = tuple(Job(compiler.key("part", text, flags), text, flags, (), kind="objects") for text in kernel.parts)
    flags = (*compiler.flags, "-DGC_APART") if parts else compiler.flags
    return Job(compiler.key(kernel.entry, kernel.text), kernel.text, flags, compiler.libraries, None, parts)


# ------------------------------------------------------------------------------------------------- finding a compiler


def find_compiler() -> Compiler:
    """The compiler of this machine. Raises NoCompilerError with what to install if there is none that works."""
    return _find(settings.cc, os.environ.get("CC", "").strip())


@lru_cache(maxsize=16)
def _find(chosen: str | None, usual: str) -> Compiler:
    refused = []
    for command in _candidates(chosen, usual):
        try:
            return _examine(command)
        except Unfit as error:
            refused.append(f"{' '.join(command)}: {error}")
    if chosen is not None:
        reason = refused[0] if refused else f"{chosen!r} is not a program on the PATH"
        raise NoCompilerError(
            f"the chosen compiler cannot be used ({reason})",
            op="GRAPHC_CC",
            fix="name a C compiler such as gcc or clang",
        )
    tried = f" ({'; '.join(refused)})" if refused else ""
    raise NoCompilerError(f"no C compiler was found{tried}", fix="install gcc or clang, or `pip install ziglang`")


class Unfit(Exception):
    """Why a candidate is not used."""


def first_error(text: str) -> str:
    """Of what a compiler says, of any language, the first line with an error, else the first; "" if it says nothing."""
    import re

    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"\berror\b|undefined reference", line, re.IGNORECASE)]
    return (marked or lines or [""])[0]


def _candidates(chosen: str | None, usual: str) -> Iterator[tuple[str, ...]]:
    """The commands in the order of preference that exist on this machine. A chosen one has no alternatives."""
    for text in [chosen] if chosen is not None else [usual, "cc", "gcc", "clang"]:
        words = _words(text)
        path = _which(words[0]) if words else None
        if path is not None:
            yield (os.path.abspath(path), *words[1:])
    if chosen is None and importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "cc")


def _words(command: str) -> list[str]:
    """A command such as "ccache gcc" in parts, or one path that has spaces in it."""
    if " " not in command or os.path.isfile(command):
        return [command] if command else []
    import shlex

    try:
        return shlex.split(command)
    except ValueError:      # a quotation mark without its other one: no program has that name
        return []


def _which(name: str) -> str | None:
    """shutil.which, whose import would be 4 ms of every start."""
    folders = [""] if os.path.dirname(name) else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _examine(command: tuple[str, ...]) -> Compiler:
    """What is known of a compiler, from the cache or by trying it. The cache knows it by its files and their dates."""
    tools = cache.Store("tools")
    facts = [ABI, *command[1:], *STRICT, *OPTIONAL, *ALONE, *_stamp(command[0]), *_module_stamp(command)]
    key = "cc-" + hashlib.blake2b("\0".join(facts).encode(), digest_size=16).hexdigest()
    known = tools.load(key)
    if known is None:
        from graphc.runtime.build import interview

        known = json.dumps(interview(command)).encode()
        tools.store(key, known)
    found = json.loads(known)
    flags, libraries = tuple(found["flags"]), tuple(found["libraries"])
    if "-lmvec" in libraries:
        flags += ("-DGC_LIBMVEC",)  # kernels then take transcendental functions from the vector library
    return Compiler(command, found["identity"], flags, libraries)


def _stamp(path: str) -> list[str]:
    """A file as it is now; a new version of a compiler is another file."""
    resolved = os.path.realpath(path)
    state = os.stat(resolved)
    return [resolved, str(state.st_size), str(state.st_mtime_ns)]


def _module_stamp(command: tuple[str, ...]) -> list[str]:
    """For `python -m module ...`, where the file is Python's: the module's own, if it belongs to this Python."""
    if command[1:2] != ("-m",):
        return []
    spec = importlib.util.find_spec(command[2]) if command[0] == sys.executable else None
    if spec is None or spec.origin is None:
        return [os.urandom(8).hex()]  # nothing tells whether it changed: it is asked in every process
    return [word for name in ("__init__.py", "zig") for word in _stamp_if_there(spec.origin, name)]


def _stamp_if_there(origin: str, name: str) -> list[str]:
    path = os.path.join(os.path.dirname(origin), name)
    return _stamp(path) if os.path.exists(path) else []


@lru_cache(maxsize=1)
def machine() -> str:
    """What -march=native depends on: the model of the CPU and its features, the same in every process on it."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            text = file.read(8192)  # the first CPU; all of them can take milliseconds
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()} {platform.version()}"
    wanted = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
    first, _, _ = text.partition("\n\n")
    pairs = [[side.strip() for side in line.partition(":")[::2]] for line in first.splitlines()]
    return "; ".join(f"{name}={value}" for name, value in pairs if name in wanted)


def forget() -> None:
    """Look for compilers anew at the next use."""
    _find.cache_clear()
