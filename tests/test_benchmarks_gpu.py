"""benchmarks/gpu.py where there is no GPU: it says so; and on the host at tiny sizes, to know that its parts work."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import graphc as gc
from benchmarks import gpu
from graphc import driver
from graphc.errors import BackendError
from graphc.runtime import backend as backends


@pytest.fixture(autouse=True)
def same_backend_after():
    before = gc.get_backend_name()
    yield
    gc.set_backend(before)


def test_no_gpu_is_said(capsys, monkeypatch):
    def absent(name):
        raise BackendError("the backend 'cuda' cannot run here: CuPy finds no GPU", op="GRAPHC_BACKEND")
    monkeypatch.setattr(backends, "select", absent)
    assert gpu.main(["--no-suite"]) == 2
    assert capsys.readouterr().err == "no GPU to measure: the backend 'cuda' cannot run here: CuPy finds no GPU\n"


def test_the_page(tmp_path, capsys, backend):
    if backend not in ("cpu", "reference"):
        pytest.skip("two hosts are enough")
    out = tmp_path / "GPU.md"
    assert gpu.main(["--backend", backend, "--small", "--no-suite", "--rounds", "1",
                     "--work", "softmax,gemm,bfloat16,tf32", "--peers", "graphc,graphc+library,cupy",
                     "--out", str(out)]) == 0
    lines = out.read_text().splitlines()
    header = next(line for line in lines if line.startswith("| work (ms)")).split(" | ")
    gemm = next(line for line in lines if line.startswith("| GEMM 4096 float32 (tiny)")).split(" | ")
    assert len(gemm) == len(header) and all(float(cell) > 0 for cell in gemm[1:3])
    assert any(line.startswith("| GEMM 64 tf32 | ") for line in lines)
    assert any(line.startswith("- copy: ") for line in lines)
    assert any("launches takes the host" in line for line in lines)
    assert "- date: 20" in out.read_text() and not any(line.startswith("- cache") for line in lines)


def test_a_wrong_answer_gets_no_time():
    gc.set_backend("reference")
    own = gpu.open_peer("graphc", driver.default_device())
    wrong = gpu.Peer(own.take, own.bind, own.wait, lambda answer: answer.numpy() + 1)
    raising = gpu.Peer(own.take, lambda work, inputs: lambda: 1 / 0, own.wait, own.give)
    row = gpu.measure("softmax", {"graphc": own, "torch": wrong, "jax": raising}, 1, True)
    assert set(row.medians()) == {"graphc"} and row.failed["jax"] == "ZeroDivisionError: division by zero"
    assert "elements are wrong" in row.failed["torch"]
    header, cells = gpu.table([row], ["graphc", "torch", "jax"], 1e9, 1e9)
    assert cells[0][2:4] == ["failed", "failed"] and cells[0][-1] == ""


def test_a_peer_that_breaks_later_leaves():
    gc.set_backend("reference")
    own = gpu.open_peer("graphc", driver.default_device())
    calls = iter(range(7))
    breaking = gpu.Peer(own.take, lambda work, inputs: lambda: (next(calls), own.bind(work, inputs)())[1], own.wait,
                        own.give)
    row = gpu.measure("softmax", {"graphc": own, "torch": breaking}, 2, True)
    assert set(row.medians()) == {"graphc"} and row.failed["torch"].startswith("StopIteration")


def test_the_suite_has_a_time():
    assert gpu.run_suite("reference", ["tests"], 0.01) == "0 passed, 0 failed; ended after 0.01 seconds"
    lines = ["tests/a.py::b PASSED [ 1%]", "[gw1] [ 2%] FAILED tests/a.py::c", "[gw0] [ 3%] PASSED tests/a.py::d"]
    assert gpu.tally(lines) == "[gw1] [ 2%] FAILED tests/a.py::c\n2 passed, 1 failed"


def test_rates_count_what_moves():
    clock = iter(np.arange(100.0))
    slow = SimpleNamespace(perf_counter=lambda: next(clock))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "time", slow)
        assert gpu.copy_rate(np, lambda: None, 4000, 1) == 8000 * 10
        assert gpu.product_rate(np, lambda: None, 10, 1) == 2000 * 3
