"""Attention, weights times values and products in blocks in the kernel interpreter (kernel_interpreter.py), by the
orders of ir/trees.py.

`run` is the interpreter, in the iteration of a kernel that the template stands in.
"""
from __future__ import annotations

import functools

import numpy as np

from graphc.ir import meaning, trees
from graphc.ir.dtype import DType
from graphc.ir.kernel import Template
from graphc.ir.ops import ADD, MUL


def fma_of(dtype: DType):
    """a * b + c with one rounding, from the C library; integers wrap."""
    if dtype.kind in "iub":
        return lambda a, b, c: dtype.numpy.type(ADD.numpy((), dtype, (), MUL.numpy((), dtype, (), a, b), c))
    fma = meaning.fma_of(dtype.real)
    if dtype.kind == "f":
        return fma
    return lambda a, b, c: dtype.numpy.type(complex(fma(-a.imag, b.imag, fma(a.real, b.real, c.real)),
                                                    fma(a.imag, b.real, fma(a.real, b.imag, c.imag))))


def attention(run, s: Template) -> None:
    frame, (m, n, c, e) = run.frame, (s.span(name) for name in "mnce")
    number, fma, facts = s.dtype.numpy.type, fma_of(s.dtype), dict(s.facts)
    diagonal = None if facts["diagonal"] is None else int(run.expr(facts["diagonal"]))

    def element(name: str, row: int, columns: int, column: int):
        return run.read(frame.locals[name], row * columns + column, name)

    def product():
        total = number(0)
        for k in range(c.size):
            total = fma(element("k", run.at(n), c.size, k), element("q", run.at(m), c.size, k), total)
        return total
    frame.results["score"] = product
    run.enter(s)
    results = {}
    values = [[element("v", k, e.size, i) for i in range(e.size)] for k in range(n.size)]
    for i in run.positions(m):
        scores = [element("scores", k, m.size, i) for k in range(n.size)]
        if diagonal is not None:
            last = i * facts["slope"] + diagonal
            _check_diagonal(run, scores, [element("plain", k, m.size, i) for k in range(n.size)], last)
            block = trees.CHUNKS["attention"]
            scores = scores[:max(0, last // block + 1) * block]
        row = trees.attention(scores, values, np.exp, fma, number)
        results.update({(i, k): x for k, x in enumerate(row)})
    columns = s.span("r") if facts["columns"] else e
    frame.results = {s.result: lambda: results[run.at(m), run.at(columns)]}
    run.body(s.epilogue)
    frame.results, frame.spans = {}, {}


def weighted(run, s: Template) -> None:
    frame, (r, over, e) = run.frame, (s.span(name) for name in "rse")
    number, fma, facts = s.dtype.numpy.type, fma_of(s.dtype), dict(s.facts)
    spans = {operand.name: operand.spans[1] for operand in s.operands}

    def element(name: str, row: int, column: int):
        return run.read(frame.locals[name], row * s.span(spans[name]).size + column, name)

    def product(part: int):
        total = number(0)
        for k in range(s.span(f"c{part}").size):
            total = fma(element(f"rows{part}", run.at(over), k), element(f"lanes{part}", run.at(r), k), total)
        return total
    for k in range(facts["parts"]):
        frame.results[f"score{k or ''}"] = functools.partial(product, k)
    for name in facts["rows"]:
        frame.results[name] = lambda name=name: element(name, run.at(r), 0)
    run.enter(s)
    results = {}
    for i in run.positions(r):
        start, stop = _seen(run, facts, i, over.size)
        found = []
        for k, name in enumerate(facts["values"]):
            width = s.span(spans[name]).size
            weights = [element("weights", k * over.size + j, i) for j in range(over.size)]
            if facts["diagonal"] is not None:
                plain = [element("plain", k * over.size + j, i) for j in range(over.size)]
                _check_bound(run, weights, plain, start, stop)
                weights = [x if start <= j < stop else number(0) for j, x in enumerate(plain)]
            values = [[element(name, j, c) for c in range(width)] for j in range(over.size)]
            found += trees.weighted(weights, values, fma, number, width, start, stop)
        results.update({(i, k): x for k, x in enumerate(found)})
    frame.results = {s.result: lambda: results[run.at(r), run.at(e)]}
    run.body(s.epilogue)
    frame.results, frame.spans = {}, {}


def blocked(run, s: Template) -> None:
    frame, (m, n, k) = run.frame, (s.span(name) for name in "mnk")
    at_terms = s.walked(next(o for o in s.operands if o.name == "terms"))
    facts, number = dict(s.facts), s.dtype.numpy.type
    depth, bits = k.size // facts["blocks"], facts["bits"]

    def element(name: str, row: int, columns: int, column: int):
        return run.read(frame.locals[name], row * columns + column, name)

    def product():
        (block, row), column = divmod(run.at(at_terms["r"]), m.size), run.at(at_terms["n"])
        return np.int32(sum(int(element("a", row, k.size, at)) * int(element("b", at, n.size, column))
                            for at in range(block * depth, (block + 1) * depth)))
    frame.results["score"] = product
    run.enter(s)
    for column in run.positions(n) if bits else ():
        for at in range(k.size):
            word = int(element("words", at * bits // 32, n.size, column)) >> at * bits % 32 & (1 << bits) - 1
            if word != int(element("b", at, n.size, column)) & (1 << bits) - 1:
                raise run.fault(f"what is {at} of the right factor's column {column} is not in its words")
    results = {(i, j): trees.reduce([element("terms", block * m.size + i, n.size, j)
                                     for block in range(facts["blocks"])], "outer", lambda a, b: number(a + b),
                                    number(-0.0)) for i in run.positions(m) for j in run.positions(n)}
    frame.results = {s.result: lambda: results[run.at(m), run.at(n)]}
    run.body(s.epilogue)
    frame.results, frame.spans = {}, {}


def _seen(run, facts: dict, row: int, size: int) -> tuple[int, int]:
    """From where to where the weights of a row may be other than 0."""
    if facts["diagonal"] is None:
        return 0, size
    d = int(run.expr(facts["diagonal"]))
    if not facts["keys"]:
        return 0, min(max(row * facts["slope"] + d + 1, 0), size)
    if facts["slope"]:
        return min(max(row - d, 0), size), size
    return (0 if row <= d else size), size


def _check_bound(run, weights: list, plain: list, start: int, stop: int) -> None:
    """Weights are 0 outside, and inside what they are without the mask."""
    for k, (weight, unmasked) in enumerate(zip(weights, plain, strict=True)):
        if weight == weight and weight != (unmasked if start <= k < stop else 0):
            raise run.fault(f"the weight of {k} is {weight}, {unmasked} without the mask in {start}..{stop}")


def _check_diagonal(run, scores: list, plain: list, last: int) -> None:
    """Scores are -inf behind the last key that a query sees, and what the mask leaves before it."""
    for k, (score, unmasked) in enumerate(zip(scores, plain, strict=True)):
        if (score != unmasked and score == score) if k <= last else score != -np.inf:
            raise run.fault(f"the score of key {k} is {score}, {unmasked} without the mask up to {last}")
