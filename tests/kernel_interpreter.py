"""Executes kernels on NumPy buffers, one element at a time, and finds what C would do silently.

Between the graph's reference and the compiled program it tells a wrong schedule from wrong text: all three must agree.
While it runs it checks that

- every index lies in its buffer, unless its load is masked off;
- nothing is read before it is written: outputs and scratch start as garbage;
- every element of an output is written;
- no two parallel iterations touch one element, so that they may run in any order.

`run_program` executes a whole built program in the memory that its plan gives it, so that temporaries which overlap
while both are alive are found too.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from attention_interpreter import attention, blocked, fma_of, weighted
from msgspec import Struct, field

from graphc.build import Built
from graphc.ir import program as program_steps
from graphc.ir import trees
from graphc.ir.dtype import DType
from graphc.ir.dtype import by_name as dtype_of
from graphc.ir.index import Axis, Data, FloorDiv, Index
from graphc.ir.kernel import INDEX, LOAD, LOCAL, VALUE, Accumulate, If, Kernel, Let, Local, Loop, Span, Store, Template
from graphc.ir.node import Node, const_value
from graphc.ir.ops import CONST, CONTRACT, M2, PARAM, TABLE, identity
from graphc.ir.program import Branch, Copy, Launch, Library, Member

GARBAGE = 0xA5              # every byte of fresh memory
NOBODY, BEFORE = -1, -2     # who wrote an element: no one; whoever ran before this kernel


class KernelFault(AssertionError):
    """A kernel does what no kernel may do. The text names the kernel, the statement and the place."""


class Memory(Struct, eq=False):
    """A buffer of a kernel: its elements, and which iteration wrote each."""

    array: np.ndarray       # one-dimensional
    writer: np.ndarray      # int64, one for each element

    @classmethod
    def given(cls, array: np.ndarray) -> Memory:
        return cls(array.reshape(-1), np.full(array.size, BEFORE))

    @classmethod
    def fresh(cls, dtype: DType, size: int) -> Memory:
        array = np.frombuffer(bytes([GARBAGE]) * (size * dtype.itemsize), dtype.numpy).copy()
        return cls(array, np.full(size, NOBODY))


class _Frame(Struct, eq=False):
    """What is known while one iteration (or one segment) runs."""

    axes: dict[Axis, int] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)         # Let and Accumulate
    columns: dict[str, dict[int, object]] = field(default_factory=dict)     # Accumulate over a tile, by column
    locals: dict[str, Memory] = field(default_factory=dict)
    start: int = 0                                                  # of the segment
    stop: int = 0
    collected: dict[str, dict] | None = None                        # inside a reduction: name -> column -> values
    running: dict[str, Accumulate] = field(default_factory=dict)    # inside a scan
    results: dict[str, Callable[[], object]] = field(default_factory=dict)  # of a template, where the loops are
    spans: dict[Axis, Span] = field(default_factory=dict)           # by their innermost axis, inside a template


def run_kernel(kernel: Kernel, buffers: Sequence[Memory], params: dict[int, object], order: str = "forward") -> None:
    """Execute a kernel. `params`: the program's scalars by number. `order` of the parallel iterations: forward,
    reverse, or a seed."""
    _Interpreter(kernel, buffers, params).run_all(order)


def _run_in_turn(kernels: Sequence[_Interpreter], order: str) -> None:
    """Launches that follow one another: chunks in any order, each of them through all launches."""
    for chunk in _ordered(list(range(kernels[0].kernel.chunks)), order):
        for one in kernels:
            one.run(_ordered(list(one.items(chunk)), order))
    for one in kernels:
        one.check_written()


class _Interpreter:
    def __init__(self, kernel: Kernel, buffers: Sequence[Memory], params: dict[int, object]):
        self.kernel, self.buffers, self.params = kernel, buffers, params
        self.tile = kernel.parallel[-1] if kernel.tiled else None
        self.frame = _Frame()
        self.scalars: dict[str, object] = {}        # of the prologue
        self.iteration = 0
        self.statement: object = None

    def run_all(self, order: str) -> None:
        self.run(_ordered([item for chunk in range(self.kernel.chunks) for item in self.items(chunk)], order))
        self.check_written()

    def run(self, items: Sequence[tuple[int, int]]) -> None:
        """Iterations or segments of the parallel nest: what `items` gave."""
        with np.errstate(all="ignore"):
            self._prologue()
            for at, width in items:
                self._one(at, width)

    def check_written(self) -> None:
        for number, (buffer, memory) in enumerate(zip(self.kernel.buffers, self.buffers, strict=True)):
            missing = np.flatnonzero(memory.writer == NOBODY) if buffer.written else ()
            if len(missing):
                raise self.fault(f"{len(missing)} of {buffer.size} elements of buffer {number} are never written, "
                                  f"the first is {missing[0]}")

    def _prologue(self) -> None:
        """What every range of chunks computes first, by itself: the same scalars for all iterations."""
        tile, self.tile = self.tile, None
        self.body(self.kernel.prologue)
        self.scalars, self.tile = self.frame.values, tile

    def items(self, chunk: int) -> Iterator[tuple[int, int]]:
        """(position, width) of each iteration or segment of a chunk, as the launcher cuts them."""
        kernel = self.kernel
        if not kernel.parallel:
            yield 0, 1
            return
        extent = kernel.parallel[-1].extent
        at, stop = chunk * kernel.chunk, min((chunk + 1) * kernel.chunk, kernel.iterations)
        while at < stop:
            width = min(stop - at, extent - at % extent, kernel.width or stop) if kernel.tiled else 1
            yield at, width
            at += width

    def _one(self, at: int, width: int) -> None:
        self.frame = frame = _Frame(values=dict(self.scalars))
        self.iteration, rest = at, at
        for axis in reversed(self.kernel.parallel):
            frame.axes[axis] = rest % axis.extent
            rest //= axis.extent
        if self.tile is not None:
            frame.start = frame.axes.pop(self.tile)
            frame.stop = frame.start + width
        self.body(self.kernel.body)

    # ------------------------------------------------------------------------------------------------ statements

    def body(self, statements: tuple) -> None:
        for s in statements:
            self.statement = s
            kind = type(s)
            if kind is Let:
                self.frame.values[s.name] = self.expr(s.value)
            elif kind is Store:
                self._store(s)
            elif kind is Accumulate:
                self._accumulate(s)
            elif kind is Local:
                self.frame.locals[s.name] = Memory.fresh(s.dtype, s.extent)
            elif kind is Template:
                _TEMPLATES[s.name](self, s)
            elif kind is If:
                self.body(s.body if self.expr(s.test) else s.otherwise)
            elif s.kind == "reduce":
                self._reduce(s)
            elif s.kind == "serial" and (running := _accumulations(s, "scan")):
                self._scan(s, running)
            else:
                self._loop(s)

    def _loop(self, s: Loop) -> None:
        """Plain iterations. Those over the tile are parallel too: each column is an iteration of its own."""
        frame, segment = self.frame, self.iteration
        steps = self._range(s)
        if s.axis == self.tile:
            steps = range(max(steps.start, frame.start), min(steps.stop, frame.stop))
        for k in steps:
            frame.axes[s.axis] = k
            if s.axis == self.tile:
                self.iteration = segment + k - frame.start
            if s.axis in frame.spans and self.at(frame.spans[s.axis]) is None:
                continue        # of another block
            self.body(s.body)
        frame.axes.pop(s.axis, None)
        self.iteration = segment

    def _range(self, s: Loop) -> range:
        start = 0 if s.start is None else self._index(s.start)
        return range(start, s.axis.extent if s.limit is None else min(s.axis.extent, self._index(s.limit)))

    def _store(self, s: Store) -> None:
        value, position = self.expr(s.value), self._index(s.index)
        if s.local is not None:
            memory, position, name = self.frame.locals[s.local], position - self.frame.start, s.local
        else:
            memory, name = self.buffers[s.buffer], self.kernel.buffers[s.buffer].name
            if not self.kernel.buffers[s.buffer].written:
                raise self.fault(f"a store into {name}, which is an input")
        self._inside(position, memory, name)
        writer = memory.writer[position]
        if s.local is None and writer >= 0 and writer != self.iteration:
            raise self.fault(f"iterations {writer} and {self.iteration} both write {name}[{position}]")
        if value.dtype != memory.array.dtype:
            raise self.fault(f"a {value.dtype} is stored into {memory.array.dtype} {name}")
        memory.array[position] = value
        memory.writer[position] = self.iteration

    # ------------------------------------------------------------------------------------------------ reductions

    def _accumulate(self, s: Accumulate) -> None:
        frame = self.frame
        column = frame.axes.get(self.tile)
        value = self.expr(s.value)
        if s.name in frame.running:
            total = self._binary(s)(self._value(s.name), value)
            self._keep(s.name, column, total)
            return
        if s.other is not None:
            value = (value, self.expr(s.other))
        frame.collected[s.name].setdefault(column, []).append(value)

    def _keep(self, name: str, column: int | None, value) -> None:
        if column is None:
            self.frame.values[name] = value
        else:
            self.frame.columns.setdefault(name, {})[column] = value

    def _reduce(self, s: Loop) -> None:
        frame, sums = self.frame, _accumulations(s)
        columns = range(frame.start, frame.stop) if self.tile is not None else [None]
        frame.collected = {a.name: {column: [] for column in columns} for a in sums}
        for k in self._range(s):
            frame.axes[s.axis] = k
            self.body(s.body)
        frame.axes.pop(s.axis, None)
        collected, frame.collected = frame.collected, None
        for a in sums:
            for column, values in collected[a.name].items():
                self._keep(a.name, column, self._total(a, values))

    def _scan(self, s: Loop, running: list[Accumulate]) -> None:
        frame = self.frame
        frame.running = {a.name: a for a in running}
        for a in running:
            for column in range(frame.start, frame.stop) if self.tile is not None else [None]:
                self._keep(a.name, column, identity(a.op.combine, a.dtype))
        for k in self._range(s):
            frame.axes[s.axis] = k
            self.body(s.body)
        frame.axes.pop(s.axis, None)
        frame.running = {}

    def _binary(self, s: Accumulate):
        op, dtype = s.op.combine, s.dtype
        return lambda a, b: dtype.numpy.type(op.numpy((), dtype, (), a, b))

    def _total(self, s: Accumulate, values: list):
        number, nothing = s.dtype.numpy.type, identity(s.op.combine, s.dtype)
        if s.op.kind == CONTRACT:
            return trees.chain(values, fma_of(s.dtype), lambda a, b: number(a + b), number(0))
        combine = self._binary(s)
        if s.op is M2:
            return trees.squared_deviations(values, s.order, combine, number, nothing)
        return trees.reduce(values, s.order, combine, nothing)

    # ------------------------------------------------------------------------------------------------- templates

    def at(self, span: Span) -> int | None:
        """The position in a span that the loops have reached; None if it lies outside this iteration's block."""
        position = 0
        for axis in span.axes:
            position = position * axis.extent + self.frame.axes[axis]
        if span.block is None:
            return position
        first = self.frame.axes[span.block] * span.length
        return position if first <= position < first + span.length else None

    def positions(self, span: Span) -> range:
        """The positions of this iteration's block."""
        if span.block is None:
            return range(span.size)
        first = self.frame.axes[span.block] * span.length
        return range(first, min(first + span.length, span.size))

    def enter(self, s: Template) -> dict[str, Memory]:
        """Compute the operands of a template into whole matrices, of which an iteration fills what it needs."""
        frame = self.frame
        for span in s.spans:        # the extent of an axis for which the kernel has no loop is 1
            if span.block is not None:
                frame.axes.setdefault(span.block, 0)
        for operand in s.operands:
            walked = s.walked(operand)
            rows, columns = (walked[name].size for name in operand.spans)
            frame.locals[operand.name] = Memory.fresh(operand.dtype, rows * columns)
            frame.spans = {span.axes[-1]: span for span in walked.values()}
            self.body(operand.body)
        frame.spans = {span.axes[-1]: span for span in s.walked().values()}
        return frame.locals

    def _gemm(self, s: Template) -> None:
        frame, (m, n, k) = self.frame, (s.span(name) for name in "mnk")
        matrices = self.enter(s)
        number, fma = s.dtype.numpy.type, fma_of(s.dtype)
        order = "mma" if s.name == "mma" else "chain"
        results = {}
        for i in self.positions(m):
            row = [number(self.read(matrices["a"], i * k.size + p, "a")) for p in range(k.size)]
            for j in self.positions(n):
                column = [number(self.read(matrices["b"], p * n.size + j, "b")) for p in range(k.size)]
                results[i, j] = trees.chain(list(zip(row, column, strict=True)), fma, lambda a, b: number(a + b),
                                            number(0), order)
        frame.results[s.result] = lambda: results[self.at(m), self.at(n)]
        self.body(s.epilogue)
        frame.results, frame.spans = {}, {}

    # ----------------------------------------------------------------------------------------------- expressions

    def expr(self, e: Node):
        op = e.op
        if op is CONST:
            return const_value(e)
        if op is PARAM:
            return self.params[self.kernel.params[e.attrs[0]][0]]
        if op is VALUE:
            return self._value(e.attrs[0])
        if op is INDEX:
            return np.asarray(self._index(e.attrs[0])).astype(e.dtype.numpy)[()]
        if op is LOAD:
            return self._load(e)
        if op is LOCAL:
            name = e.attrs[0]
            position = self._index(e.attrs[1]) - self.frame.start
            return self.read(self.frame.locals[name], position, name)
        result = op.numpy(e.attrs, e.dtype, (), *[self.expr(s) for s in e.srcs])
        if np.asarray(result).dtype != e.dtype.numpy:
            raise self.fault(f"{e} gives {np.asarray(result).dtype}")
        return np.asarray(result)[()]

    def _value(self, name: str):
        if name in self.frame.results:
            return self.frame.results[name]()
        column = self.frame.columns.get(name)
        if column is not None:
            return column[self.frame.axes[self.tile]]
        if name not in self.frame.values:
            raise self.fault(f"{name} is read before it is known")
        return self.frame.values[name]

    def _load(self, e: Node):
        if e.srcs and not self.expr(e.srcs[0]):
            return e.dtype.numpy.type(0)
        number, index = e.attrs
        buffer = self.kernel.buffers[number]
        if buffer.dtype is not e.dtype:
            raise self.fault(f"{buffer.name} of {buffer.dtype} is read as {e.dtype}")
        return self.read(self.buffers[number], self._index(index), buffer.name)

    def read(self, memory: Memory, position: int, name: str):
        self._inside(position, memory, name)
        writer = memory.writer[position]
        if writer == NOBODY:
            raise self.fault(f"{name}[{position}] is read before it is written")
        if writer >= 0 and writer != self.iteration and name not in self.frame.locals:
            raise self.fault(f"iteration {self.iteration} reads {name}[{position}], which {writer} writes")
        return memory.array[position]

    def _inside(self, position: int, memory: Memory, name: str) -> None:
        if not 0 <= position < memory.array.size:
            raise self.fault(f"{name}[{position}] of {memory.array.size} elements")

    def _index(self, index: Index) -> int:
        return index.const + sum(k * self._atom(atom) for atom, k in index.terms)

    def _atom(self, atom) -> int:
        if type(atom) is Axis:
            return self.frame.axes[atom]
        if type(atom) is Data:
            return int(self.expr(atom.expr))
        inner = self._index(atom.numerator)
        return inner // atom.denominator if type(atom) is FloorDiv else inner % atom.denominator

    def fault(self, what: str) -> KernelFault:
        return KernelFault(f"{self.kernel.name}: {what}\n  in {self.statement}")


