"""grad and its relatives as a user meets them: variables, history, nesting, own rules, errors."""
from __future__ import annotations

import gc as garbage
import weakref

import numpy as np
import pytest

import graphc as gc
from graphc.config import settings
from graphc.errors import DTypeError, GradientError, ShapeError


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def variable(*values: float) -> gc.Tensor:
    return gc.Tensor(list(values), requires_grad=True)


def test_backward_adds_up_until_zero_grad():
    w = variable(1.0, 2.0)
    for _ in range(2):
        (w * w).sum().backward()
    assert w.grad.tolist() == [4.0, 8.0]
    gc.zero_grad([w])
    assert w.grad is None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


def test_a_value_read_in_between_keeps_its_history():
    w = variable(1.0, 2.0)
    y = w * w
    loss = (y * 3).sum()
    assert float(loss) == 15.0 and y.tolist() == [1.0, 4.0]
    loss.backward()
    loss.backward()
    assert w.grad.tolist() == [12.0, 24.0]


def test_history_goes_with_its_tensors():
    w = variable(1.0, 2.0)
    y = (w * w).realize()
    kept = weakref.ref(y.node)
    loss = (y * y).sum().realize()
    del y
    assert kept() is not None
    loss.backward()
    w.grad.realize()
    del loss
    garbage.collect()
    assert kept() is None, "a gradient must not keep the forward pass"


def test_one_node_in_two_variables():
    zeros = gc.zeros(2)
    a, b = (gc.Tensor(zeros, requires_grad=True) for _ in range(2))
    (a * 2 + b * 3).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0] and b.grad.tolist() == [3.0, 3.0]
    x = gc.asarray([1.0])
    assert [g.item() for g in gc.grad(lambda p, q: (p * 2 + q * 3).sum(), (0, 1))(x, x)] == [2.0, 3.0]


def test_a_step_keeps_the_variable():
    w = variable(1.0, 2.0)
    for _ in range(3):
        gc.zero_grad([w])
        (w * w).sum().backward()
        with gc.no_grad():
            w -= 0.25 * w.grad
        assert w.requires_grad and w.is_variable
    assert w.tolist() == [0.125, 0.25]
    with pytest.raises(GradientError, match="no_grad"):
        w *= w
    with pytest.raises(GradientError, match="changed in place"):
        w[0] = w[1]


def test_no_grad_and_detach_cut():
    w = variable(2.0)
    with gc.no_grad():
        y = w * 3
    assert not y.requires_grad and (w * 3).requires_grad
    (w * w.detach()).sum().backward()
    assert w.grad.item() == 2.0
    assert gc.grad(lambda x: x * gc.stop_gradient(x))(3.0).item() == 3.0

    @gc.no_grad()
    def f():
        return w * 5

    assert not f().requires_grad


def test_transforms_inside_no_grad():
    """Only what comes out of them has no history."""
    w, x = variable(3.0), gc.asarray([2.0])

    def f(x):
        return (w * x * x).sum()

    with gc.no_grad():
        (value, slope), (_, pull) = gc.value_and_grad(f)(x), gc.vjp(lambda x: w * x * x, x)
        pulled, turn = pull(gc.ones(1))[0], gc.jvp(gc.sin, (0.0,), (2.0,))[1]
    assert [t.item() for t in (value, slope, pulled, turn)] == [12, 12, 12, 2]
    assert not any(t.requires_grad for t in (value, slope, pulled, turn))
    assert gc.grad(f)(x).requires_grad

    def by_constant(x):
        with gc.no_grad():
            slope = gc.grad(f)(x)
        return (slope * x).sum()

    assert gc.grad(by_constant)(x).item() == 12.0
    with gc.no_grad():
        assert gc.grad(lambda x: (gc.no_grad()(lambda: x * x)() * x).sum())(x).item() == 4.0


def test_nesting():
    def f(x):
        return x ** 4

    assert gc.grad(gc.grad(gc.grad(f)))(2.0).item() == 48.0
    assert gc.grad(lambda x: x * gc.grad(lambda y: x * y * y)(3.0))(2.0).item() == 24.0
    w = variable(2.0)
    gc.grad(lambda x: (w * x * x).sum())(3.0).backward()        # d/dw of 2 w x
    assert w.grad.item() == 6.0


