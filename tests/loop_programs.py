"""Random functions with loops and branches inside each other, as text:

    def f(loops, s, w, m):          # a number, three numbers, three by three
        def v1(carry, v2):
            (v3, v4) = carry
            v5 = gc.sin(v3) * s
            return (v5, gc.roll(v4, 1)), gc.max(w)
        (v6, v7), v8 = loops.scan(v1, (s * 0.5, w), m, reverse=True)
        ...

With gc as `loops` they are compiled; with `ByHand` Python goes through all turns, and both sides are computed.
"""

from __future__ import annotations

import random as randoms

import graphc as gc

SHAPES = ((), (3,))


class ByHand:
    """What graphc's functions of these names mean, turn by turn."""

    @staticmethod
    def scan(f, init, xs=None, length=None, reverse=False):
        turns = range(length if xs is None else xs.shape[0])
        gave = {}
        for k in reversed(turns) if reverse else turns:
            init, gave[k] = f(init, None if xs is None else xs[k])
        rows = [gave[k] for k in turns]
        return init, None if rows[0] is None else gc.stack(rows)

    @staticmethod
    def cond(pred, true_fun, false_fun, *operands):
        sides = zip(true_fun(*operands), false_fun(*operands), strict=True)
        return tuple(gc.where(pred, a, b) for a, b in sides)

    @staticmethod
    def while_loop(cond_fun, body_fun, init_val):
        while cond_fun(init_val):
            init_val = body_fun(init_val)
        return init_val


class Writer:
    """A program of a seed; `differentiable`: without while_loop, which has no gradient."""

    def __init__(self, seed: int, differentiable: bool):
        self.random = randoms.Random(seed)
        kinds = ("scan", "scan", "cond") if differentiable else ("scan", "scan", "cond", "while_loop")
        self.kinds, self.count, self.lines = kinds, 0, ["def f(loops, s, w, m):"]
        known = [("s", ()), ("w", (3,))]
        self.block(known, 2, "    ", self.random.randint(1, 3))
        self.control(known, 2, "    ")
        parts = [f"gc.sum({name}) * {0.1 * k:.1f}" for k, (name, _) in enumerate(known[-6:], 1)]
        self.lines.append(f"    return {' + '.join(parts)}")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def value(self, known: list, shape: tuple) -> str:
        """An expression of that shape."""
        def some(shape):
            return self.random.choice([name for name, found in known if found == shape])
        a, b, n, v = some(shape), some(shape), some(()), some((3,))
        forms = [f"gc.sin({a}) * {b}", f"{a} * 0.5 - {self.random.randint(-2, 2)}", f"{a} - gc.cos({n})",
                 f"gc.tanh({a})", a, f"gc.where({a} > {b}, {a}, {b} * 0.5)"]
        if shape:
            forms += [f"{n} * w", f"gc.stack([{n}, {n} * 2, {n} - 1])", f"gc.ones(3) * {n}", "w", "w * s",
                      f"gc.roll({a}, 1)", f"gc.flip({a})", f"gc.tanh({a} @ m)"]
        else:
            forms += [f"gc.sum({v}) * 0.3", f"gc.max({v})", f"{v}[{self.random.randrange(3)}]", "gc.asarray(1.5)", "s",
                      f"gc.mean({v} * {v}) * 0.1"]
        return self.random.choice(forms)

    def block(self, known: list, depth: int, margin: str, statements: int) -> None:
        for _ in range(statements):
            if depth and self.random.random() < 0.55:
                self.control(known, depth - 1, margin)
            else:
                name, shape = self.name(), self.random.choice(SHAPES)
                self.lines.append(f"{margin}{name} = {self.value(known, shape)}")
                known.append((name, shape))

    def control(self, known: list, depth: int, margin: str) -> None:
        """A loop or branch, whose results are known from then on."""
        shapes = [self.random.choice(SHAPES) for _ in range(self.random.randint(1, 3))]
        starts, results = [self.value(known, shape) for shape in shapes], [self.name() for _ in shapes]
        getattr(self, self.random.choice(self.kinds))(known, depth, margin, shapes, starts, results)
        known += zip(results, shapes, strict=True)

    def body(self, known: list, depth: int, margin: str, state: list[tuple[str, tuple]]) -> tuple[list[str], list]:
        """Statements; the next state, in which one may have become another; and what is known behind them."""
        inside = [*known, *state]
        self.block(inside, depth, margin, self.random.randint(0, 2))
        after = [self.value(inside, shape) if self.random.random() < 0.6 else
                 self.random.choice([name for name, found in state if found == shape]) for _, shape in state]
        return after, inside

    def scan(self, known, depth, margin, shapes, starts, results) -> None:
        f, x, gave, names = self.name(), self.name(), self.name(), [self.name() for _ in shapes]
        xs, row = self.random.choice((("None", None), ("w", ()), ("m", (3,))))
        self.lines += [f"{margin}def {f}(carry, {x}):", f"{margin}    ({', '.join(names)},) = carry"]
        seen = known if row is None else [*known, (x, row)]
        after, inside = self.body(seen, depth, margin + "    ", list(zip(names, shapes, strict=True)))
        shape = self.random.choice((None, *SHAPES))
        y = None if shape is None else self.value(inside, shape)
        length = f", length={self.random.randint(1, 4)}" if row is None else ""
        reverse = ", reverse=True" if self.random.random() < 0.3 else ""
        self.lines += [f"{margin}    return ({', '.join(after)},), {y}",
                       f"{margin}({', '.join(results)},), {gave} = loops.scan({f}, ({', '.join(starts)},), {xs}{length}"
                       f"{reverse})"]
        if y is not None:
            name = self.name()
            self.lines.append(f"{margin}{name} = gc.mean({gave}, axis=0)")
            known.append((name, shape))

    def cond(self, known, depth, margin, shapes, starts, results) -> None:
        sides = []
        for _ in range(2):
            f, names = self.name(), [self.name() for _ in shapes]
            sides.append(f)
            self.lines.append(f"{margin}def {f}({', '.join(names)}):")
            after, _ = self.body(known, depth, margin + "    ", list(zip(names, shapes, strict=True)))
            self.lines.append(f"{margin}    return ({', '.join(after)},)")
        self.lines.append(f"{margin}({', '.join(results)},) = loops.cond({self.value(known, ())} > 0.3, {sides[0]}, "
                          f"{sides[1]}, {', '.join(starts)})")

    def while_loop(self, known, depth, margin, shapes, starts, results) -> None:
        f, names = self.name(), [self.name() for _ in shapes]
        self.lines += [f"{margin}def {f}(state):", f"{margin}    turn, {', '.join(names)} = state"]
        after, _ = self.body(known, depth, margin + "    ", list(zip(names, shapes, strict=True)))
        self.lines += [f"{margin}    return turn + 1, {', '.join(after)}",
                       f"{margin}_, {', '.join(results)} = loops.while_loop(lambda state: state[0] < "
                       f"{self.random.randint(0, 4)}, {f}, (gc.asarray(0), {', '.join(starts)}))"]


def of_seed(seed: int, differentiable: bool) -> tuple[str, object]:
    """The text, and the function."""
    names: dict = {"gc": gc}
    text = Writer(seed, differentiable).text
    exec(text, names)
    return text, names["f"]
