"""Products of arrays that end where memory does: what reads behind one ends this process, a child of test_direct.py."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

import graphc as gc

libc = ctypes.CDLL(None, use_errno=True)
rng = np.random.default_rng(5)
kept = []       # the memory, which must not be given back while its last page is closed


def guarded(*shape: int, dtype: str, first: bool = False) -> gc.Tensor:
    """Random numbers, the last of which is the last number of a page, or the first one its first; the pages before and
    behind may not be read."""
    values = rng.standard_normal(shape).astype(dtype)
    whole = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, whole + 2 * mmap.PAGESIZE)
    kept.append(memory)
    before = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (before, before + mmap.PAGESIZE + whole):
        assert libc.mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, 0) == 0, os.strerror(ctypes.get_errno())
    offset = mmap.PAGESIZE + (0 if first else whole - values.nbytes)
    array = np.frombuffer(memory, dtype, values.size, offset).reshape(shape)
    array[...] = values
    array.flags.writeable = False
    return gc.asarray(array, copy=False)


def main() -> None:
    for dtype in ("float32", "float64"):
        for rows in (3, 40, 513, 5000):
            for columns in (1, 2, 3, 7, 9, 15, 17, 20, 40, 70):
                x, w, q = (guarded(*shape, dtype=dtype) for shape in ((rows, columns), (columns,), (rows,)))
                half = max(columns // 2, 1)
                right = slice(half - 1, None)
                for product in (x @ w, x.T @ q, x.T @ x, x[::-1].T @ q, x[:, :half].T @ q, x[:, right] @ w[right],
                                (x * 2).T @ q, x.T @ (x * q[:, None])):
                    product.numpy()
        for side in (13, 16, 24, 33):
            a = guarded(7, side, side, dtype=dtype)
            for product in (a @ a, a.mT @ a):
                product.numpy()
        for rows in (5, 7, 13, 17, 29, 77):
            for k, columns in ((3, 4), (3, 3), (5, 4), (6, 2)):
                a, b = guarded(3, rows, k, dtype=dtype), guarded(3, k, columns, dtype=dtype)
                (a @ b).permute_dims((1, 0, 2)).numpy()     # results beside one another of several stacks
                a, b = guarded(2, rows, k, dtype=dtype), guarded(2, columns, k, dtype=dtype)
                gc.einsum("hmk,hnk->mhn", a, b).numpy()
        for k in (4, 5, 6, 7, 9, 13):
            part, x = guarded(k - 3, dtype=dtype, first=True), guarded(1000, k - 3, dtype=dtype, first=True)
            (gc.ones((9, k), dtype=dtype) @ gc.pad(part, ((3, 0),))).numpy()
            (gc.pad(x, ((0, 0), (3, 0))) @ gc.ones((k, 40), dtype=dtype)).numpy()


if __name__ == "__main__":
    main()
    os._exit(0)     # arrays on the closed pages are not for the interpreter to clear
