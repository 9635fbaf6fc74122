"""Optimisers: each step is recorded as elementwise updates of all parameters, which are launched together.

What changes from step to step (the learning rate, the number of the step) lies in tensors, so that no step compiles
anything new, in a jitted step either.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping
from math import cos, inf, pi

import numpy as np

import graphc as gc
from graphc import tracing
from graphc.api.other_names import OF_AN_OPTIMISER, OPTIMISERS, Elsewhere, check_arguments, missing
from graphc.errors import ArgumentError, DTypeError, GradientError, StateError
from graphc.nn.module import take_over
from graphc.api.laziness import settle
from graphc.tensor import Tensor

__all__ = [
    "Adagrad", "Adam", "AdamW", "GradScaler", "Optimizer", "RMSprop", "SGD", "Schedule", "clip_grad_norm",
    "clip_grad_value", "cosine", "exponential", "step_decay",
]


class Optimizer:
    """Parameters, a learning rate and the state of each parameter. `step` uses their `.grad`; a parameter without one
    is left alone, and so is a frozen one (`requires_grad = False`).

    weight_decay: added to the gradient as weight_decay * parameter (AdamW takes it off the parameter instead).
    Raises GradientError for what is no parameter, or for one that is given twice: it would take two steps.
    Steps of parameters in float16 and bfloat16 are computed in float32, which their state has too, and rounded once.
    """

    slots: tuple[str, ...] = ()     # the state that a parameter has, each of its shape
    decoupled = False               # whether weight decay is taken off the parameter
    counted = False                 # whether steps that a parameter has no gradient for are not counted for it

    def __new__(cls, *args, **kwargs):
        check_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0):
        self.parameters = _checked(parameters, type(self).__name__)
        _in_range(type(self).__name__, inf, lr=lr, weight_decay=weight_decay)
        # 0.1 of float32 is another number than that of float64, beside parameters of which it would stand in each step.
        self._lr = gc.asarray(float(lr), dtype=gc.result_type(gc.float32, *{p.dtype.real for p in self.parameters}))
        # Steps taken. It lies in memory, as it will after the first: else a jitted step would be traced once more.
        self.count = gc.asarray(np.zeros((), np.float32), device=self.parameters[0].device)
        self.weight_decay = weight_decay
        self._last: weakref.ref | None = None   # what a parameter stands for since the last step,
        self._settles = False   # and whether that ever waited when the next one came: steps are computed as they come
        self.state = {name: [gc.zeros_like(p.detach(), dtype=p.dtype.accumulator) for p in self.parameters]
                      for name in self.slots}
        if self.counted:    # written for few parameters, where a count of each would be for all
            none = {p.device: gc.asarray(np.zeros((), np.float32), device=p.device) for p in self.parameters}
            self.state["missed"] = [none[p.device].detach() for p in self.parameters]   # one value, until one is missed

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_last": None}

    @property
    def lr(self) -> Tensor:
        """The learning rate, a 0-d tensor; assign a number."""
        return self._lr

    @lr.setter
    def lr(self, value) -> None:
        self._lr.assign(value)

    def zero_grad(self, set_to_none: bool = True) -> None:
        gc.zero_grad(self.parameters, set_to_none)

    def step(self, closure: Callable[[], object] | None = None):
        """Change every parameter that has a gradient and requires one. The others and their state stay as they are.

        closure: computes the loss, and the gradients, before; what it returns is returned. Nothing runs until something
        of the step is read, such as its loss; but where one step follows another unread, each is computed as it comes.
        """
        loss = None if closure is None else closure()
        last = self._last and self._last()
        self._settles |= last is not None and last.value is None
        with gc.no_grad():
            count = self.count + 1
            for i, p in enumerate(self.parameters):
                if p.grad is None or not p.requires_grad:
                    if self.counted:
                        self.state["missed"][i].assign(self.state["missed"][i] + 1)
                    continue
                wide = p.dtype.accumulator      # 0.999 is 1 in bfloat16, and 1e-8 is 0 in float16
                old, g, lr = p.detach().astype(wide), p.grad.astype(wide), self._lr.astype(wide)
                if self.weight_decay and not self.decoupled:
                    g = g + self.weight_decay * old
                state = [self.state[name][i] for name in self.slots]
                taken = count - self.state["missed"][i] if self.counted else count
                value, *new = self.update(old, g, taken.astype(wide), lr, *state)
                if self.weight_decay and self.decoupled:
                    value = value - lr * self.weight_decay * old
                p.assign(value.astype(p.dtype))
                self._last = weakref.ref(p.node)
                for tensor, change in zip(state, new, strict=True):
                    tensor.assign(change)
            self.count.assign(count)
        if self._settles and self._last is not None and (last := self._last()) is not None:
            settle(last)
        return loss

    def update(self, p, g, count, lr, *state) -> tuple:
        """(the parameter after a step, its state after it)"""
        raise NotImplementedError(f"{type(self).__name__} has no update")

    def state_dict(self) -> dict:
        """All tensors of the state, by name: "count", "lr" and "slot.number of the parameter"."""
        found = {"count": self.count.detach(), "lr": self._lr.detach()}
        return found | {f"{name}.{i}": t.detach() for name, ts in self.state.items() for i, t in enumerate(ts)}

    def load_state_dict(self, state: dict) -> None:
        """Go on from a state. Raises StateError for other names, ShapeError for shapes; nothing is changed then."""
        if not isinstance(state, Mapping):
            raise DTypeError(f"a {type(state).__name__} is no state", op="load_state_dict",
                             fix="pass what state_dict() gave")
        own = {"count": self.count, "lr": self._lr}
        own |= {f"{name}.{i}": t for name, ts in self.state.items() for i, t in enumerate(ts)}
        if own.keys() != state.keys():
            raise StateError(f"the state has other names: {', '.join(sorted(map(str, own.keys() ^ state.keys())))}",
                             op="load_state_dict", fix="make the optimiser of the kind, and with as many parameters, "
                             "that the state was saved of")
        take_over(own, state)


for _name in OF_AN_OPTIMISER:
    setattr(Optimizer, _name, Elsewhere(_name, OF_AN_OPTIMISER))


def _in_range(op: str, below: float, **numbers: object) -> None:
    """Numbers of an optimiser, where they are no tensors, are at least 0 and less than a bound."""
    for name, value in numbers.items():
        if isinstance(value, int | float) and not 0 <= value < below:
            raise ArgumentError(f"{name} must be at least 0 and less than {below}, not {value}", op=op)


def _checked(parameters, op: str) -> list[Tensor]:
    """The parameters of an optimiser as a list."""
    if isinstance(parameters, Tensor):
        raise GradientError("a single tensor is no list of parameters", op=op, fix="pass [w]")
    if not isinstance(parameters, Iterable):
        raise GradientError(f"a {type(parameters).__name__} is no list of parameters", op=op,
                            fix="pass module.parameters()")
    found = list(parameters)
    if not found:
        raise ArgumentError("there are no parameters", op=op, fix="pass module.parameters()")
    for p in found:
        if isinstance(p, dict):
            raise GradientError("a dict is no parameter: there are no groups of parameters", op=op,
                                fix="make an optimiser for each group, and let each take its step")
        if isinstance(p, tuple | str):
            raise GradientError(f"a {type(p).__name__} is no parameter", op=op, fix="pass module.parameters(), without "
                                "names")
        if not isinstance(p, Tensor) or not p.is_parameter:
            raise GradientError("a parameter does not require a gradient", op=op,
                                fix="set requires_grad = True, or use nn.parameter")
    if len(set(map(id, found))) < len(found):
        raise GradientError("a parameter is given twice, and would take two steps at a time", op=op,
                            fix="give it once; parameters() of one module has what is shared once")
    return found


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (Polyak 1964) or Nesterov's (Sutskever et al. 2013), as in PyTorch.

    dampening: the part of a gradient that does not come into the sum which momentum keeps, but for the first one.
    Raises ArgumentError (a ValueError) for Nesterov's step without a momentum, or with dampening.

    >>> import graphc as gc
    >>> w = gc.nn.parameter(gc.asarray([1.0]))
    >>> optimizer = gc.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5]
    """

    def __init__(self, parameters, lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
                 weight_decay: float = 0.0, nesterov: bool = False):
        if nesterov and (not momentum or dampening):
            raise ArgumentError("Nesterov's step needs a momentum, and no dampening", op="SGD",
                                fix="pass momentum=0.9, dampening=0")
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov
        self.slots = ("momentum",) if momentum else ()
        self.counted = bool(momentum and dampening)     # a parameter's first gradient comes in as a whole
        super().__init__(parameters, lr, weight_decay)

    def update(self, p, g, count, lr, *state):
        if not self.momentum:
            return (p - lr * g,)
        new = g * gc.where(count == 1, 1.0, 1 - self.dampening).astype(g.dtype) if self.dampening else g
        m = self.momentum * state[0] + new
        return p - lr * (g + self.momentum * m if self.nesterov else m), m