_TEMPLATES = {"gemm": _Interpreter._gemm, "gemv": _Interpreter._gemm, "direct": _Interpreter._gemm,
              "mma": _Interpreter._gemm, "attention": attention, "weighted": weighted, "blocked": blocked}


def _ordered(items: list, order: str) -> list:
    if order == "reverse":
        items.reverse()
    elif order != "forward":
        random.Random(order).shuffle(items)
    return items


def _accumulations(loop: Loop, order: str | None = None) -> list[Accumulate]:
    found: list[Accumulate] = []
    for s in loop.body:
        if type(s) is Accumulate and (order is None or s.order == order):
            found.append(s)
        elif type(s) is Loop:
            found += _accumulations(s, order)
    return found


# ----------------------------------------------------------------------------------------------------- whole programs

def run_program(built: Built, inputs: Sequence[np.ndarray], words: Sequence[int], order: str = "forward"
                ) -> list[np.ndarray]:
    """The program's outputs, one-dimensional. `words`: its parameters as 64-bit words."""
    program = built.program
    memories = _Slots(program, inputs)

    def interpreter(member: Member, kernel: Kernel) -> _Interpreter:
        params = {number: _scalar(words[number], dtype) for number, dtype in kernel.params}
        return _Interpreter(kernel, memories.of(member.slots, kernel), params)
    for (step, made_from), *followers in _jobs(zip(program.steps, built.steps, strict=True)):
        if followers:
            _run_in_turn([interpreter(s.members[0], b.members[0].kernel) for s, b in ((step, made_from), *followers)],
                         order)
        elif isinstance(step, Launch):
            for member, lowered in _ordered(list(zip(step.members, made_from.members, strict=True)), order):
                interpreter(member, lowered.kernel).run_all(order)
        elif isinstance(step, Copy):
            memories.copy(step)
        elif isinstance(step, Library):
            memories.call(step)
        else:
            inside = built.bodies[made_from.node]
            own = [words[number] for number in step.params]
            (_run_loop if isinstance(step, program_steps.Loop) else _run_branch)(step, inside, memories, own, order)
    return [memories.output(slot) for slot in program.outputs]


