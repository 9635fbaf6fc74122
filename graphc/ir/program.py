"""What the runtime executes: plain data, no graph.

A `Program` is a list of steps over numbered buffer slots. It holds no Python object of the graph, so it can be
pickled into the disk cache, replayed from the memory cache, or sent elsewhere. Sizes are concrete; scalars of the
user's expression ("parameters") arrive with each run and are patched into the argument words of the steps that
use them.
"""
from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct


class KernelSource(Struct, frozen=True):
    """One kernel to compile. `text` is complete and holds nothing of the user's (no path, line or size)."""

    entry: str              # the entry point, a C identifier; equal text has equal entry
    text: str               # source in the backend's language
    reports: bool = False   # whether it says of bad indices in memory of the device, which the host has to read
    members: int = 0        # how many members of a launch its arguments have room for; 0: that is no matter of its text
    parts: tuple[str, ...] = ()     # texts of functions in it that other kernels have too, each complete: a backend may
    # compile them once, and the text with GC_APART, by which it only declares them


class Slot(Struct, frozen=True):
    """A buffer of a program. Inputs are bound by the caller; outputs are fresh; temporaries lie in one arena, or in an
    output that is not written yet."""

    role: str               # "input", "output" or "temp"
    nbytes: int
    offset: int = 0         # temp: byte offset into the arena or the host, a multiple of 64
    host: int | None = None   # temp: the output slot in which it lies, one without an alias
    alias: int | None = None  # output: the input slot whose buffer it takes over when the caller donates it


class Member(Struct, frozen=True):
    """One run of a launch's kernel over `chunks` fixed-size chunks of its parallel nest."""

    slots: tuple[int, ...]  # buffer k of the kernel is slot slots[k]
    args: tuple[int, ...]   # the kernel's int64 argument words: sizes, strides, offsets, bit-cast scalars
    params: tuple[tuple[int, int], ...]  # (word, parameter): args[word] is overwritten by parameter's bits
    chunks: int


class Launch(Struct, frozen=True):
    """Run one kernel for each member, the chunks of all of them in any order, on any threads.

    follows  chunk k needs of the launches before, back to the first that does not follow, no more than their chunks k:
             it may run as soon as these are done
    """

    kernel: int             # index into Program.kernels
    members: tuple[Member, ...]     # as many buffers, argument words and parameters each
    scratch: int            # bytes of scratch memory for each thread
    follows: bool = False

    @property
    def slots(self) -> tuple[int, ...]:
        """Of all members."""
        return tuple(slot for member in self.members for slot in member.slots)


class Operand(Struct, frozen=True):
    """A slot seen as a contiguous array."""

    slot: int
    dtype: str
    shape: tuple[int, ...]


class Library(Struct, frozen=True):
    """Call a named library routine (sort, FFT, LAPACK) on contiguous arrays."""

    call: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    attrs: tuple

    @property
    def slots(self) -> tuple[int, ...]:
        """What it reads and writes."""
        return tuple([x.slot for x in (*self.inputs, *self.outputs)])


class Copy(Struct, frozen=True):
    """Copy nbytes from one slot to another."""

    source: int
    target: int
    nbytes: int

    @property
    def slots(self) -> tuple[int, ...]:
        """What it reads and writes."""
        return self.source, self.target


class Carried(Struct, frozen=True):
    """What a loop hands from turn to turn: read from `initial` in the first, and at last in `result`.

    The body reads what the last turn wrote and writes elsewhere, into `result` and `spare` by turns; or, without a
    spare, it works in place, on a copy of what was there before the loop.
    """

    initial: int            # slots
    result: int
    spare: int | None


class Sliced(Struct, frozen=True):
    """An array of which each turn reads, or writes, the next `stride` bytes."""

    slot: int
    stride: int


class Loop(Struct, frozen=True):
    """Run a program again and again on numbered turns, or for as long as another one says.

    The inputs of `body` are the carried buffers, what is sliced, then `arrays`; its outputs are the carried buffers of
    the next turn, then what is stacked. `test` has the inputs of the body and one output, a bool.
    """

    body: Program
    test: Program | None
    turns: int | None       # None: while the test holds
    reverse: bool           # from the last slice to the first
    carried: tuple[Carried, ...]
    sliced: tuple[Sliced, ...]
    stacked: tuple[Sliced, ...]
    arrays: tuple[int, ...]
    params: tuple[int, ...]     # parameter k of the body is this parameter of the program
    workspace: int | None       # the slot in which the temporaries of body and test lie

    @property
    def slots(self) -> tuple[int, ...]:
        """What it reads and writes."""
        carried = [slot for c in self.carried for slot in (c.initial, c.result)]
        return (*carried, *[x.slot for x in (*self.sliced, *self.stacked)], *self.arrays)


class Branch(Struct, frozen=True):
    """Run one of two programs, by a bool in memory. Both have the same inputs and outputs."""

    condition: int
    taken: tuple[Program, Program]      # where it is true, where not
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: tuple[int, ...]
    workspace: int | None

    @property
    def slots(self) -> tuple[int, ...]:
        """What it reads and writes."""
        return (self.condition, *self.inputs, *self.outputs)


Step = Launch | Library | Copy | Loop | Branch


def bodies(step: Step) -> tuple[Program, ...]:
    """The programs inside a step."""
    if isinstance(step, Loop):
        return (step.body,) if step.test is None else (step.body, step.test)
    return step.taken if isinstance(step, Branch) else ()


class Program(Struct, frozen=True):
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    kernels: tuple[KernelSource, ...]
    inputs: tuple[int, ...]     # slots in the order in which the caller passes buffers
    outputs: tuple[int, ...]    # slots in the order in which run() returns buffers
    arena: int                  # bytes of temporaries
    # For errors: what each step computes, in words ("sum over axis 1 of (4096, 1024) float32").
    labels: tuple[str, ...] = ()
    tuned: bool = False         # the tuner has seen all its kernels

    @property
    def peak_bytes(self) -> int:
        """Bytes of outputs and temporaries that a run allocates at most; inputs are the caller's."""
        return self.peak_with(())

    def peak_with(self, donated: Collection[int]) -> int:
        """The same where outputs take over these input slots."""
        return self.arena + sum(s.nbytes for s in self.slots if s.role == "output" and s.alias not in donated)

    def overwritten(self, ended_at: int | None) -> set[int]:
        """The input slots that outputs have taken over, where they may, when a run ends at this step, or at its end."""
        steps = self.steps if ended_at is None else self.steps[:ended_at + 1]
        met = {slot for step in steps for slot in step.slots}
        return {slot.alias for number, slot in enumerate(self.slots) if slot.alias is not None and number in met}

    @property
    def all_kernels(self) -> tuple[KernelSource, ...]:
        """Its own and those of the programs inside its steps."""
        inside = [kernel for step in self.steps for program in bodies(step) for kernel in program.all_kernels]
        return tuple(dict.fromkeys([*self.kernels, *inside]))

    @property
    def launches(self) -> int:
        """Launches and library calls; those of a loop count once."""
        own = sum(isinstance(step, (Launch, Library)) for step in self.steps)
        return own + sum(program.launches for step in self.steps for program in bodies(step))
