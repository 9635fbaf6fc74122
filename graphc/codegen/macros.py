"""Template files that are libraries of macros, of which a kernel needs a few.

Compiling such a file whole takes Jinja longer than the C compiler needs for a small kernel, so a macro is compiled when
it is first called, from Python or by another macro of its file. In a macro's text `macros[name]` is a macro of the file
that a value chooses.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable

_MACRO = re.compile(r"{% macro (\w+)\(.*?{%-? endmacro %}", re.S)
_CONSTANT = re.compile(r"^{% set (\w+) =.*?%}", re.S | re.M)


def tidied(text: str) -> str:
    """Without blanks at the ends of lines, and without empty lines inside functions: templates leave both behind."""
    out: list[str] = []
    for line in map(str.rstrip, text.splitlines()):
        if out and not out[-1] and (not line or line[0] in " }#"):
            out.pop()
        out.append(line)
    return "\n".join(out).strip("\n") + "\n"


class MacroFile:
    """The macros of one template file, by name."""

    def __init__(self, environment, path: str):
        self._environment, self._path = environment, path
        text, _, _ = environment.loader.get_source(environment, path)
        self._texts = {m[1]: m[0] for m in _MACRO.finditer(text)}
        self._constants = {m[1]: m[0] for m in _CONSTANT.finditer(_MACRO.sub("", text))}
        self._globals = {"macros": self} | {name: functools.partial(self._call, name) for name in self._texts}
        self._compiled: dict[str, Callable] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def __getitem__(self, name: str) -> Callable:
        if name not in self._compiled:
            template = self._environment.get_template(f"{self._path}#{name}", globals=self._globals)
            self._compiled[name] = getattr(template.module, name)
        return self._compiled[name]

    def text(self, name: str) -> str:
        """A template of one macro, with the constants that it names."""
        text = self._texts[name]
        needed = [line for constant, line in self._constants.items() if re.search(rf"\b{constant}\b", text)]
        return "\n".join([*needed, text])

    def _call(self, name: str, *arguments) -> str:
        return self[name](*arguments)


@functools.cache
def macros(environment, path: str) -> MacroFile:
    return MacroFile(environment, path)
