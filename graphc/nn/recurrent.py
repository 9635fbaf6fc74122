"""Recurrent layers: a step, the cell that takes one, and the layer that takes one for each element of a sequence.

Parameters have PyTorch's names, shapes and order of gates, so its states load. A layer multiplies all inputs by their
weights in one matrix product; what is left, the part that depends on the state, is the body of a `graphc.scan`.
"""
from __future__ import annotations

from math import sqrt

import graphc as gc
from graphc.errors import ArgumentError, ShapeError
from graphc.nn import functional as F
from graphc.nn import init
from graphc.nn.module import Module, parameter


class _Recurrent(Module):
    """What cells and layers share: the step, how many gates and states it has, and how parameters start."""

    gates, states = 1, 1

    def step(self, given, state: tuple, weight, bias) -> tuple:
        """The state after a step, whose first part is what the layer gives.

        given: what the input gives to the gates, (batch, gates * hidden). state: tuple of (batch, hidden). weight and
        bias are those of the state.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def _add(self, inputs: int, hidden: int, bias: bool, suffix: str) -> None:
        """Parameters of one step, uniform in +-1/sqrt(hidden)."""
        bound, rows = 1 / sqrt(max(hidden, 1)), self.gates * hidden
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, hidden), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            wanted = bias or name.startswith("weight")
            setattr(self, name + suffix, parameter(init.uniform(shape, -bound, bound)) if wanted else None)

    def _of(self, suffix: str) -> list:
        return [getattr(self, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def _state(self, given) -> tuple:
        """What a caller gives as the state: one tensor, or a tuple of `states`."""
        parts = tuple(given) if self.states > 1 else (given,)
        if len(parts) != self.states:
            raise ShapeError(f"the state has {len(parts)} parts, not {self.states}", op=type(self).__name__)
        return parts

    def _given(self, parts) -> object:
        return tuple(parts) if self.states > 1 else parts[0]

    def _check(self, x) -> None:
        if not x.ndim or x.shape[-1] != self.inputs:
            raise ShapeError(f"the input has shape {x.shape}; its last axis should be {self.inputs}",
                             op=type(self).__name__)


class _Cell(_Recurrent):
    """One step."""

    def __init__(self, inputs: int, hidden: int, bias: bool = True):
        self.inputs, self.hidden = inputs, hidden
        self._add(inputs, hidden, bias, "")

    def forward(self, x, state=None):
        self._check(x)
        weight, weight_hh, bias, bias_hh = self._of("")
        if state is None:
            state = self._given([gc.zeros((*x.shape[:-1], self.hidden), dtype=x.dtype)] * self.states)
        after = self.step(F.linear(x, weight, bias), self._state(state), weight_hh, bias_hh)
        return self._given(after)


class _Layers(_Recurrent):
    """Steps along a sequence; see `LSTM`."""

    def __init__(self, inputs: int, hidden: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False):
        if num_layers < 1:
            raise ArgumentError(f"{num_layers} layers", op=type(self).__name__, fix="use at least 1")
        self.inputs, self.hidden, self.num_layers = inputs, hidden, num_layers
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._add(inputs if not layer else hidden * (1 + bidirectional), hidden, bias, suffix)

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][:1 + self.bidirectional]

    def forward(self, x, state=None):
        self._check(x)
        if x.ndim not in (2, 3):
            raise ShapeError(f"the input has shape {x.shape}: neither a sequence nor a batch of them",
                             op=type(self).__name__)
        single, swapped = x.ndim == 2, x.ndim == 3 and self.batch_first
        x = x.expand_dims(1) if single else x.swapaxes(0, 1) if swapped else x
        starts = self._starts(x, state, single)
        ends: list[tuple] = []
        for layer in range(self.num_layers):
            if layer:
                x = F.dropout(x, self.dropout, self.training)
            given = []
            for reverse, suffix in enumerate(self._suffixes(layer)):
                after, ys = self._run(x, tuple(s[len(ends)] for s in starts), suffix, bool(reverse))
                ends.append(after)
                given.append(ys)
            x = given[0] if len(given) == 1 else gc.concat(given, axis=-1)
        last = [gc.stack([end[k] for end in ends]) for k in range(self.states)]
        if single:
            return x.squeeze(1), self._given([s.squeeze(1) for s in last])
        return x.swapaxes(0, 1) if swapped else x, self._given(last)

    def _starts(self, x, state, single: bool) -> tuple:
        shape = (self.num_layers * (1 + self.bidirectional), x.shape[1], self.hidden)
        if state is None:
            return (gc.zeros(shape, dtype=x.dtype),) * self.states
        parts = self._state(state)
        parts = tuple(s.expand_dims(1) if single else s for s in parts)
        for s in parts:
            if s.shape != shape:
                raise ShapeError(f"the state has shape {s.shape}, not {shape}", op=type(self).__name__)
        return parts

    def _run(self, x, start: tuple, suffix: str, reverse: bool) -> tuple:
        """One layer in one direction: (the state at the end, what each step gave)."""
        weight, weight_hh, bias, bias_hh = self._of(suffix)

        def turn(state, given):
            after = self.step(given, state, weight_hh, bias_hh)
            return after, after[0]

        return gc.scan(turn, start, F.linear(x, weight, bias), reverse=reverse)


_ACTIVATIONS = {"tanh": gc.tanh, "relu": gc.relu}


class _Elman(_Recurrent):
    nonlinearity: str

    def step(self, given, state, weight, bias):
        return (_ACTIVATIONS[self.nonlinearity](given + F.linear(state[0], weight, bias)),)

    def _choose(self, nonlinearity: str) -> None:
        if nonlinearity not in _ACTIVATIONS:
            raise ArgumentError(f"the nonlinearity must be tanh or relu, not {nonlinearity!r}", op=type(self).__name__)
        self.nonlinearity = nonlinearity


class _LongShortTerm(_Recurrent):
    gates, states = 4, 2

    def step(self, given, state, weight, bias):
        h, c = state
        i, f, g, o = gc.split(given + F.linear(h, weight, bias), 4, axis=-1)
        c = gc.sigmoid(f) * c + gc.sigmoid(i) * gc.tanh(g)
        return gc.sigmoid(o) * gc.tanh(c), c


class _Gated(_Recurrent):
    gates = 3

    def step(self, given, state, weight, bias):
        h, = state
        rx, zx, nx = gc.split(given, 3, axis=-1)
        rh, zh, nh = gc.split(F.linear(h, weight, bias), 3, axis=-1)
        z = gc.sigmoid(zx + zh)
        n = gc.tanh(nx + gc.sigmoid(rx + rh) * nh)
        return ((1 - z) * n + z * h,)


class RNNCell(_Elman, _Cell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. Elman (1990), *Finding structure in time*.

    Takes the input (batch, inputs) or (inputs,) and the state (batch, hidden) or (hidden,), zeros if None.
    """

    def __init__(self, inputs: int, hidden: int, bias: bool = True, nonlinearity: str = "tanh"):
        super().__init__(inputs, hidden, bias)
        self._choose(nonlinearity)


