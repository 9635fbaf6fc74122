"""The same kernels in every process, else its caches would miss for no reason; the same bits in every run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc import nn
from graphc.config import settings

HERE = Path(__file__).parent
SCRIPT = """
import random, sys
ballast = [object() for _ in range(random.Random(int(sys.argv[1])).randrange(100_000))]     # other addresses
from programs import of_seed
from graphc import canonical
from graphc.build import build
for seed in range(150):
    roots = [n for n in dict.fromkeys(t.node for t in of_seed(seed).results()) if n.value is None]
    program = build(canonical.canonicalize(roots), "c").program
    print(seed, [kernel.entry for kernel in program.kernels], program.slots, program.steps)
"""


def kernels(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE), "GRAPHC_BACKEND": "cpu"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT, hash_seed], env=environment, cwd=HERE.parent,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_kernels_do_not_depend_on_hashes_or_addresses():
    first, second = kernels("1"), kernels("2")
    assert len(first) == 150
    for a, b in zip(first, second, strict=True):
        assert a == b


class Letters(nn.Module):
    """A bit of everything that training has: a convolution, normalisation, a scan, dropout."""

    def __init__(self):
        self.convolution, self.norm = nn.Conv1d(6, 16, 3, padding=1), nn.BatchNorm(16)
        self.lstm, self.drop, self.out = nn.LSTM(16, 32, batch_first=True), nn.Dropout(0.2), nn.Linear(32, 5)

    def forward(self, x):
        x = gc.relu(self.norm(self.convolution(x))).swapaxes(1, 2)
        return self.out(self.drop(self.lstm(x)[0].mean(1)))


def trained(threads: int, jitted: bool) -> tuple[list[str], bytes]:
    """The losses of a seeded run, as bits, and the weights after it."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(96, 6, 32)).astype(np.float32), rng.integers(0, 5, 96)
    with settings.override(num_threads=threads):
        gc.random.seed(7)
        model = Letters()
        optimizer = gc.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(x), y)
            loss.backward()
            gc.optim.clip_grad_norm(model.parameters(), 1.0)
            optimizer.step()
            return loss.detach()

        history = gc.data.fit(model, gc.data.DataLoader(data, 32, shuffle=True, seed=1), optimizer, None, 4,
                              step=gc.jit(step) if jitted else step, progress=False)
        return [loss.hex() for loss in history.steps], b"".join(p.numpy().tobytes() for p in model.parameters())


def test_a_seeded_training_run_has_the_same_bits_whatever_the_threads(backend):
    first, weights = trained(1, jitted=True)
    assert len(first) == 12 and float.fromhex(first[-1]) < float.fromhex(first[0])
    more = ((1, True), (2, True)) if backend == "cpu" else ()       # others have no threads of ours
    for threads, jitted in ((2, True), *more, (2, False)):
        losses, after = trained(threads, jitted)
        assert losses == first, (threads, jitted)
        assert after == weights, (threads, jitted)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers_are_not_contracted(dtype):
    """A sum stored beside a difference, as the parts of a product are: each of their products is rounded."""
    rng = np.random.default_rng(7)
    z, w = (gc.asarray((rng.standard_normal(1001) + 1j * rng.standard_normal(1001)).astype(dtype)) for _ in "zw")

    def product(z, w, make, real, imag):
        return make(real(z) * real(w) - imag(z) * imag(w), real(z) * imag(w) + imag(z) * real(w))
    found = product(z, w, gc.make_complex, gc.real, gc.imag).numpy()
    assert np.array_equal(found, product(z.numpy(), w.numpy(), lambda x, y: x + 1j * y, np.real, np.imag))


def test_complex_rows_have_the_same_bits_however_many_there_are():
    rng = np.random.default_rng(8)
    x, w = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((1909, 16), 16))
    for k in (5, 11, 12, 16):
        factor = gc.asarray(w[:k])
        whole = (gc.asarray(x[:, :k]) @ factor).numpy()
        parts = [(gc.asarray(x[i:i + 100, :k]) @ factor).numpy() for i in range(0, 1909, 100)]
        assert np.array_equal(whole, np.concatenate(parts)), k
        conjugate = (gc.asarray(x[:, :k]) @ gc.conj(gc.asarray(w[:k].conj()))).numpy()
        assert np.array_equal(whole, conjugate), k
