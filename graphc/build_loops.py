"""Loops and branches: their bodies are built as programs of their own, and become steps of the program around them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ir import dtype as dt
from graphc.ir.body import Body
from graphc.ir.node import Node, buffer, make, rebuild, replaced, topological
from graphc.ir.ops import BUFFER, CONST, FENCE, IF, LOOP, PARAM, WHILE
from graphc.ir.program import Branch, Carried, Loop, Program, Sliced
from graphc.passes.memory import MemoryPlan

if TYPE_CHECKING:
    from graphc.build import Planned


def bodies_of(call: Node) -> tuple[Body, ...]:
    return tuple(a for a in call.attrs if isinstance(a, Body))


def fenced(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """The roots of a body as nodes that each have memory of their own: a turn may give what it was given, or one value
    twice."""
    out: list[Node] = []
    for k, root in enumerate(roots):
        plain = root.op is not BUFFER and root not in out
        out.append(root if plain else make(FENCE, root.dtype, root.shape, (root,), (k,), device=root.device))
    return tuple(out)


def stored(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same with loops and branches that find in memory whatever they read, but for the scalars of their bodies: a
    start may be a number, or become one by a pass."""
    order = topological(roots)
    if not any(node.op in (LOOP, WHILE, IF) for node in order):
        return roots

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        srcs = [new[s] for s in node.srcs]
        if node.op in (LOOP, WHILE, IF):
            for k, s in enumerate(srcs[:len(srcs) - len(bodies_of(node)[0].scalars)]):
                if s.op in (CONST, PARAM):
                    srcs[k] = make(FENCE, s.dtype, s.shape, (s,), (0,), device=node.device, site=s.site)
        return rebuild(node, srcs)
    return replaced(order, roots, rule)


def room(call: Node, bodies: tuple[Planned, ...]) -> list[Node]:
    """Memory that a step needs beside its operands: for the temporaries of its bodies, and for each carried array that
    is not updated in place a second place."""
    return [_bytes(max(b.memory.arena for b in bodies)), *[_bytes(n) for n in _spares(call, bodies)]]


def _bytes(count: int) -> Node:
    return buffer(dt.uint8, (count,), None, "none")


def _spares(call: Node, bodies: tuple[Planned, ...]) -> list[int]:
    """The bytes of each carried array's second place; 0 where there is none."""
    if call.op is IF:
        return []
    body = bodies[-1]
    count = call.attrs[1] if call.op is LOOP else call.attrs[2]
    once = call.op is LOOP and call.attrs[3] == 1
    return [0 if once or _in_place(body.memory, root, k) else root.nbytes for k, root in enumerate(body.roots[:count])]


def _in_place(memory: MemoryPlan, root: Node, k: int) -> bool:
    """Whether the body updates carried array k, which is its leaf k, where it lies."""
    return memory.slots[memory.slot_of[root]].alias == k


def step_of(call: Node, planned: Planned, programs: tuple[Program, ...]) -> Loop | Branch:
    """The step of a loop or branch, whose bodies are these programs."""
    memory, results = planned.memory, planned.results[call]     # the GET nodes, then what `room` asked for
    slot = memory.slot_of
    scalars = len(bodies_of(call)[0].scalars)
    cut = len(call.srcs) - scalars
    params = tuple(s.attrs[0] for s in call.srcs[cut:])
    assert all(s.op is PARAM for s in call.srcs[cut:]), "a scalar of a body is a parameter"
    inputs = [slot[s] for s in call.srcs[:cut]]
    outputs = [slot[g] for g in results[:len(call.dtype)]]
    workspace, *spares = [slot[n] if n.nbytes else None for n in results[len(call.dtype):]]
    if call.op is IF:
        return Branch(inputs[0], (programs[0], programs[1]), tuple(inputs[1:]), tuple(outputs), params, workspace)
    body, inside = programs[-1], planned.bodies[call][-1]
    count = len(spares)
    carried = tuple(Carried(i, o, None if _in_place(inside.memory, r, k) else o if s is None else s) for k, (i, o, s, r)
                    in enumerate(zip(inputs, outputs, spares, inside.roots, strict=False)))
    if call.op is WHILE:
        return Loop(body, programs[0], None, False, carried, (), (), tuple(inputs[count:]), params, workspace)
    _, _, sliced, turns, reverse = call.attrs
    columns = tuple(Sliced(slot[s], s.nbytes // turns) for s in call.srcs[count:count + sliced])
    stacked = tuple(Sliced(slot[g], g.nbytes // turns) for g in results[count:len(call.dtype)])
    arrays = tuple(inputs[count + sliced:])
    return Loop(body, None, turns, reverse, carried, columns, stacked, arrays, params, workspace)
