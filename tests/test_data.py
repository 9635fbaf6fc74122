"""DataLoader and fit."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import graphc as gc
from graphc import data, driver, nn, optim
from graphc.errors import ArgumentError, DTypeError, ShapeError


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
    with pytest.raises(ArgumentError, match="the loader has no batch"):
        data.fit(nn.Linear(1, 1), data.DataLoader((np.zeros((0, 1)),) * 2), None, nn.mse)
    with pytest.raises(ArgumentError, match="batch of 0"):
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


class Foreign:
    """An array of another library, as PyTorch's: it has a length and items, and NumPy reads it."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.dtype = self.values.shape, "theirs.float32"

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return Foreign(self.values[i])

    def __array__(self, dtype=None, copy=None):
        return self.values


class OnlyDlpack:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("kind", [Foreign, OnlyDlpack])
def test_arrays_of_other_libraries_are_columns(kind):
    """A tuple of them was taken for a dataset of two samples."""
    loader = data.DataLoader((kind(np.arange(6.0).reshape(3, 2)), kind([0, 1, 2])), batch_size=2)
    assert [(x.tolist(), y.tolist()) for x, y in loader] == [([[0, 1], [2, 3]], [0, 1]), ([[4, 5]], [2])]
    assert [b["x"].tolist() for b in data.DataLoader({"x": kind([1, 2])})] == [[1], [2]]
    with pytest.raises(ShapeError, match=r"lengths \[2, 3\]"):
        data.DataLoader((kind(np.zeros((2, 2))), kind(np.zeros((3, 2)))))
    with pytest.raises(ShapeError, match="without axes"):
        data.DataLoader((kind(np.zeros(2)), kind(np.zeros(()))))


def test_what_a_loader_takes():
    with pytest.raises(DTypeError, match=r"(?s)values of type int.*np.asarray\(labels\)"):
        data.DataLoader((np.zeros((3, 2)), [0, 1, 1]))
    samples = [(Foreign([1.0, 2.0]), np.int64(0)), (Foreign([3.0, 4.0]), np.int64(1))]
    for items in (samples, tuple(samples)):
        (x, y), = data.DataLoader(items, batch_size=2)
        assert x.tolist() == [[1, 2], [3, 4]] and y.tolist() == [0, 1]


@pytest.mark.parametrize("given, text", [((np.zeros((4, 1)),), "a tuple of 1"), (np.zeros((4, 1)), "a Tensor"),
                                         ({"x": np.zeros(4), "y": np.zeros(4)}, "a dict of x, y")])
def test_fit_says_which_batches_it_takes(given, text):
    net = nn.Linear(1, 1)
    with pytest.raises(ArgumentError, match=rf"(?s)batch is {text}, not a pair \(x, y\).*transform"):
        data.fit(net, data.DataLoader(given, 2), optim.SGD(net.parameters(), 0.1), nn.mse, progress=False)


def test_a_step_may_return_a_number():
    net = nn.Linear(1, 1)
    loader = data.DataLoader((np.ones((5, 1)), np.ones((5, 1))), 2)
    optimizer = optim.SGD(net.parameters(), 0.1)
    history = data.fit(net, loader, optimizer, None, step=lambda x, y: len(x) / 2, progress=False)
    assert history.steps == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_transform_may_write_to_its_batch(shuffle):
    def halved(batch):
        x, y = batch
        x /= 2
        return x, y

    x = np.full((5, 2), 8.0)
    loader = data.DataLoader((x, np.arange(5)), batch_size=2, shuffle=shuffle, transform=halved)
    for _ in range(2):
        assert [batch.numpy().min() for batch, _ in loader] == [4.0] * 3 and x.min() == 8.0
    loader = data.DataLoader((gc.asarray(x), np.arange(5)), batch_size=2, shuffle=shuffle, transform=halved)
    assert [batch.numpy().max() for batch, _ in loader] == [4.0] * 3


def test_an_iterator_may_be_closed_where_its_thread_has_to_wait():
    """As the collector closes it, wherever it comes in."""
    def halved(batch):
        return (gc.asarray(batch) / 2).numpy()
    loader = iter(data.DataLoader(np.arange(12.0), 2, transform=halved, prefetch=1))
    next(loader)
    with driver.lock:
        next(loader)        # the thread goes on to a batch, for which it needs the lock
        loader.close()
    assert [x.tolist() for x in data.DataLoader(np.arange(4.0), 2, transform=halved)] == [[0, 0.5], [1, 1.5]]
