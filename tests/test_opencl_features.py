"""What OpenCL devices have beyond OpenCL C 1.2: it is tried, used where it helps, and changes no bit."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from opencl_words import OpenClEmulated
from test_gpu_text import kernels_of

import graphc as gc
from graphc import driver, nn
from graphc.config import settings
from graphc.errors import BackendError
from graphc.runtime import pocl
from graphc.runtime.emulated import HipEmulated
from graphc.runtime.opencl import OpenClBackend
from graphc.runtime.opencl_features import Features, find
from graphc.tolerances import equal_bits


@pytest.fixture
def queue():
    pytest.importorskip("pyopencl")
    try:
        return driver.backend_of("opencl").allocate(4).pool.queue
    except BackendError as error:
        pytest.skip(error.message)


def test_kernels_are_compiled_with_what_they_use():
    x = gc.asarray(np.ones((30, 70), np.float32))
    (rows,), (each,) = (kernels_of([y], "opencl") for y in (gc.sum(x, axis=1), x + 1))
    assert Features(32, True).options(rows.text) == ["-DGC_WAVE=32", "-DGC_HALF"]
    assert Features(32, True).options(each.text) == ["-DGC_HALF"]
    assert Features().options(rows.text) == Features().options(each.text) == []


def test_what_a_device_says_is_tried(queue):
    """One that names extensions which it does not have, or not as kernels need them."""
    names = "cl_khr_subgroup_shuffle cl_khr_fp16 cl_intel_required_subgroup_size"
    kind = queue.cl.device_type.GPU
    boastful, modest = (SimpleNamespace(extensions=x, type=kind) for x in (names, ""))
    assert find(queue.cl, queue.queue, modest, queue.group) == Features()
    if not set(names.split()) & set(queue.device.extensions.split()):
        assert find(queue.cl, queue.queue, boastful, queue.group) == Features()


PROGRAMS = {
    "rows": lambda x: gc.sum(x, axis=1),
    "columns": lambda x: gc.sum(x, axis=0),
    "variance": lambda x: gc.var(x, axis=1),
    "extremes": lambda x: gc.max(x, axis=1) - gc.argmin(x, axis=1),
    "complex": lambda x: gc.sum(x + 1j * x[0], axis=1),
    "doubles": lambda x: gc.sum(x.astype("float64"), axis=1) + gc.max(x.astype("float64"), axis=1),
    "integers": lambda x: gc.sum((x * 50).astype("int8"), axis=1) + gc.max((x * 9).astype("uint16"), axis=1),
    "truths": lambda x: gc.any(x > 3, axis=1),
    "halves": lambda x: gc.sum(x.astype("float16") * x[0].astype("float16") + 1e-7, axis=1) / 3,
    "softmax": lambda x: gc.softmax(x, axis=-1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_change_no_bit(backend, queue, monkeypatch, name):
    if backend != "opencl" or queue.features == Features():
        pytest.skip("the device has none")
    x = np.random.default_rng(3).standard_normal((21, 700)).astype(np.float32)
    found = PROGRAMS[name](gc.asarray(x)).numpy()
    monkeypatch.setattr(queue, "features", Features())
    monkeypatch.setattr(driver.backend_of("opencl"), "_kernels", {})
    driver.forget_programs()
    assert equal_bits(found, PROGRAMS[name](gc.asarray(x)).numpy())
    driver.forget_programs()


PRODUCT = """
import numpy as np
import graphc as gc
x = gc.asarray(np.ones((128, 128), np.float32))
(x @ x).numpy()
"""


def test_products_on_pocl_are_instructions_of_vectors(queue, tmp_path):
    """Its own fma is a call for each number, behind which its compiler makes no vectors."""
    if "Portable Computing Language" not in queue.device.platform.name or queue.device.native_vector_width_float < 8:
        pytest.skip("about PoCL on processors with AVX")
    if shutil.which("objdump") is None:
        pytest.skip("there is no objdump")
    environment = {k: v for k, v in os.environ.items() if k != "PYOPENCL_BUILD_OPTIONS"}
    environment |= {"GRAPHC_BACKEND": "opencl", "POCL_CACHE_DIR": os.fspath(tmp_path)}
    subprocess.run([sys.executable, "-c", PRODUCT], env=environment, check=True)
    (code,) = tmp_path.rglob("contract_dot*.so")
    text = subprocess.run(["objdump", "-d", code], capture_output=True, text=True, check=True).stdout
    assert re.search(r"vfmadd\w+ps\b", text) and "fma" not in "".join(re.findall(r"call.*", text))


def test_a_device_whose_groups_are_small(monkeypatch):
    pytest.importorskip("pyopencl")
    for most, dialect in ((1024, "opencl"), (256, "opencl"), (200, "opencl-128"), (64, "opencl-64")):
        device = OpenClBackend()
        monkeypatch.setitem(vars(device), "_device", SimpleNamespace(name="a device", max_work_group_size=most))
        assert device.is_available() is None and device.dialect == dialect
    monkeypatch.setitem(vars(device), "_device", SimpleNamespace(name="a device", max_work_group_size=32))
    assert "a device has groups of at most 32 work items, and kernels need 64" in device.is_available()
    with pytest.raises(BackendError, match="at most 32"):
        device.allocate(4)


SMALL = """
import numpy as np
import graphc as gc
from graphc import driver
from graphc.config import settings
x = gc.asarray(np.linspace(-1, 1, 40 * 70).reshape(40, 70))
with settings.override(verify=True):
    gc.realize(gc.softmax(x @ x.T, axis=1))
