"""Feeding models: batches, prefetched, and a loop that trains."""
from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field

import graphc as gc
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.pytree import flatten, unflatten
from graphc.tensor import Tensor

__all__ = ["DataLoader", "History", "fit"]


class DataLoader:
    """Batches of arrays of one length, in a new random order each time it is iterated over.

    data        an array, or a tree of arrays (tuple, dict, ...) whose first axes are equal; or what has `len()` and
                `[i]`, whose items are such trees. Arrays in tuples and dicts may be of any library (PyTorch, pandas)
    batch_size  samples in a batch; the last one is shorter unless drop_last
    shuffle     a new order for each epoch, from `seed`: the same orders in each run
    prefetch    batches that a thread prepares, and puts on the device, while others are used; 0 for none
    transform   a function of a batch of NumPy arrays

    >>> import graphc as gc, numpy as np
    >>> loader = gc.data.DataLoader((np.arange(5), np.arange(5) * 10), batch_size=2)
    >>> [(x.tolist(), y.tolist()) for x, y in loader]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    """

    def __init__(self, data, batch_size: int = 1, shuffle: bool = False, drop_last: bool = False, seed: int = 0,
                 prefetch: int = 2, device: str | None = None, transform: Callable | None = None):
        if not isinstance(batch_size, (int, np.integer)):
            raise TypeError(f"[DataLoader] batch_size is a {type(batch_size).__name__}, not an integer; several arrays "
                            "are one argument: DataLoader((x, y), batch_size=32)")
        if batch_size < 1:
            raise ArgumentError(f"a batch of {batch_size} samples", op="DataLoader", fix="use at least 1")
        self._items = None if _is_tree(data) else data
        if self._items is None:
            leaves, self._structure = flatten(data)
            self._arrays = [_to_numpy(x) for x in leaves]
            if any(not a.ndim for a in self._arrays):
                raise ShapeError("an array without axes has no samples", op="DataLoader",
                                 fix="pass arrays whose first axes are equal")
            lengths = {len(a) for a in self._arrays}
            if len(lengths) != 1:
                raise ShapeError(f"the arrays have lengths {sorted(lengths)}", op="DataLoader",
                                 fix="pass arrays whose first axes are equal")
            self._length = lengths.pop()
        else:
            self._length = len(data)
        self.batch_size, self.shuffle, self.drop_last, self.prefetch = batch_size, shuffle, drop_last, prefetch
        self.device, self.transform = device, transform
        self._order = np.random.default_rng(seed)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._length // self.batch_size if self.drop_last else -(-self._length // self.batch_size)

    def __iter__(self) -> Iterator:
        order = self._order.permutation(self._length) if self.shuffle else np.arange(self._length)
        batches = (self._batch(order[k * self.batch_size:(k + 1) * self.batch_size]) for k in range(len(self)))
        return _ahead(batches, self.prefetch) if self.prefetch else batches

    def _batch(self, index: np.ndarray):
        if self._items is None:
            contiguous = not self.shuffle and len(index)
            part = slice(int(index[0]), int(index[-1]) + 1) if contiguous else index
            leaves, structure = [a[part] for a in self._arrays], self._structure
            if contiguous and self.transform is not None:       # which may write to what it is given
                leaves = [np.array(a) for a in leaves]
        else:
            samples = [flatten(self._items[int(i)]) for i in index]
            structure = samples[0][1]
            leaves = [np.stack([np.asarray(s[0][k]) for s in samples]) for k in range(len(samples[0][0]))]
        if self.transform is not None:
            leaves, structure = flatten(self.transform(unflatten(structure, leaves)))
        return unflatten(structure, [gc.asarray(np.asarray(a), device=self.device) for a in leaves])


def _is_tree(data) -> bool:
    """Whether these are arrays with all samples, and not something with one sample after the other."""
    if not isinstance(data, (np.ndarray, Tensor, tuple, list, dict)):
        return False
    if isinstance(data, list):      # of arrays of other libraries: their samples
        return all(isinstance(x, (np.ndarray, Tensor)) for x in flatten(data)[0])
    found = all(map(_is_array, flatten(data)[0]))
    if not found and (isinstance(data, dict) or isinstance(data, tuple) and any(map(_is_array, data))):
        kinds = sorted({type(x).__name__ for x in flatten(data)[0] if not _is_array(x)})
        raise DTypeError(f"among the arrays there are values of type {', '.join(kinds)}", op="DataLoader",
                         fix="pass arrays, as np.asarray(labels) for a list, whose first axes are equal")
    return found


