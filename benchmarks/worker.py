"""A process that is one peer: `python -m benchmarks.worker PEER`, a line of JSON in, a line of JSON out.

    {"do": "load", "work": "softmax", "size": [4096, 1024], "answer": "path.npy"}
        makes the inputs, calls until everything is compiled, writes the answer
    {"do": "run", "seconds": 0.05}      -> {"times": [seconds per call, ...]}
    {"do": "overhead"}                  -> graphc's own costs (overhead.py)
    {"do": "drop"}                      forgets the work

An error is answered as {"error": text}. What libraries print goes to stderr.
"""
from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

SEED = 20240229
BATCH = 0.5e-3      # seconds: calls that are shorter are timed several together
WARM_UP = 0.3       # seconds of calls after the first


def make_inputs(work, size) -> tuple:
    """The same arrays in every process."""
    import numpy as np

    return work.inputs(np.random.default_rng(SEED), *size)


class Session:
    def __init__(self, name: str):
        from benchmarks import peers

        self.name = name
        self.peer = peers.open_peer(name)
        self.call: Callable[[], Any] | None = None
        self.repeat = 1

    def load(self, work: str, size: list[int], answer: str) -> dict:
        import numpy as np

        from benchmarks import peers, works

        module = works.load(work)
        formula = peers.formula(module, self.name)
        if formula is None:
            return {"none": True}
        inputs = tuple(self.peer.take(a) for a in make_inputs(module, size))
        self.call = self.peer.bind(formula, inputs)
        facts = _first_call(self.call) if self.name == peers.OURS else {}
        np.save(answer, self.peer.give(self.call()))
        self.warm_up()
        return facts

    def warm_up(self) -> None:
        start = time.perf_counter()
        while True:
            before = time.perf_counter()
            self.call()
            now = time.perf_counter()
            if now - start > WARM_UP:
                break
        self.repeat = max(1, round(BATCH / max(now - before, 1e-7)))

    def run(self, seconds: float) -> dict:
        """Time batches of calls for so long, after one call that is not timed: the caches are another peer's."""
        self.call()
        times = []
        end = time.perf_counter() + seconds
        calls = range(self.repeat)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            for _ in calls:
                self.call()
            times.append((time.perf_counter() - start) / self.repeat)
        return {"times": times}

    def drop(self) -> dict:
        self.call = None
        return {}

    def overhead(self) -> dict:
        from benchmarks import overhead

        return overhead.in_this_process()


def _first_call(call: Callable[[], Any]) -> dict:
    """What graphc compiles for a work: kernels, source bytes, seconds."""
    import graphc as gc
    from graphc import driver

    sources: dict[str, int] = {}
    load = driver.current_backend().load

    def watch(program):
        sources.update({kernel.entry: len(kernel.text) for kernel in program.kernels})
        return load(program)

    before = gc.counters()
    driver.current_backend().load = watch
    try:
        call()
    finally:
        del driver.current_backend().load
    done = gc.counters() - before
    return {"kernels": len(sources), "source_bytes": sum(sources.values()), "compile_seconds": done.compile_seconds}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)   # whatever a library prints must not get between the replies
    session = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            session = session or Session(sys.argv[1])
            reply = getattr(session, request.pop("do"))(**request)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    main()
