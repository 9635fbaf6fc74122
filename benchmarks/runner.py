"""Rounds: each peer in its own process, one running while the others wait, in a new order each round.

A work is loaded by every peer, its answers are checked against NumPy in float64, and only then is it timed.
"""
from __future__ import annotations

import json
import os
import random
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
from msgspec import Struct, field

from benchmarks import peers, works
from benchmarks.worker import make_inputs
from graphc.runtime import floor

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 240.0    # seconds for one reply; torch.compile takes the longest
PAUSE = 0.01        # seconds between peers, in which the threads of the last go to sleep


class Row(Struct):
    """One work: seconds per call of each peer, and what graphc compiled for it."""

    name: str
    title: str
    floors: list[tuple[float, str]] = field(default_factory=list)   # of each round: seconds, by "memory" or "flops"
    rounds: dict[str, list[float]] = field(default_factory=dict)    # peer: median seconds of each round
    fastest: dict[str, float] = field(default_factory=dict)         # peer: the quickest batch of all rounds
    failed: dict[str, str] = field(default_factory=dict)            # peer: why it has no time
    compiled: dict = field(default_factory=dict)

    def medians(self) -> dict[str, float]:
        return {peer: statistics.median(times) for peer, times in self.rounds.items() if times}

    def floor(self, of: Callable = statistics.median_low) -> tuple[float, str] | None:
        """Of the median round, or `min`, of the best moment of the machine: seconds, and by what."""
        return of(self.floors) if self.floors else None


class WorkerError(Exception):
    """A peer's process failed, or its answer was wrong."""


class Worker:
    """The parent's end of one peer's process; started at the first request and again after a failure."""

    def __init__(self, peer: str, threads: int, cache: str):
        self.peer = peer
        self.threads = threads
        self.environment = os.environ | peers.thread_environment(threads) | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "GRAPHC_CACHE_DIR": cache,
        }
        self.process: subprocess.Popen | None = None

    def ask(self, **request) -> dict:
        """The reply. Raises WorkerError with the peer's own words."""
        process = self._running()
        _signal(process, "SIGCONT")
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                line = process.stdout.readline() if selector.select(PATIENCE) else None
        except BrokenPipeError:
            line = ""
        if not line:
            code = process.poll()
            self.close()
            raise WorkerError("no answer in time" if line is None else f"the process ended ({code})")
        _signal(process, "SIGSTOP")     # the threads of some libraries spin for a while after a call
        reply = json.loads(line)
        if "error" in reply:
            raise WorkerError(reply["error"])
        return reply

    def _running(self) -> subprocess.Popen:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", self.peer], cwd=ROOT, env=self.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=1,
            )
            if hasattr(os, "sched_setaffinity"):    # the one way to tell JAX how many threads to use
                allowed = sorted(os.sched_getaffinity(0))[: self.threads]
                os.sched_setaffinity(self.process.pid, allowed)
        return self.process

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


def _signal(process: subprocess.Popen, name: str) -> None:
    """Where the system has this signal."""
    if hasattr(signal, name):
        process.send_signal(getattr(signal, name))


# -------------------------------------------------------------------------------------------------------- the answers


def reference(work: ModuleType, size: Sequence[int]) -> np.ndarray:
    """The work's formula in NumPy and float64; of one with gradients, by graphc's interpreter of graphs."""
    inputs = [a.astype(np.float64) if a.dtype.name in ("float32", "bfloat16") else a for a in make_inputs(work, size)]
    if peers.formula(work, "numpy") is None:
        import graphc as gc
        with gc.backend("reference"):
            return peers.as_one(work.graphc(gc, *map(gc.asarray, inputs)), lambda t: t.numpy())
    with np.errstate(all="ignore"):
        return np.asarray(peers.formula(work, "numpy")(np, *inputs))


def disagreement(work: ModuleType, answer: np.ndarray, expected: np.ndarray) -> str | None:
    """What is wrong with an answer, or None."""
    if answer.shape != expected.shape:
        return f"shape {answer.shape} in the place of {expected.shape}"
    rtol, atol = getattr(work, "RTOL", 1e-4), getattr(work, "ATOL", 1e-6)
    wrong = ~np.isclose(answer, expected, rtol, atol)
    if wrong.mean() <= getattr(work, "MISMATCH", 0.0):
        return None
    where = tuple(np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements are wrong, the first {answer[where]} and not {expected[where]}"


# --------------------------------------------------------------------------------------------------------- the rounds


class Run:
    """The peers' processes and the machine; `with Run(...) as run: row = run.measure("softmax")`."""

    def __init__(self, names: Sequence[str], threads: int, rounds: int = 15, small: bool = False,
                 seconds: float = 0.05, tell: Callable[[str], None] = lambda text: None):
        self.scratch = tempfile.TemporaryDirectory(prefix="graphc-benchmarks-")
        self.workers = {name: Worker(name, threads, self.scratch.name + "/cache") for name in names}
        self.rounds, self.small, self.seconds, self.tell = rounds, small, seconds, tell
        self.machine = floor.measure(threads, keep=False)
        self.order = random.Random(1)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exception) -> None:
        for worker in self.workers.values():
            worker.close()
        self.scratch.cleanup()

    def measure(self, name: str) -> Row:
        work = works.load(name)
        size = work.SMALL if self.small else work.SIZE
        row = Row(name, work.TITLE + (" (tiny)" if self.small else ""))
        self._load(work, size, row)
        for number in range(self.rounds):
            self.tell(f"{row.title}: round {number + 1} of {self.rounds}")
            if self.machine:
                cost = work.cost(*size)
                row.floors.append(self.machine.seconds(cost.reads, cost.writes, cost.flops, unit=cost.unit))
            for peer in self.order.sample(list(row.rounds), len(row.rounds)):
                self._round(row, peer)
        for peer in row.rounds:
            self.workers[peer].ask(do="drop")
        return row

    def _load(self, work: ModuleType, size: Sequence[int], row: Row) -> None:
        """Load the work in each peer that has a formula for it, and check the answers."""
        expected = reference(work, size)
        answer = Path(self.scratch.name) / "answer.npy"
        for peer, worker in self.workers.items():
            if peers.formula(work, peer) is None:
                continue
            self.tell(f"{row.title}: {peers.title(peer)} compiles")
            try:
                facts = worker.ask(do="load", work=row.name, size=list(size), answer=str(answer))
                wrong = disagreement(work, np.load(answer), expected)
                if wrong:
                    raise WorkerError(wrong)
            except WorkerError as error:
                row.failed[peer] = str(error)
                continue
            row.rounds[peer] = []
            if peer == peers.OURS:
                row.compiled = facts

    def _round(self, row: Row, peer: str) -> None:
        time.sleep(PAUSE)
        try:
            times = self.workers[peer].ask(do="run", seconds=self.seconds)["times"]
        except WorkerError as error:
            row.failed[peer] = str(error)
            del row.rounds[peer]
            return
        row.rounds[peer].append(statistics.median(times))
        row.fastest[peer] = min(row.fastest.get(peer, times[0]), *times)
