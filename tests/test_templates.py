"""The template environment: single macros of a file, and compiled templates that are kept."""
from __future__ import annotations

import re
import sys
from collections import Counter

import pytest

from graphc import codegen
from graphc.codegen import loader


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of compiled templates, a new one."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(loader, "TEMPLATES", tmp_path)
    return tmp_path / "__pycache__"


def fresh():
    return codegen.environment.__wrapped__()


def text(environment) -> str:
    return str(environment.get_template("c/helpers.c.j2#signbit").module.signbit("float", "uint32_t", "f"))


def test_a_macro_is_compiled_once_for_all_processes(kept, monkeypatch):
    first = text(fresh())
    assert len(list(kept.iterdir())) == 1
    monkeypatch.setattr("jinja2.Environment._generate", lambda *_: pytest.fail("it was compiled again"))
    assert text(fresh()) == first and "gc_signbit_float" in first


def test_a_damaged_or_outdated_one_is_compiled_again(kept):
    first = text(fresh())
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    for damage in (b"", whole[:-20], whole[:8] + bytes(len(whole) - 8), flipped):
        file.write_bytes(damage)
        assert text(fresh()) == first
        assert file.read_bytes() == whole       # and kept as it was meant to be


def test_a_full_disk_keeps_nothing(kept, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(loader.os, "replace", full)
    assert text(fresh()) and not list(kept.iterdir())


def test_nothing_is_kept_where_that_is_forbidden_or_impossible(kept, monkeypatch):
    kept.write_bytes(b"no folder")
    assert loader.bytecode_cache() is None
    kept.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert loader.bytecode_cache() is None and text(fresh())
    assert not kept.exists()


def test_a_macro_that_is_not_there():
    with pytest.raises(KeyError, match="nonsense"):
        fresh().get_template("c/helpers.c.j2#nonsense")


def test_no_two_files_of_c_define_a_macro_of_one_name():
    """A kernel may have the helpers of any of them."""
    folder = loader.TEMPLATES / "c"
    found = Counter(name for file in folder.glob("*.j2")
                    for name in set(re.findall(r"#define (GC_\w+)", file.read_text())))
    assert found and not [name for name, files in found.items() if files > 1]