class Adam(Optimizer):
    """Kingma & Ba (2015). A parameter's bias is corrected by the steps that it had a gradient for, as in PyTorch.

    amsgrad: divided by the root of the largest of all means of squares so far, by its element. Reddi et al. (2018).
    """

    slots, counted = ("mean", "square"), True

    def __init__(self, parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, amsgrad: bool = False):
        _in_range(type(self).__name__, 1, beta1=betas[0], beta2=betas[1])
        self.betas, self.eps = betas, eps
        self.slots = (*self.slots, "largest") if amsgrad else self.slots
        super().__init__(parameters, lr, weight_decay)

    def update(self, p, g, count, lr, m, v, *largest):
        b1, b2 = self.betas
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * (g * g)
        largest = [gc.maximum(before, v) for before in largest]
        step = lr / (1 - b1 ** count)
        return p - step * m / (gc.sqrt([v, *largest][-1]) / gc.sqrt(1 - b2 ** count) + self.eps), m, v, *largest


class AdamW(Adam):
    """Adam with weight decay taken off the parameters. Loshchilov & Hutter (2019)."""

    decoupled = True

    def __init__(self, parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.01, amsgrad: bool = False):
        super().__init__(parameters, lr, betas, eps, weight_decay, amsgrad)


class RMSprop(Optimizer):
    """Tieleman & Hinton (2012), *Lecture 6.5*.

    centered: divided by the root of the variance of gradients, not of their squares. Graves (2013).
    momentum: of what is taken off the parameter, before it is multiplied by the rate; as in PyTorch.
    """

    def __init__(self, parameters, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum: float = 0.0, centered: bool = False):
        self.alpha, self.eps, self.momentum, self.centered = alpha, eps, momentum, centered
        self.slots = ("square",) + ("mean",) * bool(centered) + ("momentum",) * bool(momentum)
        super().__init__(parameters, lr, weight_decay)

    def update(self, p, g, count, lr, v, *state):
        v = self.alpha * v + (1 - self.alpha) * (g * g)
        new, spread = [v], v
        if self.centered:
            mean = self.alpha * state[0] + (1 - self.alpha) * g
            new, spread = [v, mean], v - mean * mean
        if not self.momentum:
            return p - lr * g / (gc.sqrt(spread) + self.eps), *new
        m = self.momentum * state[-1] + g / (gc.sqrt(spread) + self.eps)
        return p - lr * m, *new, m