print(driver.current_backend().dialect)
"""


def test_pocl_with_small_groups(queue, tmp_path):
    if "Portable Computing Language" not in queue.device.platform.name:
        pytest.skip("about PoCL")
    environment = os.environ | {"GRAPHC_BACKEND": "opencl", "GRAPHC_CACHE_DIR": os.fspath(tmp_path),
                                "POCL_MAX_WORK_GROUP_SIZE": "64", "PYOPENCL_CTX": "Portable"}
    done = subprocess.run([sys.executable, "-c", SMALL], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "opencl-64\n"


@pytest.mark.parametrize("group", [128, 64])
def test_small_groups_in_three_orders_of_their_items(monkeypatch, group):
    device = OpenClEmulated(group)
    if reason := device.is_available():
        pytest.skip(reason)
    monkeypatch.setitem(driver._backends, device.name, device)
    monkeypatch.setattr(driver, "_current", device.name)
    draw = np.random.default_rng(3).standard_normal
    x, y = (gc.asarray(draw((n, 33)).astype(np.float32)) for n in (70, 45))
    with settings.override(verify=True):
        for found in (gc.var(x, axis=1), x @ y.T, x[:3] @ y.T, nn.functional.scaled_dot_product_attention(x, y, y)):
            gc.realize(found)
    assert f"reqd_work_group_size({group}," in kernels_of([x + 1], device.dialect)[0].text
    driver.forget_programs()


UNREAD = """
import atexit
import pyopencl as cl
enqueue, events = cl.enqueue_nd_range_kernel, []
cl.enqueue_nd_range_kernel = lambda *given: events.append(enqueue(*given))
atexit.register(lambda: print([event.command_execution_status for event in events]))  # called last, registered first
import graphc as gc
gc.realize(gc.exp(gc.arange(12.0)))
"""


def test_a_process_waits_for_what_it_never_read(queue, tmp_path):
    """A thread of PoCL's compiles a kernel when it is to run, and crashed if the process had left main meanwhile."""
    environment = os.environ | {"GRAPHC_BACKEND": "opencl", "POCL_CACHE_DIR": os.fspath(tmp_path)}
    done = subprocess.run([sys.executable, "-c", UNREAD], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[0]\n"  # complete


@pytest.mark.parametrize("size", [8, 32, 64])
def test_sub_groups_in_three_orders_of_their_items(monkeypatch, size):
    """By the emulator, against the reference, and with the bits that sums have on another device."""
    device = OpenClEmulated()
    device.wavefront = size
    driver.forget_programs()
    if reason := device.is_available():
        pytest.skip(reason)
    x = np.random.default_rng(3).standard_normal((9, 300)).astype(np.float32)
    sums = []
    for chosen in (device, HipEmulated()):
        monkeypatch.setitem(driver._backends, chosen.name, chosen)
        monkeypatch.setattr(driver, "_current", chosen.name)
        sums.append(gc.sum(gc.asarray(x), axis=1).numpy())
        for program in PROGRAMS.values() if chosen is device else ():
            with settings.override(verify=True):
                gc.realize(program(gc.asarray(x)))
    assert equal_bits(*sums)
    driver.forget_programs()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/mem")
@pytest.mark.parametrize("names, named", [
    (["x86_64-linux", "generic"], True), (["x86_64-linux", "znver3"], False), (["aarch64-linux", "generic"], False),
    (["generic", "generic"], False), (["x86_64-linux", "generic"] * 2, False)])
def test_a_processor_that_pocl_does_not_know_gets_a_name(names, named):
    """PoCL 3.0 calls a Zen 5 "generic", and then refuses that name."""
    texts = [ctypes.create_string_buffer(name.encode()) for name in names]
    words = (ctypes.c_uint64 * 256)(*range(256))
    words[7] = (1 << 64) - 1    # no address at all
    for k, text in enumerate(texts):
        words[79 + k] = ctypes.addressof(text)
    before = list(words)
    assert pocl.name_processor(ctypes.addressof(words)) == named
    assert [k for k in range(256) if words[k] != before[k]] == ([80] if named else [])
    if named:
        assert ctypes.string_at(words[80]).startswith(b"x86-64")


def test_the_device_compiles(queue):
    """Also on a processor that is newer than the compiler of its OpenCL."""
    program = queue.cl.Program(queue.context, "__kernel void f(__global float *a) { a[get_global_id(0)] = 1; }")
    program.build(options=["-cl-std=CL1.2"], cache_dir=False)
