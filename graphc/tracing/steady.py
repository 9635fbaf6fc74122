"""The next call of a jitted function that assigns to tensors it closes over, as a decoder does to its caches.

Such a function has hundreds of tensors, and to look at each of them, all gone from the processor's caches, takes
longer than some programs. Here the words of a run are kept from one call to the next. They are right while nobody has
rebound a tensor (graphc/tensor.py: `rebinding`) and nobody but its handle holds what is written in place.
"""
from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphc.config import settings
from graphc.ir.node import Node, buffer
from graphc.pytree import unflatten
from graphc.references import references
from graphc.runtime.backend import FAILURES
from graphc.runtime.buffers import PooledBuffer, pool
from graphc.runtime.counters import counters
from graphc.tensor import Tensor, rebinding
from graphc.tracing import Unfit, numbers_of, undraw
from graphc.tracing.written_out import MISS

if TYPE_CHECKING:
    from graphc.tracing.replay import Replay

_blank = object.__new__


def fits(replay: Replay, own: int) -> bool:
    """Whether such calls can be made of a replay: it does no more than to read, to compute, to assign and to return.

    own: how many tensors are arguments.
    """
    direct = getattr(getattr(replay.entry, "executable", None), "direct", None)
    if direct is None or direct.big:        # what is big has to ask first whether the memory is there
        return False
    if not replay.in_place or replay.donated or replay.lost or replay.fills or replay.scalars:
        return False
    if replay.looked or replay.no_grad is not None or any(source.position is None for _, source in replay.patches):
        return False
    made, written = len(replay.made), [place for _, place, _ in replay.writes]
    shown = [what for kind, what in replay.results if kind == "tensor"]
    each_once = sorted((*written, *shown)) == list(range(made))
    return replay.pattern == () and each_once and not any(is_variable or k < own for k, _, is_variable in replay.writes)


def run_and_watch(replay: Replay, handles: list[Tensor], nodes: list[Node], numbers: Sequence, own: int):
    """A call by the long way, for one that has been accepted. If nobody has rebound a tensor since the last one either,
    the next will probably find all as this one leaves it. Under the lock."""
    again, replay.left = replay.left == replay.seen, -1
    result = replay.run(handles, nodes, numbers)
    if replay.quick and replay.rebound == replay.seen:
        replay.left = replay.rebound
        if again:
            replay.steady = Steady(replay, [handle.node for handle in handles], own)
            if replay.rebound != replay.left:       # meanwhile, by another thread
                replay.steady = None
    return result


