"""Attention layers and transformer blocks against NumPy, and step by step with a cache against all at once."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc import nn
from graphc.errors import IndexOutOfRange, ShapeError


@pytest.fixture(autouse=True)
def on_the_reference():
    gc.random.seed(1)
    with gc.backend("reference"):
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def dense(layer, x):
    return x @ layer.weight.numpy().T + (0 if layer.bias is None else layer.bias.numpy())


def attention(layer, x, context=None, seen=None):
    context = x if context is None else context
    def split(y, heads):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)
    q = split(dense(layer.query, x), layer.heads)
    k, v = (split(dense(f, context), layer.kv_heads) for f in (layer.key, layer.value))
    k, v = (np.repeat(t, layer.heads // layer.kv_heads, axis=1) for t in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if seen is not None:
        scores = np.where(seen, scores, -np.inf)
    y = (softmax(scores) @ v).swapaxes(1, 2)
    return dense(layer.out, y.reshape(*x.shape[:2], -1))


@pytest.mark.parametrize("kv_heads, causal", [(4, False), (2, True), (1, True)])
def test_heads(kv_heads, causal):
    layer = nn.MultiHeadAttention(16, 4, kv_heads, causal)
    x = normal(2, 5, 16)
    seen = np.tri(5, dtype=bool) if causal else None
    np.testing.assert_allclose(layer(gc.asarray(x)).numpy(), attention(layer, x, seen=seen), rtol=1e-4, atol=1e-5)


def test_context_and_mask():
    layer = nn.MultiHeadAttention(8, 2)
    x, context = normal(2, 3, 8), normal(2, 6, 8, seed=1)
    seen = np.random.default_rng(2).random((3, 6)) < 0.7
    seen[:, 0] = True
    found = layer(gc.asarray(x), gc.asarray(context), mask=gc.asarray(seen)).numpy()
    np.testing.assert_allclose(found, attention(layer, x, context, seen), rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError, match="width of 8 does not divide into 3 heads"):
        nn.MultiHeadAttention(8, 3)


def test_a_cache_gives_what_all_at_once_gives():
    layer = nn.MultiHeadAttention(16, 4, 2, causal=True, rope=nn.RotaryEmbedding(4))
    x = gc.asarray(normal(2, 7, 16))
    whole = layer(x).numpy()
    cache = nn.KVCache(2, 2, 10, 4)
    parts = [layer(x[:, a:b], cache=cache).numpy() for a, b in ((0, 4), (4, 5), (5, 7))]
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-4, atol=1e-5)
    assert int(cache.length) == 7 and not cache.keys.numpy()[:, :, 7:].any()


def test_a_cache_is_written_in_place():
    """Of a step with one token only that token's keys and values are written, not the cache."""
    layer = nn.MultiHeadAttention(16, 4, 2, rope=nn.RotaryEmbedding(4)).requires_grad_(False)
    cache = nn.KVCache(1, 2, 4096, 4)
    step = gc.jit(lambda x: layer(x, cache=cache))
    x = gc.asarray(normal(1, 1, 16))
    step(x)
    plan = step.plan(x)
    assert all(kernel.bytes_written < 1000 for kernel in plan.kernels)
    assert len([kernel for kernel in plan.kernels if kernel.name.startswith("scatter")]) == 2


def test_blocks():
    block = nn.TransformerEncoderBlock(8, 2, 12, causal=True)
    x = normal(2, 4, 8)

    def norm(layer, x):
        return ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)).astype(np.float32)

    h = x + attention(block.attention, norm(block.norm1, x), seen=np.tri(4, dtype=bool))
    inner = dense(block.mlp.up, norm(block.norm2, h))
    expected = h + dense(block.mlp.down, gc.gelu(gc.asarray(inner)).numpy())
    np.testing.assert_allclose(block(gc.asarray(x)).numpy(), expected, rtol=1e-3, atol=1e-4)
    decoder = nn.TransformerDecoderBlock(8, 2)
    assert decoder(gc.asarray(x), gc.asarray(normal(2, 9, 8))).shape == (2, 4, 8)
    gate = nn.SwiGLU(8, 6)
    a = dense(gate.gate, x)
    np.testing.assert_allclose(gate(gc.asarray(x)).numpy(), dense(gate.down, a / (1 + np.exp(-a)) * dense(gate.up, x)),
                               rtol=1e-4, atol=1e-5)