class Adagrad(Optimizer):
    """Duchi, Hazan & Singer (2011).

    lr_decay: the rate of a parameter's step n is lr / (1 + (n - 1) * lr_decay). initial_accumulator_value: what sums of
    squares start with. As in PyTorch.
    """

    slots = ("square",)

    def __init__(self, parameters, lr: float = 0.01, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10):
        self.eps, self.lr_decay, self.counted = eps, lr_decay, bool(lr_decay)
        super().__init__(parameters, lr, weight_decay)
        if initial_accumulator_value:
            for square in self.state["square"]:
                square.assign(initial_accumulator_value)

    def update(self, p, g, count, lr, v):
        v = v + g * g
        rate = lr / (1 + (count - 1) * self.lr_decay) if self.lr_decay else lr
        return p - rate * g / (gc.sqrt(v) + self.eps), v


class GradScaler:
    """A factor on the loss, so that small gradients do not vanish in float16. Micikevicius et al. (2018).

    `scale` multiplies a loss. `step` divides the gradients again and lets the optimiser step, unless one of them is
    infinite or NaN: then nothing changes. `update`, once after all steps, sets the factor: `backoff` times what it was
    if a step was left out, and `growth` times after `interval` updates without that. `unscale_` divides earlier, for
    gradients that are clipped before the step. All as in PyTorch; each optimiser of several is judged by its own
    gradients.

    Factor and decision are tensors: nothing is compiled anew; a whole step may be jitted, `unscale_` and `step` of an
    optimiser by the same function. `scaler.factor` shows the factor, `scaler.skipped` how many steps were left out.

    >>> import graphc as gc
    >>> w = gc.nn.parameter(gc.asarray([1.0], dtype=gc.float32))
    >>> optimizer, scaler = gc.optim.SGD([w], lr=0.25), gc.optim.GradScaler(1024.0)
    >>> scaler.scale((w.astype(gc.float16) * 2).sum()).backward()
    >>> scaler.unscale_(optimizer)
    >>> norm = gc.optim.clip_grad_norm([w], 10.0)
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist(), norm.item(), scaler.factor.item()
    ([0.5], 2.0, 1024.0)
    """

    def __new__(cls, *args, **kwargs):
        check_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def __init__(self, factor: float = 65536.0, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000):
        self.factor, self.good, self.skipped, self._bad = (
            gc.asarray(x, dtype=gc.float32) for x in (float(factor), 0.0, 0.0, 0.0))    # bad: since the last update
        self.growth, self.backoff, self.interval = growth, backoff, interval
        # Optimisers since the last update: whether the gradients, divided, are finite, and the trace that this was
        # found in; None after the step.
        self._finite: dict[Optimizer, tuple | None] = {}

    def scale(self, loss):
        """The loss, in float32, times the factor."""
        return loss.astype(gc.float32) * self.factor.detach()

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimiser's parameters by the factor now: `step` then does not do it again.

        Raises GradientError where that was done since the last update.
        """
        if optimizer in self._finite:
            raise GradientError("the gradients of this optimiser were divided by the factor since the last update",
                                op="unscale_", fix="call scaler.update() after the steps")
        with gc.no_grad():
            given = _with_gradients(optimizer.parameters)
            for p in given:
                p.grad = p.grad.astype(gc.result_type(p.grad, gc.float32)) / self.factor
            finite = gc.all(gc.stack([gc.isfinite(p.grad).all() for p in given])) if given else gc.asarray(True)
        self._finite[optimizer] = finite, tracing.current()

    def step(self, optimizer: Optimizer) -> None:
        """A step of the optimiser with the gradients that the loss has without the factor, if all are finite.

        Raises GradientError for a second step without an update.
        """
        if self._finite.get(optimizer) is None:
            self.unscale_(optimizer)
        finite, trace = self._finite.pop(optimizer)
        if trace is not tracing.current():
            raise GradientError("unscale_ and step are not called by the same jitted function, or both outside of it",
                                op="step", fix="call them in one place")
        if tracing.current() is None:       # what is traced runs each time, and tells nobody
            self._finite[optimizer] = None
        with gc.no_grad():
            changing = [*_with_gradients(optimizer.parameters), *(t for ts in optimizer.state.values() for t in ts),
                        optimizer.count]
            before = [t.detach() for t in changing]
            optimizer.step()
            for t, old in zip(changing, before, strict=True):
                t.assign(gc.where(finite, t.detach(), old))
            self.skipped.assign(gc.where(finite, self.skipped, self.skipped + 1))
            self._bad.assign(gc.where(finite, self._bad, 1.0))

    def update(self) -> None:
        """Set the factor by what happened since the last update."""
        self._finite.clear()
        with gc.no_grad():
            bad, good = self._bad > 0, self.good + 1
            grown = gc.logical_and(good >= self.interval, gc.logical_not(bad))
            rate = gc.where(bad, self.backoff, gc.where(grown, self.growth, 1.0))
            self.factor.assign(self.factor * rate.astype(gc.float32))
            self.good.assign(gc.where(gc.logical_or(bad, grown), 0.0, good))
            self._bad.assign(0.0)

    def state_dict(self) -> dict:
        return {name: getattr(self, name).detach() for name in ("factor", "good", "skipped")}

    def load_state_dict(self, state: dict) -> None:
        """Go on from a state. Raises ShapeError for other shapes; nothing is changed then."""
        take_over({name: getattr(self, name) for name in ("factor", "good", "skipped")}, state)


# ------------------------------------------------------------------------------------------------- gradients, schedules

def _with_gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Those that have a gradient; a single tensor is taken as well, as in PyTorch."""
    return [p for p in ([parameters] if isinstance(parameters, Tensor) else parameters) if p.grad is not None]


