"""The op table: everything that is known of a primitive operation stands in one row.

A row gives the op's name, its number of sources (-1: any), its kind, the rule for the dtype of the result, its
meaning in NumPy (the reference that every backend is held against), its C spelling or, of a reduction, the operation
that combines two results, what it costs beside an addition, the domain from which tests draw its arguments, and its
gradient (`ir/derivatives.py` says how a rule is called).
Composites (softmax, var, gelu, roll, ...) are Python over these primitives and live in graphc/api. A dialect that
spells an op otherwise says so in its own dialect.toml.

Elementwise operations broadcast as in NumPy. The front end has promoted the sources to one dtype beforehand, with an
explicit cast.

C spellings: `{0}`, `{1}`, ... are the sources, `{t}` the C type of the result, `{s}` the C type of the first source,
`{u}` the unsigned type as wide as the result. A spelling may differ by kind of the first source (b, i, u, f, c): then
it is a dict. Names beginning with `gc_` are helpers, taken from the dialect's helper files when they are used.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

from graphc.ir import derivatives as d
from graphc.ir import meaning
from graphc.ir.dtype import DType

# Kinds. Passes ask an elementwise operation for its kind or traits: what treats all alike names none of them.
SOURCE = "source"            # no computed sources: buffers, constants, counters
ELEMENTWISE = "elementwise"
MOVEMENT = "movement"        # only says which element goes where
REDUCE = "reduce"
SCAN = "scan"
CONTRACT = "contract"
PART = "part"                # computed inside its reader, block by block; it has no loop and no memory of its own
GATHER = "gather"
SCATTER = "scatter"
LIBRARY = "library"
OTHER = "other"


class Op(Struct, frozen=True, eq=False):
    name: str
    arity: int
    kind: str
    result: Callable | None = None       # dtypes of the sources -> dtype; None: given by the caller
    numpy: Callable | None = None        # (attrs, dtype, shape, *arrays) -> array
    c: str | dict | None = None
    combine: Op | None = None            # of a reduction or scan: what combines two of its results
    cost: int = 1                        # in additions, for the decision to store or to recompute
    domain: str = "any"                  # any | positive | unit (-1..1) | nonzero | small | index | bool | shift
    dtypes: str = "biufc"                # kinds that it accepts
    traits: frozenset = field(default_factory=frozenset)  # what passes ask for: involution, blocks
    marked: bool = False                 # whether `fast_math` marks it: docs/numerics.md says what that allows
    grad: Callable | None = None         # (gc, g, y, *srcs) -> gradients of the sources; None: piecewise constant

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return (get, (self.name,))


TABLE: dict[str, Op] = {}
FAST = ("fast",)        # the attrs of a node that `fast_math` has marked; an operation that it marks has no others


def get(name: str) -> Op:
    return TABLE[name]


def _row(name: str, arity: int, kind: str, result=None, numpy=None, c=None, *traits, **facts) -> Op:
    op = TABLE[name] = Op(name, arity, kind, result, numpy, c, traits=frozenset(traits), **facts)
    return op


# Dtype rules.

def _same(*dtypes):
    return dtypes[0]


def _bool(*dtypes):
    from graphc.ir import dtype
    return dtype.bool


def _real(*dtypes):
    return dtypes[0].real


def _second(*dtypes):
    return dtypes[1]


# NumPy meanings: most are a ufunc.

def _ufunc(f):
    def meaning(attrs, dtype, shape, *arrays):
        with np.errstate(all="ignore"):
            return f(*arrays)
    return meaning


def _unary(name, f, c, *traits, **facts):
    return _row(name, 1, ELEMENTWISE, facts.pop("result", _same), _ufunc(f), c, *traits, **facts)


def _binary(name, f, c, *traits, **facts):
    return _row(name, 2, ELEMENTWISE, facts.pop("result", _same), _ufunc(f), c, *traits, **facts)


def _wrapping(sign: str) -> dict:
    """Integer arithmetic is done in unsigned types, where overflow is defined (uint16_t alone would become an int)."""
    return {"iu": f"({{t}})(1u * ({{u}}){{0}} {sign} ({{u}}){{1}})", "fc": f"{{0}} {sign} {{1}}"}


# ---- sources
BUFFER = _row("buffer", 0, SOURCE)                       # memory that exists
CONST = _row("const", 0, SOURCE)                         # attrs: (bytes, whether it is structure[, who gave it])
PARAM = _row("param", 0, SOURCE)                         # attrs: (number,): a scalar argument of the program
IOTA = _row("iota", 0, SOURCE,                           # shape (n,): 0, 1, 2, ...
            numpy=lambda attrs, dtype, shape: np.arange(shape[0]).astype(dtype.numpy))

# ---- elementwise, one source
NEG = _unary("neg", np.negative, {"iu": "({t})(0 - ({u}){0})", "fc": "-{0}"}, "involution", dtypes="iufc",
             grad=lambda gc, g, y, x: (-g,))
ABS = _unary("abs", np.abs, {"u": "{0}", "i": "gc_abs_{t}({0})", "f": "gc_fabs_{t}({0})", "c": "gc_cabs_{t}({0})"},
             result=_real, dtypes="iufc", grad=d.magnitude)
SIGN = _unary("sign", lambda x: np.sign(x) + np.zeros((), x.dtype),   # 0.0 for -0.0, of bfloat16 too
              {"iu": "({t})(({0} > 0) - ({0} < 0))", "f": "gc_sign_{t}({0})", "c": "gc_csign_{t}({0})"},
              dtypes="iufc", cost=2, grad=d.sign)
SQRT = _unary("sqrt", np.sqrt, {"f": "gc_sqrt_{t}({0})", "c": "gc_csqrt_{t}({0})"}, dtypes="fc", domain="positive",
              cost=6, grad=lambda gc, g, y, x: (g / (2 * d.conj(y)),))


def _math(name, f, domain="any", dtypes="fc", grad=None, marked=False):
    return _unary(name, f, {"f": f"gc_{name}_{{t}}({{0}})", "c": f"gc_c{name}_{{t}}({{0}})"},
                  dtypes=dtypes, domain=domain, cost=12, grad=grad, marked=marked)


def _erf(x):
    from scipy.special import erf
    return erf(x) if x.dtype in (np.float32, np.float64) else erf(x.astype(np.float32)).astype(x.dtype)


EXP = _math("exp", np.exp, "small", grad=lambda gc, g, y, x: (g * d.conj(y),), marked=True)
EXP2 = _math("exp2", np.exp2, "small", dtypes="f", grad=d.exp2)
EXPM1 = _math("expm1", np.expm1, "small", grad=lambda gc, g, y, x: (g * d.conj(y + 1),))
LOG = _math("log", np.log, "positive", grad=lambda gc, g, y, x: (g / d.conj(x),), marked=True)
LOG2 = _math("log2", np.log2, "positive", grad=d.logarithm(2), marked=True)
LOG10 = _math("log10", np.log10, "positive", grad=d.logarithm(10), marked=True)
LOG1P = _math("log1p", meaning.log1p, "positive", grad=lambda gc, g, y, x: (g / d.conj(1 + x),))
SIN = _math("sin", np.sin, grad=lambda gc, g, y, x: (g * d.conj(gc.cos(x)),), marked=True)
COS = _math("cos", np.cos, grad=lambda gc, g, y, x: (-g * d.conj(gc.sin(x)),), marked=True)
TAN = _math("tan", np.tan, grad=lambda gc, g, y, x: (g * d.conj(1 + y * y),))
ASIN = _math("asin", np.arcsin, "unit", grad=lambda gc, g, y, x: (g / d.conj(gc.sqrt(1 - x * x)),))
ACOS = _math("acos", np.arccos, "unit", grad=lambda gc, g, y, x: (-g / d.conj(gc.sqrt(1 - x * x)),))
ATAN = _math("atan", np.arctan, grad=lambda gc, g, y, x: (g / d.conj(1 + x * x),))
CBRT = _math("cbrt", np.cbrt, dtypes="f", grad=lambda gc, g, y, x: (g / (3 * y * y),))
SINH = _math("sinh", np.sinh, "small", grad=lambda gc, g, y, x: (g * d.conj(gc.cosh(x)),))
COSH = _math("cosh", np.cosh, "small", grad=lambda gc, g, y, x: (g * d.conj(gc.sinh(x)),))
TANH = _math("tanh", np.tanh, "small", grad=lambda gc, g, y, x: (g * d.conj(1 - y * y),))
ASINH = _math("asinh", np.arcsinh, grad=lambda gc, g, y, x: (g / d.conj(gc.sqrt(1 + x * x)),))
ACOSH = _math("acosh", np.arccosh, "positive", grad=d.acosh)
ATANH = _math("atanh", np.arctanh, "unit", grad=lambda gc, g, y, x: (g / d.conj(1 - x * x),))
ERF = _math("erf", _erf, "small", dtypes="f", grad=d.erf)
FLOOR = _unary("floor", np.floor, "gc_floor_{t}({0})", dtypes="f")
CEIL = _unary("ceil", np.ceil, "gc_ceil_{t}({0})", dtypes="f")
TRUNC = _unary("trunc", np.trunc, "gc_trunc_{t}({0})", dtypes="f")
ROUND = _unary("round", np.rint, "gc_rint_{t}({0})", dtypes="f")     # half to even
ISNAN = _unary("isnan", np.isnan, {"f": "{0} != {0}", "c": "gc_cisnan_{s}({0})"}, result=_bool, dtypes="fc")
SIGNBIT = _unary("signbit", np.signbit, "gc_signbit_{s}({0})", result=_bool, dtypes="f")
INVERT = _unary("invert", np.invert, {"b": "!{0}", "iu": "({t})~{0}"}, "involution", dtypes="biu")
REAL = _unary("real", np.real, "gc_real_{s}({0})", result=_real, dtypes="c", grad=lambda gc, g, y, x: (g,))
IMAG = _unary("imag", np.imag, "gc_imag_{s}({0})", result=_real, dtypes="c",
              grad=lambda gc, g, y, x: (gc.make_complex(gc.zeros_like(g), g),))
CONJ = _unary("conj", np.conj, "gc_conj_{t}({0})", "involution", dtypes="c", grad=lambda gc, g, y, x: (gc.conj(g),))
# Conversion as NumPy's astype. Rendered by the dialect (float to integer saturates nowhere, as in C).
CAST = _row("cast", 1, ELEMENTWISE, None, meaning.cast, "gc_cast", grad=d.cast)
BITCAST = _row("bitcast", 1, ELEMENTWISE, None, meaning.bitcast, "gc_bitcast")
# The same values as another node, for gradients: a variable of its own; with attrs (bits,), a value that the gradients
# of these `tracked` bits do not pass; with a second source, the value of the first whose gradient goes to the second;
# with attrs (rule, ...) and more sources, the value of the first whose gradient goes to the others by that rule.
# It is no part of a canonical graph: its readers read its first source.
ALIAS = _row("alias", -1, OTHER, _same, lambda attrs, dtype, shape, x, *_: x, grad=d.alias)
# An identity that no pass folds: gradient checkpointing keeps its recomputation apart with it.
FENCE = _row("fence", 1, ELEMENTWISE, _same, _ufunc(np.copy), "{0}", grad=lambda gc, g, y, x: (g,))
# attrs: (n,), or (n, axis) to name it: wraps negative indices, clamps and reports those outside 0..n-1 (IndexError with
# the user's line). (n, errors.CLASSES): labels, of which negative ones are outside.
CHECK_INDEX = _row("check_index", 1, ELEMENTWISE, _same, meaning.check_index, "gc_check_index", dtypes="iu",
                   domain="index", cost=2)

# ---- elementwise, two sources of one dtype
ADD = _binary("add", np.add, {"b": "{0} | {1}", **_wrapping("+")}, grad=lambda gc, g, y, a, b: (g, g),
              marked=True)
SUB = _binary("sub", np.subtract, _wrapping("-"), dtypes="iufc", grad=lambda gc, g, y, a, b: (g, -g),
              marked=True)
MUL = _binary("mul", np.multiply, {"b": "{0} & {1}", "iu": _wrapping("*")["iu"], "f": "{0} * {1}",
                                   "c": "gc_cmul_{t}({0}, {1})"},
                                   grad=lambda gc, g, y, a, b: (g * d.conj(b), g * d.conj(a)), marked=True)
DIV = _binary("div", np.divide, {"f": "{0} / {1}", "c": "gc_cdiv_{t}({0}, {1})"}, dtypes="fc", domain="nonzero", cost=4,
              grad=d.divide, marked=True)
FLOORDIV = _binary("floordiv", np.floor_divide, "gc_floordiv_{t}({0}, {1})", dtypes="iuf", domain="nonzero", cost=8)
REMAINDER = _binary("remainder", np.remainder, "gc_remainder_{t}({0}, {1})", dtypes="iuf", domain="nonzero", cost=8,
                    grad=d.remainder)
FMOD = _binary("fmod", np.fmod, "gc_fmod_{t}({0}, {1})", dtypes="iuf", domain="nonzero", cost=8, grad=d.fmod)
POW = _row("pow", 2, ELEMENTWISE, _same, meaning.power,
           {"iu": "gc_ipow_{t}({0}, {1})", "f": "gc_pow_{t}({0}, {1})", "c": "gc_cpow_{t}({0}, {1})"},
           dtypes="iufc", domain="positive", cost=24, grad=d.power, marked=True)
ATAN2 = _binary("atan2", np.arctan2, "gc_atan2_{t}({0}, {1})", dtypes="f", cost=16, grad=d.atan2)
HYPOT = _binary("hypot", np.hypot, "gc_hypot_{t}({0}, {1})", dtypes="f", cost=12, grad=d.hypot)
# NaN in either operand gives NaN, as in NumPy.
MAXIMUM = _binary("maximum", meaning.extreme(np.maximum),
                  {"b": "{0} | {1}", "iu": "{0} > {1} ? {0} : {1}", "f": "gc_max_{t}({0}, {1})"},
                  dtypes="biuf", grad=d.maximum)
MINIMUM = _binary("minimum", meaning.extreme(np.minimum),
                  {"b": "{0} & {1}", "iu": "{0} < {1} ? {0} : {1}", "f": "gc_min_{t}({0}, {1})"},
                  dtypes="biuf", grad=d.minimum)
COPYSIGN = _binary("copysign", np.copysign, "gc_copysign_{t}({0}, {1})", dtypes="f", grad=d.copysign)
NEXTAFTER = _binary("nextafter", meaning.nextafter, "gc_nextafter_{t}({0}, {1})", dtypes="f", cost=12,
                    grad=lambda gc, g, y, a, b: (g, None))
EQ = _binary("eq", np.equal, {"biuf": "{0} == {1}", "c": "gc_ceq_{s}({0}, {1})"}, result=_bool)
NE = _binary("ne", np.not_equal, {"biuf": "{0} != {1}", "c": "!gc_ceq_{s}({0}, {1})"}, result=_bool)
LT = _binary("lt", np.less, "{0} < {1}", result=_bool, dtypes="biuf")
LE = _binary("le", np.less_equal, "{0} <= {1}", result=_bool, dtypes="biuf")
AND = _binary("and", np.bitwise_and, "({t})({0} & {1})", dtypes="biu")
OR = _binary("or", np.bitwise_or, "({t})({0} | {1})", dtypes="biu")
XOR = _binary("xor", np.bitwise_xor, "({t})({0} ^ {1})", dtypes="biu")
SHL = _binary("shl", np.left_shift, "gc_shl_{t}({0}, {1})", dtypes="iu", domain="shift", cost=2)
SHR = _binary("shr", np.right_shift, "gc_shr_{t}({0}, {1})", dtypes="iu", domain="shift", cost=2)
# Real and imaginary part.
COMPLEX = _row("complex", 2, ELEMENTWISE, None, meaning.make_complex, "gc_complex_{t}({0}, {1})", dtypes="f",
               grad=d.make_complex)
# (key, counter), both uint64, to 64 random bits: Threefry 2x32, 20 rounds (Salmon et al., SC 2011).
THREEFRY = _row("threefry", 2, ELEMENTWISE, _same, meaning.threefry, "gc_threefry({0}, {1})", dtypes="u", cost=60)

# a * b + c, rounded once. Nobody records it: marked products that are added up become it (passes/relax.py).
FMA = _row("fma", 3, ELEMENTWISE, _same, meaning.fma, "gc_fma_{t}({0}, {1}, {2})", dtypes="f", cost=2)

# ---- elementwise, three sources: condition (bool), then two of one dtype
WHERE = _row("where", 3, ELEMENTWISE, _second, _ufunc(np.where), "{0} ? {1} : {2}", grad=d.where)

# ---- movement: attrs say which source element each output element is
RESHAPE = _row("reshape", 1, MOVEMENT, _same, lambda attrs, dtype, shape, x: x.reshape(shape), grad=d.reshape)
PERMUTE = _row("permute", 1, MOVEMENT, _same, lambda attrs, dtype, shape, x: x.transpose(attrs[0]),
               grad=d.permute)      # (axes,)
EXPAND = _row("expand", 1, MOVEMENT, _same, lambda attrs, dtype, shape, x: np.broadcast_to(x, shape), grad=d.expand)
# (starts, steps): out[i] = x[start + i * step], step may be negative
SLICE = _row("slice", 1, MOVEMENT, _same, meaning.strided_slice, grad=d.region_of)
# (befores, fill bytes): out[i] = x[i - before] inside, else the fill
PAD = _row("pad", 1, MOVEMENT, _same, meaning.pad, grad=d.pad)
CONCAT = _row("concat", -1, MOVEMENT, _same,     # (axis,)
              lambda attrs, dtype, shape, *xs: np.concatenate(xs, attrs[0]), grad=d.concat)
# (axis, stride, dilation): axis of n becomes (count, size) at its place:
# out[.., i, j, ..] = x[.., i*stride+j*dilation, ..]
WINDOW = _row("window", 1, MOVEMENT, _same, meaning.window, grad=d.window)

# ---- reductions: attrs (axis, order): one axis is removed. The order "inner" or "outer" names the tree of
# docs/numerics.md and is decided when the op is recorded: inner if it is the last axis.
SUM = _row("sum", 1, REDUCE, _same, meaning.reduction(np.add), combine=ADD, grad=d.total)
PROD = _row("prod", 1, REDUCE, _same, meaning.reduction(np.multiply), combine=MUL, grad=d.product)
MAX = _row("max", 1, REDUCE, _same, meaning.extreme_reduction(np.maximum), combine=MAXIMUM, dtypes="biuf",
           grad=d.extremum)
MIN = _row("min", 1, REDUCE, _same, meaning.extreme_reduction(np.minimum), combine=MINIMUM, dtypes="biuf",
           grad=d.extremum)
# Sum of squared deviations from the mean, by Chan's merge (Chan, Golub & LeVeque 1983).
M2 = _row("m2", 1, REDUCE, _same, meaning.m2, combine=ADD, dtypes="f", grad=d.squared_deviations)

# ---- scans along one axis in rising order: attrs (axis,)
CUMSUM = _row("cumsum", 1, SCAN, _same, meaning.scan(np.add), combine=ADD, grad=d.cumulative_sum)
CUMPROD = _row("cumprod", 1, SCAN, _same, meaning.scan(np.multiply), combine=MUL, grad=d.cumulative_prod)
CUMMAX = _row("cummax", 1, SCAN, _same, meaning.extreme_scan(np.maximum), combine=MAXIMUM, dtypes="biuf",
              grad=d.cumulative_extremum)
CUMMIN = _row("cummin", 1, SCAN, _same, meaning.extreme_scan(np.minimum), combine=MINIMUM, dtypes="biuf",
              grad=d.cumulative_extremum)

# ---- contraction: (..., m, k) and (..., k, n) to (..., m, n); leading axes broadcast
DOT = _row("dot", 2, CONTRACT, _same, meaning.dot, combine=ADD, grad=d.dot, dtypes="iufc", marked=True)
# Scores (..., m, n) and values (..., n, e) to (..., m, e): the softmax of each row of scores times the values, in the
# order of docs/numerics.md. Under the scores, through elementwise operations, stands one SCORES. attrs: (columns,):
# 2 for two columns more, each row's largest score and the sum of its weights before they are divided by that; else 0.
ATTENTION = _row("attention", 2, CONTRACT, _second, meaning.attention, None, "blocks", dtypes="f")
# Weights (..., m, n) and values (..., n, e), perhaps more such pairs: their products, side by side, in the order of
# docs/numerics.md. Under the weights, through elementwise operations and transpositions, stand SCORES.
WEIGHTED = _row("weighted", -1, CONTRACT, _second, meaning.weighted, None, "blocks", dtypes="f")
# (blocks, m, n): its sum over blocks, in the order "outer". Under it, through elementwise operations, stands one
# SCORES.
BLOCKED = _row("blocked", 1, CONTRACT, _same, meaning.blocked, None, "blocks", dtypes="f")
SCORES = _row("scores", 2, PART, _same, meaning.dot, dtypes="if")   # the same sums as DOT

# ---- indexing by data; the indices have passed CHECK_INDEX. attrs (axis,): that axis is replaced by the index's shape
TAKE = _row("take", 2, GATHER, _same, lambda attrs, dtype, shape, x, i: np.take(x, i, attrs[0]), grad=d.take)
# the same with the index's other axes those of the source: numpy.take_along_axis
TAKE_ALONG = _row("take_along", 2, GATHER, _same, lambda attrs, dtype, shape, x, i: np.take_along_axis(x, i, attrs[0]),
                  grad=d.take_along)
# (base, value), attrs (starts, steps): base with that region replaced; value has the region's shape
UPDATE = _row("update", 2, SCATTER, _same, meaning.update, grad=d.update)
# (base (n, ...), index (k,), values (k, ...)), attrs (mode,): "set" (the last wins), "add" (in source order), "maximum"
# or "minimum", on axis 0
SCATTER_ROWS = _row("scatter", 3, SCATTER, _same, meaning.scatter, grad=d.scatter_rows)

# ---- several results
# A function with its own gradient, attrs (rule,): only the way of the gradient, never computed.
CUSTOM = _row("custom", -1, OTHER, None, grad=lambda gc, gs, ys, *srcs: ys[0].node.srcs[0].attrs[0](gs))
# attrs (routine, arguments): dtype and shape are tuples
LIBRARY_CALL = _row("library", -1, LIBRARY, None, meaning.library, grad=d.library)
# Loops: what they do in a turn is an attribute, a Body (ir/body.py); see meaning.py for the attrs. The sources are the
# carried arrays first, then what is sliced, then what stays, arrays before scalars.
LOOP = _row("loop", -1, LIBRARY, None, meaning.loop,               # (body, carried, sliced, turns, reverse)
            grad=d.of_loops("loop"))
WHILE = _row("while", -1, LIBRARY, None, meaning.while_loop,       # (test, body, carried)
             grad=d.of_loops("while_loop"))
IF = _row("if", -1, LIBRARY, None, meaning.branch,                 # (true, false); the first source is the condition
          grad=d.of_loops("branch"))
GET = _row("get", 1, OTHER, None, meaning.get)  # attrs (i,): result i of a multi-output node


def identity(op: Op, dtype: DType) -> np.generic:
    """What changes nothing when ADD, MUL, MAXIMUM or MINIMUM combines it with a number: -0.0 for a sum."""
    if op is MUL:
        value = 1
    elif op is ADD:
        value = {"f": -0.0, "c": complex(-0.0, -0.0)}.get(dtype.kind, 0)
    elif dtype.kind in "iu":
        value = getattr(np.iinfo(dtype.numpy), "min" if op is MAXIMUM else "max")
    else:
        value = -np.inf if op is MAXIMUM else np.inf
    return dtype.numpy.type(value) if dtype.kind != "b" else np.bool_(op in (MUL, MINIMUM))
