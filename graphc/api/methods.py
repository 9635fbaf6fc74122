"""The tables that give Tensor its operators and methods: each is an API function, written once.

`METHODS` names, for every API module, the functions that are also methods; their first argument is the tensor.
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

import numpy as np

from graphc.api import elementwise as el
from graphc.api import indexing, manipulation, ufuncs
from graphc.api.axes import refuse
from graphc.api.composites import divmod
from graphc.api.dtypes import can_cast
from graphc.api.other_names import METHODS as ELSEWHERE
from graphc.api.other_names import Elsewhere
from graphc.api.record import cast
from graphc.errors import AxisError, DTypeError, ShapeError
from graphc.ir.dtype import DType
from graphc.tensor import Tensor
from graphc.tracing import Scalar

METHODS = {
    "elementwise": (
        "abs acos acosh asin asinh atan atan2 atanh ceil clip conj conjugate copysign cos cosh divide erf exp exp2"
        " expm1 floor floor_divide fmod isfinite isinf isnan log log10 log1p log2 logical_and logical_not logical_or"
        " logical_xor maximum minimum multiply negative positive pow reciprocal remainder round rsqrt sign signbit sin"
        " sinh sqrt square subtract tan tanh trunc add equal not_equal less less_equal greater greater_equal"
        " bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift"),
    "composites": "angle logaddexp",
    "dtypes": "astype",
    "creation": "copy tril triu",
    "indexing": "take put",
    "manipulation": "expand_dims flatten flip moveaxis permute_dims ravel repeat reshape roll split squeeze swapaxes"
                    " tile transpose unstack",
    "reductions": "all any argmax argmin count_nonzero cumprod cumsum cumulative_prod cumulative_sum logsumexp max mean"
                  " min prod ptp std sum var",
    "sorting": "argsort nonzero topk",
    "linalg": "dot matmul norm cholesky inv det",
    "diagonals": "diagonal trace",
    "activations": "gelu leaky_relu log_softmax relu sigmoid silu softmax softplus elu",
}

# np.sum(t) calls t.sum. What NumPy's methods take by position after the axis:
CALLED_BY_NUMPY = {
    **dict.fromkeys("sum prod".split(), "dtype out keepdims initial where".split()),
    **dict.fromkeys("max min".split(), "out keepdims initial where".split()),
    **dict.fromkeys("any all".split(), "out keepdims".split()), "mean": "dtype out keepdims".split(),
    **dict.fromkeys("var std".split(), "dtype out ddof keepdims".split()),
}

# operator -> the function for `a op b`; each also gives the reflected and, where NumPy has it, the in-place operator.
BINARY = {
    "add": el.add, "sub": el.subtract, "mul": el.multiply, "truediv": el.divide, "floordiv": el.floor_divide,
    "mod": el.remainder, "pow": el._power_operator, "and": el.bitwise_and, "or": el.bitwise_or, "xor": el.bitwise_xor,
    "lshift": el.bitwise_left_shift, "rshift": el.bitwise_right_shift,
}
COMPARISON = {"eq": el.equal, "ne": el.not_equal, "lt": el.less, "le": el.less_equal, "gt": el.greater,
              "ge": el.greater_equal}
UNARY = {"neg": el.negative, "pos": el.positive, "invert": el.bitwise_invert, "abs": el.abs}

_FAST = frozenset((Tensor, float, int))  # operands that need no closer look
_ACCEPTED = (Tensor, int, float, complex, np.ndarray, np.generic, list, tuple, Scalar)


def _operator(function: Callable) -> Callable:
    def method(self, other):
        if other.__class__ in _FAST or isinstance(other, _ACCEPTED) or hasattr(other, "__dlpack__"):
            return function(self, other)
        return NotImplemented
    return method


def _reflected(function: Callable) -> Callable:
    def method(self, other):
        if other.__class__ in _FAST or isinstance(other, _ACCEPTED) or hasattr(other, "__dlpack__"):
            return function(other, self)
        return NotImplemented
    return method


def _in_place(function: Callable, symbol: str) -> Callable:
    """`x += y` rebinds the handle; shape and dtype of x stay, as in NumPy."""
    def method(self, other):
        result = function(self, other)
        if result is NotImplemented:
            return result
        if result.shape != self.shape:
            raise ShapeError(f"the result has shape {result.shape}, which does not fit into {self.shape}", op=symbol,
                             fix=f"write x = x {symbol[:-1]} y")
        if result.dtype is not self.dtype and not can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"the result is {result.dtype}, which can't be stored as {self.dtype}", op=symbol,
                             fix=f"write x = x {symbol[:-1]} y")
        self.rebind(cast(result, self.dtype).node)
        return self
    return method


_SYMBOLS = {"add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "floordiv": "//=", "mod": "%=", "pow": "**=",
            "and": "&=", "or": "|=", "xor": "^=", "lshift": "<<=", "rshift": ">>=", "matmul": "@="}


def _attach(name: str, method: Callable) -> None:
    if not hasattr(method, "__doc__") or method.__name__ == "method":
        method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, method)


def _install_operators() -> None:
    binary = {**BINARY, "matmul": importlib.import_module("graphc.api.products").matmul}
    for name, function in binary.items():
        operator = _operator(function)
        _attach(f"__{name}__", operator)
        _attach(f"__r{name}__", _reflected(function))
        _attach(f"__i{name}__", _in_place(operator, _SYMBOLS[name]))
    for name, function in COMPARISON.items():
        _attach(f"__{name}__", _operator(function))
    for name, function in UNARY.items():
        setattr(Tensor, f"__{name}__", function)
    _attach("__round__", lambda self, digits=None: el.round(self, digits or 0))
    # divmod is no primitive and has no in-place form.
    _attach("__divmod__", _operator(divmod))
    _attach("__rdivmod__", _reflected(divmod))


def _called_by_numpy(function: Callable) -> Callable:
    """`np.sum(t)` is t.sum(axis=None, out=None). By position a method takes what NumPy's does, a function what the
    Array API's does."""
    names = CALLED_BY_NUMPY[function.__name__]

    @functools.wraps(function)
    def method(self, axis=None, *more, out=None, **options):
        if more:
            if len(more) > len(names) or any(name in options for name in names[:len(more)]):
                raise DTypeError(f"by position after the axis it takes {', '.join(names)}", op=function.__name__,
                                 fix="name the arguments")
            options |= zip(names, more, strict=False)
            out = options.pop("out", out)
        if out is not None:
            refuse({"out": out}, function.__name__)
        return function(self, axis, **options)
    return method


