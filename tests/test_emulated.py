"""The kernels of CUDA and HIP, run on the CPU in three orders of their threads, against the reference: the programs of
the goldens on random data, and small random programs. `pytest --backend cuda-emulated` runs the whole suite so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import programs
import pytest
import test_goldens
from differential import at_once, every_node

import graphc as gc
from graphc import driver
from graphc.config import settings
from graphc.errors import NoCompilerError
from graphc.runtime import emulator
from graphc.tolerances import equal_bits

MOST = 40_000  # elements of an array
SEEDS = (0, 3, 9, 11)     # 9: a team without a row of its own must not report an index

try:
    emulator.find_compiler()
except NoCompilerError as error:
    pytest.skip(error.message, allow_module_level=True)


@pytest.fixture(params=["cuda-emulated", "hip-emulated"])
def device(request) -> Iterator[str]:
    before = gc.get_backend_name()
    gc.set_backend(request.param)
    yield request.param
    gc.set_backend(before)


@pytest.fixture
def random_leaves(monkeypatch) -> None:
    rng = np.random.default_rng(7)

    def leaf(*shape: int, dtype: str = "float32") -> gc.Tensor:
        while np.prod(shape) > MOST:
            shape = tuple(max(n // 2, 1) for n in shape)
        kind = getattr(gc, dtype).numpy
        if np.issubdtype(kind, np.integer):
            return gc.asarray(rng.integers(1, 50, shape).astype(kind))
        return gc.asarray((rng.random(shape) + 0.5).astype(kind))

    monkeypatch.setattr(test_goldens, "leaf", leaf)


@pytest.mark.parametrize("name", test_goldens.PROGRAMS)
def test_golden_programs(device, random_leaves, name):
    found = test_goldens.PROGRAMS[name]()
    with settings.override(verify=True):  # raises MismatchError where a value is not what the reference says
        gc.realize(*(found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(device, seed):
    program = programs.small(seed)
    with np.errstate(all="ignore"):
        together, apart = at_once(program), every_node(program)
    for x, y in zip(together, apart, strict=True):
        assert equal_bits(x, y), program


def test_a_second_run_compiles_nothing(device):
    def run() -> None:
        gc.realize(gc.softmax(gc.asarray(np.ones((3, 70), np.float32)), axis=1))
    run()
    before = gc.counters()
    driver.forget_programs()
    run()
    spent = gc.counters() - before
    assert (spent.compiles, spent.launches, spent.kernel_hits) == (0, 1, 1)