def _is_array(x) -> bool:
    if isinstance(x, np.generic):       # a number
        return False
    return hasattr(x, "shape") and hasattr(x, "dtype") or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def _to_numpy(x) -> np.ndarray:
    if isinstance(x, Tensor):
        return x.numpy()
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") and not hasattr(x, "__array__") else np.asarray(x)


_END = object()


def _ahead(batches: Iterator, count: int) -> Iterator:
    """The same batches, `count` of them prepared by a thread beforehand. Its error is raised here."""
    ready: queue.Queue = queue.Queue(count)
    stop, device = threading.Event(), gc.get_backend_name()

    def work() -> None:
        try:
            with gc.backend(device):    # that of the block around the loop
                for batch in batches:
                    put((batch, None))
                    if stop.is_set():
                        return
            put((_END, None))
        except BaseException as error:  # handed to whoever iterates
            put((_END, error))

    def put(item) -> None:
        while not stop.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    thread = threading.Thread(target=work, name="graphc-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            batch, error = ready.get()
            if error is not None:
                raise error
            if batch is _END:
                return
            yield batch
    finally:
        stop.set()
        thread.join(1.0)        # no longer: it may wait for a lock that this thread, which collects garbage, holds


# ------------------------------------------------------------------------------------------------------------ training

class History(Struct):
    """What `fit` saw: the loss of each step, their mean in each epoch, samples a second in each epoch."""

    losses: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    throughput: list[float] = field(default_factory=list)

    def save_plot(self, path) -> None:
        """The loss of each step and the mean of each epoch as a picture. Needs matplotlib."""
        from matplotlib.figure import Figure
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(np.arange(1, len(self.steps) + 1), self.steps, linewidth=0.7, alpha=0.6, label="step")
        each = len(self.steps) / max(len(self.losses), 1)
        axes.plot((np.arange(len(self.losses)) + 1) * each, self.losses, marker="o", label="epoch")
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.legend()
        figure.savefig(path, dpi=120)


def fit(model, loader: DataLoader, optimizer, loss: Callable | None, epochs: int = 1, *, progress: bool = True,
        schedule=None, step: Callable | None = None) -> History:
    """Train a model: for each batch (x, y), one step of the optimiser on loss(model(x), y).

    Raises ArgumentError for batches of another form.

    step: a function (x, y) -> loss to use instead of all that, e.g. a jitted one of your own; loss may be None then.
    schedule: its `step()` is called after each batch. progress: a bar with loss and throughput on the terminal.
    """
    def plain(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value.detach()

    if not len(loader):
        raise ArgumentError("the loader has no batch", op="fit", fix="look at its data, and at drop_last")
    step = step or plain
    history = History()
    model.train()
    with _bar(epochs * len(loader), progress) as advance:
        for epoch in range(epochs):
            started, seen, values = time.perf_counter(), 0, []
            for batch in loader:
                x, y = _pair(batch)
                value = gc.asarray(step(x, y))
                gc.realize(value, *model.parameters(), *_state(optimizer))
                values.append(float(value))
                seen += len(y)
                if schedule is not None:
                    schedule.step()
                advance(epoch, values[-1], seen / (time.perf_counter() - started))
            history.steps += values
            history.losses.append(float(np.mean(values)))
            history.throughput.append(seen / (time.perf_counter() - started))
    return history


def _pair(batch) -> Sequence:
    """A batch as (x, y)."""
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch
    what = f"dict of {', '.join(map(str, batch))}" if isinstance(batch, dict) else type(batch).__name__
    what += f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
    raise ArgumentError(f"a batch is a {what}, not a pair (x, y)", op="fit",
                        fix="give the loader (x, y), or a transform that returns such pairs; or write the loop "
                        "yourself")


def _state(optimizer) -> Sequence[Tensor]:
    return [t for ts in optimizer.state.values() for t in ts] + [optimizer.count]


class _bar:
    """A progress bar of `rich`, or none."""

    def __init__(self, total: int, shown: bool):
        self.total, self.shown = total, shown

    def __enter__(self) -> Callable[[int, float, float], None]:
        if not self.shown:
            return lambda epoch, loss, rate: None
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        self.progress = Progress(TextColumn("epoch {task.fields[epoch]}"), BarColumn(), MofNCompleteColumn(),
                                 TextColumn("loss {task.fields[loss]:.4f}  {task.fields[rate]:,.0f} samples/s"),
                                 TimeRemainingColumn())
        self.progress.start()
        task = self.progress.add_task("", total=self.total, epoch=1, loss=float("nan"), rate=0.0)
        return lambda epoch, loss, rate: self.progress.update(task, advance=1, epoch=epoch + 1, loss=loss, rate=rate)

    def __exit__(self, *exc) -> None:
        if self.shown:
            self.progress.stop()
