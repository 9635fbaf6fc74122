"""Names that users bring from PyTorch or NumPy and that graphc does not have: the error says what to write instead.

There is one name for a thing here, that of the Array API, and NumPy's where that is another one. `x` stands for the
tensor in the table of methods.
"""
from __future__ import annotations

_AS_FUNCTIONS = """allclose argwhere bincount corrcoef cov cross cumulative_max cumulative_min diag diff fliplr flipud
    fmax fmin gcd heaviside histogram hypot inner isclose isin isneginf isposinf kron lcm logaddexp2 median nan_to_num
    nanmean nanmedian nanquantile nansum nextafter outer partition quantile rot90 searchsorted sinc unique vdot"""

METHODS = {
    "unsqueeze": "x.expand_dims(axis)", "clamp": "x.clip(low, high)", "clone": "x.copy()", "numel": "x.size",
    "nelement": "x.size", "dim": "x.ndim", "ndimension": "x.ndim", "contiguous": "x: a tensor has no strides",
    "masked_fill": "gc.where(mask, value, x)", "masked_select": "x[mask]", "expand": "gc.broadcast_to(x, shape)",
    "expand_as": "gc.broadcast_to(x, y.shape)", "view_as": "x.reshape(y.shape)", "reshape_as": "x.reshape(y.shape)",
    "gather": "gc.take_along_axis(x, indices, axis)", "index_select": "x.take(indices, axis)",
    "scatter_add": "x.at[indices].add(values)", "index_add": "x.at[indices].add(values)",
    "index_put": "x.at[indices].set(values)", "chunk": "gc.array_split(x, parts, axis)", "unbind": "x.unstack(axis)",
    "narrow": "x[start:start + length]", "mm": "x @ y", "bmm": "x @ y", "mv": "x @ y", "t": "x.T", "H": "x.mT.conj()",
    "mul": "x * y", "sub": "x - y", "div": "x / y", "neg": "-x", "eq": "x == y", "ne": "x != y", "lt": "x < y",
    "le": "x <= y", "gt": "x > y", "ge": "x >= y", "add_": "x += y", "sub_": "x -= y", "mul_": "x *= y",
    "div_": "x /= y", "copy_": "x.assign(y)", "zero_": "x.assign(gc.zeros_like(x))", "fill_": "x[...] = value",
    "fill": "x[...] = value", "cpu": "x.to('cpu')", "cuda": "x.to('cuda')", "data": "x.detach()", "amax": "x.max(axis)",
    "amin": "x.min(axis)", "movedim": "x.moveaxis(source, destination)", "arctan2": "x.atan2(y)",
    "repeat_interleave": "x.repeat(n, axis)", "byte": "x.astype(gc.uint8)", "short": "x.astype(gc.int16)",
    "bfloat16": "x.astype(gc.bfloat16)", "type_as": "x.astype(y.dtype)", "cummax": "gc.cumulative_max(x, axis=axis)",
    "cummin": "gc.cumulative_min(x, axis=axis)", "inverse": "x.inv()", "lerp": "x + (y - x) * weight",
    "matrix_exp": "gc.linalg.expm(x)", "new_zeros": "gc.zeros(shape, dtype=x.dtype)",
    "new_ones": "gc.ones(shape, dtype=x.dtype)", "is_floating_point": "gc.isdtype(x.dtype, 'real floating')",
    "tobytes": "x.numpy().tobytes()", "flat": "x.ravel()", "absolute": "x.abs()", "strides": "x.numpy().strides",
    **{name: f"gc.{name}(x, ...)" for name in _AS_FUNCTIONS.split()},
}

