"""Derives the polynomials of codegen_templates/c/math.c.j2 and prints them: python docs/derive_math.py [exp_float ...].

Every polynomial is the best approximation in the maximum norm with a weight (usually relative error), found by the
exchange method of Remez on a fine grid of Chebyshev points in 60 digits. The coefficients are then rounded to the
format one by one, the lowest power first, and the rest is fitted anew after each, so that later coefficients make up
for the rounding of earlier ones. The reductions of the arguments follow Cody & Waite, Software Manual for the
Elementary Functions (1980), and Muller, Elementary Functions. Needs mpmath.
"""
from __future__ import annotations

import sys

from mpmath import cos, erf, erfc, exp, expm1, ldexp, log, log1p, matrix, mp, mpf, pi, sqrt

mp.dps = 60
POINTS = 600


def minimax(f, low, high, powers, weight, fixed=()):
    """Coefficients of x**p for p in powers that make max |f(x) - sum| * weight(x) least; `fixed`: (power, value)."""
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * POINTS)) for k in range(POINTS)]
    want = [f(x) - sum(c * x**p for p, c in fixed) for x in xs]
    weights = [weight(x) for x in xs]
    n = len(powers)
    chosen = [k * (POINTS - 1) // n for k in range(n + 1)]
    for _ in range(40):
        system, right = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for row, k in enumerate(chosen):
            for column, p in enumerate(powers):
                system[row, column] = xs[k]**p
            system[row, n] = (-1)**row / weights[k]
            right[row] = want[k]
        solved = mp.lu_solve(system, right)
        found, level = list(solved[:n]), abs(solved[n])
        errors = [(w - sum(c * x**p for c, p in zip(found, powers, strict=True))) * g
                  for x, w, g in zip(xs, want, weights, strict=True)]
        extrema = alternating(errors, n + 1)
        if extrema is None or max(map(abs, errors)) <= level * (1 + mpf(10)**-4):
            break
        chosen = extrema
    return found, max(map(abs, errors))


def alternating(errors, count):
    """The places of `count` extrema of alternating sign, the largest; None if there are not so many."""
    runs: list[int] = []
    for k, error in enumerate(errors):
        if runs and errors[runs[-1]] * error > 0:
            runs[-1] = max(runs[-1], k, key=lambda j: abs(errors[j]))
        elif error:
            runs.append(k)
    while len(runs) > count:
        if len(runs) == count + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        else:
            k = min(range(len(runs) - 1), key=lambda j: max(abs(errors[runs[j]]), abs(errors[runs[j + 1]])))
            del runs[k:k + 2]
    return runs if len(runs) == count else None


def rounded(value, bits: int):
    """The nearest number with so many significant bits."""
    _, exponent = mp.frexp(value)
    return ldexp(mp.nint(ldexp(value, bits - exponent)), exponent - bits)


def fit(f, low, high, powers, weight=lambda x: 1, bits=24, fixed=()):
    """Rounded coefficients and the largest weighted error."""
    fixed, powers = list(fixed), list(powers)
    while powers:
        found, _ = minimax(f, mpf(low), mpf(high), powers, weight, fixed)
        fixed.append((powers.pop(0), rounded(found[0], bits)))
    grid = [mpf(low) + (mpf(high) - mpf(low)) * k / 1999 for k in range(2000)]
    return fixed, max(abs(f(x) - sum(c * x**p for p, c in fixed)) * weight(x) for x in grid if x)


def split(value, bits: int, high_bits: int):
    """value = high + low: high has so few bits that its product with a small integer is exact (Cody & Waite)."""
    high = rounded(value, high_bits)
    return high, rounded(value - high, bits)


LN2 = log(mpf(2))
THIRD = mpf(1) / 3


def exp_float():
    """exp(r), |r| <= ln 2: the power of two is taken out in pairs, so that 2**(2 m) = 2**m * 2**m."""
    return fit(exp, -LN2 * 1.001, LN2 * 1.001, range(1, 8), lambda r: exp(-r), fixed=[(0, mpf(1))])


def exp2_float():
    """2**f, |f| <= 1."""
    return fit(lambda f: mpf(2)**f, -1, 1, range(1, 8), lambda f: mpf(2)**-f, fixed=[(0, mpf(1))])


def expm1_float():
    """(exp(r) - 1 - r) / r**2, |r| <= ln 2 / 2, relative to exp(r) - 1."""
    return fit(lambda r: (expm1(r) - r) / r**2, -LN2 * 0.501, LN2 * 0.501, range(6), lambda r: abs(r**2 / expm1(r)))


def log1p_float():
    """(log(1 + f) - f) / f**2, |f| <= 1/3, relative to log(1 + f)."""
    return fit(lambda f: (log1p(f) - f) / f**2, -THIRD, THIRD, range(9), lambda f: abs(f**2 / log1p(f)))


def erf_small_float():
    """erf(x) / x - 1 in x**2, 0 <= x <= 1."""
    return fit(lambda s: erf(sqrt(s)) / sqrt(s) - 1, mpf(10)**-12, 1, range(7), lambda s: sqrt(s) / erf(sqrt(s)))


def erf_large_float():
    """erfc(x)**(1/8) in x - 2.5, 1 <= x <= 4, by the absolute error of its eighth power."""
    root = mpf(1) / 8
    return fit(lambda t: erfc(t + 2.5)**root, -1.5, 1.5, range(8), lambda t: 8 * erfc(t + 2.5)**(7 * root))


def exp_double():
    """exp(r), |r| <= ln 2."""
    return fit(exp, -LN2 * 1.001, LN2 * 1.001, range(1, 14), lambda r: exp(-r), 53, [(0, mpf(1))])


def cube_root_bias():
    """What a third of the bits of x, in units of 2**-23, is taken from, so that y**3 comes nearest to 1 / x. Between
    powers of two bits grow with x, so y is 2**q (1 + f) for 4/3 * 127 + q + f less a third of the exponent of x and of
    its digits; the first is chosen by the largest |1 - x y**3| of a fine grid."""
    grid = [mpf(8)**(mpf(k) / 3000) for k in range(3001)]

    def number(bits):
        return mpf(2)**mp.floor(bits) * (1 + bits - mp.floor(bits))

    def bits_of(x):
        exponent = mp.floor(log(x) / LN2)
        return exponent + x / mpf(2)**exponent - 1

    def largest(shift):
        return max(abs(1 - x * number(shift - bits_of(x) / 3)**3) for x in grid)
    low, high = mpf("-0.2"), mpf("0.1")
    for _ in range(40):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if largest(first) < largest(second) else (first, high)
    return low, largest(low)


def constants():
    """The constants that are split in two, and what a cube root begins with: of bits, float's last 8 shifted out, and
    of double's, the last 32."""
    shift, error = cube_root_bias()
    print(f"cube root: {mp.nstr(shift, 6)}, |h| <= {mp.nstr(error, 4)}")
    for bias, digits in ((127, 15), (1023, 20)):
        print(f"    {mp.nstr((mpf(4) / 3 * bias + shift) * 2**digits, 10)}")
    pairs = {"ln 2, float": split(LN2, 24, 15), "ln 2, double": split(LN2, 53, 41)}
    for name, (high, low) in pairs.items():
        print(f"{name}: {literal(high, 53)} + {literal(low, 53)}")


def literal(value, bits: int) -> str:
    return mp.nstr(value, 9 if bits == 24 else 17, min_fixed=-3)


POLYNOMIALS = {f.__name__: (f, 53 if f.__name__.endswith("double") else 24) for f in (
    exp_float, exp2_float, expm1_float, log1p_float, erf_small_float, erf_large_float, exp_double)}


def main(names) -> None:
    constants()
    for name in names or POLYNOMIALS:
        derive, bits = POLYNOMIALS[name]
        coefficients, error = derive()
        print(f"\n{name}: {(derive.__doc__ or '').strip()}\n    error 2**{mp.nstr(log(error) / LN2, 4)}")
        for power, c in coefficients:
            print(f"    x**{power:<3} {literal(c, bits)}")


if __name__ == "__main__":
    main(sys.argv[1:])
