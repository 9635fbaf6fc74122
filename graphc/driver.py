"""Realizing a graph (stopgap: through the NumPy reference)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.ir.node import Node


class Buffer:
    def __init__(self, array: np.ndarray):
        self.array = array

    def view(self, dtype, shape) -> np.ndarray:
        return self.array.view(dtype).reshape(shape)

    @classmethod
    def from_numpy(cls, array: np.ndarray, copy: bool = False) -> Buffer:
        return cls(np.array(array, order="C") if copy else array)


def default_device() -> str:
    return "cpu"


def from_numpy(array: np.ndarray, device: str, copy: bool) -> Buffer:
    """The contiguous array as a buffer on a device; copy=False aliases it where the device is the host."""
    return Buffer.from_numpy(array, copy)


def realize(nodes: Sequence[Node]) -> None:
    from graphc import reference

    pending = [node for node in nodes if node.value is None]
    for node, array in zip(pending, reference.evaluate(pending), strict=True):
        if node.value is None:
            node.fulfil(Buffer(np.ascontiguousarray(array).reshape(array.shape)))
