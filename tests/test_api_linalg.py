"""Products, einsum and decompositions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, raises, sample
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc
from graphc.ir.node import topological
from graphc.ir.ops import MUL

FLOATS = ["float32", "float64", "complex64", "complex128"]
PAIRS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
         ((2, 3), (5, 3, 4)), ((7, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((1, 1), (1, 1)),
         ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((0,), (0,)), ((65, 33), (33, 17))]


@pytest.mark.parametrize("a, b", PAIRS)
def test_matmul(a, b):
    x, y = sample(a), sample(b, seed=1)
    check(gc.matmul(gc.asarray(x), gc.asarray(y)), np.matmul(x, y))
    check(gc.asarray(x) @ gc.asarray(y), x @ y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", *FLOATS])
def test_matmul_of_every_dtype(dtype):
    x, y = sample((5, 7), dtype), sample((7, 3), dtype, seed=1)
    expected = (x.astype(np.float32) @ y.astype(np.float32)).astype(dtype) if dtype == "float16" else x @ y
    check(gc.matmul(gc.asarray(x), gc.asarray(y)), expected)


@pytest.mark.parametrize("k", [256, 300])
def test_products_of_booleans_do_not_count_in_bytes(k):
    """256 true products made 0, and any other number a byte that is no boolean."""
    x, y = np.ones((9, k), bool), np.ones((k, 20), bool)
    x[0], x[1, 1:] = False, False
    t, u = gc.asarray(x), gc.asarray(y)
    check(t @ u, x @ y)
    check(t @ u[:, 0], x @ y[:, 0])
    check(t[2] @ u[:, 0], x[2] @ y[:, 0])
    check(gc.einsum("ik,kj->ij", t, u), np.einsum("ik,kj->ij", x, y))
    check((t @ u).astype("int32"), (x @ y).astype("int32"))
    check(gc.convolve(t[2], u[:, 0]), np.convolve(x[2], y[:, 0]))


def test_matmul_promotes_and_transposes():
    x, y = sample((4, 3), "int32"), sample((4, 5), "float32")
    check(gc.asarray(x).T @ gc.asarray(y), x.T @ y)
    check((gc.asarray(x) + 1).T @ (gc.asarray(y) * 2), (x + 1).T @ (y * 2))


def test_matmul_errors():
    raises(ValueError, "[matmul] shapes (3, 4) and (5, 6) do not fit: 4 is not 5", gc.matmul, gc.zeros((3, 4)),
           gc.zeros((5, 6)))
    raises(ValueError, "fix: transpose one operand, e.g. a @ b.T", gc.matmul, gc.zeros((3, 4)), gc.zeros((5, 4)))
    raises(ValueError, "a scalar is not a matrix", gc.matmul, gc.zeros((3, 4)), gc.asarray(2.0))
    raises(ValueError, "do not broadcast", gc.matmul, gc.zeros((2, 3, 4)), gc.zeros((3, 4, 5)))


@pytest.mark.parametrize("a, b", [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
                                  ((2, 4, 3), (5, 3, 4))])
def test_dot(a, b):
    x, y = sample(a), sample(b, seed=1)
    check(gc.dot(gc.asarray(x), gc.asarray(y)), np.dot(x, y))


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
def test_products_of_vectors(dtype):
    x, y = sample((4, 3), dtype), sample((4, 3), dtype, seed=1)
    t, u = gc.asarray(x), gc.asarray(y)
    for axis in (-1, -2):
        check(gc.vecdot(t, u, axis=axis), np.vecdot(x, y, axis=axis))
    check(gc.vdot(t, u), np.vdot(x, y))
    check(gc.inner(t, u), np.inner(x, y))
    check(gc.outer(t, u), np.outer(x, y))
    check(gc.kron(t, u), np.kron(x, y))
    check(gc.kron(t, u[0]), np.kron(x, y[0]))
    check(gc.cross(t, u), np.cross(x, y))
    check(gc.cross(t.T, u.T, axis=0), np.cross(x.T, y.T, axis=0))
    raises(ValueError, "[cross] shapes (4,) and (4,) need size 3", gc.cross, t[:, 0], u[:, 0])
    raises(ValueError, "[vecdot] shapes (4, 3) and (2,) do not fit", gc.vecdot, t, u[0, :2])


@pytest.mark.parametrize("axes", [0, 1, 2, ((0,), (1,)), ((1, 0), (0, 1)), ((-1,), (-2,))])
def test_tensordot(axes):
    x, y = sample((3, 3, 3)), sample((3, 3, 3), seed=1)
    check(gc.tensordot(gc.asarray(x), gc.asarray(y), axes=axes), np.tensordot(x, y, axes=axes))
    raises(ValueError, "[tensordot] shapes", gc.tensordot, gc.zeros((2, 3)), gc.zeros((2, 3)), axes=1)


def test_matrix_power():
    x = sample((2, 4, 4))
    for n in (0, 1, 2, 5, -1, -2):
        check(gc.linalg.matrix_power(gc.asarray(x), n), np.linalg.matrix_power(x, n))


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -3, 9, -9])
def test_diagonals(offset):
    for shape in ((3, 4), (4, 3), (2, 3, 3), (1, 1)):
        x = sample(shape)
        t = gc.asarray(x)
        check(gc.linalg.diagonal(t, offset=offset), np.linalg.diagonal(x, offset=offset), exact=True)
        check(gc.linalg.trace(t, offset=offset), np.linalg.trace(x, offset=offset))
        for axes in ((), (0, 1), (-1, 0)):
            check(gc.diagonal(t, offset, *axes), np.diagonal(x, offset, *axes), exact=True)
            check(t.trace(offset, *axes), np.trace(x, offset, *axes))
        check(gc.diag(gc.asarray(x.reshape(-1, shape[-1])), offset), np.diag(x.reshape(-1, shape[-1]), offset))
    check(gc.diag(gc.asarray([1, 2, 3]), offset), np.diag([1, 2, 3], offset), exact=True)


EINSUMS = ["ij,jk->ik", "ij,jk", "ij->ji", "ij->", "ii", "ii->i", "i,i", "i,j->ij", "ij,ij->ij", "ij,ij->",
           "ijk,ikl->ijl", "ijk,jil->kl", "...ij,...jk->...ik", "i...,i...->...", "ij,jk,kl->il", "ij,j->i", "ijj->i",
           "abc,cd,be->ade",
           "b...i,bi->b...", "ij,k->", "ikj,ikj->ij", "aabb->ab", "i,i,i->i", "...->..."]


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts):
    sizes = dict(zip("abcdeijkl", (2, 3, 4, 2, 5, 3, 4, 2, 5), strict=True))
    operands = []
    for n, term in enumerate(subscripts.split("->")[0].split(",")):
        shape = tuple(s for c in term.replace("...", ".") for s in ((2, 3) if c == "." else (sizes[c],)))
        operands.append(sample(shape, seed=n))
    check(gc.einsum(subscripts, *map(gc.asarray, operands)), np.einsum(subscripts, *operands))


def test_einsum_multiplies_in_the_order_with_few_multiplications(backend):
    x, w = sample((300, 5)), sample((300,), seed=1)
    asked = "ti,tj,t->ij", gc.asarray(x), gc.asarray(x), gc.asarray(w)
    least = 300 * 5 + 2 * 300 * 5 * 5       # x times w, then a product
    for optimize, size in ((True, 300 * 5), (False, 300 * 5 * 5)):
        recorded = topological([gc.einsum(*asked, optimize=optimize).node])
        assert [n.size for n in recorded if n.op is MUL] == [size]
    if backend in ("cpu", "reference"):     # groups of work items compute x times w for each of few columns
        assert gc.plan(gc.einsum(*asked)).flops == least < gc.plan(gc.einsum(*asked, optimize=False)).flops
    check(gc.einsum(*asked), np.einsum("ti,tj,t->ij", x, x, w))


def test_einsum_broadcasts_and_refuses():
    x, y = sample((1, 3)), sample((4, 3), seed=1)
    check(gc.einsum("ij,ij->i", gc.asarray(x), gc.asarray(y)), np.einsum("ij,ij->i", x, y))
    check(gc.einsum("...i,...i", gc.asarray(x), gc.asarray(y)), np.einsum("...i,...i", x, y))
    check(gc.einsum("ij,kj->ik", gc.asarray(x[:, :1]), gc.asarray(y)), np.einsum("ij,kj->ik", x[:, :1], y))
    check(gc.einsum("...ij,j", gc.asarray(y[None]), gc.asarray(x[0])), np.einsum("...ij,j", y[None], x[0]))
    raises(ValueError, "label 'j' is both 3 and 4", gc.einsum, "ij,jk", gc.zeros((2, 3)), gc.zeros((4, 2)))
    raises(ValueError, "names 2 operands, but there are 1", gc.einsum, "ij,jk", gc.zeros((2, 3)))
    raises(ValueError, "'ij' does not name the 3 axes", gc.einsum, "ij->i", gc.zeros((2, 3, 4)))
    raises(ValueError, "label 'k' of the result must occur", gc.einsum, "ij->k", gc.zeros((2, 3)))
    raises(ValueError, "holds '1', which is no label", gc.einsum, "i1->i", gc.zeros((2, 3)))
    for shape in ((1, 3), (3, 1), (0, 1), (2, 3)):      # no axis of a diagonal broadcasts
        raises(ValueError, f"label 'i' is both {shape[0]} and {shape[1]} in shape", gc.einsum, "ii->i", gc.ones(shape))
    check(gc.einsum("ii,i->i", gc.asarray(x[:, :1]), gc.asarray(y[0])), np.einsum("ii,i->i", x[:, :1], y[0]))


@given(st.lists(st.text("abcd", min_size=0, max_size=3), min_size=1, max_size=3), st.data())
def test_random_einsums(terms, data):
    sizes = {"a": 2, "b": 3, "c": 1, "d": 4}
    labels = sorted(set("".join(terms)))
    result = "".join(data.draw(st.permutations(labels)))[:data.draw(st.integers(0, len(labels)))]
    subscripts = f"{','.join(terms)}->{result}"
    operands = [sample(tuple(sizes[c] for c in term), seed=n) for n, term in enumerate(terms)]
    check(gc.einsum(subscripts, *map(gc.asarray, operands)), np.einsum(subscripts, *operands))


def square(shape, dtype):
    x = sample(shape, dtype)
    return x + 3 * np.eye(shape[-1], dtype=dtype)


def positive(shape, dtype):
    x = sample(shape, dtype)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 3, 3), (0, 0)])
def test_square_matrices(shape, dtype):
    x = square(shape, dtype)
    t = gc.asarray(x)
    for name in ("inv", "det"):
        check(getattr(gc.linalg, name)(t), getattr(np.linalg, name)(x))
    for found, expected in zip(gc.linalg.slogdet(t), np.linalg.slogdet(x), strict=True):
        check(found, expected)
    for b in (sample(shape[-1:], dtype, 1), sample((*shape[:-1], 2), dtype, 1), sample((5, *shape[:-1], 2), dtype, 1)):
        check(gc.linalg.solve(t, gc.asarray(b)), np.linalg.solve(x, b))
    values, vectors = gc.linalg.eig(t)
    check(t @ vectors, np.asarray(vectors) * np.asarray(values)[..., None, :])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 0)])
def test_hermitian_matrices(shape, dtype):
    x = positive(shape, dtype)
    t = gc.asarray(x)
    check(gc.linalg.cholesky(t), np.linalg.cholesky(x))
    check(gc.linalg.cholesky(t, upper=True), np.linalg.cholesky(x, upper=True))
    check(gc.linalg.eigvalsh(t), np.linalg.eigvalsh(x))
    values, vectors = gc.linalg.eigh(t)
    check(values, np.linalg.eigh(x)[0])
    check((vectors * gc.expand_dims(gc.astype(values, vectors.dtype), -2)) @ gc.conj(vectors.mT), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (1, 1)])
def test_rectangular_matrices(shape, dtype):
    x = sample(shape, dtype)
    t = gc.asarray(x)
    check(gc.linalg.svdvals(t), np.linalg.svdvals(x))
    check(gc.linalg.pinv(t), np.linalg.pinv(x, rtol=None))
    check(gc.linalg.matrix_rank(t), np.linalg.matrix_rank(x))
    for complete in (False, True):
        expected = np.linalg.svd(x, full_matrices=complete)
        found = gc.linalg.svd(t, full_matrices=complete)
        assert [f.shape for f in found] == [e.shape for e in expected]
        expected = np.linalg.qr(x, "complete" if complete else "reduced")
        found = gc.linalg.qr(t, mode="complete" if complete else "reduced")
        assert [f.shape for f in found] == [e.shape for e in expected]
        check(found.Q @ found.R, x)
    u, s, vh = gc.linalg.svd(t, full_matrices=False)
    check((u * gc.expand_dims(gc.astype(s, u.dtype), -2)) @ vh, x)


def test_narrow_and_integer_matrices():
    check(gc.linalg.inv(gc.asarray([[2, 0], [0, 4]])), [[0.5, 0], [0, 0.25]])
    half = gc.linalg.inv(gc.asarray(np.array([[2, 0], [0, 4]], np.float16)))
    assert half.dtype == gc.float16 and half.tolist() == [[0.5, 0], [0, 0.25]]
    x = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    check(gc.linalg.matrix_rank(gc.asarray(x)), 1)
    b = [1.0, 2.0, 3.0]
    check(gc.linalg.lstsq(gc.asarray(x), gc.asarray(b))[0], np.linalg.lstsq(x, b, rcond=None)[0])


@pytest.mark.parametrize("dtype", ["int32", "float16", *FLOATS])
def test_norms(dtype):
    x = sample((2, 3, 4), dtype)
    t = gc.asarray(x)
    wide = x.astype(np.float32) if dtype == "float16" else x
    for ord in (2, 1, 0, 3, np.inf, -np.inf, 0.5):
        for axis in (None, 0, -1, (0, 2)):
            expected = np.linalg.vector_norm(wide, axis=axis, ord=ord)
            check(gc.linalg.vector_norm(t, axis=axis, ord=ord), expected.astype(gc.abs(t * 1.0).dtype.numpy))
    if dtype in ("float16", "int32"):
        return
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for keepdims in (False, True):
            check(gc.linalg.matrix_norm(t, ord=ord, keepdims=keepdims),
                  np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims))
            check(gc.linalg.norm(t, ord, (0, 2), keepdims=keepdims), np.linalg.norm(x, ord, (0, 2), keepdims))
    check(gc.linalg.norm(t), np.linalg.norm(x))
    check(gc.linalg.norm(t, 1, 1), np.linalg.norm(x, 1, 1))


def test_decomposition_errors():
    for name in ("inv", "det", "cholesky", "eigh"):
        raises(ValueError, f"[{name}] the matrices of shape (2, 3) are not square", getattr(gc.linalg, name),
               gc.zeros((2, 3)))
        raises(ValueError, f"[{name}] shape (3,) is not a matrix", getattr(gc.linalg, name), gc.zeros(3))
    raises(ValueError, "[solve] shapes (2, 2) and (3,) do not fit", gc.linalg.solve, gc.zeros((2, 2)), gc.zeros(3))
    with pytest.raises(np.linalg.LinAlgError):
        gc.linalg.inv(gc.zeros((2, 2))).numpy()


@pytest.mark.parametrize("name, rest", [("dot", ()), ("inner", ()), ("tensordot", (0,)), ("outer", ()), ("kron", ())])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float64"])
@pytest.mark.parametrize("shape", [(3,), (), (0,), (2, 2)])
def test_a_number_beside_a_matrix_is_an_array(name, rest, dtype, shape):
    """Its dtype is its own, and not that of the other operand."""
    x = sample(shape, dtype) * np.asarray(100 if dtype == "int8" else 1, dtype)
    for number in (2, True, 1.5, 300):
        check(getattr(gc, name)(gc.asarray(x), number, *rest), getattr(np, name)(x, number, *rest))
        check(getattr(gc, name)(number, gc.asarray(x), *rest), getattr(np, name)(number, x, *rest))


@pytest.mark.parametrize("axes", [[1, 1], [[0, 1], [0, 1]], [[1], [1]], 1, 2, 0])
def test_tensordot_over_axes_in_arrays(axes):
    x, y = sample((3, 3), "float32"), sample((3, 3), "float32", seed=1)
    want = np.tensordot(x, y, axes)
    for make in (np.array, gc.asarray, lambda a: a):
        check(gc.tensordot(gc.asarray(x), gc.asarray(y), axes=make(axes)), want)


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [None, 1, -1, "fro", np.inf])
def test_conditions_of_infinite_and_of_no_matrices(dtype, p):
    for x in (np.full((2, 2), np.inf, dtype), np.stack([np.eye(2, dtype=dtype), np.full((2, 2), np.inf, dtype)]),
              np.zeros((0, 2, 2), dtype)):
        check(gc.linalg.cond(gc.asarray(x), p), np.linalg.cond(x, p), dtype=False)
    for shape in ((0, 0), (3, 0, 0)):
        with pytest.raises(np.linalg.LinAlgError, match=r"\[cond\] matrices of shape") as caught:
            gc.linalg.cond(gc.zeros(shape, dtype=dtype), p)
        assert isinstance(caught.value, ValueError) and "test_api_linalg.py" in str(caught.value)
    if p is not None:
        assert np.isnan(gc.linalg.cond(gc.full((2, 2), gc.nan), p).item())


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize("a, b", [((2,), (2,)), ((4, 2), (2,)), ((3,), (5, 2)), ((4, 1, 2), (5, 3)), ((4, 3), (1, 3)),
                                  ((0, 2), (0, 2)), ((0, 3), (2,))])
def test_cross_of_vectors_of_two_and_three(a, b, dtype):
    x, y = sample(a, dtype), sample(b, dtype, seed=1)
    check(gc.cross(gc.asarray(x), gc.asarray(y)), np.cross(x, y))


def test_cross_along_axes():
    x, y = sample((3, 4)), sample((4, 3), seed=1)
    for options in ({"axisa": 0}, {"axisa": 0, "axisc": 0}, {"axisa": 0, "axisb": 1, "axisc": -2}):
        check(gc.cross(gc.asarray(x), gc.asarray(y), **options), np.cross(x, y, **options))
    check(gc.cross(gc.asarray(x), gc.asarray(x[::-1]), axis=0), np.cross(x, x[::-1], axis=0))
    check(gc.cross(gc.asarray(x), gc.asarray(y), 0, 1, 0), np.cross(x, y, 0, 1, 0))
    raises(ValueError, "need size 3, or 2, along axes -1 and -1", gc.cross, x, x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 2, 2), (2, 0, 0)])
def test_ranks_and_inverses_of_hermitian_matrices(shape, dtype):
    x = sample(shape, dtype)
    x = x + np.conj(np.swapaxes(x, -1, -2))
    x[..., :1, :] = x[..., :, :1] = 0       # so that one eigenvalue is 0
    t = gc.asarray(x)
    check(gc.linalg.pinv(t, 1e-3, hermitian=True), np.linalg.pinv(x, 1e-3, hermitian=True))
    check(gc.linalg.pinv(t, rcond=1e-3), np.linalg.pinv(x, rcond=1e-3))
    check(gc.linalg.matrix_rank(t, hermitian=True, tol=1e-3), np.linalg.matrix_rank(x, hermitian=True, tol=1e-3))
    check(gc.linalg.matrix_rank(t, 0.5), np.linalg.matrix_rank(x, 0.5))
    check(gc.linalg.svd(t, compute_uv=False), np.linalg.svd(x, compute_uv=False))
    check(abs(gc.linalg.qr(t, mode="r")), abs(np.linalg.qr(x, mode="r")))


def test_tolerances_of_matrices():
    x = np.stack([np.eye(2), np.diag([1.0, 0.1])])
    check(gc.linalg.matrix_rank(gc.asarray(x), tol=[2.0, 0.5]), np.linalg.matrix_rank(x, tol=[2.0, 0.5]))
    raises(ValueError, "rtol and rcond are both given", gc.linalg.pinv, x, rcond=0.1, rtol=0.1)
    raises(ValueError, "rtol and tol are both given", gc.linalg.matrix_rank, x, tol=0.1, rtol=0.1)
    raises(ValueError, "are not square", gc.linalg.pinv, gc.ones((2, 3)), hermitian=True)
    raises(ValueError, "mode must be 'reduced', 'complete' or 'r'", gc.linalg.qr, x, "raw")


def test_lstsq_in_the_dtype_of_both():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(5, 2)).astype(np.float32), rng.normal(size=5)
    check(gc.linalg.lstsq(gc.asarray(a), gc.asarray(b)).x, np.linalg.lstsq(a, b, rcond=None)[0])


def test_lstsq_with_a_negative_rcond():
    a, b = np.array([[1.0, 0], [0, 0], [0, 0]]), np.array([1.0, 2, 3])
    found = gc.linalg.lstsq(gc.asarray(a), gc.asarray(b), rcond=-1)
    assert found.x.tolist() == [1, 0] and found.rank.item() == 1


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
def test_cond_of_nan(p):
    assert np.isnan(gc.linalg.cond(gc.asarray([[np.nan, 1], [1, 1.0]]), p).item())
    assert gc.linalg.cond(gc.asarray([[1.0, 1], [1, 1]]), p).item() == np.inf
