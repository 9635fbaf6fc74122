"""Library steps: the routines, and programs that mix them with kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from runtime_programs import SCALE, bits, chunks, launch

from graphc.ir.program import KernelSource, Library, Operand, Program, Slot
from graphc.ir.routines import TABLE, Routine


def step(call, inputs, outputs, attrs=()):
    """A program of one library step; inputs are arrays, outputs are (dtype, shape)."""
    operands = [Operand(number, array.dtype.name, array.shape) for number, array in enumerate(inputs)]
    results = [Operand(len(inputs) + number, dtype, shape) for number, (dtype, shape) in enumerate(outputs)]
    sizes = [int(np.prod(op.shape)) * _itemsize(op.dtype) for op in (*operands, *results)]
    count = len(inputs)
    return Program(
        slots=tuple(Slot("input" if k < count else "output", size) for k, size in enumerate(sizes)),
        steps=(Library(call, tuple(operands), tuple(results), tuple(attrs)),), kernels=(),
        inputs=tuple(range(count)), outputs=tuple(range(count, len(sizes))), arena=0,
    )


def _itemsize(name):
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def run(cpu, call, inputs, outputs, attrs=()):
    program = cpu.load(step(call, inputs, outputs, attrs))
    found = program.run([cpu.from_numpy(array) for array in inputs])
    dtypes = [np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype) for dtype, _ in outputs]
    return [buffer.view(dtype, shape) for buffer, dtype, (_, shape) in zip(found, dtypes, outputs, strict=True)]


def arguments(*values):
    return (("arguments", values),)


def test_results_go_to_the_outputs_of_their_numbers(cpu):
    a = np.random.default_rng(0).normal(size=(3, 4, 4))
    q, r = run(cpu, "qr", [a], [("float64", a.shape)] * 2, arguments(False))
    assert np.allclose(q @ r, a) and np.allclose(np.tril(r, -1), 0)
    u, s, v = run(cpu, "svd", [a], [("float64", a.shape), ("float64", (3, 4)), ("float64", a.shape)], arguments(True))
    assert np.allclose((u * s[:, None]) @ v, a)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "bool"])
def test_dtypes(cpu, dtype):
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    x = np.array([[3, 0, 1], [0, 2, 0]]).astype(kind)
    (ordered,) = run(cpu, "sort", [x], [(dtype, x.shape)], arguments(1, False, True))
    (order,) = run(cpu, "argsort", [x], [("int64", x.shape)], arguments(1, False, True))
    assert np.array_equal(ordered.astype(float), np.sort(x.astype(float), 1))
    assert np.array_equal(order, np.argsort(x.astype(float), 1, kind="stable"))


def test_complex_results(cpu):
    x = np.random.default_rng(0).normal(size=(4, 10)).astype(np.float32)
    (half,) = run(cpu, "rfft", [x], [("complex64", (4, 6))], arguments(10, -1, "ortho"))
    assert np.array_equal(half, np.fft.rfft(x, norm="ortho"))


def test_errors_of_numpy_come_through(cpu):
    with pytest.raises(np.linalg.LinAlgError):
        run(cpu, "inv", [np.zeros((2, 2))], [("float64", (2, 2))], arguments())


@pytest.mark.parametrize("dtype, shape", [("float64", (4,)), ("complex64", (4,)), ("complex128", (2, 2))])
def test_a_result_of_another_dtype_or_shape_is_an_error(cpu, dtype, shape):
    with pytest.raises((TypeError, ValueError)):
        run(cpu, "fft", [np.ones(4)], [(dtype, shape)], arguments(4, 0, "backward"))


def test_kernels_around_a_library_step(cpu):
    """y = 2 x (a temporary), s = sort(y) (a temporary), z = -1 s."""
    n, stride = 3000, 24_000
    program = Program(
        slots=(Slot("input", stride), Slot("temp", stride, 0), Slot("temp", stride, 24_064), Slot("output", stride)),
        steps=(
            launch(0, (0, 1), (n, 0), ((1, 0),), chunks(n), 0),
            Library("sort", (Operand(1, "float64", (n,)),), (Operand(2, "float64", (n,)),), arguments(0, False, True)),
            launch(0, (2, 3), (n, 0), ((1, 1),), chunks(n), 0),
        ),
        kernels=(KernelSource("scale", SCALE),), inputs=(0,), outputs=(3,), arena=48_128,
    )
    x = np.random.default_rng(0).normal(size=n)
    (z,) = cpu.load(program).run([cpu.from_numpy(x)], [bits(2.0), bits(-1.0)])
    assert np.array_equal(z.view(np.float64, (n,)), -np.sort(2 * x))


def test_a_library_step_cannot_write_its_inputs(cpu, monkeypatch):
    def greedy(arguments, inputs, outputs):
        inputs[0][...] = 0

    monkeypatch.setitem(TABLE, "greedy", Routine("greedy", lambda dtypes, shapes, arguments: (dtypes, shapes), greedy))
    with pytest.raises(ValueError, match="read-only"):
        run(cpu, "greedy", [np.ones(3)], [("float64", (3,))])
