"""The lines of random programs: each row writes one, or finds that nothing fits (None). See programs.py."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from programs import Writer

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128")
WEIGHTS = (2, 1, 1, 3, 3, 2, 1, 1, 1, 3, 3, 12, 6, 1, 1)

ROWS: list[Callable[[Writer], str | None]] = []
ROW_WEIGHTS: list[float] = []


def row(weight: float):
    def note(function):
        ROWS.append(function)
        ROW_WEIGHTS.append(weight)
        return function
    return note


_UNARY = ("exp log sin cos tanh sqrt abs neg square sigmoid relu gelu floor ceil round trunc sign expm1 log1p erf"
          " isnan isfinite atan cosh asin").split()
_RARE_UNARY = ("acos acosh asinh atanh tan sinh exp2 log2 log10 signbit reciprocal rsqrt isinf isposinf isneginf"
               " logical_not positive degrees radians softplus softsign silu mish elu selu relu6 hardsigmoid hardswish"
               " hardtanh leaky_relu log_sigmoid cbrt").split()
_COMPLEX_UNARY = "abs real imag conj exp sqrt log sin cos tanh square angle negative isnan isfinite sign".split()


@row(12)
def unary(w: Writer) -> str | None:
    name = w.pick("f")
    op = w.random.choice(_UNARY if w.random.random() < 0.7 else _RARE_UNARY)
    return None if name is None else f"-{name}" if op == "neg" else f"gc.{op}({name})"


@row(3)
def unary_of_integers(w: Writer) -> str | None:
    name = w.pick("biu")
    if name is None:
        return None
    ops = ("invert", "logical_not") if w.value(name).dtype.kind == "b" else \
        ("invert", "abs", "negative", "sign", "square", "logical_not", "sqrt", "exp", "reciprocal")
    return f"gc.{w.random.choice(ops)}({name})"


@row(12)
def arithmetic(w: Writer) -> str | None:
    name = w.pick("iufc")
    if name is None:
        return None
    kind = w.value(name).dtype.kind
    op = w.random.choice("+ - * + - * /".split() if kind in "fc" else "+ - * + *".split())
    other = w.scalar(kind) if w.random.random() < 0.3 else w.like(name)
    if kind in "iu" and w.random.random() < 0.1:
        op = "/"
    if w.random.random() < 0.05 and kind != "c":
        return f"{name} ** {w.random.choice(('2', '3', '1', '0', '0.5', '-0.5') if kind == 'f' else ('2', '3', '0'))}"
    return f"{name} {op} {other}" if w.random.random() < 0.7 else f"{other} {op} {name}"


@row(4)
def integer(w: Writer) -> str | None:
    name = w.pick("iu")
    op = w.random.choice("// % & | ^ << >>".split())
    if name is not None and w.random.random() < 0.05:
        return f"gc.{w.random.choice(('gcd', 'lcm'))}({name}, {w.like(name)})"
    return None if name is None else f"{name} {op} {w.like(name)}"


@row(3)
def special_binary(w: Writer) -> str | None:
    name = w.pick("f")
    op = w.random.choice(("atan2", "hypot", "floor_divide", "remainder", "fmod", "logaddexp", "pow", "nextafter",
                          "copysign", "heaviside", "fmax", "fmin", "isclose", "logical_and", "logical_xor",
                          "logaddexp2"))
    return None if name is None else f"gc.{op}({name}, {w.like(name)})"


@row(5)
def compare(w: Writer) -> str | None:
    name = w.pick("biuf")
    op = w.random.choice("< <= > >= == !=".split())
    return None if name is None else f"{name} {op} {w.like(name)}"


@row(4)
def extreme(w: Writer) -> str | None:
    name = w.pick("iuf")
    op = w.random.choice(("maximum", "minimum"))
    return None if name is None else f"gc.{op}({name}, {w.like(name)})"


@row(6)
def where(w: Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    shape = w.value(name).shape
    other = w.new_leaf(w.value(name).dtype.name, [1 if w.random.random() < 0.4 else n for n in shape])
    condition = w.new_leaf("bool", [1 if w.random.random() < 0.4 else n for n in shape])
    if w.random.random() < 0.5 and w.value(name).dtype.kind in "fiu":
        condition = f"{name} > {other}"
    return f"gc.where({condition}, {name}, {other})"


@row(5)
def cast(w: Writer) -> str | None:
    name = w.pick("biuf")
    if name is None:
        return None
    target = w.random.choice([d for d in DTYPES if d != "complex64"])
    if w.value(name).dtype.kind == "f" and target.startswith(("int", "uint")):     # outside the range: undefined
        low = 0 if target.startswith("uint") else -100
        return f"gc.clip(gc.where(gc.isnan({name}), 0, {name}), {low}, 100).astype({target!r})"
    return f"{name}.astype({target!r})"


@row(8)
def sliced(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    return None if name is None else f"{name}[{', '.join(_slice(w, n) for n in w.value(name).shape)}]"


def _slice(w: Writer, n: int) -> str:
    choice = w.random.random()
    if choice < 0.3:
        return ":"
    if choice < 0.4 and n:
        return str(w.random.randrange(-n, n))
    if choice < 0.5:
        return "::-1"
    start, stop = sorted((w.random.randint(0, n), w.random.randint(0, n)))
    step = w.random.choice((1, 1, 2, 3))
    return f"{start}:{stop}:{step}" if w.random.random() < 0.7 else f"{stop}:{start}:-{step}"


@row(6)
def transposed(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 1)
    if name is None:
        return None
    axes = list(range(w.value(name).ndim))
    w.random.shuffle(axes)
    return f"gc.permute_dims({name}, {tuple(axes)})"


@row(6)
def reshaped(w: Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    size, shape = w.value(name).size, []
    for factor in (2, 3, 4, 5, 7, 8, 13, 33):
        if size and size % factor == 0 and w.random.random() < 0.5:
            shape.append(factor)
            size //= factor
    shape.append(size)
    w.random.shuffle(shape)
    if w.random.random() < 0.2:
        shape.insert(w.random.randint(0, len(shape)), 1)
    return f"{name}.reshape({tuple(shape[:5]) if prod(shape[:5]) == w.value(name).size else (-1,)})"


@row(3)
def padded(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    widths = tuple((w.random.randint(0, 2), w.random.randint(0, 2)) for _ in w.value(name).shape)
    return f"gc.pad({name}, {widths}, constant_values={w.random.choice((0, 1))})"


@row(4)
def joined(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    own = w.value(name)
    axis = w.random.randrange(own.ndim)
    fitting = [f"v{k}" for k, t in enumerate(w.values) if t.ndim == own.ndim and t.dtype is own.dtype
               and t.shape[:axis] + t.shape[axis + 1:] == own.shape[:axis] + own.shape[axis + 1:]]
    parts = [name] + [w.random.choice(fitting) for _ in range(w.random.randint(1, 2))]
    if w.random.random() < 0.3:
        shape = [w.random.choice((0, 1, 3)) if k == axis else n for k, n in enumerate(own.shape)]
        parts.append(w.new_leaf(own.dtype.name, shape))
    return f"gc.concat([{', '.join(parts)}], axis={axis})"


@row(5)
def moved(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0)
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    return w.random.choice((
        f"gc.flip({name}, axis={axis})", f"gc.roll({name}, {w.random.randint(-5, 5)}, axis={axis})",
        f"gc.repeat({name}, 2, axis={axis})", f"gc.stack([{name}, {name}], axis={axis})",
        f"gc.expand_dims({name}, axis={axis})", f"gc.tile({name}, 2)"))


@row(2)
def expanded(w: Writer) -> str | None:
    name = w.pick()
    if name is None:
        return None
    shape = [w.random.choice((2, 3)) if n == 1 else n for n in w.value(name).shape]
    return f"gc.broadcast_to({name}, {(*[2] * w.random.randint(0, 1), *shape)})"


@row(2)
def windows(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.shape[-1] >= 3)
    return None if name is None else f"gc.sliding_window_view({name}, {w.random.randint(1, 3)}, axis=-1)"


@row(12)
def reduced(w: Writer) -> str | None:
    op = w.random.choice(("sum", "sum", "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "max"))
    name = w.pick("f" if op in ("mean", "var", "std") else "biufc" if op == "sum" else "iuf")
    if name is None:
        return None
    own = w.value(name)
    axis = w.axes(own.ndim)
    if op in ("max", "min"):
        axes = range(own.ndim) if axis is None else np.atleast_1d(axis)
        if any(own.shape[k] == 0 for k in axes):
            return None
    keep = ", keepdims=True" if w.random.random() < 0.5 else ""
    if w.random.random() < 0.4:      # and what one does with a statistic: compare the rows with it
        return f"{name} - gc.{op}({name}, axis={axis}, keepdims=True)" if op not in ("any", "all") else None
    return f"gc.{op}({name}, axis={axis}{keep})"


@row(5)
def rows(w: Writer) -> str | None:
    name = w.pick("f", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    op = w.random.choice(("softmax", "log_softmax", "logsumexp", "normal"))
    if op == "normal":
        return f"({name} - gc.mean({name}, axis={axis}, keepdims=True)) / gc.sqrt(gc.var({name}, axis={axis}," \
               " keepdims=True) + 1)"
    return f"gc.{op}({name}, axis={axis})"


@row(3)
def positions(w: Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    axis = w.random.choice((None, w.random.randrange(w.value(name).ndim)))
    return f"gc.{w.random.choice(('argmax', 'argmin'))}({name}, axis={axis})"


@row(3)
def running(w: Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0)
    if name is None:
        return None
    op = w.random.choice(("cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min"))
    return f"gc.{op}({name}, axis={w.random.randrange(w.value(name).ndim)})"


@row(4)
def product(w: Writer) -> str | None:
    name = w.pick("iufc", where=lambda t: 0 < t.ndim < 4 and t.shape[-1] <= 2048)
    if name is None:
        return None
    own = w.value(name)
    shape = (own.shape[-1], w.random.choice((1, 2, 5, 9, 65)))
    if prod(own.shape[:-1]) * shape[1] > w.limit or prod(own.shape) * shape[1] > 30 * w.limit:
        return None
    fitting = [f"v{k}" for k, t in enumerate(w.values) if t.dtype is own.dtype and t.ndim == 2 and own.ndim == 2
               and t.shape[0] == own.shape[-1] and own.shape[0] * t.shape[1] <= w.limit]
    return f"{name} @ {w.random.choice(fitting) if fitting else w.new_leaf(own.dtype.name, shape)}"


def _positions(w: Writer, n: int, shape: tuple[int, ...]) -> str:
    """An expression of integer indices below n."""
    line = f"leaf('int64', {shape}, 'plain', {w.seed()}) % {n}"
    return line if w.random.random() < 0.6 else f"{line} - {n}"


@row(4)
def taken(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    own = w.value(name)
    axis = w.random.randrange(own.ndim)
    shape = w.random.choice(((3,), (1,), (2, 3), (), (0,), (7,)))
    if w.random.random() < 0.3 and own.ndim >= 2:
        both = w.random.choice(((4,), (3, 2)))
        return f"{name}[{_positions(w, own.shape[0], both)}, {_positions(w, own.shape[1], both)}]"
    return f"gc.take({name}, {_positions(w, own.shape[axis], shape)}, axis={axis})"


@row(5)
def updated(w: Writer) -> str | None:
    name = w.pick(where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    own = w.value(name)
    if w.random.random() < 0.4:
        kind = "added" if own.dtype.kind in "iuf" and w.random.random() < 0.6 else "assigned"
        value = w.new_leaf(own.dtype.name, (4, *own.shape[1:]))
        return f"{kind}({name}, {_positions(w, own.shape[0], (4,))}, {value})"
    key = ", ".join(_slice(w, n) for n in own.shape)
    region = own[eval(f"np.s_[{key},]", {"np": np})]
    shape = [1 if w.random.random() < 0.2 else n for n in region.shape]
    value = w.scalar(own.dtype.kind) if w.random.random() < 0.2 and own.dtype.kind != "b" \
        else w.new_leaf(own.dtype.name, shape)
    return f"assigned({name}, np.s_[{key},], {value})"


@row(2)
def counted(w: Writer) -> str:
    n = w.random.choice((1, 3, 7, 33))
    dtype = w.random.choice(("float32", "int64", "float64", "int32"))
    return w.random.choice((f"gc.arange({n}, dtype={dtype!r})", f"gc.eye({n}, {min(n, 7)}, dtype={dtype!r})",
                            f"gc.full(({n}, 3), 2, dtype={dtype!r})"))


@row(2)
def complex_parts(w: Writer) -> str | None:
    name = w.pick("c")
    return None if name is None else f"gc.{w.random.choice(_COMPLEX_UNARY)}({name})"


@row(1)
def complex_made(w: Writer) -> str | None:
    name = w.pick("f", where=lambda t: t.dtype.name in ("float32", "float64"))
    return None if name is None else w.random.choice((f"gc.make_complex({name}, {w.like(name)})", f"{name} * 1j"))


@row(4)
def nested_reductions(w: Writer) -> str | None:
    """Statistics that are several reductions, one after the other or side by side."""
    name = w.pick("f", where=lambda t: t.size > 0)
    if name is None:
        return None
    op = w.random.choice("nansum nanmax nanmin nanmean ptp average count_nonzero".split())
    return f"gc.{op}({name}, axis={w.axes(w.value(name).ndim)})"


@row(3)
def along_an_axis(w: Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    n = w.value(name).shape[axis]
    return w.random.choice((
        f"gc.diff({name}, axis={axis})", f"gc.cumulative_sum({name}, axis={axis}, include_initial=True)",
        f"gc.split({name}, [{w.random.randint(0, n)}], axis={axis})[{w.random.randint(0, 1)}]",
        f"gc.unstack({name}, axis={axis})[{w.random.randrange(n)}]", f"gc.moveaxis({name}, {axis}, 0)",
        f"gc.flip(gc.cumulative_sum(gc.flip({name}, axis={axis}), axis={axis}), axis={axis})",
        f"gc.take_along_axis({name}, gc.argmax({name}, axis={axis}, keepdims=True), axis={axis})",
        f"gc.insert({name}, {w.random.randint(0, n)}, 3, axis={axis})",
        f"gc.delete({name}, {sorted({0, n // 2, n - 1})}, axis={axis})",
        f"gc.swapaxes({name}, {axis}, -1)", f"gc.squeeze(gc.expand_dims({name}, {axis}), {axis}) * 1",
        f"gc.pad({name}, {min(n - 1, 2)}, mode={w.random.choice(('edge', 'reflect', 'symmetric', 'wrap'))!r})"))


@row(2)
def by_library(w: Writer) -> str | None:
    name = w.pick("iuf", where=lambda t: t.ndim > 0 and 0 < t.size <= 20_000 and t.dtype.name != "bfloat16")
    if name is None:
        return None
    axis = w.random.randrange(w.value(name).ndim)
    return w.random.choice((
        f"gc.sort({name}, axis={axis})", f"gc.argsort({name}, axis={axis})", f"gc.median({name}, axis={axis})",
        f"gc.topk({name}, 1, axis={axis}).values", f"gc.fft.fft({name}, axis={axis})",
        f"gc.searchsorted(gc.sort(gc.ravel({name})), {name})",
        f"gc.take_along_axis({name}, gc.argsort({name}, axis={axis}), axis={axis})"))


@row(3)
def of_matrices(w: Writer) -> str | None:
    name = w.pick("iufc", where=lambda t: t.ndim >= 2 and t.size <= 4_000)
    if name is None:
        return None
    own = w.value(name)
    batched = w.new_leaf(own.dtype.name, (*own.shape[:-2], own.shape[-1], w.random.choice((1, 3, 8))))
    return w.random.choice((
        f"gc.tril({name}, k={w.random.randint(-2, 2)})", f"gc.triu({name}, k={w.random.randint(-2, 2)})",
        f"gc.diagonal({name}, {w.random.randint(-1, 1)})", f"gc.trace({name})", f"{name} @ {batched}",
        f"gc.matrix_transpose({name}) @ {name}", f"gc.einsum('...ij,...kj->...ik', {name}, {name})",
        f"gc.einsum('...ij->...j', {name})", f"gc.vecdot({name}, {name})"))


@row(2)
def long_products(w: Writer) -> str | None:
    """Contractions over several chunks of k."""
    k, dtype = w.random.choice((512, 513, 1000, 1025, 2049)), w.random.choice(("float32", "float64", "float16"))
    rows, columns = w.random.choice(((1, 1), (3, 2), (1, 5))) if not w.large else w.random.choice(((7, 17), (1, 65)))
    return f"{w.new_leaf(dtype, (rows, k))} @ {w.new_leaf(dtype, (k, columns))}"


@row(2)
def written(w: Writer) -> str | None:
    """Updates under a mask, and at places of one's own in each row."""
    name = w.pick("iuf", where=lambda t: t.ndim > 0 and t.size > 0)
    if name is None:
        return None
    own, zero = w.value(name), w.scalar("i")
    axis = w.random.randrange(own.ndim)
    return w.random.choice((
        f"assigned({name}, {name} > {zero}, {zero})", f"assigned({name}, np.s_[..., None], 1)",
        f"assigned({name}, {name} != {name}, {w.new_leaf(own.dtype.name, own.shape[-1:])}[-1])",
        f"put_along({name}, gc.argmin({name}, axis={axis}, keepdims=True), {zero}, {axis})"))


