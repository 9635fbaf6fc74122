"""Where the template environment gets its texts from, and keeps what Jinja has made of them."""
from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import jinja2

from graphc.codegen.macros import macros
from graphc.codegen.spell import TEMPLATES

PACKAGE = "graphc.codegen_templates"


class Loader(jinja2.PackageLoader):
    """Templates by their path in the package, and single macros of one as `path#macro`."""

    def __init__(self) -> None:
        super().__init__(PACKAGE, ".")

    def get_source(self, environment, template):
        path, _, macro = template.partition("#")
        if macro:
            return macros(environment, path).text(macro), None, None
        return super().get_source(environment, path)


class Kept(jinja2.BytecodeCache):
    """Compiled templates in a folder, each under its checksum: what is damaged or of another version is not loaded.

    Where it cannot be written, because the disk is full or somebody took the folder away, nothing is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load_bytecode(self, bucket) -> None:
        try:
            data = self._path(bucket).read_bytes()
        except OSError:
            return
        if data[:_DIGEST] == _digest(data[_DIGEST:]):
            bucket.bytecode_from_string(data[_DIGEST:])     # which compares the template's text

    def dump_bytecode(self, bucket) -> None:
        data = bucket.bytecode_to_string()
        with suppress(OSError):
            file, name = tempfile.mkstemp(dir=self.folder)
            try:
                with open(file, "wb") as out:
                    out.write(_digest(data) + data)
                os.replace(name, self._path(bucket))
            except OSError:
                os.unlink(name)

    def _path(self, bucket) -> Path:
        return self.folder / f"{bucket.key}.{sys.implementation.cache_tag}.jinja"


_DIGEST = 16


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(jinja2.__version__.encode() + data, digest_size=_DIGEST).digest()


def bytecode_cache() -> jinja2.BytecodeCache | None:
    """Compiled templates lie beside the templates, as Python's own lie beside modules: checked against the source, and
    not there where nobody may write or PYTHONDONTWRITEBYTECODE forbids it."""
    if sys.dont_write_bytecode:
        return None
    folder = TEMPLATES / "__pycache__"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return Kept(folder)
