"""The native library under the sanitizers of the C compiler, and without Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from graphc.runtime import compiler, native

HERE = Path(__file__).parent


@pytest.fixture
def build(tmp_path):
    def program(*flags: str) -> str:
        command = [*compiler.find_compiler().command, "-O1", "-g", "-pthread", "-I", str(native.FOLDER), *flags]
        target = tmp_path / "stress"
        built = subprocess.run(
            [*command, str(HERE / "stress.c"), "-o", str(target), "-ldl"], capture_output=True, text=True, check=False
        )
        if built.returncode and any("sanitize" in flag for flag in flags):
            pytest.skip(f"this compiler has no such sanitizer: {built.stderr[:200]}")
        assert built.returncode == 0, built.stderr
        return str(target)

    return program


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "unexpected memory mapping" in done.stderr:  # the sanitizer does not know this kernel's address layout
        pytest.skip(done.stderr[:200])
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
@pytest.mark.parametrize("callers", ["1", "4"])
def test_sanitizers_find_nothing(build, sanitizer, callers):
    assert run(build(f"-fsanitize={sanitizer}"), callers, "150") == (0, "done\n")


def test_callers_and_forks(build):
    for _ in range(3):
        assert run(build(), "4", "300", "fork") == (0, "done\n")


def test_no_warnings(tmp_path):
    command = [*compiler.find_compiler().command, *compiler.NATIVE_FLAGS, "-Wall", "-Wextra", "native.c"]
    built = subprocess.run(
        [*command, "-o", str(tmp_path / "n.so")], cwd=native.FOLDER, capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
