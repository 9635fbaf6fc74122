"""What an OpenCL device has beyond OpenCL C 1.2 that kernels use, found by trying it.

Sub-groups: their items hand each other values without a barrier, as the warps of other devices do. Half precision: the
device converts to and from float16, and does arithmetic in it where a compiler sees that this rounds alike. What is
reported is tried before it is believed: lanes have to be numbered as items are, and every float16 has to be rounded to
and read as on other devices. Half precision is for GPUs alone: of CPUs that have it, one's compiler (Intel's, of 2026)
loses numbers of that type across barriers, in some kernels that no trial would foresee. A kernel's text has both behind
macros (codegen_templates/opencl/preamble.j2), which `Features.options` defines; the text is one for all devices.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

OWN_SIZE = """
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void probe(__global int *got)
{
    got[get_local_id(0)] = (int)get_max_sub_group_size();
}
"""
LANES = """
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size(GC_WAVE)))
#endif
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void probe(__global float *got)
{
    const int item = (int)get_local_id(0);
    for (int k = 0, step = 1; step < GC_WAVE; k++, step <<= 1)
        got[k * GROUP + item] = sub_group_shuffle_xor((float)item, (uint)step);
}
"""
ROUNDING = """
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void probe(__global const float *x, __global const ushort *a, __global const ushort *b, __global float *read,
           __global ushort *rounded)
{
    const size_t k = get_global_id(0), n = get_global_size(0);
    const float p = (float)as_half(a[k]), q = (float)as_half(b[k]);
    read[k] = p;
    rounded[k] = as_ushort((half)x[k]);
    rounded[k + n] = as_ushort((half)(p + q));
    rounded[k + 2 * n] = as_ushort((half)(p * q));
}
"""


class Features(NamedTuple):
    """
    wave  items of a sub-group; 1: the device has none that can be used
    half  whether it rounds float16 as other devices do
    """

    wave: int = 1
    half: bool = False

    def options(self, text: str) -> list[str]:
        """Of the compiler, for a kernel. The size of sub-groups is set only where it matters."""
        body = text.rpartition("GC_KERNEL ")[2]
        return [f"-DGC_WAVE={self.wave}"] * (self.wave > 1 and "GC_SHUFFLE_XOR(" in body) + ["-DGC_HALF"] * self.half


def find(cl: Any, queue: Any, device: Any, group: int) -> Features:
    """What the device of a queue has, of what it says. group: work items of a group."""
    names = device.extensions.split()
    probe = _Probe(cl, queue, group)
    wave = _size(probe, device, names) if "cl_khr_subgroup_shuffle" in names else 1
    wave = wave if wave > 1 and _numbers_lanes(probe, wave) else 1
    half = "cl_khr_fp16" in names and bool(device.type & cl.device_type.GPU) and _rounds(probe)
    return Features(wave, half)


def _size(probe: _Probe, device: Any, names: list[str]) -> int:
    """That of the sub-groups of all kernels; where they may ask for one, what a compiler chooses that is not asked.
    (Twice as many as a CPU's vectors have lanes are four times as slow as none.) 1: there is none."""
    fixed = (("cl_nv_device_attribute_query", "warp_size_nv"), ("cl_amd_device_attribute_query", "wavefront_width_amd"))
    found = [getattr(device, attribute) for name, attribute in fixed if name in names]
    if "cl_intel_required_subgroup_size" in names:
        got = np.zeros(probe.group, np.int32)
        found = [int(got[0])] if probe.run(OWN_SIZE, [], probe.group, got) else []
    return next((size for size in found if size in (8, 16, 32, 64)), 1)


def _numbers_lanes(probe: _Probe, wave: int) -> bool:
    """Whether the k-th sub-group of this size has the k-th so many items, in their order."""
    steps = wave.bit_length() - 1
    got = np.zeros((steps, probe.group), np.float32)
    item = np.arange(probe.group)
    return probe.run(LANES, [f"-DGC_WAVE={wave}"], probe.group, got) and all(
        np.array_equal(got[k], item ^ 1 << k) for k in range(steps))


def _rounds(probe: _Probe) -> bool:
    """Whether all float16 are read as they are, and what lies at, between and near them is rounded to nearest even."""
    a = np.arange(1 << 16, dtype=np.uint16)
    b = a * np.uint16(40503)
    p, q = (x.view(np.float16).astype(np.float32) for x in (a, b))
    with np.errstate(all="ignore"):
        half_way = (p + (a + np.uint16(1)).view(np.float16).astype(np.float32)) / 2
        x = np.stack([half_way, np.nextafter(half_way, np.float32(0)), np.nextafter(half_way, p)])
        wanted = [y.astype(np.float16) for y in (x, np.stack([p + q] * 3), np.stack([p * q] * 3))]
    a, b = np.stack([a] * 3), np.stack([b] * 3)
    read, rounded = np.zeros(x.shape, np.float32), np.zeros((3, *x.shape), np.float16)
    return (probe.run(ROUNDING, [], x.size, x, a, b, read, rounded) and _same(read, np.stack([p] * 3))
            and all(map(_same, rounded, wanted)))


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether these are the same bits, or both NaN."""
    bits = f"u{x.itemsize}"
    return bool(np.all((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))))


class _Probe(NamedTuple):
    """A queue, and work items of a group."""

    cl: Any
    queue: Any
    group: int

    def run(self, text: str, options: list[str], items: int, *arrays: np.ndarray) -> bool:
        """Run a probe on arrays, some of which it fills. False where the compiler refuses it."""
        cl, queue = self.cl, self.queue
        own = ["-cl-std=CL1.2", "-w", f"-DGROUP={self.group}"]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = cl.Program(queue.context, text).build([*own, *options], cache_dir=False)
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                buffers = [cl.Buffer(queue.context, flags, hostbuf=array) for array in arrays]
                cl.Kernel(program, "probe")(queue, (items,), (self.group,), *buffers)
                for array, buffer in zip(arrays, buffers, strict=True):
                    cl.enqueue_copy(queue, array, buffer)
        except cl.Error:
            return False
        return True
