"""matmul: the one way to the DOT primitive, with NumPy's rules for vectors and stacks. A row times a column is a sum
of products instead, which reads both as they lie in memory."""
from __future__ import annotations

from graphc.api import record
from graphc.api.elementwise import multiply
from graphc.api.record import (
    as_tensor,
    broadcast_shapes,
    cast,
    checked_size,
    common_device,
    reduce,
    reshape_to,
    wrap,
)
from graphc.errors import ShapeError, user_site
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.tensor import Tensor


def promoted(name: str, *arrays) -> list:
    """The arrays as tensors of their common dtype. A Python number is an array of its own dtype here, as in NumPy."""
    tensors = [as_tensor(x, None, name, floats=True) for x in arrays]
    common = tensors[0].dtype
    for x in tensors[1:]:
        common = dt.promote(common, x.dtype)
    return [cast(x, common) for x in tensors]


def matmul(x1, x2, /):
    """The matrix product of stacks (..., m, k) and (..., k, n): shape (..., m, n), the leading axes broadcast.

    A vector is a row on the left and a column on the right; its axis is not in the result. float16 and bfloat16 are
    added in float32 and rounded once. Raises ShapeError (a ValueError) if the sizes do not fit, or for a scalar.

    >>> import graphc as gc
    >>> gc.matmul(gc.asarray([[1, 2], [3, 4]]), gc.asarray([1, 1])).tolist()
    [3, 7]
    """
    if x1.__class__ is Tensor and x2.__class__ is Tensor and x1.node.dtype is x2.node.dtype:
        a, b = x1, x2
        left, right = a.node.shape, b.node.shape
        if len(left) == 1 and left == right and a.node.dtype.kind != "b":
            return sum_of_products(a, b, 0)
        if 0 < len(left) <= 2 and 0 < len(right) <= 2 and left[-1] == right[0]:     # no stacks
            rows, columns = left[:-1], right[1:]
            (m,), (n,) = rows or (1,), columns or (1,)
            if m != 1 or n != 1:
                a = a if rows else reshape_to(a, (1, *left))
                b = b if columns else reshape_to(b, (*right, 1))
                found = _dot(a, b, checked_size((m, n), "matmul"))
                return found if rows and columns else reshape_to(found, rows + columns)
    else:
        a, b = promoted("matmul", x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"shapes {a.shape} and {b.shape}: a scalar is not a matrix", op="matmul", fix="use a * b")
    k = b.shape[max(b.ndim - 2, 0)]
    if a.shape[-1] != k:
        fits = b.ndim > 1 and a.shape[-1] == b.shape[-1]
        raise ShapeError(f"shapes {a.shape} and {b.shape} do not fit: {a.shape[-1]} is not {k}", op="matmul",
                         fix="transpose one operand, e.g. a @ b.T" if fits else None)
    row, column = a.ndim == 1, b.ndim == 1
    a = reshape_to(a, (1, k)) if row else a
    b = reshape_to(b, (k, 1)) if column else b
    stack = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    ndim = len(stack) + 2
    a, b = (reshape_to(x, (1,) * (ndim - x.ndim) + x.shape) for x in (a, b))
    if a.shape[-2] == b.shape[-1] == 1 and a.dtype.kind != "b":
        found = sum_of_products(a, b.mT, -1)
        found = reshape_to(found, (*found.shape, 1))
    else:
        found = _dot(a, b, checked_size((*stack, a.shape[-2], b.shape[-1]), "matmul"))
    shape = (*stack, *(() if row else found.shape[-2:-1]), *(() if column else found.shape[-1:]))
    return reshape_to(found, shape)


def sum_of_products(a, b, axis):
    """The sum of a * b, which are of one dtype and broadcast, over one or more axes."""
    own = a.node.dtype
    wide = own.accumulator
    return cast(reduce(ops.SUM, multiply(cast(a, wide), cast(b, wide)), axis, False, wide, "sum"), own)


def _dot(a, b, shape: tuple[int, ...]):
    if a.dtype is dt.bool:      # is one of the products true? What counts them must not wrap
        return cast(_dot(cast(a, dt.int32), cast(b, dt.int32), shape), dt.bool)
    nodes = (a.node, b.node)
    device = common_device("matmul", *nodes)
    return wrap(record.make(ops.DOT, a.dtype, shape, nodes, (), device=device, site=user_site(2)))
