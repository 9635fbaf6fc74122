"""What a process does between its start and its first answer: with an empty cache, and with a full one."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import graphc as gc
from graphc.runtime import backend, cpu

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
SOFTMAX = """
import sys, numpy as np, graphc as gc
x = gc.asarray(np.ones((256, 256), "float32"))
e = gc.exp(x - gc.max(x, axis=1, keepdims=True))
y = (e / gc.sum(e, axis=1, keepdims=True)).numpy()
assert (y == np.float32(1 / 256)).all()
"""
ONLY_COLD = ("graphc.build", "graphc.passes", "graphc.codegen", "graphc.runtime.build", "jinja2", "subprocess",
             "tempfile")
NEVER = ("ml_dtypes", "networkx", "rich", "cffi", "pycparser", "scipy", "importlib.metadata")
LISTED = f"print(*sorted(set({[*ONLY_COLD, *NEVER]}) & set(sys.modules)))"


@pytest.fixture
def run(tmp_path, monkeypatch, compiled):
    """Run Python text in a process of its own on a cache of its own; its output as words."""
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(tmp_path / "cache"))

    def now(text: str, **environment: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", text], env=os.environ | environment, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    return now


@pytest.fixture
def logging_compiler(tmp_path):
    """A compiler that notes what it is asked, and the file of notes."""
    log, path = tmp_path / "log", tmp_path / "mycc"
    log.touch()
    path.write_text(f'#!/bin/sh\necho "$*" >>{log}\nexec {CC} "$@"\n')
    path.chmod(0o755)
    return str(path), log


def test_processes_of_tests_import_what_is_tested(tmp_path):
    """A program was not found on disk: one process was of another checkout, which a PYTHONPATH named."""
    done = subprocess.run([sys.executable, "-c", "import graphc; print(graphc.__file__)"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert done.stdout.strip() == gc.__file__


def test_a_warm_process_imports_no_passes_and_no_templates(run):
    assert set(ONLY_COLD) <= set(run(SOFTMAX + LISTED))
    assert run(SOFTMAX + LISTED) == []


def test_a_cold_process_starts_the_compiler_five_times_and_a_warm_one_never(run, logging_compiler):
    path, log = logging_compiler
    run(SOFTMAX, GRAPHC_CC=path)
    asked = log.read_text().splitlines()
    assert len(asked) == 5
    for word in ("--version", "-dumpmachine", "probe", "runtime/native"):
        assert sum(word in line for line in asked) == 1
    run(SOFTMAX, GRAPHC_CC=path)
    assert len(log.read_text().splitlines()) == 5


def test_the_native_library_is_begun_before_the_kernel_is_rendered(run, logging_compiler):
    path, log = logging_compiler
    watched = f"""
import time
from graphc.runtime import backend
def work():
    import graphc.codegen.loops_c as loops_c
    render = loops_c.render
    def watching(*arguments):
        until = time.monotonic() + 30       # rendering waits for it: it must have been begun before
        while not (begun := "runtime/native" in open({str(log)!r}).read()) and time.monotonic() < until:
            time.sleep(0.01)
        print(begun)
        return render(*arguments)
    loops_c.render = watching
import graphc.driver
backend.meanwhile.append(work)
"""
    assert run(watched + SOFTMAX, GRAPHC_CC=path) == ["True"]


def test_a_process_works_while_its_compiler_is_asked(run, tmp_path):
    """The probe ends only when the imports have been done."""
    path, done = tmp_path / "mycc", tmp_path / "done"
    waiting = f'case "$*" in *probe*) while [ ! -e {done} ]; do sleep 0.01; done;; esac'
    path.write_text(f'#!/bin/sh\n{waiting}\nexec {CC} "$@"\n')
    path.chmod(0o755)
    mark = f"""
import sys
from graphc.runtime import backend
import graphc.driver
backend.meanwhile.append(lambda: open({str(done)!r}, "w").close())
"""
    ending = "print('jinja2' in sys.modules)"
    assert run(mark + SOFTMAX + ending, GRAPHC_CC=str(path)) == ["True"]


def test_a_library_whose_early_build_was_killed_is_built_again(run):
    killing = """
from graphc.runtime import cpu
start = cpu._start
def killed(*args):
    begun = start(*args)
    for started in begun:
        started.stop()
    return begun
cpu._start = killed
"""
    assert run(killing + SOFTMAX + "print(gc.counters().compiles)") == ["1"]


def test_what_a_jitted_function_closes_over_is_compiled_together_with_it(run):
    text = """
import numpy as np, graphc as gc
from graphc.runtime import build
batches, begin = [], build.build
build.build = lambda *args: batches.append(len(args[1])) or begin(*args)
w = gc.asarray(np.ones(64, "f4")) * 3
f = gc.jit(lambda x: (x + w).sum())
print(float(f(gc.asarray(np.ones(64, "f4")))), batches, gc.counters().compiles)
"""
    assert run(text) == ["256.0", "[3]", "2"]      # the native library, and a kernel of each program


def test_an_early_build_is_not_waited_for_by_a_process_that_ends(run, tmp_path):
    """A process that never realizes leaves nothing behind it that runs."""
    path = tmp_path / "mycc"
    path.write_text(f'#!/bin/sh\ncase "$*" in *runtime/native*) echo $$ >{tmp_path / "pid"}; exec sleep 60;; esac\n'
                    f'exec {CC} "$@"\n')
    path.chmod(0o755)
    text = f"""
import os, time, numpy as np, graphc as gc
from graphc.runtime import backend
backend.get("cpu").warm_up()
while not os.path.exists({str(tmp_path / "pid")!r}):
    time.sleep(0.01)
"""
    run(text, GRAPHC_CC=str(path))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_forked_child_leaves_the_early_build_to_its_parent():
    here = cpu.CpuBackend()
    here._early, here._foreseen = [object()], [object()]
    here._after_fork()
    assert here._early == here._foreseen == []


def test_the_text_of_softmax_is_short():
    """gcc's time grows with it: 100 lines of a kernel and its helpers are 0.25 s."""
    x = gc.asarray(np.ones((256, 256), "float32"))
    e = gc.exp(x - gc.max(x, axis=1, keepdims=True))
    (kernel,) = gc.plan(e / gc.sum(e, axis=1, keepdims=True)).kernels
    assert len(kernel.source) < 7500


def test_backends_are_those_of_the_package_metadata():
    """Read without importlib.metadata, which a process does not import for anything else."""
    from importlib.metadata import entry_points
    listed = {point.name: point.value for point in entry_points(group=backend.GROUP)}
    assert backend._table_of_metadata() == listed
