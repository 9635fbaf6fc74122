"""Attention: one kernel in linear memory, the same bits whatever the tiles and threads, close to its steps."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_interpreter import run_program

import graphc as gc
from graphc import canonical
from graphc.build import build
from graphc.config import settings
from graphc.errors import DTypeError, ShapeError
from graphc.ir.ops import ATTENTION
from graphc.tolerances import equal_bits

attention = gc.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def compiled(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")


def arrays(rng, *shapes, dtype="float32"):
    return [rng.standard_normal(shape).astype(getattr(gc, dtype).numpy) for shape in shapes]


def truth(q, k, v, scale=1.0, mask=None):
    """The plain expression in float64. mask: bool, or numbers to add."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(all="ignore"):
        s = q @ np.swapaxes(k, -1, -2) * scale
        if mask is not None:
            s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask.astype(np.float64)
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v


def close(got, want, roundings=64):
    got = np.asarray(got)
    unit = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}.get(got.dtype.name, 2.0**-8)
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got.astype(np.float64)), nan)
    largest = np.abs(want[~nan]).max(initial=0)
    assert np.abs(got.astype(np.float64) - want)[~nan].max(initial=0) <= roundings * unit * largest


def kernels(*tensors):
    return [kernel.name for kernel in gc.plan(*tensors).kernels]


def is_one_attention(tensor):
    schedule = build(canonical.canonicalize([tensor.node]), "c").schedule
    return len(schedule.groups) == 1 and schedule.groups[0].anchors[0].op is ATTENTION


LENGTHS = [(2, 2), (2, 63), (3, 65), (9, 31), (23, 64), (24, 129), (25, 7), (95, 96), (96, 95), (97, 300), (200, 1000)]


@pytest.mark.parametrize("d, e, lead", [(64, 67, (3,)), (17, 20, ()), (1, 1, (2, 2))])
def test_odd_lengths_and_widths(d, e, lead):
    """One kernel serves them all but where an axis has one element."""
    rng = np.random.default_rng(d)
    for m, n in [*LENGTHS, *([(1, 200)] if d == 64 else [])]:
        q, k, v = arrays(rng, (*lead, m, d), (*lead, n, d), (*lead, n, e))
        got = gc.softmax(gc.asarray(q) @ gc.asarray(k).mT * 0.25, axis=-1) @ gc.asarray(v)
        assert is_one_attention(got)
        close(got, truth(q, k, v, 0.25))


def causal(m, n, d=0):
    return gc.arange(n)[None] <= gc.arange(m)[:, None] + d


MASKS = {
    "arange": lambda s, m, n: gc.where(causal(m, n), s, -gc.inf),
    "greater": lambda s, m, n: gc.where(gc.arange(n)[None] > gc.arange(m)[:, None], -gc.inf, s),
    "tril": lambda s, m, n: gc.where(gc.tril(gc.ones((m, n), dtype=gc.bool)), s, -gc.inf),
    "not triu": lambda s, m, n: gc.where(~gc.triu(gc.ones((m, n), dtype=gc.bool), k=1), s, -gc.inf),
    "added triu": lambda s, m, n: s + gc.triu(gc.full((m, n), -gc.inf, dtype=gc.float32), k=1),
    "added where": lambda s, m, n: s + gc.where(causal(m, n), gc.asarray(0, dtype=gc.float32), -gc.inf),
    "stored": lambda s, m, n: gc.where(gc.asarray(np.tril(np.ones((m, n), bool))), s, -gc.inf),
}


def test_causal_masks_of_all_kinds_give_the_same_bits():
    rng = np.random.default_rng(4)
    for m, n in [(65, 65), (100, 300), (300, 100), (257, 257)]:
        q, k, v = arrays(rng, (2, m, 32), (2, n, 32), (2, n, 32))
        results = {}
        for name, mask in MASKS.items():
            scores = gc.asarray(q) @ gc.asarray(k).mT * 0.25
            got = gc.softmax(mask(scores, m, n), axis=-1) @ gc.asarray(v)
            assert is_one_attention(got), name
            results[name] = got.numpy()
        close(results["stored"], truth(q, k, v, 0.25, np.tril(np.ones((m, n), bool))))
        for name, got in results.items():
            assert equal_bits(got, results["stored"]), name