def clip_grad_norm(parameters: Iterable[Tensor] | Tensor, limit: float, norm_type: float = 2.0) -> Tensor:
    """Scale the gradients so that their common norm is at most limit; returns the norm before. Pascanu et al. 2013.

    norm_type: the order of the norm, positive; infinity is the largest absolute value.

    >>> import graphc as gc
    >>> w = gc.nn.parameter(gc.asarray([2.0]))
    >>> (w ** 2).sum().backward()
    >>> gc.optim.clip_grad_norm(w, 1.0).item(), round(w.grad.item(), 3)
    (4.0, 1.0)
    """
    parameters = _with_gradients(parameters)
    with gc.no_grad():
        norm = _norm([p.grad.astype(p.grad.dtype.accumulator) for p in parameters], norm_type)
        scale = gc.minimum(limit / (norm + 1e-6), 1.0)
        for p in parameters:
            p.grad = p.grad * scale.astype(p.grad.dtype)
    return norm


def _norm(gradients: list[Tensor], order: float) -> Tensor:
    """The norm of all elements of some tensors."""
    if not order > 0:
        raise ArgumentError(f"the order of a norm is positive, not {order}", op="clip_grad_norm")
    if order == 2 or not gradients:
        return gc.sqrt(sum((g ** 2).sum() for g in gradients))
    sizes = [gc.linalg.vector_norm(g, ord=order) for g in gradients]
    if order == inf:
        return functools.reduce(gc.maximum, sizes)
    return sum(size ** order for size in sizes) ** (1 / order)


