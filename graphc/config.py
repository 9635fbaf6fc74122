"""Every GRAPHC_* variable as a typed attribute of `settings`.

A variable is read and checked when its attribute is first used, then kept: later uses cost one attribute look-up.
`settings.reload()` reads the environment again; `with settings.override(num_threads=1):` changes values for a block,
for the whole process. One new variable is one row of VARIABLES and one annotation in Settings.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from graphc.errors import ConfigError, warn

if TYPE_CHECKING:
    from pathlib import Path


class Variable(NamedTuple):
    """One row: its name in the environment, how its text is read, its default, and a line for the README."""

    env: str
    parse: Callable[[str], Any]  # raises ValueError where the text means nothing
    default: Callable[[], Any]
    works: str  # what would work, for the error and the README
    doc: str


# ------------------------------------------------------------------------------------------------------ reading a text


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError


def _integer(low: int, high: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if value < low or (high is not None and value > high):
            raise ValueError
        return value

    return parse


def _choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in names:
            raise ValueError
        return text.lower()

    return parse


def _names(text: str) -> frozenset[str]:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not all(name.replace("_", "").replace("-", "").isalnum() for name in names):
        raise ValueError
    return frozenset(names)


def _chain(text: str) -> str:
    names = [name.strip().lower() for name in text.split(",")]
    if not all(name and name.replace("_", "").replace("-", "").isalnum() for name in names):
        raise ValueError
    return ",".join(names)


def _bytes(text: str) -> int:
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    power = " KMGT".find(number[-1:]) if number[-1:].isalpha() else 0
    value = float(number[:-1] if power > 0 else number) * 1024**power
    if power < 0 or not 0 < value < math.inf:
        raise ValueError
    return int(value)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def _path(text: str) -> Path:
    from pathlib import Path

    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:       # ~ of a user who has no home
        raise ValueError(str(error)) from None


def _default_cache_dir() -> Path:
    from pathlib import Path

    import platformdirs

    return Path(platformdirs.user_cache_dir("graphc", appauthor=False))


# ------------------------------------------------------------------------------------------- how many threads may run


def default_threads() -> int:
    """OMP_NUM_THREADS where it is a number, else the CPUs that affinity and the control group allow."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:  # as OpenMP does, a malformed value counts as absent
        return int(first)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = cgroup_cpus()
    return cpus if limit is None else max(1, min(cpus, math.ceil(limit)))


def cgroup_cpus(membership: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float | None:
    """The CPUs that the control group of this process may use, the least over its parents; None without a limit."""
    limits = []
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2: one tree for all controllers
            limits += [_quota_v2(folder) for folder in _upwards(root, path)]
        elif "cpu" in controllers.split(","):  # version 1: one tree per controller
            for mount in ("cpu", controllers):
                limits += [_quota_v1(folder) for folder in _upwards(os.path.join(root, mount), path)]
    return min((limit for limit in limits if limit is not None), default=None)


def _upwards(root: str, path: str) -> Iterator[str]:
    """The folder of a control group and of all its parents. In a container the path may not exist, the root does."""
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts), -1, -1):
        yield os.path.join(root, *parts[:count])


def _quota_v2(folder: str) -> float | None:
    quota, _, period = _read(os.path.join(folder, "cpu.max")).strip().partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _quota_v1(folder: str) -> float | None:
    quota = _read(os.path.join(folder, "cpu.cfs_quota_us")).strip()
    period = _read(os.path.join(folder, "cpu.cfs_period_us")).strip()
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # no such limit on this machine
        return ""


# ------------------------------------------------------------------------------------------------------------ the table

VARIABLES: dict[str, Variable] = {
    "backend": Variable(
        "GRAPHC_BACKEND", _chain, lambda: "auto", "auto, cpu, reference, or a comma list in order of preference",
        "The backend that runs kernels."),
    "cache_dir": Variable(
        "GRAPHC_CACHE_DIR", _path, _default_cache_dir, "a folder that only you can write to",
        "Where compiled kernels and programs are kept; by default in your cache folder."),
    "cc": Variable(
        "GRAPHC_CC", lambda text: text.strip() or None, lambda: None, "a command such as gcc, clang or 'zig cc'",
        "The C compiler; by default $CC, cc, gcc, clang, then ziglang, whichever is there first."),
    "num_threads": Variable(
        "GRAPHC_NUM_THREADS", _integer(1, 4096), default_threads, "an integer from 1 to 4096",
        "Threads per launch; by default OMP_NUM_THREADS, else what affinity and the control group allow."),
    "disable": Variable(
        "GRAPHC_DISABLE", _names, frozenset, "names of passes separated by commas, e.g. fuse,simplify",
        "Passes to leave out."),
    "matmul": Variable(
        "GRAPHC_MATMUL", _choice("template", "library"), lambda: "template", "template or library",
        "What multiplies matrices: fused kernels, the same bits for any threads, or NumPy's BLAS without both."),
    "verify": Variable(
        "GRAPHC_VERIFY", _flag, lambda: False, "0 or 1",
        "Check every pass, and every result against the reference on your data; slow."),
    "tune": Variable(
        "GRAPHC_TUNE", _flag, lambda: False, "0 or 1",
        "Try how else the work of new kernels can be cut, and keep what is fastest; the results stay the same."),
    "tune_seconds": Variable(
        "GRAPHC_TUNE_SECONDS", _seconds, lambda: 60.0, "a number of seconds above 0",
        "How long a process may tune altogether."),
    "lazy_limit": Variable(
        "GRAPHC_LAZY_LIMIT", _integer(0), lambda: 1000, "an integer of at least 0; 0 switches the limit off",
        "Depth of recorded graph at which it is realized by itself; 0 also lifts the limits on nodes and memory."),
    "memory_limit": Variable(
        "GRAPHC_MEMORY_LIMIT", _bytes, lambda: None, "a size such as 4G, 512M or 1000000",
        "The most memory that one schedule may need; by default what the machine has free."),
    "debug": Variable(
        "GRAPHC_DEBUG", _integer(0, 4), lambda: 0, "an integer from 0 to 4",
        "Print to stderr: 1 why a program is new, 2 its kernels, 3 the graph after each pass, 4 sources."),
}