@pytest.mark.parametrize("m, n", [(65, 65), (100, 300)])
def test_blocks_behind_the_diagonal_are_left_out(m, n):
    text = gc.plan(attention(*map(gc.asarray, arrays(np.random.default_rng(0), (m, 8), (n, 8), (n, 8))),
                             is_causal=True)).kernels[0].source
    assert "diagonal" in text
    q, k, v = map(gc.asarray, arrays(np.random.default_rng(0), (m, 8), (n, 8), (n, 8)))
    kept = gc.asarray(np.arange(n) % 3 > 0)
    for offset in (0, 5, -3):       # among other conditions, and shifted by a number that is an argument
        both = causal(m, n, offset) & kept
        got = gc.softmax(gc.where(both, q @ k.mT, -gc.inf), axis=-1) @ v
        assert "diagonal" in gc.plan(got).kernels[0].source
        want = gc.softmax(gc.where(gc.asarray(both.numpy()), q @ k.mT, -gc.inf), axis=-1) @ v
        assert equal_bits(got.numpy(), want.numpy())
        hidden = (gc.arange(n)[None] > gc.arange(m)[:, None] + offset) | ~kept
        assert equal_bits((gc.softmax(gc.where(hidden, -gc.inf, q @ k.mT), axis=-1) @ v).numpy(), want.numpy())
    lengths = gc.asarray(np.array([7, 41]))         # of what caches hold, in memory
    one = gc.stack([q[:1], q[:1]])
    cached = gc.where(gc.arange(n) < lengths[:, None, None], one @ gc.stack([k, k]).mT, -gc.inf)
    got = gc.softmax(cached, axis=-1) @ gc.stack([v, v])
    assert "diagonal" in gc.plan(got).kernels[-1].source
    for i, length in enumerate((7, 41)):
        close(got[i], truth(q.numpy()[:1], k.numpy()[:length], v.numpy()[:length]))
    last = gc.softmax(gc.where(gc.arange(n) <= 40, q[:1] @ k.mT, -gc.inf), axis=-1) @ v     # one query of a cache
    assert "diagonal" in gc.plan(last).kernels[0].source
    close(last, truth(q.numpy()[:1], k.numpy()[:41], v.numpy()[:41]))
    shifted = gc.where(gc.arange(n)[None] > gc.arange(m)[:, None] * 2, -gc.inf, q @ k.mT)
    assert "diagonal" not in gc.plan(gc.softmax(shifted, axis=-1) @ v).kernels[0].source


def test_masks_are_read_by_index():
    rng = np.random.default_rng(5)
    (b, h, m, n, d) = 2, 3, 37, 101, 8
    q, k, v = arrays(rng, (b, h, m, d), (b, h, n, d), (b, h, n, d))
    padding = rng.random((b, 1, 1, n)) < 0.7
    padding[..., 0] = True
    bias = rng.standard_normal((h, m, n)).astype(np.float32)
    slopes = np.array([0.5, 0.25, 0.125], np.float32)[:, None, None]
    distance = np.arange(n)[None] - np.arange(m)[:, None]
    full = padding & (np.abs(distance) < 90)
    scores = gc.asarray(q) @ gc.asarray(k).mT * 0.35 + gc.asarray(bias)
    scores = scores + gc.asarray(slopes) * gc.astype(gc.arange(n)[None] - gc.arange(m)[:, None], gc.float32)
    seen = gc.asarray(padding) & (gc.abs(gc.arange(n)[None] - gc.arange(m)[:, None]) < 90)
    got = gc.softmax(gc.where(seen, scores, -gc.inf), axis=-1) @ gc.asarray(v)
    assert is_one_attention(got)
    want = truth(q, k, v, 0.35, np.where(full, bias + slopes * distance, -np.inf))
    close(got, want)


def test_a_query_that_sees_no_key_is_nan():
    rng = np.random.default_rng(6)
    q, k, v = arrays(rng, (50, 8), (140, 8), (140, 8))
    mask = rng.random((50, 140)) < 0.5
    mask[[3, 40]] = False
    mask[20, :130] = False
    close(attention(*map(gc.asarray, (q, k, v)), attn_mask=gc.asarray(mask)), truth(q, k, v, 8**-0.5, mask))
    seen = np.tril(np.ones((50, 140), bool), -2)
    scores = gc.where(causal(50, 140, -2), gc.asarray(q) @ gc.asarray(k).mT, -gc.inf)
    close(gc.softmax(scores, axis=-1) @ gc.asarray(v), truth(q, k, v, 1.0, seen))


