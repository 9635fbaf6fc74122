"""The memory plan: its peak is the pool's high-water mark, and as low as lifetimes allow."""
from __future__ import annotations

import gc as garbage
import random
from contextlib import nullcontext

import numpy as np
import programs as random_programs
import pytest
from kernel_interpreter import KernelFault, Memory, run_kernel
from together import Together

import graphc as gc
from graphc import driver
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import Kernel, KernelBuffer, Loop, Store, load
from graphc.ir.node import buffer as leaf
from graphc.ir.node import make
from graphc.ir.ops import ADD
from graphc.passes.inplace import in_place
from graphc.passes.order import least_memory, peak
from graphc.passes.verify import VerifyError, verify_kernel
from graphc.runtime.buffers import pool


@pytest.fixture(autouse=True)
def _kernels_only(backend):
    if backend == "reference":
        pytest.skip("the reference has no plan")


def used(*tensors) -> tuple[int, int]:
    """(bytes that the plan says, bytes that the run took) beyond what is there already."""
    said = gc.plan(*tensors).peak_bytes
    garbage.collect()       # or a collection during the run gives back what tests before this one have left
    before = pool.in_use
    pool.reset_high_water()
    gc.realize(*tensors)
    return said, pool.high_water - before


def array(*shape: int) -> gc.Tensor:
    return gc.asarray(np.random.default_rng(0).random(shape, dtype=np.float32))


# ------------------------------------------------------------------------------------------------------------ the peak

def mlp(x, layers=10):
    for _ in range(layers):
        x = gc.tanh(x @ array(x.shape[1], x.shape[1]))
    return x


def stencils(x, steps=7):
    for _ in range(steps):
        x = 0.2 * (x + gc.roll(x, 1, 0) + gc.roll(x, -1, 0) + gc.roll(x, 1, 1) + gc.roll(x, -1, 1))
    return x


def test_ten_layers_hold_two_activations():
    x = array(37, 64)
    assert used(mlp(x)) == (2 * x.nbytes + -x.nbytes % 64, 2 * x.nbytes + -x.nbytes % 64)


@pytest.mark.parametrize("steps", [5, 6, 8, 9])
def test_a_chain_of_stencils_holds_two_arrays(steps):
    x = array(33, 65)
    y = stencils(x, steps)
    assert len(gc.plan(y).kernels) > 2
    assert used(y) == (2 * x.nbytes + -x.nbytes % 64,) * 2


def test_a_kernel_writes_over_what_dies_in_it():
    x = array(50, 70)
    y = gc.sort(x, axis=1)
    z = gc.exp(y - y.mean()) * x
    said, took = used(z)
    assert said == took == z.nbytes
    a = np.sort(x.numpy(), axis=1)
    np.testing.assert_allclose(z.numpy(), np.exp(a - a.mean()) * x.numpy(), rtol=1e-5)


def test_a_row_kernel_writes_over_its_rows():
    x = array(50, 70)
    y = gc.softmax(gc.sort(x, axis=0), axis=1)
    assert used(y) == (y.nbytes, y.nbytes)
    e = np.exp(np.sort(x.numpy(), axis=0))
    np.testing.assert_allclose(y.numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)


def test_what_is_read_again_or_elsewhere_is_not_written_over():
    x = array(50, 70)
    y = gc.sort(x, axis=1)
    shifted = gc.roll(y, 1, 1) + y      # reads its neighbour
    assert used(shifted) == (2 * y.nbytes + -y.nbytes % 64,) * 2
    y = gc.sort(x + 1, axis=1)
    both = gc.realize(y * 2, y)         # a result
    np.testing.assert_array_equal(both[0].numpy(), both[1].numpy() * 2)


def test_branches_are_finished_one_after_the_other(settings):
    x = array(100, 100)
    total = sum(gc.sort(x[:n] * 2.0, axis=0).sum() for n in range(93, 100))
    with settings.override(disable="batch"):    # members of a launch hold their temporaries at once
        said, took = used(total)
    assert said == took < 2 * x.nbytes


def test_updates_of_a_temporary_need_no_copy():
    x = gc.sort(array(1000))
    for k in range(3):
        x[k] = float(k)
    assert used(x) == (x.nbytes, x.nbytes)


def test_a_donated_input_is_not_counted():
    x = gc.realize(array(1000) * 2)
    x[0] = 1.0
    assert used(x) == (0, 0)
    x[0] = 2.0
    seen = x[1:]    # somebody needs the old values
    x[1] = 3.0
    said, took = used(x)
    assert said == took == x.nbytes
    assert seen[0].item() != 3.0


