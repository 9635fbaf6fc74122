"""The functions that a C kernel calls, from their templates."""
from __future__ import annotations

import functools
import re

from graphc.codegen.macros import MacroFile, macros
from graphc.codegen.spell import Speller, unsigned

MATH_TWO = ("pow", "atan2")
# C type -> its real type and the suffix of libm
TYPES = {"cfloat": ("float", "f"), "cdouble": ("double", ""), "float": ("float", "f"), "double": ("double", "")}


def helper_texts(environment, spell: Speller) -> list[str]:
    """The text of every helper that the kernel uses, each once."""
    texts: dict[str, None] = {}
    vector_math = False
    for name in spell.helpers:
        found, math = _texts(environment, name.removeprefix("gc_"))
        texts.update(dict.fromkeys(found))
        vector_math = vector_math or math
    frame = [macros(environment, "c/helpers.c.j2")["vector_math"]().strip()] if vector_math else []
    if any("GC_UNKNOWN" in text for text in texts):
        frame.append(macros(environment, "c/math.c.j2")["unknown"]().strip())
    return [*frame, *texts]


_CALLED = re.compile(r"\bgc_(\w+_c?(?:float|double))\(")


@functools.cache
def _texts(environment, stem: str) -> tuple[tuple[str, ...], bool]:
    """The text of a helper behind those of what it calls, and whether the vector library is among that."""
    found, math = _parts(environment, stem)
    return tuple(text.strip() for text in found), math


def _parts(environment, stem: str) -> tuple[tuple[str, ...], bool]:
    general, inlined = macros(environment, "c/helpers.c.j2"), macros(environment, "c/math.c.j2")
    first, _, c_type = stem.partition("_")
    if stem in ("check_index", "check_unsigned", "threefry", "odd", "stream", "amd"):
        return (general[stem](),), False
    if first in ("tiles", "rows", "runs", "dots", "bytes", "keys", "queries", "mma", "unit"):
        name, _, c_type = c_type.partition("_")
        return (macros(environment, f"c/{first}.c.j2")[name](c_type),), False
    if first in ("push", "fold"):
        name, _, c_type = stem.rpartition("_")
        return _calling(environment, stem, macros(environment, "c/levels.c.j2")[name](c_type), False)
    if stem in ("widen_float16", "narrow_float16"):
        return (general["float16"](), general["widen_float16"]()), False
    if stem.endswith("float16"):
        return (general["bfloat16" if stem.endswith("bfloat16") else "float16"](),), False
    if first == "bits":
        return (general["bits"](c_type, {"float": "uint32_t", "double": "uint64_t"}.get(c_type, c_type)),), False
    if first == "bitcast":
        return (general["bitcast"](*_two_types(c_type)),), False
    if first == "convert":
        return (general["convert"](*_two_types(c_type), _between(*_two_types(c_type))),), False
    if stem in inlined:
        return (*_words(general, c_type), inlined["mad"](*TYPES[c_type]), inlined[stem]()), False
    if first in ("floordiv", "remainder") and c_type in TYPES:
        return (_fmod(environment, c_type), _typed(general, general, stem)[0]), c_type == "double"
    if first in ("floordiv", "remainder") and "64" in c_type:
        place, _ = _typed(general, general, f"place_{stem}")
        return (place, macros(environment, "c/wide.c.j2")[first](c_type)), True
    if stem in ("fmod_float", "fmod_double"):
        return (_fmod(environment, c_type),), c_type == "double"
    if first in ("max", "min", "most"):
        return (*_words(general, c_type), _typed(general, general, stem)[0]), False
    text, math = _typed(general, macros(environment, "c/complex.c.j2"), stem)
    if first == "cabs" or c_type in ("cfloat", "cdouble"):      # what it calls is vectors in a loop
        return _calling(environment, stem, text, math)
    return (text,), math


