"""The OpenCL backend: pyopencl's platforms and one in-order queue.

Compiled kernels are kept on disk by the drivers themselves. (To ask PoCL for a binary makes it compile the kernel anew
for groups of every size, which takes ten times as long.)
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import BackendError, CompileError
from graphc.ir.program import KernelSource
from graphc.runtime import cache, opencl_features, pocl
from graphc.runtime.compiler import first_error
from graphc.runtime.device import DeviceBackend, DeviceBuffer, DevicePool, Work, require_process

INSTALL = "pip install 'graphc[opencl]', or 'graphc[pocl]' for a device that is the CPU"
GROUPS = 256, 128, 64  # work items of a group: the first is the dialect's own, the others those of small devices


class OpenClBackend(DeviceBackend):
    """Kernels on the best OpenCL device, GPUs before others."""

    name = "opencl"
    kind = "gpu"

    def __init__(self) -> None:
        super().__init__()
        self._pid = os.getpid()  # of the process whose queue it has
        atexit.register(self._finish)

    def _finish(self) -> None:
        """Wait for what nobody read. A driver's thread may still compile it, while the process that ends takes down the
        compiler: PoCL's died of that."""
        if "_queue" in self.__dict__ and self._pid == os.getpid():
            self._queue.finish()

    @property
    def rank(self) -> int | None:
        """A GPU is chosen before the CPU. Where none can be, nothing is imported to find that out."""
        if importlib.util.find_spec("pyopencl") is None or not _may_have_gpu():
            return None
        return 30 if self.is_available() is None and self._is_gpu(self._device) else None

    # ----------------------------------------------------------------------------------------------------- the device

    def is_available(self) -> str | None:
        if importlib.util.find_spec("pyopencl") is None:
            return f"pyopencl is not installed; {INSTALL}"
        try:
            device = self._device
        except ImportError as error:
            return f"pyopencl cannot be imported: {error}"
        if device is None:
            return f"pyopencl finds no OpenCL device; {INSTALL}"
        return None if _group_of(device) else (
            f"{device.name.strip()} has groups of at most {device.max_work_group_size} work items, and kernels need "
            f"{GROUPS[-1]}; {INSTALL}")

    @cached_property
    def dialect(self) -> str:
        """Kernels for groups of the size that the device has."""
        return dialect_of(GROUPS[0] if self.is_available() is not None else _group_of(self._device))

    @cached_property
    def _device(self) -> Any:
        """The device of the fastest kind, one whose groups are large enough if there is one; None if there is none."""
        import pyopencl as cl

        try:
            found = devices(cl)
        except cl.Error:  # no platform at all
            return None
        if os.environ.get("PYOPENCL_CTX"):  # pyopencl's own way to choose
            try:
                return cl.create_some_context(interactive=False).devices[0]
            except (RuntimeError, cl.Error):
                return None
        working = [d for d in found if d.available and d.compiler_available]
        return max(working, key=lambda d: (_group_of(d) > 0, "simulator" not in d.name.lower(), self._is_gpu(d)),
                   default=None)

    @staticmethod
    def _is_gpu(device: Any) -> bool:
        import pyopencl as cl

        return bool(device.type & cl.device_type.GPU)

    @cached_property
    def _queue(self) -> _Queue:
        if (reason := self.is_available()) is not None:
            raise BackendError(reason, op="GRAPHC_BACKEND")
        self._pid = os.getpid()
        return _Queue(self._device)

    @cached_property
    def _pool(self) -> DevicePool:
        return DevicePool(self._queue)

    def describe(self) -> dict[str, str]:
        d = self._device
        return {
            "device": d.name.strip(),
            "platform": f"{d.platform.name.strip()}, {d.platform.version.strip()}",
            "driver": d.driver_version,
            "compute units": str(d.max_compute_units),
            "memory": f"{d.global_mem_size:,} bytes, {d.local_mem_size:,} shared by a group",
            "float64": "yes" if "cl_khr_fp64" in d.extensions else "no",
            "groups": f"{self._queue.group} work items",
            "sub-groups": str(self._queue.features.wave) if self._queue.features.wave > 1 else "no",
            "half precision": "yes" if self._queue.features.half else "no",
            "options": " ".join(self._queue.options),
            "cache": "the driver's own",
        }

    def allocate(self, nbytes: int) -> DeviceBuffer:
        pool = self._pool
        require_process(self._pid)
        return pool.allocate(nbytes)

    # ------------------------------------------------------------------------------------------------------ compiling

    def _open(self, kernel: KernelSource) -> Any:
        if self._queue is not None:     # it is made here if need be, with the process that it belongs to
            require_process(self._pid)
        return self._build(kernel)

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        return ["in memory" if kernel in self._kernels else "not compiled" for kernel in kernels]


def devices(cl: Any) -> list[Any]:
    """Of all platforms, ready to compile."""
    found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    for device in found:
        if pocl.NAME in device.platform.name:
            pocl.name_processor(device.int_ptr)
    return found


class _Kernel(NamedTuple):
    """A compiled kernel. members: how many its arguments have room for, if several."""

    entry: Any
    members: int


