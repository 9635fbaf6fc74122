"""A cache folder of its own for every test, and backends that do not remember the test before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphc.config import settings
from graphc.runtime import backend, cache, compiler

HERE = Path(__file__).parent


@pytest.fixture
def forget():
    """Forget what this process knows of compilers, folders and backends; call it again after a change."""

    def now():
        settings.reload()
        cache.forget_folder()
        compiler.forget()
        backend.forget_choice()

    now()
    yield now
    now()


@pytest.fixture
def cold(tmp_path, monkeypatch, forget):
    """A fresh cache folder, and a fresh cpu backend on it."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(folder))
    forget()
    return folder


@pytest.fixture
def cpu():
    return backend.get("cpu")


@pytest.fixture
def python(tmp_path):
    """Start Python on a text that can import runtime_programs.py; returns the Popen."""
    started = []

    def start(text: str, **environment: str) -> subprocess.Popen:
        path = os.pathsep.join([str(HERE), str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
