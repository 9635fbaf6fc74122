"""runtime/cuda.py without a GPU: over a CuPy whose device is the host, which runs kernels by the emulator. What is used
of CuPy is held against the real one where that is installed; it can be imported without a driver."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
import threading
from pathlib import Path

import fake_cupy
import numpy as np
import pytest

import graphc as gc
from graphc import codegen, driver
from graphc.errors import BackendError, CompileError, IndexOutOfRange, NoCompilerError
from graphc.ir import routines
from graphc.ir.program import KernelSource
from graphc.runtime import backend as backends
from graphc.runtime import cuda, emulator

SOURCE, ROUTINES = Path(cuda.__file__).read_text(), Path(routines.__file__).read_text()


@pytest.fixture(params=["cuda", "hip"])
def device(request, monkeypatch):
    """The backend of that name, the current one, over the stand-in."""
    try:
        emulator.find_compiler()
    except NoCompilerError as error:
        pytest.skip(error.message)
    for name, module in fake_cupy.modules(request.param == "hip").items():
        monkeypatch.setitem(sys.modules, name, module)
    kind = {"cuda": cuda.CudaBackend, "hip": cuda.HipBackend}[request.param]
    monkeypatch.setitem(backends._instances, request.param, kind())
    before = gc.get_backend_name()
    gc.set_backend(request.param)
    fake_cupy.log.clear()
    yield request.param
    gc.set_backend(before)
    driver._backends.pop(request.param, None)
    driver.forget_programs()


def launched() -> list[str]:
    """What was enqueued since the last time: "upload", "launch" or "graph"."""
    found = [line.split(" ")[0] for line in fake_cupy.log]
    fake_cupy.log.clear()
    return found


def test_a_program_of_several_kernels(device):
    x = np.random.default_rng(0).standard_normal((7, 300)).astype(np.float32)
    t = gc.asarray(x)
    found = gc.softmax(gc.sum(t * 2, axis=1) + 1)
    rows = x.sum(1, dtype=np.float64) * 2 + 1
    expected = np.exp(rows - rows.max()) / np.exp(rows - rows.max()).sum()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)


def test_kernels_are_kept_for_the_kind_of_device(device, monkeypatch):
    backend = driver.backend_of(device)
    assert backend.describe()["architecture"] == {"cuda": "90", "hip": "gfx90a"}[device]
    kernel = KernelSource("nothing", 'extern "C" __global__ void nothing(const long long *table) {}')
    key = backend._queue.key(kernel)
    monkeypatch.setattr(backend._queue, "architecture", "another")
    assert backend._queue.key(kernel) != key


def test_a_device_of_hip_has_the_dialect_of_its_matrix_unit(device):
    """Or of none: what is older, and what nobody knows yet."""
    units = {"gfx908": "hip-cdna", "gfx90a:sramecc+:xnack-": "hip-cdna", "gfx1151": "hip-rdna3", "gfx1201": "hip-rdna4"}
    dialects = units | {"gfx906": "hip", "gfx1030": "hip", "gfx1250": "hip"}
    assert {name: cuda.dialect_of(name) for name in dialects} == dialects
    assert all(codegen.is_dialect(name) for name in dialects.values())
    assert driver.backend_of(device).dialect == {"cuda": "cuda-hopper", "hip": "hip-cdna"}[device]


def test_replays_of_a_graph_are_fresh(device):
    """Other inputs, outputs and scalars at each call: what the graph reads is what was uploaded for it."""
    @gc.jit
    def step(x, y, scale):
        rows = gc.sum(x * scale, axis=1)
        return gc.softmax(rows), gc.max(rows * y)

    rng = np.random.default_rng(1)
    kept = []
    for turn in range(6):
        x, y = rng.standard_normal((5, 40)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
        fake_cupy.log.clear()
        soft, most = step(gc.asarray(x), gc.asarray(y), float(turn))
        gc.realize(soft, most)
        kept.append((x, y, turn, soft, most))
        work = launched()
        assert ("graph" in work) == (device == "cuda" and turn >= cuda.DIRECT), work
        assert work.count("launch") >= 2
    for x, y, turn, soft, most in kept:
        rows = x.sum(1) * turn
        np.testing.assert_allclose(soft.numpy(), np.exp(rows - rows.max()) / np.exp(rows - rows.max()).sum(), rtol=1e-4)
        np.testing.assert_allclose(most.numpy(), (rows * y).max(), rtol=1e-4)


def test_what_others_enqueue_during_a_capture_runs(device, monkeypatch):
    """Another thread may, and is no part of the graph."""
    other, start = [], cuda._Tables._start

    def busy(self, stream=None) -> None:
        start(self, stream)
        if stream is not None:
            other.append(gc.sum(gc.asarray(np.arange(5.0)) + 1).item())

    monkeypatch.setattr(cuda._Tables, "_start", busy)
    step = gc.jit(lambda x: (gc.sum(x, axis=1), gc.sum(x @ x.T)))
    for turn in range(4):
        rows, total = step(gc.asarray(np.full((3, 5), turn, np.float32)))
        assert rows.tolist() == [5 * turn] * 3 and total.item() == 45 * turn**2
    assert other == ([15] if device == "cuda" else [])


def test_a_run_inside_of_a_run_of_the_same_program(device, monkeypatch):
    """As of a signal handler, which may come in before each launch."""
    step = gc.jit(lambda x, scale: gc.softmax(gc.sum(x * scale, axis=1)))
    x, y = (gc.asarray(np.arange(k, k + 12, dtype=np.float32).reshape(3, 4)) for k in (0, 5))
    wanted = [step(x, 0.125).numpy(), step(y, 0.25).numpy()]
    depth, start, inner = 0, cuda.CupyQueue.start, []

    def interrupted(self, *arguments) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            inner.append(step(y, 0.25))
            gc.realize(inner[-1])
        depth -= 1
        start(self, *arguments)

    monkeypatch.setattr(cuda.CupyQueue, "start", interrupted)
    for _ in range(4):
        np.testing.assert_array_equal(step(x, 0.125).numpy(), wanted[0])
    assert inner
    for result in inner:
        np.testing.assert_array_equal(result.numpy(), wanted[1])


def test_tables_are_kept_by_the_places_of_the_buffers(device, monkeypatch):
    """The same buffers again with other scalars, and more of them than are kept."""
    monkeypatch.setattr(cuda, "KEPT_TABLES", 2)

    @gc.jit
    def step(x, scale):
        return gc.max(gc.sum(x * scale, axis=1) + 1)

    arrays = [np.full((3, 5), k, np.float32) for k in range(4)]
    tensors = [gc.asarray(a) for a in arrays]
    for turn in range(4):
        for a, t in zip(arrays, tensors, strict=True):
            assert step(t, turn + 0.5).item() == a.sum(1).max() * (turn + 0.5) + 1
            assert step(t, turn - 0.5).item() == a.sum(1).max() * (turn - 0.5) + 1


def test_members_of_a_launch(device):
    """Parameters of three shapes are stepped by one launch, also in a graph, with other scalars each time."""
    @gc.jit
    def step(parameters, rate):
        return [p - p * p * rate for p in parameters], gc.sum(parameters[1])

    arrays = [np.arange(n, dtype=np.float32) / n for n in (7, 300, 600)]
    for turn in range(5):
        fake_cupy.log.clear()
        found, _ = step([gc.asarray(a) for a in arrays], turn * 0.5)
        for tensor, a in zip(found, arrays, strict=True):
            assert np.array_equal(tensor.numpy(), a - a * a * np.float32(turn * 0.5))
        assert launched().count("launch") == 2


def test_a_run_is_one_upload(device):
    x, y = gc.asarray(np.ones((3, 50), np.float32)), gc.asarray(np.ones(3, np.float32))
    gc.realize(x, y)
    fake_cupy.log.clear()
    gc.realize(gc.softmax(gc.sum(x, axis=1)) + y, gc.sum(x * 3, axis=0))
    work = launched()
    assert work.count("upload") == 1 and work[0] == "upload" and work.count("launch") >= 2


def test_updates_copies_and_library_steps(device):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = gc.asarray(x)
    kept = t * 1
    t[1] = 7
    x[1] = 7
    assert np.array_equal(t.numpy(), x) and kept.numpy()[1, 0] == 4
    launched()
    found = [gc.sort(-t, axis=1), gc.argsort(t, axis=0), *gc.linalg.svd(t @ gc.transpose(t))]
    gc.realize(*found)
    assert "download" not in launched()
    assert np.array_equal(found[0].numpy(), np.sort(-x, axis=1)) and np.array_equal(found[1].numpy(), np.argsort(x, 0))
    u, s, v = (part.numpy() for part in found[2:])
    np.testing.assert_allclose(u * s @ v, x @ x.T, rtol=1e-4, atol=1e-4)
    gc.realize(gc.sort(t.astype(gc.bfloat16)))
    assert "download" in launched()     # not one of CuPy's types: on the host
    with pytest.raises(np.linalg.LinAlgError):
        gc.linalg.inv(gc.zeros((2, 2))).numpy()
    np.testing.assert_allclose(gc.fft.rfft(t).numpy(), np.fft.rfft(x), rtol=1e-5, atol=1e-5)


def test_routines_that_cupy_has_otherwise(device, monkeypatch):
    """It takes no arrays of the host beside its own, broadcasts no stacks, and may lack general eigenvalues."""
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 3, (4, 9)).astype(np.float32)
    for descending in (False, True):
        found = gc.argsort(gc.asarray(x), axis=1, descending=descending, stable=True).numpy()
        assert np.array_equal(found, np.argsort(-x if descending else x, axis=1, kind="stable"))
        with monkeypatch.context() as patch:
            patch.setattr(routines, "run_routine", None)    # which takes arrays of the host
            best = gc.topk(gc.asarray(x), 3, axis=1, largest=descending).indices.numpy()
        assert np.array_equal(best, found[:, :3])
    a = rng.random((2, 3, 3)) + np.eye(3) * 3
    for b in (rng.random(3), rng.random((3, 3)), rng.random((3, 2)), rng.random((5, 1, 3, 2))):
        found = gc.linalg.solve(gc.asarray(a), gc.asarray(b)).numpy()
        np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-12)
    np.testing.assert_allclose(gc.linalg.eigvals(gc.asarray(a)).numpy(), np.linalg.eigvals(a), rtol=1e-12)


def test_a_child_of_the_process_is_told(device):
    t = gc.asarray(np.arange(5.0)) + 1
    gc.realize(t)
    backend = driver.backend_of(device)
    backend._queue._pid += 1
    backend._queue._after_fork()
    for use in (t.numpy, lambda: gc.asarray(np.ones(3)), lambda: backend.compile([KernelSource("new", "")])):
        with pytest.raises(BackendError, match="forked after it used this device"):
            use()


def test_loops_and_branches(device):
    x = np.arange(12.0).reshape(4, 3)
    final, sums = gc.scan(lambda total, row: (total + row, total * 2), gc.zeros(3), gc.asarray(x))
    assert np.array_equal(final.numpy(), x.sum(0))
    assert np.array_equal(sums.numpy()[:, 0], [0, 0, 6, 18])


def test_a_bad_index_and_text_that_does_not_compile(device):
    with pytest.raises(IndexOutOfRange):
        gc.take(gc.asarray(np.arange(5.0)), gc.asarray(np.array([1, 9]))).numpy()
    with pytest.raises(CompileError, match="refuses the kernel broken: .*nowhere"):
        driver.backend_of(device).compile([KernelSource("broken", 'extern "C" __global__ void broken() { nowhere; }')])


def test_memory_goes_back_at_once(device):
    import gc as collector

    collector.collect()
    before = sum(fake_cupy.live.values())
    t = gc.asarray(np.ones(100_000, np.float32))
    gc.realize(t)
    assert sum(fake_cupy.live.values()) >= before + 400_000
    del t
    assert sum(fake_cupy.live.values()) < before + 400_000
    with pytest.raises(MemoryError):
        driver.backend_of(device).allocate(1 << 41)


def test_arrays_of_the_device_are_shared(device):
    backend = driver.backend_of(device)
    array = fake_cupy.ndarray((4,), np.float32, fake_cupy.alloc(16))
    array[:] = [1, 2, 3, 4]
    for copy in (False, True):
        buffer, dtype, shape = backend.from_array(array, copy)
        assert (buffer.view(dtype, shape) == [1, 2, 3, 4]).all() and shape == (4,)
        assert (buffer.handle.ptr == array.data.ptr) is not copy
        array[:] = 5
        assert (buffer.view(dtype, shape) == (5 if not copy else [1, 2, 3, 4])).all() or copy
        array[:] = [1, 2, 3, 4]


def test_threads_with_another_device_use_this_one(device):
    """Another thread's current device is the first, or what it has chosen: the backend's is another, whose memory,
    stream and kernels are of no use there. What it has chosen stays."""
    @gc.jit
    def step(x):
        return gc.softmax(gc.sum(x, axis=1)), gc.max(x)

    array, found = np.arange(12, dtype=np.float32).reshape(3, 4), []
    gc.realize(gc.asarray(array) + 1)   # the device is that of the first use

    def elsewhere() -> None:
        fake_cupy.current.device = 3
        for _ in range(4):
            soft, most = step(gc.asarray(array))
            found.append((soft.sum().item(), most.item(), gc.sort(-gc.asarray(array), axis=1).numpy()[0, 0]))
        found.append(np.from_dlpack(Lent(gc.asarray(array) + 1, True))[0, 0])
        found.append(fake_cupy.get_device())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(found) == 6 and found[4:] == [1, 3]
    assert all(abs(total - 1) < 1e-6 and most == 11 and least == -3 for total, most, least in found[:4])


def test_an_array_on_another_device_is_copied(device):
    array = fake_cupy.ndarray((4,), np.float32, fake_cupy.alloc(16))
    array[:] = 2
    array.number = 1
    buffer, dtype, shape = driver.backend_of(device).from_array(array, copy=False)
    assert buffer.handle.ptr != array.data.ptr and (buffer.view(dtype, shape) == 2).all()


class Abroad:
    """Somebody's array in the device's memory."""

    def __init__(self, array: np.ndarray, device: str):
        self.array, self.kind = array, {"cuda": 2, "hip": 10}[device]

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__()


def test_tensors_of_arrays_of_the_device(device, monkeypatch):
    array = fake_cupy.ndarray((2, 3), np.float32, fake_cupy.alloc(24))
    array[:] = 1
    for make in (gc.asarray, gc.from_dlpack):
        shared, copied = make(Abroad(array, device), copy=False), make(Abroad(array, device))
        assert shared.device == device and shared.node.value.handle.ptr == array.data.ptr
        array[:] = 2
        assert (shared.numpy() == 2).all() and (copied.numpy() == 1).all()
        assert ((shared + copied) * 2).numpy().tolist() == [[6] * 3] * 2
        array[:] = 1
    assert gc.asarray(Abroad(array, device), dtype=gc.int32).dtype is gc.int32
    with pytest.raises(BackendError, match="DLPack's kind 7"):
        foreign = Abroad(array, device)
        foreign.kind = 7
        gc.from_dlpack(foreign)


def test_tensors_are_lent(device):
    t = gc.asarray(np.arange(6, dtype=np.float32).reshape(2, 3)) * 2
    assert t.__dlpack_device__() == ({"cuda": 2, "hip": 10}[device], 0)
    for copy in (False, True):
        taken = np.from_dlpack(Lent(t, copy))
        assert np.array_equal(taken, np.arange(6).reshape(2, 3) * 2)
        assert (taken.ctypes.data == t.node.value.handle.ptr) is not copy
    assert np.array_equal(np.from_dlpack(Lent(t, False, (1, 0))), t.numpy())


class Lent:
    """A tensor to NumPy, which takes what says that it lies on the host; the stand-in's device memory does."""

    def __init__(self, tensor, copy: bool, device: tuple[int, int] | None = None):
        self.tensor, self.copy, self.device = tensor, copy, device

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(copy=self.copy, dl_device=self.device)


