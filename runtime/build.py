"""Running the compiler: what it accepts, and several kernels at once. Imported only when the cache lacks something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphc.errors import CompileError
from graphc.runtime import cache
from graphc.runtime.compiler import OPTIONAL, REQUIRED, STRICT, Compiler, Job, Unfit
from graphc.runtime.counters import counters

PROBE = "#include <pthread.h>\ndouble sqrt(double);\ndouble probe(double x) { return sqrt(x); }\n"


# -------------------------------------------------------------------------------------------- asking a compiler


def interview(command: tuple[str, ...]) -> dict:
    version = _run([*command, "--version"])
    if version.returncode:
        raise Unfit(f"`--version` fails: {_first_line(version.stderr)}")
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
            raise Unfit(complaint)
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
        raise Unfit(str(error)) from None


# ------------------------------------------------------------------------------------------------------------ building


def build(compiler: Compiler, jobs: Sequence[Job]) -> list[Path]:
    """Compile the jobs, as many at once as there are CPUs, into files of this process. Raises CompileError."""
    start = time.perf_counter()
    folder = cache.private_folder()
    numbers = [
        cache.next_number() for _ in jobs
    ]  # no path is ever used twice: dlopen would return the library it knows
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
