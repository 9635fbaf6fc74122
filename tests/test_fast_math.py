"""`fast_math`: which nodes it marks, what marked nodes may become, and that strict ones notice nothing of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphc as gc
from graphc.config import settings
from graphc.ir import ops
from graphc.ir.node import topological
from graphc.ir.ops import FAST
from graphc.ir.text import graph_text, parse_graph
from graphc.tolerances import equal_bits, mismatch

fast = gc.fast_math()
SHAPE = (7, 301)


def numbers(*shape: int, dtype="float32", seed=0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(dtype)


@pytest.fixture
def xyz() -> list[gc.Tensor]:
    return [gc.asarray(numbers(*SHAPE, seed=seed)) for seed in range(3)]


def marks(*tensors: gc.Tensor) -> list[str]:
    return sorted(n.op.name for n in topological([t.node for t in tensors]) if n.attrs == FAST)


def rounded_once(a, b, c) -> np.ndarray:
    """a * b + c of float32, to the last bit but for rare double roundings."""
    return (np.asarray(a, np.float64) * b + c).astype(np.float32)


# -------------------------------------------------------------------------------------------------------------- marks

def test_marked_nodes_are_others_than_strict_ones(xyz):
    x, y, z = xyz
    with gc.fast_math():
        inside, again = x * y + z, x * y + z
    outside = x * y + z
    assert inside.node is again.node is not outside.node and outside.node is (x * y + z).node
    assert marks(inside) == ["add", "mul"] and marks(outside) == []


def test_what_is_marked():
    """Real numbers of 32 and 64 bits, where a mark allows something; the others are one node inside and outside."""
    x, n, h, c = (gc.asarray(np.ones((2, 2))).astype(t) for t in ("float64", "int32", "float16", "complex64"))
    with gc.fast_math():
        y = x + 0
        assert marks(gc.exp(x) @ (x / 3), x ** 2, x ** y) == ["add", "div", "dot", "exp", "mul", "pow"]
        assert not marks(gc.sum(gc.maximum(gc.floor(x), x.T), axis=0), n * n + n, h * h, c * c, gc.sinh(x), -x)


def test_blocks_nest_and_belong_to_a_thread(xyz):
    x, y, _ = xyz
    found = []

    def elsewhere():
        found.extend(marks(x * y))
    with gc.fast_math():
        with pytest.raises(ZeroDivisionError), gc.fast_math():
            1 / 0       # noqa: B018
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        found += marks(x * y)
    assert found == ["mul"] and not marks(x * y)


def test_a_decorator(xyz):
    @gc.fast_math()
    def product(x, y):
        return x * y
    assert marks(product(*xyz[:2])) == ["mul"]


def test_marks_are_printed_and_read_back(xyz):
    x, y, _ = xyz
    with gc.fast_math():
        inside = x * y
    text = graph_text([(inside + y).node])
    assert text.count("('fast',)") == 1 and graph_text(parse_graph(text)) == text


def test_gradients_of_marked_nodes_are_marked(xyz):
    def f(x):
        return gc.sum(fast(gc.sin)(x) * 3.0)
    assert marks(gc.grad(f)(xyz[0])) == ["cos", "mul"]
    assert marks(gc.grad(gc.checkpoint(f))(xyz[0])) == ["cos", "mul"]


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_of_marked_convolutions_are_marked(stride):
    """They are a rule of their own, and not that of the product of which a convolution is made."""
    x, w = (gc.asarray(numbers(*shape)) for shape in ((2, 3, 9, 9), (4, 3, 3, 3)))
    for convolve, want in ((fast(gc.conv2d), ["dot", "dot"]), (gc.conv2d, [])):
        found = gc.grad(lambda x, w, f=convolve: gc.sum(f(x, w, stride=stride)), argnums=(0, 1))(x, w)
        assert [n for n in marks(*found) if n == "dot"] == want


def test_vmap_keeps_marks(xyz):
    assert marks(gc.vmap(fast(lambda x: x * x))(xyz[0])) == ["mul"]
    product = gc.vmap(fast(lambda x: gc.reshape(x, (7, 43)) @ gc.ones((43, 5), dtype=gc.float32)))(xyz[0])
    assert marks(product) == ["dot"]


def test_bodies_of_loops_keep_marks():
    def turn(x, _):
        with gc.fast_math():
            return x * 0.1 + 0.1, x
    (found, _), want = gc.scan(turn, gc.asarray(np.float32(1)), length=5), np.float32(1)
    for _ in range(5):
        want = rounded_once(want, np.float32(0.1), np.float32(0.1))
    assert found.numpy() == want or gc.get_backend_name() == "reference"


# ------------------------------------------------------------------------------------------------------- what they give

@pytest.fixture
def relaxed(backend):
    if backend == "reference":
        pytest.skip("the reference computes what is written")


def written(x, y, z):
    return x * y + z, z + x * y, x * y - z, z - x * y, x ** 2 + z


def test_products_are_contracted_and_strict_ones_beside_them_are_not(relaxed, xyz):
    """In one kernel: the bits of each depend on nothing but itself."""
    with gc.fast_math():
        inside = written(*xyz)
    outside, (x, y, z) = written(*xyz), (t.numpy() for t in xyz)
    assert len(gc.plan(*inside, *outside).kernels) == 1
    gc.realize(*inside, *outside)
    assert all(map(equal_bits, (t.numpy() for t in outside), written(x, y, z)))
    exact = [rounded_once(*abc) for abc in ((x, y, z), (x, y, z), (x, y, -z), (-x, y, z), (x, x, z))]
    assert all(map(equal_bits, (t.numpy() for t in inside), exact))
    with settings.override(disable="relax"), gc.fast_math():
        assert all(map(equal_bits, (t.numpy() for t in written(*xyz)), written(x, y, z)))


def test_what_is_not_contracted(relaxed, xyz):
    """One of two operations; a product with fewer elements than the sum; narrow numbers."""
    x, y, z = xyz
    h = x.astype("float16")
    with gc.fast_math():
        product, found = x * y, [x[:, :1] * y[:, :1] + z, h * h + h]
    gc.realize(*found, sum := product + z)
    want = x[:, :1] * y[:, :1] + z, h * h + h, x * y + z
    gc.realize(*want)
    assert all(equal_bits(a.numpy(), b.numpy()) for a, b in zip((*found, sum), want, strict=True))


def test_a_product_that_others_read_too(relaxed, xyz):
    """It is computed for them, and what is added to it is rounded once all the same."""
    x, y, z = xyz
    with gc.fast_math():
        product = x * y
        total = product + z
    gc.realize(product, total)
    assert equal_bits(product.numpy(), x.numpy() * y.numpy())
    assert equal_bits(total.numpy(), rounded_once(x.numpy(), y.numpy(), z.numpy()))
    assert gc.plan(fast(lambda: x * y + z)()).flops == 2 * x.size


def test_float64_is_contracted(relaxed):
    x = gc.asarray(numbers(1000, dtype="float64"))
    with gc.fast_math():
        found = x * x - 1.0
    want = np.asarray(x.numpy(), np.longdouble) ** 2 - 1
    exact, strict = found.numpy(), (x * x - 1.0).numpy()
    assert abs(exact - want).max() < abs(strict - want).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shared_divisors_are_inverted(relaxed, dtype):
    x = numbers(*SHAPE, dtype=dtype)
    divisors = (np.asarray(3.7, dtype), numbers(7, 1, dtype=dtype), numbers(dtype=dtype, seed=5),
                numbers(301, dtype=dtype))
    with gc.fast_math():
        found = [gc.asarray(x) / (3.7 if k == 0 else gc.asarray(d)) for k, d in enumerate(divisors)]
    assert len(gc.plan(*found).kernels) == 1
    gc.realize(*found)
    for k, (divisor, t) in enumerate(zip(divisors, found, strict=True)):
        want, quotient = x / divisor, t.numpy()
        np.testing.assert_allclose(quotient, want, rtol=2 * np.finfo(dtype).eps, atol=0)
        if k < 3 or gc.get_backend_name() == "cpu":     # GPUs have approximate quotients
            assert equal_bits(quotient, want) == (k == 3)       # which neighbours do not share


def test_numbers_that_are_none_and_infinite(relaxed):
    """NaN stays NaN; docs/numerics.md says where a reciprocal gives another infinity or NaN."""
    inf, nan = np.inf, np.nan
    x = gc.asarray(np.array([nan, inf, -inf, 1, 0], np.float32))
    with gc.fast_math():
        found = [(x * 2.0 + 1.0).numpy(), (x / 3.0).numpy(), (x / inf).numpy(), (x / 0.0).numpy(), (x / 1e-40).numpy()]
    assert np.array_equal(found[0], np.array([nan, inf, -inf, 3, 1], np.float32), equal_nan=True)
    assert np.allclose(found[1], np.array([nan, inf, -inf, 1 / 3, 0]), equal_nan=True)
    assert np.array_equal(found[2], np.array([nan, nan, nan, 0, 0]), equal_nan=True)
    assert np.array_equal(found[3], np.array([nan, inf, -inf, inf, nan]), equal_nan=True)
    assert np.array_equal(found[4], np.array([nan, inf, -inf, inf, nan]), equal_nan=True)     # exactly: 1e40 and 0


def test_the_same_bits_on_any_number_of_threads():
    x, w = gc.asarray(numbers(300, 500)), gc.asarray(numbers(500, 40))

    @gc.fast_math()
    def f(x, w):
        y = gc.exp(x - gc.max(x, axis=1, keepdims=True))
        return gc.sum((y / gc.sum(y, axis=1, keepdims=True)) @ w * 1.3 + 0.1, axis=0)
    found = []
    for threads in (1, 3):
        with settings.override(num_threads=threads):
            found.append(f(x, w).numpy())
    jitted = gc.jit(f)
    found += [jitted(x, w).numpy(), jitted(x, w).numpy()]
    assert all(equal_bits(found[0], other) for other in found)


def test_jit_traces_inside_and_outside(relaxed, xyz):
    """Also where the call is written out, from the second one on."""
    f = gc.jit(lambda x, y, z: x * y + z)
    x, y, z = (t.numpy() for t in xyz)
    inside, outside = rounded_once(x, y, z), x * y + z
    for _ in range(3):
        for _ in range(3):
            assert equal_bits(f(*xyz).numpy(), outside)
        with gc.fast_math():
            for _ in range(3):
                assert equal_bits(f(*xyz).numpy(), inside)


def test_familiar_graphs_are_told_apart(relaxed, xyz):
    x, y, z = xyz
    for _ in range(20):
        outside = (x * y + z).numpy()
        with gc.fast_math():
            inside = (x * y + z).numpy()
        assert not equal_bits(inside, outside)


def test_forms_are_recognised_with_marks(backend):
    """A causal mask that is added to a marked product hides whole blocks, and the gradient finds its bound; a row times
    weights that are scaled and shifted is spelled in vectors."""
    if backend != "cpu":
        pytest.skip("about generated C")
    q, k, v = (gc.asarray(numbers(2, 200, 8, seed=seed)) for seed in range(3))
    mask = gc.where(gc.arange(200) <= gc.arange(200)[:, None], gc.asarray(0, dtype=gc.float32), -gc.inf)
    x, weights, shift = gc.asarray(numbers(1, 64)), gc.asarray(np.ones((64, 100), np.int8)), gc.asarray(numbers(100))

    def loss(q, k, v):
        return gc.sum((gc.softmax((q @ k.mT) * 0.3 + mask, axis=-1) @ v) ** 2)
    programs = {"diagonal": lambda: [gc.softmax((q @ k.mT) * 0.3 + mask, axis=-1) @ v],
                "contract_weighted": lambda: gc.grad(loss, argnums=(0, 1, 2))(q, k, v),
                "gc_lanes_int8(&": lambda: [x @ (weights.astype("float32") * 0.5 + shift)]}
    for found, program in programs.items():
        for inside in (False, True):
            results = fast(program)() if inside else program()
            assert any(found in kernel.source for kernel in gc.plan(*results).kernels), (found, inside)


def test_results_on_live_data_are_held_to_the_tolerances_of_marks(relaxed, xyz):
    x, y, z = xyz
    with settings.override(verify=1), gc.fast_math():
        found = gc.sum(x * y - z / 3.7 + gc.exp(x) * 0.5, axis=1)
        assert np.isfinite(found.numpy()).all()


@pytest.mark.parametrize("name", ["exp", "log", "log2", "log10", "sin", "cos", "div"])
def test_functions_are_within_their_bounds(name):
    """As a device spells them, on ordinary and on awkward numbers; strict ones beside them as ever."""
    x = np.concatenate([numbers(500) * 3 - 3, [np.nan, np.inf, -np.inf, 0, -0.0, 1, 88, -100, 1e-42]], dtype=np.float32)
    sources = [gc.asarray(x), gc.asarray(x[::-1].copy())][:2 if name == "div" else 1]
    function = getattr(gc, {"div": "divide"}.get(name, name))
    inside, outside = fast(function)(*sources), function(*sources)
    gc.realize(inside, outside)
    for t, attrs in ((inside, FAST), (outside, ())):
        assert mismatch(ops.get(name), attrs, gc.float32, x.shape, t.numpy(), [s.numpy() for s in sources]) is None


@pytest.mark.parametrize("name", ["add", "sub", "div"])
def test_tolerances_of_marks_are_not_endless(name):
    op, sources = ops.get(name), [numbers(50, seed=seed) for seed in range(2)]
    def wrong_by(error: float, attrs: tuple) -> bool:
        wide = op.numpy(FAST, gc.float32, (50,), *(s.astype("float64") for s in sources)) + error
        return mismatch(op, attrs, gc.float32, (50,), wide.astype("float32"), sources) is not None
    assert not wrong_by(2.0**-27, FAST) and wrong_by(2.0**-27, ()) and wrong_by(2.0**-20, FAST)


def test_recording_pays_nothing_outside():
    from graphc.api import record
    from graphc.ir import node
    assert record.make is node.make
    with gc.fast_math():
        assert record.make is not node.make
    assert record.make is node.make
