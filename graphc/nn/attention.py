"""Attention, and the blocks of transformers."""
from __future__ import annotations

import numpy as np

import graphc as gc
from graphc import tracing
from graphc.errors import IndexOutOfRange, ShapeError
from graphc.nn.layers import Dropout, LayerNorm, Linear, RotaryEmbedding
from graphc.nn.module import Module
from graphc.tensor import host_view


class KVCache:
    """Keys and values of the positions so far: (batch, heads, capacity, width), written in place.

    `length` is a tensor, so that a compiled step serves every position. Memory has positions first, so that those of a
    step lie in one piece.
    """

    def __init__(self, batch: int, heads: int, capacity: int, width: int, dtype=gc.float32):
        self._keys = gc.zeros((capacity, batch, heads, width), dtype=dtype)
        self._values = gc.zeros((capacity, batch, heads, width), dtype=dtype)
        self.length = gc.zeros((), dtype=gc.int64)

    @property
    def keys(self):
        return gc.moveaxis(self._keys, 0, -2)

    @property
    def values(self):
        return gc.moveaxis(self._values, 0, -2)

    def append(self, keys, values):
        """Write the next positions. Returns all keys, all values and the number of positions before these.

        Raises ShapeError where keys or values do not fit, IndexOutOfRange where the cache is full: at once if its
        length is known, and when realized in a jitted function. Nothing is written then.
        """
        count, length = self._count(keys, values), self._known_length()
        capacity = self._keys.shape[0]
        if (length or 0) + count > capacity:
            raise IndexOutOfRange(f"the cache has a capacity of {capacity} positions, {length or 0} are taken, and "
                                  f"{count} more come", op="KVCache", fix="make it with a larger capacity")
        before = self.length * 1
        place = gc.arange(count) + before
        self._keys[place], self._values[place] = gc.moveaxis(keys, -2, 0), gc.moveaxis(values, -2, 0)
        # What is known remains so, in memory: a jitted function takes it for what it will get from the next call.
        self.length.assign(before + count if length is None else np.asarray(length + count))
        return self.keys, self.values, before

    def _count(self, keys, values) -> int:
        """How many positions these are."""
        _, batch, heads, width = self._keys.shape
        for what, x in (("keys", keys), ("values", values)):
            if x.ndim != 4 or x.shape != (batch, heads, keys.shape[-2], width):
                raise ShapeError(f"{what} of shape {x.shape} do not fit a cache for (batch {batch}, heads {heads}, "
                                 f"positions, width {width})", op="KVCache",
                                 fix="make a cache for each batch size, with the kv_heads of the attention")
        return keys.shape[-2]

    def _known_length(self) -> int | None:
        """The length, if it lies in memory; None while a function is traced, or where it has to be computed."""
        known = None if tracing.current() is not None else host_view(self.length.node, copied=False)
        return None if known is None else int(known)


class MultiHeadAttention(Module):
    """Attention with `heads` heads over (batch, length, width). Vaswani et al. (2017).

    kv_heads: fewer heads for keys and values than for queries, each shared by heads / kv_heads (Ainslie et al. 2023).
    causal: a position sees itself and what is before it. rope: a RotaryEmbedding for queries and keys.
    """

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, causal: bool = False, bias: bool = True,
                 rope: RotaryEmbedding | None = None):
        kv_heads = kv_heads or heads
        if width % heads or heads % kv_heads:
            raise ShapeError(f"a width of {width} does not divide into {heads} heads, or these into {kv_heads}",
                             op="MultiHeadAttention")
        self.heads, self.kv_heads, self.causal, self.rope = heads, kv_heads, causal, rope
        each = width // heads
        self.query = Linear(width, width, bias)
        self.key = Linear(width, kv_heads * each, bias)
        self.value = Linear(width, kv_heads * each, bias)
        self.out = Linear(width, width, bias)

    def forward(self, x, context=None, mask=None, cache: KVCache | None = None):
        """x: (batch, length, width). context: what keys and values come from, x itself if None. mask: see
        `graphc.scaled_dot_product_attention`. cache: keys and values of earlier positions; x goes on after them, and
        a position sees itself and what is before it, causal or not."""
        context = x if context is None else context
        q = self._split(self.query(x), self.heads)
        k, v = self._split(self.key(context), self.kv_heads), self._split(self.value(context), self.kv_heads)
        offset = 0 if cache is None else cache.length * 1
        if self.rope is not None:
            q, k = self.rope(q, offset), self.rope(k, offset)
        causal = self.causal
        if cache is not None:
            k, v, before = cache.append(k, v)
            seen = gc.arange(k.shape[-2]) <= (gc.arange(q.shape[-2]) + before).expand_dims(-1)
            mask, causal = _both(seen, mask, q.dtype), False
        y = gc.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=self.heads != self.kv_heads)
        return self.out(y.swapaxes(1, 2).reshape(*x.shape[:2], self.heads * y.shape[-1]))

    def _split(self, x, heads: int):
        return x.reshape(*x.shape[:2], heads, x.shape[-1] // heads).swapaxes(1, 2)


def _both(seen, mask, dtype):
    """A mask of what is seen, and what another one says: bool, or numbers that are added to the scores."""
    if mask is None:
        return seen
    mask = gc.asarray(mask)
    return seen & mask if mask.dtype is gc.bool else gc.where(seen, mask.astype(dtype), -gc.inf)


class SwiGLU(Module):
    """down(silu(gate(x)) * up(x)). Shazeer (2020), *GLU variants improve transformer*."""

    def __init__(self, width: int, hidden: int, bias: bool = False):
        self.gate, self.up = Linear(width, hidden, bias), Linear(width, hidden, bias)
        self.down = Linear(hidden, width, bias)

    def forward(self, x):
        return self.down(gc.silu(self.gate(x)) * self.up(x))


class MLP(Module):
    """down(gelu(up(x)))"""

    def __init__(self, width: int, hidden: int, bias: bool = True):
        self.up, self.down = Linear(width, hidden, bias), Linear(hidden, width, bias)

    def forward(self, x):
        return self.down(gc.gelu(self.up(x)))


class TransformerEncoderBlock(Module):
    """Self-attention and an MLP, each on a normalised copy and added to x (pre-norm, Xiong et al. 2020)."""

    def __init__(self, width: int, heads: int, hidden: int | None = None, dropout: float = 0.0, causal: bool = False):
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, causal=causal)
        self.mlp = MLP(width, hidden or 4 * width)
        self.dropout = Dropout(dropout)

    def forward(self, x, mask=None, cache: KVCache | None = None):
        x = x + self.dropout(self.attention(self.norm1(x), mask=mask, cache=cache))
        return x + self.dropout(self.mlp(self.norm2(x)))


class TransformerDecoderBlock(Module):
    """Causal self-attention, attention to `memory` and an MLP, each on a normalised copy and added to x."""

    def __init__(self, width: int, heads: int, hidden: int | None = None, dropout: float = 0.0):
        self.norm1, self.norm2, self.norm3 = LayerNorm(width), LayerNorm(width), LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, causal=True)
        self.cross = MultiHeadAttention(width, heads)
        self.mlp = MLP(width, hidden or 4 * width)
        self.dropout = Dropout(dropout)

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = x + self.dropout(self.attention(self.norm1(x), mask=mask))
        x = x + self.dropout(self.cross(self.norm2(x), context=memory, mask=memory_mask))
        return x + self.dropout(self.mlp(self.norm3(x)))
