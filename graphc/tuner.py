"""The tuner: tries how else a kernel's work can be cut, and keeps what is fastest. No choice changes a bit of a result.

For each class of kernels (graphc/tuning.py) that is new, each number of passes/tunable.py is tried in turn, the others
held. Every candidate runs by itself on arrays of the right sizes, in rounds that alternate, and has to be clearly
faster to be chosen. It stops where a kernel is near what the machine can do, and when the time is used up.
"""
from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from graphc import tuning
from graphc.build import plan_graph, program_of_one
from graphc.canonical import Graph
from graphc.codegen import render
from graphc.config import settings
from graphc.ir.dtype import DType
from graphc.ir.node import Node
from graphc.ir.schedule import Group, Schedule
from graphc.passes.cost import kernel_cost
from graphc.passes.lower import LoweredKernel, lower_group
from graphc.passes.repeats import form_of
from graphc.passes.tunable import Choices, Tunable, tunables
from graphc.runtime import floor, memory
from graphc.runtime.backend import Backend, Executable

ROUNDS = 5
SAMPLE = 1e-3       # seconds that a sample takes at least
SHORTEST = 1e-5     # seconds: what takes less is not tuned
GAIN = 0.95         # of the time of what was best so far, to be taken for better
NEAR = 1.15         # times the floor: near enough


class Result(Struct, frozen=True):
    """What came of one class. `verdict`: why nothing was tried, or ""."""

    kernel: str
    shapes: str
    before: float       # seconds
    after: float
    choices: Choices
    verdict: str


watchers: list[Callable[[Result], None]] = []
unfinished = 0          # classes for which the time did not suffice
_spent = 0.0            # seconds of this process
_machine: list[floor.Machine | None] = []


class OutOfTime(Exception):
    """The budget is used up."""


def tune(graph: Graph, backend: Backend) -> bool:
    """Tune the kernels of a graph whose classes are new. Returns False if the time did not suffice for all."""
    global _spent, unfinished
    schedule = plan_graph(graph).schedule
    waiting: dict[tuple, tuple[Group, list[Node]]] = {}
    for group in schedule.groups:
        if group.kind != "library" and any(node.size for node in group.outputs):
            form, nodes = form_of(group, schedule)
            if tuning.find(group, nodes) is None:
                waiting.setdefault(form, (group, nodes))
    start = time.perf_counter()
    deadline = start + settings.tune_seconds - _spent
    try:
        with _bar(len(waiting)) as advance:
            while waiting:
                form, (group, nodes) = next(iter(waiting.items()))
                _tune_group(group, nodes, schedule, backend, deadline)
                del waiting[form]
                advance()
    except OutOfTime:
        unfinished += len(waiting)
        return False
    finally:
        _spent += time.perf_counter() - start
    return True


def _tune_group(group: Group, nodes: list[Node], schedule: Schedule, backend: Backend, deadline: float) -> None:
    if time.perf_counter() > deadline:
        raise OutOfTime
    step = lower_group(group, schedule, {})
    options = tunables(group, step.kernel)
    size = sum(node.nbytes for node in step.nodes)
    if not options or step.base is not None or size > memory.available_bytes() // 4:
        return
    bench = _Bench(group, schedule, backend, step, deadline)
    (before,) = bench.seconds([{}])
    best, after, verdict = {}, before, ""
    if before < SHORTEST:
        verdict = "too short to matter"
    elif _is_near(step, before):
        verdict = "near the floor"
    else:
        best = _descend(bench, options, lambda seconds: _is_near(step, seconds))
    if best:        # once more, side by side: the first may have been luck
        before, after = bench.seconds([{}, best])
        best, after = (best, after) if after < GAIN * before else ({}, before)
    tuning.remember(group, nodes, best, before=before, after=after)
    for watcher in watchers:
        watcher(Result(step.kernel.name, _shapes(step), before, after, best, verdict))


