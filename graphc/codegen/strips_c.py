"""Long formulas a strip of elements at a time, one operation after the other over the whole strip: a processor looks
ahead by some hundred instructions, and the latency of one element's functions takes all of them.
"""
from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from graphc.codegen.turns_c import in_turns
from graphc.ir import dtype as dt
from graphc.ir.kernel import LOAD, VALUE, Let, Loop, Store, below
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import ADD, CAST, CONST, EQ, EXP, FMA, LE, LT, MUL, NEG, PARAM, SUB, TABLE, WHERE

LONG, TOO_LONG = 24, 256     # cost from which strips pay, and from which compiling them takes over a second; but where
# one loop calls functions as often as that, the compiler gives up inlining them, and with that vectors
MANY_LOADS = 8      # places that a loop reads at: beyond, GCC may find arrays that overlap in its way, and strips spill
_WIDE = (dt.float32, dt.float64, dt.int32, dt.int64)     # narrower ones would need packing between the operations
_PLAIN = (ADD, SUB, MUL, FMA, NEG, LT, LE, EQ, WHERE, CAST)
_FUNCTIONS = tuple(TABLE[name] for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh erf sqrt div".split())


def is_long_arithmetic(body: tuple) -> bool:
    """Whether a loop is bound by the latency of one long chain of operations; sums over many windows are by reading."""
    if not all(type(s) in (Let, Store) and s.value.dtype in _WIDE for s in body):
        return False
    cost, exprs = 0, list(below((s.value for s in body), gathered=False))
    if sum(expr.op is LOAD for expr in exprs) > MANY_LOADS and not any(_is_call(expr) for expr in exprs):
        return False
    for expr in exprs:
        if expr.op in _PLAIN:
            cost += 1
        elif expr.op in _FUNCTIONS and expr.dtype.kind == "f":
            cost += expr.op.cost
        elif expr.op not in (LOAD, VALUE, CONST, PARAM) or expr.srcs:
            return False
    return LONG <= cost <= TOO_LONG or (cost > TOO_LONG and bool(called_often(body)))


def strips(model, s: Loop, start: str, stop: str) -> dict:
    """The model of a loop over a tile in strips, and what is left over one by one."""
    body = _functions_apart(s.body)
    calls = any(_is_call(x.value) for x in body)
    names = [x.name for x in body if type(x) is Let]
    model.spell.arrays.update(dict.fromkeys(names, "[l]"))
    strip = [statement for x in body for statement in model.statements((x,), {})]      # each is a loop of its own
    for name in names:
        del model.spell.arrays[name]
    model.interleaved |= not calls
    width = 2 * model.kernel.strip if calls else model.kernel.strip   # a loop around a call stays a loop
    often = called_often(s.body)
    for x, statement in zip(body, strip, strict=True):
        if type(x) is Let and (x.value.op, x.value.dtype) in often and x.value.srcs[0].op is VALUE \
                and x.value.srcs[0].attrs[0] in names:      # not a column's sum
            statement["routine"] = _routine(model, statement, width)
    rest = in_turns(s, "loop", f"{s.axis.name}_at", stop, model.statements(s.body, {}))
    return {"kind": "strips", "axis": s.axis.name, "start": start, "stop": stop, "width": width, "strip": strip,
            "rest": [rest]}


def _routine(model, statement: dict, width: int) -> dict:
    """A function that a kernel applies to many strips, as a routine of its own: it is compiled once, not at each
    place, and the compiler does not give up inlining it."""
    function, _, argument = statement["value"].partition("(")
    name = f"{function}_{width}"
    model.routines[name] = {"name": name, "function": function, "type": statement["type"], "width": width}
    return {"name": name, "argument": argument.removesuffix("[l])")}


def _functions_apart(body: tuple) -> tuple:
    """The statements of a loop with every call of a function on its own, named where it is part of a formula. What
    is called often is called on names."""
    out: list = []
    often = called_often(body)

    def named(expr: Node) -> Node:
        if expr.op is VALUE:
            return expr
        out.append(Let(f"f{len(out)}", expr))
        return make(VALUE, expr.dtype, (), (), (out[-1].name,))

    def apart(expr: Node, inside: bool) -> Node:
        expr = rebuild(expr, [apart(s, True) for s in expr.srcs])
        if (expr.op, expr.dtype) in often:
            expr = rebuild(expr, [named(s) for s in expr.srcs])
        return named(expr) if inside and _is_call(expr) else expr

    for s in body:
        value = apart(s.value, type(s) is Store)
        out.append(replace(s, value=value))
    return tuple(out)


def called_often(body: tuple) -> set:
    """The functions, by op and dtype, that statements call at several places."""
    exprs = below((s.value for s in body), gathered=False)
    found = Counter((expr.op, expr.dtype) for expr in exprs if _is_call(expr))
    return {function for function, times in found.items() if times > 1}


def _is_call(expr: Node) -> bool:
    return expr.op in _FUNCTIONS and expr.op.cost >= EXP.cost
