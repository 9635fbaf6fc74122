"""Times of steps: `graphc profile`, and the log of the native library behind it."""
from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc import driver
from graphc.cli.profile import make_rows
from graphc.runtime import profiler
from graphc.runtime.profiler import Profiler
from graphc.units import duration

SCRIPT = """
import numpy as np
import graphc as gc
x = gc.asarray(np.arange(30000.0).reshape(300, 100))
for k in range(5):
    y = gc.sort(gc.tanh(x * 0.5), axis=1)
    gc.realize(gc.softmax(y, axis=1), gc.roll(y, 1, 0))
print("said by the script")
"""


@pytest.fixture(autouse=True)
def _kernels_only(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")


def profile(*arguments, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "graphc", "profile", *map(str, arguments)], cwd=cwd,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_kernel_and_routine_of_a_script_has_its_times(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT + "raise SystemExit(0)\n")      # as sys.exit(main()) does
    rows = json.loads(profile("script.py", "--format", "json", "--repeat", "2", cwd=tmp_path))
    assert {row["launches"] for row in rows} == {10}
    assert any(row["kernel"] == "sort" for row in rows) and any("tanh" in row["kernel"] for row in rows)
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert [row["total"] for row in rows] == sorted((row["total"] for row in rows), reverse=True)
    for row in rows:
        assert 0 < row["median"] <= row["total"] and row["floor"] > 0 and row["bound"] in ("memory", "flops")
        assert all("script.py:" in origin for origin in row["origins"])
        assert row["bytes_per_second"] > 0


def test_the_table_names_kernels_and_lines(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    shown = profile("script.py", "--top", "2", cwd=tmp_path)
    assert "script.py:6" in shown and "said by the script" not in shown and "GFLOP/s" in shown
    assert shown.count("script.py:") == 2


def test_a_script_without_kernels_has_no_table(tmp_path: Path):
    (tmp_path / "script.py").write_text("import graphc")
    assert profile("script.py", cwd=tmp_path) == ""


def test_all_threads_are_timed_and_nothing_after_the_end():
    driver.forget_programs()
    x = gc.asarray(np.arange(5000.0))
    plans = []
    driver.observers.append(plans.append)
    library = driver.current_backend().library()
    try:
        with Profiler(library) as found:
            with pytest.raises(RuntimeError, match="already"), Profiler(library):
                pass
            own = [gc.asarray(np.arange(5000.0) + k) for k in range(3)]     # equal nodes would be computed once
            threads = [threading.Thread(target=lambda k=k: gc.realize(gc.exp(own[k]) + 1)) for k in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            x[3] = 2.0
            gc.realize(x)
            before = len(plans)
        gc.realize(gc.exp(x) + 1)
    finally:
        driver.observers.remove(plans.append)
    assert profiler.current is None and found.dropped == 0
    rows = make_rows(found.times(), plans[:before], None)
    assert {row.kernel: row.launches for row in rows} == {"map_add": 3, "copy": 1, "update": 1}
    assert all(row.floor is None for row in rows)


def test_what_does_not_fit_the_log_is_counted(monkeypatch):
    monkeypatch.setattr(profiler, "ROOM", 4)
    driver.forget_programs()
    x = gc.asarray(np.arange(50.0))
    with Profiler(driver.current_backend().library()) as found:
        for _ in range(10):
            gc.realize(x * 3.0 - 1.0)
    assert found.dropped == 6 and [len(step.nanoseconds) for step in found.times()] == [4]


def test_a_backend_without_a_clock_is_refused(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "graphc", "profile", "--backend", "reference", "script.py"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "only kernels of the backend cpu can be timed" in done.stderr


def test_times_are_short():
    assert [duration(t) for t in (2.071, 0.0315, 4.2e-6, 3e-9)] == ["2.07 s", "31.5 ms", "4.2 us", "3 ns"]
