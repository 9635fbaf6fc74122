"""The disk cache under attack: damage, foreign files, unsafe folders, no room, many processes, kills."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import time
import warnings
from pathlib import Path

import pytest
from runtime_programs import SCALE, output, run_scale

from graphc.errors import CacheError
from graphc.runtime import backend, cache
from graphc.runtime.cache import Store
from graphc.runtime.counters import counters

RUN = "from runtime_programs import run_scale; run_scale()\n"
COUNT = RUN + "from graphc.runtime.counters import counters; print(counters.compiles)\n"


def kernels(folder: Path) -> list[Path]:
    return sorted((folder / "kernels").glob("scale-*.so"))


def compiles_of_a_run() -> int:
    before = counters.compiles
    run_scale()
    return counters.compiles - before


# ------------------------------------------------------------------------------------------------------ what it keeps


def test_blobs_come_back(cold):
    programs = Store("programs")
    assert programs.load("key") is None
    for data in (b"", b"x", os.urandom(100_000)):
        path = programs.store("key", data)
        assert programs.load("key") == data
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    programs.remove("key")
    assert programs.load("key") is None


@pytest.mark.parametrize("key", ["", "../x", "a/b", ".hidden", "x" * 300, "a\0b", "a\n"])
def test_a_key_is_a_plain_name(cold, key):
    with pytest.raises(ValueError, match="cannot be a key"):
        Store("programs").store(key, b"")


def test_the_folder_is_private(cold):
    run_scale()
    for folder in (cold, cold / "kernels", cold / "tools"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_second_process_compiles_nothing(cold, python):
    assert output(python(COUNT)) == "1\n"
    assert output(python(COUNT, PYTHONHASHSEED="7")) == "0\n"


def test_a_warm_start_imports_neither_cffi_nor_the_compiler_driver(cold, python):
    output(python(RUN))
    names = ("cffi", "pycparser", "graphc.runtime.build", "jinja2", "rich", "networkx", "importlib.metadata")
    assert output(python(RUN + f"import sys; print([name for name in {names} if name in sys.modules])")) == "[]\n"


def test_no_path_or_user_is_in_the_machine_code(cold):
    run_scale()
    (path,) = kernels(cold)
    content = path.read_bytes()
    for word in (str(Path.home()), str(cold), str(cache.private_folder()), os.getcwd()):
        assert word == "/" or word.encode() not in content


def test_least_used_entries_go_when_the_cache_is_full(cold, monkeypatch):
    programs = Store("programs")
    for age, name in enumerate(["young", "middle", "old"]):
        path = programs.store(name, bytes(1000))
        os.utime(path, (time.time() - 1000 * age,) * 2)
    monkeypatch.setattr(cache, "LIMIT", 2500)
    cache._kept.clear()
    programs.store("new", b"")
    assert [programs.load(name) is not None for name in ("young", "middle", "old", "new")] == [True, True, False, True]


# ------------------------------------------------------------------------------------------------------------- damage


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def truncate_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def without_tail(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: -cache.TAIL])


def another_entry(path: Path) -> None:
    """A sound entry under a name that is not its own."""
    other = Store("kernels").store("other", b"\x7fELF")
    shutil.copyfile(other, path)


def of_another_kind(path: Path) -> None:
    other = Store("programs").store(path.stem, b"pickle")
    shutil.copyfile(other, path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nonexistent")


def checked_but_no_library(path: Path) -> None:
    """As from a machine with another system: the checksum is right, and the loader refuses it."""
    Store("kernels").store(path.stem, b"no library at all")


ATTACKS = [truncate, truncate_to_nothing, flip, garbage, without_tail, another_entry, of_another_kind, folder,
           link_to_nothing, checked_but_no_library]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_damaged_is_compiled_again(cold, forget, attack):
    run_scale()
    (path,) = kernels(cold)
    attack(path)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a folder in the place of a file cannot be replaced
        assert compiles_of_a_run() == 1
    forget()
    if attack is not folder:
        assert compiles_of_a_run() == 0


@pytest.mark.parametrize("attack", [truncate, garbage, checked_but_no_library])
def test_a_damaged_native_library_is_built_again(cold, python, attack):
    output(python(RUN))
    (path,) = (cold / "kernels").glob("native-*.so")
    attack(path)
    output(python(RUN))
    assert cache.verify() == []


def test_verify_removes_what_is_damaged_and_clear_everything(cold):
    run_scale()
    Store("programs").store("sound", b"data")
    truncate(kernels(cold)[0])
    assert [entry.name.split("-")[0] for entry in cache.verify()] == ["scale"]
    assert cache.verify() == []
    found = {entry.kind for entry in cache.entries()}
    assert found == {"kernels", "programs", "tools"}
    assert all(entry.nbytes > 0 and 0 <= entry.age < 100 for entry in cache.entries())
    assert cache.clear() >= 3
    assert cache.entries() == []


def test_clear_while_a_process_uses_the_cache(cold):
    run_scale()
    cache.clear()
    run_scale()
    run_scale(text=SCALE + "\n")


def test_no_library_path_is_used_twice(cold, forget):
    """The loader would hand out the old library. Two programs whose file has the same path give their own results."""
    run_scale()
    (path,) = kernels(cold)
    other = path.stem
    forget()
    run_scale()  # loads the file of the cache
    text = SCALE.replace("factor * x[i]", "factor * x[i] + 1")
    forget()
    with pytest.raises(AssertionError):
        run_scale(text=text)
    changed = next(p for p in kernels(cold) if p.stem != other)
    Store("kernels").store(other, Store("kernels").load(changed.stem))  # as if the first had been built anew
    forget()
    with pytest.raises(AssertionError):
        run_scale()


# ----------------------------------------------------------------------------------------------------- unsafe folders


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o702])
def test_a_folder_that_others_can_write_is_refused(cold, forget, mode):
    cold.mkdir()
    cold.chmod(mode)
    with pytest.raises(CacheError, match="others can write") as caught:
        run_scale()
    assert "chmod go-w" in str(caught.value)
    cold.chmod(0o755)
    forget()
    run_scale()


def test_a_folder_inside_that_others_can_write_is_refused(cold, forget):
    run_scale()
    (cold / "kernels").chmod(0o777)
    forget()
    with pytest.raises(CacheError, match="others can write"):
        run_scale()


def test_a_folder_in_a_place_where_anyone_can_replace_it_is_refused(tmp_path, monkeypatch, forget):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(tmp_path / "open" / "cache"))
    forget()
    with pytest.raises(CacheError, match="anyone can replace"):
        run_scale()


def test_a_folder_of_someone_else_is_refused(cold, monkeypatch):
    cold.mkdir()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(CacheError, match="belongs to user"):
        Store("programs").load("x")


def test_an_entry_of_someone_else_is_not_read(cold, monkeypatch):
    programs = Store("programs")
    path = programs.store("x", b"data")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.read_entry(path, "programs", "x") is None


def test_a_file_in_the_place_of_the_folder_is_refused(cold):
    cold.write_text("")
    with pytest.raises(CacheError, match="not a folder"):
        run_scale()


# ------------------------------------------------------------------------------------------------------- no room there


def refuse_writing(monkeypatch, code: int) -> None:
    def write(path, data):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(cache, "_write", write)


@pytest.mark.parametrize("code", [28, 30, 13, 122])  # no space, read-only, permission, quota
def test_without_a_place_to_write_everything_works_and_warns_once(cold, forget, monkeypatch, code):
    refuse_writing(monkeypatch, code)
    with pytest.warns(RuntimeWarning, match="works without its cache") as caught:
        assert compiles_of_a_run() == 1
        run_scale(text=SCALE + "\n")
    assert len(caught) == 1
    assert not list(cold.rglob("*.tmp"))


def test_a_write_that_breaks_off_leaves_nothing(cold, monkeypatch):
    def write(path, data):
        path.write_bytes(data[: len(data) // 2])
        raise OSError(28, os.strerror(28), str(path))

    monkeypatch.setattr(cache, "_write", write)
    with pytest.warns(RuntimeWarning):
        run_scale()
    assert not [path for path in cold.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_made(monkeypatch, forget):
    monkeypatch.setenv("GRAPHC_CACHE_DIR", "/proc/nothing/here")
    forget()
    with pytest.warns(RuntimeWarning, match="works without its cache"):
        run_scale()
        assert cache.entries() == [] and cache.clear() == 0 and cache.verify() == []


def test_a_read_only_cache_is_read(cold, forget, monkeypatch):
    run_scale()
    refuse_writing(monkeypatch, 30)
    forget()
    assert compiles_of_a_run() == 0


# ------------------------------------------------------------------------------------------------------ many processes


def test_eight_processes_on_one_cold_cache(cold, python):
    text = """
