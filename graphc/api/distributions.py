"""Distributions that are made of uniform and normal numbers: what `Generator` has beside those.

Each is an expression of a fixed number of draws, so that element i depends on the generator's place and on i alone, as
in all of gc.random. Those that reject, do so a fixed number of times. Sums that must not cancel are carried in float64.
"""
from __future__ import annotations

import math

import numpy as np

from graphc.api.activations import softmax
from graphc.api.axes import a_shape, an_int
from graphc.api.creation import arange, asarray
from graphc.api.elementwise import ceil, exp, expm1, log, log1p, maximum, minimum, pow, sign, sqrt, tan, where
from graphc.api.elementwise import abs as abs_
from graphc.api.linalg import cholesky
from graphc.api.loops import while_loop
from graphc.api.manipulation import expand_dims
from graphc.api.products import matmul
from graphc.api.record import as_tensor, broadcast_shapes, cast
from graphc.api.reductions import any as any_
from graphc.api.reductions import cumulative_sum
from graphc.api.reductions import sum as sum_
from graphc.api.sorting import searchsorted
from graphc.errors import ArgumentError, DTypeError, GradientError, ShapeError
from graphc.ir import dtype as dt
from graphc.tensor import Tensor
from graphc.tracing import Scalar

REJECTIONS = 5      # of gamma: a draw is kept with a probability of 0.98 at least, of 10^8 one is what was drawn last
_LEAST = -45.0      # the logarithm of a probability that counts for nothing beside 1