# ------------------------------------------------------------------------------------------------------ without it


def test_what_is_missing_is_said(monkeypatch):
    backend = cuda.CudaBackend()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert backend.is_available() == f"CuPy is not installed; {backend.install}" and "graphc[cuda13]" in backend.install
    assert "graphc[rocm]" in cuda.HipBackend().is_available()
    monkeypatch.undo()
    for name, module in fake_cupy.modules(hip=True).items():
        monkeypatch.setitem(sys.modules, name, module)
    assert cuda.CudaBackend().is_available().startswith("the CuPy that is installed is for ROCm; pip install")
    sys.modules["cupy"].cuda.is_available = lambda: False
    assert "CuPy finds no GPU" in cuda.HipBackend().is_available()


def test_the_backend_says_so_where_it_is_chosen():
    if cuda.CudaBackend().is_available() is None:
        pytest.skip("there is a GPU")
    with pytest.raises(BackendError, match="the backend 'cuda' cannot run here: .*CuPy.*; available: "):
        backends.get("cuda")


def test_the_real_cupy_has_what_is_used():
    """Names and parameters, in a process of its own: CuPy is imported without a driver."""
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy is not installed")
    names = set(re.findall(r"\bcupy\.([a-z_.A-Z]+)", SOURCE))
    names |= {f"cuda.{module}.{name}" for module in ("compiler", "nvrtc")
              for name in re.findall(rf"\b{module}\.(\w+)", SOURCE)}
    assert {"RawModule", "cuda.alloc", "cuda.runtime.memcpyAsync", "cuda.compiler.CompileException"} <= names
    # what the routines of graphc/ir/routines.py call, which NumPy hands on to CuPy by name
    names |= {"ndarray.__array_function__", "ndarray.__array_ufunc__", "ndarray.__dlpack__", "ndarray.device",
              "cuda.Device.id", "cuda.Device.__enter__", "ndarray.sort", "matmul", "swapaxes"}
    called = r"\bnp\.((?:linalg\.)?(?:sort|argsort|flip|matmul|[a-z]+(?=\(x)))\("
    names |= set(re.findall(called, ROUTINES))
    names |= {f"fft.{name}" for name in re.findall(r'"(i?[rh]?fftn?|ihfft)"', ROUTINES)}
    assert {"linalg.svd", "linalg.eigh", "argsort", "fft.irfftn", "fft.hfft"} <= names
    script = ("import cupy, cupyx, functools, inspect, sys\n"
              "for name in sys.argv[1].split():\n"
              "    functools.reduce(getattr, name.split('.'), cupy)\n"
              "for name in 'begin_capture end_capture synchronize'.split(): getattr(cupy.cuda.Stream, name)\n"
              "assert hasattr(cupy.cuda.Graph, 'launch') and cupyx.errstate\n"
              "print(list(inspect.signature(cupy.cuda.compiler.compile_using_nvrtc).parameters)[:4])\n"
              "assert 'path (str)' in cupy.RawModule.__doc__\n")
    done = subprocess.run([sys.executable, "-c", script, " ".join(sorted(names))], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    parameters = list(inspect.signature(fake_cupy.compile_using_nvrtc).parameters)
    assert done.stdout.strip() == str(parameters)