def test_random_programs_meet_their_peak(programs, backend):
    with Together("-O0").chosen() if backend == "cpu" else nullcontext():       # compiled, but not optimised
        for seed in range(programs // 20):
            nodes = list(dict.fromkeys(t.node for t in random_programs.small(seed).results()))
            nodes = driver.computed(nodes)
            if not nodes:
                continue
            said = driver.plan(nodes).peak_bytes
            before = pool.in_use
            pool.reset_high_water()
            driver.realize(nodes)
            assert pool.high_water - before == said, seed


def test_a_peak_that_cannot_fit_is_refused_before_it_is_taken(settings):
    x = array(1000, 1000)
    y = stencils(x, 3)
    need = gc.plan(y).peak_bytes
    before = pool.in_use
    with settings.override(memory_limit=str(before + need - 1)):
        with pytest.raises(MemoryError, match=r"largest arrays: float32\[1000, 1000\] of 4,000,000 bytes \(.*test_mem"):
            gc.realize(y)
    with settings.override(memory_limit=str(before + need)):
        gc.realize(y)


def test_a_peak_beyond_64_bits_is_refused():
    sizes = [gc.zeros((2**29, 2**29), dtype="complex128") + k for k in range(1, 3)]     # 2**62 bytes each
    with pytest.raises(MemoryError, match="9,223,372,036,854,775,808 bytes are needed.*test_memory"):
        gc.realize(*sizes)
    assert (sizes[0] * 2)[5, 7].item() == 2 and gc.broadcast_to(gc.asarray([3j]), (2**58,))[9].item() == 3j


# ----------------------------------------------------------------------------------------------------------- the order

def test_an_order_is_an_order_and_never_holds_more():
    random.seed(7)
    for _ in range(200):
        count = random.randint(1, 12)
        nodes = [leaf(dt.float32, (random.randint(0, 50),), None, "cpu") for _ in range(count)]
        reads = [random.sample(nodes[:k], random.randint(0, min(k, 3))) for k in range(count)]
        writes = [[n] for n in nodes]
        bases = [random.choice(r) if r and random.random() < 0.3 else None for r in reads]
        kept = set(random.sample(nodes, random.randint(0, count)))
        order = least_memory(reads, writes, bases, kept)
        assert sorted(order) == list(range(count))
        place = {step: k for k, step in enumerate(order)}
        for k, sources in enumerate(reads):
            assert all(place[nodes.index(s)] < place[k] for s in sources)
            assert all(place[j] < place[k] for j in range(k) if bases[k] is not None and bases[k] in reads[j])
        assert peak(order, reads, writes, kept) <= peak(range(count), reads, writes, kept)


def test_the_order_of_many_steps_takes_no_time_to_speak_of():
    nodes = [leaf(dt.float32, (8,), None, "cpu") for _ in range(20_000)]
    half = len(nodes) // 2
    reads = [[] for _ in range(half)] + [[nodes[k]] for k in range(half)]
    order = least_memory(reads, [[n] for n in nodes], [None] * len(nodes), set(nodes[half:]))
    assert peak(order, reads, [[n] for n in nodes], set(nodes[half:])) == 32


# -------------------------------------------------------------------------------------------------- what may be shared

ALONG, WITHIN = Axis("i", 6), Axis("j", 4)


def shares(*body, tiled=True, parallel=(ALONG,), size=6) -> bool:
    buffers = (KernelBuffer("x0", dt.float32, size, False), KernelBuffer("y0", dt.float32, size, True))
    nodes = tuple(leaf(dt.float32, (size,), None, "cpu") for _ in buffers)
    kernel, taken = in_place(Kernel("probe", buffers, (), parallel, tiled, None, 2, body), nodes, lambda node: True)
    assert bool(taken) == (kernel.buffers[0].same == 1)
    return bool(taken)


def x(index, *mask):
    return load(0, index, dt.float32, *mask)


AT, ROW = ix.of(ALONG), ix.of(WITHIN)
PLACE = ix.add(ix.mul(AT, 4), ROW)


def test_only_loads_of_the_own_place_before_the_store_may_share():
    assert shares(Loop(ALONG, "vector", (Store(1, AT, x(AT)),)))
    assert not shares(Loop(ALONG, "vector", (Store(1, AT, x(ix.shift(AT, 1))),)))
    assert not shares(Loop(ALONG, "vector", (Store(1, AT, make(ADD, dt.float32, (), (x(AT), x(ix.ZERO)))),)))
    stored = Loop(ALONG, "vector", (Store(1, AT, x(AT)),))
    assert not shares(stored, Loop(ALONG, "vector", (Store(1, AT, x(AT)),)))        # loads what it has written
    assert not shares(stored, object())                                         # a statement that it does not know


def test_a_loop_that_the_place_does_not_mention_forbids_sharing():
    assert shares(Loop(WITHIN, "serial", (Store(1, PLACE, x(PLACE)),)), tiled=False, size=24)
    assert not shares(Loop(WITHIN, "serial", (Store(1, AT, x(AT)),)), tiled=False)
    assert not shares(Store(1, ROW, x(ROW)), tiled=False, parallel=(ALONG, WITHIN))


@pytest.mark.parametrize("order", ["forward", "reverse", "5"])
def test_the_interpreter_finds_a_kernel_that_must_not_share(order: str):
    def run(index) -> np.ndarray:
        same = KernelBuffer("y0", dt.float32, 6, False, same=1)
        body = (Loop(ALONG, "vector", (Store(1, AT, x(index)),)),)
        shared = Memory.given(np.arange(6, dtype=np.float32))
        run_kernel(Kernel("probe", (same, KernelBuffer("y0", dt.float32, 6, True)), (), (ALONG,), True, None, 2, body),
                   [shared, shared], {}, order)
        return shared.array
    assert run(AT).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(KernelFault, match="writes"):
        run(ix.shift(ix.mul(AT, -1), 5))


def test_the_verifier_finds_buffers_that_cannot_be_one(settings):
    nodes = tuple(leaf(dt.float32, (6,), None, "cpu") for _ in range(2))
    body = (Loop(ALONG, "vector", (Store(1, AT, x(AT)),)),)
    for x0 in (KernelBuffer("x0", dt.float32, 6, False, same=1), KernelBuffer("y0", dt.float32, 6, False, same=0)):
        kernel = Kernel("probe", (x0, KernelBuffer("y0", dt.float32, 6, True)), (), (ALONG,), True, None, 2, body)
        with pytest.raises(VerifyError, match="cannot lie in"):
            verify_kernel(kernel, nodes)