@row(2)
def drawn(w: Writer) -> str:
    """Random numbers: threefry, bits taken as floats."""
    shape = w.random.choice(((5,), (3, 4), (1,), (0,), (17, 3)))
    draw = w.random.choice((f"random({shape})", f"normal(size={shape})", f"integers(-3, 9, {shape})",
                            f"exponential(size={shape})", f"bernoulli(0.3, {shape})"))
    return f"gc.random.default_rng({w.seed()}).{draw}"


@row(2)
def classes(w: Writer) -> str | None:
    name = w.pick("f", where=lambda t: t.ndim == 2 and t.size > 0)
    if name is None:
        return None
    rows, n = w.value(name).shape
    labels = _positions(w, n, (rows,)).partition(" -")[0]
    return w.random.choice((
        f"gc.cross_entropy({name}, {labels})", f"{name} * gc.one_hot({labels}, {n})",
        f"gc.cross_entropy({name}, {labels}, ignore_index=0, label_smoothing=0.1, reduction='sum')"))


@row(1)
def resized(w: Writer) -> str | None:
    name = w.pick("f", where=lambda t: 3 <= t.ndim <= 5 and 0 < t.size <= 20_000 and min(t.shape) > 0)
    if name is None:
        return None
    ndim = w.value(name).ndim
    mode = w.random.choice(("nearest", "nearest-exact", {3: "linear", 4: "bilinear", 5: "trilinear"}[ndim]))
    sizes = tuple(w.random.choice((1, 2, 5, 2 * n)) for n in w.value(name).shape[2:])
    return f"gc.nn.interpolate({name}, {sizes}, mode={mode!r})"
