"""Memory of functions from shapes alone, held against real runs."""
from __future__ import annotations

from gc import collect

import numpy as np
import pytest

import graphc as gc
from graphc.errors import ArgumentError, DTypeError, ShapeError, TracerError
from graphc.examples.decoder_memory import Shape, decoder, empty_cache, estimate, weights
from graphc.runtime.buffers import pool

SMALL = Shape(hidden=64, ffn=112, layers=3, heads=8, kv_heads=2, vocabulary=200, context=24)


def float32(*shape: int) -> gc.Tensor:
    return gc.spec(shape, "float32")


@pytest.fixture
def _kernels_only(backend):
    if backend == "reference":
        pytest.skip("the reference has no plan")


# ----------------------------------------------------------------------------------------------------------- decoders

def test_the_weights_of_mistral_7b_are_counted_exactly():
    collect()                                       # what earlier tests left in cycles
    before, compiles = pool.in_use, gc.counters().compiles
    found = estimate(Shape(), 4096)
    assert found.parameters == 7_241_732_096        # what its authors publish
    assert found.weights == 4 * found.parameters and found.weights_gb == pytest.approx(28.97, abs=0.01)
    assert found.cache == 2 * 32 * 8 * 4096 * 128 * 4 and found.inputs == 8 * 4096
    assert found.outputs == 4096 * 32000 * 4        # the logits: the cache is updated in its own memory
    assert found.total == sum((found.weights, found.cache, found.inputs, found.outputs, found.activations))
    assert found.total_gb == found.total / 1e9
    assert 3 * 4096 * 4096 * 4 < found.activations < 3e9
    assert pool.in_use == before and gc.counters().compiles == compiles


def test_narrow_dtypes_take_half():
    wide, narrow = estimate(Shape(layers=2), 16), estimate(Shape(layers=2), 16, "bfloat16")
    assert wide.weights == 2 * narrow.weights and wide.cache == 2 * narrow.cache


def test_more_layers_need_hardly_more_activations():
    few, many = estimate(Shape(layers=3), 64), estimate(Shape(layers=9), 64)
    assert many.activations < 1.1 * few.activations     # where arrays find room varies


@pytest.mark.parametrize("count", [1, 7, 24])
def test_a_real_decoder_takes_what_was_estimated(count: int, _kernels_only):
    random = np.random.default_rng(0)

    def make(*shape: int) -> gc.Tensor:
        return gc.realize(gc.asarray(random.random(shape, dtype=np.float32) * 0.1) + 0.0)
    found = estimate(SMALL, count)
    params, cache = weights(SMALL, make), empty_cache(SMALL, make)
    tokens = gc.asarray(random.integers(0, SMALL.vocabulary, count))
    logits, cache = decoder(params, tokens, cache, SMALL, SMALL.context - count)
    before = pool.in_use
    pool.reset_high_water()
    gc.realize(logits, *cache)
    assert pool.high_water - before == found.outputs + found.activations
    assert np.isfinite(logits.numpy()).all()


# -------------------------------------------------------------------------------------------------------------- rules

def test_gradients_are_told_apart():
    def loss(weights, x):
        for w in weights:
            x = gc.tanh(x @ w)
        return (x * x).sum()
    ws, x = [float32(32, 32) for _ in range(6)], float32(100, 32)
    forward, both = gc.estimate_memory(loss, ws, x), gc.estimate_memory(gc.value_and_grad(loss), ws, x)
    assert both.gradients == both.weights == 6 * 32 * 32 * 4 and both.outputs == 4
    assert both.activations > forward.activations       # each layer's activation waits for its gradient
    assert gc.estimate_memory(gc.grad(loss), ws, x).gradients == both.gradients


def test_state_of_an_optimizer_by_name():
    def step(params, opt_state, grads):
        moment = gc.maximum(opt_state * 0.9, grads)
        return {"params": params - moment, "opt_state": moment}
    w = float32(1000)
    found = gc.estimate_memory(step, w, w + 0, grads=float32(1000))
    assert (found.weights, found.optimizer, found.gradients) == (8000, 4000, 4000)      # w is also what w + 0 reads
    found = gc.estimate_memory(step, w, float32(1000), float32(1000), roles={"opt_state": "cache", "grads": "inputs"})
    assert (found.weights, found.cache, found.inputs) == (8000, 8000, 4000)


