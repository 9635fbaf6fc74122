"""The gradients of the library routines (`ir/routines.py`), by name: sorting, Fourier transforms, linear algebra.

A rule is called as `rule(gc, arguments, gs, ys, *srcs)`: the gradients of the results, zeros where nobody read one, the
results and the sources; it returns a gradient for each source. See `ir/derivatives.py` for the conventions. The
formulas for matrices: Giles, *Collected matrix derivative results for forward and reverse mode algorithmic
differentiation* (2008); for complex ones and for decompositions of thin matrices: Boeddeker et al., *On the
computation of complex-valued gradients* (2017), Seeger et al., *Auto-differentiating linear algebra* (2017).
"""
from __future__ import annotations

from graphc.errors import GradientError
from graphc.ir.derivatives import conj


def adjoint(x):
    return conj(x).mT


# ------------------------------------------------------------------------------------------------------------ sorting

def sort(gc, arguments, gs, ys, x):
    axis, descending, _ = arguments
    index = gc.argsort(x, axis=axis, descending=descending, stable=True)
    axis %= x.ndim
    key = tuple(index if a == axis else gc.arange(n).reshape((1,) * a + (n,) + (1,) * (x.ndim - a - 1))
                for a, n in enumerate(x.shape))
    return (gc.zeros_like(x).at[key].set(gs[0]),)


# ------------------------------------------------------------------------------------------------- Fourier transforms

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho", None: "forward"}


def _fitted(gc, g, shape):
    """Cut or padded to this shape, at the ends: what a transform does with its source, turned around."""
    g = g[tuple(slice(0, min(n, m)) for n, m in zip(shape, g.shape, strict=True))]
    return gc.pad(g, [(0, n - m) for n, m in zip(shape, g.shape, strict=True)])


def _whole(gc, g, axes, norm, inverse: bool):
    """The adjoint of a complex transform, whose matrix is symmetric: conj, the same transform, conj."""
    return conj((gc.fft.ifftn if inverse else gc.fft.fftn)(conj(g), axes=axes, norm=norm)) if axes else g


def _resized(x, axis: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:axis], n, *x.shape[axis + 1:])


def _real(gc, g, axis: int, n: int, norm):
    """The adjoint of rfft of length n."""
    return gc.real(gc.fft.fft(conj(_fitted(gc, g, _resized(g, axis, n))), axis=axis, norm=norm))


