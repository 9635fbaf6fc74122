"""Template files that are libraries of macros, of which a kernel needs a few.

Compiling such a file whole takes Jinja longer than the C compiler needs for a small kernel, so a macro is compiled when
it is first asked for, together with the macros and constants that its text names. In its text `macros[name]` is a macro
of the file that is chosen by a value, and compiled when it comes to that.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable

_MACRO = re.compile(r"{% macro (\w+)\(.*?{%-? endmacro %}", re.S)
_CONSTANT = re.compile(r"^{% set (\w+) =.*?%}", re.S | re.M)
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")


class MacroFile:
    """The macros of one template file, by name."""

    def __init__(self, environment, path: str):
        self._environment = environment
        text, _, _ = environment.loader.get_source(environment, path)
        self._parts = {m[1]: m[0] for m in _MACRO.finditer(text)}
        self._macros = frozenset(self._parts)
        outside = _MACRO.sub("", text)
        self._parts |= {m[1]: m[0] for m in _CONSTANT.finditer(outside)}
        self._compiled: dict[str, Callable] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._macros

    def __getitem__(self, name: str) -> Callable:
        if name not in self._compiled:
            text = "\n".join(self._parts[part] for part in self._needed(name))
            self._compiled[name] = getattr(self._environment.from_string(text, {"macros": self}).module, name)
        return self._compiled[name]

    def _needed(self, name: str) -> list[str]:
        """The macro and all that it names, in the order of the file."""
        needed, stack = set(), [name]
        while stack:
            part = stack.pop()
            if part not in needed:
                needed.add(part)
                stack.extend(set(_NAME.findall(self._parts[part])) & self._parts.keys() - needed)
        return [part for part in (*sorted(self._parts, key=self._is_macro),) if part in needed]

    def _is_macro(self, part: str) -> bool:
        return part in self._macros


@functools.cache
def macros(environment, path: str) -> MacroFile:
    return MacroFile(environment, path)