def test_shapes_are_tensors_and_what_is_closed_over_is_a_weight():
    w = gc.asarray(np.ones((3, 4)))
    found = gc.estimate_memory(lambda x, pair: x @ w + pair[0] + pair[1], (2, 3), [(4,), (2, 1)])
    size = gc.default_float().itemsize
    assert (found.weights, found.inputs, found.outputs) == (12 * 8, (6 + 4 + 2) * size, 8 * max(size, 8))
    tied = float32(10)
    assert gc.estimate_memory(lambda weights: weights[0] + weights[1], [tied, tied]).weights == 40


def test_assignments_stay_in_the_function():
    x = float32(4, 4)
    node = x.node

    def f(cache):
        cache[0] = 1.0
        return cache
    found = gc.estimate_memory(f, x)
    assert x.node is node and found.cache == 64 and found.outputs == 0 and found.activations == 0


def test_parameters_that_nobody_has_read_yet_are_weights():
    """They were taken for random numbers that the function computes."""
    net = gc.nn.Sequential(gc.nn.Linear(10, 20), gc.nn.ReLU(), gc.nn.Linear(20, 3))
    found = gc.estimate_memory(net, float32(32, 10))
    assert (found.parameters, found.weights, found.inputs, found.outputs) == (283, 4 * 283, 1280, 384)


def test_a_training_step_leaves_its_model_alone():
    """Parameters, gradients and moments depended on a tensor without values afterwards."""
    net = gc.nn.Linear(6, 4)
    optimizer = gc.optim.Adam(net.parameters())
    before = net.weight.numpy().copy()

    def step(x):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    found = gc.estimate_memory(step, float32(32, 6))
    assert found.parameters == 28 and found.gradients == 4 * 28
    assert found.weights >= 4 * 28 and found.optimizer >= 2 * 4 * 28        # and what takes no memory over
    assert net.weight.grad is None and net.weight.numpy().tobytes() == before.tobytes()
    assert float(step(gc.ones((32, 6), dtype="float32"))) > 0 and float(optimizer.count) == 1

    cache = gc.nn.KVCache(1, 2, 16, 8)
    layer = gc.nn.MultiHeadAttention(16, 2, causal=True)
    assert gc.estimate_memory(lambda x: layer(x, cache=cache), float32(1, 1, 16)).cache > 2 * 4 * 2 * 16 * 8
    assert int(cache.length) == 0


def test_what_is_not_computed_takes_no_more():
    found = gc.estimate_memory(lambda x: (x, gc.ones(())), float32(8))
    assert found.total == 32 and found.kernels == 0


def test_shapes_may_have_integers_of_numpy():
    assert gc.estimate_memory(lambda x: x + 1, (np.int64(3), 4)).inputs == gc.spec((np.int64(3), 4)).nbytes == 96


def test_the_table_names_every_part():
    text = str(gc.estimate_memory(lambda weights, x: gc.sort(x @ weights, axis=0) * 2.0, float32(8, 8), float32(9, 8)))
    assert all(word in text for word in ("weights", "inputs", "outputs", "total", "64 parameters"))
    assert "cache" not in text


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: gc.estimate_memory(lambda x: 3, (2,)), DTypeError, "no tensor"),
    (lambda: gc.estimate_memory(gc.ones(2)), DTypeError, "a function is needed"),
    (lambda: gc.estimate_memory(lambda x: x if x.sum() > 0 else -x, (2,)), TracerError, "without values"),
    (lambda: gc.estimate_memory(lambda x: x, 3), DTypeError, r"(?s)3 is no shape.*\(3, 4\).*by keyword"),
    (lambda: gc.estimate_memory(lambda x, y, z: x, 2, 3, 4), DTypeError, "2 is no shape"),
    (lambda: gc.estimate_memory(lambda x: x, "3,4"), DTypeError, "'3,4' is no shape"),
    (lambda: gc.estimate_memory(lambda x: x, (2, "a")), DTypeError, "is no shape"),
    (lambda: gc.estimate_memory(lambda x: x, (2.0, 3)), DTypeError, "2.0 is no shape"),
    (lambda: gc.estimate_memory(lambda x: x, [3, 4]), DTypeError, "3 is no shape"),
    (lambda: gc.spec("abc"), DTypeError, "a size must be an integer"),
    (lambda: gc.spec((2, -1)), ShapeError, "negative size"),
    (lambda: gc.estimate_memory(lambda x: x, (2,), roles={"x": "junk"}), ArgumentError, "'junk' is no role"),
    (lambda: gc.spec((2, 2)).tolist(), TracerError, "gc.spec"),
])
def test_what_cannot_be_known_says_so(call, error, text):
    with pytest.raises(error, match=text):
        call()
    with pytest.raises(AttributeError, match="'rest_gb'"):
        gc.estimate_memory(lambda x: x + 1, (2,)).rest_gb    # noqa: B018
