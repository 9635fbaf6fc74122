"""Discrete Fourier transforms: the namespace gc.fft. All are library calls (PocketFFT on the CPU, in SciPy and NumPy).

Names and meanings are those of numpy.fft and of the Array API. Real input gives complex64 for float32 (and narrower),
complex128 for float64; integers are taken as the default float. `norm` says where the factor 1/n goes: "backward" (to
the inverse), "forward" (to the forward transform) or "ortho" (1/sqrt(n) to both).

Cooley & Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965).
"""
from __future__ import annotations

from collections.abc import Sequence

from graphc.api import record
from graphc.api.axes import a_shape, an_int, ordered_axes
from graphc.api.creation import iota
from graphc.api.library import library
from graphc.api.manipulation import concat, roll
from graphc.api.record import as_tensor, cast, normalize_axis
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.ir import dtype as dt

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

_NORMS = ("backward", "ortho", "forward")


def _operand(x, name: str, norm: str, real: bool):
    x = as_tensor(x)
    if norm not in _NORMS:
        raise ArgumentError(f"norm must be one of {', '.join(_NORMS)}, not {norm!r}", op=name)
    if real and x.dtype.kind == "c":
        raise DTypeError(f"needs real input, not {x.dtype}", op=name, fix="use fft or fftn")
    if x.dtype.kind in "biu":
        return cast(x, dt.default_float())
    return cast(x, x.dtype.accumulator)


def _begun(x, axes: Sequence[int]):
    """x with a zero along axes that are empty, which fills them up as well: NumPy's irfft then reads what is not there.
    """
    if all(x.shape[a] for a in axes):
        return x
    return record.filled(tuple(n or 1 if a in axes else n for a, n in enumerate(x.shape)), 0, x.dtype)


def _one(name: str, x, n, axis, norm, *, real=False, full=None):
    """A transform along one axis; `full` is the default for n where it is not the size of the axis."""
    x = _operand(x, name, norm, real)
    axis = normalize_axis(axis, x.ndim, name)
    if n is None:
        n = x.shape[axis] if full is None else full(x.shape[axis])
    n = an_int(n, name, "n")
    if n < 1:
        raise ShapeError(f"the number of points must be positive, not {n}", op=name)
    return library(name, (n, axis, norm), _begun(x, (axis,)))[0]


def fft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The transform along one axis, cut or filled with zeros to n points first.

    >>> import graphc as gc
    >>> gc.fft.fft(gc.asarray([1.0, 1.0])).tolist()
    [(2+0j), 0j]
    """
    return _one("fft", x, n, axis, norm)


def ifft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The inverse of fft.

    >>> import graphc as gc
    >>> gc.fft.ifft(gc.asarray([2.0, 0.0])).tolist()
    [(1+0j), (1+0j)]
    """
    return _one("ifft", x, n, axis, norm)


def rfft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The first n // 2 + 1 frequencies of real input; the others are their conjugates. Raises DTypeError for complex.

    >>> import graphc as gc
    >>> gc.fft.rfft(gc.asarray([1.0, 2.0, 3.0, 4.0])).shape
    (3,)
    """
    return _one("rfft", x, n, axis, norm, real=True)


def irfft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The inverse of rfft: real output of n points (None: 2 * (size - 1)).

    >>> import graphc as gc
    >>> gc.fft.irfft(gc.fft.rfft(gc.asarray([1.0, 2.0]))).tolist()
    [1.0, 2.0]
    """
    return _one("irfft", x, n, axis, norm, full=lambda m: 2 * (m - 1))