def clip_grad_value(parameters: Iterable[Tensor] | Tensor, limit: float) -> None:
    """Cut every element of every gradient off at +-limit."""
    with gc.no_grad():
        for p in _with_gradients(parameters):
            p.grad = gc.clip(p.grad, -limit, limit)


class Schedule:
    """A learning rate as a function of the number of steps taken; `step` goes on by one and sets it.

    >>> import graphc as gc
    >>> optimizer = gc.optim.SGD([gc.nn.parameter(gc.ones(1))], lr=1.0)
    >>> schedule = gc.optim.Schedule(optimizer, gc.optim.cosine(10, warmup=2))
    >>> rates = [optimizer.lr.item()]
    >>> for _ in range(3):
    ...     schedule.step()
    ...     rates.append(round(optimizer.lr.item(), 3))
    >>> rates
    [0.5, 1.0, 1.0, 0.962]
    """

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]):
        self.optimizer, self.factor, self.taken = optimizer, factor, 0
        self.base = optimizer.lr.item()
        optimizer.lr = self.base * factor(0)

    def step(self) -> None:
        self.taken += 1
        self.optimizer.lr = self.base * self.factor(self.taken)

    def state_dict(self) -> dict:
        """What the schedule goes on from, beside the state of its optimiser: plain numbers."""
        return {"taken": self.taken, "base": self.base}

    def load_state_dict(self, state: dict) -> None:
        self.taken, self.base = int(state["taken"]), float(state["base"])
        self.optimizer.lr = self.base * self.factor(self.taken)


def step_decay(every: int, gamma: float = 0.1) -> Callable[[int], float]:
    """gamma ** (steps // every)"""
    return lambda n: gamma ** (n // every)


def exponential(gamma: float) -> Callable[[int], float]:
    """gamma ** steps"""
    return lambda n: gamma ** n


def cosine(total: int, warmup: int = 0, least: float = 0.0) -> Callable[[int], float]:
    """Up in a line over `warmup` steps, then down to `least` along half a cosine. Loshchilov & Hutter (2017)."""
    def factor(n: int) -> float:
        if n < warmup:
            return (n + 1) / warmup
        done = min((n - warmup) / max(total - warmup, 1), 1.0)
        return least + (1 - least) * (1 + cos(pi * done)) / 2
    return factor


def __getattr__(name: str):
    raise missing("module 'graphc.optim'", name, OPTIMISERS)
