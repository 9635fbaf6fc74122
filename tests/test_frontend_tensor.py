"""The Tensor itself: making it from data, giving its values back, handles, and errors with the user's line."""
from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import graphc as gc
from graphc.errors import AxisError, DTypeError, ShapeError, TruthValueError

# ----------------------------------------------------------------------------------------------------- in


@pytest.mark.parametrize(("source", "dtype"), [
    (True, "bool"), (3, "int64"), (2.5, "float64"), (1j, "complex128"), ([1, 2], "int64"), ([[1.0], [2]], "float64"),
    ([True, False], "bool"), ([], "float64"), ((1, 2.5), "float64"), (np.float32(3), "float32"), (range(3), "int64"),
    (np.arange(3, dtype=np.uint8), "uint8"), (np.ones(2, ml_dtypes.bfloat16), "bfloat16"), ([np.float32(1)], "float32"),
    (np.ones((2, 0), np.float16), "float16"), (np.arange(3).astype(">i4"), "int32"), (memoryview(b"ab"), "uint8"),
], ids=lambda v: type(v).__name__ if not isinstance(v, str) else v)
def test_asarray(source, dtype):
    t = gc.asarray(source)
    expected = np.asarray(source)
    assert t.dtype.name == dtype
    assert t.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(t).astype(complex), expected.astype(complex))


