"""`python -m benchmarks.gpu`: everything that a machine with a GPU can tell of graphc, in one call.

    python -m benchmarks.gpu                            # the suite on the GPU, then the works; writes benchmarks/GPU.md
    python -m benchmarks.gpu --no-suite --work softmax,gemm
    python -m benchmarks.gpu --backend cpu --small --no-suite --out none      # to try the command without a GPU

The suite runs first, because figures of wrong answers mean nothing. Then the rate of a copy and of cuBLAS are measured,
and each work beside CuPy, torch, torch.compile and JAX where these are installed and see the GPU: every answer is
checked against NumPy in float64, then all take turns, a batch of calls each, which ends when the device has finished.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import importlib.util
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from msgspec import Struct, field

from benchmarks import names_among, peers, report, runner, works

ROOT = Path(__file__).resolve().parent.parent
BATCH = 0.02  # seconds of calls between two waits
# Title in the table, module of benchmarks/works, arguments of its inputs().
WORKS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "chain": ("5-op chain 64M", "chain", (1 << 26,)),
    "black_scholes": ("Black-Scholes 32M", "black_scholes", (1 << 25,)),
    "softmax": ("softmax 16384x4096", "softmax", (16384, 4096)),
    "layernorm": ("layernorm 16384x4096", "layernorm", (16384, 4096)),
    "variance": ("variance axis 0, 16384x4096", "variance", (16384, 4096)),
    "norm": ("norm of 128M", "norm", (1 << 27,)),
    "cross_entropy": ("cross entropy 65536x1024", "cross_entropy", (65536, 1024)),
    "laplacian": ("5-point Laplacian 8192^2", "laplacian", (8192, 8192)),
    "gemm": ("GEMM 4096 float32", "gemm_1024", (4096,)),
    "gelu_mlp": ("gelu MLP 4096x1024x4096", "gelu_mlp", (4096, 1024, 4096)),
    "attention": ("attention 64x1024x64", "attention", (64, 1024, 64)),
}
PEERS = ("graphc", "graphc+library", "cupy", "torch", "torchc", "jax")
TITLES = {"graphc+library": "GRAPHC_MATMUL=library", "cupy": "CuPy", **peers.TITLES}
HEAD = """# Results on a GPU

