"""Weights in 8 or 4 bits, in blocks that have a scale each: small in memory, and numbers again where they are read.

`Quantized.dequantize` is an expression of shifts, masks, casts and a scale. It fuses into what reads it: a matrix
product unpacks weights while it multiplies, and no copy in floating point is ever made. Blocks are those of GGUF:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

import graphc as gc
from graphc.errors import ArgumentError, DTypeError, GradientError, ShapeError, TracerError
from graphc.tensor import Tensor, history
from graphc.tracing import current

BLOCK = 32          # numbers that have a scale together
LEAST_STEP = 2.0 ** -126    # between rounded numbers: with a smaller one they are 0
WIDE = 23           # bits of x, at most: 32 products with 4 bits then fit an int32
PANEL = 64          # rows of a packed matrix that lie together: a line of the cache, of a byte each


class Quantized(Struct, frozen=True):
    """A tensor of blocks of 32 numbers along its last axis, each block q * scale + offset.

    codes    uint8 or int8: (..., blocks, 16) with the second half of a block in the high 4 bits, or (..., blocks, 32)
    scale    float16 (..., blocks)
    offset   float16 (..., blocks), or None for blocks without one
    columns  0, or how many rows of the matrix lie side by side: then codes are int32 (..., rows / columns, blocks, 4 or
             8, columns), 8 or 4 neighbours of a row in a word, the first in its lowest bits, or int8 (..., rows /
             columns, blocks, 32, columns); scale and offset (..., rows / columns, blocks, columns). See `packed`.
    """

    codes: Tensor
    scale: Tensor
    offset: Tensor | None
    columns: int = 0

    def __repr__(self) -> str:
        return f"Quantized({self.shape}, {self.bits} bits)"

    @property
    def shape(self) -> tuple[int, ...]:
        if self.columns:
            *lead, panels, blocks, columns = self.scale.shape
            return (*lead, panels * columns, blocks * BLOCK)
        return (*self.scale.shape[:-1], self.scale.shape[-1] * BLOCK)

    @property
    def bits(self) -> int:
        """Of a number."""
        if self.columns:
            return 8 if self.codes.shape[-2] == BLOCK else self.codes.shape[-2]
        return 8 if self.codes.shape[-1] == BLOCK else 4

    @property
    def nbytes(self) -> int:
        return sum(t.nbytes for t in self._parts())

    def _parts(self) -> list[Tensor]:
        return [t for t in (self.codes, self.scale, self.offset) if t is not None]

    def dequantize(self, dtype=None) -> Tensor:
        """The numbers, as an expression: whoever reads it unpacks them. dtype: float32 unless given.

        >>> import graphc as gc
        >>> gc.weights.quantize(gc.arange(32.0), bits=8).dequantize()[:4].tolist()
        [0.0, 0.9765625, 1.953125, 2.9296875]
        """
        dtype = gc.float32 if dtype is None else dtype
        axis = self.scale.ndim - (1 if self.columns else 0)     # that of the codes of a block
        codes = self._codes()

        def by_block(t: Tensor) -> Tensor:
            return t.astype(dtype).reshape((*t.shape[:axis], *(1,) * (codes.ndim - t.ndim), *t.shape[axis:]))
        value = codes.astype(dtype) * by_block(self.scale)
        if self.offset is not None:
            value = value + by_block(self.offset)
        if self.columns:
            value = gc.moveaxis(value, -1, axis - 1)
        return value.reshape(self.shape)

    def _codes(self) -> Tensor:
        """The codes one by one, as integers: (..., blocks, 32), of 4 bits (..., blocks, 2, 16); packed (..., rows /
        columns, blocks, 32, columns), or with words and the codes of a word in the place of 32."""
        codes = self.codes
        if not self.columns:
            if codes.shape[-1] == BLOCK:
                return codes
            halves = gc.arange(8, dtype=gc.int32)[::4].expand_dims(1)      # a stride, and so no number for kernels
            return (codes.astype(gc.int32).expand_dims(-2) >> halves) & 15
        if codes.shape[-2] == BLOCK:
            return codes
        bits = codes.shape[-2]              # of a number: a block has as many words
        words, places = codes.expand_dims(-2), gc.arange(32, dtype=gc.int32)
        if bits == 4:
            return (words >> places[::4].expand_dims(1)) & 15
        return (words << places[24::-8].expand_dims(1)) >> places[24:25]

    def rows(self, index: Tensor, dtype=None) -> Tensor:
        """The rows of a matrix at integer places, as an embedding: only they are read. -> (*index.shape, width)"""
        return gc.take(self.dequantize(dtype), index, axis=0)

    def packed(self, words: bool = False) -> Quantized:
        """The same matrix with 64 rows side by side (all rows, where their number is no multiple of 64).

        x @ w.dequantize().mT then reads memory from one end to the other, in whole vectors: for one row of x some four
        times faster. words: neighbours of 8 bits, too, in words of 32 bits, which is how `quantized_matmul` wants them,
        while a float has to be made of each. Raises ShapeError for what has fewer than two axes; TracerError in a
        jitted function, unless it is packed already.
        """
        if self.scale.ndim < 2:
            raise ShapeError(f"a shape of {self.shape} is no matrix", op="Quantized.packed",
                             fix="quantize an array of at least two axes")
        rows = self.shape[-2]
        if not rows or self.columns and not (words and self.codes.shape[-2] == BLOCK):
            return self
        if current() is not None:
            raise TracerError("a weight would be packed anew at each call of a jitted function", op="Quantized.packed",
                              fix=f"pack it outside, by weight.packed({'words=True' if words else ''})")
        columns = self.columns or (rows if rows % PANEL else PANEL)

        def pack(t: Tensor | None) -> Tensor | None:
            if t is None or self.columns:
                return t
            axis = self.scale.ndim - 2
            t = t.reshape((*t.shape[:axis], -1, columns, *t.shape[axis + 1:]))
            return gc.copy(gc.moveaxis(t, axis + 1, -1))
        codes = pack(self._codes().reshape((*self.scale.shape, BLOCK))) if not self.columns else self.codes
        if words or codes.dtype is gc.int32:
            each = 8 if codes.dtype is gc.int32 else 4
            q = codes.astype(gc.int32).reshape((*codes.shape[:-2], BLOCK // each, each, columns))
            codes = q[..., 0, :] & (255 if each == 4 else 15)
            for k in range(1, each):
                codes = codes | ((q[..., k, :] & (255 if each == 4 else 15)) << (32 // each * k))
        parts = [codes, pack(self.scale), pack(self.offset)]
        gc.realize(*(t for t in parts if t is not None))
        return Quantized(*parts, columns)


def quantized_matmul(x, weight: Quantized, bits: int = 8) -> Tensor:
    """x @ weight.dequantize().mT, with x too in a few bits: products of integers, added up as integers within a block.

    x (..., width), floating point, is rounded in the blocks of the weight, 32 numbers that have a scale together: the
    largest magnitude is 127, or with bits=23, for weights of 4 bits, 4,194,303, which is as exact as products of
    float32 and takes less time. A block's sum of products of integers is exact; times both scales, and with a block's
    offset times the sum of its rounded x, it is a float32; these are added up as any sum over an outer axis. A block
    of x that holds infinity or NaN gives NaN. Returns (..., rows) in the dtype of x. Raises ShapeError where widths
    differ, ArgumentError for other bits.

    >>> import graphc as gc
    >>> w = gc.weights.quantize(gc.arange(64.0).reshape((2, 32)), bits=8)
    >>> gc.weights.quantized_matmul(gc.ones(32), w).tolist()
    [495.9843..., 1520.0...]
    """
    if bits not in ((8, WIDE) if weight.bits == 4 else (8,)):
        raise ArgumentError(f"x is not rounded to {bits} bits for weights of {weight.bits}",
                            op="weights.quantized_matmul", fix=f"use 8, or with weights of 4 bits {WIDE}")
    if x.dtype.kind != "f":
        raise DTypeError(f"x is rounded from floats, and is {x.dtype}", op="weights.quantized_matmul",
                         fix="x.astype(gc.float32)")
    if x.node.tracked and not history.paused:
        raise GradientError("no gradient passes through the rounding of x", op="weights.quantized_matmul",
                            fix="x.detach(), or x @ weight.dequantize(x.dtype).mT, which has one (activations=None)")
    rows, width = weight.shape[-2:] if len(weight.shape) == 2 else (0, -1)
    if x.ndim == 0 or x.shape[-1] != width:
        raise ShapeError(f"x of {x.shape} does not meet a weight of {weight.shape}", op="weights.quantized_matmul",
                         fix="x needs as many columns as the weight, which is a matrix")
    if not rows * width:
        return gc.zeros((*x.shape[:-1], rows), dtype=x.dtype)
    weight = weight.packed(words=True)
    blocks = x.astype(gc.float32).reshape((-1, width // BLOCK, BLOCK))
    largest = gc.abs(blocks).max(axis=-1)
    step = gc.where(gc.isfinite(largest), largest / (2 ** (bits - 1) - 1), gc.nan)
    if bits == 8:
        steps = gc.where(step < LEAST_STEP, 0.0, 1 / step)  # in a number; within a rounding of 127 in the largest
        q = gc.round(blocks * steps.expand_dims(-1)).astype(gc.int8)
    else:
        each = step.expand_dims(-1)
        q = gc.round(gc.where(each < LEAST_STEP, 0.0, blocks / each)).astype(gc.int32)
    total = step * q.astype(gc.int32).sum(axis=-1, dtype=gc.int32).astype(gc.float32)

    def first(t: Tensor) -> Tensor:         # (rows of x, blocks) -> (blocks, rows of x, 1)
        return t.mT.expand_dims(-1)

    def columns(t: Tensor) -> Tensor:       # (rows / columns, blocks, ..., columns) -> (blocks, ..., rows)
        t = gc.moveaxis(t.reshape((*t.shape[:2], -1, t.shape[-1])), 0, 2)
        return t.reshape((*t.shape[:2], -1)).astype(gc.float32 if t.dtype.kind == "f" else gc.int32)
    products = gc.moveaxis(q, 0, 1).astype(gc.int32) @ columns(weight._codes())     # (blocks, rows of x, rows)
    terms = products.astype(gc.float32) * (first(step) * columns(weight.scale))
    if weight.offset is not None:
        terms = terms + first(total) * columns(weight.offset)
    return terms.sum(axis=0).reshape((*x.shape[:-1], rows)).astype(x.dtype)


def concat(parts: Sequence[Quantized]) -> Quantized:
    """One matrix with the rows of several below one another, for one product instead of several.

    Raises ShapeError where widths, layouts or numbers of bits differ.
    """
    first, lead = parts[0], parts[0].scale.ndim - (3 if parts[0].columns else 2)
    if any(p.columns != first.columns or p.codes.shape[lead + 1:] != first.codes.shape[lead + 1:]
           or (p.offset is None) != (first.offset is None) or p.codes.dtype != first.codes.dtype for p in parts):
        raise ShapeError(f"blocks of {', '.join(str(p.shape) for p in parts)} do not go below one another",
                         op="weights.concat", fix="join matrices of equal width, layout and bits, before packing them")
    joined = [None if p is None else gc.concat([getattr(x, name) for x in parts], axis=lead)
              for name, p in (("codes", first.codes), ("scale", first.scale), ("offset", first.offset))]
    gc.realize(*(t for t in joined if t is not None))
    return Quantized(*joined, first.columns)


def quantize(t, bits: int = 4) -> Quantized:
    """Blocks of 32 along the last axis: 8 bits from -max|x| to max|x|, or 4 bits from the least to the largest number.

    A block's scale is a float16: blocks of numbers below 4e-6 (8 bits) become 0, those beyond 8e6 NaN.
    Raises ShapeError where the last axis is no multiple of 32, ArgumentError for other bits.

    >>> import graphc as gc
    >>> w = gc.weights.quantize(gc.ones((64, 96)), bits=4)
    >>> w.shape, w.nbytes, float(w.dequantize()[3, 5])
    ((64, 96), 3840, 1.0)
    """
    if bits not in (4, 8):
        raise ArgumentError(f"{bits!r} bits are not known", op="quantize", fix="use 4 or 8")
    t = gc.asarray(t).astype(gc.float32)
    if t.ndim == 0 or t.shape[-1] % BLOCK:
        raise ShapeError(f"a shape of {t.shape} does not divide into blocks of {BLOCK}", op="quantize",
                         fix=f"pad the last axis to a multiple of {BLOCK}")
    x = t.reshape((*t.shape[:-1], -1, BLOCK))
    low, high = x.min(axis=-1), x.max(axis=-1)
    low = low if bits == 4 else None
    span = (high - low) / 15 if bits == 4 else gc.maximum(gc.abs(x).max(axis=-1), 0) / 127
    scale, offset = span.astype(gc.float16), None if low is None else low.astype(gc.float16)
    step = scale.astype(gc.float32).expand_dims(-1)
    place = (x if offset is None else x - offset.astype(gc.float32).expand_dims(-1)) / gc.where(step == 0, 1.0, step)
    if bits == 8:
        codes = gc.clip(gc.round(place), -127, 127).astype(gc.int8)
    else:
        q = gc.clip(gc.round(place), 0, 15).astype(gc.uint8)
        codes = q[..., :BLOCK // 2] | (q[..., BLOCK // 2:] << 4)
    gc.realize(codes, scale, *(() if offset is None else (offset,)))
    return Quantized(codes, scale, offset)