def test_hessian_vector_product_and_reused_pullbacks():
    x = gc.asarray([1.0, 2.0, 3.0])
    y, pull = gc.vjp(lambda x: x ** 3, x)
    assert y.tolist() == [1.0, 8.0, 27.0]
    for k in (1.0, 2.0):
        assert pull(gc.full((3,), k))[0].tolist() == [3 * k, 12 * k, 27 * k]
    value, change = gc.jvp(gc.grad(lambda x: (x ** 3).sum()), (x,), (gc.asarray([1.0, 0.0, 2.0]),))
    assert value.tolist() == [3.0, 12.0, 27.0] and change.tolist() == [6.0, 0.0, 36.0]


def test_trees_and_aux():
    params = {"w": gc.asarray([1.0, 2.0]), "b": (gc.asarray(3.0), None)}

    def f(p, scale):
        return (p["w"].sum() * p["b"][0] * scale), {"seen": p["w"] * 2}

    (value, aux), gradient = gc.value_and_grad(f, has_aux=True)(params, 2.0)
    assert value.item() == 18.0 and aux["seen"].tolist() == [2.0, 4.0]
    assert gradient["w"].tolist() == [6.0, 6.0] and gradient["b"][0].item() == 6.0 and gradient["b"][1] is None
    assert not aux["seen"].requires_grad and not gradient["w"].requires_grad
    assert gc.grad(lambda a, b: a * 2, argnums=1)(gc.asarray(1.0), 5.0).item() == 0.0


def test_where_stops_nan_of_the_side_not_taken():
    g = gc.grad(lambda x: gc.where(x > 0, gc.log(gc.where(x > 0, x, 1)), 0).sum())(gc.asarray([0.0, 2.0]))
    assert g.tolist() == [0.0, 0.5]


def test_ties_share():
    assert gc.grad(gc.max)(gc.asarray([1.0, 3.0, 3.0])).tolist() == [0.0, 0.5, 0.5]
    assert gc.grad(lambda x: gc.maximum(x, 1.0).sum())(gc.asarray([0.0, 1.0, 2.0])).tolist() == [0.0, 0.5, 1.0]


def test_checkpoint_has_the_same_gradient():
    w = variable(0.3, 0.7)
    x = gc.asarray([1.5, 2.5])
    block = gc.checkpoint(lambda h: gc.sin(h * w) * w)
    block(block(x)).sum().backward()
    found = w.grad.numpy()
    gc.zero_grad([w])

    def plain(h):
        return gc.sin(h * w) * w

    plain(plain(x)).sum().backward()
    np.testing.assert_array_equal(found, w.grad.numpy())


def test_custom_vjp():
    @gc.custom_vjp
    def scaled(x, y):
        return x * y, x + y

    scaled.defvjp(lambda x, y: ((x * y, x + y), (x, y)),
                  lambda res, g: (g[0] * 10 + g[1], None))
    x, y = gc.asarray([1.0, 2.0]), gc.asarray([3.0, 4.0])
    assert [t.tolist() for t in scaled(x, y)] == [[3.0, 8.0], [4.0, 6.0]]
    gx, gy = gc.grad(lambda x, y: sum(t.sum() for t in scaled(x, y)), (0, 1))(x, y)
    assert gx.tolist() == [11.0, 11.0] and gy.tolist() == [0.0, 0.0]

    @gc.custom_vjp
    def wrong(x):
        return x * 1

    with pytest.raises(GradientError, match="defvjp"):
        wrong(x)
    wrong.defvjp(lambda x: (x, None), lambda _, g: g)
    with pytest.raises(GradientError, match="tuple of 1"):
        gc.grad(lambda x: wrong(x).sum())(x)
    wrong.defvjp(lambda x: (x, None), lambda _, g: (g.sum(),))
    with pytest.raises(ShapeError, match=r"\(\), its argument \(2,\)"):
        gc.grad(lambda x: wrong(x).sum())(x)


def test_the_forward_of_custom_vjp_may_call_the_function():
    """As JAX's documentation does."""
    @gc.custom_vjp
    def square(x):
        return x * x
    square.defvjp(lambda x: (square(x), x), lambda x, g: (100 * g * x,))
    assert gc.grad(lambda x: square(square(x)))(gc.asarray(3.0)).item() == 100 * 9 * 100 * 3
    assert gc.grad(gc.grad(square))(gc.asarray(3.0)).item() == 100.0


def test_a_gradient_reads_what_custom_vjp_returned():
    """The reference and GRAPHC_VERIFY computed what only gradients go through, a call that has no value."""
    @gc.custom_vjp
    def clipped(x):
        return x * 1
    clipped.defvjp(lambda x: (x * 1, None), lambda _, g: (gc.clip(g, -1, 1),))
    x = variable(0.25, 3.0)
    assert clipped(x).tolist() == [0.25, 3.0]
    assert gc.grad(lambda x: (gc.checkpoint(clipped)(x) ** 2).sum())(x).tolist() == [0.5, 1.0]
    with gc.backend("cpu"), settings.override(verify=True):
        x = variable(0.25, 3.0)
        assert gc.grad(lambda x: (gc.checkpoint(clipped)(x) ** 2).sum())(x).tolist() == [0.5, 1.0]


