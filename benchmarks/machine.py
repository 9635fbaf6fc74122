"""Where the figures were taken: processor, cores, instruction sets, caches, versions."""
from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers

SETS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "amx_tile", "asimd", "sve")


def describe(names: Sequence[str], threads: int) -> dict[str, str]:
    return {
        "processor": _field("model name") or platform.processor() or platform.machine(),
        "cores": f"{os.cpu_count()}, of which {threads} used",
        "instruction sets": " ".join(s for s in SETS if s in (_field("flags") or _field("Features")).split()),
        "caches": _caches(),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "compiler": _compiler(),
        "versions": ", ".join(f"{peers.title(name)} {peers.version(name)}" for name in names),
    }


def _field(name: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    found = re.search(rf"^{name}\s*: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _caches() -> str:
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found) or "unknown"


def _compiler() -> str:
    from graphc.errors import NoCompilerError
    from graphc.runtime.compiler import find_compiler

    try:
        return find_compiler().identity.splitlines()[0]
    except NoCompilerError:
        return "none"