class Steady:
    """What the last call of a replay left, and what the next has to fill in. Used under the lock.

    nodes       of the tensors that the function closes over; `ids` are those of the tensors
    taken       those of them that are written where they lie; `given` are the inputs of the program that these are
    words       what the native library is given
    arguments   (word, which argument) of their addresses
    fresh       (word, bytes) of results that get memory of their own
    assigned    (place in `fresh`, place in `nodes`, words of the address, its facts) of those that a tensor is assigned
    returned    for each result that is a tensor its place in `fresh` and its facts
    """

    def __init__(self, replay: Replay, nodes: Sequence[Node], own: int):
        """nodes: what the arguments and the tensors closed over stand for after the call."""
        direct: Any = replay.entry.executable.direct
        self.direct = direct
        self.nodes = list(nodes[own:])
        self.ids = frozenset(map(id, replay.closed))
        inputs, outputs = len(replay.inputs), len(direct.output_bytes)
        there = [*nodes, *replay.extras]
        self.words = array("q", [0, *[there[place].value.address for place in replay.inputs], *[0] * outputs,
                                 *replay.words[:direct.params]])
        self.first_param = 1 + inputs + outputs
        self.arguments = [(1 + k, place) for k, place in enumerate(replay.inputs) if place < own]
        writer = {place: k for k, place, _ in replay.writes}
        places: list[int] = []
        self.given: list[int] = []
        self.fresh: list[tuple[int, int]] = []
        self.assigned: list[tuple] = []
        number_of: dict[int, int] = {}
        for root, (nbytes, alias) in enumerate(zip(direct.output_bytes, direct.aliases, strict=True)):
            k = writer.get(root)
            if (k is not None and alias in replay.in_place and replay.inputs[alias] == k
                    and isinstance(nodes[k].value, PooledBuffer)):
                places.append(k - own)
                self.given.append(alias)
                self.words[1 + inputs + root] = nodes[k].value.address
                continue
            if k is not None:
                read = [1 + position for position, place in enumerate(replay.inputs) if place == k]
                self.assigned.append((len(self.fresh), k - own, read, replay.made[root]))
            number_of[root] = len(self.fresh)
            self.fresh.append((1 + inputs + root, nbytes))
        self.taken = tuple([self.nodes[k] for k in places])
        self.returned = [(number_of[what], replay.made[what]) if kind == "tensor" else None
                         for kind, what in replay.results]

    def run(self, replay: Replay, handles: list[Tensor], nodes: list[Node], numbers: Sequence):
        """What the function returns for these arguments; MISS where something is not as it was."""
        if settings.verify or not self.ids.isdisjoint(map(id, handles)):
            return MISS
        if len(handles) > 1 and len(set(map(id, handles))) < len(handles):
            return MISS
        if not _are_free(self.taken):
            return MISS
        direct, words = self.direct, self.words[:]
        values = numbers_of(replay.tape, numbers, replay.draws)
        for word, place in self.arguments:
            words[word] = nodes[place].value.address
        try:
            for word, source in replay.patches:
                if word < direct.params:
                    words[self.first_param + word] = source.word(values, nodes)
        except Unfit:
            undraw(replay.tape, values, replay.draws)
            raise
        outputs = [pool.allocate(nbytes) for _, nbytes in self.fresh]
        for (word, _), output in zip(self.fresh, outputs, strict=True):
            words[word] = output.address
        arena = pool.allocate(direct.arena) if direct.arena else None
        words[0] = arena.address if arena is not None else 0
        counters.launches += direct.launches
        raised = None
        if self.taken and direct.whole is not None:
            failed, raised = direct.whole(words.tobytes(), settings.num_threads)
        else:
            failed = direct.run(direct.image, words.tobytes(), settings.num_threads)
        if failed:
            self._fail(replay, failed, handles, nodes, list(words[self.first_param:]))
        if self.assigned:
            self._assign(replay, outputs)
        if raised is not None:
            raise raised
        made = [what if kind == "object" else what.copy() if kind == "array" else values[what] if kind == "number" else
                [*handles, *replay.closed][what] if place is None else
                _tensor(place[1], outputs[place[0]], replay.device)
                for (kind, what), place in zip(replay.results, self.returned, strict=True)]
        return unflatten(replay.structure, [made[k] for k in replay.picks])

    def _assign(self, replay: Replay, outputs: list) -> None:
        for place, k, read, facts in self.assigned:
            node = _leaf(facts, outputs[place], replay.device)
            self.nodes[k] = replay.closed[k].node = node
            rebinding.of(replay.closed[k], replay)
            for word in read:
                self.words[word] = node.value.address

    def _fail(self, replay: Replay, failed: int, handles: list[Tensor], nodes: list[Node], words: list[int]) -> None:
        try:
            self.direct.fail(failed, 0)
        except FAILURES as error:
            replay.after(error, [*handles, *replay.closed], [*nodes, *self.nodes], words, self.given)
            raise


def _are_free(nodes: tuple[Node, ...]) -> bool:
    """Whether only a tensor and a Steady, in two places, hold each node, and only that its buffer, which no array shows
    then."""
    return {2}.issuperset(references(nodes)) and {1}.issuperset(references([node.value for node in nodes]))


def _leaf(facts: tuple, value, device: str) -> Node:
    dtype, shape, site = facts
    return buffer(dtype, shape, value, device, site)


def _tensor(facts: tuple, value, device: str) -> Tensor:
    tensor = _blank(Tensor)
    tensor.node = _leaf(facts, value, device)
    return tensor