def _jobs(steps: Iterable[tuple]) -> list[list[tuple]]:
    """Steps with those that follow them."""
    found: list[list[tuple]] = []
    for step in steps:
        if isinstance(step[0], Launch) and step[0].follows:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _run_loop(step: program_steps.Loop, inside: Sequence[Built], memories: _Slots, words: list[int], order: str
              ) -> None:
    """By values: a turn gets its inputs and gives its outputs in memory of its own."""
    state = [memories.whole(c.initial) for c in step.carried]
    fixed = [memories.whole(slot) for slot in step.arrays]
    count, turn = len(state), 0
    while step.turns is None or turn < step.turns:
        if step.test is not None and not run_program(inside[0], [*state, *fixed], words, order)[0][0]:
            break
        number = step.turns - 1 - turn if step.turns is not None and step.reverse else turn
        slices = [memories.whole(x.slot)[x.stride * number:x.stride * (number + 1)] for x in step.sliced]
        results = run_program(inside[-1], [*state, *slices, *fixed], words, order)
        state = results[:count]
        for x, part in zip(step.stacked, results[count:], strict=True):
            memories.fill(x.slot, part, x.stride * number)
        turn += 1
    for c, value in zip(step.carried, state, strict=True):
        memories.fill(c.result, value)


def _run_branch(step: Branch, inside: Sequence[Built], memories: _Slots, words: list[int], order: str) -> None:
    taken = inside[0 if memories.whole(step.condition)[0] else 1]
    results = run_program(taken, [memories.whole(slot) for slot in step.inputs], words, order)
    for slot, value in zip(step.outputs, results, strict=True):
        memories.fill(slot, value)