Milliseconds per call: medians over rounds in which the libraries take turns. Every answer was first checked against
NumPy in float64. The copy and the BLAS were measured in the same run. Made by `python -m benchmarks.gpu`.
"""
UNIT = ("bfloat16", "float16", "tf32")  # works of their own: products on matrix units, by those who have the type
PRODUCTS = ("gemm", "gelu_mlp", *UNIT)  # the works for which GRAPHC_MATMUL=library is measured too


class Peer(Struct, frozen=True):
    """A library on the device.

    take   a NumPy array to its own; bind  (work, inputs) -> a call whose answer is still being computed
    wait   for an answer; give  the answer to NumPy; around  what its calls are made in
    """

    take: Callable[[np.ndarray], Any]
    bind: Callable[[ModuleType, tuple], Callable[[], Any]]
    wait: Callable[[Any], Any]
    give: Callable[[Any], np.ndarray]
    around: Callable[[], AbstractContextManager] = nullcontext


class Row(Struct):
    title: str
    bytes: int = 0
    flops: float = 0.0
    rounds: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def medians(self) -> dict[str, float]:
        return {peer: statistics.median(times) for peer, times in self.rounds.items() if times}


class Absent(Exception):
    """Why a peer takes no part."""


# ------------------------------------------------------------------------------------------------------------ the peers


def open_peer(name: str, backend: str) -> Peer:
    """Import a library and see whether it has the device. Raises Absent."""
    if name.startswith("graphc"):
        return _graphc(backend, "library" if name.endswith("library") else "")
    module = "torch" if name == "torchc" else name
    if importlib.util.find_spec(module) is None:
        raise Absent("it is not installed")
    try:
        return {"cupy": _cupy, "torch": _torch, "torchc": lambda: _torch(compiled=True), "jax": _jax}[name]()
    except ImportError as error:
        raise Absent(str(error).splitlines()[0]) from None


def _graphc(backend: str, matmul: str) -> Peer:
    import graphc as gc
    from graphc.config import settings

    def bind(work, inputs):
        formula = peers.formula(work, "graphc")
        compiled = gc.jit(lambda *arrays: formula(gc, *arrays))
        return lambda: compiled(*inputs)

    def wait(answer):
        if backend in ("cuda", "hip"):
            import cupy

            cupy.cuda.Device().synchronize()

    around = (lambda: settings.override(matmul=matmul)) if matmul else nullcontext
    return Peer(gc.asarray, bind, wait, lambda answer: answer.numpy(), around)


def _cupy() -> Peer:
    import cupy

    if not cupy.cuda.is_available():
        raise Absent("it sees no GPU")

    def bind(work, inputs):
        formula = getattr(work, "cupy", None) or work.array
        return lambda: formula(cupy, *inputs)

    return Peer(cupy.asarray, bind, lambda answer: cupy.cuda.Device().synchronize(), cupy.asnumpy)


def _torch(compiled: bool = False) -> Peer:
    import torch

    if not torch.cuda.is_available():
        raise Absent("it sees no GPU")
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False

    def bind(work, inputs):
        formula = peers.formula(work, "torchc" if compiled else "torch")
        if not compiled:
            return lambda: formula(torch, *inputs)
        torch.compiler.reset()
        function = torch.compile(lambda *arrays: formula(torch, *arrays), dynamic=False)
        return lambda: function(*inputs)

    return Peer(lambda a: torch.from_numpy(a).cuda(), bind, lambda answer: torch.cuda.synchronize(),
                lambda answer: answer.cpu().numpy())


def _jax() -> Peer:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the others need memory too
    import jax

    if jax.default_backend() != "gpu":
        raise Absent("it sees no GPU")
    jax.config.update("jax_default_matmul_precision", "highest")

    def bind(work, inputs):
        formula = peers.formula(work, "jax")
        compiled = jax.jit(lambda *arrays: formula(jax.numpy, *arrays))
        return lambda: compiled(*inputs)

    return Peer(jax.numpy.asarray, bind, lambda answer: answer.block_until_ready(), np.asarray)


# ------------------------------------------------------------------------------------------------------------ measuring


def measure(name: str, opened: dict[str, Peer], rounds: int, small: bool) -> Row:
    """A work by every peer that has a formula for it."""
    title, module, size = WORKS[name]
    work = works.load(module)
    size = work.SMALL if small else size
    cost = work.cost(*size)
    row = Row(title + (" (tiny)" if small else ""), cost.bytes, cost.flops)
    inputs, expected = runner.make_inputs(work, size), runner.reference(work, size)
    calls: dict[str, Callable[[], Any]] = {}
    for peer, own in opened.items():
        if peer == "graphc+library" and name not in PRODUCTS:
            continue
        try:
            with own.around():
                call = own.bind(work, tuple(own.take(a) for a in inputs))
                wrong = runner.disagreement(work, np.asarray(own.give(call())), expected)
        except Exception as error:  # whatever a library raises is its row's news, not the end of the table
            wrong = said(error)
        if wrong:
            row.failed[peer] = wrong.splitlines()[0]
        else:
            calls[peer] = call
    _take_turns(row, {peer: (opened[peer], call) for peer, call in calls.items()}, rounds)
    return row


def _take_turns(row: Row, calls: dict[str, tuple[Peer, Callable[[], Any]]], rounds: int) -> None:
    """A peer that raises leaves; after an error of the device all do, and what was measured before it stays."""
    repeat: dict[str, int] = {}
    for _ in range(rounds):
        for peer, (own, call) in calls.items():
            if peer in row.failed:
                continue
            try:
                if peer not in repeat:
                    repeat[peer] = _repeat(own, call)
                row.rounds.setdefault(peer, []).append(seconds_of(own, call, repeat[peer]))
            except Exception as error:
                row.failed[peer] = said(error)
                row.rounds.pop(peer, None)


def said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _repeat(peer: Peer, call: Callable[[], Any]) -> int:
    seconds_of(peer, call, 3)  # graphs are captured and pools filled in the first calls
    return max(1, round(BATCH / max(seconds_of(peer, call, 1), 1e-7)))


def seconds_of(peer: Peer, call: Callable[[], Any], repeat: int) -> float:
    """Of one call, in a batch that the device has finished."""
    with peer.around():
        peer.wait(call())
        start = time.perf_counter()
        for _ in range(repeat):
            answer = call()
        peer.wait(answer)
        return (time.perf_counter() - start) / repeat


def unit_products(opened: dict[str, Peer], rounds: int, n: int, name: str) -> Row:
    """Products of a narrow dtype, by those who have it; or of float32 in `fast_math`, and what others call that."""
    import ml_dtypes

    import graphc as gc

    kind = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "tf32": np.float32}[name]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n), np.float32).astype(kind) for _ in range(2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    row = Row(f"GEMM {n} {name}", 6 * n * n, 2.0 * n**3)
    calls: dict[str, tuple[Peer, Callable[[], Any]]] = {}
    for own in ("graphc", "torch"):
        if own not in opened:
            continue
        peer = opened[own]
        if own == "torch":
            import torch

            x, y = (torch.from_numpy(v.astype(np.float32)).cuda() for v in (a, b))
            peer = Peer(peer.take, peer.bind, peer.wait, lambda answer: answer.float().cpu().numpy())
            if name == "tf32":
                call = _in_tf32(lambda x=x, y=y: x @ y)
            else:
                x, y = (v.to(getattr(torch, name)) for v in (x, y))
                call = lambda x=x, y=y: x @ y  # noqa: E731
        else:
            call = peer.bind(works.load("gemm_1024"), tuple(peer.take(v) for v in (a, b)))
            call = gc.fast_math()(call) if name == "tf32" else call
        error = np.abs(np.asarray(peer.give(call())).astype(np.float64) - expected).max() / n**0.5
        if error > 0.1:
            row.failed[own] = f"off by {error:.3g} of the standard deviation"
        else:
            calls[own] = peer, call
    _take_turns(row, calls, rounds)
    return row


def _in_tf32(call: Callable[[], Any]) -> Callable[[], Any]:
    """A product by torch, in TF32."""
    import torch

    def inside():
        matmul = torch.backends.cuda.matmul
        before, matmul.allow_tf32 = matmul.allow_tf32, True
        try:
            return call()
        finally:
            matmul.allow_tf32 = before

    return inside


def copy_rate(xp: ModuleType, wait: Callable[[], Any], nbytes: int, rounds: int) -> float:
    """Bytes per second that a copy on the device reads and writes."""
    a, b = xp.zeros(nbytes // 4, np.float32), xp.ones(nbytes // 4, np.float32)
    times = [_timed(lambda: xp.copyto(b, a), wait, 10) for _ in range(rounds)]
    return 2 * nbytes / statistics.median(times)


def product_rate(xp: ModuleType, wait: Callable[[], Any], n: int, rounds: int) -> float:
    """Floating-point operations per second of the device's BLAS in float32, without TF32."""
    a = xp.ones((n, n), np.float32)
    times = [_timed(lambda: xp.matmul(a, a), wait, 3) for _ in range(rounds)]
    return 2.0 * n**3 / statistics.median(times)


