"""graphc against torch's own operator database: `python tests/torch_operators.py [NAME ...]`, where torch is installed.

Each row says how an operation of torch is written with graphc. The samples are torch's (`OpInfo.sample_inputs`, in
float64): what the row gives is compared with what torch gives, and for a random weighting of the results so are the
gradients of all floating-point inputs. A row that has no counterpart for some arguments raises NoCounterpart; such
samples are counted apart. The whole table takes a few minutes; its figures stand in docs/torch.md.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np

import graphc as gc
from graphc import nn

RTOL, ATOL = 1e-6, 1e-8


class NoCounterpart(Exception):
    """Arguments that graphc's function does not have."""


def only(**given) -> None:
    """Refuse arguments that are not at their defaults."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise NoCounterpart(name)


# ------------------------------------------------------------------------------------------------------------ rows

def plain(f: Callable) -> Callable:
    def row(*args, dtype=None, device=None):
        only(dtype=dtype, device=device)
        if args and isinstance(args[0], (tuple, list)):
            return tuple(map(f, *args))
        return f(*args)
    return row


def reduction(f: Callable, empty_is_all: bool = True) -> Callable:
    def row(x, dim=None, keepdim=False, dtype=None):
        only(dtype=dtype)
        dim = None if not x.ndim or (empty_is_all and isinstance(dim, (tuple, list)) and not dim) else dim
        return f(x, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim)
    return row


def spread(f: Callable) -> Callable:
    def row(x, dim=None, unbiased=None, correction=None, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
        dim = None if isinstance(dim, (tuple, list)) and not dim else dim
        return f(x, axis=tuple(dim) if isinstance(dim, list) else dim, correction=correction, keepdims=keepdim)
    return row


def scaled(f: Callable, sign: int = 1) -> Callable:
    return lambda x, y, alpha=1: f(x, y * alpha if alpha != 1 else y)


def divided(x, y, rounding_mode=None):
    if rounding_mode is None:
        return x / y
    return gc.floor_divide(x, y) if rounding_mode == "floor" else gc.trunc(x / y)


def running(f: Callable) -> Callable:
    def row(x, dim, dtype=None):
        return f(x, dim) if x.ndim else x
    return row


def extreme(f: Callable, place: Callable) -> Callable:
    def row(x, dim=None, keepdim=False):
        if dim is None:
            return f(x)
        if hasattr(dim, "numpy"):
            raise NoCounterpart("two arrays")
        if not x.ndim:
            return x, gc.asarray(0)
        return f(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim)
    return row


def product_sum(product: Callable) -> Callable:
    def row(x, a, b, beta=1, alpha=1):
        return beta * x + alpha * product(a, b)
    return row


def clamp(x, min=None, max=None):
    if min is None and max is None:
        raise NoCounterpart("no bound")
    x = x if min is None else gc.maximum(x, min)
    return x if max is None else gc.minimum(x, max)


def gather(x, dim, index, sparse_grad=False):
    if not x.ndim or index.shape[:dim % x.ndim] + index.shape[dim % x.ndim + 1:] != \
            x.shape[:dim % x.ndim] + x.shape[dim % x.ndim + 1:]:
        raise NoCounterpart("an index that is smaller along other axes")
    return gc.take_along_axis(x, index, axis=dim)


def index_select(x, dim, index):
    if not x.ndim:
        raise NoCounterpart("a scalar")
    return gc.take(x, index, axis=dim)


def permuted(x, *dims):
    return gc.permute_dims(x, tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)


def shaped(x, *shape):
    shape = tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape
    return gc.reshape(x, shape)


def expanded(x, *shape):
    shape = tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape
    old = (1,) * (len(shape) - x.ndim) + x.shape
    return gc.broadcast_to(x, tuple(o if n == -1 else n for n, o in zip(shape, old, strict=True)))


def flattened(x, start_dim=0, end_dim=-1):
    if not x.ndim:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:start], int(np.prod(x.shape[start:end + 1])), *x.shape[end + 1:])


def padded(x, pad, mode="constant", value=None):
    if mode != "constant" or min(pad, default=0) < 0:
        raise NoCounterpart(mode)
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[k:k + 2]) for k in range(len(pad) - 2, -1, -2)]
    return gc.pad(x, widths, constant_values=0 if value is None else value)


def convolution(f: Callable) -> Callable:
    def row(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return f(x, weight, bias, stride, padding, dilation, groups)
    return row


def transposed(f: Callable) -> Callable:
    def row(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return f(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return row


def pooled(f: Callable) -> Callable:
    def row(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        only(return_indices=return_indices)
        return f(x, kernel_size, None if stride == [] else stride, padding, dilation, ceil_mode)
    return row


def averaged(f: Callable) -> Callable:
    def row(x, kernel_size, stride=None, *rest, **named):
        return f(x, kernel_size, None if stride == () else stride, *rest, **named)
    return row


def softened(f: Callable) -> Callable:
    def row(x, dim=None, dtype=None, _stacklevel=None):
        only(dtype=dtype)
        if not x.ndim:
            raise NoCounterpart("a scalar")
        return f(x, axis=(1 if x.ndim in (2, 4) else 0) if dim is None else dim)
    return row


def loss(f: Callable) -> Callable:
    def row(x, y, reduction="mean", weight=None, size_average=None, reduce=None):
        only(weight=weight)
        return f(x, y, reduction=reduction)
    return row


def kl(x, y, reduction="mean", log_target=False):
    only(log_target=log_target)
    return nn.kl(x, y, reduction)


def nll(x, y, weight=None, ignore_index=-100, reduction="mean"):
    only(weight=weight)
    if ignore_index != -100 or x.ndim < 1 or not x.size:
        raise NoCounterpart("ignored labels")
    return nn.nll(gc.moveaxis(x, 1, -1) if x.ndim > 1 else x, y, reduction)


def cross_entropy(x, y, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    soft = y.dtype.kind == "f"
    if soft and ignore_index != -100:
        raise NoCounterpart("probabilities with a label to be ignored")
    found = gc.cross_entropy(x, y, min(1, x.ndim - 1), weight=weight, ignore_index=None if soft else ignore_index,
                             label_smoothing=label_smoothing, reduction="sum" if soft else reduction)
    if not soft or reduction == "sum":
        return found
    if reduction == "none":
        raise NoCounterpart("losses of probabilities")
    return found / (x.size / x.shape[min(1, x.ndim - 1)])


def with_axes(f: Callable, most: int = 9) -> Callable:
    """A row for tensors of so many axes, but for none: there is no axis 0 then."""
    def row(*tensors, **options):
        if not 0 < tensors[0].ndim <= most:
            raise NoCounterpart("axes")
        return f(*tensors, **{{"dim": "axis", "keepdim": "keepdims"}.get(k, k): v for k, v in options.items()})
    return row


def gaussian(x, y, variance, **options):
    return nn.gaussian_nll(x, y, variance.expand_dims(-1) if variance.shape == x.shape[:-1] else variance, **options)


def multi_margin(x, y, p=1, margin=1.0, weight=None, reduction="mean"):
    only(weight=weight)
    return nn.multi_margin(x, y.reshape(x.shape[:-1]), p, margin, reduction)


def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):
    only(statistics=running_mean, frozen=not use_input_stats)
    return nn.instance_norm(x, weight, bias, eps)


def interpolated(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                 antialias=False):
    only(recompute=recompute_scale_factor, antialias=antialias)
    if mode in ("area", "bicubic"):
        raise NoCounterpart(mode)
    return nn.interpolate(x, size, scale_factor, mode, bool(align_corners))


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    only(dropout=dropout_p)
    return gc.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=is_causal, scale=scale,
                                           enable_gqa=enable_gqa)


def normed(x, shape, weight=None, bias=None, eps=1e-5):
    return nn.layer_norm(x, tuple(shape), weight, bias, eps)


def rms(x, shape, weight=None, eps=None):
    return nn.rms_norm(x, tuple(shape), weight, eps)


def grouped(x, groups, weight=None, bias=None, eps=1e-5):
    return nn.group_norm(x, groups, weight, bias, eps)


def adaptive(x, size):
    size = (size, size) if isinstance(size, int) else tuple(size)
    if None in size:
        raise NoCounterpart("a size of None")
    return nn.AdaptiveAvgPool2d(size)(x)


def embedded(weight, index, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    only(padding=padding_idx, norm=max_norm, scale=scale_grad_by_freq)
    return nn.functional.embedding(index, weight)


def transform(f: Callable) -> Callable:
    def row(x, n=None, dim=-1, norm=None):
        return f(x, n=n, axis=dim, norm=norm or "backward")
    return row


def transforms(f: Callable, axes=None) -> Callable:
    def row(x, s=None, dim=axes, norm=None):
        if s is not None and (dim is None or -1 in s):
            raise NoCounterpart("sizes without axes")
        return f(x, s=s, axes=dim, norm=norm or "backward")
    return row


def solved(a, b, left=True):
    if not left or (b.ndim == a.ndim - 1 and a.ndim > 2):
        raise NoCounterpart("from the right, or stacks of vectors")
    return gc.linalg.solve(a, b)


def mask(x, where, value):
    return gc.where(where, value, x)


def selected(x, dim, index):
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


def summed_sizes(x, *size):
    size = size[0] if isinstance(size[0], (tuple, list)) else size
    if len(size) != x.ndim:
        raise NoCounterpart("fewer axes")
    axes = tuple(k for k, n in enumerate(size) if n != x.shape[k])
    return x.sum(axis=axes, keepdims=True) if axes else x


def logit(x, eps=None):
    if eps is not None:     # of an eps above a half torch looks at the lower limit first
        x = gc.where(x < eps, eps, gc.minimum(x, 1 - eps))
    return gc.log(x / (1 - x))


SAME = """abs acos acosh asin asinh atan atan2 atanh ceil positive conj copysign cos cosh deg2rad exp fmax fmin fmod
    remainder floor floor_divide log1p log log10 log2 logaddexp logical_not matmul maximum minimum logical_and
    logical_or logical_xor heaviside nextafter outer pow rad2deg real sign signbit sin sinh tan tanh trunc exp2 expm1
    reciprocal rsqrt sqrt square isfinite isinf isposinf isneginf isnan ravel hypot kron inner sigmoid erf
    dot vdot true_divide atleast_1d atleast_2d zeros_like ones_like relu angle"""

ROWS: dict[str, Callable] = {name: plain(getattr(gc, name)) for name in SAME.split()}
ROWS |= {
    "add": scaled(gc.add), "sub": scaled(gc.subtract), "rsub": lambda x, y, alpha=1: y - x * alpha,
    "mul": plain(gc.multiply), "div": divided, "neg": plain(gc.negative), "eq": plain(gc.equal),
    "ne": plain(gc.not_equal), "lt": plain(gc.less), "le": plain(gc.less_equal), "gt": plain(gc.greater),
    "ge": plain(gc.greater_equal), "sgn": plain(gc.sign), "clamp": clamp, "clamp_min": lambda x, m: gc.maximum(x, m),
    "clamp_max": lambda x, m: gc.minimum(x, m), "frac": lambda x: x - gc.trunc(x), "logit": logit,
    "erfc": lambda x: 1 - gc.erf(x), "sinc": lambda x: gc.where(x == 0, 1, gc.sin(gc.pi * x) / gc.where(
        x == 0, 1, gc.pi * x)),
    "lerp": lambda x, y, w: x + w * (y - x), "xlogy": lambda x, y: gc.where(x == 0, 0, x * gc.log(y)),
    "addcmul": lambda x, a, b, value=1: x + value * a * b, "addcdiv": lambda x, a, b, value=1: x + value * (a / b),
    "float_power": lambda x, y: gc.pow(x, y), "round": lambda x, decimals=0: gc.round(x, decimals),
    "__radd__": lambda x, y: y + x, "__rmul__": lambda x, y: y * x, "__rsub__": lambda x, y: y - x,
    "__rdiv__": lambda x, y: y / x, "__rpow__": lambda x, y: y ** x, "__rmod__": lambda x, y: y % x,
    "__rmatmul__": lambda x, y: y @ x, "__getitem__": lambda x, *key: x[key[0] if len(key) == 1 else key],
    "where": lambda c, *rest: gc.where(rest[0], c, rest[1]) if rest[0].dtype is gc.bool else gc.where(c, *rest),
    "masked_fill": mask, "clone": lambda x, **_: gc.copy(x), "nn.functional.relu": lambda x, inplace=False: gc.relu(x),
    # reductions
    "sum": reduction(gc.sum), "mean": reduction(gc.mean), "prod": reduction(gc.prod), "nansum": reduction(gc.nansum),
    "nanmean": reduction(gc.nanmean), "amax": reduction(gc.max), "amin": reduction(gc.min),
    "all": reduction(gc.all, False), "any": reduction(gc.any, False), "logsumexp": reduction(gc.logsumexp, False),
    "count_nonzero": reduction(gc.count_nonzero), "argmax": reduction(gc.argmax), "argmin": reduction(gc.argmin),
    "var": spread(gc.var), "std": spread(gc.std), "max": extreme(gc.max, gc.argmax), "min": extreme(gc.min, gc.argmin),
    "cumsum": running(gc.cumsum), "cumprod": running(gc.cumprod),
    "trace": plain(gc.trace), "diff": lambda x, n=1, dim=-1, prepend=None, append=None: gc.diff(
        x, n=n, axis=dim, prepend=prepend, append=append),
    # products
    "mm": plain(gc.matmul), "bmm": plain(gc.matmul), "mv": plain(gc.matmul), "addmm": product_sum(gc.matmul),
    "addmv": product_sum(gc.matmul), "baddbmm": product_sum(gc.matmul), "addr": product_sum(gc.outer),
    "addbmm": product_sum(lambda a, b: (a @ b).sum(0)),
    "tensordot": lambda a, b, dims=2: (only(broadcast=isinstance(dims, tuple) and any(
        a.shape[i] != b.shape[j] for i, j in zip(*dims, strict=True))), gc.tensordot(a, b, axes=dims))[1],
    "einsum": lambda operands, equation: gc.einsum(equation, *operands),
    "linalg.vecdot": lambda a, b, dim=-1: gc.vecdot(a, b, axis=dim),
    "linalg.multi_dot": lambda xs: gc.linalg.multi_dot(xs),
    "linalg.cross": lambda a, b, dim=-1: gc.linalg.cross(a, b, axis=dim),
    # shapes
    "reshape": shaped, "view": shaped, "view_copy": shaped, "permute": permuted, "permute_copy": permuted,
    "reshape_as": lambda x, y: x.reshape(y.shape), "view_as": lambda x, y: x.reshape(y.shape),
    "expand": expanded, "expand_copy": expanded, "expand_as": lambda x, y: gc.broadcast_to(x, y.shape),
    "broadcast_to": lambda x, shape: expanded(x, shape), "flatten": flattened,
    "transpose": lambda x, a, b: gc.swapaxes(x, a, b) if x.ndim else x, "t": lambda x: x.T if x.ndim == 2 else x,
    "T": lambda x: gc.transpose(x), "mT": lambda x: x.mT, "flip": lambda x, dims: gc.flip(x, axis=tuple(dims)),
    "unsqueeze": lambda x, dim: gc.expand_dims(x, axis=dim), "movedim": lambda x, a, b: gc.moveaxis(x, a, b),
    "fliplr": lambda x: gc.flip(x, axis=1), "flipud": lambda x: gc.flip(x, axis=0), "select": selected,
    "roll": lambda x, shifts, dims=None: gc.roll(x, shifts, axis=tuple(dims) if isinstance(dims, list) else dims),
    "tile": lambda x, dims: gc.tile(x, tuple(dims)), "repeat": lambda x, *n: gc.tile(x, n[0] if n else ()),
    "cat": lambda xs, dim=0: gc.concat([x for x in xs if x.shape != (0,) or xs[-1].ndim == 1], axis=dim),
    "stack": lambda xs, dim=0: gc.stack(list(xs), axis=dim),
    "hstack": lambda xs: gc.hstack(list(xs)), "vstack": lambda xs: gc.vstack(list(xs)),
    "unbind": lambda x, dim=0: tuple(gc.unstack(x, axis=dim)), "sum_to_size": summed_sizes,
    "narrow": lambda x, dim, start, length: narrowed(x, dim, int(start), length),
    "tril": lambda x, diagonal=0: gc.tril(x, k=diagonal), "triu": lambda x, diagonal=0: gc.triu(x, k=diagonal),
    "diag": lambda x, diagonal=0: gc.diag(x, k=diagonal),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: gc.diagonal(x, offset, dim1, dim2),
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: gc.diagonal(x, offset, dim1, dim2),
    "meshgrid": lambda *xs, indexing="ij": tuple(gc.meshgrid(*(xs[0] if isinstance(xs[0], (list, tuple)) else xs),
                                                             indexing=indexing)),
    "squeeze": lambda x, dim=None: squeezed(x, dim), "nn.functional.pad": padded,
    # by index
    "gather": gather,
    "take_along_dim": lambda x, index, dim=None: gather(x, dim, index) if dim is not None else gc.take(
        x.ravel(), index.ravel()), "index_select": index_select, "nn.functional.embedding": embedded,
    "take": lambda x, index: gc.take(x.ravel(), index), "sort": lambda x, dim=-1, descending=False, stable=False: (
        gc.sort(x, axis=dim, descending=descending) if x.ndim else x),
    "topk": lambda x, k, dim=-1, largest=True, sorted=True: topk(x, k, dim, largest),
    # layers and losses
    "softmax": softened(gc.softmax), "log_softmax": softened(gc.log_softmax), "nn.functional.softmin": softened(
        lambda x, axis: gc.softmax(-x, axis=axis)), "nn.functional.silu": lambda x, inplace=False: gc.silu(x),
    "nn.functional.gelu": lambda x, approximate="none": gc.gelu(x, approximate),
    "nn.functional.elu": lambda x, alpha=1.0, inplace=False: gc.elu(x, alpha),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01, inplace=False: gc.leaky_relu(x, negative_slope),
    "nn.functional.softplus": lambda x, beta=1.0, threshold=20.0: (
        only(threshold=threshold != 20), gc.softplus(x, beta))[1],
    "nn.functional.logsigmoid": plain(gc.log_sigmoid), "nn.functional.glu": lambda x, dim=-1: gc.glu(x, axis=dim),
    "nn.functional.linear": plain(nn.linear), "nn.functional.layer_norm": normed, "nn.functional.rms_norm": rms,
    "nn.functional.group_norm": grouped, "nn.functional.adaptive_avg_pool2d": adaptive,
    "nn.functional.scaled_dot_product_attention": attention, "nn.functional.cross_entropy": cross_entropy,
    "nn.functional.nll_loss": nll, "nn.functional.kl_div": kl, "nn.functional.mse_loss": loss(nn.mse),
    "nn.functional.l1_loss": loss(nn.l1), "nn.functional.binary_cross_entropy": loss(nn.bce),
    "nn.functional.huber_loss": lambda x, y, reduction="mean", delta=1.0: nn.huber(x, y, delta, reduction),
    "nn.functional.binary_cross_entropy_with_logits": lambda x, y, weight=None, pos_weight=None, reduction="mean": (
        only(weight=weight), nn.bce_with_logits(x, y, reduction, pos_weight))[1],
    "nn.functional.smooth_l1_loss": lambda x, y, reduction="mean", beta=1.0: nn.smooth_l1(x, y, beta, reduction),
    "nn.functional.margin_ranking_loss": nn.margin_ranking,
    "nn.functional.hinge_embedding_loss": with_axes(nn.hinge_embedding),
    "nn.functional.soft_margin_loss": nn.soft_margin, "nn.functional.poisson_nll_loss": nn.poisson_nll,
    "nn.functional.gaussian_nll_loss": gaussian, "nn.functional.cosine_similarity": with_axes(nn.cosine_similarity),
    "nn.functional.pairwise_distance": with_axes(nn.pairwise_distance),
    "nn.functional.normalize": with_axes(nn.normalize), "nn.functional.multi_margin_loss": with_axes(multi_margin),
    "nn.functional.multilabel_soft_margin_loss": lambda x, y, weight=None, reduction="mean": (
        only(weight=weight), nn.multilabel_soft_margin(x, y, reduction))[1],
    "nn.functional.cosine_embedding_loss": with_axes(nn.cosine_embedding, 2),
    "nn.functional.triplet_margin_loss": nn.triplet_margin, "nn.functional.instance_norm": instance_norm,
    "nn.functional.interpolate": interpolated, "nn.functional.prelu": nn.prelu,
    "nn.functional.upsample_nearest": lambda x, size=None, scale_factor=None: interpolated(x, size, scale_factor),
    "nn.functional.upsample_bilinear": lambda x, size=None, scale_factor=None: interpolated(
        x, size, scale_factor, "bilinear", True),
    "nn.functional.pixel_shuffle": nn.pixel_shuffle, "nn.functional.pixel_unshuffle": nn.pixel_unshuffle,
    # linear algebra and transforms
    "linalg.det": plain(gc.linalg.det), "linalg.inv": plain(gc.linalg.inv), "linalg.slogdet": lambda x: tuple(
        gc.linalg.slogdet(x)), "linalg.cholesky": lambda x, upper=False: gc.linalg.cholesky(x, upper=upper),
    "linalg.solve": solved, "linalg.svdvals": plain(gc.linalg.svdvals), "linalg.eigvalsh": lambda x, UPLO="L": (
        only(upper=UPLO == "U"), gc.linalg.eigvalsh((x + x.mT) / 2))[1],
    "linalg.matrix_power": plain(gc.linalg.matrix_power),
    "linalg.vector_norm": lambda x, ord=2, dim=None, keepdim=False, dtype=None: gc.linalg.vector_norm(
        x, ord=ord, axis=None if not x.ndim else tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim),
    "matrix_exp": plain(gc.linalg.expm), "linalg.tensorinv": lambda x, ind=2: gc.linalg.tensorinv(x, ind),
    "linalg.tensorsolve": lambda a, b, dims=None: gc.linalg.tensorsolve(a, b, dims),
    "logaddexp2": plain(gc.logaddexp2), "atleast_3d": plain(gc.atleast_3d), "linalg.vander": lambda x, N=None: (
        gc.vander(x, N, True) if x.ndim == 1 else only(stacks=True)), "dsplit": lambda x, sections: tuple(
            gc.dsplit(x, list(sections) if isinstance(sections, (list, tuple)) else sections)),
    "linalg.pinv": lambda x, **facts: gc.linalg.pinv(x) if not facts else only(**dict.fromkeys(facts, True)),
}
ROWS |= {f"nn.functional.{name}": (lambda f: lambda x, inplace=False: f(x))(getattr(gc, name)) for name in (
    "hardswish", "relu6", "hardsigmoid", "mish", "selu")}
ROWS |= {"nn.functional.softsign": plain(gc.softsign), "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0,
         inplace=False: gc.hardtanh(x, min_val, max_val)}
for n in (1, 2, 3):
    ROWS[f"nn.functional.conv{n}d"] = convolution(getattr(gc, f"conv{n}d"))
    ROWS[f"nn.functional.conv_transpose{n}d"] = transposed(getattr(gc, f"conv_transpose{n}d"))
    ROWS[f"nn.functional.max_pool{n}d"] = pooled(getattr(gc, f"max_pool{n}d"))
    ROWS[f"nn.functional.avg_pool{n}d"] = averaged(getattr(gc, f"avg_pool{n}d"))
for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    ROWS[f"fft.{name}"] = transform(getattr(gc.fft, name))
for name in ("fft2", "ifft2", "rfft2", "irfft2"):
    ROWS[f"fft.{name}"] = transforms(getattr(gc.fft, name), (-2, -1))
for name in ("fftn", "ifftn", "rfftn", "irfftn"):
    ROWS[f"fft.{name}"] = transforms(getattr(gc.fft, name))
ROWS |= {f"fft.{name}": (lambda f: lambda x, dim=None: f(x, axes=dim))(getattr(gc.fft, name)) for name in (
    "fftshift", "ifftshift")}


def narrowed(x, dim, start, length):
    start = start + x.shape[dim] if start < 0 else start
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, start + length),)]


def squeezed(x, dim):
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    axes = tuple(d for d in {d % max(x.ndim, 1) for d in dims} if x.ndim and x.shape[d] == 1)
    return gc.squeeze(x, axis=axes) if axes else x


def topk(x, k, dim, largest):
    if not x.ndim:
        raise NoCounterpart("a scalar")
    found = gc.topk(x, k, axis=dim, largest=largest)
    return found[0]


def main(names: list[str]) -> int:
    from operator_samples import database, run
    if unknown := sorted(set(names) - ROWS.keys()):
        raise SystemExit(f"there is no row of {', '.join(unknown)}; ROWS in {__file__} has them all")
    with warnings.catch_warnings(), gc.backend("reference"):
        warnings.simplefilter("ignore")
        found = [run(op) for op in database(names)]
    for f in found:
        if f.failed or names:
            print(f"{f.name}: {f.same} values, {f.gradients} gradients as torch's; {f.without} without a counterpart; "
                  f"{len(f.failed)} FAILED", *(f"\n    {line}" for line in f.failed[:3 if not names else None]))
    whole = [f for f in found if not f.failed and f.same]
    same, gradients, without = (sum(getattr(f, what) for f in found) for what in ("same", "gradients", "without"))
    print(f"{len(whole)} of {len(found)} operations agree on all samples: {same:,} samples, {gradients:,} gradients; "
          f"{without:,} samples without a counterpart, {sum(len(f.failed) for f in found):,} that differ")
    return int(any(f.failed for f in found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
