"""Kernel to source text. A dialect is a folder of templates plus a table of spellings; `render` is the way in."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from graphc.ir.kernel import Kernel
from graphc.ir.program import KernelSource
from graphc.ir.target import FAR_ROWS, Target
from graphc.ir.trees import CHUNKS

if TYPE_CHECKING:
    from graphc.codegen.spell import Speller

# family of dialects -> module that shapes loops for its templates
_LOOPS = {"c": "graphc.codegen.loops_c", "gpu": "graphc.codegen.loops_gpu"}


class Rendered(Struct, frozen=True):
    """A kernel's source and what its launches pass.

    args    the int64 words: sizes, strides and offsets; scalars (0 here) at the places that params names
    params  (word, the program's parameter number)
    scratch bytes a thread needs
    checks  nodes of the bounds checks, by the number in a fault
    extents for each parallel axis the word that holds its extent, or None where the extent is part of the text
    most    how many members a launch may have; 0: any number
    """

    source: KernelSource
    args: tuple[int, ...]
    params: tuple[tuple[int, int], ...]
    scratch: int
    checks: tuple
    extents: tuple[int | None, ...]
    most: int = 0

    @classmethod
    def of(cls, source: KernelSource, spell: Speller, scratch: int, most: int = 0) -> Rendered:
        """The source with all that its spelling has made an argument."""
        known = len(spell.args)
        names = [spell.extent(axis) for axis in spell.kernel.parallel]
        return cls(source, (*spell.args, *[0] * len(spell.params)),
                   tuple((known + k, number) for k, (_, _, number) in enumerate(spell.params)), scratch,
                   tuple(spell.checks), tuple(int(n[1:]) if n.startswith("a") else None for n in names), most)

    def with_params(self, numbers: Sequence[int]) -> Rendered:
        """The same kernel where its scalars are these of the program."""
        return replace(self, params=tuple((word, numbers[number]) for word, number in self.params))

    def of_one_element(self, params: dict[int, int]) -> Rendered:
        """What a launch of this kernel passes to run over one element, with other scalars of the program."""
        args = list(self.args)
        for word in self.extents:
            if word is not None:
                args[word] = 1
        return replace(self, args=tuple(args), params=tuple((word, params[number]) for word, number in self.params))


@functools.lru_cache(maxsize=8)
def environment():
    """The one template environment. A name that a template misses is an error."""
    import jinja2

    from graphc.codegen.loader import Loader, bytecode_cache
    found = jinja2.Environment(loader=Loader(), bytecode_cache=bytecode_cache(), trim_blocks=True, lstrip_blocks=True,
                               undefined=jinja2.StrictUndefined, keep_trailing_newline=True, auto_reload=False,
                               optimized=False)
    found.globals |= {"CHUNKS": CHUNKS, "FAR_ROWS": FAR_ROWS}
    return found


def prepare() -> None:
    """Do beforehand what the first kernel in C would wait for: imports, and the frame of all kernels."""
    _loops("c").prepare(environment())


def target_of(dialect: str) -> Target:
    """What passes may know of the machine that a dialect is for."""
    from graphc.codegen.spell import dialect as language
    return language(dialect).target


def suffix_of(dialect: str) -> str:
    """With which names of files in a dialect end."""
    from graphc.codegen.spell import dialect as language
    return language(dialect).suffix


def is_dialect(name: str) -> bool:
    """Whether kernels can be written in a dialect of this name, with or without a backend that runs them."""
    from graphc.codegen.spell import dialect_names
    return name in dialect_names()


def _loops(dialect: str):
    import importlib

    from graphc.codegen.spell import dialect as language
    return importlib.import_module(_LOOPS[language(dialect).family])


def render(kernel: Kernel, dialect: str) -> Rendered:
    """The kernel in a dialect. Equal structure gives equal text, whatever the sizes."""
    return _loops(dialect).render(kernel, environment(), dialect)


def render_for_members(kernel: Kernel, dialect: str) -> Rendered:
    """The kernel for a launch of several members, where that is another text (Target.arguments)."""
    return _loops(dialect).render(kernel, environment(), dialect, members=True)