def _scalar(word: int, dtype: DType):
    return np.frombuffer((word & (1 << 64) - 1).to_bytes(8, "little"), dtype.numpy, 1)[0]


class _Slots:
    """The bytes of a program's buffers, and for each byte which slot wrote it last."""

    def __init__(self, program, inputs: Sequence[np.ndarray]):
        self.program = program
        self.arena = np.full(program.arena, GARBAGE, np.uint8)
        self.owner = np.full(program.arena, NOBODY)
        self.bytes: dict[int, np.ndarray] = {}
        self.known: dict[int, np.ndarray] = {}
        for number, slot in enumerate(program.slots):
            if slot.role == "input":
                array = np.ascontiguousarray(inputs[program.inputs.index(number)])
                self.bytes[number] = np.frombuffer(array.tobytes(), np.uint8).copy()
                self.known[number] = np.full(slot.nbytes, number)
            elif slot.role == "output":
                self.bytes[number] = np.full(slot.nbytes, GARBAGE, np.uint8)
                self.known[number] = np.full(slot.nbytes, NOBODY)
        for number, slot in enumerate(program.slots):
            if slot.role == "temp":
                part = slice(slot.offset, slot.offset + slot.nbytes)
                self.bytes[number] = (self.arena if slot.host is None else self.bytes[slot.host])[part]
                self.known[number] = (self.owner if slot.host is None else self.known[slot.host])[part]

    def of(self, slots: Sequence[int], kernel: Kernel) -> list[Memory]:
        """The memory of a kernel's buffers. An output that is updated in place holds what was there before."""
        memories = [self._memory(slot, buffer) for slot, buffer in zip(slots, kernel.buffers, strict=True)]
        return [memories[k] if b.same is None else memories[b.same] for k, b in enumerate(kernel.buffers)]

    def _memory(self, slot: int, buffer) -> Memory:
        size = buffer.size * buffer.dtype.itemsize
        known = self.known[slot][:size].reshape(buffer.size, buffer.dtype.itemsize)
        complete = (known == slot).all(1)
        memory = Memory(self.bytes[slot][:size].view(buffer.dtype.numpy), np.where(complete, BEFORE, NOBODY))
        if buffer.written:
            self.known[slot][:size] = slot
        return memory

    def copy(self, step: Copy) -> None:
        self.bytes[step.target][:step.nbytes] = self.bytes[step.source][:step.nbytes]
        self.known[step.target][:step.nbytes] = step.target

    def call(self, step: Library) -> None:
        arrays = [self._array(o) for o in step.inputs]
        call = TABLE["library"].numpy
        dtypes = tuple(dtype_of(o.dtype) for o in step.outputs)
        attrs, shapes = (step.call, dict(step.attrs)["arguments"]), tuple(o.shape for o in step.outputs)
        results = call(attrs, dtypes, shapes, *arrays)
        for operand, result in zip(step.outputs, results, strict=True):
            raw = np.frombuffer(np.ascontiguousarray(result).tobytes(), np.uint8)
            self.bytes[operand.slot][:raw.size] = raw
            self.known[operand.slot][:raw.size] = operand.slot

    def _array(self, operand) -> np.ndarray:
        dtype = dtype_of(operand.dtype).numpy
        size = int(np.prod(operand.shape)) * dtype.itemsize
        if not (self.known[operand.slot][:size] == operand.slot).all():
            raise KernelFault(f"a library routine reads slot {operand.slot} before it is written")
        return self.bytes[operand.slot][:size].view(dtype).reshape(operand.shape)

    def whole(self, slot: int) -> np.ndarray:
        """The bytes of a slot that a loop or branch reads."""
        if not (self.known[slot] == slot).all():
            raise KernelFault(f"a loop or branch reads slot {slot} before it is written")
        return self.bytes[slot].copy()

    def fill(self, slot: int, value: np.ndarray, offset: int = 0) -> None:
        raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
        self.bytes[slot][offset:offset + raw.size] = raw
        self.known[slot][offset:offset + raw.size] = slot

    def output(self, slot: int) -> np.ndarray:
        if not (self.known[slot] == slot).all():
            raise KernelFault(f"output slot {slot} is not written")
        return self.bytes[slot]
