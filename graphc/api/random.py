"""Random numbers: the namespace gc.random.

Counter-based: element i of a call is Threefry-2x32-20 of the generator's key and (offset + i), so any element can be
computed by any thread, inside any fused kernel (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011). The offset is taken when the call is recorded, so the order of the calls in the program decides the
values and the order in which they are realized does not. Bits, uniforms and integers are equal on every backend.

The functions of this module draw from one default generator, with a key from the operating system until `seed` is
called; `Generator(seed)` has its own stream. Real numbers are float32 unless dtype says otherwise.
"""
from __future__ import annotations

import os
import threading
from math import pi, prod

import numpy as np

from graphc.api.axes import a_shape, an_int
from graphc.api.distributions import Distributions, check, common_size, is_number, real
from graphc.api.elementwise import cos, log, log1p, sqrt
from graphc.api.indexing import take, take_along_axis
from graphc.api.manipulation import slice_axis
from graphc.api.record import as_tensor, binary, cast, normalize_axis, reshape_to, wrap
from graphc.api.reductions import cumulative_sum
from graphc.api.sorting import argsort, searchsorted
from graphc.errors import ArgumentError, DTypeError, ShapeError, TracerError
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.node import const, make
from graphc.tensor import Tensor
from graphc.tracing import Scalar, Trace, current

__all__ = [
    "Generator", "bernoulli", "beta", "binomial", "bits", "chisquare", "choice", "default_generator", "default_rng",
    "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel", "integers", "laplace", "logistic", "lognormal",
    "multinomial", "multivariate_normal", "negative_binomial", "normal", "pareto", "permutation", "permuted",
    "poisson", "power", "rand", "randint", "randn", "random", "rayleigh", "seed", "shuffle", "standard_cauchy",
    "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "wald",
    "weibull",
]

_MASK = 2**64 - 1

# Small constants may be compiled into kernels as literals. Counters start above them, so that the first calls of a
# generator share their kernels with all later ones.
_FIRST = 2**20