@pytest.mark.parametrize("where_", ["q", "k", "v"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_special_values_go_where_the_plain_expression_lets_them(where_, value):
    rng = np.random.default_rng(7)
    q, k, v = arrays(rng, (30, 8), (150, 8), (150, 8))
    {"q": q, "k": k, "v": v}[where_][17, 2] = value
    got = attention(*map(gc.asarray, (q, k, v))).numpy()
    with settings.override(disable="attention"):
        want = attention(*map(gc.asarray, (q, k, v))).numpy()
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    assert np.allclose(got[finite], want[finite], rtol=1e-5, atol=1e-6)


def test_keys_that_a_causal_mask_hides_by_whole_blocks_are_not_read():
    """The one exception to what NaN do: docs/numerics.md."""
    q, k, v = arrays(np.random.default_rng(8), (200, 8), (200, 8), (200, 8))
    v[199] = np.nan
    got = attention(*map(gc.asarray, (q, k, v)), is_causal=True).numpy()
    assert not np.isnan(got[:192]).any() and np.isnan(got[192:]).all()


def test_the_bits_of_a_query_depend_on_no_tile_and_no_thread():
    rng = np.random.default_rng(9)
    q, k, v = arrays(rng, (2, 300, 20), (2, 333, 20), (2, 333, 83))
    whole = attention(*map(gc.asarray, (q, k, v))).numpy()
    for start, stop in [(0, 1), (50, 53), (60, 64), (5, 13), (7, 31), (100, 197), (250, 300)]:
        part = attention(*map(gc.asarray, (q[:, start:stop], k, v))).numpy()
        assert equal_bits(part, np.ascontiguousarray(whole[:, start:stop])), (start, stop)
    for threads in (1, 2, 3):
        with settings.override(num_threads=threads):
            again = attention(*(gc.asarray(x + np.float32(0)) for x in (q, k, v)))
            assert equal_bits(again.numpy(), whole)
    # masked keys at the end change nothing: they add zeros
    longer = [np.concatenate([x, np.ones_like(x[:, :70])], 1) for x in (k, v)]
    seen = gc.arange(403) < 333
    assert equal_bits(attention(*map(gc.asarray, (q, *longer)), attn_mask=seen).numpy(), whole)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_dtypes(dtype):
    rng = np.random.default_rng(10)
    q, k, v = arrays(rng, (2, 70, 16), (2, 130, 16), (2, 130, 8), dtype=dtype)
    got = attention(*map(gc.asarray, (q, k, v)), is_causal=True)
    assert got.dtype.name == dtype and is_one_attention(got)
    close(got, truth(q, k, v, 0.25, np.tril(np.ones((70, 130), bool))), 64 if dtype == "float64" else 2)
    a, b, c = map(gc.asarray, (q, k, v))
    plain = gc.softmax(a @ b.mT * 0.25, axis=-1) @ c
    assert is_one_attention(plain)
    close(plain, truth(q, k, v, 0.25), 64 if dtype == "float64" else 16)


def test_grouped_heads():
    rng = np.random.default_rng(11)
    q, k, v = arrays(rng, (2, 6, 20, 16), (2, 2, 33, 16), (2, 2, 33, 16))
    want = truth(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1), 0.25)
    a, b, c = map(gc.asarray, (q, k, v))
    forms = [attention(a, b, c, enable_gqa=True),
             gc.softmax(a @ gc.repeat(b, 3, axis=1).mT * 0.25, axis=-1) @ gc.repeat(c, 3, axis=1),
             gc.softmax(a.reshape(2, 2, 3, 20, 16) @ b[:, :, None].mT * 0.25, axis=-1) @ c[:, :, None]]
    assert all(map(is_one_attention, forms))    # before the first is computed: two of them are the same graph
    for got in forms:
        close(got.reshape(2, 6, 20, 16), want)


def test_operands_and_consumers_are_fused():
    rng = np.random.default_rng(12)
    x, y = (gc.asarray(a) for a in arrays(rng, (2, 50, 3 * 24), (2, 50, 24)))
    q, k, v = (x[..., i * 24:(i + 1) * 24].reshape(2, 50, 4, 6).swapaxes(1, 2) for i in range(3))
    heads = gc.softmax((q * 0.5) @ (k * 2).mT, axis=-1) @ gc.exp(v)
    residual = gc.tanh(heads) + y.reshape(2, 50, 4, 6).swapaxes(1, 2)
    assert kernels(residual) == ["contract_attention_add"]
    a, b, c = (t.numpy() for t in (q, k, v))
    close(residual, np.tanh(truth(a, b, np.exp(c))) + y.numpy().reshape(2, 50, 4, 6).swapaxes(1, 2))
    # keys stored feature by feature, and gathered rows
    kt, = arrays(rng, (6, 70))
    rows = gc.asarray(rng.integers(0, 50, 70))
    vs = gc.take(y[0], rows, axis=0)
    got = gc.softmax(q[0, 0] @ gc.asarray(kt), axis=-1) @ vs
    assert is_one_attention(got)
    close(got, truth(a[0, 0], kt.T, y.numpy()[0][rows.numpy()]))


def test_einsum_and_a_softmax_by_hand():
    rng = np.random.default_rng(13)
    q, k, v = arrays(rng, (2, 20, 3, 8), (2, 30, 3, 8), (2, 30, 3, 8))
    a, b, c = map(gc.asarray, (q, k, v))
    scores = gc.einsum("bqhd,bkhd->bhqk", a, b)
    e = gc.exp(scores - gc.max(scores, axis=-1, keepdims=True))
    got = gc.einsum("bhqk,bkhd->bqhd", e / gc.sum(e, axis=-1, keepdims=True), c)
    assert kernels(got) == ["contract_attention_permute"]
    q, k, v = (np.swapaxes(x, 1, 2) for x in (q, k, v))
    close(got, np.swapaxes(truth(q, k, v), 1, 2))


def test_what_is_read_elsewhere_is_computed():
    """Weights or scores that the user wants are real, so no attention takes their place."""
    q, k, v = map(gc.asarray, arrays(np.random.default_rng(14), (20, 8), (30, 8), (30, 8)))
    scores = q @ k.mT
    weights = gc.softmax(scores, axis=-1)
    assert not any("attention" in name for name in kernels(weights @ v, weights))
    assert not any("attention" in name for name in kernels(weights @ v, scores * 2))
    assert not any("attention" in name for name in kernels(gc.exp(scores) / gc.sum(gc.exp(scores), -1)[:, None] @ v))
    with settings.override(disable="attention"):
        assert not any("attention" in name for name in kernels(weights @ v))
    assert kernels(weights @ v) == ["contract_attention"]


def test_memory_is_linear_and_bytes_are_moved_once():
    small, large = (gc.plan(attention(*(gc.zeros((8, n, 64), dtype=gc.float32) + gc.asarray(np.float32(1))
                                        for _ in range(3)), is_causal=True)) for n in (512, 4096))
    assert large.peak_bytes <= 8 * small.peak_bytes
    x = [gc.asarray(a) for a in arrays(np.random.default_rng(15), *[(8, 256, 64)] * 3)]
    plan = gc.plan(attention(*x))
    assert len(plan.kernels) == 1 and plan.bytes_moved <= 1.05 * 4 * x[0].nbytes
    assert plan.peak_bytes == x[0].nbytes


def test_a_long_sequence():
    rng = np.random.default_rng(16)
    q, k, v = arrays(rng, (1, 4096, 32), (1, 4096, 32), (1, 4096, 32))
    got = attention(*map(gc.asarray, (q, k, v)), is_causal=True)
    rows = np.array([0, 63, 64, 1000, 4095])
    seen = np.arange(4096)[None] <= rows[:, None]
    close(got.numpy()[:, rows], truth(q[:, rows], k, v, 32**-0.5, seen), 256)


def test_nothing_compiles_for_another_length():
    rng = np.random.default_rng(17)
    attention(*map(gc.asarray, arrays(rng, (3, 100, 24), (3, 90, 24), (3, 90, 24)))).numpy()    # two blocks of queries
    before = gc.counters()
    for m, n, d in [(200, 200, 24), (300, 33, 40)]:
        attention(*map(gc.asarray, arrays(rng, (5, m, d), (5, n, d), (5, n, d)))).numpy()
    assert (gc.counters() - before).compiles == 0


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 0, 4), (2, 5, 0)])
def test_empty_axes(shape):
    lead, m, d = shape
    q, k, v = (np.ones((lead, m, d), np.float32), np.ones((lead, 6, d), np.float32), np.ones((lead, 6, 3), np.float32))
    got = attention(*map(gc.asarray, (q, k, v))).numpy()
    assert got.shape == (lead, m, 3) and (got == 1).all()


