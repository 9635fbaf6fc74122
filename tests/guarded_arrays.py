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


def guarded(*shape: int, dtype: str) -> gc.Tensor:
    """Random numbers, the last of which is the last number of a page; the page behind it may not be read."""
    values = rng.standard_normal(shape).astype(dtype)
    whole = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, whole + mmap.PAGESIZE)
    kept.append(memory)
    behind = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + whole
    assert libc.mprotect(ctypes.c_void_p(behind), mmap.PAGESIZE, 0) == 0, os.strerror(ctypes.get_errno())
    array = np.frombuffer(memory, dtype, values.size, whole - values.nbytes).reshape(shape)
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


if __name__ == "__main__":
    main()
    os._exit(0)     # arrays on the closed pages are not for the interpreter to clear
