"""Functions that are called on placeholders, once for all turns or examples: the bodies of loops, branches, vmap."""
from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from graphc.api.laziness import unlimited
from graphc.errors import TracerError
from graphc.ir.node import Node
from graphc.pytree import flatten
from graphc.references import references
from graphc.tensor import Tensor, history, rebinding
from graphc.tracing import current

_FIXES = {
    "scan": "carry it: start with it in init, and return its new value in the carry",
    "while_loop": "carry it: start with it in init_val, and return its new value",
    "cond": "return its new value from both functions, and assign that behind the call",
    "vmap": "return what is to be assigned, and assign it behind the call, e.g. its mean over the examples",
}


def called(name: str, f: Callable, args: list, kwargs: Mapping[str, Any] | None = None) -> Any:
    """f(*args, **kwargs), which may assign only to tensors that it has made or been given. `args` is emptied.

    An assignment to another one would be done once, with a value that nobody knows outside. Raises TracerError for it,
    and undoes it.
    """
    before, history.writes = history.writes, []
    try:
        with unlimited():
            results = f(*args, **(kwargs or {}))
    except BaseException:
        _undo(history.writes)
        raise
    finally:
        writes, history.writes = history.writes, before
    if writes:
        args.clear()
        _refuse_outside(name, writes, results)
    return results


def _refuse_outside(name: str, writes: list[tuple[Tensor, Node, Any]], results: Any) -> None:
    """Tensors that somebody holds beside the results come from outside."""
    first = {id(t): node for t, node, _ in reversed(writes)}
    trace = current()

    def outside() -> list[tuple[Tensor, Any]]:
        tensors = list({id(t): t for t, _, _ in writes}.values())
        known = Counter(id(t) for t, _, _ in writes)
        leaves = flatten(results)[0]
        known.update(map(id, [*leaves, *leaves]))       # by the tree, and by the list of its leaves
        known[id(results)] += 1     # a tree that is one leaf has a name more
        if trace is not None:
            known.update(id(t) for t in tensors if trace.owns(t))
        held = {id(t) for t, count in zip(tensors, references(tensors), strict=True) if count > known[id(t)]}
        return [(t, site) for t, _, site in writes if id(t) in held and t.node is not first[id(t)]]
    if outside():
        gc.collect()        # what the function has made may hold itself
    if found := outside():
        _undo(writes)
        t, site = found[0]
        raise TracerError(f"a tensor of shape {t.shape} from outside of the function is assigned to inside, where its "
                          "value is not known", op=name, site=site, fix=_FIXES[name])


def _undo(writes: list[tuple[Tensor, Node, Any]]) -> None:
    for tensor, node, _ in reversed(writes):
        tensor.node = node
        rebinding.of(tensor)
