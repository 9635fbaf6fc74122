"""What the README promises: two commands, twenty lines that run, and names that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphc.cli import main
from graphc.config import EXAMPLES_READ, VARIABLES
from graphc.passes import NAMES

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def test_there_are_exactly_two_commands_to_set_up():
    commands = re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("graphc demo") and commands[1].endswith("pytest -n 2")


BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=["twenty lines", "a model"])
def test_the_code_runs(code: str, tmp_path: Path):
    assert len(code.splitlines()) <= 20
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_passes_that_can_be_left_out_are_listed():
    (row,) = re.findall(r"^\| `GRAPHC_DISABLE`.*$", README, re.MULTILINE)
    assert re.findall(r"`([a-z]+)`", row) == list(NAMES)


def test_all_variables_are_listed():
    listed = re.findall(r"^\| `(GRAPHC_[A-Z_]+)`", README, re.MULTILINE)
    assert sorted(listed) == sorted([*(variable.env for variable in VARIABLES.values()), *EXAMPLES_READ])


@pytest.mark.parametrize("line", re.findall(r"^    graphc (.*?)(?:\s+#.*)?$", README, re.MULTILINE))
def test_every_command_shown_is_one(line: str, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*line.split()[:1], "--help"])
    assert caught.value.code == 0
    options = re.findall(r"--[a-z]+", line)
    text = capsys.readouterr().out
    assert all(option in text for option in options)
