"""A CuPy without a GPU, for tests of runtime/cuda.py: device memory is the host's, kernels are run by the emulator.

It has what runtime/cuda.py uses and no more. tests/test_cuda.py holds the names and signatures against the real one.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphc.errors import CompileError
from graphc.ir.program import KernelSource
from graphc.runtime.emulator import Emulator

live: dict[int, int] = {}  # address -> size of what is allocated
log: list[str] = []  # "upload", "download", "copy", "launch NAME", "graph": what was enqueued


current = threading.local()  # its `device` is the thread's; what belongs to the first device is used on that alone


def get_device() -> int:
    return getattr(current, "device", 0)


class Device:
    compute_capability = "90"

    def __init__(self, number: int):
        self.id = number

    def __enter__(self) -> Device:
        self.before, current.device = get_device(), self.id
        return self

    def __exit__(self, *exception: object) -> None:
        current.device = self.before


class Memory:
    def __init__(self, size: int):
        assert get_device() == 0
        self.array = np.full(max(size, 1), 0xFF, np.uint8)
        self.ptr, self.size = self.array.ctypes.data, size
        live[self.ptr] = size

    def __del__(self) -> None:
        live.pop(self.ptr, None)


class UnownedMemory:
    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1):
        self.ptr, self.size, self.owner = ptr, size, owner


class MemoryPointer:
    def __init__(self, mem: Any, offset: int):
        self.mem, self.ptr = mem, mem.ptr + offset


class OutOfMemoryError(MemoryError):
    pass


class ndarray(np.ndarray):  # noqa: N801
    number = 0  # of its device

    def __new__(cls, shape: tuple[int, ...], dtype: Any, memptr: MemoryPointer) -> ndarray:
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = (ctypes.c_char * nbytes).from_address(memptr.ptr)
        found = np.frombuffer(raw, dtype, count=int(np.prod(shape))).reshape(shape).view(cls)
        found.held = memptr
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return on_device(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, args: tuple, options: dict) -> Any:
        return on_device(function, args, options)

    @property
    def device(self) -> Device:  # type: ignore[override]
        return Device(self.number)

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        return MemoryPointer(UnownedMemory(self.ctypes.data, self.nbytes, self), 0)


def on_device(function: Any, args: tuple, options: dict) -> Any:
    """A function of NumPy on arrays of the device alone: CuPy takes none of the host's beside them."""
    strangers = [x for x in (*args, *options.values()) if type(x) is np.ndarray]
    if strangers:
        raise TypeError(f"Unsupported type {type(strangers[0])}")
    if function in (np.sort, np.argsort) and options.get("kind") not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")
    if function is np.linalg.solve and args[1].ndim > 1 and args[0].shape[:-1] != args[1].shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K)")
    if function in (np.argsort, np.sort):
        options = options | {"kind": "stable"}
    elif function in (np.linalg.eig, np.linalg.eigvals):
        raise RuntimeError("geev is not available")

    def to_host(x: Any) -> Any:
        return x.view(np.ndarray) if isinstance(x, ndarray) else x

    found = function(*map(to_host, args), **{name: to_host(x) for name, x in options.items()})
    if isinstance(found, tuple):
        return tuple(x.view(ndarray) for x in found)
    return np.asarray(found).view(ndarray)  # as in CuPy, also of no axes


class Graph:
    def __init__(self, work: list):
        self.work = work

    def launch(self, stream: Stream) -> None:
        assert get_device() == 0
        log.append("graph")
        for run in self.work:
            run()


class Event:
    """Of an upload; the work of this device is done at once."""

    def __init__(self, *, disable_timing: bool):
        assert disable_timing
        self.recorded = False

    def record(self, stream: Stream) -> None:
        assert get_device() == 0
        self.recorded = True

    def synchronize(self) -> None:
        assert self.recorded


class PinnedMemory(bytearray):
    @property
    def ptr(self) -> int:
        return np.frombuffer(self, np.uint8).ctypes.data


class Stream:
    captured: list | None = None

    def __init__(self, *, non_blocking: bool = False):
        self.non_blocking = non_blocking
        self.ptr = 8 if non_blocking else 7

    def __enter__(self) -> Stream:
        assert get_device() == 0
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def synchronize(self) -> None:
        assert self.captured is None

    def begin_capture(self) -> None:
        assert self.non_blocking  # one that waits for the default stream would fail with what is enqueued there
        self.captured = []

    def end_capture(self) -> Graph:
        work, self.captured = self.captured, None
        assert work is not None
        return Graph(work)


