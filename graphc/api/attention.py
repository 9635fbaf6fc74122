"""Scaled dot-product attention, recorded as its plain expression, which the scheduler makes one kernel of."""
from __future__ import annotations

from math import sqrt

from graphc.api.activations import softmax
from graphc.api.creation import iota
from graphc.api.elementwise import where
from graphc.api.manipulation import expand_dims, repeat, swapaxes
from graphc.api.products import matmul
from graphc.api.record import as_float, as_tensor, broadcast_shapes, cast
from graphc.errors import DTypeError, ShapeError
from graphc.ir import dtype as dt

NAME = "scaled_dot_product_attention"


def scaled_dot_product_attention(q, k, v, attn_mask=None, *, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False):
    """softmax(q @ k.mT * scale + attn_mask) @ v: each query's mean of the values, weighted by how well its key fits.

    q: queries (..., m, d); k: keys (..., n, d); v: values (..., n, e); the leading axes broadcast, and the result is
    (..., m, e) in the common dtype. float16 and bfloat16 are computed in float32 and rounded once; integers become the
    default float. scale: None is 1 / sqrt(d).

    attn_mask: a tensor that broadcasts to (..., m, n): bool, True where the query may see the key, or numbers that are
    added to the scores. is_causal: query i sees the keys j <= i only, beside what the mask says. A query that sees no
    key gives NaN. enable_gqa: the axis before the last two holds heads, and h heads of q share each head of k and v.

    One kernel, in memory linear in m and n, without a matrix of scores; keys that is_causal hides from a whole block
    are not even multiplied (docs/numerics.md). The same holds for gradients with respect to q, k and v of more than
    some hundred positions; that of a mask is as large as the scores anyhow.

    Raises ShapeError for shapes that do not fit, DTypeError for complex numbers. Vaswani et al., Attention is all you
    need, 2017; Dao et al., FlashAttention, 2022; Ainslie et al., GQA, 2023.

    >>> import graphc as gc
    >>> q, k, v = gc.asarray([[1.0]]), gc.asarray([[0.0], [0.0]]), gc.asarray([[2.0], [4.0]])
    >>> gc.scaled_dot_product_attention(q, k, v).tolist()
    [[3.0]]
    >>> gc.scaled_dot_product_attention(q, k, v, is_causal=True).tolist()
    [[2.0]]
    """
    q, k, v = (as_float(x, NAME) for x in (q, k, v))
    common = dt.promote(dt.promote(q.dtype, k.dtype), v.dtype)
    _check(q, k, v, common)
    mask = None if attn_mask is None else as_tensor(attn_mask)
    q, k, v = (cast(x, common.accumulator) for x in (q, k, v))
    if enable_gqa:
        heads = _sharing(q, k)
        fits = mask is None or mask.ndim < 2 or mask.shape[-2] == 1
        if q.shape[-2] == 1 and fits and not is_causal and k.shape[-3] == v.shape[-3]:
            return cast(_of_one_query(q, k, v, mask, scale, heads), common)
        k, v = repeat(k, heads, axis=-3), repeat(v, _sharing(q, v), axis=-3)
    m, n = q.shape[-2], k.shape[-2]
    scores = matmul(q, swapaxes(k, -1, -2)) * (1 / sqrt(q.shape[-1] or 1) if scale is None else scale)
    if mask is not None:
        broadcast = broadcast_shapes(NAME, mask.shape, scores.shape)
        if broadcast != scores.shape:
            raise ShapeError(f"a mask of shape {mask.shape} does not fit scores of shape {scores.shape}", op=NAME)
        scores = where(mask, scores, -float("inf")) if mask.dtype is dt.bool else scores + cast(mask, scores.dtype)
    if is_causal:
        scores = where(expand_dims(iota(n), 0) <= expand_dims(iota(m), 1), scores, -float("inf"))
    return cast(matmul(softmax(scores, axis=-1), v), common)


def _check(q, k, v, common) -> None:
    if common.kind == "c":
        raise DTypeError(f"complex queries, keys or values have no order of scores: {common}", op=NAME)
    shapes = f"q {q.shape}, k {k.shape}, v {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(f"{shapes}: each needs an axis of positions and one of features", op=NAME)
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError(f"{shapes}: the features of q and k differ", op=NAME)
    if k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"{shapes}: k and v have different numbers of positions", op=NAME)


def _sharing(q, x) -> int:
    """How many heads of q share one of x."""
    if min(q.ndim, x.ndim) < 3 or not x.shape[-3] or q.shape[-3] % x.shape[-3]:
        raise ShapeError(f"the heads of q {q.shape} are no multiple of those of {x.shape}", op=NAME)
    return q.shape[-3] // x.shape[-3]


def _of_one_query(q, k, v, mask, scale: float | None, heads: int):
    """One query of several heads that share keys is several queries of one head."""
    if mask is not None and mask.ndim > 2 and mask.shape[-3] != 1:
        mask = mask.reshape((*mask.shape[:-3], -1, heads, mask.shape[-1]))
    groups = q.shape[-3] // heads
    y = scaled_dot_product_attention(q.reshape((*q.shape[:-3], groups, heads, q.shape[-1])), k, v, mask, scale=scale)
    return y.reshape((*y.shape[:-3], groups * heads, 1, y.shape[-1]))
