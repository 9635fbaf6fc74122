"""C compilers: which one this machine has, which flags it takes, and running it on several kernels at once."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graphc.config import settings
from graphc.errors import CompileError, NoCompilerError
from graphc.runtime import cache
from graphc.runtime.counters import counters

REQUIRED = ("-O3", "-fPIC", "-shared")
# Strict IEEE arithmetic is at stake in these: a compiler that does not take them is not used.
STRICT = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing")
# Speed only: left out one by one where the compiler does not know them (-mprefer-vector-width is for x86, and not
# every C library has libmvec).
OPTIONAL = ("-march=native", "-mprefer-vector-width=512", "-fopenmp-simd", "-lmvec", "-lm")
NATIVE_FLAGS = ("-O1", "-fPIC", "-shared", "-pthread")  # the thread pool gains nothing from -O3, and builds faster

PROBE = "#include <pthread.h>\ndouble sqrt(double);\ndouble probe(double x) { return sqrt(x); }\n"
ABI = "1"  # of the kernels' entry points and of the native library; part of every key


@dataclass(frozen=True, slots=True)
class Compiler:
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


@dataclass(frozen=True, slots=True)
class Job:
    """One source to build into a shared object."""

    key: str
    text: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    folder: Path | None = None  # of further sources that the text includes


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
        except _Unfit as error:
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


class _Unfit(Exception):
    """Why a candidate is not used."""


def _candidates(chosen: str | None, usual: str) -> Iterator[tuple[str, ...]]:
    """The commands in the order of preference that exist on this machine. A chosen one has no alternatives."""
    for text in [chosen] if chosen is not None else [usual, "cc", "gcc", "clang"]:
        words = shlex.split(text)
        path = shutil.which(words[0]) if words else None
        if path is not None:
            yield (os.path.abspath(path), *words[1:])
    if chosen is None and importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "cc")


def _examine(command: tuple[str, ...]) -> Compiler:
    """What is known of a compiler, from the cache or by trying it. The cache knows it by its file and its date."""
    resolved = os.path.realpath(command[0])
    state = os.stat(resolved)
    facts = (ABI, resolved, str(state.st_size), str(state.st_mtime_ns), *command[1:], *STRICT, *OPTIONAL)
    if command[1:2] == ("-m",):  # the file is Python's; the compiler is in the package
        facts += (str(importlib.util.find_spec(command[2]).origin),)
    key = "cc-" + hashlib.blake2b("\0".join(facts).encode(), digest_size=16).hexdigest()
    tools = cache.Store("tools")
    known = tools.load(key)
    if known is None:
        known = json.dumps(_interview(command)).encode()
        tools.store(key, known)
    found = json.loads(known)
    return Compiler(command, found["identity"], tuple(found["flags"]), tuple(found["libraries"]))


def _interview(command: tuple[str, ...]) -> dict:
    version = _run([*command, "--version"])
    if version.returncode:
        raise _Unfit(f"`--version` fails: {_first_line(version.stderr)}")
    target = _run([*command, "-dumpmachine"]).stdout.strip()
    # The first word of the version is the name that it was called by, and a line tells where it lies.
    lines = [line for line in version.stdout.splitlines() if line.strip() and not line.startswith("InstalledDir")]
    first = lines[0].split(maxsplit=1)[-1] if lines else ""
    identity = "\n".join([first, *lines[1:], target, *command[1:]])
    base = [*REQUIRED, *STRICT]
    accepted = list(OPTIONAL)
    if _complaint(command, [*base, *OPTIONAL]):
        accepted = [flag for flag in OPTIONAL if not _complaint(command, [*base, flag])]
        complaint = _complaint(command, [*base, *accepted])
        if complaint:
            raise _Unfit(complaint)
    return {
        "identity": identity,
        "flags": [*base, *(flag for flag in accepted if not flag.startswith("-l"))],
        "libraries": [flag for flag in accepted if flag.startswith("-l")],
    }


def _complaint(command: tuple[str, ...], flags: list[str]) -> str:
    """What the compiler says against building the probe with these flags; empty if it builds."""
    folder = cache.private_folder()
    source, target = folder / "probe.c", folder / "probe.so"
    source.write_text(PROBE)
    options = [flag for flag in flags if not flag.startswith("-l")]
    libraries = [flag for flag in flags if flag.startswith("-l")]
    result = _run([*command, *options, str(source), "-o", str(target), *libraries])
    return _first_error(result.stderr) if result.returncode else ""


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=_environment(), timeout=120
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unfit(str(error)) from None


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


# ------------------------------------------------------------------------------------------------------------ building


def build(compiler: Compiler, jobs: Sequence[Job]) -> list[Path]:
    """Compile the jobs, as many at once as there are CPUs, into files of this process. Raises CompileError."""
    start = time.perf_counter()
    folder = cache.private_folder()
    numbers = [_next_number() for _ in jobs]  # no path is ever used twice: dlopen would return the library it knows
    targets = [folder / f"{number}.so" for number in numbers]
    pending = list(zip(jobs, numbers, strict=True))[::-1]
    running: list[tuple[Job, int, subprocess.Popen]] = []
    width = max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        with _progress(len(jobs)) as advance:
            while pending or running:
                while pending and len(running) < width:
                    job, number = pending.pop()
                    running.append((job, number, _start(compiler, job, folder, number)))
                job, number, process = running[0]
                process.wait()
                running.pop(0)
                _finish(job, folder, number, process.returncode)
                advance()
    finally:
        for _, _, process in running:  # an error or Ctrl-C: nobody waits for the others
            process.kill()
            process.wait()
        counters.compile_seconds += time.perf_counter() - start
    return targets


_numbers = iter(range(1 << 62))


def _next_number() -> int:
    return next(_numbers)  # atomic, as threads may compile at the same time


def spare_path() -> Path:
    """A path in the folder of this process that nothing has used."""
    return cache.private_folder() / f"{_next_number()}.so"


def _start(compiler: Compiler, job: Job, folder: Path, number: int) -> subprocess.Popen:
    """The names are relative to the working folder, so that no path gets into the object."""
    (folder / f"{number}.c").write_text(job.text)
    include = [] if job.folder is None else ["-I", str(job.folder)]
    command = [*compiler.command, *job.flags, *include, f"{number}.c", "-o", f"{number}.so", *job.libraries]
    with open(folder / f"{number}.err", "wb") as errors:  # a file cannot fill up as a pipe can
        try:
            return subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=_environment(),
                close_fds=False,  # Python's own descriptors are not inherited anyway, and closing costs
            )  # fmt: skip
        except OSError as error:
            raise CompileError(f"{compiler.command[0]} does not start: {error}", fix="see GRAPHC_CC") from None


def _finish(job: Job, folder: Path, number: int, code: int) -> None:
    errors = folder / f"{number}.err"
    if code == 0 and (folder / f"{number}.so").is_file():
        errors.unlink()
        (folder / f"{number}.c").unlink()
        return
    text = errors.read_text(errors="replace")
    source = cache.keep_source(f"{job.key}.c", job.text)
    reason = _first_error(text) or (f"it was killed by signal {-code}" if code < 0 else f"it returned {code}")
    raise CompileError(f"the C compiler refused {job.key}: {reason.replace(f'{number}.c', source.name)}",
                       fix=f"the source lies in {source}")  # fmt: skip


def _first_error(text: str) -> str:
    lines = text.splitlines()
    marked = [line for line in lines if re.search(r"\berror\b|undefined reference", line, re.IGNORECASE)]
    return (marked or lines or [""])[0].strip()


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[0]


def _environment() -> dict[str, str]:
    """Messages in English, because the first error is searched for in them."""
    return {**os.environ, "LC_ALL": "C"}


@contextmanager
def _progress(total: int) -> Iterator:
    """Calls of the yielded function count; after a second, on a terminal, a bar shows the count."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    done, bar = 0, None
    lock = threading.Lock()

    def show() -> None:
        nonlocal bar
        from rich.console import Console
        from rich.progress import Progress

        with lock:
            bar = Progress(console=Console(stderr=True), transient=True)
            bar.add_task("graphc compiles kernels", total=total, completed=done)
            bar.start()

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            if bar is not None:
                bar.advance(bar.tasks[0].id)

    timer = threading.Timer(1.0, show)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        with lock:
            if bar is not None:
                bar.stop()
