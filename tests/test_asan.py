"""Random programs under AddressSanitizer and UndefinedBehaviorSanitizer: kernels stay inside their buffers, and do
nothing that C leaves undefined."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphc.runtime import compiler
from graphc.runtime.build import interview

SCRIPT = Path(__file__).parent / "asan_programs.py"
CHUNK = 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        count = max(CHUNK, metafunc.config.getoption("--programs") // 50)
        metafunc.parametrize("first_seed", range(10_000, 10_000 + count, CHUNK))


@pytest.fixture(scope="module")
def sanitizer() -> str:
    """The library that has to be loaded before Python."""
    cc = compiler.find_compiler()
    found = subprocess.run([*cc.command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    path = found.stdout.strip()
    if found.returncode or not os.path.isabs(path):
        pytest.skip(f"{cc.command[0]} has no AddressSanitizer for shared objects")
    return path


def run(sanitizer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
                   "UBSAN_OPTIONS": "print_stacktrace=1", "GRAPHC_BACKEND": "cpu"}
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], env=environment, capture_output=True, text=True,
                          timeout=280, check=False)


def test_an_overflow_is_found(sanitizer: str):
    """Without this, a sanitizer that sees nothing would look like sound kernels."""
    done = run(sanitizer, "overflow")
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr, done.stderr[-2000:]
    assert "in spill" in done.stderr and "nothing was found" not in done.stdout


def test_random_programs(sanitizer: str, first_seed: int):
    done = run(sanitizer, str(first_seed), str(CHUNK))
    assert done.returncode == 0, done.stderr[-6000:]
    assert f"{CHUNK} programs" in done.stdout
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[-6000:]


@pytest.mark.parametrize("what, report", [("attention", "9 attentions and a gradient"), ("products", "10 products")])
def test_templates(sanitizer: str, what: str, report: str):
    done = run(sanitizer, what)
    assert done.returncode == 0, done.stderr[-6000:]
    assert report in done.stdout
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[-6000:]


def test_a_command_that_needs_a_library_of_its_own_gets_it(sanitizer: str):
    command = compiler.find_compiler().command
    assert "-nostdlib" not in interview((*command, "-fsanitize=undefined"))["libraries"]