def _descend(bench: _Bench, options: Sequence[Tunable], is_good: Callable[[float], bool]) -> dict[str, int]:
    """The best value of each number, one after the other."""
    best: dict[str, int] = {}
    for option in options:
        candidates = [best] + [{**best, option.name: value} for value in option.others]
        times = bench.seconds(candidates)
        fastest = min(range(len(times)), key=times.__getitem__)
        if times[fastest] < GAIN * times[0]:
            best = candidates[fastest]
        if is_good(min(times)):
            break
    return best


def _shapes(step: LoweredKernel) -> str:
    return ", ".join(f"{node.dtype}{list(node.shape)}" for node in step.nodes)


def _is_near(step: LoweredKernel, seconds: float) -> bool:
    """Whether a kernel is about as fast as the machine can be."""
    if not _machine:
        _machine.append(floor.measure(settings.num_threads))
    if _machine[0] is None:
        return False
    cost = kernel_cost(step.kernel)
    moved = cost.bytes_read + cost.bytes_written
    flops = cost.flops * (2 if any(node.dtype.itemsize > 4 for node in step.nodes) else 1)
    least, _ = _machine[0].seconds(cost.bytes_read, cost.bytes_written, flops, 1 << moved.bit_length(), cost.unit)
    return seconds < NEAR * least


class _Bench:
    """Runs one kernel, cut in different ways, on arrays of its own."""

    def __init__(self, group: Group, schedule: Schedule, backend: Backend, step: LoweredKernel, deadline: float):
        self.group, self.schedule, self.backend, self.deadline = group, schedule, backend, deadline
        read = [n for n, b in zip(step.nodes, step.kernel.buffers, strict=True) if not b.written]
        self.inputs = [backend.allocate(node.nbytes) for node in read]
        for node, buffer in zip(read, self.inputs, strict=True):
            if node.size:
                _fill(buffer.writable(node.dtype.numpy, (node.size,)), node.dtype)

    def seconds(self, candidates: Sequence[Choices]) -> list[float]:
        """The best time of each, in rounds that alternate. Raises OutOfTime."""
        executables = self._load(candidates)
        for executable in executables:      # pages, caches, and what a chunk takes
            self._check_time()
            executable.run(self.inputs)
        repeats = [self._repeats(executable) for executable in executables]
        best = [float("inf")] * len(candidates)
        for _ in range(ROUNDS):
            for k, executable in enumerate(executables):
                self._check_time()
                best[k] = min(best[k], self._sample(executable, repeats[k]))
        return best

    def _load(self, candidates: Sequence[Choices]) -> list[Executable]:
        steps = [lower_group(self.group, self.schedule, choices) for choices in candidates]
        rendered = [render(step.kernel, self.backend.dialect) for step in steps]
        self._check_time()
        self.backend.compile([r.source for r in rendered])      # all of them at once
        return [self.backend.load(program_of_one(s, r)) for s, r in zip(steps, rendered, strict=True)]

    def _repeats(self, executable: Executable) -> int:
        return max(1, int(SAMPLE / max(self._sample(executable, 1), 1e-7)))

    def _sample(self, executable: Executable, repeats: int) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            executable.run(self.inputs)
        return (time.perf_counter() - start) / repeats

    def _check_time(self) -> None:
        if time.perf_counter() > self.deadline:
            raise OutOfTime


def _fill(array: np.ndarray, dtype: DType) -> None:
    """Plain numbers; integers are 0, which is an index into everything that is not empty."""
    if dtype.kind in "fc":
        array[...] = np.resize(np.linspace(0.5, 1.5, 1021), array.size).astype(array.dtype)
    else:
        array[...] = 0


@contextlib.contextmanager
def _bar(total: int) -> Iterator[Callable[[], None]]:
    """A progress bar where somebody watches."""
    if not total or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("tuning kernels", total=total)
        yield lambda: progress.advance(task)
