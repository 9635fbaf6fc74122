"""The NumPy interpreter of the graph: the meaning that every backend is held against.

One node at a time, sources first, each by the NumPy meaning in its row of the op table.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.errors import GraphcError, out_of_range
from graphc.ir.meaning import BadIndex
from graphc.ir.node import Node, const_value, needed, read
from graphc.ir.ops import CONST


def evaluate(nodes: Sequence[Node]) -> list[np.ndarray]:
    """The value of each node, by the reference. Raises IndexOutOfRange with the user's line for a bad index in data.

    Iterative, so that the depth of the graph doesn't matter; an intermediate array is dropped after its last use.
    """
    order = needed(nodes)
    uses = _uses(nodes, order)
    values: dict[Node, np.ndarray | tuple] = {}
    for node in order:
        values[node] = _value(node, values)
        if node.value is None:
            for src in read(node):
                uses[src] -= 1
                if not uses[src]:
                    del values[src]
    return [values[node] for node in nodes]


def _uses(nodes: Sequence[Node], order: list[Node]) -> dict[Node, int]:
    """How often each node is read; a root counts once more, so that it is kept."""
    uses = dict.fromkeys(order, 0)
    for node in order:
        if node.value is None:
            for src in read(node):
                uses[src] += 1
    for node in nodes:
        uses[node] += 1
    return uses


def _value(node: Node, values: dict):
    if node.value is not None:
        return node.value.view(node.dtype.numpy, node.shape)
    if node.op is CONST:
        return np.asarray(const_value(node))
    sources = [values[src] for src in read(node)]
    try:
        result = node.op.numpy(node.attrs, node.dtype, node.shape, *sources)
    except BadIndex as bad:
        site = getattr(bad, "found", (None, node.site))[1]
        raise out_of_range(bad.index, bad.size, bad.axis, "index", site) from None
    except np.linalg.LinAlgError as error:  # its class is what users catch; the text gains what every error has
        op, site = getattr(error, "found", (node.attrs[0], node.site))     # inside a loop, what was found there
        raise type(error)(str(GraphcError(str(error), op=op, site=site))) from None
    if isinstance(result, tuple):
        return result
    result = np.asarray(result)
    if result.dtype != node.dtype.numpy or result.shape != node.shape:
        raise AssertionError(f"{node} gave {result.dtype}{list(result.shape)} by its NumPy meaning")
    return result