def _timed(call: Callable[[], Any], wait: Callable[[], Any], repeat: int) -> float:
    call()
    wait()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    wait()
    return (time.perf_counter() - start) / repeat


def replay_seconds(peer: Peer, rounds: int) -> tuple[int, float]:
    """(launches, host seconds of a call) of a jitted program of some twenty small kernels; nothing is waited for."""
    import graphc as gc

    @gc.jit
    def program(x):
        for _ in range(10):
            x = gc.exp(x - gc.max(gc.transpose(x), axis=0, keepdims=True).T)
            x = x / gc.sum(x, axis=0, keepdims=True)
        return x

    x = peer.take(np.random.default_rng(0).standard_normal((64, 65), np.float32))
    peer.wait(program(x))
    before = gc.counters()
    peer.wait(program(x))
    launches = (gc.counters() - before).launches
    times = []
    for _ in range(rounds):
        for _ in range(20):
            start = time.perf_counter()
            answer = program(x)
            times.append(time.perf_counter() - start)
        peer.wait(answer)
    return launches, statistics.median(times)


def run_suite(backend: str, tests: Sequence[str], seconds: float | None) -> str:
    """What failed, and the last line of pytest's report; where there was not enough time, how far it came."""
    command = [sys.executable, "-m", "pytest", "--backend", backend, "-v", "--programs", "100", *tests]
    if importlib.util.find_spec("xdist"):
        command += ["-n", str(min(16, os.cpu_count() or 1))]
    with tempfile.TemporaryFile("w+") as log:
        with subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True) as suite:
            try:
                suite.wait(seconds)
            except BaseException as reason:  # the time is over, or somebody wants to go on
                os.killpg(suite.pid, signal.SIGKILL)  # its workers too
                if not isinstance(reason, subprocess.TimeoutExpired):
                    raise
        log.seek(0)
        lines = [line.rstrip() for line in log if line.strip()]
    if suite.returncode >= 0:
        return "\n".join([*[line for line in lines if line.startswith(("FAILED", "ERROR"))], lines[-1]])
    return f"{tally(lines)}; ended after {seconds:g} seconds"


