"""Does a language model fit? A decoder of 7.24 billion parameters (the shape of Mistral 7B), planned without memory.

    python -m graphc.examples.decoder_memory

Written with plain functions: RMSNorm, rotary positions, attention with grouped query heads and a KV cache that is
updated in place, and a gated MLP. `estimate_memory` runs it on tensors without storage.
"""
from __future__ import annotations

import time
from dataclasses import dataclass

import graphc as gc


@dataclass(frozen=True)
class Shape:
    hidden: int = 4096
    ffn: int = 14336
    layers: int = 32
    heads: int = 32
    kv_heads: int = 8
    vocabulary: int = 32000
    context: int = 4096

    @property
    def head(self) -> int:
        return self.hidden // self.heads


def weights(shape: Shape, make) -> dict:
    """The weights; `make(*sizes)` gives one tensor."""
    h, kv = shape.hidden, shape.kv_heads * shape.head
    layers = [{"norm": make(h), "q": make(h, h), "k": make(h, kv), "v": make(h, kv), "o": make(h, h),
               "norm2": make(h), "gate": make(h, shape.ffn), "up": make(h, shape.ffn), "down": make(shape.ffn, h)}
              for _ in range(shape.layers)]
    return {"embedding": make(shape.vocabulary, h), "layers": layers, "norm": make(h),
            "head": make(h, shape.vocabulary)}


def empty_cache(shape: Shape, make) -> list:
    """Keys and values of each layer: (2, KV heads, context, head)."""
    return [make(2, shape.kv_heads, shape.context, shape.head) for _ in range(shape.layers)]


def decoder(params: dict, tokens, cache: list, shape: Shape, position: int = 0):
    """Logits of the tokens at `position` and after it; the cache is updated."""
    count = tokens.shape[0]
    places = gc.arange(position, position + count)
    x = params["embedding"][tokens]
    for layer, kept in zip(params["layers"], cache, strict=True):
        y = norm(x, layer["norm"])
        kept[0, :, position:position + count] = turned(heads(y @ layer["k"], shape), places)
        kept[1, :, position:position + count] = heads(y @ layer["v"], shape)
        x = x + attention(turned(heads(y @ layer["q"], shape), places), kept, places, shape) @ layer["o"]
        y = norm(x, layer["norm2"])
        x = x + (gc.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
    return norm(x, params["norm"]) @ params["head"], cache


def norm(x, weight):
    return x * gc.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight


def heads(x, shape: Shape):
    """(tokens, hidden) -> (heads, tokens, head)"""
    return x.reshape(x.shape[0], -1, shape.head).transpose(1, 0, 2)


def turned(x, places):
    """Rotary positions (Su et al., *RoFormer*, 2021)."""
    half = x.shape[-1] // 2
    speed = gc.exp(gc.arange(half, dtype=x.dtype) * (-9.2103404 / half))
    angle = gc.astype(places, x.dtype)[:, None] * speed
    a, b = x[..., :half], x[..., half:]
    return gc.concat([a * gc.cos(angle) - b * gc.sin(angle), b * gc.cos(angle) + a * gc.sin(angle)], axis=-1)


def attention(q, kept, places, shape: Shape):
    """Each group of query heads shares one head of keys and values (Ainslie et al., *GQA*, 2023)."""
    count, seen = q.shape[1], kept.shape[2]
    q = q.reshape(shape.kv_heads, -1, count, shape.head)
    scores = q @ kept[0][:, None].mT * shape.head ** -0.5
    scores = gc.where(gc.arange(seen) <= places[:, None], scores, -1e30)
    out = gc.softmax(scores, axis=-1) @ kept[1][:, None]
    return out.reshape(shape.heads, count, shape.head).transpose(1, 0, 2).reshape(count, shape.hidden)


def estimate(shape: Shape, count: int, dtype: str = "float32"):
    """The memory for `count` tokens at once."""
    def make(*sizes: int):
        return gc.spec(sizes, dtype)
    tokens = gc.spec(count, "int64")
    return gc.estimate_memory(decoder, weights(shape, make), tokens, empty_cache(shape, make), shape=shape,
                              position=shape.context - count)


def main() -> None:
    for text, count in (("one token at a time", 1), ("a prompt of 4,096 tokens", 4096)):
        start = time.perf_counter()
        found = estimate(Shape(), count)
        print(f"{text}, planned in {1e3 * (time.perf_counter() - start):.0f} ms\n{found}\n")


if __name__ == "__main__":
    main()
