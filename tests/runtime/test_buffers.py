"""Host memory: the pool, views and their lifetime, limits."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

from graphc.config import settings
from graphc.errors import OutOfMemory
from graphc.runtime import buffers, memory
from graphc.runtime.buffers import Buffer, Pool, from_numpy, size_class


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 4096, 10**5, 1 << 20, (1 << 20) + 1, 10**7, 1 << 25])
def test_buffers_are_aligned_and_distinct(nbytes):
    pool = Pool()
    held = [pool.allocate(nbytes) for _ in range(5)]
    assert all(buffer.address % 64 == 0 and buffer.nbytes == nbytes for buffer in held)
    ends = sorted((buffer.address, buffer.address + max(nbytes, 1)) for buffer in held)
    assert all(end <= start for (_, end), (start, _) in zip(ends, ends[1:], strict=False))
    for number, buffer in enumerate(held):
        buffer.writable(np.uint8, (nbytes,))[...] = number
    for number, buffer in enumerate(held):
        assert (buffer.view(np.uint8, (nbytes,)) == number).all()


@pytest.mark.parametrize(("nbytes", "huge"), [(50_000, 0), (100_000, 1), (3 << 20, 2), (2_200_000, 1), (5 << 20, 3)])
def test_blocks_of_64_kb_lie_on_huge_pages(monkeypatch, nbytes, huge):
    """Whole pages of 2 MB are asked for, and one more where more than half of it is used."""
    asked = []

    class Mapping(buffers.mmap.mmap):
        def madvise(self, option, start, length):
            asked.append(length)
            super().madvise(option, start, length)

    monkeypatch.setattr(buffers.mmap, "mmap", Mapping)
    Pool().allocate(nbytes)
    assert sum(asked) == huge * buffers.HUGE_PAGE


def test_size_classes_waste_at_most_a_quarter():
    for nbytes in [*range(5000), *(2**k + d for k in range(13, 40) for d in (-1, 0, 1))]:
        size = size_class(nbytes)
        assert size >= nbytes and size % 64 == 0
        assert size <= max(64, nbytes * 1.25 + 64)
    with pytest.raises(ValueError):
        size_class(-1)


def test_a_freed_block_is_used_again():
    pool = Pool()
    first = pool.allocate(1 << 22)
    address = first.address
    del first
    assert pool.allocate((1 << 22) - 5).address == address


def test_slabs_grow_with_what_a_size_has_taken():
    """Weights of many layers lie on few huge pages; a few buffers, and small ones, take no more than they did."""
    for nbytes, count in ((400_000, 71), (900_000, 35)):
        pool = Pool()
        held = [pool.allocate(nbytes) for _ in range(count)]
        blocks = [buffer.owner for buffer in held]
        assert len({id(block.mapping) for block in blocks}) == 5     # of 2, 2, 4, 8 and 16 MiB
        assert pool.cached + sum(block.size for block in blocks) <= 32 << 20
    few = [pool.allocate(64) for _ in range(40_000)]
    assert len({id(buffer.owner.mapping) for buffer in few}) == 2


def test_figures():
    pool = Pool()
    a, b = pool.allocate(1000), pool.allocate(1 << 21)
    assert pool.in_use == 1000 + (1 << 21) == pool.high_water
    del b
    assert pool.in_use == 1000 and pool.high_water == 1000 + (1 << 21) and pool.cached >= 1 << 21
    pool.reset_high_water()
    assert pool.high_water == 1000
    del a
    assert pool.in_use == 0


def test_the_pool_is_bounded():
    pool = Pool(keep=1 << 22)
    held = [pool.allocate(1 << 21) for _ in range(10)]
    del held
    assert pool.cached <= (1 << 22) + (1 << 21)
    small = [pool.allocate(1 << 21) for _ in range(2)]  # sizes of the past make room for others
    del small
    other = pool.allocate(3 << 20)
    del other
    assert pool.cached <= (1 << 22) + (3 << 20)


# --------------------------------------------------------------------------------------------------------------- views


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64", "float16", ml_dtypes.bfloat16])
def test_views_are_read_only_and_share_memory(dtype):
    buffer = Pool().allocate(240)
    array = buffer.view(dtype, (5, 3))
    assert array.dtype == np.dtype(dtype) and array.shape == (5, 3) and not array.flags.writeable
    buffer.writable(dtype, (5, 3))[...] = 1
    assert (array.astype(np.float64) == 1).all()
    with pytest.raises(ValueError):
        array.flags.writeable = True
    with pytest.raises(ValueError):
        array[0, 0] = 1


def test_a_view_keeps_its_memory():
    pool = Pool()
    array = pool.allocate(1 << 21).view(np.uint8, (1 << 21,))[5:][::2]
    gc.collect()
    assert pool.in_use == 1 << 21
    del array
    gc.collect()
    assert pool.in_use == 0


def test_exports_are_counted():
    buffer = Pool().allocate(80)
    first, second = buffer.view(np.float64, (10,)), buffer.writable(np.float64, (10,))
    assert buffer.exports == 2
    part = first[2:4]
    del first, second
    assert buffer.exports == 1
    del part
    assert buffer.exports == 0


def test_views_outside_the_buffer_are_refused():
    buffer = Pool().allocate(80)
    for shape in [(11,), (2, 6)]:
        with pytest.raises(ValueError):
            buffer.view(np.float64, shape)
    for offset, nbytes in [(0, 81), (1, 80), (-8, 8)]:
        with pytest.raises(ValueError):
            buffer.part(offset, nbytes)
    assert buffer.part(64, 16).view(np.float64, (2,)).shape == (2,)
    assert buffer.view(np.float64, (0, 5)).shape == (0, 5)
    assert buffer.view(np.float64, ()).shape == ()


# ---------------------------------------------------------------------------------------------------------- from NumPy


def test_an_array_is_wrapped_and_kept():
    array = np.arange(10.0)
    buffer, gone = Buffer.wrap(array), weakref.ref(array)
    assert buffer.address == array.ctypes.data and buffer.nbytes == 80
    del array
    gc.collect()
    assert gone() is not None and buffer.view(np.float64, (10,))[9] == 9
    del buffer
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "array",
    [
        np.arange(20.0)[::2],
        np.arange(12.0).reshape(3, 4).T,
        np.arange(5, dtype=">i4"),
        np.frombuffer(b"\0" * 41, np.uint8)[1:].view(np.float64),
        np.broadcast_to(np.float64(3), (4,)),
    ],
    ids=["strided", "transposed", "foreign byte order", "misaligned", "broadcast"],
)
def test_what_kernels_cannot_read_is_copied(array):
    with pytest.raises(ValueError):
        Buffer.wrap(array)
    buffer = from_numpy(array)
    assert np.array_equal(buffer.view(array.dtype.newbyteorder("="), array.shape), array)
    assert buffer.address % 64 == 0


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.float64(2.5) + np.zeros(()), np.zeros(1, bool)])
def test_small_arrays(array):
    assert np.array_equal(from_numpy(array).view(array.dtype, array.shape), array)


def test_objects_are_refused():
    with pytest.raises(TypeError):
        from_numpy(np.array([object()]))


# -------------------------------------------------------------------------------------------------------------- limits


def test_what_cannot_fit_raises_before_memory_is_touched():
    pool = Pool()
    for nbytes in (1 << 45, 1 << 62, 1 << 70):
        with pytest.raises(MemoryError):
            pool.allocate(nbytes)
        with pytest.raises(MemoryError):
            pool.require(nbytes)
    assert pool.in_use == 0
    assert pool.allocate(100).nbytes == 100


def test_more_than_the_machine_has_free_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 << 20)
    pool = Pool(keep=1 << 30)
    with pytest.raises(OutOfMemory, match="are needed"):
        pool.allocate(200 << 20)
    held = [pool.allocate(40 << 20) for _ in range(2)]
    assert len(held) == 2


def test_the_limit_of_the_user():
    pool = Pool()
    with settings.override(memory_limit="1M"):
        held = pool.allocate(600_000)
        with pytest.raises(MemoryError, match="GRAPHC_MEMORY_LIMIT"):
            pool.allocate(600_000)
        with pytest.raises(MemoryError, match="GRAPHC_MEMORY_LIMIT"):
            pool.require(600_000)
        assert pool.in_use == 600_000
        del held
        assert pool.allocate(600_000).nbytes == 600_000


def test_a_failed_mapping_releases_what_is_cached(monkeypatch):
    pool, real, failures = Pool(keep=1 << 30), buffers._map, []

    def mapping(size, huge):
        if not failures:
            failures.append(size)
            raise OutOfMemory("no")
        return real(size, huge)

    block = pool.allocate(8 << 20)
    del block
    monkeypatch.setattr(buffers, "_map", mapping)
    held = pool.allocate(16 << 20)
    assert failures and held.nbytes == 16 << 20 and pool.cached == 0


def test_memory_of_this_machine():
    assert 0 < memory.available_bytes() <= memory.total_bytes() < 1 << 62


def test_control_groups_limit_both(monkeypatch):
    monkeypatch.setattr(memory, "_cgroup_limits", lambda: [(1 << 30, 1 << 29), (1 << 31, 0)])
    assert memory.total_bytes() <= 1 << 30
    assert memory.available_bytes() <= 1 << 29


def test_a_control_group_is_read(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 200000\n")
    monkeypatch.setattr(memory, "_folders", [(str(tmp_path), "memory.max", "memory.current")])
    assert memory._cgroup_limits() == [(1_000_000, 500_000)]
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._cgroup_limits() == []


# ------------------------------------------------------------------------------------------------------ threads, forks


def test_threads_never_get_the_same_block():
    pool, errors = Pool(), []

    def work(number):
        for turn in range(2000):
            nbytes = 64 * (1 + (turn * 7 + number) % 40)
            buffer = pool.allocate(nbytes)
            array = buffer.writable(np.uint8, (nbytes,))
            array[...] = number
            if not (array == number).all():
                errors.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    gc.collect()
    assert not errors and pool.in_use == 0


def test_a_collection_inside_an_allocation_does_not_hang():
    """Buffers in reference cycles are freed by the collector, at any moment of any thread."""
    pool = Pool()
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for nbytes in range(1, 20_000, 7):
            cycle = [pool.allocate(nbytes)]
            cycle.append(cycle)
    finally:
        gc.set_threshold(*threshold)
    del cycle
    gc.collect()
    assert pool.in_use == 0


def test_memory_is_private_to_a_forked_child():
    buffer = buffers.pool.allocate(1000)
    buffer.writable(np.uint8, (1000,))[...] = 1
    child = os.fork()
    if child == 0:
        buffer.writable(np.uint8, (1000,))[...] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert (buffer.view(np.uint8, (1000,)) == 1).all()