def hfft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The real transform of a signal with Hermitian symmetry, of which the first half is given: n points."""
    return _one("hfft", x, n, axis, norm, full=lambda m: 2 * (m - 1))


def ihfft(x, /, n: int | None = None, axis: int = -1, norm: str = "backward"):
    """The inverse of hfft, of real input."""
    return _one("ihfft", x, n, axis, norm, real=True)


def _several(name: str, x, s, axes, norm, *, real=False, half=False):
    """A transform along several axes; `half`: the last of them has the frequencies of a real signal."""
    x = _operand(x, name, norm, real)
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = tuple(range(x.ndim - count, x.ndim))
    axes = ordered_axes(axes, x.ndim, name)
    if s is None:
        sizes = [x.shape[a] for a in axes]
        if half and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
    else:
        sizes = [s] if isinstance(s, int) else list(s)
    if len(sizes) != len(axes):
        raise ArgumentError(f"{len(sizes)} sizes do not belong to {len(axes)} axes", op=name)
    sizes = a_shape([x.shape[a] if n == -1 else n for n, a in zip(sizes, axes, strict=True)], name)
    if not axes and (real or half):
        raise ShapeError("needs at least one axis", op=name)
    if min(sizes, default=1) < 1:
        raise ShapeError(f"the numbers of points must be positive, not {sizes}", op=name)
    if not axes:
        return cast(x, dt.promote(x.dtype, dt.complex64))
    return library(name, (sizes, axes, norm), _begun(x, axes))[0]


def fftn(x, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"):
    """The transform along several axes (None: all, or the last len(s)), each cut or filled with zeros to its size in s;
    -1 is the size that it has.

    >>> import graphc as gc
    >>> gc.fft.fftn(gc.ones((2, 2))).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return _several("fftn", x, s, axes, norm)


def ifftn(x, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"):
    """The inverse of fftn."""
    return _several("ifftn", x, s, axes, norm)


def rfftn(x, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"):
    """As fftn, of real input: the last axis has its first n // 2 + 1 frequencies.

    >>> import graphc as gc
    >>> gc.fft.rfftn(gc.ones((4, 6))).shape
    (4, 4)
    """
    return _several("rfftn", x, s, axes, norm, real=True)


def irfftn(x, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"):
    """The inverse of rfftn: real output, by default with 2 * (size - 1) points along the last axis."""
    return _several("irfftn", x, s, axes, norm, half=True)


def fft2(x, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"):
    """fftn over the last two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"):
    """ifftn over the last two axes."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfft2(x, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"):
    """rfftn over the last two axes."""
    return rfftn(x, s=s, axes=axes, norm=norm)


def irfft2(x, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"):
    """irfftn over the last two axes."""
    return irfftn(x, s=s, axes=axes, norm=norm)


# ------------------------------------------------------------------------------------------ frequencies and their order


def _counter(n: int, dtype: dt.DType):
    return cast(iota(n), dtype)


def _frequency_dtype(n: int, dtype, name: str) -> tuple[int, dt.DType]:
    n = an_int(n, name, "n")
    dtype = dt.default_float() if dtype is None else dt.as_dtype(dtype)
    if n < 1:
        raise ShapeError(f"the number of points must be positive, not {n}", op=name)
    if dtype.kind != "f":
        raise DTypeError(f"frequencies are real floats, not {dtype}", op=name)
    return n, dtype


def fftfreq(n: int, /, d: float = 1.0, *, dtype=None, device=None):
    """The frequencies of fft, in cycles per unit of the sample distance d: 0, 1, ..., -2, -1 over n * d.

    >>> import graphc as gc
    >>> gc.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    n, dtype = _frequency_dtype(n, dtype, "fftfreq")
    positive = (n + 1) // 2
    counter = concat([_counter(positive, dtype), _counter(n - positive, dtype) - float(n // 2)])
    found = counter * (1.0 / (n * d))
    return found if device is None else record.to_device(found, device)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype=None, device=None):
    """The frequencies of rfft, in cycles per unit of the sample distance d.

    >>> import graphc as gc
    >>> gc.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    n, dtype = _frequency_dtype(n, dtype, "rfftfreq")
    found = _counter(n // 2 + 1, dtype) * (1.0 / (n * d))
    return found if device is None else record.to_device(found, device)


def fftshift(x, /, axes: int | Sequence[int] | None = None):
    """The frequency 0 moved to the middle of each axis.

    >>> import graphc as gc
    >>> gc.fft.fftshift(gc.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    x = as_tensor(x)
    places = ordered_axes(axes, x.ndim, "fftshift")
    return roll(x, tuple(x.shape[a] // 2 for a in places), places) if places else record.anew(x)


def ifftshift(x, /, axes: int | Sequence[int] | None = None):
    """The inverse of fftshift.

    >>> import graphc as gc
    >>> gc.fft.ifftshift(gc.fft.fftshift(gc.arange(5))).tolist()
    [0, 1, 2, 3, 4]
    """
    x = as_tensor(x)
    places = ordered_axes(axes, x.ndim, "ifftshift")
    return roll(x, tuple(-(x.shape[a] // 2) for a in places), places) if places else record.anew(x)
