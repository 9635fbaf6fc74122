"""graphc: NumPy-looking tensors whose calls are recorded, fused and compiled when a value is needed.

The names are those of the Array API 2024.12, plus NumPy's other names for the same and what graphc adds: `realize`,
`plan`, `counters`, `set_backend`, ... This file only gathers them. Names in `_LAZY` are imported when first used, so
that `import graphc` stays quick.
"""
from __future__ import annotations

from graphc.api.composites import (
    angle, deg2rad, degrees, divmod, fabs, float_power, fmax, fmin, heaviside, isneginf, isposinf, logaddexp,
    logaddexp2, modf, rad2deg, radians,
)
from graphc.api.creation import (
    arange, array, asarray, copy, empty, empty_like, eye, from_dlpack, full, full_like, identity, linspace, meshgrid,
    ones, ones_like, tri, tril, triu, zeros, zeros_like,
)
from graphc.api.dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from graphc.api.elementwise import (
    abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, around, asin, asinh,
    atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift,
    bitwise_xor, cbrt, ceil, clip, conj, conjugate, copysign, cos, cosh, divide, equal, erf, exp, exp2, expm1, fix,
    floor, floor_divide, fmod, greater, greater_equal, hypot, imag, invert, isfinite, isinf, isnan, left_shift, less,
    less_equal, log, log10, log1p, log2, logical_and, logical_not, logical_or, logical_xor, make_complex, maximum,
    minimum, mod, multiply, negative, nextafter, not_equal, positive, pow, power, real, reciprocal, remainder,
    right_shift, rint, round, rsqrt, sign, signbit, sin, sinh, sqrt, square, subtract, tan, tanh, true_divide, trunc,
    where,
)
from graphc.api.indexing import put, put_along_axis, take, take_along_axis
from graphc.api.info import __array_namespace_info__
from graphc.api.manipulation import (
    array_split, atleast_1d, atleast_2d, broadcast_arrays, broadcast_shapes, broadcast_to, concat, concatenate,
    expand_dims, flatten, flip, hstack, matrix_transpose, moveaxis, permute_dims, ravel, repeat, reshape, roll, split,
    squeeze, stack, swapaxes, tile, transpose, unstack, vstack,
)
from graphc.api.methods import install as _install
from graphc.api.reductions import (
    all, allclose, amax, amin, any, argmax, argmin, array_equal, average, count_nonzero, cov, cumprod, cumsum,
    cumulative_prod, cumulative_sum, diff, isclose, logsumexp, max, mean, min, prod, ptp, std, sum, var,
)
from graphc.ir.dtype import (
    DType, bfloat16, bool, complex64, complex128, default_float, float16, float32, float64, int8, int16, int32, int64,
    set_default_float, uint8, uint16, uint32, uint64,
)
from graphc.tensor import Tensor

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")
newaxis = None

_install()

# Where a name comes from that is imported when it is first used; a module is given by its own name.
_LAZY = {
    **dict.fromkeys(
        "realize plan counters set_backend get_backend get_backend_name to_numpy to_backend backend devices"
        .split(), "graphc.api.session"),
    **dict.fromkeys("jit".split(), "graphc.tracing.jitted"),
    "fast_math": "graphc.api.fast",
    **dict.fromkeys(
        "backward grad jvp no_grad stop_gradient value_and_grad vjp zero_grad".split(), "graphc.autodiff"),
    **dict.fromkeys("spec estimate_memory MemoryEstimate".split(), "graphc.estimate"),
    **dict.fromkeys("checkpoint custom_vjp".split(), "graphc.custom_gradients"),
    "vmap": "graphc.batching",
    **dict.fromkeys("overlap_add sliding_window_view".split(), "graphc.api.windows"),
    **dict.fromkeys(
        "argpartition argsort argwhere bincount flatnonzero histogram histogram2d histogram_bin_edges histogramdd isin"
        " lexsort nonzero partition searchsorted sort topk unique unique_all unique_counts unique_inverse"
        " unique_values".split(), "graphc.api.sorting"),
    **dict.fromkeys(
        "bartlett blackman convolve corrcoef correlate digitize geomspace gradient hamming hanning interp logspace"
        " nan_to_num sinc trapezoid unwrap".split(), "graphc.api.samples"),
    **dict.fromkeys(
        "polyadd polyder polyfit polyint polymul polysub polyval roots vander".split(), "graphc.api.polynomials"),
    **dict.fromkeys("bitwise_count gcd lcm".split(), "graphc.api.integers"),
    **dict.fromkeys(
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile"
        " nanstd nansum nanvar".split(),
        "graphc.api.missing"),
    **dict.fromkeys(
        "append atleast_3d block column_stack delete diag_indices diagflat dsplit dstack fliplr flipud hsplit indices"
        " insert ix_ ravel_multi_index rot90 select tril_indices triu_indices unravel_index vsplit".split(),
        "graphc.api.arranging"),
    **dict.fromkeys(
        "cross diag dot inner kron outer tensordot vdot vecdot".split(), "graphc.api.linalg"),
    **dict.fromkeys("cumulative_max cumulative_min".split(), "graphc.api.running"),
    **dict.fromkeys("intersect1d setdiff1d setxor1d union1d".split(), "graphc.api.sets"),
    **dict.fromkeys("diagonal trace".split(), "graphc.api.diagonals"),
    **dict.fromkeys("scan while_loop cond".split(), "graphc.api.loops"),
    **dict.fromkeys("median percentile quantile".split(), "graphc.api.quantiles"),
    "matmul": "graphc.api.products",
    "pad": "graphc.api.padding",
    "scaled_dot_product_attention": "graphc.api.attention",
    "einsum": "graphc.api.einsum",
    **dict.fromkeys(
        "avg_pool1d avg_pool2d avg_pool3d conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
        " max_pool1d max_pool2d max_pool3d".split(), "graphc.api.convolution"),
    **dict.fromkeys(
        "cross_entropy elu gelu glu hardsigmoid hardswish hardtanh leaky_relu log_sigmoid log_softmax mish one_hot relu"
        " relu6 selu sigmoid silu softmax softplus softsign".split(), "graphc.api.activations"),
}
_MODULES = {"linalg": "graphc.api.linalg", "fft": "graphc.api.fft", "random": "graphc.api.random",
            "nn": "graphc.nn", "optim": "graphc.optim",
            "data": "graphc.data", "weights": "graphc.weights", "errors": "graphc.errors", "config": "graphc.config"}


def __getattr__(name: str):
    import importlib.util
    import sys

    target = _MODULES.get(name) or _LAZY.get(name)
    if target is None or importlib.util.find_spec(target) is None:
        from graphc.api.other_names import FUNCTIONS, missing
        raise missing("module 'graphc'", name, FUNCTIONS, sys.modules[__name__])
    module = importlib.import_module(target)
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