class RawModule:
    hip = False

    def __init__(self, *, path: str):
        self.text = Path(path).read_text()

    def get_function(self, name: str) -> Any:
        emulator = Emulator(self.hip, 64 if self.hip else 32)
        [kernel] = emulator.compile([KernelSource(name, self.text)])

        def call(grid: tuple, block: tuple, args: tuple, *, shared_mem: int = 0, stream: Stream) -> None:
            assert get_device() == 0
            [table] = args

            def run() -> None:
                log.append(f"launch {name}")
                kernel.launch((*grid, 1, 1), (*block, 1, 1), [], lambda places: [ctypes.c_void_p(int(table))],
                              shared_mem, ["rising"])
            if stream.captured is None:
                run()
            else:
                stream.captured.append(run)
        return call


class CompileException(Exception):
    def get_message(self) -> str:
        return str(self)


def compile_using_nvrtc(source: str, options: tuple, arch: Any, filename: str) -> tuple[bytes, None]:
    entry = filename.removesuffix(".cu")
    try:
        Emulator(RawModule.hip, 64 if RawModule.hip else 32).compile([KernelSource(entry, source)])
    except CompileError as error:
        raise CompileException(error.message) from None
    return source.encode(), None


class NVRTCError(Exception):
    pass


def createProgram(source: str, name: str, headers: tuple, include_names: tuple) -> list[str]:  # noqa: N802
    return [source, name.removesuffix(".cu"), ""]


def compileProgram(program: list[str], options: tuple) -> None:  # noqa: N802
    assert options[-1] == "-arch=sm_90a"
    try:
        Emulator(False, 32).compile([KernelSource(program[1], program[0])])
    except CompileError as error:
        program[2] = error.message
        raise NVRTCError from None


NVRTC = types.SimpleNamespace(
    getVersion=lambda: (13, 0), NVRTCError=NVRTCError, createProgram=createProgram, compileProgram=compileProgram,
    getCUBIN=lambda program: program[0].encode(), getProgramLog=lambda program: program[2],
    destroyProgram=lambda program: program.clear())


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:  # noqa: N802
    assert stream == 7
    log.append({1: "upload", 2: "download", 3: "copy"}[kind])
    ctypes.memmove(dst, src, size)


def alloc(size: int) -> MemoryPointer:
    if size > 1 << 40:
        raise OutOfMemoryError("out of memory")
    return MemoryPointer(Memory(size), 0)


@contextlib.contextmanager
def errstate(*, linalg: str) -> Iterator[None]:
    assert linalg == "raise"
    yield


def modules(hip: bool = False) -> dict[str, types.ModuleType]:
    """What to put into sys.modules."""
    RawModule.hip = hip
    properties = {"name": b"Fake", "multiProcessorCount": 1, "totalGlobalMem": 1 << 30, "sharedMemPerBlock": 48 << 10,
                  "warpSize": 64 if hip else 32} | ({"gcnArchName": b"gfx90a"} if hip else {})
    cupy, cupyx = types.ModuleType("cupy"), types.ModuleType("cupyx")
    for module in (cupy, cupyx):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    vars(cupyx).update(errstate=errstate)
    vars(cupy).update(
        __version__="fake", ndarray=ndarray, RawModule=RawModule,
        ascontiguousarray=lambda array: np.ascontiguousarray(array).view(ndarray),
        from_dlpack=lambda array: np.from_dlpack(array).view(ndarray), cuda=types.SimpleNamespace(
            is_available=lambda: True, alloc=alloc, Stream=Stream, Event=Event,
            alloc_pinned_memory=PinnedMemory, UnownedMemory=UnownedMemory,
            MemoryPointer=MemoryPointer, Device=Device,
            nvrtc=NVRTC,
            memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            compiler=types.SimpleNamespace(compile_using_nvrtc=compile_using_nvrtc, CompileException=CompileException),
            runtime=types.SimpleNamespace(
                is_hip=hip, getDevice=get_device, getDeviceProperties=lambda number: properties,
                memcpyAsync=memcpyAsync, memcpyHostToDevice=1, memcpyDeviceToHost=2, memcpyDeviceToDevice=3)))
    return {"cupy": cupy, "cupyx": cupyx}
