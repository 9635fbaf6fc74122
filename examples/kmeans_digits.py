"""k-means on 1,797 handwritten digits (scikit-learn's load_digits): ten prototypes of what people write.

    python examples/kmeans_digits.py [FOLDER]      saves FOLDER/kmeans_centroids.png, by default in out/

The same lines run on graphc and on NumPy: `xp` is one or the other. The cube of differences (digits, centroids,
pixels) is written down as anyone would; graphc never makes it, because the kernel that sums over the pixels also
subtracts and squares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import graphc as gc
from graphc.examples.report import megabytes, milliseconds, save_png, show, timed, verdict

CLUSTERS = 10


def step(xp, digits, centroids):
    """One round of Lloyd's algorithm: (new centroids, label of each digit, sum of squared distances)."""
    distances = xp.sum((digits[:, None, :] - centroids[None, :, :]) ** 2, axis=-1)
    labels = xp.argmin(distances, axis=1)
    member = xp.where(labels[:, None] == xp.arange(CLUSTERS), 1.0, 0.0)  # one-hot: (digits, clusters)
    counts = xp.sum(member, axis=0)[:, None]
    means = (member.T @ digits) / xp.maximum(counts, 1.0)
    return xp.where(counts > 0, means, centroids), labels, xp.sum(xp.min(distances, axis=1))


def cluster(xp, digits, centroids):
    """Rounds until no digit changes its cluster: (centroids, labels, inertia, rounds)."""
    previous, rounds = None, 0
    while True:
        centroids, labels, inertia = step(xp, digits, centroids)
        rounds += 1
        if xp is gc:
            gc.realize(centroids, labels, inertia)  # one schedule for all three
        if previous is not None and bool(xp.all(labels == previous)):
            return centroids, labels, float(inertia), rounds
        previous = labels


def picture(centroids: np.ndarray) -> np.ndarray:
    """The ten centroids as two rows of five with a margin, each pixel eight times as large."""
    tiles = np.pad(centroids.reshape(2, 5, 8, 8) / 16.0, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return 1.0 - np.kron(tiles.transpose(0, 2, 1, 3).reshape(20, 50), np.ones((8, 8)))


def main(folder: Path) -> None:
    digits = load_digits().data  # (1797, 64), values from 0 to 16
    start = digits[np.random.default_rng(0).choice(len(digits), CLUSTERS, replace=False)]

    x, first = gc.asarray(digits), gc.asarray(start)
    plan = gc.plan(*step(gc, x, first))  # nothing runs
    before = gc.counters().launches
    (centroids, labels, inertia, rounds), cold = timed(cluster, gc, x, first)
    launches = gc.counters().launches - before
    _, warm = timed(cluster, gc, x, first)
    (_, numpy_labels, numpy_inertia, _), numpy_time = timed(cluster, np, digits, start)
    peer = KMeans(CLUSTERS, init=start, n_init=1, algorithm="lloyd", tol=0).fit(digits)

    file = folder / "kmeans_centroids.png"
    save_png(file, picture(np.asarray(centroids)))
    agree = float(np.mean(np.asarray(labels) == numpy_labels))
    show("k-means of 1,797 handwritten digits", {
        "inertia": f"{inertia:,.1f} after {rounds} rounds, sizes {np.bincount(np.asarray(labels)).tolist()}",
        "NumPy": f"{numpy_inertia:,.1f}; same label for {agree:.2%} of the digits",
        "scikit-learn": f"{peer.inertia_:,.1f}",
        "kernels": f"{len(plan.kernels)} a round, {launches} launches in all",
        "bytes moved": f"{megabytes(plan.bytes_moved)} a round",
        "memory": f"{megabytes(plan.peak_bytes)} at most, where the cube would be {megabytes(1797 * 640 * 8)}",
        "time": f"{milliseconds(warm)} ({milliseconds(cold)} the first time, with compiling)",
        "NumPy's time": milliseconds(numpy_time),
        "saved": str(file),
    })
    verdict({
        "inertia within 1% of scikit-learn's KMeans from the same start": abs(inertia / peer.inertia_ - 1) < 0.01,
        "inertia equal to NumPy's to 9 digits": abs(inertia / numpy_inertia - 1) < 1e-9,
        "every label equal to NumPy's": agree == 1.0,
    })


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