def _install_methods() -> None:
    for module_name, names in METHODS.items():
        module = importlib.import_module(f"graphc.api.{module_name}")
        for name in names.split():
            function = getattr(module, name)
            setattr(Tensor, name, _called_by_numpy(function) if name in CALLED_BY_NUMPY else function)


# ---- methods whose arguments are spelled in another way than the function's

def _reshape(self, *shape, order="C", copy=None):
    """`x.reshape(2, 3)` or `x.reshape((2, 3))`."""
    if len(shape) == 1 and isinstance(shape[0], (str, type, np.dtype, DType)):
        raise DTypeError("the bits of a tensor are not seen as another dtype", op="view",
                         fix="x.astype(dtype) for its values; gc.asarray(x.numpy().view(dtype)) for its bits")
    return manipulation.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _transpose(self, *axes):
    """`x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    if len(axes) == 1 and (axes[0] is None or not isinstance(axes[0], int)):
        return manipulation.transpose(self, axes[0])
    if len(axes) == 2 < self.ndim:      # torch's two axes
        raise AxisError(f"axes {axes} do not name each of the {self.ndim} axes of shape {self.shape}", op="transpose",
                        fix=f"write x.swapaxes{axes} to exchange two")
    return manipulation.transpose(self, axes or None)


def _permute(self, *axes):
    """`x.permute(1, 0)` or `x.permute((1, 0))`."""
    return manipulation.permute_dims(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _where(self, condition, other):
    """self where the condition holds, else other."""
    return el.where(condition, self, other)


def _to_dtype(name: str) -> Callable:
    def method(self):
        from graphc.ir.dtype import by_name
        return cast(self, by_name(name))
    method.__doc__ = f"This tensor as {name}."
    return method


def _transposed(self):
    """The axes in reverse order, as in NumPy; of a matrix its transpose."""
    return manipulation.transpose(self)


def _matrix_transposed(self):
    """The last two axes swapped."""
    return manipulation.matrix_transpose(self)


def install() -> None:
    """Attach everything; called once, by `import graphc`."""
    for name in ELSEWHERE:
        setattr(Tensor, name, Elsewhere(name, ELSEWHERE))
    _install_methods()
    _install_operators()
    ufuncs.install()
    Tensor.__getitem__ = indexing.getitem
    Tensor.__setitem__ = indexing.setitem
    Tensor.reshape = Tensor.view = _reshape
    Tensor.transpose = _transpose
    Tensor.permute = _permute
    Tensor.where = _where
    Tensor.T = property(_transposed)
    Tensor.mT = property(_matrix_transposed)
    Tensor.at = property(indexing.At)
    Tensor.real = property(el.real)
    Tensor.imag = property(el.imag)
    for name, dtype in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("int", "int32"),
                        ("long", "int64"), ("bool", "bool")):
        setattr(Tensor, name, _to_dtype(dtype))
    Tensor.__dir__ = lambda self: sorted({*object.__dir__(self)} - ELSEWHERE.keys())


