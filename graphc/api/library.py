"""Recording library routines: sorting, linear algebra, Fourier transforms (the table graphc/ir/routines.py)."""
from __future__ import annotations

from graphc.api.record import common_device, wrap
from graphc.errors import user_site
from graphc.ir import ops, routines
from graphc.ir.node import make


def library(name: str, arguments: tuple, *tensors) -> tuple:
    """The results of a routine as tensors: one LIBRARY_CALL node, read through GET. The operands have been checked."""
    nodes = tuple(x.node for x in tensors)
    device, site = common_device(name, *nodes), user_site(2)
    dtypes, shapes = routines.results(name, tuple(n.dtype for n in nodes), tuple(n.shape for n in nodes), arguments)
    call = make(ops.LIBRARY_CALL, dtypes, shapes, nodes, (name, arguments), device=device, site=site)
    return tuple(wrap(make(ops.GET, dtype, shape, (call,), (i,), device=device, site=site))
                 for i, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True)))