def tally(lines: Sequence[str]) -> str:
    """What failed among the lines `TEST PASSED` and so on of a suite that came to no end, and how many there are."""
    passed = sum(" PASSED" in line for line in lines)
    failed = [line for line in lines if " FAILED" in line or " ERROR" in line]
    return "\n".join([*failed, f"{passed} passed, {len(failed)} failed"])


# ------------------------------------------------------------------------------------------------------------ the page


def table(rows: Sequence[Row], names: Sequence[str], copy: float, product: float) -> tuple[list[str], list[list[str]]]:
    """Milliseconds of each peer; what graphc reaches of the copy and of the BLAS; its speed beside two peers."""
    header = ["work (ms)", *(TITLES.get(name, name) for name in names), "of copy", "of BLAS", "best peer / graphc"]
    cells = []
    for row in rows:
        times = row.medians()
        own = times.get("graphc")
        others = [t for name, t in times.items() if not name.startswith("graphc")]
        shown = [f"{times[n] * 1e3:.4g}" if n in times else "failed" * (n in row.failed) for n in names]
        cells.append([row.title, *shown, f"{row.bytes / own / copy:.2f}" if own else "",
                      f"{row.flops / own / product:.2f}" if own and product else "",
                      f"{min(others) / own:.2f}" if own and others else ""])
    return header, cells


def page(about: dict[str, str], header: list[str], cells: list[list[str]], remarks: Sequence[str]) -> str:
    parts = [HEAD, *(f"- {key}: {value}" for key, value in about.items()), "", report.markdown_table(header, cells), ""]
    return "\n".join([*parts, *(f"- {line}" for line in remarks), ""])


def find_device(backend: str) -> tuple[str, dict[str, str]]:
    """(name, description) of the backend. Raises BackendError, which says what is missing."""
    import graphc as gc
    from graphc import driver

    gc.set_backend(backend)
    return driver.current_backend().name, driver.current_backend().describe()