_overriding = threading.Lock()
_overrides: list[tuple] = []    # the blocks that last: the names of what they set, and what these were before


def _after_fork() -> None:
    global _overriding
    _overriding = threading.Lock()  # it may be held by a thread that the child does not have


os.register_at_fork(after_in_child=_after_fork)


class Settings:
    """The settings of this process; see VARIABLES for what each means.

    >>> from graphc.config import settings
    >>> with settings.override(num_threads=1):
    ...     settings.num_threads
    1
    """

    backend: str
    cache_dir: Path
    cc: str | None
    num_threads: int
    disable: frozenset[str]
    matmul: str
    verify: bool
    tune: bool
    tune_seconds: float
    lazy_limit: int
    memory_limit: int | None
    debug: int

    def __getattr__(self, name: str) -> Any:
        """Runs only while the attribute is unset: reads the variable and keeps the value."""
        variable = VARIABLES.get(name)
        if variable is None:
            raise AttributeError(f"settings has no {name!r}; it has {', '.join(VARIABLES)}")
        warn_of_unknown()
        text = os.environ.get(variable.env, "").strip()
        value = parse(name, text) if text else variable.default()
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in VARIABLES:
            raise AttributeError(f"settings has no {name!r}; it has {', '.join(VARIABLES)}")
        self.__dict__[name] = parse(name, value)

    def reload(self) -> None:
        """Forget what was read or set: each variable is read from the environment again at its next use."""
        self.__dict__.clear()

    @contextmanager
    def override(self, **values: Any) -> Iterator[Settings]:
        """Change settings for a block and restore them after it, also when it raises. None means the default.

        They are those of the whole process. Where blocks of several threads overlap the last one to begin decides, and
        after all of them the settings are what they were before the first.
        """
        checked = {name: parse(name, value) for name, value in values.items()}  # all of them before any is set
        with _overriding:
            before = {name: self.__dict__[name] for name in checked if name in self.__dict__}
            layer = (checked.keys(), before)
            _overrides.append(layer)
            self.__dict__.update(checked)
        try:
            yield self
        finally:
            with _overriding:
                at = next(k for k, other in enumerate(_overrides) if other is layer)
                del _overrides[at]
                for name in checked:
                    later = next((below for names, below in _overrides[at:] if name in names), self.__dict__)
                    later.pop(name, None)
                    later.update({name: before[name]} if name in before else {})


def parse(name: str, value: Any) -> Any:
    """The value of a setting from text or from a Python value, by one set of rules."""
    variable = VARIABLES.get(name)
    if variable is None:
        raise AttributeError(f"settings has no {name!r}; it has {', '.join(VARIABLES)}")
    if value is None:
        return variable.default()
    text = ",".join(value) if isinstance(value, (list, tuple, set, frozenset)) else str(value)
    try:
        return variable.parse(text)
    except ValueError:
        raise ConfigError(f"{text!r} means nothing here", op=variable.env, fix=f"use {variable.works}") from None


PREFIX, EXAMPLES_READ = "GRAPHC_", ("GRAPHC_DATA_DIR",)


@functools.cache
def warn_of_unknown() -> None:
    """Once in a process, a warning for each GRAPHC_* name in the environment that nothing reads: a misspelling?"""
    known = [env.removeprefix(PREFIX) for env in (*(variable.env for variable in VARIABLES.values()), *EXAMPLES_READ)]
    for name in sorted(name for name in os.environ if name.startswith(PREFIX)):
        if name.removeprefix(PREFIX) not in known:
            import difflib

            near = difflib.get_close_matches(name.removeprefix(PREFIX), known, 1) or known
            warn(f"{name} is set, but nothing reads it; {', '.join(PREFIX + word for word in near)} would be read")


settings = Settings()
