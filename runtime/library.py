"""Library steps on the host: sorting, linear algebra and Fourier transforms by NumPy.

A routine gets contiguous input arrays (read-only), output arrays to fill, and its attributes by name. The shapes and
dtypes of the outputs are settled when the program is made; a result of another kind is an error here. What NumPy
raises for the values, such as numpy.linalg.LinAlgError, is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Routine = Callable[..., None]


def _filling(function: Callable[..., Any]) -> Routine:
    """A NumPy function as a routine: its result, or each part of it, goes to the output of the same number."""

    def routine(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], **attrs: Any) -> None:
        result = function(*inputs, **attrs)
        parts = result if isinstance(result, tuple) else (result,)
        for output, part in zip(outputs, parts, strict=True):
            np.copyto(output, part, casting="same_kind")

    return routine


# ------------------------------------------------------------------------------------------------------------ sorting


def _sort(x: np.ndarray, axis: int = -1, descending: bool = False) -> np.ndarray:
    """Sorted values, NaN last in either direction."""
    keys = _sortable(x)
    if not descending:
        return np.sort(keys, axis=axis, kind="stable")
    return _reversed(np.sort(_reversed(keys), axis=axis, kind="stable"))


def _argsort(x: np.ndarray, axis: int = -1, descending: bool = False) -> np.ndarray:
    """Positions of the sorted values. Equal values keep their order in either direction; NaN comes last."""
    keys = _sortable(x)
    return np.argsort(_reversed(keys) if descending else keys, axis=axis, kind="stable")


def _sortable(x: np.ndarray) -> np.ndarray:
    # bfloat16 is no native dtype of NumPy; every one of its values is a float32.
    return x.astype(np.float32) if x.dtype.name == "bfloat16" else x


def _reversed(x: np.ndarray) -> np.ndarray:
    """Values in the opposite order, and back when applied twice. -x has no such meaning for integers and bool."""
    return np.negative(x) if x.dtype.kind in "fc" else np.invert(x)


def _searchsorted(sorted_values: np.ndarray, values: np.ndarray, side: str = "left") -> np.ndarray:
    return np.searchsorted(_sortable(sorted_values), _sortable(values), side=side)


# ----------------------------------------------------------------------------------------------------- linear algebra


def _solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # As in the Array API: b is a vector only if it has one axis, whatever the number of axes of a.
    return np.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


_LINALG = (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "matrix_power",
    "matrix_rank", "norm", "pinv", "qr", "slogdet", "svd", "svdvals", "tensorinv", "tensorsolve",
)  # fmt: skip

_FFT = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
    "fftn", "ifftn", "rfftn", "irfftn",
)  # fmt: skip

ROUTINES: dict[str, Routine] = {
    "sort": _filling(_sort),
    "argsort": _filling(_argsort),
    "searchsorted": _filling(_searchsorted),
    "matmul": _filling(np.matmul),
    "linalg.solve": _filling(_solve),
    **{f"linalg.{name}": _filling(getattr(np.linalg, name)) for name in _LINALG},
    **{f"fft.{name}": _filling(getattr(np.fft, name)) for name in _FFT},
}
