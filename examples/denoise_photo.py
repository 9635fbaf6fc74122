"""Anisotropic diffusion and Sobel edges on a real photograph (scikit-learn's china.jpg).

    python examples/denoise_photo.py [FOLDER]      saves FOLDER/photo_{noisy,denoised,edges}.png, by default in out/

Noise is added to the photograph, 30 steps of diffusion take it away (P. Perona and J. Malik, "Scale-space and edge
detection using anisotropic diffusion", IEEE PAMI 12 (1990) 629-639), and the edges of the result are found. The same
lines run on graphc and on NumPy: `xp` is one or the other.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image

import graphc as gc
from graphc.examples.report import megabytes, milliseconds, save_png, show, timed, verdict

STEPS, RATE, KAPPA, NOISE = 30, 0.02, 0.3, 0.1


def diffuse(xp, u):
    """One step on (height, width, 3): each pixel moves towards its four neighbours, but hardly across an edge."""
    up = xp.concat([u[:1], u[:-1]], axis=0) - u
    down = xp.concat([u[1:], u[-1:]], axis=0) - u
    left = xp.concat([u[:, :1], u[:, :-1]], axis=1) - u
    right = xp.concat([u[:, 1:], u[:, -1:]], axis=1) - u
    flow = sum(d * xp.exp(-((d / KAPPA) ** 2)) for d in (up, down, left, right))
    return u + RATE * flow


def sobel(xp, u):
    """Strength of the edges of (height, width, 3) as (height - 2, width - 2)."""
    grey = 0.299 * u[:, :, 0] + 0.587 * u[:, :, 1] + 0.114 * u[:, :, 2]
    across = grey[:, 2:] - grey[:, :-2]
    along = grey[2:, :] - grey[:-2, :]
    gx = across[:-2] + 2.0 * across[1:-1] + across[2:]
    gy = along[:, :-2] + 2.0 * along[:, 1:-1] + along[:, 2:]
    return xp.sqrt(gx * gx + gy * gy)


def restore(xp, noisy):
    """(denoised, edges) of a photograph."""
    u = noisy
    for _ in range(STEPS):
        u = diffuse(xp, u)
    return u, sobel(xp, u)


def run(noisy):
    return gc.realize(*restore(gc, noisy))


def psnr(image, clean) -> float:
    """Peak signal-to-noise ratio in dB; more is closer to the clean photograph."""
    return float(-10 * np.log10(np.mean((np.asarray(image, dtype=np.float64) - clean) ** 2)))


def main(folder: Path) -> None:
    clean = load_sample_image("china.jpg").astype(np.float32) / np.float32(255)  # (427, 640, 3)
    noisy = clean + np.random.default_rng(0).normal(0, NOISE, clean.shape).astype(np.float32)

    x = gc.asarray(noisy)
    plan = gc.plan(*restore(gc, x))  # nothing runs
    (denoised, edges), cold = timed(run, x)
    _, warm = timed(run, x)
    (numpy_denoised, numpy_edges), numpy_time = timed(restore, np, noisy)

    files = {"noisy": noisy, "denoised": np.asarray(denoised), "edges": np.asarray(edges)}
    for name, pixels in files.items():
        save_png(folder / f"photo_{name}.png", pixels)
    before, after = psnr(noisy, clean), psnr(denoised, clean)
    differ = float(np.max(np.abs(np.asarray(denoised) - numpy_denoised)))
    edges_differ = float(np.max(np.abs(np.asarray(edges) - numpy_edges)))
    show(f"{STEPS} steps of anisotropic diffusion and Sobel edges of a photograph, 427 x 640 x 3, float32", {
        "quality": f"{before:.2f} dB with noise, {after:.2f} dB after",
        "edges": f"mean strength {float(gc.mean(edges)):.4f}",
        "NumPy": f"{psnr(numpy_denoised, clean):.2f} dB; largest difference {differ:.1e}, edges {edges_differ:.1e}",
        "kernels": str(len(plan.kernels)),
        "bytes moved": f"{megabytes(plan.bytes_moved)}, at most {megabytes(plan.peak_bytes)} held at once",
        "time": f"{milliseconds(warm)} ({milliseconds(cold)} the first time, with compiling)",
        "NumPy's time": milliseconds(numpy_time),
        "saved": ", ".join(str(folder / f"photo_{name}.png") for name in files),
    })
    verdict({
        "pixels equal to NumPy's within 1e-4": differ < 1e-4,
        "edges equal to NumPy's within 1e-3": edges_differ < 1e-3,
        "at least 3 dB closer to the photograph without noise": after > before + 3,
    })


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
