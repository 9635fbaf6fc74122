"""Kernels do no arithmetic with what earlier ones left in scratch memory: it may be subnormal numbers, with which a
processor takes a hundred times as long. The processor notes whether it met any, so a kernel is called by hand, with
ones as inputs and such leftovers."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

import graphc as gc
from graphc.ir.program import Launch
from graphc.runtime import backend as backends
from graphc.runtime import build, compiler

pytestmark = [pytest.mark.skipif(platform.machine() != "x86_64", reason="its register says what was met"),
              pytest.mark.skipif(backends.status()["cpu"] is not None, reason="there is no C compiler")]

ONE = int(np.float32(1).view(np.int32))
LEFT = 3                # as a float32, or twice as a float64, subnormal
MASKED, SUBNORMAL = 0x1F80, 2       # of MXCSR: no exception ends the process; an operand was subnormal
KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                          ctypes.c_void_p)


@pytest.fixture(scope="module")
def register():
    text = "int get(void) { return __builtin_ia32_stmxcsr(); } void set(int m) { __builtin_ia32_ldmxcsr(m); }"
    (path,) = build.build(compiler.find_compiler(), [compiler.Job("mode", text, ("-fPIC", "-shared"), ())]).values()
    return ctypes.CDLL(str(path))


def aligned(nbytes: int, dtype, value) -> np.ndarray:
    memory = np.full(nbytes // 4 + 32, value, dtype)
    return memory[-memory.ctypes.data % 64 // 4:]


def meets_subnormals(register, *tensors: gc.Tensor) -> bool:
    program = gc.plan(*tensors).program
    kernels = backends.get("cpu").compile(program.kernels)
    before, met = register.get(), 0
    for step in program.steps:
        assert isinstance(step, Launch)
        scratch = aligned(step.scratch, np.int32, LEFT)
        for member in step.members:
            buffers = [aligned(program.slots[slot].nbytes, np.float32, 1) for slot in member.slots]
            addresses = (ctypes.c_void_p * len(buffers))(*(b.ctypes.data for b in buffers))
            args = (ctypes.c_int64 * len(member.args))(*member.args)
            for word, _ in member.params:
                args[word] = ONE
            register.set(MASKED)
            KERNEL(kernels[step.kernel])(addresses, args, 0, member.chunks, scratch.ctypes.data)
            met |= register.get()
    register.set(before)
    return bool(met & SUBNORMAL)


def test_the_register_notes_such_operands(register):
    x = np.full(64, 1e-310)
    register.set(MASKED)
    assert not register.get() & SUBNORMAL
    x + x
    assert register.get() & SUBNORMAL


FORMS = {
    "plain": lambda a, b: a @ b,
    "a transposed": lambda a, b: gc.realize(a.T + 0).T @ b,
    "b transposed": lambda a, b: a @ gc.realize(b.T + 0).T,
    "computed": lambda a, b: (a * 2) @ (b * 2),
    "computed, transposed": lambda a, b: (gc.realize(a.T + 0).T * 2) @ (gc.realize(b.T + 0).T * 2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [gc.float32, gc.float64, gc.float16])
@pytest.mark.parametrize("m", [1, 3, 7, 15, 17, 23, 64, 67])
@pytest.mark.parametrize("n", [3, 10, 16, 37, 70])
def test_products(register, form, dtype, m, n):
    with gc.backend("cpu"):
        for k in (9, 70, 600) if m in (1, 7) and n < 37 else (9, 70):
            a, b = gc.realize(gc.ones((m, k), dtype=dtype), gc.ones((k, n), dtype=dtype))
            assert not meets_subnormals(register, FORMS[form](a, b))


def ones(*shape: int) -> gc.Tensor:
    return gc.realize(gc.ones(shape, dtype=gc.float32))


def gradients(f, *inputs: gc.Tensor) -> tuple[gc.Tensor, ...]:
    return gc.grad(lambda *x: gc.sum(f(*x)), argnums=tuple(range(len(inputs))))(*inputs)


def attention(q, k, v):
    return gc.scaled_dot_product_attention(q, k, v, scale=1, is_causal=True)


PROGRAMS = {
    "convolution": lambda: gc.conv2d(ones(2, 3, 9, 11), ones(7, 3, 3, 3), padding=1),
    "convolution of one channel, gradients": lambda: gradients(gc.conv2d, ones(2, 1, 28, 28), ones(3, 1, 3, 3)),
    "convolution, gradients": lambda: gradients(gc.conv2d, ones(2, 5, 9, 10), ones(7, 5, 3, 3)),
    "attention": lambda: attention(ones(2, 33, 20), ones(2, 67, 20), ones(2, 67, 20)),
    "few queries": lambda: attention(ones(2, 3, 20), ones(2, 67, 20), ones(2, 67, 20)),
    "attention, gradients": lambda: gradients(attention, ones(200, 20), ones(190, 20), ones(190, 20)),
    "softmax": lambda: gc.softmax(ones(50, 37), axis=-1),
    "variance": lambda: gc.var(ones(70, 37), axis=0),
    "covariance": lambda: (lambda x: x.T @ x)(ones(70, 197)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(register, name):
    with gc.backend("cpu"):
        found = PROGRAMS[name]()
        assert not meets_subnormals(register, *(found if isinstance(found, tuple) else (found,)))