class LSTMCell(_LongShortTerm, _Cell):
    """Long short-term memory: Hochreiter & Schmidhuber (1997), with the forget gate of Gers et al. (2000).

    Gates i, f, g, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). Takes the input (batch, inputs)
    or (inputs,) and the state (h, c), zeros if None; returns (h', c').
    """


class GRUCell(_Gated, _Cell):
    """Gated recurrent unit: Cho et al. (2014), with the reset gate after the product, as cuDNN and PyTorch have it.

    Gates r, z, n: n = tanh(W_in x + b_in + sigmoid(r) (W_hn h + b_hn)), h' = (1 - sigmoid(z)) n + sigmoid(z) h. Takes
    the input (batch, inputs) or (inputs,) and the state (batch, hidden) or (hidden,), zeros if None.
    """


class RNN(_Elman, _Layers):
    """`RNNCell` along sequences (length, batch, inputs), in layers. Arguments and results are those of `LSTM`."""

    def __init__(self, inputs: int, hidden: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False):
        super().__init__(inputs, hidden, num_layers, bias, batch_first, dropout, bidirectional)
        self._choose(nonlinearity)


class LSTM(_LongShortTerm, _Layers):
    """`LSTMCell` along sequences (length, batch, inputs), in layers.

    inputs, hidden  widths of an element of the sequence, and of the state
    num_layers      each goes along what the one before gave
    batch_first     sequences are (batch, length, inputs); without a batch they are (length, inputs) in any case
    dropout         of what each layer but the last one gives, while training
    bidirectional   each layer goes through the sequence both ways, and gives both results side by side

    Returns (what the last layer gave for each element, the last state). Of a state (h, c) each part is (num_layers *
    directions, batch, hidden), zeros if none is given. Parameters: weight_ih_l0 (4 hidden, inputs), weight_hh_l0
    (4 hidden, hidden), bias_ih_l0, bias_hh_l0, then _l1 ..., the way back with _reverse. Raises ShapeError.

    >>> import graphc as gc
    >>> y, (h, c) = gc.nn.LSTM(3, 5, num_layers=2, batch_first=True)(gc.ones((2, 7, 3), dtype=gc.float32))
    >>> y.shape, h.shape, c.shape
    ((2, 7, 5), (2, 2, 5), (2, 2, 5))
    """


class GRU(_Gated, _Layers):
    """`GRUCell` along sequences (length, batch, inputs), in layers. Arguments and results are those of `LSTM`."""