def _calling(environment, stem: str, text: str, math: bool) -> tuple[tuple[str, ...], bool]:
    """A helper behind those that it calls."""
    called = [_parts(environment, name) for name in dict.fromkeys(_CALLED.findall(text)) if name != stem]
    return (*(text for texts, _ in called for text in texts), text), math or any(math for _, math in called)


_NAME = re.compile(r"\b(?:gc|GC)_\w+")
_APART = re.compile(r"^static __attribute__\(\(noinline\)\) (void \w+\([^)]*\))\n(?={)", re.M)


@functools.lru_cache(maxsize=64)
def apart(texts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The helpers of a kernel, the first of which is the frame, as they stand in it; and those functions that are not
    inlined as texts of their own: many kernels have them, so they are worth compiling once. Such a text has what the
    function needs and nothing else, so that it is the same in all kernels. (What first mentions a name declares it.)
    """
    if not any(_APART.search(text) for text in texts):
        return texts, ()
    names = [set(_NAME.findall(text)) for text in texts]
    owner = {name: k for k, found in reversed(list(enumerate(names))) for name in found}
    declared, parts = list(texts), []
    for k, text in enumerate(texts):
        function = _APART.search(text)
        if function is None:
            continue
        needed, waiting = {0}, [k]
        while waiting:
            found = {owner[name] for name in names[waiting.pop()]} - needed
            needed |= found
            waiting += found
        own = f'__attribute__((noinline, visibility("hidden"))) {function[1]}'
        parts.append("\n".join([*(texts[i] for i in sorted(needed - {k})), _APART.sub(f"{own}\n", text), ""]))
        declared[k] = f"#ifdef GC_APART\n{own};\n#else\n{text}\n#endif"
    return tuple(declared), tuple(parts)


def _words(general: MacroFile, c_type: str) -> tuple[str, str]:
    """From the bits of a floating-point type to its values, and back."""
    word = {"float": "uint32_t", "double": "uint64_t"}[c_type]
    return general["bits"](c_type, word), general["bitcast"](word, c_type)


def _fmod(environment, c_type: str) -> str:
    if c_type == "double":
        return macros(environment, "c/wide.c.j2")["fmod"]().strip()
    return _typed(macros(environment, "c/helpers.c.j2"), None, "fmod_float")[0].strip()


def _typed(general: MacroFile, numbers: MacroFile, stem: str) -> tuple[str, bool]:
    """A helper for one C type, and whether it is a transcendental function. `numbers`: the complex helpers."""
    for c_type, (real, f) in TYPES.items():
        if not stem.endswith("_" + c_type):
            continue
        name = stem.removesuffix("_" + c_type)
        for templates in (numbers, general) if c_type != real or name == "cabs" else (general,):
            if name in templates:
                return templates[name](c_type, real, f), False
        if c_type != real:
            return numbers["library"](name, c_type, real, f, 2 if name == "cpow" else 1), False
        return general["math"](name, c_type, f, 2 if name in MATH_TWO else 1), True
    name, _, c_type = stem.rpartition("_int") if "_int" in stem else stem.rpartition("_uint")
    c_type = ("int" if "_int" in stem else "uint") + c_type
    return general[name](c_type, unsigned(c_type), None), False


def _two_types(text: str) -> tuple[str, str]:
    names = ("uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t", "float",
             "double")
    for a in names:
        if text.startswith(a + "_") and text.removeprefix(a + "_") in names:
            return a, text.removeprefix(a + "_")
    raise ValueError(f"no helper between two types for {text}")


def _between(a: str, b: str) -> list[str]:
    """The integer types from one to another, each of twice or half the size of the one before, without these two."""
    bits = [int(re.sub(r"\D", "", name)) for name in (a, b)]
    sign = "u" if (a if bits[0] < bits[1] else b).startswith("u") else ""
    found = [f"{sign}int{n}_t" for n in (8, 16, 32, 64) if min(bits) < n < max(bits)]
    return found if bits[0] < bits[1] else found[::-1]