def _mixed(seed: int) -> int:
    """A key from a seed: near seeds get unlike keys. The finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _u64(value: int) -> Tensor:
    return wrap(const(np.uint64(value), dt.uint64))


def _from_state(kind: type[Generator], state: tuple[int, int]) -> Generator:
    generator = kind(0)
    generator.state = state
    return generator


class Generator(Distributions):
    """A stream of random numbers: a key, and an offset that grows with every number drawn. Safe to share by threads.

    seed: an int; None takes one from the operating system.

    >>> import graphc as gc
    >>> a, b = gc.random.Generator(7), gc.random.Generator(7)
    >>> bool(gc.all(a.uniform(size=5) == b.uniform(size=5)))
    True
    """

    def __init__(self, seed: int | None = None):
        self._lock = threading.RLock()
        self._made_in = current()   # the trace of a jitted function, for which it is a constant
        self.seed(seed)

    def __reduce__(self):
        """A copy, or what another process reads, goes on from here by itself."""
        return _from_state, (type(self), self.state)

    def seed(self, seed: int | None = None) -> None:
        """Start again, with the key of this seed. Not inside a function that jit traces (TracerError)."""
        if seed is None:
            self._outside_of_traces("a seed from the operating system")
            seed = int.from_bytes(os.urandom(8), "little")
        self.state = (_mixed(an_int(seed, "seed", "a seed")), _FIRST)

    def _outside_of_traces(self, what: str, trace: Trace | None = None) -> None:
        if current() is not trace:
            raise TracerError(f"{what} would be the same at each call of the jitted function", op="random",
                              fix="seed the generator, and read or set its state, outside of the function")

    @property
    def state(self) -> tuple[int, int]:
        """(key, offset): assign it to come back to this place of the stream."""
        self._outside_of_traces("the state of a generator", self._made_in)
        with self._lock:
            return self._key, self._offset

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._outside_of_traces("the state of a generator", self._made_in)
        key, offset = state
        with self._lock:
            self._key, self._offset = int(key) & _MASK, int(offset) & _MASK

    def advance(self, count: int) -> tuple[int, int]:
        """The state from which the next `count` numbers come. The generator goes on behind them."""
        with self._lock:
            key, offset = self._key, self._offset
            self._offset = (offset + count) & _MASK
        return key, offset

    def retreat(self, state: tuple[int, int], count: int) -> None:
        """Give these numbers back, unless others have been drawn since."""
        key, offset = state
        with self._lock:
            if (self._key, self._offset) == (key, (offset + count) & _MASK):
                self._offset = offset

    # ---- bits

    def bits(self, size=()) -> Tensor:
        """64 random bits for each element, as uint64.

        >>> import graphc as gc
        >>> gc.random.Generator(0).bits(3).dtype
        graphc.uint64
        """
        shape = a_shape(size, "random")
        n = prod(shape)
        trace = current()
        if trace is None or trace is self._made_in:
            key, offset = map(_u64, self.advance(n))
        else:
            key, offset = map(wrap, trace.draw(self, n))
        counter = binary(ops.ADD, wrap(make(ops.IOTA, dt.uint64, (n,))), offset, "random")
        return reshape_to(binary(ops.THREEFRY, key, counter, "random"), shape)

    def _unit(self, shape: tuple[int, ...], dtype: dt.DType) -> Tensor:
        """Uniform in [0, 1), on the grid of 2**-24 (float64: 2**-53)."""
        bits = self.bits(shape)
        if dtype is dt.float64:
            return cast(bits >> 11, dtype) * 2.0**-53
        # By way of int32: conversions from it are SIMD instructions everywhere.
        return cast(cast(bits >> 40, dt.int32), dt.float32) * 2.0**-24

    # ---- real numbers

    def random(self, size=(), *, dtype=None) -> Tensor:
        """Uniform in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype=dtype)

    def uniform(self, low=0.0, high=1.0, size=None, *, dtype=None) -> Tensor:
        """Uniform between low and high, numbers or tensors; size None: their common shape. float16 may round to high.

        >>> import graphc as gc
        >>> x = gc.random.Generator(0).uniform(-1, 1, (2, 3))
        >>> x.shape, x.dtype, bool(gc.all(gc.abs(x) <= 1))
        ((2, 3), graphc.float32, True)
        """
        dtype = real(dtype, "uniform")
        unit = self._unit(common_size(size, "uniform", low, high), dtype)
        if is_number(low) and is_number(high):
            unit = _scaled_and_moved(unit, _float(high) - _float(low), low)
        else:
            low = cast(as_tensor(low), unit.dtype)
            unit = unit * (cast(as_tensor(high), unit.dtype) - low) + low
        return cast(unit, dtype)

    def normal(self, loc=0.0, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """Normal with mean loc and standard deviation scale, numbers or tensors; size None: their common shape.

        Box & Muller, "A note on the generation of random normal deviates" (1958): sqrt(-2 log u) cos(2 pi v).

        >>> import graphc as gc
        >>> gc.random.Generator(0).normal(size=(2, 3)).shape
        (2, 3)
        """
        dtype = real(dtype, "normal")
        shape = common_size(size, "normal", loc, scale)
        z = self._standard(shape, dtype)
        scale, loc = [x if is_number(x) else cast(as_tensor(x), z.dtype) for x in (scale, loc)]
        return cast(_scaled_and_moved(z, scale, loc), dtype)

    def _standard(self, shape: tuple[int, ...], dtype: dt.DType) -> Tensor:
        if dtype is dt.float64:
            u = cast((self.bits(shape) >> 11) + 1, dtype) * 2.0**-53        # in (0, 1]: never log(0)
            v = self._unit(shape, dtype)
        else:
            bits = self.bits(shape)
            # One word serves both: 32 bits for the radius, which reaches 6.7 deviations, 24 for the angle.
            u = (cast(cast(bits >> 32, dt.uint32), dt.float32) + 0.5) * 2.0**-32
            v = cast(cast(bits & 0xFFFFFF, dt.int32), dt.float32) * 2.0**-24
        return sqrt(log(u) * -2.0) * cos(v * (2 * pi))

    def standard_normal(self, size=(), *, dtype=None) -> Tensor:
        """Normal with mean 0 and standard deviation 1."""
        return self.normal(0.0, 1.0, size, dtype=dtype)

    def exponential(self, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """Exponential with mean `scale`: -scale log(1 - u)."""
        dtype = real(dtype, "exponential")
        unit = self._unit(common_size(size, "exponential", scale), dtype)
        scale = -_float(scale) if is_number(scale) else -cast(as_tensor(scale), unit.dtype)
        return cast(log1p(-unit) * scale, dtype)

    def standard_exponential(self, size=(), *, dtype=None) -> Tensor:
        """Exponential with mean 1."""
        return self.exponential(1.0, size, dtype=dtype)

    def bernoulli(self, p=0.5, size=None) -> Tensor:
        """True with probability p (a number or a tensor), as bool.

        >>> import graphc as gc
        >>> gc.random.Generator(0).bernoulli(1.0, 3).tolist()
        [True, True, True]
        """
        return self._unit(common_size(size, "bernoulli", p), dt.float32) < p

    # ---- integers and orders

    def integers(self, low: int, high: int | None = None, size=(), *, dtype=None, endpoint: bool = False) -> Tensor:
        """Integers from low (0 if only one number is given) up to, without endpoint, high.

        The product of 64 random bits with the width, shifted down: each value is within width / 2**64 of fair (Lemire,
        "Fast random integer generation in an interval", 2019, without its rejection). Raises ArgumentError (a
        ValueError) for an empty interval.

        >>> import graphc as gc
        >>> x = gc.random.Generator(0).integers(1, 6, 100, endpoint=True)
        >>> int(x.min()) >= 1, int(x.max()) <= 6
        (True, True)
        """
        low, high = (0, low) if high is None else (low, high)
        low, high = an_int(low, "integers", "low"), an_int(high, "integers", "high") + bool(endpoint)
        dtype = dt.int64 if dtype is None else dt.as_dtype(dtype)
        if dtype.kind not in "iu":
            raise DTypeError(f"{dtype} is not an integer type", op="integers")
        limits = np.iinfo(dtype.numpy)
        if not low < high:
            raise ArgumentError(f"there is no integer from {low} to below {high}", op="integers")
        if low < limits.min or high - 1 > limits.max:
            raise ArgumentError(f"the interval from {low} to below {high} does not fit {dtype}", op="integers")
        found = _scaled(self.bits(size), high - low)
        # Integer arithmetic wraps around, so adding in uint64 is right for negative numbers too.
        return cast(found + _u64(low & _MASK) if low else found, dtype)

    def permutation(self, x, *, axis: int = 0) -> Tensor:
        """The numbers 0..x-1, or the slices of a tensor along an axis, in random order.

        >>> import graphc as gc
        >>> sorted(gc.random.Generator(0).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if not isinstance(x, Tensor | np.ndarray | list | tuple):
            return argsort(self.bits(an_int(x, "permutation", "x")))
        x = as_tensor(x)
        axis = normalize_axis(axis, x.ndim, "permutation")
        return take(x, argsort(self.bits(x.shape[axis])), axis=axis)

    def permuted(self, x, *, axis: int | None = None) -> Tensor:
        """The elements along an axis in random order, each slice in its own; None: all of x, its shape stays.

        >>> import graphc as gc
        >>> gc.sort(gc.random.Generator(0).permuted(gc.arange(6).reshape(2, 3), axis=1), axis=1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        x = as_tensor(x)
        if axis is None:
            return reshape_to(self.permuted(reshape_to(x, (x.size,)), axis=0), x.shape)
        axis = normalize_axis(axis, x.ndim, "permuted")
        return take_along_axis(x, argsort(self.bits(x.shape), axis), axis)

    def shuffle(self, x: Tensor, *, axis: int = 0) -> None:
        """Let x stand for its slices along an axis in random order."""
        x.assign(self.permutation(x, axis=axis))

    def choice(self, a, size=(), *, replace: bool = True, p=None, axis: int = 0) -> Tensor:
        """Elements of 0..a-1, or slices of a tensor along an axis: independent ones, or each at most once.

        p: the probability of each, relative to their sum; without replacement, to the sum of what is left.

        >>> import graphc as gc
        >>> gc.random.Generator(0).choice(3, 2, p=[0.0, 0.0, 1.0]).tolist()
        [2, 2]
        """
        values = as_tensor(a) if isinstance(a, Tensor | np.ndarray | list | tuple) else None
        n = an_int(a, "choice", "a") if values is None else values.shape[normalize_axis(axis, values.ndim, "choice")]
        shape = a_shape(size, "choice")
        if p is not None:
            check("choice", p)
        if not replace:
            if prod(shape) > n:
                raise ArgumentError(f"{prod(shape)} elements can't be taken from {n} without replacement", op="choice")
            order = self.permutation(n) if p is None else self._race(p, n, prod(shape))
            index = reshape_to(slice_axis(order, 0, 0, prod(shape)), shape)
        elif p is not None:
            index = self._weighted(as_tensor(p), n, shape)
        else:
            index = self.integers(n, size=shape)
        return index if values is None else take(values, index, axis=axis)

    def _race(self, p, n: int, count: int) -> Tensor:
        """All elements in the order of exponential times with rates p: the first to come is drawn with probability p,
        the next one so among the others. Efraimidis & Spirakis, "Weighted random sampling with a reservoir" (2006)."""
        if not isinstance(p, Tensor) and np.count_nonzero(np.asarray(p)) < count:
            raise ArgumentError(f"fewer than {count} elements have a probability that is not 0", op="choice")
        p = cast(as_tensor(p), dt.float64)
        if p.shape != (n,):
            raise ShapeError(f"probabilities of shape {p.shape} do not fit {n} elements", op="choice")
        return argsort(-log(self._inside((n,), dt.float64)) / p)

    def _weighted(self, p: Tensor, n: int, shape: tuple[int, ...]) -> Tensor:
        """Where a uniform number falls among the cumulative probabilities."""
        if p.shape != (n,):
            raise ShapeError(f"probabilities of shape {p.shape} do not fit {n} elements", op="choice")
        bounds = cumulative_sum(cast(p, dt.float64))
        # u < 1, so u * total lies below the total, unless it rounds to it: then the last bound that is reached.
        total = slice_axis(bounds, 0, n - 1, 1)
        inner = slice_axis(bounds, 0, 0, n - 1)
        return searchsorted(inner, self._unit(shape, dt.float64) * reshape_to(total, ()), side="right")


def _float(x):
    return x * 1.0 if isinstance(x, Scalar) else float(x)


def _scaled_and_moved(x: Tensor, scale, shift) -> Tensor:
    """x * scale + shift, for numbers or tensors; without the operations that change nothing."""
    if not (isinstance(scale, int | float) and scale == 1):
        x = x * (_float(scale) if is_number(scale) else scale)
    if not (isinstance(shift, int | float) and shift == 0):
        x = x + (_float(shift) if is_number(shift) else shift)
    return x


def _scaled(bits: Tensor, width: int) -> Tensor:
    """floor(bits * width / 2**64), by 32-bit halves."""
    if width == 2**64:
        return bits
    high, low = bits >> 32, bits & 0xFFFFFFFF
    if width < 2**32:
        return (high * _u64(width) + (low * _u64(width) >> 32)) >> 32
    above, below = _u64(width >> 32), _u64(width & 0xFFFFFFFF)
    carry = (low * below >> 32) + (high * below & 0xFFFFFFFF) + (low * above & 0xFFFFFFFF)
    return high * above + (high * below >> 32) + (low * above >> 32) + (carry >> 32)


# ------------------------------------------------------------------------------------------------ the default generator

def _of_the_process() -> Generator:
    """One that is a constant for no trace, though a jitted function may be the first to ask for this module."""
    found = Generator(int.from_bytes(os.urandom(8), "little"))
    found._made_in = None
    return found


default_generator = _of_the_process()

seed = default_generator.seed
bits = default_generator.bits
random = default_generator.random
uniform = default_generator.uniform
normal = default_generator.normal
standard_normal = default_generator.standard_normal
exponential = default_generator.exponential
bernoulli = default_generator.bernoulli
integers = default_generator.integers
permutation = default_generator.permutation
shuffle = default_generator.shuffle
choice = default_generator.choice
lognormal = default_generator.lognormal
laplace = default_generator.laplace
gumbel = default_generator.gumbel
logistic = default_generator.logistic
rayleigh = default_generator.rayleigh
weibull = default_generator.weibull
pareto = default_generator.pareto
standard_cauchy = default_generator.standard_cauchy
geometric = default_generator.geometric
gamma = default_generator.gamma
standard_gamma = default_generator.standard_gamma
chisquare = default_generator.chisquare
beta = default_generator.beta
dirichlet = default_generator.dirichlet
standard_t = default_generator.standard_t
multivariate_normal = default_generator.multivariate_normal
poisson = default_generator.poisson
binomial = default_generator.binomial
negative_binomial = default_generator.negative_binomial
multinomial = default_generator.multinomial
power = default_generator.power
triangular = default_generator.triangular
wald = default_generator.wald
f = default_generator.f
permuted = default_generator.permuted
standard_exponential = default_generator.standard_exponential


def randint(low: int, high: int | None = None, size=(), *, dtype=None) -> Tensor:
    """Integers from low up to, without, high: NumPy's older name for `integers`."""
    return integers(low, high, size, dtype=dtype)


def rand(*shape: int) -> Tensor:
    """Uniform in [0, 1), with the sizes as arguments."""
    return random(shape)


def randn(*shape: int) -> Tensor:
    """Standard normal, with the sizes as arguments."""
    return standard_normal(shape)


def default_rng(seed: int | None = None) -> Generator:
    """NumPy's name for Generator(seed)."""
    return Generator(seed)
