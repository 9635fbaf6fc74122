"""What graphc costs where arrays are small: recording, realizing, passes, importing, starting.

`in_this_process` is run by graphc's worker; the rest starts processes of its own.
"""
from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks import peers

ROOT = Path(__file__).resolve().parent.parent


class Figure(Struct, frozen=True):
    """One line of the table: seconds, and what is to be reached."""

    title: str
    median: float
    fastest: float
    target: float | None = None


TARGETS = {
    "record": ("recording, per op", 3e-6),
    "realize": ("record and realize 3 ops on 16 elements", 15e-6),
    "jit": ("a jitted call of 3 ops on 16 elements", 4e-6),
    "passes": ("a graph of 1,000 nodes, through all passes and rendered", 0.1),
}


# ------------------------------------------------------------------------------------------------- inside one process


def in_this_process(repeats: int = 30) -> dict[str, list[float]]:
    """Seconds per unit of each measured thing, one for each repeat."""
    return {"record": _record(repeats), "realize": _realize(repeats), "jit": _jit(repeats),
            "passes": _passes(max(3, repeats // 3))}


def _timed(work: Callable[[], object], repeats: int, per: int = 1) -> list[float]:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) / per)
    return times


def _record(repeats: int) -> list[float]:
    """400 calls, of which none repeats an expression: operators, functions, a reduction and a reshape."""
    import numpy as np

    import graphc as gc

    x, y = (gc.asarray(np.ones((16, 16), "float32")) for _ in range(2))

    def work():
        t = x
        for _ in range(50):
            t = gc.exp(t * y + x) - y
            t = gc.reshape(gc.maximum(t, x), (16, 16))
            t = t / gc.sum(t, axis=1, keepdims=True)
        return t

    return _timed(work, repeats, per=400)


def _realize(repeats: int) -> list[float]:
    import numpy as np

    import graphc as gc

    a, b = (gc.asarray(np.ones(16, "float32")) for _ in range(2))

    def work():
        for _ in range(100):
            gc.realize((a + b) * a - b)

    return _timed(work, repeats, per=100)


def _jit(repeats: int) -> list[float]:
    import numpy as np

    import graphc as gc

    a, b = (gc.asarray(np.ones(16, "float32")) for _ in range(2))
    compiled = gc.jit(lambda a, b: (a + b) * a - b)

    def work():
        for _ in range(100):
            compiled(a, b)

    return _timed(work, repeats, per=100)


def _passes(repeats: int) -> list[float]:
    """A hundred blocks of ten nodes: normalise rows, a residual, an activation; every third reads across columns."""
    import numpy as np

    import graphc as gc
    from graphc.build import build
    from graphc.canonical import canonicalize
    from graphc.config import settings

    x = gc.asarray(np.ones((64, 64), "float32"))
    with settings.override(lazy_limit=0):
        t = x
        for block in range(100):
            shifted = t - gc.mean(t, axis=min(block % 3, 1), keepdims=True)
            t = t + gc.tanh(shifted * x) * gc.exp(-shifted * shifted)
        graph = canonicalize([t.node])
    return _timed(lambda: build(graph, "c"), repeats)


# -------------------------------------------------------------------------------------------------------- new processes

SOFTMAX = {
    "graphc": "import numpy as np, graphc as gc\nx = gc.asarray(A)\n"
              "e = gc.exp(x - gc.max(x, axis=1, keepdims=True))\n"
              "(e / gc.sum(e, axis=1, keepdims=True)).numpy()",
    "numpy": "import numpy as np\ne = np.exp(A - np.max(A, axis=1, keepdims=True))\n"
             "e / np.sum(e, axis=1, keepdims=True)",
    "jax": "import jax, jax.numpy as jnp\nf = jax.jit(lambda x: jax.nn.softmax(x, axis=1))\n"
           "f(jnp.asarray(A)).block_until_ready()",
    "torch": "import torch\ntorch.softmax(torch.from_numpy(A), dim=1)",
    "torchc": "import torch\ntorch.compile(lambda x: torch.softmax(x, dim=1))(torch.from_numpy(A))",
}
INPUT = "import numpy as np\nA = np.ones((256, 256), 'float32')\n"
CACHES = ("GRAPHC_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")


def seconds_of(code: str, environment: Mapping[str, str], options: Sequence[str] = ()) -> float:
    """A whole process, from its start to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *options, "-c", code], check=True, env=environment, cwd=ROOT,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def in_new_processes(names: Sequence[str], threads: int, repeats: int = 7) -> list[Figure]:
    """Importing graphc, and softmax from the start of a process to the answer, for each peer that has one."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | peers.thread_environment(threads) | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)    # as an installed package: its modules are compiled once
    seconds_of("import graphc.build", environment)
    figures = _importing(environment, repeats)
    for name in names:
        if name not in SOFTMAX:
            continue
        code = INPUT + SOFTMAX[name]
        cold, warm = [], []
        for _ in range(1 if name == "torchc" else repeats):
            with tempfile.TemporaryDirectory() as folder:
                fresh = environment | dict.fromkeys(CACHES, folder)
                cold.append(seconds_of(code, fresh))
                warm.append(seconds_of(code, fresh))
        target = {"cold": 0.5} if name == peers.OURS else {}
        what = f"softmax in a new process, {peers.title(name)}"
        figures.append(_figure(f"{what}, empty caches", cold, target.get("cold")))
        figures.append(_figure(f"{what}, warm caches", warm))
    return figures


def _importing(environment: Mapping[str, str], repeats: int) -> list[Figure]:
    bare, numpy, ours, listed = [], [], [], []
    for _ in range(repeats):
        bare.append(seconds_of("pass", environment))
        numpy.append(seconds_of("import numpy", environment))
        ours.append(seconds_of("import graphc", environment))
        listed.append(import_time("graphc", environment))
    start = statistics.median(bare)
    return [
        _figure("import numpy, whole process without bare Python", [t - start for t in numpy]),
        _figure("import graphc, whole process without bare Python", [t - start for t in ours], 0.15),
        _figure("import graphc, by python -X importtime", listed),
    ]


def import_time(module: str, environment: Mapping[str, str]) -> float:
    """Cumulative seconds of one import, as Python itself reports them."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", f"import {module}"], check=True, text=True,
                          env=environment, cwd=ROOT, capture_output=True)
    found = re.findall(rf"\|\s*(\d+) \|\s{{1,3}}{module}$", done.stderr, re.MULTILINE)
    return int(found[-1]) * 1e-6


def _figure(title: str, times: Sequence[float], target: float | None = None) -> Figure:
    return Figure(title, statistics.median(times), min(times), target)


def figures_of(measured: Mapping[str, Sequence[float]]) -> list[Figure]:
    """The lines for what `in_this_process` returned."""
    return [_figure(TARGETS[name][0], times, TARGETS[name][1]) for name, times in measured.items()]
