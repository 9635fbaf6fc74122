"""Products of integers in blocks: sums over blocks of what becomes of each block's sum of products are one operation.

    sum over blocks s of f(dot(a[s], b[s]), s, m, n)      ->  blocked(f(scores(a, b)))

where a[s] (m, depth) is of int8, the dots are int32, so exact in any order, and f is elementwise: times the scales of
the block, say, as in `Quantized` weights times rows of x in 8 bits. Neither dots nor terms lie in memory, and weights
of few bits meet a in the processor's products of bytes. The sum over blocks has the order of the reduction that it was:
no bit changes.
"""
from __future__ import annotations

from math import prod

from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, LOAD, Operand, Span, Store, Template, data_exprs
from graphc.ir.node import Node, make, rebuild, replaced, topological
from graphc.ir.ops import AND, BLOCKED, CAST, DOT, MOVEMENT, SCORES, SHL, SHR, SUM
from graphc.passes.attend import SCORE, ScoreReader
from graphc.passes.attention import is_private, paths, users_of
from graphc.passes.contract import Contraction, nest
from graphc.passes.diagonal import is_const
from graphc.passes.place import place

ROWS = 32               # that meet a block of weights while it is in registers, and a chunk has
PANEL = 64              # columns that go through all blocks together
STRIPE = 2048           # and columns that a chunk has at most: what is left to the end is shared
DEPTH = 32              # products of a block, at most: sums of 4 x 8 bits then fit 16


# -------------------------------------------------------------------------------------------------- recognising

