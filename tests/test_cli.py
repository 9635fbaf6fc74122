"""The `graphc` command: what it prints, what it hands to the script, and its exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphc import __version__, codegen, driver
from graphc.cli import kernels, main
from graphc.units import age, amount

ROOT = Path(__file__).resolve().parent.parent

KERNEL = SimpleNamespace(
    name="softmax", source="int64_t softmax(void) {\n    return 0;\n}\n", bytes_read=16_777_216,
    bytes_written=16_777_216, flops=41_943_040, origins=["a.py:3", "a.py:4"], shapes="(4096, 1024) float32",
    launch=(64, 2), items=0, cached="hit",
)

SCRIPT = """
import sys
import numpy as np
import graphc as gc
print("said by the script", sys.argv[1:])
x = gc.asarray(np.arange(12.0).reshape(3, 4))
y = gc.exp(x - gc.max(x, axis=1, keepdims=True))
z = y / gc.sum(y, axis=1, keepdims=True)
gc.realize(z)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def graphc(*arguments, cwd: Path, status: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-m", "graphc", *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_the_header_of_a_kernel():
    assert kernels.header(3, KERNEL) == (
        "/* kernel 3: softmax\n"
        " *   from    a.py:3, a.py:4\n"
        " *   shapes  (4096, 1024) float32\n"
        " *   bytes   16.8 MB read, 16.8 MB written\n"
        " *   flops   41.9 M\n"
        " *   launch  64 chunks on 2 threads\n"
        " *   cache   hit\n"
        " */"
    )


def test_a_kernel_as_json_holds_everything():
    found = json.loads(json.dumps(kernels.as_dict(1, KERNEL)))
    assert set(vars(KERNEL)) - {"launch"} <= set(found)
    assert (found["chunks"], found["threads"], found["number"]) == (64, 2, 1)


@pytest.mark.parametrize(
    "count, text", [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (12_345, "12.3 kB"), (999_400, "999 kB"),
                    (8_000_000, "8 MB"), (4.2e9, "4.2 GB"), (7e12, "7 TB")],
)
def test_sizes_read_well(count, text):
    assert amount(count, "B") == text
    assert amount(999) == "999" and amount(2_500_000) == "2.5 M"


def test_ages_read_well():
    assert [age(s) for s in (0, 119, 120, 7199, 7200, 86400 * 12)] == [
        "now", "now", "2 min ago", "120 min ago", "2 h ago", "12 days ago"]


@pytest.mark.parametrize("command", ["dump-kernels", "explain", "devices", "cache", "demo"])
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"graphc {command}" in capsys.readouterr().out.split("examples:")[1]


def test_a_wrong_command_line_is_status_2(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["dump-kernel"])
    assert caught.value.code == 2


def test_the_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0 and capsys.readouterr().out == f"graphc {__version__}\n"


def test_help_imports_neither_numpy_nor_rich(tmp_path):
    code = "import sys, graphc.cli\ntry: graphc.cli.main(['--help'])\nexcept SystemExit: print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_dump_kernels_prints_c_under_headers(script, backend):
    done = graphc("dump-kernels", script, "--", "--size", "5", cwd=script.parent)
    assert "said by the script ['--size', '5']" in done.stderr and "said by" not in done.stdout
    if backend == "reference":
        assert done.stdout == "" and "no kernel was needed on backend reference" in done.stderr
        return
    assert done.stdout.count("/* kernel ") == 1 and "script.py:8" in done.stdout and "int64_t" in done.stdout


def test_dump_kernels_as_json(script, backend):
    found = json.loads(graphc("dump-kernels", "--format", "json", script, cwd=script.parent).stdout)
    assert len(found) == (0 if backend == "reference" else 1)
    for kernel in found:
        assert kernel["bytes_read"] == kernel["bytes_written"] == 96 and "script.py:8" in kernel["origins"]


def test_dump_kernels_into_a_folder(script, backend, tmp_path):
    graphc("dump-kernels", script, "--out", tmp_path / "out", "--backend", f"abacus,{backend}", cwd=script.parent)
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(files) == (0 if backend == "reference" else 1)
    assert all(name.startswith("001_") for name in files)
    suffix = codegen.suffix_of(driver.current_backend().dialect or "c")
    assert all(name.endswith(suffix) for name in files)


def test_a_function_of_a_module(tmp_path, backend):
    (tmp_path / "mine.py").write_text(
        "import graphc as gc\ndef step():\n    return {'y': [gc.exp(gc.asarray([1.0, 2.0]))], 'n': 3}\n"
    )
    done = graphc("dump-kernels", "mine:step", cwd=tmp_path)
    assert done.stdout.count("/* kernel ") == (0 if backend == "reference" else 1)


def test_another_backend_by_option(script):
    done = graphc("dump-kernels", "--backend", "reference", script, cwd=script.parent)
    assert "no kernel was needed on backend reference" in done.stderr


def test_a_script_that_fails_shows_its_kernels_and_its_traceback(script, backend):
    script.write_text(SCRIPT + "raise KeyError('after')\n")
    done = graphc("dump-kernels", script, cwd=script.parent, status=1)
    assert "KeyError: 'after'" in done.stderr
    assert done.stdout.count("/* kernel ") == (0 if backend == "reference" else 1)


def test_a_script_that_exits(script):
    script.write_text("import sys\nsys.exit('the reason')\n")
    stderr = graphc("dump-kernels", script, cwd=script.parent, status=1).stderr
    assert "the reason" in stderr and "Traceback" not in stderr
    assert "no kernel was needed" in stderr and "before the program failed" in stderr
    script.write_text("import sys\nsys.exit(5)\n")
    for command in ("dump-kernels", "explain"):
        assert "the program ended with status 5\n" in graphc(command, script, cwd=script.parent, status=1).stderr
    script.write_text("import sys\nsys.exit(0)\n")
    assert "status" not in graphc("dump-kernels", script, cwd=script.parent).stderr


def test_options_after_the_script_are_graphcs(script, backend, tmp_path):
    done = graphc("dump-kernels", script, "--format", "json", "--out", tmp_path / "out", "--backend", backend,
                  cwd=script.parent)
    assert "said by the script []" in done.stderr and "kernels.json" in done.stdout
    assert isinstance(json.loads((tmp_path / "out" / "kernels.json").read_text()), list)


MODULE = "X = 3\ndef one(a): return a\ndef fails(): raise KeyError('inside')\n"
WRONG = [
    (["nothing.py"], "there is no file nothing.py"),
    (["."], "is a folder"),
    (["script.py", "--backend", "abacus"], "there is no backend 'abacus'; available: "),
    (["script.py", "--size", "5"], "arguments of the script come after --"),
    (["script.py", "--out", "script.py"], "--out script.py: File exists"),
    (["script.py", "--out", "script.py/x"], "--out script.py/x: Not a directory"),
    (["nomodule:f"], "there is no module nomodule"),
    (["mine.deeper:f"], "there is no module mine.deeper"),
    (["./mine.py:one"], "mine.py is a file; its function is mine:one, from this folder"),
    (["mine:nothing"], "module mine has no function nothing"),
    (["mine:X"], "module mine has no function X"),
    (["mine:one"], "mine:one cannot be called without arguments"),
    (["mine:"], "mine: is neither a file nor MODULE:FUNC"),
]


@pytest.mark.parametrize("arguments, text", WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_input_is_status_2_and_one_line(arguments, text, script, monkeypatch, capsys):
    (script.parent / "mine.py").write_text(MODULE)
    monkeypatch.chdir(script.parent)
    monkeypatch.syspath_prepend(script.parent)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    try:
        status = main(["dump-kernels", *arguments])
    except SystemExit as exit:  # argparse, which prints the usage before its line
        status = exit.code
    shown = capsys.readouterr()
    assert status == 2 and shown.out == "" and "said by" not in shown.err
    assert text in shown.err.splitlines()[-1] and shown.err.splitlines()[-1].startswith("graphc: ")


def test_a_function_that_fails_shows_its_traceback(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    done = graphc("explain", "mine:fails", cwd=tmp_path, status=1)
    assert done.stderr.count("File ") == 1 and "KeyError: 'inside'" in done.stderr


def test_explain(script, backend):
    script.write_text(SCRIPT + "print(gc.sum(gc.exp(x)).numpy())\n" * 3)
    done = graphc("explain", script, cwd=script.parent)
    if backend == "reference":
        assert "no kernel was needed" in done.stderr
        return
    assert "1 kernel, 192 B moved" in done.stdout
    assert "script.py:8  z = y / gc.sum(y, axis=1, keepdims=True)" in done.stdout
    assert "float64[3, 4] -> float64[3, 4]" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_devices(tmp_path):
    done = graphc("devices", cwd=tmp_path)
    assert "cpu" in done.stdout and "reference" in done.stdout and "GRAPHC_NUM_THREADS" in done.stdout


def test_devices_says_which_backend_is_in_use_and_why_none_is(tmp_path, backend, monkeypatch):
    assert f"in use: {backend}" in graphc("devices", cwd=tmp_path).stdout
    monkeypatch.setenv("GRAPHC_BACKEND", "abacus")
    assert "in use: none, because there is no backend 'abacus'" in graphc("devices", cwd=tmp_path).stdout


def test_devices_shows_a_malformed_and_an_unknown_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHC_DEBUG", "loud")
    monkeypatch.setenv("GRAPHC_NUMTHREADS", "2")
    monkeypatch.setenv("COLUMNS", "200")
    done = graphc("devices", cwd=tmp_path)
    assert "'loud' means nothing here" in done.stdout
    assert "GRAPHC_NUMTHREADS is set, but nothing reads it; GRAPHC_NUM_THREADS would be read" in done.stderr


def count_of_entries(cwd: Path) -> int:
    return int(re.search(r"(\d+) entr(y|ies), ", graphc("cache", "ls", cwd=cwd).stdout)[1])


def test_cache_ls_verify_and_clear(script, backend, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(tmp_path / "cache"))
    assert count_of_entries(tmp_path) == 0
    graphc("dump-kernels", script, cwd=tmp_path)
    if backend == "reference":
        return
    before = count_of_entries(tmp_path)
    assert before > 0
    assert f"{before} sound" in graphc("cache", "verify", cwd=tmp_path).stdout
    victim = next((tmp_path / "cache" / "kernels").glob("*.so"))
    victim.write_bytes(victim.read_bytes()[:-1])
    assert f"damaged, and removed: {victim}" in graphc("cache", "verify", cwd=tmp_path, status=1).stdout
    assert count_of_entries(tmp_path) == before - 1
    assert f"removed {before - 1} file" in graphc("cache", "clear", cwd=tmp_path).stdout
    assert count_of_entries(tmp_path) == 0


@pytest.mark.parametrize("which, picture", [("kmeans", "kmeans_centroids.png"), ("denoise", "photo_edges.png")])
def test_demo(which, picture, tmp_path, backend):
    done = graphc("demo", which, "--out", tmp_path / "pictures", cwd=tmp_path)
    assert "FAIL" not in done.stdout and done.stdout.count("  ok  ") == 3 and f"[{backend}]" in done.stdout
    assert (tmp_path / "pictures" / picture).read_bytes().startswith(b"\x89PNG")


def test_a_demo_that_can_not_write_says_so_before_it_runs(tmp_path):
    (tmp_path / "taken").write_text("")
    done = graphc("demo", "denoise", "--out", tmp_path / "taken", cwd=tmp_path, status=2)
    assert done.stderr.startswith("graphc: --out ") and "File exists" in done.stderr and not done.stdout


def test_the_examples_run_as_scripts(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "examples" / "kmeans_digits.py", tmp_path], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dialect, mark", [("cuda", "__global__"), ("hip", "GC_WAVE"), ("opencl", "sub_group_shuffle")])
def test_the_kernels_of_a_device_that_is_absent(script, dialect, mark, backend, monkeypatch):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    monkeypatch.setenv("PYOPENCL_CTX", "none such")
    done = graphc("dump-kernels", script, "--backend", dialect, cwd=script.parent)
    assert mark in done.stdout and "GC_KERNEL void row_max_sum_div" in done.stdout
    assert "launch  1 group of 256 work items" in done.stdout


def test_the_environment_names_a_device_that_is_absent(script, backend, monkeypatch):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    monkeypatch.setenv("GRAPHC_BACKEND", "hip")
    assert "GC_WAVE" in graphc("dump-kernels", script, cwd=script.parent).stdout
    script.write_text("")
    assert "no kernel was needed on backend hip" in graphc("dump-kernels", script, cwd=script.parent).stderr
