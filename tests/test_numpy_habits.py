"""Calls that NumPy takes, or refuses, and that graphc did otherwise once."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from api_compare import check

import graphc as gc


@pytest.mark.parametrize("name", ["divide", "atan2", "hypot", "logaddexp", "copysign", "heaviside", "nextafter"])
@pytest.mark.parametrize("number", [-1, 300, 10**20, True])
def test_a_python_number_beside_integers_need_not_fit_them(name, number):
    """The result is a float, and so is the number."""
    x = np.array([1, 2, 255], np.uint8)
    wide = x.astype(np.float64)
    function = getattr(gc, name)
    check(function(gc.asarray(x), number), getattr(np, name)(wide, number))
    check(function(number, gc.asarray(x)), getattr(np, name)(number, wide))


@pytest.mark.parametrize("name", ["atan2", "hypot", "logaddexp", "copysign", "heaviside", "nextafter", "maximum"])
@pytest.mark.parametrize("small", ["int8", "uint16", "bool"])
def test_small_integers_beside_float32_stay_float32(name, small):
    x, y = np.float32([-1, 0, 2]), np.array([0, 1, 1]).astype(small)
    expected = getattr(np, {"atan2": "arctan2"}.get(name, name))(x, y.astype(np.float32))
    found = getattr(gc, name)(gc.asarray(x), gc.asarray(y))
    assert found.dtype == gc.float32
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_true_division_by_operators():
    x = np.array([1, 2], np.int8)
    check(gc.asarray(x) / 300, x / np.float64(300))
    check(-300 / gc.asarray(x), np.float64(-300) / x)
    with pytest.raises(OverflowError, match="300 does not fit int8"):
        gc.asarray(x) + 300
    check(gc.asarray(x) - (1, 2), x - (1, 2))


NESTED: list = []
NESTED.append(NESTED)


@pytest.mark.parametrize("call, error", [
    (lambda: gc.eye(-1), ValueError), (lambda: gc.eye(2, -3), ValueError), (lambda: gc.eye(2.0), TypeError),
    (lambda: gc.mean(gc.ones(3), dtype=int), TypeError), (lambda: gc.mean(gc.ones(3), dtype="uint8"), TypeError),
    (lambda: gc.eye(2, k=0.5), TypeError), (lambda: gc.tri(-2), ValueError),
    (lambda: gc.tril(gc.ones((2, 2)), k=0.5), TypeError),
    (lambda: gc.linspace(0, 1, 3.0), TypeError), (lambda: gc.linspace(0, 1, -3), ValueError),
    (lambda: gc.expand_dims(gc.ones(3), axis=None), TypeError),
    (lambda: gc.repeat(gc.ones(3), -1), ValueError), (lambda: gc.repeat(gc.ones(3), 1.5), TypeError),
    (lambda: gc.pad(gc.ones(3), 1.5), TypeError), (lambda: gc.pad(gc.ones(3), -1), ValueError),
    (lambda: gc.bincount(gc.asarray([1]), minlength=-1), ValueError),
    (lambda: gc.degrees(gc.asarray([1j])), TypeError), (lambda: gc.isposinf(gc.asarray([1j])), TypeError),
    (lambda: gc.isneginf(gc.asarray([1j])), TypeError), (lambda: gc.heaviside(gc.asarray([1j]), 1), TypeError),
    (lambda: gc.arange("a"), TypeError), (lambda: gc.arange(1j), TypeError), (lambda: gc.arange(np.nan), ValueError),
    (lambda: gc.linspace("a", 1), TypeError), (lambda: gc.concat(1), TypeError),
    (lambda: gc.stack(gc.ones(())), TypeError),
    (lambda: gc.realize(1), TypeError), (lambda: gc.plan([gc.ones(3)]), TypeError),
    (lambda: gc.ones(3).item(), ValueError), (lambda: gc.ones(3).item(3), IndexError),
    (lambda: np.sum(gc.ones(3), out=np.zeros(())), TypeError),
    (lambda: gc.linalg.norm(gc.ones(3), "nuc", 0), ValueError), (lambda: gc.diagonal(gc.ones(3)), ValueError),
    (lambda: gc.linalg.eigh(gc.ones((2, 2)), UPLO="X"), ValueError), (lambda: gc.diag(gc.ones(3), 0.5), TypeError),
    (lambda: gc.ones(3)[gc.ones(3)], IndexError), (lambda: gc.zeros(2, dtype=[1]), TypeError),
    (lambda: gc.zeros(2, dtype=gc.ones(2)), TypeError), (lambda: gc.round(gc.ones(3), 0.5), TypeError),
    (lambda: gc.diff(gc.ones(3), n=0.5), TypeError), (lambda: gc.permute_dims(gc.ones(3), None), ValueError),
    (lambda: gc.rot90(gc.ones((2, 2)), axes=(0, -2)), ValueError), (lambda: gc.rot90(gc.ones(2)), ValueError),
    (lambda: gc.rot90(gc.ones((2, 2)), axes=(0, 1, 0)), ValueError),
    (lambda: gc.vstack(5), TypeError), (lambda: gc.hstack(gc.ones(())), TypeError),
    (lambda: gc.array_split(gc.ones(3), np.array(1.5)), TypeError), (lambda: gc.einsum(gc.ones(3), "i"), TypeError),
    (lambda: gc.repeat(gc.ones(3), [[1], [1, 2]]), TypeError), (lambda: gc.leaky_relu(gc.ones(3), "0.1"), TypeError),
    (lambda: gc.put([1, 2], 0, 1), TypeError), (lambda: gc.put_along_axis(np.ones(3), [0], 1), TypeError),
    (lambda: gc.add.at(np.ones(3), 0, 1), TypeError), (lambda: gc.asarray([2**64, -1]), OverflowError),
    (lambda: gc.asarray(NESTED), TypeError),
    # More axes or elements than NumPy can have, although nothing of them would be computed.
    (lambda: gc.ones(1).reshape((1,) * 65), ValueError), (lambda: gc.ones((1,) * 64)[None], ValueError),
    (lambda: gc.ones((1,) * 64)[[[0]]], ValueError), (lambda: gc.zeros((2**40, 2**40)), ValueError),
    (lambda: gc.zeros((2**40, 1)) + gc.zeros(2**40), ValueError), (lambda: gc.arange(2**62), ValueError),
    (lambda: gc.zeros((2**40, 1)) @ gc.zeros((1, 2**40)), ValueError),
    (lambda: gc.concat([gc.zeros(2**58)] * 2), ValueError), (lambda: gc.broadcast_to(1.0, (2**62,)), ValueError),
])
def test_refused_as_by_numpy(call, error):
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, gc.errors.GraphcError)
    assert "test_numpy_habits.py" in str(caught.value)


@pytest.mark.parametrize("key", [range(1, 3), ((0, 2),), (slice(None), (1, 0)), (range(2), range(2))])
def test_sequences_as_indices(key):
    x = np.arange(9).reshape(3, 3)
    t = gc.asarray(x)
    check(t[key], x[key], exact=True)
    t[key], x[key] = 7, 7
    check(t, x, exact=True)


@pytest.mark.parametrize("rows", [[0, 1, 2], np.arange(3), gc.arange(3)])
@pytest.mark.parametrize("columns", [[2, 0, -1], [[1], [3]], [3], gc.asarray([1, 1, 0]) * 2])
def test_an_index_beside_one_that_counts_the_rows(rows, columns):
    x = np.arange(24).reshape(2, 3, 4)
    check(gc.asarray(x)[:, rows, columns], x[:, np.asarray(rows), np.asarray(columns)], exact=True)
    check(gc.asarray(x)[0, rows, columns], x[0, np.asarray(rows), np.asarray(columns)], exact=True)


def test_indices_that_do_not_broadcast():
    with pytest.raises(IndexError, match=r"\[getitem\] index arrays: shapes \(2,\) and \(3,\) do not broadcast"):
        gc.ones((3, 3))[[0, 1], [0, 1, 2]]
    with pytest.raises(ValueError, match="step cannot be zero"):
        gc.ones(3)[::0]
    with pytest.raises(TypeError, match="slice indices must be integers"):
        gc.ones(3)["a":]
    with pytest.raises(IndexError, match="setitem"):
        gc.ones((3, 3))[[0, 1], [0, 1, 2]] = 0


@pytest.mark.parametrize("dtype, value", [("float32", 1j), ("int64", np.nan), ("uint8", np.inf)])
def test_numbers_that_a_dtype_cannot_hold(dtype, value):
    with pytest.raises(TypeError, match="can't be stored as"):
        gc.ones(3, dtype=dtype)[0] = value


@pytest.mark.parametrize("name", "sum prod max min mean std var any all amax".split())
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}])
def test_numpys_reductions_call_ours(name, options):
    x = np.arange(6.0).reshape(2, 3)
    found = getattr(np, name)(gc.asarray(x), **options)
    assert isinstance(found, gc.Tensor)
    check(found, getattr(np, name)(x, **options))
    if name in ("std", "var"):
        check(getattr(np, name)(gc.asarray(x), ddof=1), getattr(np, name)(x, ddof=1))


def test_item_at_an_index():
    x = gc.asarray([[1, 2], [3, 4]])
    assert (x.item(2), x.item(-1), x.item(0, 1), x.item((1, 0))) == (3, 4, 2, 3)


UNCHANGED = """x[:]; x[...]; x[()]; x[:, :]; x[::1, 0:2]; x.reshape(2, 2); x.view(2, 2); x.astype("float64"); x.double()
+x; gc.astype(x, gc.float64, copy=True); gc.permute_dims(x, (0, 1)); gc.broadcast_to(x, (2, 2))
gc.positive(x); gc.conj(x); gc.real(x); x.real; gc.squeeze(x); gc.roll(x, 0); gc.roll(x, 2, axis=0)
gc.pad(x, 0); gc.pad(x, 0, mode="edge"); gc.tile(x, 1); gc.repeat(x, 1, axis=0); gc.concat([x])
gc.hstack([x]); gc.copy(x); x.copy(); gc.array(x); gc.asarray(x, copy=True); gc.ravel(x[0])
x[0].flatten(); gc.atleast_2d(x); gc.sum(x, axis=()); gc.max(x, axis=()); gc.clip(x, None, None)
gc.moveaxis(x, 0, 0); gc.swapaxes(x, 0, 0); gc.split(x, 1)[0]; gc.flip(x, axis=()); gc.diff(x, n=0)
gc.expand_dims(x, axis=()); x.T.T; gc.fft.fftshift(x, axes=()); gc.broadcast_arrays(x, x)[0]
gc.meshgrid(x[0])[0]; gc.linalg.matrix_power(x, 1); gc.einsum("ij->ij", x); gc.round(x.long())
gc.floor(x.long()); gc.where(True, x, x); gc.mean(x, axis=()); gc.where(x > 0, x, x); gc.maximum(x, x)
gc.cumulative_sum(x[:, :1], axis=1); x.detach(); gc.unstack(x[None])[0]; copy.copy(x); copy.deepcopy(x)"""


@pytest.mark.parametrize("text", [t.strip() for t in UNCHANGED.replace("\n", ";").split(";")])
def test_what_a_function_returns_is_not_its_argument(text):
    """Also where there was nothing to do: writing to the result leaves the argument alone, and the other way round."""
    x = gc.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = eval(text, {"gc": gc, "copy": copy, "x": x})
    before = y.numpy().copy()
    y += 1
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x *= 7
    x[0, 0] = 5
    check(y, before + 1)


NO_FUNCTION = {"asarray", "from_dlpack", "to_backend", "realize"}       # they give back what they were given
FOLLOWING = ((), (0,), (1,), (0, 0), ("x",), ("x * 1",))        # further arguments


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "complex128"])
def test_no_function_returns_its_argument(dtype):
    """Of all there are, those that take such an array, where there may be nothing to do."""
    called, found = 0, set()
    public = {name: getattr(gc, name) for name in dir(gc) if not name.startswith("_") and name not in NO_FUNCTION}
    functions = {name: f for name, f in public.items() if callable(f) and not isinstance(f, type)}
    for shape in ((), (1, 1), (2, 2), (0,), (3,)):
        x = gc.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype))
        for name, function in functions.items():
            for more in FOLLOWING:
                try:
                    y = function(x, *(eval(a) if isinstance(a, str) else a for a in more))
                except Exception:       # it takes other arguments
                    continue
                called += 1
                if x is y or isinstance(y, (tuple, list)) and any(z is x for z in y):
                    found.add(name)
    assert called > 1000 and not found


EMPTY = """gc.sort(x, axis=0); gc.partition(x, 0, axis=0); x.at[2:].set(0.0); x.at[gc.zeros(0, dtype=gc.int64)].add(1.0)
gc.round(i); gc.floor(i); gc.trunc(i); i.ceil(); gc.rint(i)
gc.fix(i); abs(i > 0); gc.float64(x); gc.nn.functional.dropout(x, training=False); gc.rot90(x, 0); gc.polyint(x[0], 0)
gc.scan(lambda c, _: ((c[0], c[1] + c[0]), None), (x, x), length=2)[0][0]; gc.scan(lambda c, y: (c, y), x, length=0)[0]
gc.histogram_bin_edges(x, x[0]); gc.while_loop(lambda c: c[1] < 0, lambda c: c, (x, x.sum()))[0]
gc.cond(x.sum() > 0, lambda c: c, lambda c: c + 1, x)"""


@pytest.mark.parametrize("text", [t.strip() for t in EMPTY.replace("\n", ";").split(";")])
def test_an_update_of_what_a_function_returns_is_one_under_jit_too(text):
    x, i = gc.asarray([[1.0, 2.0]]), gc.asarray([[1, 2]])
    function = eval(f"lambda x, i: {text}")

    def updated(x, i):
        y = function(x, i)
        y += y
        return y
    want = np.array(function(x, i).numpy())
    for f in (updated, gc.jit(updated), gc.jit(updated)):
        check(f(x, i), want + want)
        assert (x.tolist(), i.tolist()) == ([[1.0, 2.0]], [[1, 2]])


def test_an_update_of_a_slice_leaves_the_whole_alone():
    """The slice may lie in the memory of the whole: nothing is written there."""
    x = gc.asarray(np.arange(6.0))
    part = x[2:4]
    gc.add.at(part, [0, 0, 1], 10.0)
    other = x[4:6]
    other[0] = 7
    assert (part.tolist(), other.tolist(), x.tolist()) == ([22.0, 13.0], [7.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


def test_masks_of_nothing():
    x = np.ones((3, 4))
    for shape in ((0,), (3, 0), (0, 4)):
        check(gc.asarray(x)[np.zeros(shape, bool)], x[np.zeros(shape, bool)], exact=True)
    with pytest.raises(IndexError):
        gc.asarray(x)[np.zeros((0, 5), bool)]


def test_diagonals_beyond_the_corners():
    for k in (2**63, -2**70, 5, -5):
        assert gc.eye(2, 3, k=k).tolist() == [[0.0] * 3] * 2
        assert gc.tri(2, 3, k=k).tolist() == [[float(k > 0)] * 3] * 2
        assert gc.triu(gc.ones((2, 3)), k=k).tolist() == [[float(k < 0)] * 3] * 2


def test_asarray_of_a_tensor_is_that_tensor():
    x = gc.asarray([1.0, 2.0])
    for y in (gc.asarray(x), gc.asarray(x, copy=False), gc.asarray(x, dtype="float64", device=x.device)):
        assert y is x
    assert gc.asarray(x, copy=True) is not x and gc.asarray(x, dtype="float32") is not x


def test_covariances_of_a_vector_and_of_too_little():
    x = np.array([1.0, 2.0, 4.0])
    check(gc.cov(gc.asarray(x)), np.cov(x))
    check(gc.cov(gc.asarray(x[None])), np.cov(x[None]))
    for shape in ((2, 1), (3, 0)):
        found = gc.cov(gc.ones(shape)).numpy()
        assert found.shape == (shape[0],) * 2 and np.isnan(found).all()


def test_average_in_the_dtype_of_values_and_weights():
    x, weights = np.array([[1, 2]], np.float32), np.array([[3, 4]], np.uint16)
    check(gc.average(gc.asarray(x), 1, weights=weights), np.average(x, 1, weights=weights))


def test_norms_of_nothing_are_0():
    assert gc.linalg.vector_norm(gc.ones((0,)), ord=float("inf")).item() == 0
    for ord in (1, 2, float("inf"), "fro", "nuc"):
        assert gc.linalg.matrix_norm(gc.ones((1, 0)), ord=ord).item() == 0


def test_take_along_no_axis_takes_a_vector():
    x, index = np.arange(6).reshape(2, 3), np.array([5, -6, 0])
    check(gc.take_along_axis(gc.asarray(x), index, None), np.take_along_axis(x, index, None), exact=True)


def test_frequencies_by_position():
    check(gc.fft.fftfreq(5, 0.5), np.fft.fftfreq(5, 0.5))
    check(gc.fft.rfftfreq(6, 0.5), np.fft.rfftfreq(6, 0.5))


def test_functions_of_numpy_are_recorded():
    x = np.linspace(-2, 2, 6, dtype=np.float32)
    t = gc.asarray(x)
    for name in "exp tanh sqrt absolute negative square floor isnan sign arctan logical_not".split():
        function = getattr(np, name)
        with np.errstate(invalid="ignore"):
            found, want = function(t), function(x)
        assert isinstance(found, gc.Tensor) and found.node.value is None
        check(found, want)
    for name in "add multiply true_divide maximum arctan2 less equal hypot fmod".split():
        function = getattr(np, name)
        for found, want in [(function(t, x + 3), function(x, x + 3)), (function(x + 3, t), function(x + 3, x)),
                            (function(t, 2), function(x, 2))]:
            assert isinstance(found, gc.Tensor)
            check(found, want)
    check(np.float32(2) * t, np.float32(2) * x)
    check(np.float64(2) * t, np.float64(2) * x)
    check(x @ t, x @ x)


def test_an_array_that_numpy_writes_into_stays_one():
    x = np.ones(3)
    kept = x
    x += gc.asarray([1.0, 2.0, 3.0])
    assert x is kept and x.tolist() == [2.0, 3.0, 4.0]
    assert np.add(gc.ones(3), 1.0, out=kept) is kept and kept.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("call, name", [
    (lambda t: np.add.reduce(t), r"np\.add\.reduce"), (lambda t: np.spacing(t), r"np\.spacing"),
    (lambda t: np.exp(t, where=[True, False, True]), r"np\.exp with where"),
    (lambda t: np.add(t, 1.0, out=t), r"np\.add"),
])
def test_what_numpy_asks_beyond_that_is_refused(call, name):
    with pytest.raises(TypeError, match=name):
        call(gc.ones(3))


def test_a_read_only_view_of_what_can_be_written_to_is_copied():
    owner = np.zeros(3)
    view = owner[:]
    view.flags.writeable = False
    t = gc.asarray(view)
    owner[0] = 9
    assert t.tolist() == [0, 0, 0] and gc.asarray([10**20, 1.5]).tolist() == [1e20, 1.5]


def test_shapes_that_are_arrays():
    sizes = np.array([2, 3])
    assert gc.zeros(sizes).shape == gc.broadcast_to(1.0, gc.asarray(sizes)).shape == (2, 3)
    assert gc.arange(6).reshape(sizes).shape == (2, 3) and gc.sum(gc.ones((2, 3)), axis=np.int64(1)).shape == (2,)


def test_membership_and_rounding():
    t = gc.asarray([[1.25, 2.0], [3.5, -4.75]])
    assert 2.0 in t and 7.0 not in t
    assert round(t, 1).tolist() == [[1.2, 2.0], [3.5, -4.8]] and round(t).tolist() == [[1.0, 2.0], [4.0, -5.0]]


X = np.arange(12.0).reshape(3, 4) % 5


POSITIONS = {
    "zeros": lambda np, x: np.zeros(3, "int8"), "full": lambda np, x: np.full((2, 2), 7, "float32"),
    "ones_like": lambda np, x: np.ones_like(x, "int32"), "asarray": lambda np, x: np.asarray(x, "float32"),
    "eye": lambda np, x: np.eye(3, 4, 1), "triu": lambda np, x: np.triu(x, 1), "tril": lambda np, x: np.tril(x, -1),
    "stack": lambda np, x: np.stack([x, x], 1), "concat": lambda np, x: np.concat([x, x], 1),
    "flip": lambda np, x: np.flip(x, 1), "repeat": lambda np, x: np.repeat(x, 2, 0),
    "take": lambda np, x: np.take(x, np.asarray([2, 0]), 1), "diff": lambda np, x: np.diff(x, 2, 0),
    "sum": lambda np, x: np.sum(x, 0, "float32"), "cumsum": lambda np, x: np.cumsum(x, 1, "float32"),
    "average": lambda np, x: np.average(x, 1, np.arange(4)), "tensordot": lambda np, x: np.tensordot(x, x.T, 1),
    "searchsorted": lambda np, x: np.searchsorted(np.arange(9), x[0], "right"),
    "svd": lambda np, x: np.linalg.svd(x, False)[1], "rfft": lambda np, x: np.fft.rfft(x, 6, 0),
    "fftshift": lambda np, x: np.fft.fftshift(x, 1), "logspace": lambda np, x: np.logspace(0, 2, 5, False),
    "corrcoef": lambda np, x: np.corrcoef(x[0], x[1]), "cov": lambda np, x: np.cov(x[0], x[1]),
    "cov of columns": lambda np, x: np.cov(x, None, False), "cov with ddof": lambda np, x: np.cov(x, ddof=0),
}


@pytest.mark.parametrize("call", POSITIONS.values(), ids=POSITIONS)
def test_arguments_by_position(call):
    check(call(gc, gc.asarray(X)), call(np, X))


def test_data_types_are_equal_to_what_they_stand_for():
    own = gc.ones(3, "float32").dtype
    for other in (np.float32, "float32", np.dtype("f4")):
        assert own == other and other == own
    for other in (np.float64, "no dtype", list, None, 1):
        assert own != other
    assert own in (np.float64, np.float32) and gc.bfloat16 != np.uint16
    assert np.zeros(2, own).dtype == np.float32 and np.dtype(gc.int8) == np.int8


def test_data_types_make_tensors():
    for name, value in (("float32", 0.1), ("int8", [1, 2]), ("int32", 3.7), ("complex64", 1 + 2j), ("bool", 2)):
        check(getattr(gc, name)(value), np.asarray(getattr(np, name)(value)))
    assert gc.float64().item() == 0 and list(range(gc.int64(2))) == [0, 1]
    assert (gc.ones(2, dtype="int8") + gc.float32(0.5)).dtype is gc.float32


@pytest.mark.parametrize("columns", [(), (2,)])
def test_lstsq_gives_what_numpys_does(columns):
    a, b = np.random.default_rng(0).normal(size=(6, 3)), np.ones((6, *columns))
    for found, want in zip(gc.linalg.lstsq(gc.asarray(a), gc.asarray(b)), np.linalg.lstsq(a, b), strict=True):
        check(found, want, dtype=False)
    check(gc.linalg.lstsq(gc.asarray(a), gc.asarray(b), 0.99).rank, 1)
    kernels = gc.plan(*gc.linalg.lstsq(gc.asarray(a), gc.asarray(b))).kernels
    assert [k.name for k in kernels if "svd" in k.name] == ["svd"]      # one decomposition for all four
