"""GRAPHC_VERIFY and GRAPHC_DEBUG: what they catch and what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from msgspec.structs import force_setattr

import graphc as gc
from graphc import debug, driver, live_check
from graphc.config import settings
from graphc.errors import MismatchError
from graphc.ir import ops


@pytest.fixture(autouse=True)
def compiled(backend):
    if backend == "reference":
        pytest.skip("the reference is what is compared with")


@contextmanager
def other_meaning(op, meaning):
    """An operation whose NumPy meaning is another than what is compiled."""
    kept = op.numpy
    force_setattr(op, "numpy", meaning)
    try:
        yield
    finally:
        force_setattr(op, "numpy", kept)


def program(scale: float):
    x = gc.asarray(np.linspace(-2, 2, 60, dtype=np.float32).reshape(6, 10))
    e = gc.exp((x - gc.max(x, axis=1, keepdims=True)) * scale)
    return e / gc.sum(e, axis=1, keepdims=True)


def test_a_sound_program_passes():
    with settings.override(verify=True):
        y = program(0.5)
        order = gc.argsort(gc.linalg.inv(y @ y.T + 3.0 * gc.eye(6, dtype=gc.float32)), axis=0)
        y[1:3] = gc.sin(y[2:4])
        gc.realize(y, order, gc.cumulative_sum(y, axis=0), gc.random.uniform(0, 1, (3,)))
        z = gc.asarray(np.ones(5))
        z[1:3] += 1.0
        assert z.tolist() == [1, 2, 2, 1, 1]
    assert y.shape == (6, 10) and np.isfinite(y.numpy()).all()


def test_a_wrong_operation_is_named_with_its_line_and_a_script(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "cache_dir", tmp_path)
    with settings.override(verify=True), other_meaning(ops.EXP, lambda attrs, dtype, shape, x: np.exp(x) * 1.001):
        y = program(0.25)
        with pytest.raises(MismatchError) as caught:
            y.numpy()
    text = str(caught.value)
    assert text.startswith("[exp] 60 of 60 elements do not agree closely enough") and "e = gc.exp(" in text
    assert re.search(r"in kernel row_\w+ \(\S*test_live_check.py:\d+", text)
    assert y.node.value is None     # nothing wrong is handed on
    script = re.search(r"python (\S+\.py) shows it again", text)[1]
    again = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert again.returncode == 0 and again.stdout == "no difference\n", again.stderr     # the compiled side was right
    spoilt = "import numpy as np\nfrom msgspec.structs import force_setattr\nfrom graphc.ir import ops\n" \
             "force_setattr(ops.EXP, 'numpy', lambda attrs, dtype, shape, x: np.exp(x) * 1.001)\n"
    with open(script) as file:
        source = file.read()
    with open(script, "w") as file:
        file.write(spoilt + source)
    again = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert again.returncode == 1 and "MismatchError: [exp] 60 of 60" in again.stderr


def test_a_result_that_depends_on_fusion_is_found(monkeypatch):
    y = program(0.75)
    driver.realize([program(0.75).node])
    values = [driver.from_numpy(np.full((6, 10), 0.1, np.float32), "cpu", copy=True)]
    with pytest.raises(MismatchError, match=r"\[div\] the result has other bits"):
        live_check.check([y.node], values, driver.current_backend())


def said(level: int, capsys, *roots) -> str:
    with settings.override(debug=level):
        gc.realize(*roots)
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def test_debug_names_the_reason_of_each_miss(capsys, monkeypatch):
    monkeypatch.setattr(debug, "_seen", type(debug._seen)())

    def chain(n, dtype=np.float32):
        x = gc.asarray(np.ones((n, 3), dtype))
        return gc.tan(x) * 3.25 - gc.flip(x, axis=0)

    assert re.match(r"graphc: program \d+ at \S*test_live_check.py:\d+: operations not seen before, \d+ nodes; "
                    r"not found on disk\n$", said(1, capsys, chain(11)))
    assert re.search(r"the operations of program \d+, but an input has shape \(12, 3\) instead of \(11, 3\)",
                     said(1, capsys, chain(12)))
    assert "an input has dtype float64 instead of float32" in said(1, capsys, chain(12, np.float64))
    assert said(1, capsys, chain(12)) == ""      # a hit says nothing
    driver.forget_programs()
    assert "dropped from memory; found on disk" in said(1, capsys, chain(12, np.float64))
    with settings.override(disable="simplify"):
        assert "with other passes disabled" in said(1, capsys, chain(12, np.float64))


def test_debug_levels(capsys):
    def fresh(n):
        return gc.atan(gc.asarray(np.ones((n, 7)))) + 5.5

    kernels = said(2, capsys, fresh(2))
    assert "1 kernel, " in kernels and "B read, " in kernels and "after simplify" not in kernels
    graphs = said(3, capsys, fresh(3))
    places = [graphs.index(stage) for stage in ("recorded:", "after simplify:", "schedule:", "kernels:")]
    assert places == sorted(places)
    assert re.search(r"^kernel map_\w+\(.*float64\[21\]", graphs, re.MULTILINE)
    assert "int64_t map_" not in graphs
    assert "int64_t map_" in said(4, capsys, fresh(4))
