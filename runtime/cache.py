"""The disk cache: checked entries in a folder that only its owner can write.

An entry is a file `<kind>/<key><suffix>`: the data, then 32 bytes of checksum over kind, key and data, then MAGIC. A
shared object with such a tail still loads, so a kernel is one file. Entries are written under a temporary name and
renamed: a reader sees a whole entry or none, and nobody waits for a lock. What is damaged, truncated or was written
for another key counts as missing.

A folder that others can write is refused, because its content is run. A folder that cannot be written (a read-only
disk, a full one) is done without: one warning, and everything is compiled again in each process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from graphc.config import settings
from graphc.errors import CacheError, warn

MAGIC = b"graphc\x001"
TAIL = 32 + len(MAGIC)
SUFFIXES = {"kernels": ".so", "objects": ".o", "programs": ".bin", "cubins": ".cubin", "tools": ".json",
            "tunings": ".json"}
LIMIT = 1 << 30  # bytes; beyond it the entries that were used least recently are removed
TOUCH_AFTER = 86400.0  # seconds; an entry's time of last use is kept to the day
STALE_AFTER = 3600.0  # seconds after which the temporary file of a killed process is removed


class Entry(Struct, frozen=True):
    """One file of the cache, for `graphc cache`."""

    kind: str
    name: str
    path: Path
    nbytes: int
    age: float  # seconds since it was written or last used


class Store:
    """The entries of one kind in the cache folder: bytes by key.

    A key is a file name of letters, digits, `_`, `-` and `.`, and says everything that the data depends on.
    """

    def __init__(self, kind: str):
        self.kind = kind

    def path(self, key: str) -> Path | None:
        """Where the entry lies, or would lie; None if there is no usable folder."""
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} cannot be a key of the cache")
        folder = cache_folder()
        return None if folder is None else _subfolder(folder, self.kind) / (key + SUFFIXES[self.kind])

    def load(self, key: str) -> bytes | None:
        """The data of a sound entry, else None."""
        path = self.path(key)
        return None if path is None else read_entry(path, self.kind, key)

    def store(self, key: str, data: bytes) -> Path | None:
        """Write an entry and return its path; None if the folder cannot be written."""
        path = self.path(key)
        if path is None:
            return None
        temporary = path.with_name(f".{os.getpid()}-{os.urandom(8).hex()}.tmp")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write(temporary, data + _digest(self.kind, key, data) + MAGIC)
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):  # it may never have been made
                os.unlink(temporary)
            _warn_once(path.parent, error)
            return None
        _keep_house(path.parent)
        return path

    def remove(self, key: str) -> None:
        path = self.path(key)
        if path is not None:
            with suppress(OSError):  # another process was faster, or the disk is read-only
                path.unlink()


_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o700)
    with open(descriptor, "wb") as file:
        file.write(data)


def _digest(kind: str, key: str, data: bytes) -> bytes:
    state = hashlib.blake2b(f"{kind}/{key}/{len(data)}/".encode(), digest_size=32)
    state.update(data)
    return state.digest()


def read_entry(path: Path, kind: str, key: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            content, state = file.read(), os.fstat(file.fileno())
            if state.st_uid != os.geteuid():
                return None
            if time.time() - state.st_mtime > TOUCH_AFTER:
                with suppress(OSError):  # a read-only cache serves as well
                    os.utime(path)
    except OSError:
        return None
    data, digest = content[:-TAIL], content[-TAIL : -len(MAGIC)]
    if content.endswith(MAGIC) and digest == _digest(kind, key, data):
        return data
    return None


# ------------------------------------------------------------------------------------------------------- the folder

_checked: dict[Path, Path | None] = {}
_warned: set[Path] = set()


def cache_folder() -> Path | None:
    """The cache folder, made and checked once per process; None if this process cannot have one."""
    wanted = settings.cache_dir
    if wanted not in _checked:
        _checked[wanted] = _open_folder(wanted)
    return _checked[wanted]


def _subfolder(folder: Path, kind: str) -> Path:
    """The folder of a kind, under the same rules."""
    path = folder / kind
    if path not in _checked:
        try:
            state = path.lstat()
        except OSError:  # it is made when the first entry is written
            return path
        _refuse_unsafe(path, state)
        _checked[path] = path
    return path


def _open_folder(wanted: Path) -> Path | None:
    folder = Path(os.path.realpath(wanted))
    try:
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # another process starts at the same time
                folder.mkdir(mode=0o700)
        state = folder.stat()
    except OSError as error:
        _warn_once(wanted, error)
        return None
    _refuse_unsafe(folder, state)
    return folder


def _refuse_unsafe(folder: Path, state: os.stat_result) -> None:
    if not stat.S_ISDIR(state.st_mode):
        raise CacheError(f"{folder} is not a folder", op="GRAPHC_CACHE_DIR", fix="name a folder")
    if state.st_uid != os.geteuid():
        raise CacheError(
            f"the cache folder {folder} belongs to user {state.st_uid}, and this process runs as {os.geteuid()}",
            op="GRAPHC_CACHE_DIR", fix="set GRAPHC_CACHE_DIR to a folder of your own",
        )
    if state.st_mode & 0o022:
        raise CacheError(
            f"others can write to the cache folder {folder}, and what lies in it is run",
            op="GRAPHC_CACHE_DIR", fix=f"chmod go-w {folder}, after looking at what is in it",
        )
    for parent in folder.parents:
        mode = parent.stat().st_mode
        if mode & 0o002 and not mode & stat.S_ISVTX:
            raise CacheError(
                f"anyone can replace the cache folder {folder}, because anyone can write to {parent}",
                op="GRAPHC_CACHE_DIR", fix=f"chmod o-w {parent}, or set GRAPHC_CACHE_DIR to another folder",
            )


def _warn_once(folder: Path, error: OSError) -> None:
    wanted = settings.cache_dir
    if wanted not in _warned:
        _warned.add(wanted)
        reason = error.strerror or error
        warn(f"graphc works without its cache, because {folder} cannot be written ({reason}); every process compiles "
             "its kernels anew. Set GRAPHC_CACHE_DIR to a folder that can be written.")


def forget_folder() -> None:
    """Check the folder anew at its next use, and warn anew."""
    _checked.clear()
    _warned.clear()


# ------------------------------------------------------------------------------------------- a folder of this process

_private: tuple[int, Path] | None = None


def private_folder() -> Path:
    """A folder that only this process uses and that goes with it: for compiling, and for kernels without a cache."""
    global _private
    if _private is None or _private[0] != os.getpid() or not _private[1].is_dir():  # a forked child has its own
        import tempfile

        place = _place()
        _sweep(place)
        _private = (os.getpid(), Path(tempfile.mkdtemp(prefix=f"graphc-{os.getpid()}-", dir=place)))
        atexit.register(_remove_private, *_private)
    return _private[1]


def _place() -> Path:
    """The folder for temporary files; but where the system loads no libraries from there, that of the cache."""
    import tempfile

    temporary = Path(tempfile.gettempdir())
    if _takes_libraries(temporary):
        return temporary
    folder = cache_folder()
    return folder if folder is not None and _takes_libraries(folder) else temporary


def _takes_libraries(place: Path) -> bool:
    """Whether files can be made there, and are not forbidden to execute, as in the /tmp of hardened systems."""
    if not os.access(place, os.W_OK):       # nor where it is gone
        return False
    return not hasattr(os, "statvfs") or not os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0)


def _sweep(place: Path) -> None:
    """Remove the private folders of processes that were killed. An hour's grace is for processes of other containers,
    whose numbers mean nothing here."""
    import shutil

    for path in place.glob("graphc-[0-9]*-*"):
        with suppress(OSError):  # removed by another process since, or not ours to remove
            owner = int(path.name.split("-")[1])
            state = path.lstat()
            if state.st_uid == os.geteuid() and time.time() - state.st_mtime > STALE_AFTER and not _lives(owner):
                shutil.rmtree(path, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


_numbers = iter(range(1 << 62))


def next_number() -> int:
    """For file names in the private folder. None is used twice, because the loader knows a library by its path."""
    return next(_numbers)  # atomic: several threads may compile at the same time


def spare_path() -> Path:
    """A path in the private folder that nothing has used."""
    return private_folder() / f"{next_number()}.so"


def _remove_private(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


# -------------------------------------------------------------------------------------------------------- housekeeping

_kept: set[Path] = set()


def _keep_house(folder: Path) -> None:
    """Once per process that writes: remove the temporary files of killed processes and, over LIMIT, old entries."""
    if folder in _kept:
        return
    _kept.add(folder)
    found = []
    for path, state in _files(folder):
        if path.name.startswith("."):
            if time.time() - state.st_mtime > STALE_AFTER:
                _unlink(path)
        else:
            found.append((state.st_mtime, state.st_size, path))
    excess = sum(size for _, size, _ in found) - LIMIT
    for _, size, path in sorted(found):
        if excess <= 0:
            break
        excess -= size * _unlink(path)


def entries() -> list[Entry]:
    """Every entry of the cache, sound or not, the youngest first."""
    folder, now = cache_folder(), time.time()
    if folder is None:
        return []
    found = [
        Entry(kind, path.name.removesuffix(suffix), path, state.st_size, max(0.0, now - state.st_mtime))
        for kind, suffix in SUFFIXES.items()
        for path, state in _files(folder / kind)
        if path.name.endswith(suffix) and not path.name.startswith(".")
    ]
    return sorted(found, key=lambda entry: entry.age)


def verify() -> list[Entry]:
    """Remove every entry that is damaged, and return what was removed."""
    damaged = [entry for entry in entries() if read_entry(entry.path, entry.kind, entry.name) is None]
    return [entry for entry in damaged if _unlink(entry.path)]


def clear() -> int:
    """Remove every entry, temporary file and kept source; returns how many files went. Processes that run go on."""
    folder = cache_folder()
    if folder is None:
        return 0
    kinds = [*SUFFIXES, "failed"]
    return sum(_unlink(path) for kind in kinds for path, _ in list(_files(folder / kind)))


def keep_source(name: str, text: str) -> Path:
    """Keep the source of a kernel that did not compile, outside the entries, and return where it lies."""
    folder = cache_folder()
    if folder is not None:
        path = folder / "failed" / name
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.write_text(text)
            return path
        except OSError as error:
            _warn_once(path.parent, error)
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="graphc-failed-")) / name
    path.write_text(text)
    return path


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        found = list(os.scandir(folder))
    except FileNotFoundError:  # nothing was stored so far
        return
    for item in found:
        with suppress(FileNotFoundError):  # removed by another process since
            if item.is_file(follow_symlinks=False):
                yield Path(item.path), item.stat(follow_symlinks=False)


def _unlink(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
