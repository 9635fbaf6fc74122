"""Running the compiler: what it accepts, and several kernels at once. Imported only when the cache lacks something."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from graphc.errors import CompileError
from graphc.runtime import cache
from graphc.runtime.backend import meanwhile
from graphc.runtime.compiler import ALONE, LIBRARIES, OPTIONAL, REQUIRED, STRICT, Compiler, Job, Unfit, first_error
from graphc.runtime.counters import counters

# A command that has flags of its own may not switch off IEEE arithmetic by them.
PROBE = """#if __FINITE_MATH_ONLY__ || defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || \\
    defined __RECIPROCAL_MATH__ || defined __NO_SIGNED_ZEROS__
#error leave out the flags of fast math, which change results
#endif
#include <pthread.h>
double sqrt(double);
double probe(double *x, int n) { return sqrt(x[n + 1]); }
"""
WHOLE = ("-lc", "-Wl,-z,defs")  # nothing may be missing then: a command with -fsanitize wants a library of its own


# -------------------------------------------------------------------------------------------- asking a compiler


def interview(command: tuple[str, ...]) -> dict:
    base = [*REQUIRED, *STRICT]
    slowest = _probe(command, [*base, *OPTIONAL], [*ALONE, *WHOLE])
    with _begin(slowest) as trial:      # and work beside it
        try:
            for work in meanwhile:
                work()
            identity = _identity(command)
            flags, libraries = [*base, *OPTIONAL], list(ALONE)
            if _complaint(trial):
                flags = [*base, *(one for one in OPTIONAL if _builds(command, [*base, one]))]
                if not _builds(command, base, [*ALONE, *WHOLE]):
                    libraries = [one for one in LIBRARIES if _builds(command, base, [one])]
                complaint = _complaint(_begin(_probe(command, flags, libraries)))
                if complaint:
                    raise Unfit(complaint)
        finally:
            trial.kill()
    return {"identity": identity, "flags": flags, "libraries": libraries}


def _identity(command: tuple[str, ...]) -> str:
    version, target = _begin([*command, "--version"]), _begin([*command, "-dumpmachine"])
    text, complaint = _answer(version)
    machine, _ = _answer(target)
    if version.returncode:
        raise Unfit(f"`--version` fails: {_first_line(complaint)}")
    # The first word of the version is the name that it was called by, and a line tells where it lies.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("InstalledDir")]
    if not lines:
        raise Unfit("`--version` says nothing")
    first = lines[0].split(maxsplit=1)[-1]
    return "\n".join([first, *lines[1:], machine.strip(), *command[1:], *filter(None, map(_script, command))])


def _script(word: str) -> str:
    """What stands in the script that a word of a command names: it may hand on other flags than it is given, and has
    the version of what it calls. Nothing for a program."""
    if not os.path.isfile(word):
        return ""
    with open(word, "rb") as file:
        return hashlib.blake2b(file.read()).hexdigest() if file.read(2) == b"#!" else ""


def _probe(command: tuple[str, ...], flags: Sequence[str], libraries: Sequence[str] = ()) -> list[str]:
    """The command that builds the probe with these flags."""
    folder = cache.private_folder()
    source, target = folder / "probe.c", folder / f"probe{cache.next_number()}.so"
    source.write_text(PROBE)
    return [*command, *flags, str(source), "-o", str(target), *libraries]


def _builds(command: tuple[str, ...], flags: Sequence[str], libraries: Sequence[str] = ()) -> bool:
    return not _complaint(_begin(_probe(command, flags, libraries)))


def _complaint(trial: subprocess.Popen) -> str:
    """What the compiler says against building the probe; empty if it builds."""
    _, errors = _answer(trial)
    if trial.returncode:
        return first_error(errors) or f"it returned {trial.returncode}"
    target = Path(trial.args[trial.args.index("-o") + 1])
    return "" if target.is_file() else "it writes no file, and says nothing against it"


def _begin(command: list[str]) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", env=_environment(),
        )
    except OSError as error:
        raise Unfit(str(error)) from None


def _answer(process: subprocess.Popen) -> tuple[str, str]:
    """Its output and its complaints, when it has ended."""
    try:
        return process.communicate(timeout=120)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise Unfit(str(error)) from None


# ------------------------------------------------------------------------------------------------------------ building


class Started(Struct, frozen=True, eq=False):
    """A job that the compiler is working on, in files of this process that differ in their endings."""

    job: Job
    target: Path
    process: subprocess.Popen

    def failed(self) -> bool:
        return self.process.poll() not in (None, 0)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def width() -> int:
    """How many compilers run at once."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def build(
    compiler: Compiler, jobs: Sequence[Job], early: Sequence[Started] = (), done: Mapping[Job, Path] | None = None
) -> dict[Job, Path]:
    """Compile the jobs and the parts that they need, as many at once as there are CPUs, into files of this process.
    Returns where each of them lies. Raises CompileError.

    early   those of the jobs that were started before
    done    parts that are there already
    """
    begin = time.perf_counter()
    done = dict(done or {})
    started = {one.job: one for one in early}
    wanted = dict.fromkeys(part for job in jobs for part in (*job.parts, job) if part not in done)
    pending = sorted((job for job in wanted if job not in started), key=_urgency, reverse=True)
    running = list(started.values())
    try:
        with _progress(len(wanted)) as advance:
            while pending or running:
                ready = [job for job in pending if all(part in done for part in job.parts)]
                for job in ready[: max(0, width() - len(running))]:
                    pending.remove(job)
                    running.append(start(compiler, job, [done[part] for part in job.parts]))
                ended = _first_ended(running)
                _finish(ended)
                done[ended.job] = ended.target
                advance()
    finally:
        for left in running:  # an error or Ctrl-C: nobody waits for the others
            left.stop()
        counters.compile_seconds += time.perf_counter() - begin
    return {job: done[job] for job in wanted}


