"""gc.jit: signatures, numbers, what a traced value cannot do, nesting, checking and plans."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, deque, namedtuple
from contextlib import nullcontext

import numpy as np
import pytest
from together import Together

import graphc as gc
from graphc import driver
from graphc.errors import IndexOutOfRange, JitError, TracerError
from graphc.pytree import flatten
from graphc.tolerances import equal_bits
from graphc.tracing.written_out import MISS


def a_tensor(n: int = 6, dtype: str = "float32", seed: int = 0) -> gc.Tensor:
    return gc.asarray(np.random.default_rng(seed).normal(size=n).astype(dtype))


def quick_compiles():
    """Kernels that are compiled in the block are not optimised: for tests of many small programs."""
    return _unoptimised.chosen() if driver.default_device() == "cpu" else nullcontext()


_unoptimised = Together("-O0")


def traces(f) -> int:
    return sum(map(len, f._replays.values()))


# ---------------------------------------------------------------------------------------------- signatures and results


def test_one_trace_for_a_signature(compiled):
    seen = []

    @gc.jit
    def f(a, b):
        seen.append(a.shape)
        return (a + b) * a - b

    for seed in range(5):
        a, b = a_tensor(seed=seed), a_tensor(seed=seed + 10)
        assert equal_bits(f(a, b).numpy(), ((a + b) * a - b).numpy())
    before = gc.counters()
    f(a, b)
    done = gc.counters() - before
    assert (done.launches, done.compiles, done.program_misses, done.program_hits) == (1, 0, 0, 0)
    assert seen == [(6,)]
    f(a_tensor(7), a_tensor(7))
    f(a.astype("float64"), b)
    assert len(seen) == 3 and traces(f) == 3


def test_a_jitted_call_and_a_recorded_one_share_program_and_kernel(compiled):
    a = a_tensor(11)
    gc.realize(gc.tanh(a * 0.37) + 3.5)
    before = gc.counters()
    gc.jit(lambda x, k: gc.tanh(x * k) + 3.5)(a, 0.21)
    done = gc.counters() - before
    assert (done.compiles, done.program_misses, done.launches) == (0, 0, 1)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Pair:
    first: gc.Tensor
    other: object


def test_nested_arguments_and_results():
    @gc.jit
    def f(tree, *more, scale=2.0, name="n"):
        assert name == "n" and isinstance(tree["p"], Point)
        total = tree["p"].x + tree["p"].y * scale + tree["list"][0].first
        return {"sum": total, "more": [m + total for m in more], "pair": Pair(total, (None, name, 7)),
                "x": tree["p"].x}

    x, y, z = a_tensor(), a_tensor(seed=1), a_tensor(seed=2)
    for scale in (2.0, 3.0):
        tree = {"p": Point(x, y), "list": [Pair(z, None)]}
        out = f(tree, x, np.float32([1, 2, 3, 4, 5, 6]), scale=scale)
        want = x + y * scale + z
        assert equal_bits(out["sum"].numpy(), want.numpy())
        assert equal_bits(out["more"][1].numpy(), (want + gc.asarray(np.float32([1, 2, 3, 4, 5, 6]))).numpy())
        assert isinstance(out["pair"], Pair) and out["pair"].first is out["sum"]
        assert out["pair"].other == (None, "n", 7) and out["x"] is x
    assert traces(f) == 1
    with pytest.raises(AssertionError):
        f({"p": (x, y), "list": [Pair(z, None)]}, x)


def test_static_arguments_are_traced_for_each_value():
    seen = []

    def f(x, n, mode="sum", *, flag=False):
        seen.append((n, mode, flag))
        for _ in range(n):
            x = x + 1
        return getattr(gc, mode)(x) if flag else x

    jitted = gc.jit(f, static_argnums=1, static_argnames="mode")
    x = a_tensor()
    for n in (1, 2, 1):
        assert equal_bits(jitted(x, n).numpy(), f(x, n).numpy())
    assert float(jitted(x, n=2, mode="max", flag=True)) == float(f(x, 2, "max", flag=True))
    assert seen.count((1, "sum", False)) == 3 and seen.count((2, "max", True)) == 2
    with pytest.raises(JitError, match="hashable"):
        jitted(x, [1])
    with pytest.raises(JitError, match="object") as raised:
        gc.jit(f)(object(), 1)
    assert "static_argnums" in str(raised.value)


def test_0_and_minus_0_are_two_static_values():
    f = gc.jit(lambda x, c: x * c, static_argnums=1)
    one = gc.asarray([1.0])
    assert not np.signbit(f(one, 0.0).numpy()[0]) and np.signbit(f(one, -0.0).numpy()[0])


def test_a_method_of_a_module_and_modules_as_arguments():
    class Scale:
        training = True

        def __init__(self, w):
            self.w = w

        def parameters(self):
            return [self.w]

        @gc.jit
        def __call__(self, x):
            y = x * self.w
            return y + 1 if self.training else y

    x, module, other = a_tensor(), Scale(gc.asarray(2.0).astype("float32")), Scale(gc.full((), 3.0, dtype="float32"))
    for m, factor in ((module, 2), (other, 3), (module, 2)):
        assert equal_bits(m(x).numpy(), (x * float(factor) + 1).numpy())
    module.w = gc.full((), 5.0, dtype="float32").realize()      # another tensor in its place
    assert equal_bits(module(x).numpy(), (x * 5.0 + 1).numpy())
    module.training = False
    assert equal_bits(module(x).numpy(), (x * 5.0).numpy())


# -------------------------------------------------------------------------------------------------------------- numbers


def test_a_thousand_learning_rates_trace_and_compile_once(compiled):
    w, g = a_tensor(64), a_tensor(64, seed=1)

    def step(w, g, rate, n):
        return w - rate * (g + (rate / 3 - 1) * w) * (n // 2), n + 1, rate > 0.5

    f = gc.jit(step)
    f(w, g, 0.5, 3)
    before = gc.counters()
    rates = np.geomspace(1e-6, 0.9, 1000).tolist()
    outs = [f(w, g, rate, k) for k, rate in enumerate(rates)]
    done = gc.counters() - before
    for k, (rate, (out, n, larger)) in enumerate(zip(rates, outs, strict=True)):
        want = step(w, g, rate, k)
        assert equal_bits(out.numpy(), want[0].numpy()) and (n, larger) == want[1:] and type(n) is int
    assert (done.compiles, done.program_misses, traces(f)) == (0, 0, 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8",
                                   "uint64", "bool", "complex64"])
@pytest.mark.parametrize("number", [3, 0, -0.0, 2.5])
def test_numbers_are_weak(dtype, number):
    x = gc.asarray(np.array([0, 1, 2, 3])).astype(dtype)

    def f(x, k):
        return x * k, gc.where(x == x, k, x), k + x, gc.maximum(x, k) if dtype != "complex64" else x / 2, gc.full(3, k)

    with quick_compiles():
        for got, want in zip(gc.jit(f)(x, number), gc.realize(*f(x, number)), strict=True):
            assert got.dtype is want.dtype and equal_bits(got.numpy(), want.numpy())


def test_more_of_the_arithmetic_of_numbers():
    x = a_tensor()

    def f(x, n, y):
        return (n & 6 | 1, n ^ 5, 1 << n, n >> 1, ~n, divmod(n, 2), (n > 1) & (y < 2), x * np.sqrt(y),
                np.float64(2) * n)
    jitted = gc.jit(f)
    for n, y in ((3, 1.5), (2, 2.5), (1, 0.5)):
        *got, a, b = jitted(x, n, y)
        *want, c, d = f(x, n, y)
        assert got == want and equal_bits(a.numpy(), c.numpy()) and b.item() == d
    assert traces(jitted) == 1


def test_a_number_that_does_not_fit_raises_as_without_jit():
    f = gc.jit(lambda x, k: x + k)
    x = gc.asarray(np.array([1], np.int8))
    assert f(x, 5).tolist() == [6]
    with pytest.raises(OverflowError):
        f(x, 300)
    with pytest.raises(ZeroDivisionError):
        gc.jit(lambda x, k: x + 1 / k)(x, 0)
    assert float(gc.jit(lambda x, k: x * k)(gc.asarray(np.float32([1])), 1e300)[0]) == np.inf


@pytest.mark.parametrize("use", [lambda x, k: x[k], lambda x, k: gc.zeros(k), lambda x, k: x if k else -x,
                                 lambda x, k: x * float(k), lambda x, k: x ** k, lambda x, k: x[:k],
                                 lambda x, k: [x for _ in range(k)], lambda x, k: x * (k in {1, 2}),
                                 lambda x, k: x * {2: 3}[k], lambda x, k: x[:2] * np.array([k, 1]),
                                 lambda x, k: x * k.bit_count()])
def test_the_value_of_a_number_is_not_known(use):
    with pytest.raises(TracerError, match="static_argnums") as raised:
        gc.jit(use)(a_tensor(), 2)
    assert "test_jit.py" in str(raised.value)
    assert gc.jit(use, static_argnums=1)(a_tensor(), 2) is not None


# -------------------------------------------------------------------------------------------------------- traced values


@pytest.mark.parametrize("use", [lambda x: -x if x.sum() > 0 else x, lambda x: x * float(x[0]), lambda x: x.numpy(),
                                 lambda x: gc.zeros(int(x[0])), lambda x: x.tolist(), lambda x: np.asarray(x),
                                 lambda x: print(x), lambda x: gc.realize(x + 1), lambda x: f"{x[0]:.1f}"])
def test_the_value_of_a_tensor_is_not_known(use):
    x = a_tensor()
    with pytest.raises(TracerError, match="test_jit.py") as raised:
        gc.jit(use)(x)
    assert "gc.where" in str(raised.value) and "static_argnums" in str(raised.value)
    closed = gc.jit(lambda: use(x))
    with pytest.raises(TracerError):
        closed()
    assert x.numpy().shape == (6,)


def test_values_that_do_not_depend_on_arguments_are_known():
    f = gc.jit(lambda x: x * float(gc.arange(4).sum()) if bool(gc.ones(()) > 0) else x)
    assert f(gc.asarray([2.0])).tolist() == [12.0]


def test_what_leaks_out_of_a_trace_says_so():
    kept = []
    gc.jit(lambda x: kept.append(x + 1))(a_tensor())
    with pytest.raises(TracerError):
        kept[0].numpy()


def test_an_exception_leaves_nothing_behind():
    x, c = a_tensor(), a_tensor(seed=1)
    old, old_c = x.node, c.node
    state = gc.random.default_generator.state

    @gc.jit
    def f(x):
        nonlocal fail
        x += 1
        c[0] = 5.0
        gc.random.normal(size=3)
        if fail:
            raise KeyError("no")
        return x

    fail = True
    with pytest.raises(KeyError):
        f(x)
    assert x.node is old and c.node is old_c and gc.random.default_generator.state == state and traces(f) == 0
    fail = False
    assert f(x) is x and float(c[0]) == 5.0 and x.node is not old


# ------------------------------------------------------------------------------------- nesting, checking, surroundings


def test_jit_in_jit_is_one_program(compiled):
    inner = gc.jit(lambda x, k: gc.exp(x) * k)
    outer = gc.jit(lambda x: inner(x, 0.37) + inner(x * 2, 0.4))
    x = a_tensor()
    inner(x, 0.5)
    outer(x)
    before = gc.counters()
    out = outer(x)
    assert (gc.counters() - before).launches == 1 and traces(inner) == 1
    assert equal_bits(out.numpy(), (gc.exp(x) * 0.37 + gc.exp(x * 2) * 0.4).numpy())


def test_check_finds_what_a_trace_has_frozen():
    factor, array, which = 2.5, np.array([1.0]), "exp"

    def f(x):
        return getattr(gc, which)(x) * factor + gc.asarray(array)

    unchecked, checked = gc.jit(f), gc.jit(f, check=True)
    x = gc.asarray([1.0])
    before = unchecked(x).tolist()
    checked(x), checked(x)
    factor = 3.5
    assert unchecked(x).tolist() == before      # documented: a constant of the trace
    with pytest.raises(JitError, match="numbers"):
        checked(x)
    factor = 2.5
    array[0] = 2.0
    with pytest.raises(JitError, match="arrays"):
        checked(x)
    array[0], which = 1.0, "log"
    with pytest.raises(JitError, match="operations"):
        checked(x)
    which = "exp"
    assert checked(x).tolist() == before


def test_surroundings_belong_to_the_signature(settings):
    f = gc.jit(lambda x: gc.exp(x - gc.max(x)) + gc.zeros(3))
    x = gc.asarray(np.ones(3, "float32"))
    assert f(x).dtype is gc.float64
    gc.set_default_float("float32")
    try:
        assert f(x).dtype is gc.float32
    finally:
        gc.set_default_float("float64")
    want = f(x).numpy()
    with settings.override(disable="fuse"):
        assert equal_bits(f(x).numpy(), want) and traces(f) == 3
    with settings.override(verify=True):
        assert equal_bits(f(x).numpy(), want)
    with gc.backend("reference"):
        y = gc.asarray(np.ones(3, "float32"))
        np.testing.assert_allclose(f(y).numpy(), want)
        np.testing.assert_allclose(gc.jit(lambda y, k: y * k + gc.sum(y))(y, 3.0).numpy(), [6, 6, 6])


def test_an_index_out_of_range_is_reported_with_its_line():
    f = gc.jit(lambda x, i: gc.take(x, i) + 1)
    x = a_tensor()
    assert f(x, gc.asarray([0, 5])).shape == (2,)
    with pytest.raises(IndexOutOfRange, match="test_jit.py"):
        f(x, gc.asarray([0, 6]))
    assert f(x, gc.asarray([1, 2])).shape == (2,)


def test_long_graphs_are_not_cut_inside_a_trace(settings, compiled):
    def f(x):
        for _ in range(300):
            x = x * 0.5 + 1
        return x

    x = a_tensor()
    with settings.override(lazy_limit=20):
        before = gc.counters()
        gc.jit(f)(x)
        assert (gc.counters() - before).program_misses <= 1
        assert equal_bits(gc.jit(f)(x).numpy(), f(x).numpy())


def test_a_trace_finds_the_program_of_the_plain_call(compiled):
    def f(a, b, c):
        return gc.exp(a * b) * c + gc.sin(b + c) * a

    args = [a_tensor(9, seed=k) for k in range(3)]
    f(*args).realize()
    before = gc.counters()
    gc.jit(f)(*args)
    assert (gc.counters() - before).program_misses == 0


def test_plan_of_a_jitted_call(compiled):
    f = gc.jit(lambda x, k: (gc.exp(x) * k, None))
    before = gc.counters()
    plan = f.plan(a_tensor(8), 2.0)
    assert len(plan.kernels) == 1 and (gc.counters() - before).launches == 0
    assert plan.kernels[0].origins and "test_jit.py" in plan.kernels[0].origins[0]
    assert gc.jit(lambda x: x).plan(a_tensor()) is None
    weight = gc.Tensor([1.0, 2.0], requires_grad=True)
    assert len(gc.jit(lambda x: gc.tanh(x * weight)).plan(gc.ones(2)).kernels) == 1    # what has a gradient is recorded


def test_observers_see_jitted_kernels(compiled):
    from graphc import driver
    plans = []
    driver.observers.append(plans.append)
    try:
        gc.jit(lambda x: gc.sinh(x) * 0.123)(a_tensor(9))
    finally:
        driver.observers.remove(plans.append)
    assert [len(plan.kernels) for plan in plans] == [1]


def test_the_common_call_is_written_out(compiled):
    """Its checks are those of the signature: whatever changes is seen, and the call then goes the long way."""
    closed = a_tensor(seed=5)

    def plain(x, y, k, n):
        return x * k + closed, y - n

    f = gc.jit(plain)
    x, y = a_tensor(), a_tensor(seed=1)
    f(x, y, 2.5, 3), f(x, y, 2.5, 3)
    assert f._fast((x, y, 2.5, 3)) is not MISS and traces(f) == 1
    before = gc.counters()
    f(x, y, 0.5, 4)
    done = gc.counters() - before
    assert (done.launches, done.program_hits, done.program_misses, done.compiles) == (1, 0, 0, 0)
    missed = [(x, y, 2.5), (x, 1.0, 2.5, 3), (x, y, 2.5, True), (x, y, 1, 3), (x + 1, y, 2.5, 3), (x, y, 1e300, 3),
              (x.astype("float64"), y, 2.5, 3), (x, a_tensor(3), 2.5, 3), (x, gc.asarray(1.0), 2.5, 3)]
    assert all(f._fast(args) is MISS for args in missed)
    for args in ((x, y, 2.5, 3), *missed[3:]):
        for _ in range(2):
            for got, want in zip(f(*args), plain(*args), strict=True):
                assert got.dtype is want.dtype and equal_bits(got.numpy(), want.numpy())
    f(x, y, 2.5, 3)
    closed += 1
    assert f._fast((x, y, 2.5, 3)) is MISS      # it waits to be computed
    assert equal_bits(f(x, y, 2.5, 3)[0].numpy(), plain(x, y, 2.5, 3)[0].numpy())


def test_a_jitted_step_with_a_bias_and_labels_has_the_bits_of_a_recorded_one():
    """Its rows hold numbers that die in the kernel which stores others of the same size."""
    rng = np.random.default_rng(0)
    batches = rng.normal(size=(3, 8, 3)).astype(np.float32), rng.integers(0, 2, (3, 8))

    def losses(jitted: bool) -> list[float]:
        w = gc.Tensor(np.ones((3, 2), np.float32), requires_grad=True)
        b = gc.Tensor(np.array([0.5, -1.0], np.float32), requires_grad=True)

        def step(x, labels):
            w.grad = b.grad = None
            loss = gc.cross_entropy(x @ w + b, labels)
            loss.backward()
            with gc.no_grad():
                w.assign(w - 0.5 * w.grad)
                b.assign(b - 0.5 * b.grad)
            return loss.detach()
        run = gc.jit(step) if jitted else step
        return [float(run(gc.asarray(x), gc.asarray(y))) for x, y in zip(*batches, strict=True)]
    assert losses(True) == losses(False)


@pytest.mark.parametrize(("options", "name"), [
    ({"donate_argnums": 3}, "3"), ({"static_argnums": (0, 2)}, "2"), ({"static_argnums": -3}, "-3"),
    ({"static_argnames": "nn"}, "'nn'"),
])
def test_an_argument_that_does_not_exist_is_told(options, name):
    """It was left out silently: nothing was donated, and a misspelt static argument was traced."""
    with pytest.raises(JitError, match=f"has no argument {name}"):
        gc.jit(lambda x, n: x * n, **options)
    assert gc.jit(lambda *args, **kwargs: args[3] * kwargs["nn"], static_argnums=3, static_argnames="nn")(
        0, 0, 0, 2, nn=3) == 6


# ------------------------------------------------------------------------------------------------------------- modules


def test_a_result_with_a_history_is_checked():
    """There was nothing to compare it by, which was an error of its own."""
    net, x = gc.nn.Linear(4, 4), gc.ones((2, 4), dtype=gc.float32)
    f = gc.jit(lambda x: net(x), check=True)
    for _ in range(3):
        net.zero_grad()
        f(x).sum().backward()
        assert net.bias.grad.tolist() == [2] * 4
    frozen = [True]
    g = gc.jit(lambda x: net(x).detach() if frozen[0] else net(x), check=True)
    g(x)
    frozen[0] = False
    with pytest.raises(JitError, match="does not do what it did"):
        g(x)


def test_a_tensor_that_is_kept_outside_is_named(tmp_path):
    class Keeps(gc.nn.Module):
        def __init__(self):
            self.layer = gc.nn.Linear(4, 4)

        def forward(self, x):
            self.seen = self.layer(x).detach()
            return self.seen * 2
    net, x = Keeps(), gc.ones((2, 4), dtype=gc.float32)
    f = gc.jit(lambda x, k: (net(x) * k).detach())
    f(x, 2.0)
    for use in (lambda: gc.weights.save(tmp_path / "net.npz", net.state_dict()), lambda: print(net.seen),
                lambda: (net.seen + 1).sum().item(), lambda: gc.jit(lambda x: x + net.seen)(x)):
        with pytest.raises(TracerError, match=r"(?s)made inside a jitted function and kept outside.*return it instead"):
            use()
    with pytest.raises(TracerError, match=r"self.seen = self.layer\(x\).detach\(\)"):
        net.seen.numpy()
    assert f(x, 3.0).shape == (2, 4)
    with pytest.raises(TracerError, match="not known while that is traced"):
        gc.jit(lambda x: float(x.sum()))(x)


@pytest.mark.parametrize("made", [lambda y: {y}, lambda y: (z for z in [y]), lambda y: lambda: y, lambda y: [Held(y)],
                                  lambda y: {"a": OrderedDict(y=y)}, lambda y: deque([y])])
def test_results_whose_tensors_cannot_be_found_are_refused(made):
    """The next call gave the object of the first one."""
    x, kind = gc.ones(4), type(flatten(made(gc.ones(4)))[0][0]).__name__
    with pytest.raises(JitError, match=f"(?s)returns a {kind}.*return tensors, numbers, and tuples, lists, dicts"):
        gc.jit(lambda x: made(x + 1))(x)


def test_results_that_are_arguments_or_plain_values():
    net, held = gc.nn.Linear(4, 2), Held(3)
    f = gc.jit(lambda net, held, x: (net, held, x.shape, x.dtype, "name", None, np.float32(2), x * 2),
               static_argnums=1)
    for _ in range(3):
        first, second, *others, y = f(net, held, gc.ones(4))
        assert first is net and second is held and others == [(4,), gc.float64, "name", None, 2] and y[0] == 2


class Held:
    def __init__(self, it):
        self.it = it


def a_network():
    return gc.nn.Sequential(gc.nn.Linear(4, 4), gc.nn.BatchNorm(4), gc.nn.Dropout(0.5), gc.nn.Linear(4, 2))


@pytest.mark.parametrize("call", ["alone", "frozen", "by keyword", "with a number", "as an argument"])
def test_the_modes_of_modules_are_noticed(call, compiled):
    """A function went on in the mode that it was traced in."""
    net, x = a_network(), gc.asarray(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    net.requires_grad_(call != "frozen")
    fs = {"alone": gc.jit(lambda x: net(x).detach()), "frozen": gc.jit(lambda x: net(x)),
          "by keyword": gc.jit(lambda *, x: net(x).detach()),
          "with a number": gc.jit(lambda x, k: net(x).detach() * k),
          "as an argument": gc.jit(lambda net, x: net(x).detach())}
    f = fs[call]

    def found():
        return (f(x=x) if call == "by keyword" else f(x, 1.0) if call == "with a number" else
                f(net, x) if call == "as an argument" else f(x))

    for mode in (True, False, True, False, True):
        net.train(mode)
        for _ in range(4):
            before = net[1].running_mean.numpy().copy()
            dropped = not equal_bits(found().numpy(), found().numpy())
            assert dropped == mode and np.array_equal(before, net[1].running_mean.numpy()) != mode
    for module in net.modules():        # one of them alone, by its attribute
        module.training = False
    assert equal_bits(found().numpy(), found().numpy())
    net[2].training = True
    assert not equal_bits(found().numpy(), found().numpy()) and traces(f) <= 5


def test_a_mode_that_the_function_sets_itself_is_its_own(compiled):
    net, x, seen = a_network(), gc.ones((8, 4), dtype=gc.float32), []

    @gc.jit
    def f(x):
        seen.append(1)
        return net.eval()(x).detach()
    want = f(x).numpy()
    for _ in range(3):
        net.train()
        assert equal_bits(f(x).numpy(), want)
    assert len(seen) == 1


def test_a_function_that_leaves_another_mode_behind(compiled):
    net, x = gc.nn.Dropout(1.0), gc.ones(3)

    @gc.jit
    def f(x):
        y = net(x)
        net.eval()
        return y
    assert [f(x).tolist() for _ in range(3)] == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_steps_in_both_modes_by_turns(compiled):
    """With what the steady calls and the written-out ones keep from call to call."""
    nets = [a_network() for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    x, results = gc.asarray(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)), []
    for net, jit in zip(nets, (gc.jit, lambda f: f), strict=True):
        gc.random.seed(5)
        optimizer = gc.optim.Adam(net.parameters())

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        step, score, losses = jit(step), jit(lambda x, net=net: net(x).detach().sum()), []
        for _ in range(4):
            net.train()
            losses += [float(step(x)) for _ in range(4)]
            net.eval()
            losses += [float(score(x)) for _ in range(2)]
        results.append(losses)
    np.testing.assert_allclose(*results, rtol=1e-5)
