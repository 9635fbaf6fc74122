"""Where the template environment gets its texts from, and keeps what Jinja has made of them."""
from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import jinja2

from graphc.codegen.macros import macros

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


def bytecode_cache() -> jinja2.BytecodeCache | None:
    """Compiled templates lie beside the templates, as Python's own lie beside modules: checked against the source, and
    not there where nobody may write or PYTHONDONTWRITEBYTECODE forbids it."""
    if sys.dont_write_bytecode:
        return None
    folder = _folder() / "__pycache__"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return jinja2.FileSystemBytecodeCache(str(folder), "%s.jinja") if os.access(folder, os.W_OK) else None


def _folder() -> Path:
    return Path(*importlib.import_module(PACKAGE).__path__)
