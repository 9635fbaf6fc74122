"""Reading and writing by index against NumPy, with random keys; the errors of bad indices."""
from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import graphc as gc
from graphc.errors import DTypeError, IndexOutOfRange, ShapeError


def counted(shape, dtype=np.float64) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def agree(found: gc.Tensor, expected) -> None:
    expected = np.asarray(expected)
    array = np.asarray(found)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


# ---------------------------------------------------------------------------------------------------- reading

X = counted((4, 5, 6))
I2 = np.array([[0, 2], [-1, 1]])
KEYS = {
    "int": 1, "negative": -1, "ints": (1, 2, 3), "slice": slice(1, 3), "step": slice(None, None, 2),
    "backwards": slice(None, None, -1), "backwards part": (slice(3, 0, -2), slice(-1, -9, -3)),
    "empty": slice(3, 1), "beyond": slice(-100, 100), "ellipsis": (..., 1), "ellipsis amid": (0, ..., slice(2)),
    "new axes": (None, 1, None, ..., None), "nothing": (), "only ellipsis": ...,
    "array": I2, "list": [0, 3, 0], "array last": (..., I2), "array amid": (slice(None), I2),
    "two arrays": (I2, I2), "arrays apart": (I2, slice(None), I2), "arrays after slice": (slice(None), I2, I2),
    "int and array": (1, I2), "int apart from array": (1, slice(None), I2), "array and int": (slice(1, 3), I2, 2),
    "parted by an ellipsis for no axis": (slice(None), I2, ..., I2), "int parted so": (slice(2), 0, ..., [1, 2, 1]),
    "broadcast arrays": (np.array([[0], [1]]), np.array([1, 2, 3])), "new axis between": (I2, None, I2),
    "three arrays": (I2, I2, I2), "array 0-d": np.array(2), "slice and array": (slice(None, None, -2), [1, 1, 4]),
    "mask": X > 50, "mask 2-d": X[:, :, 0] > 40, "mask 1-d": np.array([True, False, True, True]),
    "mask on axis 1": (slice(None), np.array([True, False, True, False, True])),
    "mask and int": (np.array([True, False, True, True]), 1), "mask of nothing": np.zeros(4, bool),
    "mask and array": (np.array([True, False, True, False]), [1, 2]), "true": True, "false": False,
    "empty list": [], "uint8": np.array([1, 3], np.uint8), "numpy int": np.int32(2),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem(key):
    agree(gc.asarray(X)[key], X[key])


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem_of_computed(key):
    agree((gc.asarray(X) * 2)[key] + 1, X[key] * 2 + 1)


def test_getitem_by_tensors():
    t = gc.asarray(X)
    index = gc.arange(3) + 1  # computed: checked when realized
    agree(t[index], X[1:4])
    agree(t[index, index - 1], X[[1, 2, 3], [0, 1, 2]])
    agree(t[gc.argmax(gc.asarray([1, 5, 2]))], X[1])
    agree(t[t > 100], X[X > 100])
    agree(t[gc.asarray(2)], X[2])


def test_take_and_take_along_axis():
    t = gc.asarray(X)
    agree(gc.take(t, I2, axis=1), np.take(X, I2, axis=1))
    agree(gc.take(t, I2), np.take(X, I2))
    agree(t.take([2, -1], axis=-1), np.take(X, [2, -1], axis=-1))
    order = np.argsort(-X, axis=1)
    agree(gc.take_along_axis(t, order, axis=1), np.take_along_axis(X, order, axis=1))
    agree(gc.take_along_axis(t, order[:, :1], axis=1), np.take_along_axis(X, order[:, :1], axis=1))
    agree(gc.take_along_axis(t, gc.asarray(order) * 1, axis=1), np.take_along_axis(X, order, axis=1))


def test_view_of_realized_values_is_read_in_place():
    t = gc.asarray(X * 1).realize()
    before = gc.counters().launches
    assert float(t[3, 4, 5]) == X[3, 4, 5]
    assert np.shares_memory(t[1:, ::-1].numpy(), t.numpy())
    agree(t.T[2][:, None], X.T[2][:, None])
    assert gc.counters().launches == before


# ---------------------------------------------------------------------------------------------------- writing

@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_setitem_scalar(key):
    x, t = X.copy(), gc.asarray(X)
    before = t + 0
    x[key] = -7
    t[key] = -7
    agree(t, x)
    agree(before, X)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_setitem_array(key):
    x, t = X.copy(), gc.asarray(X)
    shape = X[key].shape
    # Where a position repeats the last value wins; NumPy promises the same for one index array.
    value = -counted(shape) - 1
    x[key] = value
    t[key] = value
    agree(t, x)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_setitem_broadcast_and_cast(key):
    x, t = counted((4, 5, 6), np.int32), gc.asarray(counted((4, 5, 6), np.int32))
    shape = X[key].shape
    value = np.array(3.7) if not shape else -counted(shape[-1:]) - 1.5
    x[key] = value
    t[key] = value
    agree(t, x)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_add_at(key):
    x, t = X.copy(), gc.asarray(X)
    value = counted(X[key].shape) + 0.5
    updated = t.at[key].add(value)
    agree(t, X)
    np.add.at(x, key, value)
    agree(updated, x)
    gc.add.at(t, key, value)
    agree(t, x)


def test_add_at_duplicates():
    t = gc.zeros(3)
    gc.add.at(t, [0, 0, 2, 0], [1.0, 2.0, 3.0, 4.0])
    assert t.tolist() == [7.0, 0.0, 3.0]
    gc.subtract.at(t, [0, 0], 1)
    assert t.tolist() == [5.0, 0.0, 3.0]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("name, function", [("max", np.maximum), ("min", np.minimum)])
def test_extremes_at(key, name, function):
    x, t = X.copy(), gc.asarray(X)
    value = np.asarray(60 - counted(X[key].shape) % 7 * 9)
    updated = getattr(t.at[key], name)(value)
    agree(t, X)
    function.at(x, key, value)
    agree(updated, x)
    getattr(gc, name + "imum").at(t, key, value)
    agree(t, x)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("row", [(), (20,)])
def test_extremes_at_duplicates(dtype, row):
    """NaN wins; 0.0 is larger than -0.0, in whichever order they come."""
    rng = np.random.default_rng(1)
    base, values = rng.integers(0, 3, (5, *row)).astype(dtype), rng.integers(0, 4, (40, *row)).astype(dtype)
    index = rng.integers(0, 5, 40)
    if np.issubdtype(dtype, np.floating):
        base[1], values[index == 1], values[4] = -0.0, np.copysign(0, rng.normal(size=row)), np.nan
    with np.errstate(invalid="ignore"):
        for name, function in (("max", np.maximum), ("min", np.minimum)):
            want = base.copy()
            function.at(want, index, values)
            found = getattr(gc.asarray(base).at[index], name)(values)
            agree(found, want)
            with gc.backend("reference"):
                meant = getattr(gc.asarray(base).at[index], name)(values).numpy()
            assert np.array_equal(np.signbit(found.numpy() * 1.0), np.signbit(meant * 1.0))
    with pytest.raises(TypeError, match="complex64 is not supported"):
        gc.zeros(3, dtype=gc.complex64).at[0].max(1)


def test_set_by_computed_index_and_mask():
    t, x = gc.asarray(X), X.copy()
    t[gc.arange(2) + 1, :, gc.arange(2)] = 9
    x[np.arange(2) + 1, :, np.arange(2)] = 9
    agree(t, x)
    t[t > 60] = gc.asarray(0.5)
    agree(t, np.where(x > 60, 0.5, x))


def under_masks(xp, x, k, p, q):
    """Statements of NumPy scripts: what is written under a mask is made of what is read under it."""
    x[x > 0] = x[x > 0] * 2 + 1
    x[x < -1] *= -1
    k[k % 2 == 0] //= 2
    x[(k > 0) & (xp.abs(x) > 0.3)] += k[(k > 0) & (xp.abs(x) > 0.3)]
    p[q > 0] = p[q > 0] * q[q > 0][:, None] + xp.asarray([1.0, 2.0, 3.0])
    mask = x > 0.5
    x[mask] = xp.where(k[mask] > 0, x[mask], x[::-1][mask]) + 1
    x[~mask] = -x[~mask][::-1]                      # these two are no elementwise expressions
    x[mask] = xp.sort(x[mask])
    x[x > 6] = x[x > 6] ** 2                        # of few or none
    x[mask] = x[k > 9] if (k > 9).sum() == mask.sum() else x[mask].astype("float32")
    return x, k, p


def test_what_is_written_under_a_mask_of_what_is_read_under_it():
    rng = np.random.default_rng(7)
    arrays = (rng.standard_normal((9, 11)), rng.integers(-5, 6, (9, 11)), rng.standard_normal((9, 3)),
              rng.standard_normal(9))
    for found, expected in zip(under_masks(gc, *map(gc.asarray, arrays)),
                               under_masks(np, *map(np.copy, arrays)), strict=True):
        agree(found, expected)


def test_reading_and_writing_under_a_mask_is_a_select():
    """One kernel, and one program however many elements are selected."""
    def step(seed):
        x = gc.asarray(np.random.default_rng(seed).standard_normal((20, 30)))
        mask = gc.realize(x * 1 > 0)
        x[mask] = gc.sqrt(x[mask]) + 1
        x[mask] *= 2
        assert len(gc.plan(x).kernels) == 1
        return gc.realize(x)

    step(0)
    before = gc.counters()
    step(1)
    assert (gc.counters() - before).program_misses == 0


def test_gradients_do_not_enter_where_a_mask_does_not_select():
    def f(x):
        y = x * 1
        y[y > 0] = y[y > 0] ** -0.5         # infinite at 0, where nothing is selected
        return y.sum()

    x = gc.Tensor([0.0, 4.0, 1.0, -1.0], requires_grad=True)
    f(x).backward()
    agree(x.grad, [1.0, -0.0625, -0.5, 1.0])


def test_mask_with_one_value_for_each_true_element():
    x, t = X.copy(), gc.asarray(X)
    values = -np.arange((X > 100).sum()) - 1.0
    x[X > 100] = values
    t[t > 100] = values
    agree(t, x)


def test_put_and_put_along_axis():
    x, t = X.copy(), gc.asarray(X)
    np.put(x, [0, 7, -1], [1, 2])
    gc.put(t, [0, 7, -1], [1, 2])
    agree(t, x)
    index = np.argmax(X, axis=1, keepdims=True)
    np.put_along_axis(x, index, -5, axis=1)
    gc.put_along_axis(t, index, -5, axis=1)
    agree(t, x)


def test_in_place_operators_rebind():
    x = np.arange(4.0)
    t = gc.asarray(x)
    alias, before = t, t * 1
    t += 1
    t *= 2
    t[1:] -= 3
    t **= 2
    x = (x + 1) * 2
    x[1:] -= 3
    agree(t, x ** 2)
    agree(before, np.arange(4.0))
    assert alias is t


@st.composite
def keys(draw, shape):
    """A random key for a shape: integers, slices, new axes, an ellipsis, and arrays of one shape."""
    fetched = draw(st.sampled_from([(), (2,), (3, 1)]))
    parts = []
    for n in shape[:draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "slice", "array"] if n else ["slice"]))
        if kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "array":
            parts.append(np.array(draw(st.lists(st.integers(-n, n - 1), min_size=int(np.prod(fetched)),
                                                max_size=int(np.prod(fetched)))), int).reshape(fetched))
        else:
            ends = st.none() | st.integers(-n - 1, n + 1)
            parts.append(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, -1, -2, 3]))))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.booleans()):
        parts.append(...)
    return tuple(parts)