from runtime_programs import SCALE, run_scale
for number in range(6):
    run_scale(factor=float(number), text=SCALE + "/* %d */" % number)
print("done")
"""
    assert [output(process) for process in [python(text) for _ in range(8)]] == ["done\n"] * 8
    assert cache.verify() == [] and len(kernels(cold)) == 6
    assert not list(cold.rglob("*.tmp"))


def test_kill_during_a_compile_leaves_a_sound_cache(cold, python):
    text = """
from runtime_programs import SCALE, run_scale
print("start", flush=True)
for number in range(1000):
    run_scale(factor=float(number), text=SCALE + "/* %d */" % number)
"""
    for delay in (0.05, 0.15, 0.3, 0.6):
        process = python(text)
        assert process.stdout.readline() == "start\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert cache.verify() == []
    run_scale()


def test_files_of_killed_processes_are_swept(cold):
    run_scale()
    stale = cold / "kernels" / ".1-0.tmp"
    stale.write_bytes(b"half")
    os.utime(stale, (time.time() - 2 * cache.STALE_AFTER,) * 2)
    fresh = cold / "kernels" / ".1-1.tmp"
    fresh.write_bytes(b"half")
    cache._kept.clear()
    run_scale(text=SCALE + "\n")
    assert not stale.exists() and fresh.exists()


# ----------------------------------------------------------------------------------------------- the private folder


def test_the_private_folder_goes_with_the_process(cold, python):
    text = RUN + "from graphc.runtime import cache; print(cache.private_folder())"
    assert not os.path.exists(output(python(text)).strip())


def test_the_private_folder_lies_where_libraries_may_be_loaded(cold, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_private", None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "hardened"))
    (tmp_path / "hardened").mkdir()
    assert cache.private_folder().parent == tmp_path / "hardened"
    monkeypatch.setattr(cache, "_private", None)
    monkeypatch.setattr(cache, "_takes_libraries", lambda place: place.name != "hardened")
    assert cache.private_folder().parent == cache.cache_folder()
    run_scale(6000, 1.5)
    assert len(cache.entries()) >= 1
    monkeypatch.setattr(cache, "_private", None)
    monkeypatch.setattr(cache, "_takes_libraries", lambda place: False)
    assert cache.private_folder().parent == tmp_path / "hardened"
    monkeypatch.undo()
    assert cache._takes_libraries(tmp_path) and not cache._takes_libraries(tmp_path / "gone")


def test_private_folders_of_killed_processes_are_swept(tmp_path):
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    old = (time.time() - 2 * cache.STALE_AFTER,) * 2
    for name in (f"graphc-{dead}-old", f"graphc-{dead}-young", f"graphc-{os.getpid()}-mine", "graphc-failed-x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.c").write_text("")
        if not name.endswith("young"):
            os.utime(tmp_path / name, old)
    cache._sweep(tmp_path)
    assert not (tmp_path / f"graphc-{dead}-old").exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_forked_child_has_its_own_private_folder_and_leaves_the_parents(cold):
    run_scale()
    mine = cache.private_folder()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run_scale(text=SCALE + "/* child */")
            code = 0 if cache.private_folder() != mine else 2
        finally:
            shutil.rmtree(cache.private_folder())
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert mine.is_dir()
    assert backend.get("cpu").is_available() is None