class Distributions:
    """The methods. `bits`, `_unit`, `_standard` are those of Generator."""

    def _inside(self, shape: tuple[int, ...], dtype: dt.DType) -> Tensor:
        """Uniform in (0, 1): the middles of 2**23 steps (float64: 2**52), so that no logarithm is infinite."""
        bits = self.bits(shape)
        if dtype is dt.float64:
            return (cast(bits >> 12, dtype) + 0.5) * 2.0**-52
        return (cast(cast(bits >> 41, dt.int32), dt.float32) + 0.5) * 2.0**-23

    def lognormal(self, mean=0.0, sigma=1.0, size=None, *, dtype=None) -> Tensor:
        """exp of normal numbers with that mean and deviation."""
        return exp(self.normal(mean, sigma, size, dtype=dtype))

    def laplace(self, loc=0.0, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """Density exp(-|x - loc| / scale) / (2 scale)."""
        u, loc, scale, dtype = self._drawn("laplace", size, dtype, loc, scale)
        off = u - 0.5
        return cast(loc - scale * sign(off) * log1p(-2.0 * abs_(off)), dtype)

    def gumbel(self, loc=0.0, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """loc - scale log(-log(u)): the largest of many. Added to logits, its argmax is a draw by their softmax.

        >>> import graphc as gc
        >>> gc.random.Generator(0).gumbel(size=(2, 3)).shape
        (2, 3)
        """
        u, loc, scale, dtype = self._drawn("gumbel", size, dtype, loc, scale)
        return cast(loc - scale * log(-log(u)), dtype)

    def logistic(self, loc=0.0, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """loc + scale log(u / (1 - u))."""
        u, loc, scale, dtype = self._drawn("logistic", size, dtype, loc, scale)
        return cast(loc + scale * (log(u) - log1p(-u)), dtype)

    def rayleigh(self, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """The length of a vector of two normal numbers of deviation `scale`."""
        u, scale, dtype = self._drawn("rayleigh", size, dtype, scale)
        return cast(scale * sqrt(-2.0 * log(u)), dtype)

    def weibull(self, a, size=None, *, dtype=None) -> Tensor:
        """(-log u)**(1 / a)."""
        u, a, dtype = self._drawn("weibull", size, dtype, a)
        return cast(pow(-log(u), 1.0 / a), dtype)

    def pareto(self, a, size=None, *, dtype=None) -> Tensor:
        """u**(-1 / a) - 1, as NumPy's: Lomax."""
        u, a, dtype = self._drawn("pareto", size, dtype, a)
        return cast(expm1(-log(u) / a), dtype)

    def power(self, a, size=None, *, dtype=None) -> Tensor:
        """u**(1 / a): density a x**(a - 1) between 0 and 1."""
        u, a, dtype = self._drawn("power", size, dtype, a)
        return cast(pow(u, 1.0 / a), dtype)

    def triangular(self, left, mode, right, size=None, *, dtype=None) -> Tensor:
        """A density that rises from left to mode and falls to right.

        >>> import graphc as gc
        >>> x = gc.random.Generator(0).triangular(-1.0, 0.0, 2.0, 100)
        >>> bool(gc.all((x >= -1) & (x <= 2)))
        True
        """
        if all(isinstance(x, int | float) for x in (left, mode, right)) and not left <= mode <= right > left:
            raise ArgumentError(f"{left}, {mode} and {right} do not rise", op="triangular")
        u, left, mode, right, dtype = self._drawn("triangular", size, dtype, left, mode, right)
        rise = (mode - left) / (right - left)
        up, down = left + sqrt(u * ((right - left) * (mode - left))), sqrt((1 - u) * ((right - left) * (right - mode)))
        return cast(where(u < rise, up, right - down), dtype)

    def wald(self, mean, scale, size=None, *, dtype=None) -> Tensor:
        """Inverse Gaussian. Michael, Schucany & Haas, "Generating random variates using transformations" (1976).

        Which of two roots is taken jumps with the parameters, so that they have no gradient: GradientError.
        """
        dtype, size = real(dtype, "wald"), common_size(size, "wald", mean, scale)
        mean, scale = wide(mean), wide(scale)
        if mean.node.tracked or scale.node.tracked:
            raise GradientError("draws have no gradient by their parameters", op="wald",
                                fix="stop it: gc.stop_gradient(mean)")
        y = mean * self._standard(size, dt.float64) ** 2 / scale
        x = mean * 2 / (2 + y + sqrt(y * (4 + y)))      # the smaller root, without cancellation
        return cast(where(self._inside(size, dt.float64) <= mean / (mean + x), x, mean * mean / x), dtype)

    def standard_cauchy(self, size=(), *, dtype=None) -> Tensor:
        """tan(pi (u - 1/2))."""
        u, dtype = self._drawn("standard_cauchy", size, dtype)
        return cast(tan((u - 0.5) * math.pi), dtype)

    def geometric(self, p, size=None) -> Tensor:
        """The number of trials up to the first success of probability p, as int64: 1, 2, ..., at most 2**63 - 1."""
        u, p, _ = self._drawn("geometric", size, dt.float64, p)
        found = maximum(ceil(log(u) / log1p(-p)), 1.0)
        most = found >= 2.0**63
        return where(most, 2**63 - 1, cast(where(most, 1.0, found), dt.int64))

    def gamma(self, shape, scale=1.0, size=None, *, dtype=None) -> Tensor:
        """Gamma with that shape and scale, numbers or tensors (float32 unless dtype says otherwise).

        Marsaglia & Tsang, "A simple method for generating gamma variables" (2000).

        >>> import graphc as gc
        >>> bool(gc.all(gc.random.Generator(0).gamma(0.5, size=100) > 0))
        True
        """
        dtype = real(dtype, "gamma")
        size = common_size(size, "gamma", shape, scale)
        return cast(self._gamma(wide(shape), size) * wide(scale), dtype)

    def _gamma(self, shape: Tensor, size: tuple[int, ...]) -> Tensor:
        more, u = self._gamma_parts(shape, size)
        return more * pow(u, 1 / shape)

    def _log_gamma(self, shape: Tensor, size: tuple[int, ...]) -> Tensor:
        """Its logarithm, also where a small shape leaves nothing of it."""
        more, u = self._gamma_parts(shape, size)
        return log(more) + log(u) / shape

    def _gamma_parts(self, shape: Tensor, size: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        d = shape + 2 / 3           # of shape a + 1, where more is kept; times u**(1/a) it has shape a
        c = 1 / sqrt(9 * d)
        found = done = None
        for _ in range(REJECTIONS):
            x, u = self._standard(size, dt.float64), self._inside(size, dt.float64)
            v = pow(1 + c * x, 3)
            kept = (v > 0) & (log(u) < 0.5 * x * x + d - d * v + d * log(where(v > 0, v, 1.0)))
            found, done = (v, kept) if found is None else (where(done, found, where(v > 0, v, found)), done | kept)
        return d * found, self._inside(size, dt.float64)

    def standard_gamma(self, shape, size=None, *, dtype=None) -> Tensor:
        """Gamma with scale 1."""
        return self.gamma(shape, 1.0, size, dtype=dtype)

    def f(self, dfnum, dfden, size=None, *, dtype=None) -> Tensor:
        """The quotient of two mean squares, of dfnum and dfden standard normal numbers: Fisher's distribution."""
        dtype, size = real(dtype, "f"), common_size(size, "f", dfnum, dfden)
        above, below = wide(dfnum), wide(dfden)
        return cast(self._gamma(above / 2, size) / above / (self._gamma(below / 2, size) / below), dtype)

    def chisquare(self, df, size=None, *, dtype=None) -> Tensor:
        """The sum of the squares of df standard normal numbers."""
        check("chisquare", df)
        return self.gamma(wide(df) / 2, 2.0, size, dtype=dtype)

    def beta(self, a, b, size=None, *, dtype=None) -> Tensor:
        """x / (x + y) of x and y that are gamma with shapes a and b.

        >>> import graphc as gc
        >>> x = gc.random.Generator(0).beta(2.0, 3.0, 100)
        >>> bool(gc.all((x > 0) & (x < 1)))
        True
        """
        dtype = real(dtype, "beta")
        size = common_size(size, "beta", a, b)
        x, y = self._log_gamma(wide(a), size), self._log_gamma(wide(b), size)
        return cast(1 / (1 + exp(y - x)), dtype)

    def dirichlet(self, alpha, size=(), *, dtype=None) -> Tensor:
        """(*size, k) for k positive numbers alpha: rows that add up to 1."""
        check("dirichlet", alpha)
        dtype, alpha = real(dtype, "dirichlet"), wide(alpha)
        if alpha.ndim != 1:
            raise ShapeError(f"alpha is a vector, not of shape {alpha.shape}", op="dirichlet")
        x = self._log_gamma(alpha, (*a_shape(size, "dirichlet"), alpha.shape[0]))
        return cast(softmax(x, -1), dtype)

    def standard_t(self, df, size=None, *, dtype=None) -> Tensor:
        """Student's t with df degrees of freedom: a normal number over the root of a mean square."""
        dtype = real(dtype, "standard_t")
        size, df = common_size(size, "standard_t", df), wide(df)
        return cast(self._standard(size, dt.float64) / sqrt(2.0 * self._gamma(df / 2, size) / df), dtype)

    def multivariate_normal(self, mean, cov, size=(), *, dtype=None) -> Tensor:
        """(*size, k): normal vectors with mean (k,) and covariance (k, k), by its Cholesky factor.

        >>> import graphc as gc
        >>> gc.random.Generator(0).multivariate_normal([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]], 5).shape
        (5, 2)
        """
        dtype, mean, cov = real(dtype, "multivariate_normal"), wide(mean), wide(cov)
        if mean.ndim != 1 or cov.shape != mean.shape * 2:
            raise ShapeError(f"mean {mean.shape} and covariance {cov.shape} do not fit", op="multivariate_normal",
                             fix="give (k,) and (k, k)")
        z = self._standard((*a_shape(size, "multivariate_normal"), mean.shape[0]), dt.float64)
        return cast(mean + matmul(cholesky(cov), expand_dims(z, -1))[..., 0], dtype)

    # ---- counts

    def poisson(self, lam=1.0, size=None) -> Tensor:
        """Counts of events, lam on average, a number or a tensor, as int64.

        Where a uniform number falls among the cumulative probabilities: in a table, or, for a tensor, in a loop that
        counts as far as the largest result.

        >>> import graphc as gc
        >>> gc.random.Generator(0).poisson(gc.zeros(3)).tolist()
        [0, 0, 0]
        """
        if isinstance(lam, int | float | np.number):
            return self._counted("poisson", size, _poisson_bounds, lam)
        u, lam = self._unit(common_size(size, "poisson", lam), dt.float64), wide(lam)
        rate = log(maximum(lam, 1e-300))

        def more(state):
            k, _, chance, total = state
            return any_((total <= u) & ((chance > _LEAST) | (k < lam)))

        def count(state):
            k, found, chance, total = state
            found = where((total <= u) & ((chance > _LEAST) | (k < lam)), k + 1, found)
            chance = chance + rate - log(k + 1)
            return k + 1, found, chance, total + exp(chance)
        start = 0.0 * u - lam
        return cast(while_loop(more, count, (as_tensor(np.float64(0)), 0.0 * u, start, exp(start)))[1], dt.int64)

    def binomial(self, n, p, size=None) -> Tensor:
        """How many of n trials succeed, each with probability p, as int64. n and p are numbers or tensors.

        As `poisson`: where a uniform number falls among the cumulative probabilities, in a table or in a loop.

        >>> import graphc as gc
        >>> gc.random.Generator(0).binomial(gc.asarray([4, 9, 0]), gc.asarray([1.0, 0.0, 0.5])).tolist()
        [4, 0, 0]
        """
        if isinstance(n, int | float | np.number) and isinstance(p, int | float | np.number):
            return self._counted("binomial", size, _binomial_bounds, n, p)
        u, n, p = self._unit(common_size(size, "binomial", n, p), dt.float64), wide(n), wide(p)
        rare = minimum(p, 1 - p)        # the loop counts what happens less often
        odds, none = log(maximum(rare, 1e-300)) - log1p(-rare), n * log1p(-rare)

        def pending(total, chance, k):
            return (total <= u) & (k < n) & ((chance > _LEAST) | (k < n * rare))

        def count(state):
            k, found, chance, total = state
            found = where(pending(total, chance, k), k + 1, found)
            chance = chance + odds + log(maximum(n - k, 1.0)) - log(k + 1)
            return k + 1, found, chance, total + exp(chance)
        start = 0.0 * u + none
        found = while_loop(lambda state: any_(pending(state[3], state[2], state[0])), count,
                           (as_tensor(np.float64(0)), 0.0 * u, start, exp(start)))[1]
        return cast(where(p > 0.5, n - found, found), dt.int64)

    def negative_binomial(self, n, p, size=None) -> Tensor:
        """Failures before n successes, each of probability p, as int64: counts of events whose mean is gamma."""
        size = common_size(size, "negative_binomial", n, p)
        p = wide(p)
        return self.poisson(self._gamma(wide(n), size) * ((1 - p) / p))

    def multinomial(self, n: int, pvals, size=()) -> Tensor:
        """(*size, k): how many of n draws fall to each of k classes of these probabilities (k,), as int64.

        What the others leave of 1 is the last one's, as in NumPy; ArgumentError where they are more than 1. They are
        drawn one by one, and counted where they are drawn: n numbers for each result.

        >>> import graphc as gc
        >>> gc.random.Generator(0).multinomial(5, [0.0, 1.0]).tolist()
        [0, 5]
        """
        check("multinomial", pvals)
        p = wide(pvals)
        if p.ndim != 1 or not p.size:
            raise ShapeError(f"probabilities of shape {p.shape} are no vector", op="multinomial")
        if _is_known(pvals) and np.sum(pvals[:-1]) > 1 + 1e-6:
            raise ArgumentError(f"the probabilities but the last add up to {np.sum(pvals[:-1])}", op="multinomial",
                                fix="divide them by their sum")
        u = self._unit((*a_shape(size, "multinomial"), an_int(n, "multinomial", "n")), dt.float64)
        drawn = searchsorted(cumulative_sum(p)[:-1], u, side="right")
        return sum_(cast(expand_dims(drawn, -1) == arange(p.size), dt.int64), -2)

    def _counted(self, name: str, size, bounds, *parameters) -> Tensor:
        for x in parameters:
            if not isinstance(x, int | float | np.number) or isinstance(x, bool):
                raise DTypeError(f"the parameters are numbers, not {type(x).__name__}", op=name,
                                 fix="draw for each value by itself")
        first, below = bounds(*parameters)
        u = self._unit(a_shape(() if size is None else size, name), dt.float64)
        return searchsorted(asarray(below), u, side="right") + first

    def _drawn(self, name: str, size, dtype, *parameters) -> tuple:
        """Uniform numbers in (0, 1) of the size, the parameters beside them, and the dtype asked for."""
        dtype = real(dtype, name)
        u = self._inside(common_size(size, name, *parameters), dtype)
        return (u, *(x if is_number(x) else cast(as_tensor(x), u.dtype) for x in parameters), dtype)


def real(dtype, name: str) -> dt.DType:
    dtype = dt.float32 if dtype is None else dt.as_dtype(dtype)
    if dtype.kind != "f":
        raise DTypeError(f"{dtype} is not a real floating type", op=name)
    return dtype


def is_number(x) -> bool:
    return isinstance(x, int | float | Scalar)


_SCALE, _POSITIVE = ("at least 0", np.greater_equal, np.inf), ("positive", np.greater, np.inf)
_CHANCE, _CHANCE_NOT_0 = ("between 0 and 1", np.greater_equal, 1), ("above 0 and at most 1", np.greater, 1)
# What the parameters of a distribution have to be, in their order: in words, beside 0, and at most. None: any number.
_DOMAINS = {
    "normal": (None, _SCALE), "exponential": (_SCALE,), "laplace": (None, _SCALE), "gumbel": (None, _SCALE),
    "logistic": (None, _SCALE), "rayleigh": (_SCALE,), "weibull": (_POSITIVE,), "pareto": (_POSITIVE,),
    "power": (_POSITIVE,), "wald": (_POSITIVE, _POSITIVE), "geometric": (_CHANCE_NOT_0,),
    "gamma": (_POSITIVE, _SCALE), "f": (_POSITIVE, _POSITIVE), "chisquare": (_POSITIVE,),
    "beta": (_POSITIVE, _POSITIVE), "dirichlet": (_POSITIVE,), "standard_t": (_POSITIVE,),
    "negative_binomial": (_POSITIVE, _CHANCE_NOT_0), "poisson": (_SCALE,), "binomial": (_SCALE, _CHANCE),
    "bernoulli": (_CHANCE,), "multinomial": (_SCALE,), "choice": (_SCALE,),
}


def check(name: str, *parameters) -> None:
    """Raise ArgumentError, as NumPy its ValueError, for parameters that the distribution does not have. Those in
    tensors are not looked at: they may not be computed yet."""
    for x, domain in zip(parameters, _DOMAINS.get(name, ()), strict=False):
        if domain is None or not _is_known(x):
            continue
        words, above, most = domain
        if not np.all(above(x, 0) & np.less_equal(x, most)):
            raise ArgumentError(f"a parameter must be {words}, not {x}", op=name)


def _is_known(x) -> bool:
    if isinstance(x, list | tuple):
        return all(map(_is_known, x))
    return isinstance(x, int | float | np.number | np.ndarray)


def common_size(size, name: str, *parameters) -> tuple[int, ...]:
    """The shape asked for; without one, that of the parameters. Raises ShapeError where these do not fit it."""
    check(name, *parameters)
    shapes = [() if is_number(p) else as_tensor(p).shape for p in parameters]
    if size is None:
        return broadcast_shapes(name, *shapes)
    size = a_shape(size, name)
    if any(shapes) and broadcast_shapes(name, size, *shapes) != size:
        raise ShapeError(f"a size of {size} is not that of parameters of shapes {', '.join(map(str, shapes))}", op=name,
                         fix=f"leave it out, or give one that ends as {broadcast_shapes(name, *shapes)}")
    return size


def wide(x) -> Tensor:
    return cast(as_tensor(x), dt.float64)


_MOST = 1e12        # the variance of counts whose probabilities are put into a table: it has 20 deviations


def _bounds(first: float, steps: np.ndarray) -> tuple[int, np.ndarray]:
    """The least count, and the probabilities of at most that many, but for the last. steps: the logarithms of how much
    more likely each count is than the one before. (Of large counts, factorials would leave no digit of a quotient.)"""
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logs - logs.max())
    return int(first), np.cumsum(chances / chances.sum())[:-1]


def _poisson_bounds(lam: float) -> tuple[int, np.ndarray]:
    if not 0 <= lam < _MOST:
        raise ArgumentError(f"the mean must be between 0 and {_MOST:g}, not {lam}", op="poisson")
    if not lam:
        return 0, np.zeros(0)
    reach = 10 * math.sqrt(lam) + 60
    k = np.arange(max(0.0, math.floor(lam - reach)), math.ceil(lam + reach))
    return _bounds(k[0], math.log(lam) - np.log(k + 1))


def _binomial_bounds(n: int, p: float) -> tuple[int, np.ndarray]:
    if n != int(n) or n < 0 or not 0 <= p <= 1:
        raise ArgumentError(f"needs a whole number of trials and a probability, not {n} and {p}", op="binomial")
    if p in (0, 1) or not n:
        return int(n * p), np.zeros(0)
    if not n * p * (1 - p) < _MOST:
        raise ArgumentError(f"the variance n p (1 - p) must be below {_MOST:g}, not {n * p * (1 - p):g}", op="binomial")
    reach = 10 * math.sqrt(n * p * (1 - p)) + 60
    k = np.arange(max(0.0, math.floor(n * p - reach)), min(float(n), math.ceil(n * p + reach)))
    return _bounds(k[0], np.log((n - k) / (k + 1)) + (math.log(p) - math.log1p(-p)))
