"""Names that users bring from PyTorch or NumPy and that graphc does not have: the error says what to write instead.

There is one name for a thing here, that of the Array API, and NumPy's where that is another one. `x` stands for the
tensor in the table of methods.
"""
from __future__ import annotations

import re
from collections.abc import Callable

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
    "register_hook": "gc.custom_vjp(f)", "is_leaf": "x.is_variable", "detach_": "x = x.detach()",
    "normal_": "x.assign(gc.random.normal(size=x.shape))", "uniform_": "x.assign(gc.random.uniform(size=x.shape))",
    "new_tensor": "gc.asarray(values, dtype=x.dtype)", "is_cuda": "x.device == 'cuda'",
    "tobytes": "x.numpy().tobytes()", "tofile": "x.numpy().tofile(path)", "byteswap": "x.numpy().byteswap()",
    "argpartition": "gc.argpartition(x, kth)", "flags": "nothing: values never change", "itemset": "x[place] = value",
    "flat": "x.ravel()", "absolute": "x.abs()", "strides": "x.numpy().strides",
    "sort": "x[...] = gc.sort(x) to sort in place, as NumPy's method does, or gc.sort(x) for a sorted copy",
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
    "single": "gc.float32", "long": "gc.int64", "float": "gc.float32", "inference_mode": "gc.no_grad()",
    "set_grad_enabled": "gc.no_grad()", "enable_grad": "nothing: gc.no_grad() ends with its block",
    "amp": "gc.nn.MixedPrecision(model, dtype)", "autocast": "gc.nn.MixedPrecision(model, dtype)",
    "utils": "gc.data.DataLoader(data, batch_size)", "cuda": "gc.set_backend('cuda')", "device": "its name: 'cpu'",
    "set_default_dtype": "gc.set_default_float(dtype)", "is_tensor": "isinstance(x, gc.Tensor)", "Size": "a tuple",
    "FloatTensor": "gc.asarray(values, dtype=gc.float32)", "LongTensor": "gc.asarray(values, dtype=gc.int64)",
    "mgrid": "gc.meshgrid(gc.arange(n), gc.arange(m), indexing='ij')",
    "ogrid": "gc.meshgrid(gc.arange(n), gc.arange(m), indexing='ij', sparse=True)", "r_": "gc.concat(arrays)",
    "c_": "gc.column_stack(arrays)", "piecewise": "gc.select([condition, ...], [f(x), ...])",
    "fromfunction": "f(*gc.indices(shape))", "tril_indices_from": "gc.tril_indices(len(x))",
    "triu_indices_from": "gc.triu_indices(len(x))", "diag_indices_from": "gc.diag_indices(len(x), x.ndim)",
    "resize": "gc.take(x, gc.arange(n), mode='wrap').reshape(shape)", "ldexp": "x * gc.exp2(n)",
    "array_equiv": "gc.all(gc.equal(x, y))", "spacing": "gc.nextafter(x, gc.copysign(gc.inf, x)) - x",
    "isreal": "gc.imag(x) == 0",
    "iscomplex": "gc.imag(x) != 0", "isrealobj": "gc.isdtype(x.dtype, 'real floating')",
    "issubdtype": "gc.isdtype(x.dtype, 'integral')", "kaiser": "gc.asarray(np.kaiser(count, beta))",
    "i0": "gc.asarray(np.i0(x.numpy()))", "trim_zeros": "gc.asarray(np.trim_zeros(x.numpy()))",
    "packbits": "gc.asarray(np.packbits(x.numpy()))", "unpackbits": "gc.asarray(np.unpackbits(x.numpy()))",
    "frexp": "np.frexp(x.numpy())", "poly": "gc.asarray(np.poly(roots.numpy()))",
    "polydiv": "np.polydiv(p.numpy(), q.numpy())", "rollaxis": "gc.moveaxis(x, source, destination)",
    "choose": "gc.select([which == k for k in range(n)], arrays)", "place": "x[mask] = values",
    "ndindex": "itertools.product(*map(range, shape))", "ndenumerate": "np.ndenumerate(x.numpy())",
    "nditer": "for row in x", "fromiter": "gc.asarray(list(values))", "poly1d": "gc.polyval(coefficients, x)",
    "set_printoptions": "np.set_printoptions, which is heeded",
    "sort_complex": "gc.asarray(np.sort_complex(x.numpy()))",
    "real_if_close": "gc.real(x)", "isscalar": "np.isscalar(x)", "mask_indices": "gc.triu_indices(n)",
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
    "Buffer": "self.name = tensor", "utils": "gc.optim.clip_grad_norm(parameters, limit), for its clip_grad_norm_",
    **dict.fromkeys(["Dropout1d", "Dropout2d", "Dropout3d"], "nn.Dropout(p), which drops single elements"),
    "ZeroPad2d": "gc.pad(x, widths)", "ConstantPad2d": "gc.pad(x, widths, constant_values=value)",
    "AdaptiveAvgPool1d": "x.mean(-1, keepdims=True), for one part",
    "AdaptiveAvgPool3d": "x.mean((-3, -2, -1), keepdims=True), for one part",
    "AdaptiveMaxPool2d": "x.max((-2, -1), keepdims=True), for one part", "Softmax2d": "nn.Softmax(axis=1)",
    "Softmin": "gc.softmax(-x)", "EmbeddingBag": "nn.Embedding(words, width)(x).mean(-2), or .sum(-2) for mode='sum'",
    "Transformer": "nn.TransformerEncoderBlock(width, heads)",
    "batch_norm": "nn.BatchNorm(channels)(x)", "adaptive_avg_pool2d": "nn.AdaptiveAvgPool2d(size)(x)",
}