class _Queue:
    """One device's context and queue; see runtime.device.Queue. group: work items of a group."""

    def __init__(self, device: Any):
        import pyopencl as cl

        self.cl, self.device, self.group = cl, device, _group_of(device)
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, device)
        self.options = ["-cl-std=CL1.2", "-w"]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            self.options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        self.features = opencl_features.find(cl, self.queue, device, self.group)
        self._before, self._is_tried = "", True  # text that precedes kernels; whether it is known that it compiles
        if pocl.NAME in device.platform.name:
            self._before, self._is_tried = pocl.DECLARATIONS, False
            self.options += pocl.OPTIONS
        # Arguments belong to a kernel until it is enqueued; and not every driver takes calls of several threads.
        self._lock = threading.RLock()
        self._launches = 0

    def build(self, kernel: KernelSource) -> Any:
        try:
            program = self._built(kernel.text)
        except self.cl.Error as error:
            source = cache.keep_source(f"{kernel.entry}.cl", kernel.text)
            raise CompileError(f"the OpenCL compiler refuses the kernel {kernel.entry}: {first_error(str(error))}",
                               fix=f"the source lies in {source}") from None
        entry = self.cl.Kernel(program, kernel.entry)
        most = entry.get_work_group_info(self.cl.kernel_work_group_info.WORK_GROUP_SIZE, self.device)
        if most < self.group:
            source = cache.keep_source(f"{kernel.entry}.cl", kernel.text)
            raise CompileError(f"the OpenCL device runs the kernel {kernel.entry} in groups of at most {most} work "
                               f"items, not of {self.group}", fix=f"the source lies in {source}")
        return _Kernel(entry, kernel.members)

    def _built(self, text: str) -> Any:
        """A program. A PoCL for which our declarations are not right reads its own, from the first kernel on."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what compilers remark on kernels that they accept
                program = self.cl.Program(self.context, self._before + text)
                program.build(options=[*self.options, *self.features.options(text)], cache_dir=False)
        except self.cl.Error:
            if self._is_tried:
                raise
            self._before, self._is_tried = "", True
            self.options = [option for option in self.options if option not in pocl.OPTIONS]
            return self._built(text)
        self._is_tried = True
        return program

    # -------------------------------------------------------------------------------------------------- runtime.device

    def allocate(self, nbytes: int) -> Any:
        try:
            return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, nbytes)
        except self.cl.MemoryError as error:
            raise MemoryError(str(error)) from None
        except self.cl.RuntimeError as error:   # more than one buffer may have
            raise MemoryError(str(error)) from None

    def write(self, handle: Any, offset: int, array: np.ndarray) -> None:
        with self._lock:
            self.cl.enqueue_copy(self.queue, handle, array, dst_offset=offset, is_blocking=True)

    def read(self, handle: Any, offset: int, array: np.ndarray) -> None:
        with self._lock:
            self.cl.enqueue_copy(self.queue, array, handle, src_offset=offset, is_blocking=True)

    def copy(self, source: Any, source_offset: int, target: Any, target_offset: int, nbytes: int) -> None:
        with self._lock:
            self.cl.enqueue_copy(self.queue, target, source, byte_count=nbytes, src_offset=source_offset,
                                 dst_offset=target_offset)

    def launch(self, kernel: _Kernel, members: Sequence[Work], shared: int, fault: DeviceBuffer) -> None:
        for _, buffers, words in members:
            words[:len(buffers)] = [buffer.offset for buffer in buffers]
        words = _words_of(members, kernel.members) if kernel.members > 1 else members[0].words
        buffers = [buffer for member in members for buffer in member.buffers]
        buffers += list(members[0].buffers) * (kernel.members - len(members))
        items = sum(member.groups for member in members) * self.group
        with self._lock:
            begun = -1
            while begun != self._launches:      # else a signal handler launched the kernel with arguments of its own
                begun = self._launches = self._launches + 1
                for number, buffer in enumerate(buffers):
                    kernel.entry.set_arg(number, buffer.handle)
                kernel.entry.set_arg(len(buffers), words)
                kernel.entry.set_arg(len(buffers) + 1, fault.handle)
                if shared:
                    kernel.entry.set_arg(len(buffers) + 2, self.cl.LocalMemory(shared))
            self.cl.enqueue_nd_range_kernel(self.queue, kernel.entry, (items,), (self.group,))

    def finish(self) -> None:
        """Wait for all that was enqueued."""
        with self._lock:
            self.queue.finish()


def _words_of(members: Sequence[Work], room: int) -> np.ndarray:
    """The words of all members, each at its place, and then with which group each begins."""
    size = len(members[0].words)
    words = np.zeros(room * (size + 1), np.int64)
    for k, member in enumerate(members):
        words[k * size : (k + 1) * size] = member.words
    firsts = words[room * size :]
    firsts[:] = np.iinfo(np.int64).max
    firsts[: len(members)] = list(accumulate((member.groups for member in members), initial=0))[:-1]
    return words


def dialect_of(group: int) -> str:
    """The dialect of kernels whose groups have so many work items."""
    return "opencl" if group == GROUPS[0] else f"opencl-{group}"


def _group_of(device: Any) -> int:
    """Work items of a group on this device; 0 where its groups are too small."""
    return next((group for group in GROUPS if group <= device.max_work_group_size), 0)


def _may_have_gpu() -> bool:
    """Whether the system shows a GPU at all; one that is no Linux may."""
    return os.name != "posix" or not Path("/dev").is_dir() or any(
        Path("/dev", name).exists() for name in ("dri", "kfd", "nvidia0", "nvidiactl", "dxg"))