FUNCTIONS = {
    "as_tensor": "gc.asarray(values)", "from_numpy": "gc.asarray(array)", "cat": "gc.concat(arrays, axis)",
    "unsqueeze": "gc.expand_dims(x, axis)", "clamp": "gc.clip(x, low, high)",
    "gather": "gc.take_along_axis(x, indices, axis)", "index_select": "gc.take(x, indices, axis)", "mm": "x @ y",
    "bmm": "x @ y", "masked_select": "x[mask]", "masked_fill": "gc.where(mask, value, x)",
    "chunk": "gc.array_split(x, parts, axis)", "movedim": "gc.moveaxis(x, source, destination)",
    "permute": "gc.permute_dims(x, axes)", "rand": "gc.random.rand(n)", "randn": "gc.random.randn(n)",
    "randint": "gc.random.integers(low, high, shape)", "randperm": "gc.random.permutation(n)",
    "manual_seed": "gc.random.seed(n)", "norm": "gc.linalg.norm(x)", "repeat_interleave": "gc.repeat(x, n, axis)",
    "unbind": "gc.unstack(x, axis)", "compile": "gc.jit(f)", "cdist": "gc.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))",
    "matrix_exp": "gc.linalg.expm(x)", "lerp": "x + (y - x) * weight", "eq": "gc.equal(x, y)", "numel": "x.size",
    "autograd": "gc.grad(f)", "Generator": "gc.random.Generator(seed)", "save": "gc.weights.save(path, state)",
    "load": "gc.weights.load(path)", "cummax": "gc.cumulative_max(x, axis=axis)",
    "cummin": "gc.cumulative_min(x, axis=axis)", "ndarray": "gc.Tensor", "shape": "x.shape", "ndim": "x.ndim",
    "size": "x.size", "apply_along_axis": "gc.vmap(f)", "vectorize": "gc.vmap(f)", "copyto": "x[...] = y",
    "fill_diagonal": "x[gc.diag_indices(n)] = value", "extract": "x[mask]", "compress": "x[mask]",
    "row_stack": "gc.vstack(arrays)", "trapz": "gc.trapezoid(y, x)", "in1d": "gc.isin(x, test)",
    "product": "gc.prod(x)", "cumproduct": "gc.cumprod(x)", "alltrue": "gc.all(x)", "sometrue": "gc.any(x)",
    "ascontiguousarray": "gc.asarray(x)", "asanyarray": "gc.asarray(x)", "ediff1d": "gc.diff(gc.ravel(x))",
    "matvec": "a @ x", "vecmat": "x @ a", "msort": "gc.sort(x, axis=0)", "loadtxt": "gc.asarray(np.loadtxt(path))",
    "genfromtxt": "gc.asarray(np.genfromtxt(path))", "frombuffer": "gc.asarray(np.frombuffer(data))",
    "iscomplexobj": "gc.isdtype(x.dtype, 'complex floating')", "promote_types": "gc.result_type(a, b)",
    "errstate": "nothing: no warning is given", "intp": "gc.int64", "seterr": "nothing: no warning is given",
    "float_": "gc.float64", "bool_": "gc.bool", "int_": "gc.int64", "double": "gc.float64", "half": "gc.float16",
    "single": "gc.float32", "long": "gc.int64",
}

LAYERS = {
    "Parameter": "nn.parameter(value)", "ParameterList": "a plain list of nn.parameter(value)",
    "ParameterDict": "a plain dict of nn.parameter(value)", "MultiheadAttention": "nn.MultiHeadAttention(width, heads)",
    "TransformerEncoderLayer": "nn.TransformerEncoderBlock(width, heads)", "Unflatten": "x.reshape(shape)",
    "TransformerDecoderLayer": "nn.TransformerDecoderBlock(width, heads)", "UpsamplingNearest2d": "nn.Upsample(size)",
    "UpsamplingBilinear2d": "nn.Upsample(size, mode='bilinear', align_corners=True)",
    "CosineSimilarity": "nn.cosine_similarity(x, y)", "PairwiseDistance": "nn.pairwise_distance(x, y)",
    **{f"{name}Loss": f"nn.{short}(prediction, target)" for name, short in {
        "MSE": "mse", "L1": "l1", "SmoothL1": "smooth_l1", "Huber": "huber", "BCE": "bce", "NLL": "nll", "KLDiv": "kl",
        "BCEWithLogits": "bce_with_logits", "CrossEntropy": "cross_entropy", "PoissonNLL": "poisson_nll",
        "GaussianNLL": "gaussian_nll", "MarginRanking": "margin_ranking", "HingeEmbedding": "hinge_embedding",
        "SoftMargin": "soft_margin", "MultiLabelSoftMargin": "multilabel_soft_margin", "MultiMargin": "multi_margin",
        "CosineEmbedding": "cosine_embedding", "TripletMargin": "triplet_margin"}.items()},
    **{name: f"nn.{short}(prediction, target)" for name, short in {
        "mse_loss": "mse", "l1_loss": "l1", "smooth_l1_loss": "smooth_l1", "huber_loss": "huber", "nll_loss": "nll",
        "kl_div": "kl", "poisson_nll_loss": "poisson_nll", "gaussian_nll_loss": "gaussian_nll",
        "margin_ranking_loss": "margin_ranking", "hinge_embedding_loss": "hinge_embedding",
        "soft_margin_loss": "soft_margin", "multi_margin_loss": "multi_margin",
        "multilabel_soft_margin_loss": "multilabel_soft_margin", "cosine_embedding_loss": "cosine_embedding",
        "triplet_margin_loss": "triplet_margin"}.items()},
    "logsigmoid": "gc.log_sigmoid(x)", "softmin": "gc.softmax(-x)", "upsample": "nn.interpolate(x, size)",
    "unfold": "gc.sliding_window_view(x, sizes, axes)", "fold": "gc.overlap_add(x, size)", "pad": "gc.pad(x, widths)",
    "batch_norm": "nn.BatchNorm(channels)(x)", "adaptive_avg_pool2d": "nn.AdaptiveAvgPool2d(size)(x)",
}


def missing(owner: str, name: str, table: dict[str, str], of: object = None) -> AttributeError:
    """The error for an attribute that does not exist."""
    known = f"; write {table[name]}" if name in table else ""
    return AttributeError(f"{owner} has no attribute {name!r}{known}", name=name, obj=of)


class Elsewhere:
    """In the place of a method that Tensor does not have: hasattr is False. A __getattr__ of the class would do the
    same, and slow down every attribute."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, x, kind=None):
        raise missing("'Tensor' object", self.name, METHODS)
