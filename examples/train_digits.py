"""A multilayer perceptron and a convnet learn 1,437 handwritten digits (scikit-learn's load_digits), and read the rest.

    python examples/train_digits.py [--short] [FOLDER]      saves FOLDER/digits_{mlp,convnet}.png, by default in out/

A fifth of the digits is held out. Both models are trained by `gc.data.fit` on digits that are moved by up to a pixel
each time; the step, with its gradient and its optimiser, is one jitted function.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import graphc as gc
from graphc import nn
from graphc.examples.report import show, timed, verdict

BATCH, SEED = 64, 0


def mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                         nn.Linear(256, 10))


def convnet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def digits() -> tuple[np.ndarray, ...]:
    """(training images, held-out images, training labels, held-out labels); images are (n, 1, 8, 8) in [0, 1]."""
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]
    return train_test_split(images, data.target.astype(np.int64), test_size=0.2, random_state=SEED,
                            stratify=data.target)


class Moved:
    """A batch whose images are moved by up to one pixel along both axes."""

    def __init__(self):
        self.rng = np.random.default_rng(SEED)

    def __call__(self, batch):
        images, labels = batch
        wide = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        down, right = self.rng.integers(0, 3, (2, len(images), 1, 1))
        rows, columns = down + np.arange(8)[:, None], right + np.arange(8)
        return wide[np.arange(len(images))[:, None, None], 0, rows, columns][:, None], labels


def train(model: nn.Module, images, labels, epochs: int) -> gc.data.History:
    loader = gc.data.DataLoader((images, labels), BATCH, shuffle=True, drop_last=True, seed=SEED, transform=Moved())
    optimizer = gc.optim.AdamW(model.parameters(), lr=6e-3)
    schedule = gc.optim.Schedule(optimizer, gc.optim.cosine(epochs * len(loader), warmup=20))

    @gc.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return gc.data.fit(model, loader, optimizer, None, epochs, step=step, schedule=schedule,
                       progress=sys.stdout.isatty())


def accuracy(model: nn.Module, images, labels) -> float:
    scores = model.eval()(gc.asarray(images))
    return float((scores.argmax(-1) == gc.asarray(labels)).mean(dtype=gc.float32))


def main(folder: Path, short: bool) -> None:
    images, unseen, labels, answers = digits()
    wanted, checks = (0.85, 0.7) if short else (0.98, 0.98), {}
    for build, epochs, least in zip((mlp, convnet), (6, 4) if short else (60, 40), wanted, strict=True):
        gc.random.seed(SEED)
        model = build()
        history, seconds = timed(train, model, images, labels, epochs)
        found = accuracy(model, unseen, answers)
        folder.mkdir(parents=True, exist_ok=True)
        history.save_plot(folder / f"digits_{build.__name__}.png")
        show(f"{build.__name__} on {len(images)} digits", {
            "parameters": f"{sum(p.size for p in model.parameters()):,}",
            "training": f"{epochs} epochs in {seconds:.1f} s, {history.throughput[-1]:,.0f} digits a second",
            "loss": f"{history.losses[0]:.3f} in the first epoch, {history.losses[-1]:.3f} in the last",
            "held-out digits read": f"{found:.2%} of {len(unseen)}",
        })
        checks[f"{build.__name__}: at least {least:.0%} of the held-out digits"] = found >= least
    verdict(checks)


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--short"]
    main(Path(arguments[0] if arguments else "out"), "--short" in sys.argv)