# Those of nn.init, which fill a tensor in torch and return a new one here.
INITIAL = {
    **{f"{name}_": f"w.assign(nn.init.{name}(w.shape))" for name in (
        "uniform normal orthogonal xavier_uniform xavier_normal kaiming_uniform kaiming_normal").split()},
    "trunc_normal_": "w.assign(nn.init.truncated_normal(w.shape, std))", "zeros_": "w.assign(0)",
    "ones_": "w.assign(1)", "constant_": "w.assign(value)", "eye_": "w.assign(gc.eye(*w.shape))",
    "calculate_gain": "gain=2 ** 0.5 for relu, 5 / 3 for tanh, 1 for what is linear",
}

_AT = "x.at[key].set(x[key] {} value), where no place is met twice"
UPDATES = {
    "mul": _AT.format("*"), "multiply": _AT.format("*"), "div": _AT.format("/"), "divide": _AT.format("/"),
    "pow": _AT.format("**"), "power": _AT.format("**"), "sub": "x.at[key].subtract(value)",
    "apply": "x.at[key].set(function(x[key]))", "maximum": "x.at[key].max(value)", "minimum": "x.at[key].min(value)",
}
MODULES = {
    "float": "module.to(gc.float32)", "half": "module.to(gc.float16)", "double": "module.to(gc.float64)",
    "bfloat16": "module.to(gc.bfloat16)", "cuda": "module.to('cuda')", "cpu": "module.to('cpu')",
    "type": "module.to(dtype)", "register_buffer": "self.name = tensor: what requires no gradient is a buffer",
    "register_parameter": "self.name = nn.parameter(value)", "add_module": "self.name = module",
    "children": "module.modules()[1:], which has those further inside as well",
    "named_children": "module.named_modules(), which has those further inside as well",
    "get_submodule": "dict(module.named_modules())[path]", "get_parameter": "dict(module.named_parameters())[path]",
    "get_buffer": "dict(module.named_buffers())[path]", "compile": "gc.jit(module)",
    **dict.fromkeys(["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"],
                    "a module around it, whose forward calls it"),
}

OPTIMISERS = {
    "lr_scheduler": "gc.optim.Schedule(optimizer, factor)", "LambdaLR": "gc.optim.Schedule(optimizer, factor)",
    "StepLR": "gc.optim.Schedule(optimizer, gc.optim.step_decay(every))",
    "ExponentialLR": "gc.optim.Schedule(optimizer, gc.optim.exponential(gamma))",
    "CosineAnnealingLR": "gc.optim.Schedule(optimizer, gc.optim.cosine(total))",
    "clip_grad_norm_": "gc.optim.clip_grad_norm(parameters, limit)",
    "clip_grad_value_": "gc.optim.clip_grad_value(parameters, limit)",
    **dict.fromkeys("ASGD Adadelta Adamax LBFGS NAdam RAdam Rprop SparseAdam".split(),
                    "gc.optim.Adam(parameters), or a subclass of gc.optim.Optimizer with an update of its own"),
}

OF_AN_OPTIMISER = {
    "param_groups": "optimizer.parameters, optimizer.lr: there is one group",
    "add_param_group": "an optimiser for each group", "defaults": "optimizer.lr, optimizer.weight_decay",
}