@pytest.mark.parametrize("build_", [
    lambda q, k, v: gc.softmax(q @ k.mT * 0.5, axis=-1) @ v,
    lambda q, k, v: gc.softmax(gc.where(causal(11, 70, 60), q @ k.mT, -gc.inf), axis=-1) @ v,
    lambda q, k, v: gc.tanh(gc.softmax(q @ k.mT + gc.arange(70, dtype=gc.float32), axis=-1) @ v),
], ids=["scale", "causal", "bias and tanh"])
def test_the_interpreter_agrees(build_):
    q, k, v = arrays(np.random.default_rng(18), (2, 11, 5), (2, 70, 5), (2, 70, 6))
    tensor = build_(*map(gc.asarray, (q, k, v)))
    graph = canonical.canonicalize([tensor.node])
    built = build(graph, "c")
    leaves = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    got = run_program(built, leaves, graph.params, "reverse")[0].view(np.float32)[:tensor.size].reshape(tensor.shape)
    close(got, tensor.numpy().astype(np.float64), 16)


def test_verify_holds_an_attention_against_its_steps():
    q, k, v = map(gc.asarray, arrays(np.random.default_rng(19), (3, 40, 8), (3, 90, 8), (3, 90, 8)))
    with settings.override(verify=True):
        gc.realize(attention(q, k, v, is_causal=True), gc.exp(attention(q, k, v) * 0.5) + 1)
        q, k, v, g = arrays(np.random.default_rng(27), *[(165, 8)] * 4)
        gc.realize(*pulled(lambda q: attention(q, gc.asarray(k), gc.asarray(v)), (q,), g))


