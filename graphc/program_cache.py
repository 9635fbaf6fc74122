"""Programs on disk: what the passes made of a graph, found again by the next process.

An entry is named by the canonical graph, what the passes looked at in the settings, and the state of graphc's own
files, so that a program made by other passes or templates is never found.
"""
from __future__ import annotations

import functools
import hashlib
import os
import pickle

from graphc.config import settings
from graphc.ir.program import Program
from graphc.ir.target import l2_bytes, panel_bytes
from graphc.runtime.cache import Store

# What decides how a program looks.
_FOLDERS = ("ir", "passes", "codegen", "codegen_templates")     # and the folders in these
_FILES = ("build.py", "build_loops.py", "canonical.py")
_STORE = Store("programs")


@functools.cache
def _code_state() -> str:
    """Changes when a file of the compiler does: names, sizes and dates, which takes well under a millisecond."""
    root = os.path.dirname(os.path.abspath(__file__))
    facts = []
    folders = list(_FOLDERS)
    for folder in folders:
        with os.scandir(os.path.join(root, folder)) as files:
            for file in files:
                if file.name.endswith((".py", ".j2", ".toml")):
                    state = file.stat()
                    facts.append((folder, file.name, state.st_size, state.st_mtime_ns))
                elif "." not in file.name and not file.name.startswith("_") and file.is_dir():
                    folders.append(f"{folder}/{file.name}")
    for name in _FILES:
        state = os.stat(os.path.join(root, name))
        facts.append(("", name, state.st_size, state.st_mtime_ns))
    return repr(sorted(facts))


def name_of(key: tuple, dialect: str | None) -> str:
    """The entry's name. The text of a key holds names, numbers and bytes only: it is the same in every process."""
    backend, disabled, matmul, graph = key
    machine = dialect, settings.num_threads, l2_bytes(), panel_bytes()
    text = repr((backend, sorted(disabled), matmul, graph, machine, _code_state()))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def load(name: str) -> Program | None:
    data = _STORE.load(name)
    return None if data is None else pickle.loads(data)     # the folder is private and the entry's checksum is right


def store(name: str, program: Program) -> None:
    _STORE.store(name, pickle.dumps(program, protocol=pickle.HIGHEST_PROTOCOL))