def test_complex_gradients_point_uphill():
    z = gc.asarray(np.array([1 + 2j, -0.5j]))
    np.testing.assert_allclose(gc.grad(lambda z: (gc.abs(z) ** 2).sum())(z).numpy(), 2 * z.numpy())


@pytest.mark.parametrize("call, error, text", [
    (lambda: gc.grad(gc.sin)(gc.asarray([1.0, 2.0])), ShapeError, r"shape \(2,\).*\.sum\(\)"),
    (lambda: gc.grad(gc.sum)(gc.asarray([1, 2])), DTypeError, "argument 0 is int64"),
    (lambda: gc.grad(gc.sin, 1)(1.0), GradientError, "argnums has 1, but there are 1"),
    (lambda: gc.grad(lambda x: 3.0)(1.0), GradientError, "returned float"),
    (lambda: gc.asarray([1.0]).backward(), GradientError, "from no variable"),
    (lambda: (variable(1.0, 2.0) * 2).backward(), ShapeError, "not one number"),
    (lambda: gc.Tensor([1, 2], requires_grad=True), DTypeError, "int64 tensor has no gradient"),
    (lambda: gc.grad(lambda a: gc.linalg.svd(a)[0].sum())(gc.ones((3, 2))), GradientError, "full_matrices=False"),
    (lambda: gc.vjp(gc.sin, 1.0)[1](gc.ones(3)), ShapeError, "gradient of shape"),
    (lambda: gc.jvp(gc.sin, gc.ones(7), gc.ones(7)), GradientError, r"gc.jvp\(f, \(x,\), \(dx,\)\)"),
    (lambda: gc.jvp(gc.sin, (1.0,), (gc.ones(3),)), ShapeError, r"a tangent of shape \(3,\) for an argument"),
    (lambda: gc.jvp(gc.sin, (1.0,), ((1.0, 2.0),)), GradientError, "another structure"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        call()


# ------------------------------------------------------------------------------------------------------ kernels, bytes

def normal(*shape: int) -> gc.Tensor:
    return gc.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def test_backward_of_cross_entropy_is_one_kernel():
    labels = gc.asarray(np.random.default_rng(0).integers(0, 512, 256))

    def loss(x):
        return -gc.take_along_axis(gc.log_softmax(x), labels[:, None], axis=1).mean()

    plan = gc.plan(gc.grad(loss)(normal(256, 512)))
    assert len(plan.kernels) == 1 and plan.bytes_moved <= 1.05 * (2 * 256 * 512 * 4 + 256 * 8)
    t = normal(256, 512)
    assert len(gc.plan(gc.grad(lambda x: (gc.softmax(x) * t).sum())(normal(256, 512))).kernels) == 1


def test_backward_of_layernorm_is_two_kernels():
    t = normal(256, 512)

    def loss(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return ((centred / gc.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift) * t).sum()

    plan = gc.plan(*gc.grad(loss, (0, 1, 2))(normal(256, 512), normal(512), normal(512)))
    assert len(plan.kernels) == 2


def test_backward_of_a_dense_layer_is_its_products_and_a_column_sum():
    t = normal(256, 128)

    def loss(x, w, b):
        return (gc.tanh(x @ w + b) * t).sum()

    plan = gc.plan(*gc.grad(loss, (0, 1, 2))(normal(256, 512), normal(512, 128), normal(128)))
    assert len(plan.kernels) == 4


@pytest.mark.parametrize("parts", [8, 64])
def test_slices_write_their_bytes_once(parts):
    x = normal(parts * 1024)

    def loss(x):
        return sum((p * p * k).sum() for k, p in enumerate(gc.split(x, parts)))

    plan = gc.plan(gc.grad(loss)(x))
    assert plan.bytes_moved <= 5 * x.nbytes


def test_checkpoint_of_variables_that_are_not_computed_yet():
    """A function that closes over them, as layers do after a step of an optimiser that nobody looked at."""
    def train(layer):
        w = gc.Tensor([0.5, 2.0], requires_grad=True)
        for _ in range(3):
            w.grad = None
            layer(lambda h, w=w: gc.sin(h * w))(gc.asarray([1.0, 3.0])).sum().backward()
            with gc.no_grad():
                w -= 0.1 * w.grad
        return w.tolist()

    assert train(gc.checkpoint) == train(lambda f: f)
    assert gc.grad(lambda w: gc.checkpoint(lambda h: h * w)(2.0))(gc.asarray(1.0) * 3).item() == 2


def test_checkpoint_keeps_what_is_detached():
    x = gc.asarray([1.0, 2.0, 3.0])
    block = gc.checkpoint(lambda x: (x.detach() * x).sum())
    assert gc.grad(block)(x).tolist() == [1, 2, 3]
    assert gc.grad(lambda x: gc.grad(gc.checkpoint(lambda x: (x.detach() * x**3).sum()))(x).sum())(x).tolist() == [
        6, 24, 54]


def test_checkpoints_hold_less():
    """36 layers of two activations each: all of them, or six blocks' ends and the twelve of one block."""
    weights = [normal(16, 16) * 0.1 for _ in range(36)]
    x = normal(1024, 16)

    def block(h, *ws):
        for w in ws:
            h = gc.tanh(gc.tanh(h @ w) * h)
        return h

    def in_blocks(f):
        def value(x):
            for k in range(0, 36, 6):
                x = f(x, *weights[k:k + 6])
            return x.sum()
        return gc.plan(gc.grad(value)(x)).peak_bytes / x.nbytes

    assert in_blocks(block) > 70 and in_blocks(gc.checkpoint(block)) <= 20


def test_a_gradient_of_ones_own_has_a_gradient():
    """What the rule reads of the arguments was constant to it: the second derivative was 0."""
    @gc.custom_vjp
    def cube(x):
        return x ** 3
    cube.defvjp(lambda x: (x ** 3, x), lambda x, g: (g * 3 * x ** 2,))
    assert gc.grad(cube)(2.0).item() == 12 and gc.grad(gc.grad(cube))(2.0).item() == 12
    assert gc.grad(gc.grad(gc.grad(cube)))(2.0).item() == 6
    assert gc.jvp(gc.grad(cube), (2.0,), (1.0,))[1].item() == 12
    x = variable(2.0)
    cube(x).sum().backward()
    assert x.grad.tolist() == [12.0]


@pytest.mark.parametrize("groups", [1, 2])
def test_weights_of_a_convolution_of_no_images(groups):
    x, w = gc.ones((0, 4, 8, 8)), gc.ones((4, 4 // groups, 3, 3))
    found = gc.grad(lambda x, w: gc.sum(gc.conv2d(x, w, groups=groups)), (0, 1))(x, w)
    assert found[0].shape == x.shape and found[1].shape == w.shape and not found[1].numpy().any()


@pytest.mark.parametrize("read", [
    lambda x: x.numpy(), np.asarray, np.from_dlpack, lambda x: gc.asarray(np.sort(x * 2)), lambda x: gc.unique(x),
    lambda x: gc.quantile(gc.arange(4.0), x)])
def test_numpy_reads_nothing_that_a_gradient_follows(read):
    x = gc.asarray([0.25, 0.5])

    def f(x):
        read(x)
        return gc.sum(x)
    for transform in (gc.grad(f), lambda x: gc.vjp(f, x), lambda x: gc.grad(lambda y: gc.sum(gc.grad(f)(y)))(x)):
        with pytest.raises(gc.errors.GradientError, match=r"detach\(\)"):
            transform(x)
    read(x)
    assert gc.grad(lambda x: f(x.detach()) + gc.sum(x))(x).tolist() == [1.0, 1.0]


def test_numbers_that_steer_are_constants():
    """Control flow, printing and logging work; what was followed once can be read afterwards."""
    seen = []

    def f(x):
        y = gc.sum(x * x)
        seen.append(y)
        assert f"{y:.1f}" == "5.0" and y.tolist() == y.item() == float(y) == 5 and "5." in repr(y)
        return y * float(y) if y > 2 and gc.nonzero(x)[0].size == 2 else y
    assert gc.grad(f)(gc.asarray([1.0, 2.0])).tolist() == [10.0, 20.0]
    assert seen[0].numpy() == 5
    assert gc.grad(lambda x: gc.sum(x) * float(seen[0].numpy()))(gc.asarray([1.0])).tolist() == [5.0]
    w = gc.Tensor([1.0, 2.0], requires_grad=True)
    gc.sum(w * w).backward()
    assert w.numpy().tolist() == [1.0, 2.0]


def test_linspace_between_numbers_that_are_followed():
    slopes = gc.grad(lambda a, b: gc.sum(gc.linspace(a, b, 5) * gc.arange(5.0)), argnums=(0, 1))(0.0, 1.0)
    assert [s.item() for s in slopes] == [2.5, 7.5]
