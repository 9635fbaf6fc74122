"""The kernels of many programs in one compilation.

Most of a random program's time would be the C compiler's start. So its runs are rehearsed first, on a backend that
takes note of the kernels that each run needs and computes nothing; they are compiled as one text, and the runs proper
find them in memory. What a rehearsal missed is compiled by itself, as for users.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from graphc import driver, familiar
from graphc.ir import node
from graphc.ir.ops import CONST
from graphc.ir.program import KernelSource, Program
from graphc.runtime import cache, compiler
from graphc.runtime.buffers import Buffer
from graphc.runtime.cpu import CpuBackend


class Together(CpuBackend):
    """The CPU backend at a level of optimisation, with kernels and programs of its own."""

    def __init__(self, level: str):
        super().__init__()
        self.level = level
        self.wanted: dict[KernelSource, None] = {}
        self.rehearsing = False
        self._programs: OrderedDict = OrderedDict()

    def load(self, program: Program):
        return _Deferred(program, self)

    def load_compiled(self, program: Program):
        return super().load(program)

    @contextmanager
    def chosen(self, rehearsing: bool = False) -> Iterator[None]:
        """In the block, programs run on this backend, or are rehearsed. A rehearsal has its nodes to itself: what it
        leaves in them are no values."""
        find, backend, programs = compiler.find_compiler, driver.backend_of("cpu"), driver._programs
        familiar.forget()
        hidden = _take_nodes() if rehearsing else {}
        compiler.find_compiler = lambda: _at_level(find(), self.level)
        driver._backends["cpu"], driver._programs, self.rehearsing = self, self._programs, rehearsing
        try:
            yield
        finally:
            compiler.find_compiler, driver._backends["cpu"], driver._programs = find, backend, programs
            familiar.forget()
            if rehearsing:
                _take_nodes()
                node.interned.update((key, entry) for key, entry in hidden.items() if entry() is not None)

    def compile_wanted(self) -> None:
        """Compile what was noted, and is not there yet, in as few texts as go together."""
        wanted = [kernel for kernel in self.wanted if kernel not in self._handles]
        self.wanted.clear()
        cc = _at_level(compiler.find_compiler(), self.level)
        for kernels in going_together(wanted):
            number = cache.next_number()
            source, target = (cache.private_folder() / f"{number}.{ending}" for ending in ("c", "so"))
            source.write_text(one_text([kernel.text for kernel in kernels]))
            command = [*cc.command, *cc.flags, str(source), "-o", str(target), *cc.libraries]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                warnings.warn(f"{len(kernels)} kernels are compiled one by one: {done.stderr[:2000]}", stacklevel=2)
                continue
            source.unlink()
            library = ctypes.CDLL(str(target))
            self._handles |= {k: ctypes.cast(library[k.entry], ctypes.c_void_p).value for k in kernels}


def _take_nodes() -> dict:
    """What expressions stand for is forgotten, and returned. Constants stay: they are no memory."""
    keys = [key for key in list(node.interned) if key[0] is not CONST]  # items() makes tuples, and so may collect nodes
    taken = {key: node.interned.pop(key, None) for key in keys}
    return {key: entry for key, entry in taken.items() if entry is not None}


def _at_level(cc: compiler.Compiler, level: str) -> compiler.Compiler:
    """With this level in place of -O3; zig would then add checks whose library this process lacks."""
    flags = (level if flag == "-O3" else flag for flag in cc.flags)
    return replace(cc, flags=(*flags, "-fno-sanitize=undefined"))


class _Deferred:
    """An executable that is loaded when it runs first. In a rehearsal its results are whatever lies in their memory."""

    def __init__(self, program: Program, backend: Together):
        self.program, self.backend = program, backend
        self.executable = None

    def run(self, inputs: Sequence[Buffer], params: Sequence[int] = (), donate: Sequence[int] = (), begun=None
            ) -> list[Buffer]:
        if not self.backend.rehearsing:
            self.executable = self.executable or self.backend.load_compiled(self.program)
            return self.executable.run(inputs, params, donate, begun)
        self.backend.wanted |= dict.fromkeys(self.program.kernels)
        slots = dict(zip(self.program.inputs, inputs, strict=True))
        for slot in self.program.outputs:
            if slot not in slots:
                slots[slot] = self.backend.allocate(self.program.slots[slot].nbytes)
        return [slots[slot] for slot in self.program.outputs]


def going_together(kernels: Sequence[KernelSource]) -> list[list[KernelSource]]:
    """The kernels in groups in which no two give one name two meanings."""
    groups: list[tuple[list[KernelSource], dict[str, list[str]]]] = []
    for kernel in kernels:
        meanings = _meanings(kernel.text)
        for members, known in groups:
            if all(known.get(name, meaning) == meaning for name, meaning in meanings.items()):
                members.append(kernel)
                known |= meanings
                break
        else:
            groups.append(([kernel], meanings))
    return [members for members, _ in groups]


_DEFINED = re.compile(r"^#define (\w+)|^typedef [^;]*?(\w+)(?: __attribute__.*)?;$"
                      r"|^(?![#\s]|typedef)[^=\n]*?\b(gc_\w+)\(", re.M)


def _meanings(text: str) -> dict[str, list[str]]:
    """Each helper, type and macro that a text defines, and the parts that do."""
    found: dict[str, list[str]] = {}
    for part in _definitions(text):
        for names in _DEFINED.findall(part):
            found.setdefault("".join(names), []).append(part)
    return found


def one_text(texts: Sequence[str]) -> str:
    """Several C texts as one: definitions that they share (types, helpers) stand there once."""
    return "\n".join(dict.fromkeys(part for text in texts for part in _definitions(text)))


def _definitions(text: str) -> Iterator[str]:
    """The parts of a C text between which nothing is open: no bracket, no #if, no continued line."""
    lines: list[str] = []
    brackets = conditions = 0
    for line in text.splitlines():
        if not line and not lines:
            continue
        lines.append(line)
        directive = line.startswith("#")
        conditions += line.startswith("#if") - line.startswith("#endif")
        if not directive:
            brackets += sum(line.count(c) for c in "({") - sum(line.count(c) for c in ")}")
        ended = not line.endswith("\\") if directive else line.endswith(("}", ";"))
        if ended and not brackets and not conditions:
            yield "\n".join(lines)
            lines.clear()
    assert not lines, f"unfinished: {lines[0]}"
