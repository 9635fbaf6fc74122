"""Price of a European call for each (spot, strike, years): elementwise, heavy in log, exp and erf."""
from benchmarks.works import Cost, erf

TITLE = "Black-Scholes 4M"
SIZE, SMALL = (1 << 22,), (1003,)
ATOL = 1e-4     # of prices up to 70, as differences of products that large
RATE, VOLATILITY = 0.02, 0.3


def inputs(random, n):
    return tuple(random.uniform(low, high, n).astype("float32") for low, high in [(10, 100), (10, 100), (0.1, 2)])


def cost(n):
    return Cost(reads=12 * n, writes=4 * n, flops=(4 * 20 + 20) * n)


def array(xp, spot, strike, years):
    cdf = erf(xp)
    width = VOLATILITY * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / width
    d2 = d1 - width
    upper = 0.5 + 0.5 * cdf(d1 * 0.5**0.5)
    lower = 0.5 + 0.5 * cdf(d2 * 0.5**0.5)
    return spot * upper - strike * xp.exp(-RATE * years) * lower


def torch(torch, spot, strike, years):
    return array(torch, spot, strike, years)


def numba(numba):
    import math

    @numba.njit(parallel=True, fastmath=True)
    def call(spot, strike, years):
        out = spot.copy()
        for i in numba.prange(spot.size):
            width = numba.float32(VOLATILITY) * math.sqrt(years[i])
            rate = numba.float32(RATE + 0.5 * VOLATILITY**2)
            d1 = (math.log(spot[i] / strike[i]) + rate * years[i]) / width
            d2 = d1 - width
            half, scale = numba.float32(0.5), numba.float32(0.5**0.5)
            upper = half + half * math.erf(d1 * scale)
            lower = half + half * math.erf(d2 * scale)
            out[i] = spot[i] * upper - strike[i] * math.exp(numba.float32(-RATE) * years[i]) * lower
        return out

    return call