@st.composite
def programs(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    return shape, [draw(keys(shape)) for _ in range(draw(st.integers(1, 3)))]


@given(programs())
def test_random_programs(program):
    """Reads and writes in a row: each read sees the writes before it and none after."""
    shape, chosen = program
    x = counted(shape)
    t = gc.asarray(x)
    reads = []
    for number, key in enumerate(chosen):
        reads.append((t[key] * 2, x[key] * 2))
        value = -counted(x[key].shape) - number
        try:
            x[key] = value
        except ValueError:
            continue
        t[key] = value
    agree(t, x)
    for found, expected in reads:
        agree(found, expected)


# ----------------------------------------------------------------------------------------------------- errors

def test_integer_out_of_range_raises_at_the_call():
    with pytest.raises(IndexOutOfRange) as error:
        gc.zeros((3, 4))[1, 7]
    text = str(error.value)
    assert "[getitem] index 7 is out of range for axis 1 of size 4" in text
    assert "test_frontend_indexing.py:" in text and "gc.zeros((3, 4))[1, 7]" in text
    assert isinstance(error.value, IndexError)


def test_known_index_array_out_of_range_raises_at_the_call():
    with pytest.raises(IndexOutOfRange, match="index -5 is out of range for axis 0 of size 3"):
        gc.zeros(3)[[0, -5]]
    with pytest.raises(IndexOutOfRange, match="index 3 is out of range"):
        gc.take(gc.zeros(3), 3)


def test_index_arrays_in_any_order_of_memory():
    x, index = np.arange(9.0), np.arange(6).reshape(2, 3)
    for i in (index.T, -index.T, np.broadcast_to(index, (2, 2, 3)), index[:, ::2]):
        np.testing.assert_array_equal(gc.asarray(x)[i].numpy(), x[i])
        np.testing.assert_array_equal(gc.take(gc.asarray(x), gc.asarray(np.array(i, order="F")), axis=0).numpy(), x[i])


def test_many_indices_are_checked_at_the_call_and_again_by_the_kernel_that_reads_them():
    index = np.arange(1 << 15) % 7
    x = gc.arange(7)
    index.flags.writeable = False   # so that a tensor shares the memory, where that is the host's
    shared = gc.asarray(index)
    assert (x[shared - 7].numpy() == index).all()
    y = x[shared]
    index.flags.writeable = True
    index[-1] = 7
    with pytest.raises(IndexOutOfRange, match="index 7 is out of range for axis 0 of size 7"):
        x[index]
    with pytest.raises(IndexOutOfRange, match="index 7 is out of range for axis 0 of size 7"):
        x[gc.asarray(index)].realize()
    if gc.get_backend_name() in ("cpu", "reference"):
        with pytest.raises(IndexOutOfRange, match="index 7 is out of range for axis 0 of size 7"):
            y.realize()


def test_computed_index_out_of_range_raises_in_realize_with_the_line():
    x = gc.arange(3.0)
    index = gc.arange(4) * 2
    y = x[index]  # the line that the error names
    with pytest.raises(IndexOutOfRange) as error:
        y.realize()
    text = str(error.value)
    assert "index 4 is out of range" in text and "size 3" in text
    assert "y = x[index]" in text and "test_frontend_indexing.py:" in text


@pytest.mark.parametrize(("key", "text"), [
    ((0, 0, 0), "3 indices for shape"), ((..., ...), "one ellipsis"), (1.5, "an index can't be 1.5"),
    ("a", "an index can't be 'a'"), (np.ones(2), "arrays of float64 can't be indices"),
    (np.ones(3, bool), "does not fit axes"),
], ids=str)
def test_bad_keys(key, text):
    with pytest.raises(IndexError) as error:
        gc.zeros((2, 2))[key]
    assert text in str(error.value) and "test_frontend_indexing.py:" in str(error.value)


def test_arrays_that_do_not_broadcast():
    with pytest.raises(IndexError, match="do not broadcast"):
        gc.zeros((5, 5))[[0, 1], [0, 1, 2]]


def test_value_that_does_not_fit():
    t = gc.zeros((3, 4))
    with pytest.raises(ShapeError, match=r"a value of shape \(3,\) does not fit the selected shape \(4,\)"):
        t[0] = [1, 2, 3]
    agree(t, np.zeros((3, 4)))


def test_in_place_errors():
    t = gc.zeros(3)
    with pytest.raises(ShapeError, match=r"the result has shape \(2, 3\)"):
        t += gc.ones((2, 3))
    i = gc.arange(3)
    with pytest.raises(TypeError, match="can't be stored as int64"):
        i += 0.5


def test_positions_of_a_mask_follow_what_a_jitted_function_writes_in_place():
    a, n = gc.asarray(-np.ones((200, 50), "float32")), gc.asarray(np.float32(0))
    z, new, old = (gc.asarray(np.full(shape, value, "float32")) for shape, value in (((200, 50), 3), (50, 1), (50, -1)))
    gc.realize(a, n, z, new, old)

    @gc.jit
    def f(row):
        a[1] = row
        n.assign(n + 1)

    for _ in range(12):
        f(old)
    before = z[a > 0]
    f(new)
    after = z[a > 0]
    assert (before.shape, after.shape) == ((0,), (50,))


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
@pytest.mark.parametrize("values", [[], np.zeros((0, 2)), [7], [[1, 2, 3]]])
def test_put_of_few_values_and_of_none(dtype, values):
    for index in ([0, 1], [], [[5, -1], [2, 2]]):
        x = counted((2, 3), dtype)
        t, m = gc.asarray(x), gc.asarray(x)
        np.put(x, np.asarray(index, int), np.asarray(values).astype(dtype))
        gc.put(t, index, values)
        m.put(index, values)
        agree(t, x)
        agree(m, x)
    if not len(values):
        gc.put(t, [9], values)      # as NumPy: nothing is looked at
        agree(t, x)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("index", [[0, 7, -1], [9, -10], 3, [], gc.asarray([-9, 3])])
def test_put_by_mode(mode, index):
    x = counted((2, 4))
    t, places = gc.asarray(x), np.asarray(index, int)
    if mode == "raise" and np.any((places < -8) | (places > 7)):
        with pytest.raises(IndexError):
            gc.put(t, index, [5, 6], mode)
        return
    np.put(x, places, [5, 6], mode)
    gc.put(t, index, [5, 6], mode)
    agree(t, x)


def test_put_knows_its_modes():
    with pytest.raises(ValueError, match=r"\[put\] there is no mode 'reflect'"):
        gc.put(gc.zeros(2), 0, 1, "reflect")


@pytest.mark.parametrize("shape", [(6,), (2, 3), (0,), ()])
def test_put_along_no_axis_puts_into_a_vector(shape):
    x = counted(shape)
    t, index = gc.asarray(x), np.arange(x.size)[::-2]
    np.put_along_axis(x, index, 7, None)
    gc.put_along_axis(t, index, 7, None)
    agree(t, x)
    with pytest.raises(ShapeError):
        gc.put_along_axis(t, [[0]], 7, None)


UPDATES = ["add", "subtract", "maximum", "minimum"]


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("dtype, value", [("int8", 2.5), ("int8", np.float32(2.5)), ("uint8", [1.0, 2.0]),
                                          ("float32", 1j), ("int64", gc.asarray([0.5])), ("bool", 3)])
def test_updates_drop_no_fraction_and_no_imaginary_part(name, dtype, value):
    """As `x += value` does."""
    x = gc.ones(3, dtype=dtype)
    for call in (lambda: getattr(gc, name).at(x, [0, 1], value), lambda: getattr(
            x.at[[0, 1]], {"maximum": "max", "minimum": "min"}.get(name, name))(value)):
        with pytest.raises(DTypeError, match=f"can't be stored as {dtype}"):
            call()
    agree(x, np.ones(3, dtype))
    if name == "add":
        with pytest.raises(DTypeError):
            x += value if np.ndim(value) == 0 else value[0]


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("dtype, value", [("int8", 3), ("uint8", [1, 2]), ("float32", 2.5), ("float32", [1, 2]),
                                          ("int8", np.int64(5)), ("complex64", 1.5), ("float16", np.float64(0.5))])
def test_updates_take_what_fits(name, dtype, value):
    if dtype == "complex64" and name[0] == "m":
        return
    x = counted(4, dtype)
    t = gc.asarray(x)
    getattr(np, name).at(x, [2, 2], value)
    getattr(gc, name).at(t, [2, 2], value)
    agree(t, x)
    with pytest.raises(OverflowError):
        gc.ones(2, dtype="int8").at[0].add(300)


def test_unsigned_indices_do_not_count_from_the_end(backend):
    """Not even those of more than 63 bits, which are negative as signed integers: also where they are computed."""
    x = gc.asarray([10.0, 20.0, 30.0])
    for dtype in ("uint8", "uint64"):
        for bad in (3, 200) if dtype == "uint8" else (3, 2**63, 2**64 - 1):
            index = gc.asarray(np.array([1, bad], dtype))
            for take in (lambda x, i: x[i], lambda x, i: gc.take(x, i + gc.asarray(0, dtype=i.dtype)),
                         lambda x, i: gc.one_hot(i, 3)):
                for call in (take, gc.jit(take)):
                    with pytest.raises(IndexError, match=f"{bad} is out of range"):
                        gc.realize(call(x, index))
                    assert gc.realize(call(x, gc.asarray(np.array([1, 2], dtype)))).shape[0] == 2
