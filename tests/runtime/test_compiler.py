"""Compilers: found or missing, their identity, their errors, the key of a kernel."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from runtime_programs import SCALE, output, run_scale, scale

from graphc.errors import BackendError, CompileError, NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import backend, build, cache, compiler
from graphc.runtime.counters import counters

FULL_PATH = os.environ["PATH"]
REAL_FIND_SPEC = compiler.importlib.util.find_spec
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture
def script(tmp_path):
    """A compiler made of shell."""

    def write(text: str, name: str = "mycc") -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def none(monkeypatch, cold, forget, tmp_path):
    """A machine without a compiler."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("GRAPHC_CC", raising=False)
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    forget()


# ------------------------------------------------------------------------------------------------------------- finding


@pytest.mark.parametrize("stderr", [None, type("Log", (), {"write": print})()])
def test_a_process_without_a_stderr_like_a_file_compiles(cold, monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    run_scale(4000, 2.5)


def test_the_chosen_compiler_is_taken(cold, monkeypatch, script, forget):
    path = script(f'exec {CC} "$@"')
    monkeypatch.setenv("GRAPHC_CC", path)
    forget()
    assert compiler.find_compiler().command == (path,)
    run_scale()


def test_cc_of_the_environment_comes_before_the_usual_names(cold, monkeypatch, script, forget):
    path = script(f'exec {CC} "$@"')
    monkeypatch.setenv("CC", path)
    forget()
    assert compiler.find_compiler().command == (path,)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert Path(compiler.find_compiler().command[0]).name in ("cc", "gcc", "clang")


def test_a_command_may_have_arguments(cold, monkeypatch, script, forget):
    path = script('shift; shift; exec "$@"', "wrapper")
    monkeypatch.setenv("GRAPHC_CC", f"{path} a 'b c' {CC}")
    forget()
    assert compiler.find_compiler().command == (path, "a", "b c", CC)
    run_scale()


def test_identity_does_not_depend_on_where_the_compiler_lies(cold, monkeypatch, tmp_path, forget):
    first = compiler.find_compiler()
    (tmp_path / "deep").mkdir()
    link = tmp_path / "deep" / "other-name"
    link.symlink_to(CC)
    monkeypatch.setenv("GRAPHC_CC", str(link))
    forget()
    second = compiler.find_compiler()
    assert second.command != first.command and second.identity == first.identity
    assert first.key("k", "text") == second.key("k", "text")


def test_a_known_compiler_is_not_started(cold, monkeypatch, forget):
    found = compiler.find_compiler()
    forget()
    monkeypatch.setattr(build, "interview", None)
    assert compiler.find_compiler() == found


def test_a_changed_compiler_is_asked_again(cold, monkeypatch, script, forget):
    path = script(f'exec {CC} "$@"')
    monkeypatch.setenv("GRAPHC_CC", path)
    forget()
    old = compiler.find_compiler()
    script(f'[ "$1" = --version ] && echo mycc 99 && exit; exec {CC} "$@"')
    forget()
    new = compiler.find_compiler()
    assert new.identity != old.identity
    assert new.key("k", "text") != old.key("k", "text")


def test_a_command_with_one_quotation_mark_is_no_program(cold, monkeypatch, forget):
    monkeypatch.setenv("GRAPHC_CC", 'gcc "-O1')
    forget()
    with pytest.raises(NoCompilerError, match="GRAPHC_CC.*not a program"):
        compiler.find_compiler()


def test_what_a_script_makes_of_a_compiler_is_another_one(cold, monkeypatch, script, forget):
    """It has the compiler's version, and may leave out or add what changes the code."""
    keys = [compiler.find_compiler().key("k", "text")]
    for text in (f'exec {CC} -O1 "$@"', f'exec {CC} -O0 "$@"', f'exec {CC} "$@" -O0'):
        monkeypatch.setenv("GRAPHC_CC", script(text))
        forget()
        keys.append(compiler.find_compiler().key("k", "text"))
    assert len(set(keys)) == 4


def test_flags_that_a_compiler_does_not_know_are_left_out(cold, monkeypatch, script, forget):
    refusing = 'case "$*" in *-mprefer*|*-lmvec*) echo "error: unknown option" >&2; exit 1;; esac'
    monkeypatch.setenv("GRAPHC_CC", script(f'{refusing}; exec {CC} "$@"'))
    forget()
    found = compiler.find_compiler()
    assert "-mprefer-vector-width=512" not in found.flags and "-lmvec" not in found.libraries
    assert "-march=native" in found.flags and "-ffp-contract=off" in found.flags
    run_scale()


def test_a_compiler_without_strict_arithmetic_is_not_used(cold, monkeypatch, script, forget):
    refusing = 'case "$*" in *-ffp-contract*) echo "error: no such flag -ffp-contract=off" >&2; exit 1;; esac'
    monkeypatch.setenv("GRAPHC_CC", script(f'{refusing}; exec {CC} "$@"'))
    forget()
    with pytest.raises(NoCompilerError, match="ffp-contract"):
        compiler.find_compiler()


def test_a_broken_compiler_is_passed_over_for_the_next(cold, monkeypatch, script, forget, tmp_path):
    script("echo broken >&2; exit 1", "cc")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CC", raising=False)
    forget()
    assert Path(compiler.find_compiler().command[0]).name in ("gcc", "clang")


# ------------------------------------------------------------------------------------------------------------- missing


def test_without_a_compiler_the_reference_serves_with_one_warning(none):
    with pytest.warns(RuntimeWarning, match="ziglang") as caught:
        assert backend.get("auto").name == "reference"
        assert backend.get("auto").name == "reference"
    assert [warning.filename for warning in caught] == [__file__]   # the user's line, and not one of graphc's own


def test_without_a_compiler_cpu_says_what_to_install(none):
    reason = backend.status()["cpu"]
    assert "no C compiler" in reason and "pip install ziglang" in reason
    with pytest.raises(BackendError, match="available: reference"):
        backend.get("cpu")
    assert [found.name for found in backend.select("cpu,reference")] == ["reference"]


def test_a_chosen_compiler_that_is_absent_is_an_error_and_not_replaced(cold, monkeypatch, forget):
    monkeypatch.setenv("GRAPHC_CC", "no-such-compiler")
    forget()
    with pytest.raises(NoCompilerError, match="no-such-compiler"):
        compiler.find_compiler()
    assert "no-such-compiler" in backend.status()["cpu"]


def test_ziglang_is_the_last_resort(none, monkeypatch, tmp_path, forget):
    """A package that takes `python -m ziglang cc`, on a machine with no compiler on the PATH."""
    package = tmp_path / "site" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    text = f"import os, sys; os.environ['PATH'] = {FULL_PATH!r}; os.execv({CC!r}, [{CC!r}, *sys.argv[2:]])"
    (package / "__main__.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setattr(compiler.importlib.util, "find_spec", REAL_FIND_SPEC)
    forget()
    assert compiler.find_compiler().command == (sys.executable, "-m", "ziglang", "cc")
    run_scale()


def test_a_chosen_module_of_another_python(cold, monkeypatch, script, forget):
    """Nothing tells when it changes, so it is asked in every process; it must not fail for that."""
    path = script(f'shift; shift; exec {CC} "$@"', "python")
    monkeypatch.setenv("GRAPHC_CC", f"{path} -m anything")
    forget()
    run_scale()


# -------------------------------------------------------------------------------------------------------------- failing


def test_an_error_shows_the_first_error_and_keeps_the_source(cold):
    bad = SCALE.replace("factor * x[i]", "facto * x[i]")
    with pytest.raises(CompileError, match="facto") as caught:
        run_scale(text=bad)
    kept = Path(caught.value.fix.removeprefix("the source lies in "))
    assert kept.read_text() == bad and kept.parent == cold / "failed"
    assert not list((cold / "kernels").glob("scale-*"))
    run_scale()


def test_one_bad_kernel_among_good_ones(cold):
    good = [KernelSource("scale", SCALE + f"/* {number} */") for number in range(5)]
    bad = KernelSource("scale", "int scale(")
    cpu = backend.get("cpu")
    with pytest.raises(CompileError):
        cpu.compile([*good[:3], bad, *good[3:]])
    assert cache.verify() == []
    assert all(cpu.compile(good))


def test_a_kernel_that_calls_what_does_not_exist(cold):
    text = SCALE.replace("y[i] = factor", "y[i] = missing_function(1.0) * factor")
    with pytest.raises(CompileError, match="missing_function"):
        run_scale(text="double missing_function(double);\n" + text)
    assert cache.verify() == [] and not list((cold / "kernels").glob("scale-*"))


def test_a_compiler_that_dies(cold, monkeypatch, script, forget):
    dying = 'case "$*" in *probe*) ;; *-O3*) kill -9 $$;; esac'
    monkeypatch.setenv("GRAPHC_CC", script(f'{dying}; exec {CC} "$@"'))
    forget()
    with pytest.raises(CompileError, match="signal 9"):
        run_scale()


def test_a_compiler_that_writes_nothing(cold, monkeypatch, script, forget):
    silent = 'case "$*" in *probe*) ;; *-O3*) exit 0;; esac'
    monkeypatch.setenv("GRAPHC_CC", script(f'{silent}; exec {CC} "$@"'))
    forget()
    with pytest.raises(CompileError, match="returned 0"):
        run_scale()


def test_control_c_in_a_compile(cold, python, script):
    slow = f'case "$*" in *probe*|*--version*|*dumpmachine*) ;; *) sleep 20;; esac; exec {CC} "$@"'
    text = """
import os, signal, threading, time
from runtime_programs import run_scale
from graphc.runtime import compiler
compiler.find_compiler()
def send():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send).start()
start = time.perf_counter()
try:
    run_scale()
except KeyboardInterrupt:
    print(time.perf_counter() - start < 2)
"""
    assert output(python(text, GRAPHC_CC=script(slow))) == "True\n"
    assert cache.verify() == [] and not list((cold / "kernels").glob("*"))


def test_kernels_are_compiled_at_the_same_time(cold, monkeypatch, script, forget):
    log = Path(script("true")).parent / "log"
    marking = f'case "$*" in *probe*|*--version*|*dumpmachine*) ;; *) echo start >>{log};; esac'
    closing = f'case "$*" in *probe*|*--version*|*dumpmachine*) ;; *) sleep 0.2; echo end >>{log};; esac'
    monkeypatch.setenv("GRAPHC_CC", script(f'{marking}; {CC} "$@" || exit 1; {closing}'))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    forget()
    backend.get("cpu").compile([KernelSource("scale", SCALE + f"/* {number} */") for number in range(3)])
    assert log.read_text().split()[:3] == ["start"] * 3


# ------------------------------------------------------------------------------------------------------------ the key


def test_the_key_says_everything_that_the_code_depends_on(cold, monkeypatch):
    cc = compiler.find_compiler()
    base = cc.key("scale", SCALE)
    assert base == cc.key("scale", SCALE) and base.startswith("scale-")
    assert len({base, cc.key("scalf", SCALE), cc.key("scale", SCALE + " "), cc.key("scale", SCALE, ["-O1"])}) == 4
    monkeypatch.setattr(compiler, "machine", lambda: "another CPU")
    assert cc.key("scale", SCALE) != base


def test_a_terminal_shows_a_bar_after_a_second(cold, monkeypatch, script, forget, capsys):
    slow = f'case "$*" in *probe*|*--version*|*dumpmachine*) ;; *) sleep 1.3;; esac; exec {CC} "$@"'
    monkeypatch.setenv("GRAPHC_CC", script(slow))
    forget()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    run_scale()
    assert "compiles kernels" in capsys.readouterr().err


def test_compile_seconds_are_counted(cold):
    before = counters.snapshot()
    backend.get("cpu").load(scale(10))
    assert 0.01 < (counters - before).compile_seconds < 60
