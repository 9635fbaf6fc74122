"""Index algebra: integer expressions over loop axes, simplified by their ranges.

An `Index` is `const + sum(coefficient * atom)`. Atoms are loop axes, floor divisions and remainders by positive
constants, and values read from memory (gathers). Movement operations rewrite the indices of what reads them into
indices of what they read, so that views cost nothing: see `passes/read.py`.

The rules used, for n > 0 and integers q, r:

    (n*q + r) // n  =  q + r // n          (n*q + r) % n  =  r % n
    r // n = 0 and r % n = r               if 0 <= r < n by the ranges
    (g*s + c) // (g*m) = (s + c//g) // m   (x // a) // b = x // (a*b)
"""
from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod

from msgspec import Struct
from msgspec.structs import force_setattr


class Axis(Struct, frozen=True):
    """A loop variable that runs over 0 .. extent-1."""

    name: str
    extent: int

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, max(self.extent - 1, 0)

    def __str__(self) -> str:
        return self.name


class FloorDiv(Struct, frozen=True):
    numerator: Index
    denominator: int

    @property
    def bounds(self) -> tuple[int, int]:
        low, high = self.numerator.bounds
        return low // self.denominator, high // self.denominator

    def __str__(self) -> str:
        return f"({self.numerator})//{self.denominator}"


class Mod(Struct, frozen=True):
    numerator: Index
    denominator: int

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, self.denominator - 1

    def __str__(self) -> str:
        return f"({self.numerator})%{self.denominator}"


class Data(Struct, frozen=True):
    """An index read from memory: `expr` is a kernel expression whose value lies in `bounds`."""

    name: str               # gives terms a fixed order
    expr: object
    bounds: tuple[int, int]

    def __str__(self) -> str:
        return self.name


Atom = Axis | FloorDiv | Mod | Data


class Index(Struct, frozen=True):
    terms: tuple[tuple[Atom, int], ...] = ()   # sorted by the atom's text, no zero coefficients
    const: int = 0
    bounds: tuple[int, int] = (0, 0)            # follows from the others

    def __post_init__(self):
        low = high = self.const
        for atom, k in self.terms:
            a, b = atom.bounds
            low += k * (a if k > 0 else b)
            high += k * (b if k > 0 else a)
        force_setattr(self, "bounds", (low, high))

    def __str__(self) -> str:
        parts = [f"{k}*{atom}" if k != 1 else str(atom) for atom, k in self.terms]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)

    @property
    def is_const(self) -> bool:
        return not self.terms

    def coefficient(self, axis: Axis) -> int:
        """The coefficient of an axis that appears at the top level."""
        for atom, k in self.terms:
            if atom == axis:
                return k
        return 0


ZERO = Index()


def constant(value: int) -> Index:
    return Index((), value)


def of(atom: Atom) -> Index:
    """The index that is one atom; an axis of extent 1 is 0."""
    if type(atom) is Axis and atom.extent == 1:
        return ZERO
    return Index(((atom, 1),), 0)


def _build(coefficients: dict, const: int) -> Index:
    terms = [(a, k) for a, k in coefficients.items() if k]
    if len(terms) > 1:
        terms.sort(key=lambda term: str(term[0]))
    return Index(tuple(terms), const)


def add(a: Index, b: Index) -> Index:
    if not b.terms:
        return a if not b.const else Index(a.terms, a.const + b.const)
    if not a.terms:
        return b if not a.const else Index(b.terms, a.const + b.const)
    coefficients = dict(a.terms)
    for atom, k in b.terms:
        coefficients[atom] = coefficients.get(atom, 0) + k
    return _build(coefficients, a.const + b.const)


def mul(a: Index, k: int) -> Index:
    if k == 1:
        return a
    if k == 0:
        return ZERO
    return Index(tuple((atom, c * k) for atom, c in a.terms), a.const * k)


def shift(a: Index, offset: int) -> Index:
    return a if offset == 0 else Index(a.terms, a.const + offset)


