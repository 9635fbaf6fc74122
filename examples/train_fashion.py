"""A convnet learns Fashion-MNIST: 60,000 pictures of clothes of ten kinds, 28 x 28 pixels.

    python examples/train_fashion.py [--short] [FOLDER]      saves FOLDER/fashion.png, by default in out/

The pictures are Debian's package dataset-fashion-mnist, downloaded and opened without being installed. A step with its
gradient and its optimiser is one jitted function.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import graphc as gc
from graphc import nn
from graphc.examples.datasets import fashion_mnist
from graphc.examples.report import show, timed, verdict

BATCH, SEED = 64, 0


def convnet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def as_floats(batch):
    """uint8 (n, 28, 28) as float32 (n, 1, 28, 28) of mean 0 and about unit variance."""
    images, labels = batch
    return ((images[:, None].astype(np.float32) - 73) / 90), labels


def train(model: nn.Module, images, labels, epochs: int) -> gc.data.History:
    loader = gc.data.DataLoader((images, labels), BATCH, shuffle=True, drop_last=True, seed=SEED, transform=as_floats)
    optimizer = gc.optim.AdamW(model.parameters(), lr=2e-3)
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
    right = gc.jit(lambda x, y: (model(x).argmax(-1) == y).sum())
    model.eval()
    loader = gc.data.DataLoader((images, labels), 1000, transform=as_floats)
    return sum(int(right(x, y)) for x, y in loader) / len(images)


def main(folder: Path, short: bool) -> None:
    images, labels, unseen, answers = fashion_mnist()
    epochs, least = (1, 0.60) if short else (2, 0.88)
    if short:
        images, labels, unseen, answers = images[:1600], labels[:1600], unseen[:1000], answers[:1000]
    gc.random.seed(SEED)
    model = convnet()
    history, seconds = timed(train, model, images, labels, epochs)
    found = accuracy(model, unseen, answers)
    folder.mkdir(parents=True, exist_ok=True)
    history.save_plot(folder / "fashion.png")
    show(f"a convnet on {len(images):,} pictures of clothes", {
        "parameters": f"{sum(p.size for p in model.parameters()):,}",
        "training": f"{epochs} epochs in {seconds:.1f} s, {history.throughput[-1]:,.0f} pictures a second",
        "loss": f"{history.losses[0]:.3f} in the first epoch, {history.losses[-1]:.3f} in the last",
        "test pictures named": f"{found:.2%} of {len(unseen):,}",
    })
    verdict({f"at least {least:.0%} of the test pictures": found >= least})


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--short"]
    main(Path(arguments[0] if arguments else "out"), "--short" in sys.argv)
