"""A model of the Llama shape in float32 by NumPy, slowly and plainly: what examples/chat.py is held against."""
from __future__ import annotations

import numpy as np


def logits(weights, tokens: list[int]) -> np.ndarray:
    """The logits after the last token, in float32 by NumPy."""
    facts = {name.removeprefix("llama."): value for name, value in weights.metadata.items()}
    heads, kv, count = facts["attention.head_count"], facts["attention.head_count_kv"], len(tokens)

    def matrix(name):
        w = weights[name + ".weight"]
        codes, scale = w.codes.numpy(), w.scale.numpy().astype(np.float32)[..., None]
        codes = codes if w.offset is None else np.concatenate([codes & 15, codes >> 4], -1)
        value = codes * scale + (0 if w.offset is None else w.offset.numpy().astype(np.float32)[..., None])
        return value.reshape(w.shape).astype(np.float32)

    def norm(x, name):
        mean = np.mean(x * x, -1, keepdims=True)
        return x / np.sqrt(mean + facts["attention.layer_norm_rms_epsilon"]) * weights[name + ".weight"].numpy()

    def split(x):
        return x.reshape(count, -1, facts["embedding_length"] // heads).swapaxes(0, 1)

    def turned(x):
        angle = np.arange(count)[:, None] * facts["rope.freq_base"] ** -np.linspace(0, 1, x.shape[-1] // 2, False)
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape).astype(np.float32)
    words = matrix("token_embd")
    x = words[tokens]
    for i in range(facts["block_count"]):
        y = norm(x, f"blk.{i}.attn_norm")
        q, k, v = (split(y @ matrix(f"blk.{i}.attn_{name}").T) for name in "qkv")
        q, k, v = turned(q), np.repeat(turned(k), heads // kv, 0), np.repeat(v, heads // kv, 0)
        scores = np.where(np.tri(count, dtype=bool), q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]), -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(x.shape)
        x = x + y @ matrix(f"blk.{i}.attn_output").T
        y = norm(x, f"blk.{i}.ffn_norm")
        gate = y @ matrix(f"blk.{i}.ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ matrix(f"blk.{i}.ffn_up").T)) @ matrix(f"blk.{i}.ffn_down").T
    return norm(x[-1], "output_norm") @ words.T
