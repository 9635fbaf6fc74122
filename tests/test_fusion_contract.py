"""The fusion contract: how many kernels a realize launches and how many bytes they move, exactly.

Nothing runs here: `gc.plan` says it. The counts are promises to users; docs/architecture.md has the table.
"""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.config import settings

rng = np.random.default_rng(7)


def array(*shape, dtype=np.float32):
    return gc.asarray(rng.standard_normal(shape).astype(dtype))


def labels(rows, classes):
    return gc.asarray(rng.integers(0, classes, rows))


def layernorm(x, axis=-1):
    mean = gc.mean(x, axis=axis, keepdims=True)
    return (x - mean) / gc.sqrt(gc.var(x, axis=axis, keepdims=True) + 1e-5)


def rmsnorm(x):
    return x / gc.sqrt(gc.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def nll(scores, chosen):
    return -gc.take_along_axis(gc.log_softmax(scores, axis=1), chosen[:, None], axis=1)


def pairwise(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def laplacian(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 0.01 * m / (gc.sqrt(v) + 1e-8), m, v


def causal_attention(q, k, v):
    seen = gc.arange(k.shape[-2]) <= gc.arange(q.shape[-2])[:, None]
    return gc.softmax(gc.where(seen, q @ k.mT * 0.125, -gc.inf), axis=-1) @ v


HEADS = [array(4, 192, 64) for _ in range(3)]
BIAS = array(192, 192)
IMAGES = array(2, 8, 14, 14)
X = array(512, 1024)
ROW = array(1024)
MB = X.nbytes

DENSE = MB + (1024 * 256 + 256 + 512 * 256) * 4
# name, tensors, kernels, bytes of inputs once plus outputs once
CASES = [
    ("chain", lambda: gc.sqrt(gc.abs(X * 2 + X * X) - 0.5 * X + 1), 1, 2 * MB),
    ("where and cast", lambda: gc.where(X > 0, X, 0.0).astype("float64"), 1, 3 * MB),
    ("broadcast", lambda: X * ROW + ROW, 1, 2 * MB + ROW.nbytes),
    ("views", lambda: gc.flip(X, axis=1)[::2].T * 2, 1, MB),
    ("concat", lambda: gc.concat([X, X * 2], axis=0), 1, 3 * MB),
    ("pad", lambda: gc.pad(X, 1) + 1, 1, MB + 514 * 1026 * 4),
    ("arange", lambda: gc.arange(4096) * 2.0, 1, 4096 * 8),
    ("random", lambda: gc.random.Generator(1).uniform((4096,)), 1, 4096 * 4),
    ("laplacian", lambda: laplacian(X), 1, 2 * MB),
    ("sin and cos", lambda: (gc.sin(X), gc.cos(X)), 1, 3 * MB),
    ("output of an output", lambda: (t := gc.exp(X), t * 2), 1, 3 * MB),
    ("moments of an optimiser", lambda: adam(X, X + 1, X * 0.5, X * X), 1, 4 * MB),
    ("softmax", lambda: gc.softmax(X, axis=-1), 1, 2 * MB),
    ("softmax, other axis", lambda: gc.softmax(X, axis=0), 1, 2 * MB),
    ("softmax, middle axis", lambda: gc.softmax(X.reshape(8, 64, 1024), axis=1), 1, 2 * MB),
    ("log-softmax", lambda: gc.log_softmax(X, axis=-1), 1, 2 * MB),
    ("layernorm", lambda: layernorm(X), 1, 2 * MB),
    ("layernorm, other axis", lambda: layernorm(X, axis=0), 1, 2 * MB),
    ("layernorm over two axes", lambda: layernorm(X.reshape(512, 32, 32), axis=(1, 2)), 1, 2 * MB),
    ("layernorm with scale", lambda: layernorm(X) * ROW + ROW, 1, 2 * MB + ROW.nbytes),
    ("rmsnorm", lambda: rmsnorm(X), 1, 2 * MB),
    ("variance", lambda: gc.var(X, axis=-1), 1, MB + 512 * 4),
    ("variance, other axis", lambda: gc.var(X, axis=0), 1, MB + 1024 * 4),
    ("logsumexp", lambda: gc.logsumexp(X, axis=-1), 1, MB + 512 * 4),
    ("cross entropy per row", lambda: nll(X, labels(512, 1024)), 1, MB + 512 * 12),
    ("cross entropy by two index arrays",
     lambda: -gc.log_softmax(X, axis=1)[gc.arange(512), labels(512, 1024)], 1, MB + 512 * 12),
    ("argmax", lambda: gc.argmax(X, axis=-1), 1, MB + 512 * 8),
    ("argmax, other axis", lambda: gc.argmax(X, axis=0), 1, MB + 1024 * 8),
    ("row statistics and the row", lambda: (X * 2, (X * 2).sum(-1)), 1, 2 * MB + 512 * 4),
    ("mean and maximum", lambda: (gc.mean(X, axis=-1), gc.max(X, axis=-1)), 1, MB + 2 * 512 * 4),
    ("full sum", lambda: gc.sum(X), 2, MB),
    ("norm", lambda: gc.sqrt(gc.sum(X * X)), 2, MB),
    ("pairwise distances", lambda: pairwise(array(300, 16), array(200, 16)), 1, (500 * 16 + 300 * 200) * 4),
    ("pairwise distances and argmin", lambda: gc.argmin(pairwise(array(300, 16), array(200, 16)), axis=1), 1,
     500 * 16 * 4 + 300 * 8),
    ("dense layer", lambda: gc.relu(X @ array(1024, 256) + array(256)), 1, DENSE),
    ("dense layer, transposed", lambda: gc.tanh(X @ array(256, 1024).T + array(256)), 1, DENSE),
    ("dense layer of cast weights", lambda: gc.tanh(X @ array(1024, 256).astype("float16").astype("float32")), 1,
     DENSE),
    ("two dense layers", lambda: gc.gelu(X @ array(1024, 256) + array(256)) @ array(256, 96) + array(96), 2,
     DENSE + (512 * 256 + 256 * 96 + 96 + 512 * 96) * 4),
    ("convolution", lambda: gc.relu(gc.conv2d(IMAGES, array(8, 8, 3, 3), array(8), padding=1)), 1,
     2 * IMAGES.nbytes + (8 * 8 * 9 + 8) * 4),
    ("convolution of groups", lambda: gc.conv2d(IMAGES, array(8, 1, 3, 3), array(8), padding=1, groups=8), 1,
     2 * IMAGES.nbytes + (8 * 9 + 8) * 4),
    ("attention", lambda: gc.scaled_dot_product_attention(*HEADS), 1, 4 * HEADS[0].nbytes),
    ("attention, causal, as a head of a layer", lambda: gc.tanh(causal_attention(*HEADS)) + HEADS[0], 1,
     4 * HEADS[0].nbytes),
    ("attention with mask and scale", lambda: gc.softmax((HEADS[0] * 0.125) @ HEADS[1].mT + BIAS, axis=-1) @ HEADS[2],
     1, 4 * HEADS[0].nbytes + BIAS.nbytes),
    ("gather", lambda: gc.take(X, labels(300, 512), axis=0) + 1, 1,
     2 * 300 * 1024 * 4 + 300 * 8),
    ("cumulative sum", lambda: gc.cumulative_sum(X, axis=1), 1, 2 * MB),
]


def as_tuple(result):
    return tuple(t for t in result) if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name, build, kernels, moved", CASES, ids=[case[0] for case in CASES])
def test_kernels_and_bytes(name, build, kernels, moved, backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    plan = gc.plan(*as_tuple(build()))
    assert len(plan.kernels) == kernels and plan.bytes_moved <= 1.05 * moved, f"{plan}"


def test_n_stencil_steps_are_n_kernels():
    """A stencil of a stencil is stored, not recomputed: 30 fused steps would be 1,861 shifted copies."""
    u = X
    for _ in range(30):
        u = gc.pad(u[1:-1, 1:-1] + 0.1 * laplacian(u), 1)
    assert len(gc.plan(u).kernels) == 30


def test_short_differences_are_recomputed():
    d = X[:, 1:] - X[:, :-1]
    assert len(gc.plan(d[:, 1:] - d[:, :-1]).kernels) == 1


def test_float_of_an_element_launches_nothing():
    x = gc.realize(X + 1)
    before = gc.counters()
    float(x[3, 4])
    assert (gc.counters() - before).launches == 0


def test_moments_of_a_model_share_a_launch():
    """Independent work of one shape is one kernel."""
    parameters = [array(64, 64) for _ in range(10)]
    assert len(gc.plan(*[p * 0.9 + 1 for p in parameters]).kernels) == 1


def test_a_gigantic_softmax_takes_three_sweeps():
    plan = gc.plan(gc.softmax(array(1 << 20), axis=0))
    assert len(plan.kernels) <= 3, f"{plan}"
    assert plan.bytes_moved <= 2 * 1.05 * 2 * (1 << 22)


def test_edges_of_a_padded_array_do_not_fill_a_kernel():
    """The expression that is padded would stand nine times in the next step's kernel, and each read of that would ask
    which part of the padded array it is from."""
    u = array(40, 40)
    for _ in range(4):
        u = gc.pad(u[1:-1, 1:-1] + 0.1 * gc.tanh(laplacian(u)), 1, mode="edge")
    plan = gc.plan(u)
    assert len(plan.kernels) == 6
    assert max(len(k.source.partition(k.name)[2]) for k in plan.kernels) < 6000     # without the dialect's preamble


def test_what_a_product_packs_is_not_computed_again_for_each_element():
    """A batch normalisation's factor for each channel in the gradient of a 1x1 convolution's weights: no loop over the
    channels is around what its packing computes."""
    x, g, variance = array(16, 64, 200), array(16, 64, 200), array(64) ** 2
    factor = 1 / gc.sqrt(variance * 0.3 + 1)
    a = (gc.permute_dims(g, (1, 0, 2)) * factor[:, None, None]).reshape(64, -1)
    plan = gc.plan(a @ gc.permute_dims(x, (0, 2, 1)).reshape(-1, 64))
    product = 2 * 64 * 64 * 16 * 200
    assert len(plan.kernels) == 2 and plan.flops < product + 2 * g.size, str(plan)


def test_a_sum_over_a_padded_array_is_not_computed_by_two_kernels():
    """The gradient of a depthwise convolution, masked, in a sum over images and in a product."""
    x, w, mask, v = array(8, 16, 28, 28), array(16, 1, 3, 3), array(8, 16, 28, 28) > 0, array(16, 32)
    y = gc.where(mask, gc.conv2d(x, w, padding=1, groups=16), 0)
    plan = gc.plan(y.sum((2, 3)), gc.permute_dims(y, (0, 2, 3, 1)).reshape(-1, 16) @ v)
    assert plan.flops < (2 * 32 + 40) * y.size, str(plan)


def test_a_stack_that_is_added_up_and_read_again_is_stored():
    """Lattice Boltzmann: in a loop over nine parts, each moved its own way, every element would ask which it is of."""
    moves = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    along = gc.asarray(np.array(moves, np.float32)).reshape(9, 2, 1, 1)

    def step(f):
        density = gc.sum(f, axis=0)
        flow = [gc.sum(f * along[:, k], axis=0) / density for k in (0, 1)]
        ahead = along[:, 0] * flow[0] + along[:, 1] * flow[1]
        f = f + 0.6 * (density * (1 + 3 * ahead + 4.5 * ahead**2) / 9 - f)
        return gc.stack([gc.roll(f[i], move, axis=(0, 1)) for i, move in enumerate(moves)])

    f = array(9, 40, 60)
    plan = gc.plan(step(step(f)))
    assert len(plan.kernels) == 4, f"{plan}"
    assert max(len(kernel.source.splitlines()) for kernel in plan.kernels) < 1000     # as one, it took gcc 7 s


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [2, 6, 13])
def test_a_stack_is_one_kernel(count, axis, backend):
    """On the CPU no element asks which part it is of; what is computed of one part is counted for that alone."""
    parts = [array(30, 50) for _ in range(count)]
    plan = gc.plan(gc.stack([x * k + 1 for k, x in enumerate(parts)], axis=axis))
    assert len(plan.kernels) == 1 and plan.bytes_moved == 2 * sum(x.nbytes for x in parts), f"{plan}"
    if backend == "cpu":
        assert "?" not in plan.kernels[0].source.partition("int64_t width")[2]
        assert plan.flops <= 2 * sum(x.size for x in parts)


@pytest.mark.parametrize("count", [8, 12, 20, 52])
def test_states_that_are_stacked_are_not_computed_for_each_element_of_the_stack(count, backend):
    """A recurrence whose states are collected, and what is done with such a stack."""
    x, weights = array(3, 67), gc.asarray(np.linspace(0, 1, count))
    states = []
    for _ in range(count):
        x = 3.7 * x * (1 - x)
        states.append(gc.log(x))
    above, beside = gc.stack(states), gc.stack(states, axis=-1)
    for result in (above, beside, gc.mean(above, axis=0), gc.sum(above, axis=1), gc.sum(beside, axis=-1),
                   gc.max(above), beside @ weights, gc.exp(above) * 2):
        plan = gc.plan(result)
        asked = 0 if backend == "cpu" else 2 * count        # by work items, and their kernels have fewer buffers
        assert plan.flops < (26 + asked) * above.size, f"{plan}"        # 3 + 1 for each, and some of those before
        assert len(plan.kernels) <= 4 or backend != "cpu", f"{plan}"


def test_few_parts_meet_a_product_or_a_sum_where_they_are():
    parts = [gc.exp(array(300, 64)) for _ in range(4)]
    for result in (gc.concat(parts, axis=1) @ array(256, 256), gc.concat(parts[:2], axis=1).sum(1)):
        assert len(gc.plan(result).kernels) == 1, f"{gc.plan(result)}"


def test_what_reads_a_stored_stack_is_stored_by_the_rows_that_sum_it(compiled):
    stack = gc.stack([array(300, 200) for _ in range(12)])
    weights = gc.exp(stack - gc.max(stack))
    plan = gc.plan(weights, weights.sum(-1))
    assert plan.kernels[-1].name == "row_sum_exp", f"{plan}"


def test_a_stack_of_more_parts_than_a_kernel_may_read_is_written_a_part_at_a_time(backend):
    if backend not in ("cpu", "reference"):
        pytest.skip("work items ask which part they read")
    parts = [array(30, 50) for _ in range(200)]
    for joined in (gc.stack(parts), gc.stack(parts, axis=-1)):
        plan = gc.plan(joined)
        assert len({kernel.source for kernel in plan.kernels}) <= 3, f"{plan}"
        assert max(kernel.source.count("buf[") for kernel in plan.kernels) <= 3
    assert len(gc.plan(gc.stack(parts)[3] * 2).kernels) <= 3


def test_a_long_formula_of_shared_parts_is_cut_where_a_kernel_is_full():
    x = gc.asarray(np.linspace(0, 1, 1000, dtype=np.float32))
    t = x
    for _ in range(200):    # 800 operations, and paths without number
        a, b = t + 1.5, t * 0.5
        t = gc.maximum(a, b) - a
    with settings.override(lazy_limit=0):
        plan = gc.plan(t)
    assert len(plan.kernels) == 2
    assert plan.bytes_moved <= 3 * 2 * x.nbytes     # a few values cross the border


@pytest.mark.parametrize("states", [2, 4, 8, 16])
def test_a_recurrence_over_few_states_is_one_text_again_and_again(states, backend):
    """Each step's maximum, written out under the next one's, would be a text that grows as a power of the states."""
    costs, emitted, score = array(states, states), array(states), array(states)
    for _ in range(40):
        score = gc.max(score[:, None] + costs, axis=0) + emitted
    plan = gc.plan(gc.max(score))
    assert len(plan.kernels) <= 40 and len({k.source for k in plan.kernels}) <= 6, f"{plan}"
    longest = max(len(k.source.partition(k.name)[2]) for k in plan.kernels)
    assert longest < (15000 if backend in ("cpu", "reference") else 20000)


def test_an_index_that_data_gave_is_an_argument():
    """Whether it is 0 or 1, and which of them are equal, makes no other program."""
    table = gc.asarray(np.random.default_rng(0).uniform(0.1, 1, (5, 20)).astype(np.float32))    # no sum is near 0

    def walk(path):
        path, total = gc.asarray(np.array(path)), table[:, 7]
        for step in range(len(path)):
            total = gc.tanh(total + table[:, path[step]])
        return total.numpy()

    walk([3, 4, 5])
    before = gc.counters()
    for path in ([0, 1, 2], [6, 6, 6], [-1, 15, 0]):
        want = table.numpy()[:, 7]
        for step in path:
            want = np.tanh(want + table.numpy()[:, step])
        np.testing.assert_allclose(walk(path), want, rtol=1e-5)
    assert (gc.counters() - before).program_misses == 0


def test_vectors_made_orthogonal_one_after_the_other_share_a_few_texts(backend):
    """A chain of sums over one row, each of which has loops of its own, would be one text for each length of chain."""
    vectors = []
    for _ in range(12):
        w = array(150)
        for v in vectors:
            w = w - gc.sum(w * v) * v
        vectors.append(w / gc.sqrt(gc.sum(w * w)))
    plan = gc.plan(*vectors)
    assert len(plan.kernels) <= 40, f"{plan}"
    longest = max(len(k.source.partition(k.name)[2]) for k in plan.kernels)
    assert longest < (12000 if backend in ("cpu", "reference") else 14000)


def test_much_work_over_columns_goes_row_by_row(backend):
    """Eight rows of six sums of 50 operations each, written out one after the other, took gcc minutes."""
    if backend not in ("cpu", "reference"):
        pytest.skip("work items take a column each")
    image, x = array(40, 60), array(40, 60)
    sums = [gc.sum(gc.where(x > k, gc.tanh(image * k) * gc.floor(x + k) / (k + abs(image - k) + x * x), 0), axis=0)
            for k in np.linspace(2, 3, 12).tolist()]
    kernel = max(gc.plan(*sums).kernels, key=lambda kernel: len(kernel.source))
    assert kernel.source.count("for (int64_t r = 0; r < 1; r++)") == 1
    assert "GCC unroll 8" not in kernel.source


def test_what_few_vectors_would_compute_is_stored(backend):
    """Windows of many taps of a padded array, what a transposed convolution deals out, and sums of windows whose
    channels are summed: in the kernels that read them they were elements one by one, in ten times the time."""
    if backend != "cpu":
        pytest.skip("work items take an element each")

    def kernels(result):
        return [kernel.name.partition("_")[0] for kernel in gc.plan(result).kernels]
    x, y = array(2, 32, 20, 20), array(2, 16, 20, 20)
    w = array(32, 1, 7, 7)
    assert kernels(gc.conv2d(x, w, array(32), padding=3, groups=32)) == ["map", "map"]
    assert kernels(gc.conv2d(x, array(32, 1, 3, 3), padding=1, groups=32)) == ["map"]
    assert kernels(gc.conv2d(x, w, groups=32)) == ["map"]
    assert kernels(gc.conv2d(x, w, padding=3, stride=2, groups=32)) == ["map"]
    up = gc.relu(gc.conv_transpose2d(y, array(16, 16, 4, 4), stride=2, padding=1))
    assert kernels(gc.conv2d(up, array(3, 16, 1, 1))) == ["contract", "map", "contract"]
    alone = gc.relu(gc.conv_transpose2d(y, array(16, 16, 3, 3)))
    assert kernels(gc.conv2d(alone, array(3, 16, 1, 1))).count("map") == 0
    deep = gc.permute_dims(gc.conv2d(x, w, padding=3, groups=32), (0, 2, 3, 1))
    assert kernels(layernorm(deep)) == ["map", "map", "row"]


def test_what_is_padded_is_looked_at_once():
    """And not once for each way from it to the windows, of which forty steps have a million million."""
    x = gc.pad(array(1, 4, 20, 20), ((0, 0), (0, 0), (3, 3), (3, 3)))
    for _ in range(40):
        x = x * 0.5 + gc.tanh(x) * x
    assert len(gc.plan(gc.conv2d(x, array(4, 1, 7, 7), groups=4)).kernels) <= 3


def test_the_gradient_of_pooling_is_stored_once():
    """As images, where the product and the sums behind it read them, and not as windows too."""
    def loss(w, b, v):
        h = gc.max_pool2d(gc.relu(gc.conv2d(IMAGES, w, b, padding=1)), 2)
        return gc.sum(gc.conv2d(h, v, array(8))**2)
    given = array(8, 8, 3, 3), array(8), array(8, 8, 3, 3)
    plan = gc.plan(*gc.grad(loss, argnums=(0, 1, 2))(*given))
    assert not any(kernel.shapes.endswith(", 2, 2]") for kernel in plan.kernels)


def test_a_number_that_each_step_of_a_loop_moves_is_stored_by_the_kernel_of_its_sum():
    """The bias of a descent was computed again, with all the steps before, by every kernel that reads it: each was of
    its own text, and 40 steps took eight seconds to compile."""
    x, y = array(200, 6), array(200)

    def descend(steps):
        w, b = array(6), 0.0
        for _ in range(steps):
            e = gc.sigmoid(x @ w + b) - y
            w, b = w - 0.1 * (x.T @ e) / 200, b - 0.1 * e.mean()
        kernels = gc.plan(w, b).kernels
        return len(kernels), len({k.source for k in kernels})

    (few, texts), (many, same) = descend(10), descend(30)
    assert (few, many) == (30, 90) and max(texts, same) < 20    # not one for each step, nor each kernel


def test_statistics_of_small_pictures_are_no_text_of_all_their_elements():
    """Sums over 16 pictures of 4 x 4: written out, 256 terms for each of three sums, GCC took ten minutes for one."""
    x = gc.asarray(np.zeros((16, 24, 4, 4), np.float32)).requires_grad_()
    norm = gc.nn.BatchNorm2d(24)
    gc.sum(gc.clip(norm(x), 0, 6) ** 2).backward()
    plan = gc.plan(x.grad, norm.weight.grad, norm.running_var)
    assert max(len(k.source.partition(k.name)[2]) for k in plan.kernels) < 10_000, f"{plan}"


def test_a_loop_that_reads_far_apart_stays_one_of_single_elements(backend):
    """GCC would sort what many turns read into vectors: minutes for some hundred places."""
    if backend != "cpu":
        pytest.skip("C alone")
    x = array(1000, 96)
    few, many = (sum(x[:, k] * (k + 2) for k in range(0, n)) for n in (12, 96))
    for t, kept in ((few, False), (many, True)):
        (kernel,) = gc.plan(t).kernels
        assert ('__asm__("");' in kernel.source) == kept
    np.testing.assert_allclose(many.numpy(), x.numpy() @ np.arange(2, 98, dtype=np.float32), rtol=1e-4, atol=1e-2)


def test_columns_that_read_much_go_row_by_row(backend):
    """Eight rows of them as one text took GCC seconds, also where some rows ask for conditions."""
    if backend != "cpu":
        pytest.skip("C alone")
    x = array(40, 300)
    for given in (x, gc.pad(x, ((1, 1), (0, 0)))):
        for reads in (4, 12):
            summed = gc.sum(sum(given[:, k:k + 200] * (k + 2) for k in range(reads)), axis=0)
            (kernel,) = gc.plan(summed).kernels
            assert ("GCC unroll 8" in kernel.source) == (reads == 4)
            whole = sum(x.numpy()[:, k:k + 200].sum(0) * (k + 2) for k in range(reads))
            np.testing.assert_allclose(summed.numpy(), whole, rtol=1e-4, atol=1e-3)


def test_parts_of_a_stack_share_the_sums_that_they_are_computed_from():
    """Sums along a short axis count as what they are written out to, so the parts are too much text to stand in the
    loops of the stack: one loop computed all nine of them for each element, twenty times as long."""
    f, (across, along) = array(9, 200, 400), (gc.asarray(np.arange(9.0) - k)[:, None, None] for k in (1, 4))
    density = f.sum(axis=0)
    u, v = ((f * weights).sum(axis=0) / density for weights in (across, along))
    stacked = gc.stack([density * (1 + k * u + 4.5 * (k * v)**2 - 1.5 * (u**2 + v**2)) for k in range(9)])
    plan = gc.plan(f + (stacked - f) / 0.6)
    assert len(plan.kernels) <= 2 and plan.flops < 200 * 200 * 400     # 4,608 for each place before
