"""The tuner: no candidate changes a bit, what it finds serves later processes, and its time is limited."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc import build, driver, tuner, tuning
from graphc.canonical import canonicalize
from graphc.config import settings
from graphc.passes.tunable import TUNABLES, are_choices, tunables
from graphc.runtime import cache, floor


@pytest.fixture(autouse=True)
def _kernels_only(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch):
    """An empty cache folder; the tuner has done nothing so far."""
    monkeypatch.setattr(tuner, "_spent", 0.0)
    monkeypatch.setattr(tuner, "unfinished", 0)
    monkeypatch.setattr(driver.current_backend(), "_handles", {})      # kernels of other tests
    folder = tmp_path / "cache"
    with settings.override(cache_dir=str(folder)):
        driver.forget_programs()
        tuning.forget()
        yield folder
    driver.forget_programs()
    tuning.forget()


@pytest.fixture
def far_from_the_floor(monkeypatch):
    monkeypatch.setattr(tuner, "_machine", [None])


def works() -> dict[str, gc.Tensor]:
    random = np.random.default_rng(0)

    def array(*shape):
        return gc.asarray(random.standard_normal(shape).astype(np.float32))
    x, tall = array(301, 257), array(700, 300)
    long = x
    for _ in range(30):
        long = long * x - 0.5
    return {"map": gc.roll(x, 1, 0) + x, "row": gc.softmax(gc.tanh(x), axis=1), "column": gc.var(tall, axis=0),
            "contract": gc.tanh(array(1001, 513) @ array(513, 777) + 1.0), "long": long}


def run(tensor: gc.Tensor) -> tuple[bytes, tuple]:
    """The bytes of the result, and what was launched."""
    graph = canonicalize([tensor.node])
    program = build.build(graph, "c").program
    (out,) = driver.current_backend().load(program).run([leaf.value for leaf in graph.leaves], graph.params)
    return out.view(np.uint8, (tensor.nbytes,)).tobytes(), (program.kernels, program.steps)


TUNED = {"map": {"chunk"}, "row": {"chunk"}, "column": {"columns"},
         "contract": {"block_rows", "block_columns", "panel"}, "long": {"chunk", "strip"}}


@pytest.mark.parametrize("name", TUNED)
def test_no_candidate_changes_a_bit(monkeypatch, name: str):
    tensor = works()[name]
    expected, usual = run(tensor)
    for option in TUNABLES:
        launched = []
        for value in option.others:
            monkeypatch.setattr(tuning, "choose", lambda group, nodes, o=option, v=value: {o.name: v})
            found, what = run(tensor)
            assert found == expected, (option.name, value)
            launched.append(what)
            monkeypatch.undo()
        if name in option.kinds and option.name != "strip" or (name, option.name) == ("long", "strip"):
            assert any(what != usual for what in launched), option.name
    (launch,) = build.plan_graph(canonicalize([tensor.node])).memory.steps
    (step,) = launch.members
    assert {t.name for t in tunables(step.group, step.kernel)} == TUNED[name]


def test_defaults_are_what_kernels_have():
    """A default that is listed gives the same program as no choice at all."""
    for tensor in works().values():
        usual = run(tensor)[1]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tuning, "choose", lambda group, nodes: {t.name: t.default for t in TUNABLES
                                                                  if t.default is not None})
            assert run(tensor)[1] == usual


def favour(monkeypatch, **choice: int) -> list:
    """Let one choice be twice as fast, whatever it is. Returns what was tried."""
    tried: list = []

    def seconds(bench, candidates):
        tried.extend(candidates)
        return [0.5 if choice.items() <= c.items() else 1.0 for c in candidates]
    monkeypatch.setattr(tuner._Bench, "seconds", seconds)
    return tried


SCRIPT = """
import numpy as np
import graphc as gc
x = gc.asarray(np.random.default_rng(0).random((700, 300), dtype=np.float32))
y = gc.realize(gc.var(x, axis=0))
print(y.numpy().tobytes().hex()[:64], gc.counters().compiles, gc.counters().program_misses)
print("[256]" in gc.plan(gc.var(x, axis=0)).kernels[0].source)
"""


def in_a_process(folder: Path, script: str = SCRIPT) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "GRAPHC_CACHE_DIR": str(folder)})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def variance() -> gc.Tensor:
    return gc.var(gc.asarray(np.random.default_rng(0).random((700, 300), dtype=np.float32)), axis=0)


def test_another_process_uses_what_was_found_and_compiles_nothing(own_cache, far_from_the_floor, monkeypatch, tmp_path):
    (untuned, compiles, misses, chosen) = in_a_process(tmp_path / "other")
    assert (compiles, misses, chosen) == ("1", "1", "False")
    tried = favour(monkeypatch, columns=256)
    with settings.override(tune=True):
        y = gc.realize(variance())
    assert {"columns": 2048} in tried
    (tuned, compiles, misses, chosen) = in_a_process(own_cache)
    assert (compiles, misses, chosen) == ("0", "0", "True")
    assert tuned == untuned == y.numpy().tobytes().hex()[:64]
    # Nobody tries again, in this process or in another.
    tried.clear()
    driver.forget_programs()
    tuning.forget()
    with settings.override(tune=True):
        gc.realize(variance())
    assert tried == []


def test_a_class_holds_for_other_sizes_and_other_programs(own_cache, far_from_the_floor, monkeypatch):
    favour(monkeypatch, columns=256)
    with settings.override(tune=True):
        gc.realize(variance())
    x = gc.asarray(np.ones((600, 290), np.float32))
    assert "[256]" in gc.plan(gc.var(x, axis=0)).kernels[0].source
    x = gc.asarray(np.ones((600, 1290), np.float32))      # another class
    assert "[256]" not in gc.plan(gc.var(x, axis=0)).kernels[0].source


@pytest.mark.parametrize("content", ["", "{", "[]", '{"choices": {"columns": 77}}', '{"choices": {"rest": 1}}',
                                     '{"choices": {"columns": "256"}}', '{"choices": 3}'])
def test_an_entry_that_means_nothing_is_ignored(own_cache, far_from_the_floor, monkeypatch, content: str):
    favour(monkeypatch, columns=256)
    with settings.override(tune=True):
        gc.realize(variance())
    (entry,) = (own_cache / "tunings").iterdir()
    if content:     # sound, but written by something else
        cache.Store("tunings").store(entry.stem, content.encode())
    else:           # damaged
        entry.write_bytes(entry.read_bytes()[:-3])
    tuning.forget()
    assert "[256]" not in gc.plan(variance()).kernels[0].source


def test_the_time_is_limited(own_cache, far_from_the_floor):
    with settings.override(tune=True, tune_seconds=1e-6):
        gc.realize(variance())
    assert tuner.unfinished == 1 and not (own_cache / "tunings").exists()
    with settings.override(tune=True, tune_seconds=100):    # it goes on where it stopped
        driver.forget_programs()
        gc.realize(variance())
    (entry,) = (own_cache / "tunings").iterdir()
    found = json.loads(entry.read_bytes()[:-cache.TAIL])
    assert are_choices(found["choices"]) and 0 < found["after"] <= found["before"]


def test_it_stops_near_the_floor(own_cache, monkeypatch):
    class Slow(floor.Machine):
        def seconds(self, *given):
            return 0.99, "memory"
    monkeypatch.setattr(tuner, "_machine", [Slow(1, None)])
    tried, results = favour(monkeypatch, columns=256), []
    monkeypatch.setattr(tuner, "watchers", [results.append])
    with settings.override(tune=True):
        gc.realize(variance())
    assert tried == [{}] and [r.verdict for r in results] == ["near the floor"]


def test_without_tuning_no_class_is_worked_out(own_cache, monkeypatch):
    monkeypatch.setattr(tuning, "_name", lambda group, nodes: pytest.fail("nothing was ever tuned"))
    gc.realize(variance())


def test_updates_and_library_calls_are_left_as_they_are(own_cache, far_from_the_floor, monkeypatch):
    tried = favour(monkeypatch)
    x = gc.realize(gc.ones(1000) * 2)
    with settings.override(tune=True):
        x[3] = 5.0
        assert gc.sort(x)[-1].item() == 5.0
    assert all(set(choices) <= {"chunk"} for choices in tried)


def test_the_command_tunes_a_script(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "GRAPHC_CACHE_DIR": str(tmp_path / "cache")}

    def tune(*options: str) -> str:
        done = subprocess.run([sys.executable, "-m", "graphc", "tune", "script.py", *options], cwd=tmp_path,
                              capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout
    shown = tune("--seconds", "60")
    assert "1 kernel tried" in shown and "column_m2" in shown
    assert "nothing new to tune" in tune()
    assert in_a_process(tmp_path / "cache")[1:3] == ["0", "0"]