# Arguments by name; where a class has an argument of that name, nothing is said.
ARGUMENTS = {
    **dict.fromkeys("in_features in_channels input_size".split(), "inputs"),
    **dict.fromkeys("out_features out_channels".split(), "outputs"), "num_embeddings": "words",
    **dict.fromkeys("embedding_dim embed_dim d_model".split(), "width"),
    **dict.fromkeys("num_features num_channels num_parameters".split(), "channels"), "num_groups": "groups",
    **dict.fromkeys("num_heads nhead".split(), "heads"),
    **dict.fromkeys("hidden_size dim_feedforward".split(), "hidden"),
    "normalized_shape": "shape", "output_size": "size", "dim": "axis", "keepdim": "keepdims",
    "init": "start", "init_scale": "factor",
    "growth_factor": "growth", "backoff_factor": "backoff", "growth_interval": "interval",
    "track_running_stats": "nothing: no running statistics are kept", "padding_idx": "nothing: every row is trained",
    "padding_mode": "gc.pad(x, widths, mode=mode) before", "inplace": "nothing: values never change",
    **dict.fromkeys("ceil_mode count_include_pad dilation divisor_override".split(),
                    "gc.max_pool2d or gc.avg_pool2d, which have it"),
    **dict.fromkeys("start_dim end_dim".split(),
                    "nothing: all axes after the first are joined; x.reshape(shape) joins others"),
    "batch_first": "nothing: the batch comes first",
    **dict.fromkeys("device dtype".split(), "module.to(device or dtype) after"),
    **dict.fromkeys("foreach fused capturable differentiable".split(), "nothing: a step is compiled as a whole"),
    "maximize": "(-loss).backward()", "dropout_p": "nothing: no weights are dropped",
}


# Arguments that torch's classes take by position after those that they have here.
BY_POSITION = {
    **dict.fromkeys("MaxPool1d MaxPool2d MaxPool3d".split(), "dilation return_indices ceil_mode"),
    **dict.fromkeys("AvgPool1d AvgPool2d AvgPool3d".split(), "ceil_mode count_include_pad divisor_override"),
    **dict.fromkeys("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d".split(), "padding_mode"),
    **dict.fromkeys("Dropout ReLU ReLU6 SELU SiLU Mish ELU LeakyReLU Hardsigmoid Hardswish Hardtanh".split(),
                    "inplace"),
    "Embedding": "padding_idx", "Flatten": "start_dim end_dim", "InstanceNorm": "momentum affine track_running_stats",
}


def check_arguments(kind: type, args: tuple, given: dict) -> None:
    """TypeError for an argument that torch has, by name or by position, or for any where the class takes none."""
    if not given and not args:
        return
    code = getattr(kind.__init__, "__code__", None)
    if kind.__init__ is object.__init__:
        own, most, wrong = (), 0, [*given]
    elif code is None or code.co_flags & 8:     # written in C, or with **kwargs
        return
    else:
        own, most = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount], code.co_argcount - 1
        wrong = [name for name in given if name in ARGUMENTS and name not in own]
        most = len(args) if code.co_flags & 4 else most         # with *args
    if len(args) > most:
        wrong += BY_POSITION.get(kind.__name__, "").split()[:1]
    if wrong:
        raise TypeError(f"{kind.__name__} has no argument {wrong[0]!r}{_instead(wrong[0], ARGUMENTS)}")
    if not own:
        raise TypeError(f"{kind.__name__} takes no arguments")


def explain(error: TypeError, functions: Callable[[str], bool]) -> None:
    """Note on Python's error for an argument that a function does not have what to write, if there is a name for it.

    functions: whether a name is that of one of graphc's.
    """
    found = re.match(r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if found and found[2] in ARGUMENTS and functions(found[1].rpartition(".")[2]) and not hasattr(error, "__notes__"):
        error.add_note(f"graphc.{found[1]}: write {ARGUMENTS[found[2]]}")


def _instead(name: str, table: dict[str, str]) -> str:
    return f"; write {table[name]}" if name in table else ""


def missing(owner: str, name: str, table: dict[str, str], of: object = None) -> AttributeError:
    """The error for an attribute that does not exist."""
    return AttributeError(f"{owner} has no attribute {name!r}{_instead(name, table)}", name=name, obj=of)


class Elsewhere:
    """In the place of a method that a class does not have: hasattr is False. A __getattr__ of the class would do the
    same, and slow down every attribute."""

    def __init__(self, name: str, table: dict[str, str]):
        self.name, self.table = name, table

    def __get__(self, x, kind=None):
        raise missing(f"{kind.__name__!r} object", self.name, self.table)