def test_errors_name_what_does_not_fit():
    q, k, v = (gc.ones(shape) for shape in ((4, 5, 8), (4, 6, 8), (4, 6, 3)))
    with pytest.raises(ShapeError, match="features"):
        attention(q, gc.ones((4, 6, 7)), v)
    with pytest.raises(ShapeError, match="positions"):
        attention(q, k, gc.ones((4, 7, 3)))
    with pytest.raises(ShapeError, match="mask"):
        attention(q, k, v, attn_mask=gc.ones((9, 4, 5, 6), dtype=gc.bool))
    with pytest.raises(ShapeError, match="heads"):
        attention(q, gc.ones((3, 6, 8)), gc.ones((3, 6, 3)), enable_gqa=True)
    with pytest.raises(ShapeError, match="axis of positions"):
        attention(gc.ones(8), k, v)
    with pytest.raises(DTypeError, match="complex"):
        attention(q * 1j, k, v)


def test_one_query_of_heads_that_share_keys():
    """A token at a time: the heads of a group are the queries of one product, whatever the mask."""
    rng = np.random.default_rng(14)
    q, k, v = arrays(rng, (2, 6, 1, 16), (2, 2, 33, 16), (2, 2, 33, 8))
    seen, by_head = rng.random((1, 33)) < 0.6, rng.random((6, 1, 33)) < 0.6
    seen[:, 0], by_head[:, :, 0] = True, True
    a, b, c = map(gc.asarray, (q, k, v))
    for mask in (None, seen, by_head, rng.standard_normal((2, 1, 1, 33)).astype(np.float32), np.ones((), bool)):
        got = attention(a, b, c, None if mask is None else gc.asarray(mask), enable_gqa=True)
        assert is_one_attention(got)
        close(got, truth(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1), 0.25, mask))
    with pytest.raises(ShapeError, match="a mask of shape"):
        attention(a, b, c, gc.ones((3, 33), dtype=gc.bool), enable_gqa=True)


def test_all_queries_see_as_many_keys():
    """A cache that is filled so far: what lies behind is not read, by several queries either."""
    rng = np.random.default_rng(15)
    q, k, v = arrays(rng, (2, 3, 16), (2, 200, 16), (2, 200, 8))
    want = truth(q, k[:, :13], v[:, :13], 0.25)
    k[:, 13:], v[:, 13:] = np.nan, np.nan
    got = attention(*map(gc.asarray, (q, k, v)), gc.arange(200) <= gc.asarray(12))
    assert is_one_attention(got)
    assert "n <= diagonal" in gc.plan(got).kernels[0].source
    close(got, want)


