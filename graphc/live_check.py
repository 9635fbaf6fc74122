"""GRAPHC_VERIFY: every realize on the user's own data, held against the reference.

The graph is computed a second time by the same backend with every node kept in memory. Each operation is then held
against its NumPy meaning on the operands that the backend itself computed, within the tolerance of that one operation
(graphc/tolerances.py), so that errors neither add up nor hide behind a comparison that tips over. At the end, the
results must have the bits of the first run, which kept only what it had to: fusion changes none. An attention does
(docs/numerics.md): with one in the program, the bits are those of a run without it, and a result that is an attention
or its gradient has to be as close to that as graphc.tolerances says.

It costs a second compile of each program, memory for every intermediate value, and NumPy's time.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graphc import canonical
from graphc.build import build
from graphc.codegen import target_of
from graphc.config import settings
from graphc.errors import MismatchError, Site
from graphc.ir.node import Node, const_value, needed, read, topological
from graphc.ir.ops import ATTENTION, CAST, CONST, DOT, GET, LIBRARY_CALL, MOVEMENT, WEIGHTED
from graphc.report import make_plan
from graphc.runtime.backend import Backend
from graphc.runtime.buffers import Buffer
from graphc.tolerances import attention_mismatch, equal_bits, loop_mismatch, mismatch


def check(roots: Sequence[Node], values: Sequence[Buffer], backend: Backend) -> None:
    """Raise MismatchError if the values of the roots are not what the reference says; save a script that shows it."""
    nodes = [n for n in needed(roots) if n.value is None and n.op is not CONST and not isinstance(n.dtype, tuple)]
    graph = canonical.canonicalize(nodes)
    executable = backend.load(build(graph, backend.dialect).program)
    buffers = executable.run([leaf.value for leaf in graph.leaves], graph.params)
    arrays = {n: b.view(n.dtype.numpy, n.shape) for n, b in zip(nodes, buffers, strict=True)}
    for node in nodes:
        problem = _problem(node, arrays, target_of(backend.dialect).matrix)
        if problem is not None:
            raise _error(f"{problem}, by the reference on the same operands", node, roots, backend)
    results = {r: v.view(r.dtype.numpy, r.shape) for r, v in zip(roots, values, strict=True) if r.value is None}
    found = _attentions(list(results), backend)
    for root, is_gradient in found.items():
        largest = _largest_product(root, arrays) if is_gradient else 0.0
        problem = attention_mismatch(results[root], arrays[root], root.dtype, largest)
        if problem is not None:
            raise _error(f"{problem}, by the softmax and the product one after the other", root, roots, backend)
    if found is not _NONE:
        results = _without_attention(list(results), backend)
    for root, value in results.items():
        if not equal_bits(value, arrays[root]):
            raise _error("the result has other bits than with every intermediate value kept", root, roots, backend)


_NONE: dict[Node, bool] = {}


def _largest_product(root: Node, arrays: dict[Node, np.ndarray]) -> float:
    """The largest element of the products that a result is computed from: gradients are differences of those."""
    products = [np.abs(arrays[n].astype(np.float64)) for n in needed([root]) if n.op is DOT and n in arrays]
    return max((float(x[np.isfinite(x)].max(initial=0)) for x in products), default=0.0)


def _attentions(roots: list[Node], backend: Backend) -> dict[Node, bool]:
    """The results that are an attention or its gradient (and whether that), as it is or seen and converted otherwise;
    _NONE if the program has none."""
    schedule = build(canonical.canonicalize(roots), backend.dialect).schedule
    if not any(anchor.op is ATTENTION for group in schedule.groups for anchor in group.anchors):
        return _NONE
    found = {}
    for root, node in zip(roots, schedule.roots, strict=True):
        while node.op.kind == MOVEMENT or node.op is CAST:
            node = node.srcs[0]
        if node.op is ATTENTION or node.op is WEIGHTED:
            found[root] = node.op is WEIGHTED
    return found


def _without_attention(roots: list[Node], backend: Backend) -> dict[Node, np.ndarray]:
    graph = canonical.canonicalize(roots)
    with settings.override(disable=",".join(settings.disable | {"attention"})):
        executable = backend.load(build(graph, backend.dialect).program)
    buffers = executable.run([leaf.value for leaf in graph.leaves], graph.params)
    return {n: b.view(n.dtype.numpy, n.shape) for n, b in zip(roots, buffers, strict=True)}


def _problem(node: Node, arrays: dict[Node, np.ndarray], matrix: Sequence[str]) -> str | None:
    """What is wrong with one operation on the operands that the backend computed. `matrix`: as for `mismatch`."""
    with np.errstate(all="ignore"):
        if node.op is GET:
            call = node.srcs[0]
            want = call.op.numpy(call.attrs, call.dtype, call.shape, *[_array(s, arrays) for s in call.srcs])
            result = np.asarray(want[node.attrs[0]])
            if call.op is not LIBRARY_CALL:
                return loop_mismatch(arrays[node], result)
            return None if equal_bits(arrays[node], result) else "the library's result differs"
        sources = [_array(s, arrays) for s in read(node)]
        return mismatch(node.op, node.attrs, node.dtype, node.shape, arrays[node], sources, matrix)


def _array(node: Node, arrays: dict[Node, np.ndarray]) -> np.ndarray:
    if node.op is CONST:
        return np.asarray(const_value(node))
    return arrays[node] if node.value is None else node.value.view(node.dtype.numpy, node.shape)


def _error(problem: str, node: Node, roots: Sequence[Node], backend: Backend) -> MismatchError:
    graph = canonical.canonicalize([r for r in roots if r.value is None])
    line = None if node.site is None else Site(*node.site).location()
    kernels = [f"{kernel.name} ({', '.join(kernel.origins)})"
               for kernel in make_plan(build(graph, backend.dialect), backend).kernels if line in kernel.origins]
    within = f"; in kernel {' or '.join(kernels)}" if kernels else ""
    script = save(roots, backend.name)
    return MismatchError(f"{problem}{within}", op=node.op.name, site=node.site, fix=f"python {script} shows it again; "
                         "please report it with that script and the .npz file beside it")


# ------------------------------------------------------------------------------------------------------- the script

_SCRIPT = '''"""A graph whose compiled result differed from the reference; saved by GRAPHC_VERIFY."""
from pathlib import Path

import numpy as np

from graphc import driver
from graphc.config import settings
from graphc.ir.node import topological
from graphc.ir.ops import BUFFER
from graphc.ir.text import parse_graph

GRAPH = r"""
{text}"""

data = np.load(Path(__file__).with_suffix(".npz"))
roots = parse_graph(GRAPH)
leaves = [node for node in topological(roots) if node.op is BUFFER]
for node in leaves:
    array = np.frombuffer(data[f"leaf{{node.attrs[0]}}"].tobytes(), node.dtype.numpy).reshape(node.shape)
    node.fulfil(driver.from_numpy(array, "{device}", copy=True))
with settings.override(verify=True, disable="{disable}", num_threads={threads}):
    driver.realize(roots)
print("no difference")
'''


def save(roots: Sequence[Node], device: str) -> Path:
    """Write a script that realizes the roots from the same data; it lies beside sources that did not compile."""
    import hashlib
    import io

    from graphc.ir.text import graph_text
    from graphc.runtime.cache import keep_source
    text = graph_text(roots)
    script = _SCRIPT.format(text=text, device=device, disable=",".join(sorted(settings.disable)),
                            threads=settings.num_threads)
    path = keep_source(f"mismatch-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}.py", script)
    leaves = [node for node in topological(roots) if node.value is not None]
    data = io.BytesIO()
    np.savez(data, **{f"leaf{k}": node.value.view(np.uint8, (node.nbytes,)) for k, node in enumerate(leaves)})
    path.with_suffix(".npz").write_bytes(data.getvalue())
    return path