def test_a_transformer_learns():
    gc.random.seed(0)
    net = nn.Sequential(nn.Embedding(5, 16), nn.TransformerEncoderBlock(16, 2, causal=True), nn.Linear(16, 5))
    optimizer = gc.optim.Adam(net.parameters(), lr=0.01)
    x = gc.asarray(np.random.default_rng(0).integers(0, 5, (8, 6)))
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = nn.cross_entropy(net(x), gc.roll(x, 1, axis=1))       # the word before, which attention can see
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("batch, length", [(0, 4), (2, 0), (0, 0)])
def test_empty_batches(batch, length):
    x, memory = gc.ones((batch, length, 8), dtype=gc.float32), gc.ones((batch, 3, 8), dtype=gc.float32)
    for layer in (nn.MultiHeadAttention(8, 2, 1, causal=True), nn.TransformerEncoderBlock(8, 2),
                  lambda x: nn.TransformerDecoderBlock(8, 2)(x, memory), nn.SwiGLU(8, 4)):
        assert layer(x).numpy().shape == x.shape
    block = nn.TransformerEncoderBlock(8, 2)
    block(x).sum().backward()
    assert all(p.grad.numpy().shape == p.shape and not p.grad.numpy().any() for p in block.parameters())
    assert nn.Flatten()(x).shape == (batch, 8 * length) and nn.Flatten()(gc.ones(3)).shape == (3, 1)


def test_a_full_cache_says_so():
    cache = nn.KVCache(2, 1, 3, 4)
    x = gc.ones((2, 1, 2, 4), dtype=gc.float32)
    cache.append(x, x)
    with pytest.raises(IndexOutOfRange, match=r"(?s)capacity of 3 positions, 2 are taken, and 2 more come.*larger"):
        cache.append(x, x)
    assert cache.length.item() == 2
    cache.append(x[:, :, :1], x[:, :, :1])
    assert cache.length.item() == 3 and cache.keys.numpy().all()
    for many in (gc.ones((2, 1, 4, 4)), gc.spec((2, 1, 4, 4))):
        with pytest.raises(IndexOutOfRange, match="capacity of 3"):
            gc.jit(lambda x: nn.KVCache(2, 1, 3, 4).append(x, x))(many)


def test_a_full_cache_of_a_jitted_function_keeps_its_length():
    cache = nn.KVCache(1, 1, 2, 4)
    traced = []

    @gc.jit
    def step(x):
        traced.append(1)
        return cache.append(x, x)[0]
    x = gc.ones((1, 1, 1, 4), dtype=gc.float32)
    cache.append(x, x)
    step(x)
    with pytest.raises(IndexOutOfRange, match="2"):
        step(x)
    assert cache.length.item() == 2 and len(traced) == 1


@pytest.mark.parametrize("shape", [(1, 2, 1, 4), (3, 2, 1, 4), (2, 1, 1, 4), (2, 2, 1, 1), (2, 1, 4)])
def test_a_cache_is_for_one_batch_size(shape):
    cache = nn.KVCache(2, 2, 8, 4)
    with pytest.raises(ShapeError, match=r"do not fit a cache for \(batch 2, heads 2, positions, width 4\)"):
        cache.append(gc.ones(shape), gc.ones(shape))
    assert cache.length.item() == 0


def test_masks_beside_a_cache():
    """bool, or numbers that are added: as without the cache, of a layer that is causal anyway."""
    layer, x = nn.MultiHeadAttention(8, 2, causal=True), gc.asarray(normal(1, 4, 8))
    hidden = gc.arange(4) == 2
    for mask in (gc.logical_not(hidden), gc.where(hidden, -gc.inf, 0.5), gc.where(hidden, -1000, 0),
                 np.zeros((4, 4), np.float32), gc.zeros((4, 4), dtype="int32")):
        found = layer(x, mask=mask, cache=nn.KVCache(1, 2, 4, 4))
        np.testing.assert_allclose(found.numpy(), layer(x, mask=mask).numpy(), rtol=1e-5, atol=1e-6)