# ------------------------------------------------------------------------------------------------------ the gradient

def true_gradients(q, k, v, g, scale, mask=None, cap=None):
    """Of sum(attention * g), in float64; with a cap, of scores cap * tanh(score / cap)."""
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    s, slope = q @ np.swapaxes(k, -1, -2) * scale, scale
    if cap is not None:
        s = cap * np.tanh(s / cap)
        slope = scale * (1 - (s / cap)**2)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    dp = g @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * slope
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


def pulled(f, arrays_, g):
    """The gradients of f, which nobody has realized yet."""
    return gc.vjp(f, *map(gc.asarray, arrays_))[1](gc.asarray(g))


def is_computed_again(*tensors):
    """Whether no kernel stores scores."""
    names = kernels(*tensors)
    assert any("weighted" in name for name in names) != any("dot" in name for name in names)
    return not any("dot" in name for name in names)


def largest_made(*tensors):
    """Bytes of the largest array that a program makes."""
    program = build(canonical.canonicalize([t.node for t in tensors]), "c").program
    return max(slot.nbytes for slot in program.slots if slot.role != "input")


@pytest.mark.parametrize("shapes", [[(193, 250, 24, 24), (300, 131, 5, 9)], [(193, 250, 24, 24)]],
                         ids=["causal", "mask"])
def test_gradients_compute_scores_again(shapes):
    rng = np.random.default_rng(20)
    for m, n, d, e in shapes:
        q, k, v, g = arrays(rng, (2, m, d), (2, n, d), (2, n, e), (2, m, e))
        mask = np.tril(np.ones((m, n), bool))
        if len(shapes) == 1:
            mask = rng.standard_normal((m, n)).astype(np.float32)
            mask[rng.random((m, n)) < 0.2] = -np.inf
        own = {"is_causal": True} if mask.dtype == bool else {"attn_mask": gc.asarray(mask)}
        found = pulled(lambda q, k, v, own=own: attention(q, k, v, scale=0.3, **own), (q, k, v), g)
        assert is_computed_again(*found) and largest_made(*found) < m * n * 4
        for got, want in zip(found, true_gradients(q, k, v, g, 0.3, mask), strict=True):
            close(got, want, 256)


def test_memory_of_gradients_is_linear():
    def peak(n):
        x = [gc.zeros((1, 2, n, 16), dtype=gc.float32) + gc.asarray(np.float32(1)) for _ in range(4)]
        y, pull = gc.vjp(lambda q, k, v: attention(q, k, v, is_causal=True), *x[:3])
        return gc.plan(y, *pull(x[3])).peak_bytes
    assert peak(4096) <= 16 * peak(256) and peak(4096) < 2 * 4096 * 4096


def test_gradients_of_grouped_heads_and_of_some_arguments():
    rng = np.random.default_rng(21)
    q, k, v, g = arrays(rng, (1, 4, 170, 8), (1, 2, 170, 8), (1, 2, 170, 8), (1, 4, 170, 8))
    mask = np.tril(np.ones((170, 170), bool))
    dq, dk, dv = true_gradients(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1), g, 8**-0.5, mask)
    want = dq, *(x.reshape(1, 2, 2, 170, 8).sum(2) for x in (dk, dv))
    found = pulled(lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True), (q, k, v), g)
    assert is_computed_again(*found)
    for got, right in zip(found, want, strict=True):
        close(got, right, 256)
    for which in range(3):      # alone: the same bits, and nothing else is computed
        def of_one(x, which=which):
            return attention(*(x if i == which else gc.asarray(a) for i, a in enumerate((q, k, v))), is_causal=True,
                             enable_gqa=True)
        alone, = pulled(of_one, [(q, k, v)[which]], g)
        assert is_computed_again(alone)
        assert len([n for n in kernels(alone) if "weighted" in n]) == 1
        assert which == 1 or equal_bits(alone.numpy(), found[which].numpy())


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_gradients_of_other_dtypes(dtype):
    q, k, v, g = arrays(np.random.default_rng(22), *[(170, 16)] * 4, dtype=dtype)
    found = pulled(lambda q, k, v: attention(q, k, v), (q, k, v), g)
    assert is_computed_again(*found)
    for got, want in zip(found, true_gradients(q, k, v, g, 0.25), strict=True):
        assert got.dtype.name == dtype
        close(got, want, 256 if dtype == "float64" else 2)