def versions() -> str:
    found = []
    for name in ("graphc", "cupy-cuda13x", "cupy-cuda12x", "cupy-rocm-7-0", "torch", "jax"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def main(arguments: Sequence[str] | None = None) -> int:
    from graphc.errors import BackendError

    options = _parser().parse_args(arguments)
    try:
        name, facts = find_device(options.backend)
    except BackendError as error:
        print(f"no GPU to measure: {error.message}", file=sys.stderr)
        return 2
    facts.pop("cache", None)  # a path of this machine
    about = {"date": datetime.date.today().isoformat(), "backend": name, **facts, "versions": versions()}
    if not options.no_suite:
        about["suite"] = run_suite(name, options.tests, options.suite_seconds)
        print("suite:", about["suite"])
    opened, remarks = {}, []
    for peer in options.peers:
        try:
            opened[peer] = open_peer(peer, name)
        except Absent as error:
            remarks.append(f"Left out: {TITLES.get(peer, peer)}: {error}.")
    copy, product = _rates(name in ("cuda", "hip"), options.rounds, options.small)
    about |= {"copy": f"{copy / 1e9:,.0f} GB/s", "BLAS float32": f"{product / 1e12:,.2f} TFLOP/s"}
    rows: list[Row] = []

    def written() -> str:
        """The page as far as it is known, so that a run which is ended leaves what it found."""
        failed = [f"No time for {TITLES.get(p, p)} in {row.title}: {why}"
                  for row in rows for p, why in row.failed.items()]
        text = page(about, *table(rows, list(opened), copy, product), remarks + failed)
        if options.out != "none":
            Path(options.out).write_text(text, encoding="utf-8")
        return text

    for work in options.work:
        row = _row(work, opened, options.rounds, options.small)
        rows.append(row)
        print(row.title, {p: f"{t * 1e3:.4g} ms" for p, t in row.medians().items()}, row.failed or "", flush=True)
        written()
    remarks.append(_replay_remark(opened, options.rounds))
    print(written())
    return int(any("graphc" in row.failed for row in rows))


def _rates(on_gpu: bool, rounds: int, small: bool) -> tuple[float, float]:
    """Of a copy and of the BLAS, by CuPy; by NumPy where the command is only tried."""
    xp: ModuleType = importlib.import_module("cupy") if on_gpu else np
    wait = (lambda: xp.cuda.Device().synchronize()) if on_gpu else (lambda: None)
    return (copy_rate(xp, wait, 1 << (16 if small else 30), rounds),
            product_rate(xp, wait, 64 if small else 4096, rounds))


def _row(work: str, opened: dict[str, Peer], rounds: int, small: bool) -> Row:
    try:
        if work in UNIT:
            return unit_products(opened, rounds, 64 if small else 4096, work)
        return measure(work, opened, rounds, small)
    except Exception as error:  # a device that is broken breaks what comes after, too: all is said in the page
        return Row(work, failed={"graphc": said(error)})


def _replay_remark(opened: dict[str, Peer], rounds: int) -> str:
    try:
        launches, host = replay_seconds(opened["graphc"], rounds)
    except Exception as error:
        return f"No time for a call of a jitted program: {said(error)}"
    return f"A call of a jitted program of {launches} launches takes the host {host * 1e6:.1f} us."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    all_works = [*WORKS, *UNIT]
    parser.add_argument("--backend", default="gpu", help="cuda, hip or another (default: the best GPU)")
    parser.add_argument("--work", type=names_among(all_works), default=all_works, metavar="NAME,...")
    parser.add_argument("--peers", type=names_among(PEERS), default=list(PEERS), metavar="NAME,...")
    parser.add_argument("--rounds", type=int, default=9, help="in which all take turns (default: 9)")
    parser.add_argument("--no-suite", action="store_true", help="measure only")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="what of the suite to run (default: all)")
    parser.add_argument("--suite-seconds", type=float, help="after which the suite is ended (default: never)")
    parser.add_argument("--small", action="store_true", help="tiny arrays, to try the command")
    parser.add_argument("--out", default=str(Path(__file__).parent / "GPU.md"), help="the page, or none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
