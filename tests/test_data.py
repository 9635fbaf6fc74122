"""DataLoader and fit."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import graphc as gc
from graphc import data, nn, optim
from graphc.errors import ShapeError


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


@pytest.mark.parametrize("prefetch", [0, 3])
def test_every_sample_once_in_an_order_of_its_own(prefetch):
    x = np.arange(23)
    loader = data.DataLoader({"x": x, "y": x * 2}, batch_size=5, shuffle=True, prefetch=prefetch)
    epochs = [np.concatenate([b["x"].numpy() for b in loader]) for _ in range(2)]
    assert len(loader) == 5 and not np.array_equal(*epochs)
    for epoch in epochs:
        np.testing.assert_array_equal(np.sort(epoch), x)
    again = data.DataLoader(x, batch_size=5, shuffle=True, prefetch=prefetch)
    np.testing.assert_array_equal(np.concatenate([b.numpy() for b in again]), epochs[0])
    cut = data.DataLoader((x, x), batch_size=5, drop_last=True, prefetch=prefetch)
    assert len(cut) == 4 and [len(a) for a, _ in cut] == [5] * 4


def test_items_and_transforms():
    class Squares:
        def __len__(self):
            return 7

        def __getitem__(self, i):
            return np.full(2, i), i * i

    loader = data.DataLoader(Squares(), batch_size=4, transform=lambda b: (b[0] + 1, b[1]))
    (x, y), (x2, y2) = loader
    assert x.tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]] and y.tolist() == [0, 1, 4, 9]
    assert x2.shape == (3, 2) and y2.tolist() == [16, 25, 36]


def test_errors_and_early_ends():
    def fails(batch):
        raise RuntimeError("no such sample")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="no such sample"):
        list(data.DataLoader(np.arange(9), transform=fails))
    for _ in data.DataLoader(np.arange(900), batch_size=1):
        break
    assert threading.active_count() <= before + 1
    with pytest.raises(ShapeError, match=r"lengths \[2, 3\]"):
        data.DataLoader((np.zeros(2), np.zeros(3)))
    with pytest.raises(TypeError, match=r"batch_size is a ndarray.*DataLoader\(\(x, y\), batch_size=32\)"):
        data.DataLoader(np.zeros(2), np.zeros(2))
    with pytest.raises(ShapeError, match="the loader has no batch"):
        data.fit(nn.Linear(1, 1), data.DataLoader((np.zeros((0, 1)),) * 2), None, nn.mse)
    with pytest.raises(ShapeError, match="batch of 0"):
        data.DataLoader(np.zeros(3), batch_size=0)


def test_fit_learns_a_line(tmp_path):
    gc.random.seed(0)
    x = np.random.default_rng(0).normal(size=(64, 1)).astype(np.float32)
    model = nn.Linear(1, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    loader = data.DataLoader((x, 3 * x + 1), batch_size=16, shuffle=True)
    history = data.fit(model, loader, optimizer, nn.mse, epochs=8, progress=False)
    assert len(history.losses) == 8 and len(history.steps) == 32 and history.losses[-1] < 1e-3
    np.testing.assert_allclose([model.weight.item(), model.bias.item()], [3, 1], atol=0.05)
    history.save_plot(tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes()[:4] == b"\x89PNG"


def test_training_has_the_same_bits_each_time():
    def train():
        gc.random.seed(5)
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))
        r = np.random.default_rng(1)
        loader = data.DataLoader((r.normal(size=(32, 3)).astype("f4"), r.normal(size=(32, 1)).astype("f4")), 8, True)
        return data.fit(model, loader, optim.Adam(model.parameters()), nn.mse, 2, progress=False).steps

    assert train() == train()
