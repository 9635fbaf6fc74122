"""The examples that train, in their short form: they have to pass their own checks and leave a picture of the loss."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphc.examples import datasets

ROOT = Path(__file__).resolve().parent.parent


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, ROOT / "examples" / name, "--short", *arguments, folder], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for picture in folder.glob("*.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout


@pytest.fixture
def compiling(backend):
    if backend == "reference":
        pytest.skip("trained on the backend that compiles; an interpreter would take minutes")


def brought(fetch):
    """What a data set's function gives; a test without a network is skipped."""
    try:
        return fetch()
    except SystemExit as error:
        pytest.skip(f"the data set could not be fetched: {str(error)[-300:]}")


def test_digits(tmp_path, compiling):
    text = run("train_digits.py", tmp_path)
    assert text.count("  ok  ") == 2 and len(list(tmp_path.glob("*.png"))) == 2


def test_fashion(tmp_path, compiling):
    images, labels, unseen, answers = brought(datasets.fashion_mnist)
    assert images.shape == (60000, 28, 28) and unseen.shape == (10000, 28, 28) and images.dtype == np.uint8
    assert np.bincount(labels).tolist() == [6000] * 10 and np.bincount(answers).tolist() == [1000] * 10
    assert run("train_fashion.py", tmp_path).count("  ok  ") == 1


def test_text(tmp_path, compiling):
    text = brought(datasets.plays)
    assert "To be, or not to be,--that is the question" in text and 600_000 < len(text) < 1_000_000
    said = run("train_text.py", tmp_path)
    assert said.count("  ok  ") == 2 and len(list(tmp_path.glob("*.png"))) == 2
    assert len(re.findall(r"nats a letter; a table of pairs", said)) == 2


def test_data_that_cannot_be_fetched_says_what_was_tried(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHC_DATA_DIR", os.fspath(tmp_path))
    with pytest.raises(SystemExit, match=r"(?s)false --quietly brought no \*\.deb"):
        datasets.fetched("nothing", "*.deb", "false", "--quietly")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.deb").touch()
    assert datasets.fetched("there", "*.deb", "false").name == "a.deb"