def test_asarray_of_nested_tensors():
    assert gc.asarray([gc.ones(2), gc.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert gc.asarray([gc.asarray(1.5), 2]).tolist() == [1.5, 2]


def test_lists_of_what_is_not_computed_yet():
    """They are recorded: gradients go through, parts are computed together, jit and vmap trace them."""
    def f(x):
        return gc.asarray([[x[0] ** 2, 3], [x[0] * x[1], gc.sum(x)]])

    x = gc.asarray([3.0, 5.0])
    expected = [[9.0, 3.0], [15.0, 8.0]]
    assert f(x).tolist() == gc.jit(f)(x).tolist() == gc.vmap(f)(x[None])[0].tolist() == expected
    assert gc.grad(lambda x: f(x).sum())(x).tolist() == [12.0, 4.0]
    assert gc.grad(lambda x: (x + [x[0], 2.0]).sum())(x).tolist() == [2.0, 1.0]
    assert gc.grad(lambda x: gc.asarray([x[0] * 2] * 70).sum())(x).tolist() == [140.0, 0.0]
    assert gc.jit(lambda n: gc.array([n, 2 * n]))(1.5).tolist() == [1.5, 3.0]
    scale = gc.realize(gc.ones(()))
    scaled = gc.jit(lambda x: gc.array([scale, x]))
    assert scaled(gc.asarray(2.0)).tolist() == [1.0, 2.0]
    scale += 4
    assert scaled(gc.asarray(2.0)).tolist() == [5.0, 2.0]
    assert gc.asarray([x[0] * k for k in range(100)]).tolist() == [3.0 * k for k in range(100)]
    assert gc.array([x * 2, [1, 2]], dtype="float32").dtype is gc.float32
    with pytest.raises(DTypeError, match=r"shapes \(2,\), \(\)"):
        gc.array([x * 2, 1.0])


def test_asarray_with_dtype():
    assert gc.asarray([1, 2], dtype="float32").tolist() == [1.0, 2.0]
    assert gc.asarray(1.7, dtype=gc.int32).tolist() == 1
    assert gc.asarray(np.arange(3), dtype=np.float16).dtype is gc.float16
    assert gc.asarray(gc.ones(2), dtype=gc.int8).dtype is gc.int8
    assert gc.Tensor([1, 2], dtype=gc.bfloat16).dtype is gc.bfloat16
    with pytest.raises(OverflowError, match="do not fit uint8"):
        gc.asarray([1, 300], dtype=gc.uint8)


def test_a_writable_array_is_copied_at_the_call():
    a = np.zeros(3)
    t = gc.asarray(a)
    y = t + 1
    a[:] = 9
    assert t.tolist() == [0, 0, 0]
    assert y.tolist() == [1, 1, 1]


def test_a_read_only_array_is_aliased():
    a = np.arange(3.0)
    a.flags.writeable = False
    assert np.shares_memory(np.asarray(gc.asarray(a)), a)
    assert not np.shares_memory(np.asarray(gc.asarray(a, copy=True)), a)


def views_of(a: np.ndarray) -> dict[str, np.ndarray]:
    class Shared:
        __array_interface__ = {**a.__array_interface__, "data": (a.ctypes.data, True)}
        owner = a
    return {"windows": np.lib.stride_tricks.sliding_window_view(a, 1),
            "strides": np.lib.stride_tricks.as_strided(a, a.shape, a.strides, writeable=False),
            "a buffer": np.frombuffer(memoryview(a).toreadonly()), "an interface": np.asarray(Shared())}


@pytest.mark.parametrize("how", ["windows", "strides", "a buffer", "an interface"])
def test_a_read_only_view_of_what_others_write_to_is_copied(how):
    a = np.arange(4.0)
    t = gc.asarray(views_of(a)[how]) * 2
    a[:] = -1
    assert t.reshape(-1).tolist() == [0, 2, 4, 6]


def test_what_nobody_can_write_to_is_not_copied(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4.0))
    doubled = (gc.asarray(np.arange(4.0)) * 2).numpy()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for a in (np.frombuffer(np.arange(4.0).tobytes()), mapped, doubled, doubled[1:]):
        assert np.shares_memory(np.asarray(gc.asarray(a)), a)
    changing = np.load(tmp_path / "x.npy", mmap_mode="c")
    changing.flags.writeable = False
    assert not np.shares_memory(np.asarray(gc.asarray(changing)), changing)


def test_copy_false_aliases_or_raises():
    a = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(np.asarray(gc.asarray(a, copy=False)), a)
    for bad in (a.T, [1, 2], 3.0):
        with pytest.raises(ValueError):
            gc.asarray(bad, copy=False)
    with pytest.raises(ValueError):
        gc.asarray(a, dtype=gc.float32, copy=False)


def test_what_is_no_array():
    for bad in ("text", object(), [[1, 2], [3]], {"a": 1}, np.array(["x"])):
        with pytest.raises(DTypeError) as error:
            gc.asarray(bad)
        assert "test_frontend_tensor.py:" in str(error.value)


def test_dlpack_both_ways(backend):
    a = np.arange(6.0).reshape(2, 3)
    assert gc.from_dlpack(a).tolist() == a.tolist()
    t = gc.asarray(a) + 1
    shared = t.__dlpack_device__() != (1, 0)  # a device's memory, which NumPy takes to the host if asked
    np.testing.assert_array_equal(np.from_dlpack(t, device="cpu" if shared else None), a + 1)
    assert shared == (backend in ("cuda", "hip"))


# ---------------------------------------------------------------------------------------------------- out

def test_numpy_is_read_only_and_without_a_copy():
    t = gc.asarray([1.0, 2.0]) * 2
    a, b = t.numpy(), np.asarray(t)
    assert np.shares_memory(a, b)
    assert not a.flags.writeable and not b.flags.writeable
    with pytest.raises(ValueError):
        a[0] = 1
    c = np.array(t)
    c[0] = 7
    assert t.tolist() == [2, 4]
    assert np.asarray(t, dtype=np.float32).dtype == np.float32


def test_numbers():
    t = gc.asarray([[3.5]])
    assert (float(t), int(t), complex(t), bool(t), t.item()) == (3.5, 3, 3.5 + 0j, True, 3.5)
    assert operator.index(gc.asarray(4)) == 4
    assert [10, 20, 30][gc.asarray(1)] == 20
    assert f"{gc.asarray(1.25):.1f}" == "1.2"
    for call in (float, int, complex, gc.Tensor.item):
        with pytest.raises(ShapeError, match="is not one number"):
            call(gc.ones(2))
    with pytest.raises(TypeError):
        operator.index(gc.asarray(1.0))


def test_truth_value():
    assert gc.asarray([1]) and not gc.asarray(0.0)
    with pytest.raises(TruthValueError) as error:
        if gc.ones(3) > 0:
            pass
    text = str(error.value)
    assert "the truth value of a tensor of shape (3,) is ambiguous" in text
    assert "t.any() or t.all()" in text and "if gc.ones(3) > 0:" in text
    assert isinstance(error.value, ValueError)


def test_attributes_launch_nothing():
    before = gc.counters().launches
    t = gc.ones((2, 3), dtype=gc.float32) + 1
    assert (t.shape, t.ndim, t.size, t.itemsize, t.nbytes, len(t)) == ((2, 3), 2, 6, 4, 24, 2)
    assert (t.dtype, t.T.shape, t.mT.shape) == (gc.float32, (3, 2), (3, 2))
    assert t.device == gc.get_backend_name()
    assert [row.shape for row in t] == [(3,), (3,)]
    assert gc.counters().launches == before
    for call in (len, list):
        with pytest.raises(TypeError):
            call(gc.asarray(1))


def test_printing():
    assert repr(gc.asarray([1.5, 2])) == "Tensor([1.5, 2. ], dtype=float64)"
    assert repr(gc.zeros((0, 2))) == "Tensor([], shape=(0, 2), dtype=float64)"
    assert str(gc.asarray([1, 2])) == "[1 2]"
    assert repr(gc.ones(2, dtype=gc.bfloat16)) == "Tensor([1., 1.], dtype=bfloat16)"


def test_numpy_leaves_operations_to_the_tensor():
    a, t = np.ones(3), gc.ones(3)
    for result in (a + t, a @ t, a < t, np.float32(2) * t, np.add.outer(a, a)[0] - t):
        assert isinstance(result, gc.Tensor)
    assert (a == t).tolist() == [True] * 3


# ------------------------------------------------------------------------------------------------ handles

def test_assign_leaves_what_was_made_before():
    x = gc.zeros(2)
    y = x + 1
    x.assign(5)
    assert (x.tolist(), y.tolist()) == ([5, 5], [1, 1])
    assert x.assign(gc.arange(2)).dtype is gc.float64
    with pytest.raises(ShapeError):
        x.assign([1, 2, 3])


def test_handles_copy_pickle_and_hash():
    x = gc.arange(3) * 2
    for other in (copy.copy(x), copy.deepcopy(x), gc.copy(x), pickle.loads(pickle.dumps(x))):
        other += 1
        assert x.tolist() == [0, 2, 4] and other.tolist() == [1, 3, 5]
    assert len({x, x, gc.copy(x)}) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_the_copy_of_a_variable_is_a_variable_of_its_own(copied):
    x = gc.Tensor([2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    y = copied(x)
    assert (y.grad is None) == (copied not in (copy.copy, copy.deepcopy))
    y.grad = None
    (y * 5.0).sum().backward()
    assert y.requires_grad and y.grad.tolist() == [5.0, 5.0] and x.grad.tolist() == [4.0, 6.0]


def test_realize_returns_the_tensor():
    x = gc.arange(3) + 1
    assert x.realize() is x
    assert gc.realize(x) is x or gc.realize(x) == (x,) or gc.realize(x) == [x]


def test_to_device():
    x = gc.ones(2) + 1
    assert x.to(x.device) is x or x.to(x.device).tolist() == x.tolist()
    with pytest.raises(gc.errors.BackendError):
        x.to("nowhere")


# ----------------------------------------------------------------------------------------------- methods

def test_methods_are_the_functions():
    a = np.array([[1.0, -2.0], [3.0, 4.0]])
    t = gc.asarray(a)
    for found, expected in [
        (t.sum(axis=0), a.sum(axis=0)), (t.mean(), a.mean()), (t.max(), a.max()), (t.reshape(4), a.reshape(4)),
        (t.reshape(1, -1), a.reshape(1, -1)), (t.relu(), np.maximum(a, 0)), (t.exp(), np.exp(a)), (t.abs(), np.abs(a)),
        (t.astype(gc.int8), a.astype(np.int8)), (t.transpose(1, 0), a.T), (t.clip(0, 2), a.clip(0, 2)),
        (t.argmax(), a.argmax()), (t.any(), a.any()), (t.T, a.T), (t @ t, a @ a), (-t, -a), (abs(t), abs(a)),
        (t.where(t > 0, 0.0), np.where(a > 0, a, 0.0)), (t.float(), a.astype(np.float32)),
    ]:
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_bad_axis_names_op_and_line():
    with pytest.raises(AxisError) as error:
        gc.ones((2, 3)).sum(axis=2)
    text = str(error.value)
    assert "[sum] axis 2 is out of range for an array of 2 dimensions" in text
    assert "gc.ones((2, 3)).sum(axis=2)" in text and "test_frontend_tensor.py:" in text


# ------------------------------------------------------------------------------------------------ creation

@pytest.mark.parametrize("arguments", [
    (5,), (0,), (-3,), (2, 7), (7, 2), (7, 2, -2), (0, 10, 3), (0.0, 1.0, 0.1), (1.0, 0.0, -0.3), (0, 5.5), (3, 3),
    (-2.5, 4), (10**12, 10**12 + 3),
], ids=str)
def test_arange(arguments):
    expected = np.arange(*arguments)
    found = np.asarray(gc.arange(*arguments))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("arguments", [(0, 1), (0, 1, 5), (-3, 7.5, 11), (2, 2, 4), (0, 1, 1), (0, 1, 0), (5, -5, 6)],
                         ids=str)
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(arguments, endpoint):
    expected = np.linspace(*arguments, endpoint=endpoint)
    np.testing.assert_array_equal(np.asarray(gc.linspace(*arguments, endpoint=endpoint)), expected)


def test_filled():
    assert gc.zeros((2, 1)).tolist() == [[0], [0]]
    assert gc.ones(2, dtype="int8").dtype is gc.int8
    assert gc.full((2,), 7).dtype is gc.int64
    assert gc.full((2,), True).tolist() == [True, True]
    assert gc.full((2, 2), [1, 2]).tolist() == [[1, 2], [1, 2]]
    x = gc.ones((2, 3), dtype=gc.float32)
    for f in (gc.zeros_like, gc.ones_like, gc.empty_like):
        assert (f(x).shape, f(x).dtype) == ((2, 3), gc.float32)
    assert gc.full_like(x, 2, dtype=gc.int16).dtype is gc.int16
    with pytest.raises(ShapeError):
        gc.zeros((2, -1))


def test_by_position():
    x = np.arange(12.0).reshape(3, 4)
    for k in (-1, 0, 2):
        np.testing.assert_array_equal(np.asarray(gc.eye(3, 4, k=k)), np.eye(3, 4, k=k))
        np.testing.assert_array_equal(np.asarray(gc.tri(3, 4, k)), np.tri(3, 4, k))
        np.testing.assert_array_equal(np.asarray(gc.tril(x, k=k)), np.tril(x, k))
        np.testing.assert_array_equal(np.asarray(gc.triu(x, k=k)), np.triu(x, k))
    for indexing in ("xy", "ij"):
        for found, expected in zip(gc.meshgrid(gc.arange(2), gc.arange(3), gc.arange(4), indexing=indexing),
                                   np.meshgrid(np.arange(2), np.arange(3), np.arange(4), indexing=indexing),
                                   strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected)


def test_constants_need_no_launch():
    before = gc.counters().launches
    assert gc.zeros((2, 2)).tolist() == [[0, 0], [0, 0]]
    assert float(gc.asarray(3)) == 3.0
    assert gc.counters().launches == before


# -------------------------------------------------------------------------------------------------- dtypes

def test_dtype_functions():
    assert gc.astype(gc.asarray([1.9, -1.9]), gc.int32).tolist() == [1, -1]
    assert gc.finfo(gc.float32).max == np.finfo(np.float32).max
    assert gc.finfo(gc.complex64).dtype is gc.float32
    assert gc.finfo(gc.bfloat16).eps == 2**-7
    assert (gc.iinfo(gc.int8).min, gc.iinfo(gc.asarray(1)).bits) == (-128, 64)
    assert gc.isdtype(gc.int8, "signed integer") and not gc.isdtype(gc.int8, ("bool", gc.int16))
    assert gc.can_cast(gc.int8, gc.int16) and not gc.can_cast(gc.int16, gc.int8)
    for call in (lambda: gc.finfo(gc.int8), lambda: gc.iinfo(gc.float32), lambda: gc.isdtype(gc.int8, "number"),
                 lambda: gc.zeros(2, dtype="int7")):
        with pytest.raises(DTypeError, match="test_frontend_tensor.py:"):
            call()


def test_default_float():
    gc.set_default_float(gc.float32)
    try:
        assert gc.zeros(2).dtype is gc.float32
        assert gc.asarray([1.5]).dtype is gc.float32
        assert (gc.arange(2) / 2).dtype is gc.float32
        assert gc.exp(1).dtype is gc.float32
        assert (gc.arange(2) + 1.5).dtype is gc.float32
    finally:
        gc.set_default_float(gc.float64)


def test_namespace():
    t = gc.ones(2)
    assert t.__array_namespace__() is gc and t.__array_namespace__(api_version="2024.12") is gc
    with pytest.raises(ValueError):
        t.__array_namespace__(api_version="2000.01")
    info = gc.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is gc.float64
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert info.default_device() in info.devices()


def test_import_loads_nothing_heavy():
    heavy = "scipy jinja2 cffi rich networkx platformdirs filelock".split()
    code = f"import graphc, sys; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("values", [[10**20], [2**64, 1], [[2**70, -2**70]], 10**20, -2**80, [True, 2**64],
                                    [1.5, 2**64]])
def test_integers_of_any_size_become_floats_where_these_are_asked_for(values, dtype):
    with np.errstate(over="ignore"):
        want = np.array(values, dtype)
    for found in (gc.asarray(values, dtype=dtype), gc.array(values, dtype=dtype)):
        assert found.shape == want.shape and found.dtype == want.dtype and np.array_equal(found.numpy(), want)


def test_integers_of_any_size_where_none_are_asked_for():
    for value in (2**63, 2**64 - 1):
        for found in (gc.asarray(value), gc.asarray([value])[0], gc.array(value)):
            assert found.dtype is gc.uint64 and found.item() == value
    assert gc.asarray(-2**63).dtype is gc.asarray(2**63 - 1).dtype is gc.int64
    for values, options in ((2**64, {}), ([2**64], {}), (-2**63 - 1, {}), (10**400, {"dtype": "float64"}),
                            ([10**400], {"dtype": "float64"}), (2**63, {"dtype": "int64"})):
        with pytest.raises(OverflowError) as error:
            gc.asarray(values, **options)
        assert isinstance(error.value, gc.errors.IntegerOverflow)
    with pytest.raises(gc.errors.IntegerOverflow):
        gc.ones(2) + 10**400


@pytest.mark.parametrize("name", ["int8", "uint64", "float16", "float32", "float64", "complex64", "bool"])
def test_numpys_types_are_data_types(name):
    kind, own = np.dtype(name).type, getattr(gc, name)
    for given in (kind, np.dtype(name), name, own, np.ones(2, name), kind(1)):
        if not isinstance(given, str):
            assert gc.can_cast(given, gc.complex128) and gc.result_type(given, kind) is own
        if own.kind == "f":
            assert gc.finfo(kind).bits == np.finfo(kind).bits and gc.finfo(given if given is not name else kind).dtype
        elif own.kind in "iu":
            assert gc.iinfo(kind).max == np.iinfo(kind).max
    for other in (np.int32, np.float32, np.uint8, np.complex64):
        assert gc.result_type(kind, other).numpy == np.result_type(kind, other)
        assert gc.can_cast(kind, other) == np.can_cast(kind, other)
    assert gc.isdtype(kind, own)


@pytest.mark.parametrize("values", [5, [], [1.5], [[1, 2]], np.ones((0, 2))])
@pytest.mark.parametrize("ndmin", [0, 1, 2, 4])
def test_array_with_at_least_so_many_axes(values, ndmin):
    found, want = gc.array(values, ndmin=ndmin), np.array(values, ndmin=ndmin)
    assert found.shape == want.shape and found.dtype == want.dtype and np.array_equal(found.numpy(), want)


def test_masked_arrays_do_not_lose_their_mask():
    """They come first in an operation, or are filled; without a masked element they are arrays."""
    masked = np.ma.array([1.0, 1e20, 3.0], mask=[0, 1, 0])
    for f in (gc.asarray, gc.sum, lambda m: gc.ones(3) + m, lambda m: gc.where(gc.ones(3) > 0, m, 0)):
        with pytest.raises(gc.errors.DTypeError, match=r"filled"):
            f(masked)
    assert gc.asarray(masked.filled(2)).tolist() == [1, 2, 3]
    assert (gc.ones(2) + np.ma.array([1.0, 2.0])).tolist() == [2, 3]
    assert (masked + gc.ones(3)).mask.tolist() == [False, True, False]
