"""The helper functions of a GPU kernel: which texts it needs, and in which order."""
from __future__ import annotations

import functools
import re

from graphc.codegen.macros import MacroFile, macros
from graphc.codegen.spell import unsigned
from graphc.codegen.spell_gpu import REAL, WORDS

_NAME = re.compile(r"\bgc_[a-z0-9_]+\b")
_TWO = ("pow", "atan2", "hypot", "nextafter")
_TYPES = ("cfloat", "cdouble", "float", "double", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t",
          "int32_t", "int64_t")
_PLAIN = {"first": "check_index"} | {name: name for name in ("check_index", "check_unsigned", "threefry", "odd")}
_FRAME = ("gc_quotient", "gc_rest")     # in the frame of all kernels


def helpers(environment, names: list[str]) -> list[str]:
    """The text of every helper that these names need, each once, behind those that it calls."""
    texts: dict[str, None] = {}

    def add(name: str) -> None:
        text = _text(environment, name)
        if text in texts:
            return
        for other in _NAME.findall(text):
            if other != name and other not in _FRAME and _text(environment, other) != text:
                add(other)
        texts[text] = None
    for name in names:
        if name not in _FRAME:
            add(name)
    return list(texts)


@functools.cache
def _text(environment, name: str) -> str:
    general, numbers = macros(environment, "gpu/helpers.j2"), macros(environment, "gpu/complex.j2")
    stem = name.removeprefix("gc_")
    if stem in _PLAIN:
        return general[_PLAIN[stem]]().strip()
    if stem.endswith(("bfloat16", "float16")):
        return general["bfloat16" if stem.endswith("bfloat16") else "float16"]().strip()
    kind = _type_of(stem)
    if stem.startswith("bits_"):
        return general["bits"](kind, WORDS.get(kind, kind)).strip()
    if stem.startswith("bitcast_"):
        return general["bitcast"](_type_of(stem.removesuffix("_" + kind)), kind).strip()
    return _typed(general, numbers, stem.removesuffix("_" + kind), kind).strip()


def _type_of(stem: str) -> str:
    """The type that a name ends in."""
    return next(t for t in _TYPES if stem.endswith("_" + t))


def _typed(general: MacroFile, numbers: MacroFile, name: str, kind: str) -> str:
    """A helper for one type."""
    if kind in REAL and name in numbers:
        return numbers[name](kind, REAL[kind])
    if name == "cabs":
        return numbers[name](kind, kind)
    if name in general and name not in ("math", "extreme"):
        return general[name](kind, unsigned(kind), kind in WORDS)
    if kind in WORDS:
        return general["math"](name, kind, 2 if name in _TWO else 1)
    raise NotImplementedError(f"there is no {name} of {kind} for GPUs")