def recognise_blocks(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    order = topological(roots)
    if not any(_is_product(n) for n in order):
        return roots
    users = users_of(order, roots)
    return replaced(order, roots, lambda node, new: _blocked(node, users, new) if node.op is SUM else None)


def _is_product(node: Node) -> bool:
    """A product of int32 whose left factor has 8 bits, or its right one 4, of one block for each of a stack."""
    if node.op is not DOT or node.dtype is not dt.int32 or len(node.shape) != 3 or not node.size:
        return False
    b = _moved(node.srcs[1])
    few = _is_narrow(node.srcs[0]) or b.op is AND and any(is_const(_moved(s), 15) for s in b.srcs)
    return few and 0 < node.srcs[1].shape[-2] <= DEPTH and all(s.shape[:-2] == node.shape[:-2] for s in node.srcs)


def _is_narrow(a: Node) -> bool:
    """Whether a left factor has 8 bits."""
    a = _moved(a)
    return a.op is CAST and a.srcs[0].dtype is dt.int8


def _moved(node: Node) -> Node:
    """What lies under operations that only move elements."""
    while node.op.kind == MOVEMENT:
        node = node.srcs[0]
    return node


def _blocked(node: Node, users, new: dict[Node, Node]) -> Node | None:
    (terms,) = node.srcs
    if node.attrs != (0, "outer") or node.dtype is not dt.float32 or len(terms.shape) != 3:
        return None
    path = next((p for p in paths(terms, lambda n, _: _is_product(n) and n.shape == terms.shape)
                 if is_private({*p, node}, node, users)), None)
    if path is None:
        return None
    for step in path:
        srcs = [new[s] for s in step.srcs]
        new[step] = rebuild(step, srcs) if step.op is not DOT else make(
            SCORES, step.dtype, step.shape, tuple(srcs), (), device=step.device, site=step.site)
    return make(BLOCKED, node.dtype, node.shape, (new[terms],), (), device=node.device, site=node.site)


# ----------------------------------------------------------------------------------------------------- lowering

class Blocked(Contraction):
    """To kernels: one Template over rows and columns. What it reads walks spaces of its own: s, the blocks; i, the
    rows; n, the columns; k, what is summed over in a block."""

    reader_type = ScoreReader

    def _position(self) -> list[Index]:
        m, n = self.node.shape
        return [self._space("m", m), self._space("n", n)]

    def _part(self, operand: str) -> str:
        return "t"

    def build(self) -> None:
        self.prologue = [self.reader.fold(node) for node in self.group.prologue]
        index = self._position()
        (terms,) = self.node.srcs
        at = [self._space(f"t{name}", n) for name, n in zip("sin", terms.shape, strict=True)]
        value = self.reader.read(terms, tuple(at))
        ((product, (s, i, n)),) = self.reader.products.items()
        a, b = product.srcs
        self.wide = not _is_narrow(a)
        k = self._space("tk", a.shape[-1])
        self.values = {"a": self.reader.read(a, (s, i, k)), "b": self.reader.read(b, (s, k, n)), "terms": value}
        self._add_stores(index)

    def _words(self) -> tuple[int, Node | None]:
        """How many bits a right factor has, and where it lies, if neighbours along k are words of int32: the first of
        them in the lowest bits."""
        axes, value = self.spaces["tk"], self.values["b"]
        if len(axes) == 2:
            k, n = axes[-1], self.spaces["tn"][-1]
            if (value.op is AND and k.extent == 8 and is_const(value.srcs[1], 15) and value.srcs[0].op is SHR
                    and _shifts(value.srcs[0], ix.mul(ix.of(k), 4))):
                bits, word = 4, value.srcs[0].srcs[0]
            elif (value.op is SHR and k.extent == 4 and value.srcs[0].op is SHL and _shifts(value, ix.constant(24))
                    and _shifts(value.srcs[0], ix.add(ix.constant(24), ix.mul(ix.of(k), -8)))):
                bits, word = 8, value.srcs[0].srcs[0]
            else:
                return 0, None
            if bits == 8 and self.wide:
                return 0, None
            if (word.op is LOAD and not word.srcs and not data_exprs(word.attrs[1]) and word.dtype is dt.int32
                    and k not in ix.axes_of(word.attrs[1]) and n not in ix.axes_of(ix.add(
                        word.attrs[1], ix.mul(ix.of(n), -1)))):
                return bits, word
        return 0, None

    # ------------------------------------------------------------------------------------------------ assembly

    def _matrix(self, name: str, value: Node, spans: tuple[str, str], rows: tuple[Axis, ...],
                columns: tuple[Axis, ...], order: tuple[Axis, ...], renumber, known=()) -> Operand:
        body = nest(order, (Store(0, ix.of_axes((*rows, *columns)), value, local=name),))
        if name != "words":     # which is a load: nothing in it is worth a name
            body = place(body, renumber, columns[-1] if known else None, known)
        return Operand(name, value.dtype, spans, (rows, columns), body)

    def _template(self, renumber: dict[int, int]) -> Template:
        s, i, n, k = (self.spaces[f"t{name}"] for name in "sink")
        m_size, n_size = self.node.shape
        blocks, depth = (prod(a.extent for a in axes) for axes in (s, k))
        rows, columns = min(m_size, ROWS), _columns(n_size, -(-m_size // ROWS))
        bits, word = self._words()
        operands = [self._matrix("a", self.values["a"], ("m", "k"), i, (*s, *k), (*i, *s, *k), renumber),
                    self._matrix("b", self.values["b"], ("k", "n"), (*s, *k), n, (*n[:-1], *s, *k, n[-1]), renumber),
                    self._matrix("terms", self.values["terms"], ("r", "n"), (*s, *i), n, (*n[:-1], *s, *i, n[-1]),
                                 renumber, {SCORE})]
        if bits:
            operands.append(self._matrix("words", word, ("w", "n"), (*s, *k[:-1]), n, (*n[:-1], *s, *k[:-1], n[-1]),
                                         renumber))
        spans = (Span("m", self.spaces["m"], Axis("mb", -(-m_size // rows)), rows),
                 Span("n", self.spaces["n"], Axis("nb", -(-n_size // columns)), columns),
                 Span("k", (Axis("k", blocks * depth),)), Span("r", (Axis("r", blocks * m_size),)),
                 *([Span("w", (Axis("w", blocks * depth * bits // 32),))] if bits else []))
        return Template("blocked", self.result, dt.float32, spans, tuple(operands), self._epilogue("m", "n", renumber),
                        (("blocks", blocks), ("bits", bits), *([("wide", 1)] if self.wide else [])))

    def _nest_of_chunks(self, template: Template) -> tuple[tuple[Axis, ...], int]:
        return (template.span("n").block, template.span("m").block), 1


def _shifts(node: Node, by: Index) -> bool:
    """Whether a shift is by an index."""
    found = node.srcs[1]
    while found.op is CAST:
        found = found.srcs[0]
    return found.op is INDEX and found.attrs[0] == by


def _columns(n: int, stacks: int) -> int:
    """How many columns a chunk has: those with which the threads are done first, and of such the most."""
    threads = settings.num_threads
    sizes = {min(-(-n // (k * PANEL)) * PANEL, STRIPE) for k in range(1, 8 * threads + 1)}
    return min(sizes, key=lambda columns: (-(-stacks * -(-n // columns) // threads) * columns, -columns))