def test_gradients_of_an_expression_by_hand():
    """A softmax, a cap and a window of one's own; the gradient is found in what they record."""
    q, k, v, g = arrays(np.random.default_rng(23), *[(2, 180, 16)] * 4)
    at = np.arange(180)
    seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 90)

    def capped(q, k, v):
        s = 5 * gc.tanh(gc.einsum("bqd,bkd->bqk", q, k) * (0.25 / 5))
        s = gc.where(causal(180, 180) & (gc.arange(180)[None] > gc.arange(180)[:, None] - 90), s, -gc.inf)
        e = gc.exp(s - gc.max(s, axis=-1, keepdims=True).detach())
        return e / gc.sum(e, axis=-1, keepdims=True) @ v
    found = pulled(capped, (q, k, v), g)
    assert is_computed_again(*found)
    for got, want in zip(found, true_gradients(q, k, v, g, 0.25, seen, 5), strict=True):
        close(got, want, 256)


def test_gradients_are_found_in_layers():
    """Heads that are turned views of one array, twice, and computed again under a checkpoint."""
    x, = arrays(np.random.default_rng(28), (2, 170, 3, 2, 8))

    def layer(x):
        q, k, v = (x[:, :, i].swapaxes(1, 2) for i in range(3))
        return gc.stack([attention(q, k, v, is_causal=True).swapaxes(1, 2)] * 3, axis=2) + x
    for f, weighted in ((lambda x: layer(layer(x)), 4), (gc.checkpoint(layer), 2)):
        slope = gc.grad(lambda x, f=f: gc.sin(f(x)).sum())(gc.asarray(x))
        assert is_computed_again(slope)
        assert sum("weighted" in name for name in kernels(slope)) == weighted


def test_who_wants_scores_gets_them():
    q, k, v, g = arrays(np.random.default_rng(24), *[(170, 8)] * 4)
    bias = np.zeros((170, 170), np.float32)
    assert not is_computed_again(*pulled(lambda b: attention(*map(gc.asarray, (q, k, v)), attn_mask=b), (bias,), g))
    short = [x[:100] for x in (q, k, v)]
    assert not is_computed_again(*pulled(attention, short, g[:100]))        # faster with scores in memory
    notes = gc.plan(*pulled(attention, (q, k, v), g)).explain
    assert any("computes weights (170, 170) again" in note for note in notes)


def test_the_interpreter_agrees_on_gradients(monkeypatch):
    from graphc.passes import evaluate
    monkeypatch.setattr(evaluate, "LEAST_SCORES", 2)
    q, k, v, g = arrays(np.random.default_rng(25), (9, 2), (70, 2), (70, 3), (9, 3))
    for shift in (0, 61):
        def f(q, k, v, shift=shift):
            return gc.softmax(gc.where(causal(9, 70, shift), q @ k.mT * 0.5, -gc.inf), axis=-1) @ v
        found = pulled(f, (q, k, v), g)
        assert is_computed_again(*found)
        graph = canonical.canonicalize([x.node for x in found])
        leaves = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
        results = run_program(build(graph, "c"), leaves, graph.params, "reverse")
        for got, want in zip(results, true_gradients(q, k, v, g, 0.5, causal(9, 70, shift).numpy()), strict=True):
            close(got.view(np.float32)[:want.size].reshape(want.shape), want, 64)


def test_the_bits_of_a_gradient_depend_on_no_thread_and_no_hidden_key():
    q, k, v, g = arrays(np.random.default_rng(26), *[(3, 300, 16)] * 4)

    def gradients(q, k, v, g):
        return [x.numpy() for x in pulled(lambda q, k, v: attention(q, k, v, is_causal=True), (q, k, v), g)]
    want = gradients(q, k, v, g)
    with settings.override(num_threads=1):
        assert all(map(equal_bits, gradients(q, k, v, g), want))
    some = gradients(*(x[1:, :200] for x in (q, k, v, g)))      # others of the stack, and no later queries
    assert equal_bits(some[0][:, :192], want[0][1:, :192])
    for x in (k, v):
        x[:, 192:] = np.nan     # whole blocks of keys that the first 192 queries do not see
    assert equal_bits(gradients(q, k, v, g)[0][:, :192], want[0][:, :192])
