"""Writes abi.py: the declarations of the native library in the form that cffi loads without parsing C.

python -m graphc.runtime.native.declare
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

DECLARATIONS = """
int64_t gc_run(int64_t *image, const char *words, int64_t threads);
int64_t gc_failed_step(void);
int64_t gc_copy_kernel(void);
int64_t gc_pool_threads(void);
int64_t gc_profile(int64_t *entries, int64_t room);
int64_t gc_open(const char *path, const char *entry, char *message, int64_t size);
void gc_init(int (*poll)(void));
"""


def text() -> str:
    """What abi.py has to hold."""
    import tempfile

    from cffi import FFI

    ffi = FFI()
    ffi.cdef(DECLARATIONS)
    ffi.set_source("graphc.runtime.native.abi", None)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "abi.py"
        with contextlib.redirect_stdout(None):
            ffi.emit_python_code(str(target))
        lines = target.read_text().splitlines()[1:]
    return "\n".join(["# Written by declare.py.", "# ruff: noqa", *map(_wrapped, lines), ""])


def _wrapped(line: str) -> str:
    """A long line of byte strings, broken where Python joins them again."""
    line = line.replace(",0,b'", ",0,\n        b'")
    return re.sub(r"((?:\\x[0-9A-F]{2}){24})(?=\\x)", r"\1'\n        b'", line)


if __name__ == "__main__":
    (Path(__file__).parent / "abi.py").write_text(text())
