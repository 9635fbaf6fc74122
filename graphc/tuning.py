"""What the tuner found, on disk: numbers by which kernels of a class are cut, for every later process.

A class is what a group computes, with its sizes rounded to powers of two, on this processor and compiler with this many
threads. An entry lies in the cache folder, checked like the others; what is damaged or names something that does not
exist counts as missing. Nothing here measures anything: see graphc/tuner.py.
"""
from __future__ import annotations

import functools
import json
from pathlib import Path

from graphc.config import settings
from graphc.errors import NoCompilerError
from graphc.ir.node import Node
from graphc.ir.schedule import Group
from graphc.passes.tunable import Choices, are_choices
from graphc.runtime.cache import Store, cache_folder
from graphc.runtime.compiler import find_compiler

_STORE = Store("tunings")
_known: dict[tuple[Path, str], Choices | None] = {}     # what this process looked up


def choose(group: Group, nodes: list[Node]) -> Choices:
    """The choices for a group, none where nobody has tuned its class."""
    if not _anything(settings.cache_dir):
        return {}
    try:
        return find(group, nodes) or {}
    except NoCompilerError:     # a plan is asked for where nothing can be compiled: that of any machine
        return {}


@functools.lru_cache(maxsize=8)
def _anything(folder: Path) -> bool:
    """Whether anybody has tuned anything: if not, no class is ever worked out. Asked once in a process."""
    place = cache_folder()
    return place is not None and (place / "tunings").is_dir()


def find(group: Group, nodes: list[Node]) -> Choices | None:
    """The choices for a group, None where nobody has tuned its class."""
    name = _name(group, nodes)
    if (settings.cache_dir, name) not in _known:
        _known[settings.cache_dir, name] = _read(name)
    return _known[settings.cache_dir, name]


def _read(name: str) -> Choices | None:
    data = _STORE.load(name)
    try:
        entry = None if data is None else json.loads(data)
    except ValueError:      # written by something else
        return None
    choices = entry.get("choices") if isinstance(entry, dict) else None
    return choices if are_choices(choices) else None


def remember(group: Group, nodes: list[Node], choices: Choices, **measured: float) -> None:
    """Keep the choices for the class of a group, and what was measured, for whoever reads the entry."""
    name = _name(group, nodes)
    _known[settings.cache_dir, name] = dict(choices)
    _STORE.store(name, json.dumps({"choices": dict(choices), **measured}).encode())
    _anything.cache_clear()


def forget() -> None:
    """Read the disk again (for tests)."""
    _known.clear()
    _anything.cache_clear()


def _name(group: Group, nodes: list[Node]) -> str:
    number = {node: k for k, node in enumerate(nodes)}
    entries = []
    for n in nodes:
        srcs = [number.get(s, -1) for s in n.srcs]
        dtypes = n.dtype if isinstance(n.dtype, tuple) else (n.dtype,)
        shape = None if isinstance(n.dtype, tuple) else _rounded(n.shape)
        entries.append((n.op.name, [d.name for d in dtypes], shape, *([n.attrs, srcs] if min(srcs, default=0) >= 0
                                                                     and n.op.name != "param" else [])))
    text = repr((group.kind, _rounded(group.parallel), entries, settings.num_threads))
    return find_compiler().key("tuning", text)


def _rounded(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n if n <= 16 else 1 << (n - 1).bit_length() for n in shape)