def _from_half(gc, g, axis: int, norm):
    """The adjoint of irfft: all frequencies but the first, and for even lengths the last, stand for two."""
    n = g.shape[axis]
    found = gc.fft.rfft(g, axis=axis, norm=_OPPOSITE[norm])
    k = gc.arange(n // 2 + 1)
    twice = gc.where((k == 0) | (2 * k == n), 1.0, 2.0).astype(g.dtype)
    return found * twice.reshape(-1, *(1,) * (g.ndim - 1 - axis))


def _fft(inverse: bool):
    def rule(gc, arguments, gs, ys, x):
        _, axes, norm = arguments
        axes = axes if isinstance(axes, tuple) else (axes,)
        return (_fitted(gc, _whole(gc, gs[0], axes, norm, inverse), x.shape),)
    return rule


def _split(arguments, ndim: int):
    """(other axes, the axis of the real transform, its length, norm) of arguments for one axis or several."""
    sizes, axes, norm = arguments
    if not isinstance(axes, tuple):
        sizes, axes = (sizes,), (axes,)
    axes = tuple(a % ndim for a in axes)
    return axes[:-1], axes[-1], sizes[-1], norm


def rfft(gc, arguments, gs, ys, x):
    others, axis, n, norm = _split(arguments, x.ndim)
    return (_fitted(gc, _real(gc, _whole(gc, gs[0], others, norm, False), axis, n, norm), x.shape),)


def irfft(gc, arguments, gs, ys, x):
    others, axis, _, norm = _split(arguments, x.ndim)
    return (_fitted(gc, _whole(gc, _from_half(gc, gs[0], axis, norm), others, norm, True), x.shape),)


def hfft(gc, arguments, gs, ys, x):
    """hfft(x) is irfft(conj(x)) scaled as the opposite norm has it."""
    _, axis, _, norm = _split(arguments, x.ndim)
    return (conj(_fitted(gc, _from_half(gc, gs[0], axis, _OPPOSITE[norm]), x.shape)),)


def ihfft(gc, arguments, gs, ys, x):
    _, axis, n, norm = _split(arguments, x.ndim)
    return (_fitted(gc, _real(gc, conj(gs[0]), axis, n, _OPPOSITE[norm]), x.shape),)


# ----------------------------------------------------------------------------------------------------- linear algebra

def _diagonal(x):
    """The diagonals of a stack of matrices as a stack of vectors."""
    return x.diagonal(axis1=-2, axis2=-1)


def _eye(gc, x):
    return gc.eye(x.shape[-1], dtype=x.dtype)


def _across(gc, w):
    """w_j - w_i off the diagonal, 1 on it."""
    return w.expand_dims(-2) - w.expand_dims(-1) + gc.eye(w.shape[-1], dtype=w.dtype)


def _over(gc, x, size):
    """x / size, and 0 for 0 / 0: values that are equal or 0 matter only to vectors whose gradient is not 0."""
    return x / gc.where((x == 0) & (size == 0), 1, size)


def _on_diagonal(gc, v):
    return v.expand_dims(-1) * gc.eye(v.shape[-1], dtype=v.dtype)


def _solved_right(gc, x, a):
    """x @ inv(a)"""
    return adjoint(gc.linalg.solve(adjoint(a), adjoint(x)))


def cholesky(gc, arguments, gs, ys, x):
    low = ys[0]
    inner = gc.tril(adjoint(low) @ gs[0])
    inner = inner - _eye(gc, inner) * inner / 2
    found = _solved_right(gc, gc.linalg.solve(adjoint(low), inner), low)
    return ((found + adjoint(found)) / 2,)


def inv(gc, arguments, gs, ys, x):
    back = adjoint(ys[0])
    return (-(back @ gs[0] @ back),)


def solve(gc, arguments, gs, ys, a, b):
    x, g = ys[0], gs[0]
    if b.ndim == 1:
        x, g = x.expand_dims(-1), g.expand_dims(-1)
    gb = gc.linalg.solve(adjoint(a), g)
    return -(gb @ adjoint(x)), gb.squeeze(-1) if b.ndim == 1 else gb


def det(gc, arguments, gs, ys, x):
    """By the inverse: a singular matrix raises LinAlgError when the gradient is realized."""
    return ((gs[0] * conj(ys[0]))[..., None, None] * adjoint(gc.linalg.inv(x)),)


def slogdet(gc, arguments, gs, ys, x):
    factor = gs[1]
    if x.dtype.kind == "c":
        turn = gc.imag(conj(gs[0]) * ys[0])
        factor = gc.make_complex(factor, -turn)
    return (factor[..., None, None] * adjoint(gc.linalg.inv(x)),)


def eigh(gc, arguments, gs, ys, x):
    w, v = ys
    inner = _over(gc, adjoint(v) @ gs[1], _across(gc, w).astype(v.dtype))
    inner = inner * (1 - _eye(gc, inner)) + _on_diagonal(gc, gs[0]).astype(v.dtype)
    return (v @ inner @ adjoint(v),)


def eigvalsh(gc, arguments, gs, ys, x):
    v = gc.linalg.eigh(x, *arguments)[1]
    return ((v * gs[0].expand_dims(-2).astype(v.dtype)) @ adjoint(v),)


def eig(gc, arguments, gs, ys, x):
    w, v = ys
    vg = adjoint(v) @ gs[1]
    along = gc.real(_diagonal(vg)).astype(v.dtype)
    inner = _over(gc, vg - adjoint(v) @ v * along.expand_dims(-2), conj(_across(gc, w)))
    inner = inner * (1 - _eye(gc, inner)) + _on_diagonal(gc, gs[0])
    return (gc.linalg.solve(adjoint(v), inner @ adjoint(v)),)


def eigvals(gc, arguments, gs, ys, x):
    v = gc.linalg.eig(x)[1]
    return (gc.linalg.solve(adjoint(v), gs[0].expand_dims(-1) * adjoint(v)),)


def _skew(x):
    return x - adjoint(x)


def svd(gc, arguments, gs, ys, x):
    u, s, vh = ys
    gu, gsigma, gvh = gs
    m, n = x.shape[-2:]
    if arguments[0] and m != n:
        raise GradientError(f"the full singular vectors of a {m} x {n} matrix have no gradient", op="svd",
                            fix="use full_matrices=False")
    wide = s.astype(u.dtype)
    ug, vg = _skew(adjoint(u) @ gu), _skew(vh @ adjoint(gvh))
    inner = _over(gc, ug * wide.expand_dims(-2) + wide.expand_dims(-1) * vg, _across(gc, s * s).astype(u.dtype))
    inner = inner + _on_diagonal(gc, gsigma).astype(u.dtype)
    if u.dtype.kind == "c":
        inner = inner + _on_diagonal(gc, _over(gc, _diagonal(ug), 2 * wide))
    found = u @ inner @ vh
    if m > n:
        scaled = _over(gc, gu, wide.expand_dims(-2))
        found = found + (scaled - u @ (adjoint(u) @ scaled)) @ vh
    if n > m:
        scaled = _over(gc, gvh, wide.expand_dims(-1))
        found = found + u @ (scaled - scaled @ adjoint(vh) @ vh)
    return (found,)


def svdvals(gc, arguments, gs, ys, x):
    u, _, vh = gc.linalg.svd(x, full_matrices=False)
    return (u * gs[0].expand_dims(-2).astype(u.dtype) @ vh,)


def qr(gc, arguments, gs, ys, x):
    q, r = ys
    gq, gr = gs
    m, n = x.shape[-2:]
    if m > n and arguments[0]:
        raise GradientError(f"the complete QR decomposition of a {m} x {n} matrix has no gradient", op="qr",
                            fix="use mode='reduced'")
    if m >= n:
        return (_qr(gc, gq, gr, q, r),)
    rest = x[..., m:]       # A = [X Y], X = Q U: R = [U  Q^H Y]
    left = _qr(gc, gq + rest @ adjoint(gr[..., m:]), gr[..., :m], q, r[..., :m])
    return (gc.concat([left, q @ gr[..., m:]], axis=-1),)


def _qr(gc, gq, gr, q, r):
    inner = gc.triu(gr @ adjoint(r) - adjoint(q) @ gq)
    both = inner + adjoint(inner)
    inner = both - _eye(gc, both) * both / 2
    return _solved_right(gc, gq + q @ inner, adjoint(r))


TABLE = {
    "sort": sort,
    "fft": _fft(False), "ifft": _fft(True), "fftn": _fft(False), "ifftn": _fft(True),
    "rfft": rfft, "rfftn": rfft, "irfft": irfft, "irfftn": irfft, "hfft": hfft, "ihfft": ihfft,
    "cholesky": cholesky, "inv": inv, "solve": solve, "det": det, "slogdet": slogdet, "eigh": eigh,
    "eigvalsh": eigvalsh, "eig": eig, "eigvals": eigvals, "svd": svd, "svdvals": svdvals, "qr": qr,
}