def _split(a: Index, n: int) -> tuple[Index, Index]:
    """a = n * quotient + rest, taking out of each coefficient what n divides (towards zero)."""
    quotient, rest = {}, {}
    for atom, k in a.terms:
        q = abs(k) // n * (1 if k > 0 else -1)
        quotient[atom], rest[atom] = q, k - n * q
    return _build(quotient, a.const // n), _build(rest, a.const % n)


def _within(a: Index, n: int) -> tuple[Index, Index, int]:
    """a = g * large + small with 0 <= small < g, where g divides n; 1 if there is no such g."""
    g = gcd(n, *(k for _, k in a.terms if abs(k) != 1))
    if g > 1:
        small = Index(tuple((atom, k) for atom, k in a.terms if abs(k) == 1), a.const % g)
        low, high = small.bounds
        if small.terms and low >= 0 and high < g:
            terms = tuple((atom, k // g) for atom, k in a.terms if abs(k) != 1)
            return Index(terms, a.const // g), small, g
    return a, ZERO, 1


def floordiv(a: Index, n: int) -> Index:
    if n == 1:
        return a
    quotient, rest = _split(a, n)
    low, high = rest.bounds
    if low // n == high // n:
        return shift(quotient, low // n)
    g = gcd(n, *(k for _, k in rest.terms))
    if g > 1:
        rest = Index(tuple((atom, k // g) for atom, k in rest.terms), rest.const // g)
        n //= g
        if n == 1:
            return add(quotient, rest)
    large, small, g = _within(rest, n)
    if g > 1:
        return add(quotient, floordiv(large, n // g))
    if len(rest.terms) == 1 and rest.const == 0 and rest.terms[0][1] == 1 and type(rest.terms[0][0]) is FloorDiv:
        inner = rest.terms[0][0]
        return add(quotient, of(FloorDiv(inner.numerator, inner.denominator * n)))
    return add(quotient, of(FloorDiv(rest, n)))


def mod(a: Index, n: int) -> Index:
    if n == 1:
        return ZERO
    _, rest = _split(a, n)
    low, high = rest.bounds
    if low // n == high // n:
        return shift(rest, -(low // n) * n)
    g = gcd(n, rest.const, *(k for _, k in rest.terms))
    if g > 1 and rest.const % g == 0:
        rest = Index(tuple((atom, k // g) for atom, k in rest.terms), rest.const // g)
        return mul(of(Mod(rest, n // g)), g)
    large, small, g = _within(rest, n)
    return add(mul(mod(large, n // g), g), small) if g > 1 else of(Mod(rest, n))


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def flatten(index: tuple[Index, ...], shape: tuple[int, ...]) -> Index:
    """The row-major position of a multi-index in a contiguous array."""
    total = ZERO
    for i, step in zip(index, strides(shape), strict=True):
        total = add(total, mul(i, step))
    return recombine(total)


def of_axes(axes: tuple[Axis, ...]) -> Index:
    """The position in a space that loops over these axes walk, outermost first."""
    return flatten(tuple(of(axis) for axis in axes), tuple(axis.extent for axis in axes))


def recombine(index: Index) -> Index:
    """Put together again what `unflatten` took apart.

    k*(x % n) + k*n*(x // n) = k*x            k*(x % n) + k*n*((x // n + q) % m) = k*((x + n*q) % (n*m))

    A q is what simplifying x % n has left out of x.
    """
    while any(type(atom) is Mod for atom, _ in index.terms):
        joined = _join_one(index)
        if joined is None:
            break
        index = joined
    return index


def _join_one(index: Index) -> Index | None:
    terms = dict(index.terms)
    for atom, k in index.terms:
        if type(atom) is not Mod:
            continue
        n = atom.denominator
        whole = floordiv(atom.numerator, n)
        for other, c in index.terms:
            if c != k * n or other is atom:
                continue
            if whole == of(other):
                joined = atom.numerator
            elif type(other) is Mod:
                left_out = add(other.numerator, mul(whole, -1))
                if left_out != ZERO and (is_linear(whole) or not is_linear(left_out)):
                    continue
                joined = mod(add(atom.numerator, mul(left_out, n)), n * other.denominator)
            else:
                continue
            rest = {a: c for a, c in terms.items() if a != atom and a != other}
            return add(_build(rest, index.const), mul(joined, k))
    return None


def unflatten(position: Index, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The multi-index of a row-major position."""
    out, size = [], prod(shape)
    for n, step in zip(shape, strides(shape), strict=True):
        i = floordiv(position, step) if n > 1 else ZERO
        out.append(mod(i, n) if n * step < size else i)
    return tuple(out)


def reshape_groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[range, range]]:
    """Pair runs of axes of two shapes with equal products, the shortest runs first: (2,3,4)->(6,4): [0,1]:[0], [2]:[1].

    Axes of extent 1 at the end of a run belong to it. Shapes must hold the same number of elements, more than 0.
    """
    groups, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        i0, j0 = i, j
        a = b = 1
        while True:
            if a == b and (i > i0 or j > j0) and not (a == 1 and (i < len(old) or j < len(new))):
                break
            if (a <= b and i < len(old)) or j >= len(new):
                a *= old[i]
                i += 1
            else:
                b *= new[j]
                j += 1
        while i < len(old) and old[i] == 1:
            i += 1
        while j < len(new) and new[j] == 1:
            j += 1
        groups.append((range(i0, i), range(j0, j)))
    return groups


def through_reshape(index: tuple[Index, ...], new: tuple[int, ...], old: tuple[int, ...]) -> tuple[Index, ...]:
    """The index into an array of shape `old` that an index into its reshape to `new` reads."""
    if prod(old) == 0:
        return (ZERO,) * len(old)
    out: list[Index] = []
    for a, b in reshape_groups(old, new):
        position = flatten(tuple(index[k] for k in b), tuple(new[k] for k in b))
        out.extend(unflatten(position, tuple(old[k] for k in a)))
    return tuple(out)


def substituted(index: Index, instead: Mapping[Axis, Index]) -> Index:
    """An index with others in place of some axes."""
    total = constant(index.const)
    for atom, k in index.terms:
        if type(atom) is FloorDiv:
            value = floordiv(substituted(atom.numerator, instead), atom.denominator)
        elif type(atom) is Mod:
            value = mod(substituted(atom.numerator, instead), atom.denominator)
        else:
            value = instead.get(atom) if type(atom) is Axis else None
        total = add(total, mul(of(atom) if value is None else value, k))
    return recombine(total)


def renamed(index: Index, axis: Axis, name: str) -> Index:
    """An index where an axis is what another name says."""
    return substituted(index, {axis: of(Axis(name, axis.extent))})


def axes_of(index: Index) -> set[Axis]:
    """The loop axes that an index mentions directly (not inside gathered expressions)."""
    found: set[Axis] = set()
    for atom, _ in index.terms:
        if type(atom) is Axis:
            found.add(atom)
        elif type(atom) in (FloorDiv, Mod):
            found |= axes_of(atom.numerator)
    return found


def is_linear(index: Index) -> bool:
    """Whether it is a sum of multiples of axes."""
    return all(type(atom) is Axis for atom, _ in index.terms)


def refinements(index: Index) -> list[tuple[Axis, int]]:
    """Splits (axis, inner extent) that would make divisions in this index vanish: axis//n or axis%n with n | extent.

    Of (axis // a) % n the outer split, at a*n, comes first: what is left may then need none.
    """
    found: list[tuple[Axis, int]] = []
    for atom, _ in index.terms:
        if type(atom) in (FloorDiv, Mod):
            found += _splits(atom.numerator, atom.denominator)
    return found


def _splits(numerator: Index, denominator: int) -> list[tuple[Axis, int]]:
    found: list[tuple[Axis, int]] = []
    for part, k in numerator.terms:
        # With other terms beside it this may not be enough; the caller bounds how often it tries.
        if type(part) is Axis and denominator % k == 0:
            n = abs(denominator // k)
            if 1 < n < part.extent and part.extent % n == 0:
                found.append((part, n))
        elif type(part) is FloorDiv:
            outer = _splits(part.numerator, part.denominator * denominator)
            found += outer or _splits(part.numerator, part.denominator)
        elif type(part) is Mod:
            found += _splits(part.numerator, part.denominator)
    return found