def _urgency(job: Job) -> tuple[bool, int]:
    """What others wait for first, then the longest."""
    return job.kind == "objects", len(job.text)


def _first_ended(running: list[Started]) -> Started:
    """Takes the first that ends out of the list."""
    while len(running) > 1:
        for one in running:
            if one.process.poll() is not None:
                running.remove(one)
                return one
        time.sleep(0.001)
    running[0].process.wait()
    return running.pop()


def start(compiler: Compiler, job: Job, parts: Sequence[Path] = ()) -> Started:
    """The names are relative to the working folder, so that no path gets into the object."""
    folder = cache.private_folder()
    number = cache.next_number()  # no path is ever used twice: dlopen would return the library it knows
    (folder / f"{number}.c").write_text(job.text)
    include = [] if job.folder is None else ["-I", str(job.folder)]
    target = f"{number}{cache.SUFFIXES[job.kind]}"
    objects = [part.name for part in parts]
    command = [*compiler.command, *job.flags, *include, f"{number}.c", *objects, "-o", target, *job.libraries]
    with open(folder / f"{number}.err", "wb") as errors:  # a file cannot fill up as a pipe can
        try:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=_environment(),
                close_fds=False,  # Python's own descriptors are not inherited anyway, and closing costs
            )
        except OSError as error:
            raise CompileError(f"{compiler.command[0]} does not start: {error}", fix="see GRAPHC_CC") from None
    return Started(job, folder / target, process)


def _finish(ended: Started) -> None:
    job, code = ended.job, ended.process.returncode
    errors, text = ended.target.with_suffix(".err"), ended.target.with_suffix(".c")
    if code == 0 and ended.target.is_file():
        errors.unlink()
        text.unlink()
        return
    complaint = errors.read_text(errors="replace")
    source = cache.keep_source(f"{job.key}.c", job.text)
    reason = first_error(complaint) or (f"it was killed by signal {-code}" if code < 0 else f"it returned {code}")
    raise CompileError(f"the C compiler refused {job.key}: {reason.replace(text.name, source.name)}",
                       fix=f"the source lies in {source}")


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[0]


def _environment() -> dict[str, str]:
    """Messages in English, because the first error is searched for in them."""
    return {**os.environ, "LC_ALL": "C"}


@contextmanager
def _progress(total: int) -> Iterator:
    """Calls of the yielded function count; after a second, on a terminal, a bar shows the count."""
    if not getattr(sys.stderr, "isatty", bool)():   # a daemon has no stderr, and that of some programs is no file
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
