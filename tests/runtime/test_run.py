"""Programs on the CPU: threads, parameters, temporaries, index faults, scratch, donation, checks at the boundary."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from msgspec.structs import replace
from runtime_programs import ADD, SCALE, SCRATCH, SLOW, bits, chain, chunks, gather, launch, output, scale

from graphc.config import settings
from graphc.ir.program import Copy, KernelSource, Library, Member, Operand, Program, Slot
from graphc.runtime import backend, build, compiler
from graphc.runtime.backend import IndexFault
from graphc.runtime.buffers import pool
from graphc.runtime.counters import counters


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    with settings.override(num_threads=request.param):
        yield request.param


@pytest.mark.parametrize("n", [0, 1, 999, 1000, 1001, 123456])
def test_scale(cpu, threads, n):
    x = np.random.default_rng(0).normal(size=n)
    program = cpu.load(scale(n))
    for factor in (2.0, -0.5):
        (y,) = program.run([cpu.from_numpy(x)], [bits(factor)])
        assert np.array_equal(y.view(np.float64, (n,)), factor * x)


@pytest.mark.parametrize("n", [1, 5000, 300_000])
def test_temporaries_copies_and_two_parameters(cpu, threads, n):
    x = np.random.default_rng(1).normal(size=n)
    program = cpu.load(chain(n))
    for _ in range(3):
        (z,) = program.run([cpu.from_numpy(x)], [bits(3.0), bits(4.0)])
        assert np.array_equal(z.view(np.float64, (n,)), 3.0 * x + 4.0 * x)


def test_scratch_belongs_to_one_thread(cpu, threads):
    count, n = 500, 3000
    program = Program(
        slots=(Slot("output", 8 * count),), steps=(launch(0, (0,), (n,), (), count, 8 * n),),
        kernels=(KernelSource("rows", SCRATCH),), inputs=(), outputs=(0,), arena=0,
    )
    (y,) = cpu.load(program).run([])
    assert np.array_equal(y.view(np.int64, (count,)), n * np.arange(count) + n * (n - 1) // 2)


@pytest.mark.parametrize(
    "bad", [[0], [7], [99_999], [54_321, 54_320, 99_999], [5000, 80_000], list(range(0, 10**5, 7))]
)
def test_the_first_bad_index_is_reported_whatever_the_threads(cpu, threads, bad):
    index = np.arange(100_000)
    index[bad] = -1
    program = cpu.load(gather(100_000))
    for _ in range(20):
        with pytest.raises(IndexError, match="take") as caught:
            program.run([cpu.from_numpy(index)])
        assert isinstance(caught.value, IndexFault)
        assert (caught.value.step, caught.value.position) == (0, min(bad))
    index[bad] = 5
    (y,) = program.run([cpu.from_numpy(index)])
    assert np.array_equal(y.view(np.int64, (100_000,)), index)


def test_the_failing_step_is_named(cpu):
    n = 10
    two = Program(
        slots=(Slot("input", 80), Slot("input", 80), Slot("temp", 80, 0), Slot("output", 80)),
        steps=(launch(0, (0, 2), (n,), (), 1, 0), launch(0, (1, 3), (n,), (), 1, 0)),
        kernels=gather(n).kernels, inputs=(0, 1), outputs=(3,), arena=128, labels=("first", "second"),
    )
    good, bad = np.arange(n), np.full(n, 10)
    with pytest.raises(IndexFault, match="of second") as caught:
        cpu.load(two).run([cpu.from_numpy(good), cpu.from_numpy(bad)])
    assert caught.value.step == 1


def test_many_buffers_and_arguments_leave_the_stack(cpu):
    """More words than the native library keeps on its stack."""
    text = """
typedef long int64_t;
int64_t last(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    *(int64_t *)buf[0] = arg[999] + (buf[99] == buf[1]);
    return 0;
}
"""
    program = Program(
        slots=(Slot("output", 8), Slot("temp", 64, 0)),
        steps=(launch(0, (0,) + (1,) * 99, tuple(range(1000)), ((999, 0),), 1, 0),),
        kernels=(KernelSource("last", text),), inputs=(), outputs=(0,), arena=64,
    )
    (y,) = cpu.load(program).run([], [41])
    assert y.view(np.int64, (1,))[0] == 42


def test_an_input_may_be_an_output_and_an_output_be_asked_for_twice(cpu):
    program = replace(scale(10), outputs=(1, 0, 1))
    x = cpu.from_numpy(np.ones(10))
    first, second, third = cpu.load(program).run([x], [bits(2.0)])
    assert second is x and third is first


def test_the_same_buffer_as_two_inputs(cpu):
    program = Program(
        slots=(Slot("input", 80), Slot("input", 80), Slot("output", 80)),
        steps=(launch(0, (0, 1, 2), (10,), (), 1, 0),),
        kernels=(KernelSource("add", ADD),), inputs=(0, 1), outputs=(2,), arena=0,
    )
    x = cpu.from_numpy(np.arange(10.0))
    (z,) = cpu.load(program).run([x, x])
    assert np.array_equal(z.view(np.float64, (10,)), 2 * np.arange(10.0))


# ------------------------------------------------------------------------------------------------------------ donation


@pytest.fixture
def in_place(cpu):
    """y = 2 x, where y takes over the buffer of x if it is donated."""
    program = scale(10)
    return cpu.load(replace(program, slots=(program.slots[0], Slot("output", 80, alias=0))))


def pooled(cpu, values):
    buffer = cpu.allocate(values.nbytes)
    buffer.writable(values.dtype, values.shape)[...] = values
    return buffer


def test_a_donated_buffer_is_taken_over(cpu, in_place):
    x = pooled(cpu, np.arange(10.0))
    (y,) = in_place.run([x], [bits(2.0)], donate=[0])
    assert y is x
    assert np.array_equal(y.view(np.float64, (10,)), 2 * np.arange(10.0))


def test_without_donation_outputs_are_fresh(cpu, in_place):
    x = pooled(cpu, np.arange(10.0))
    (y,) = in_place.run([x], [bits(2.0)])
    assert y.address != x.address
    assert np.array_equal(x.view(np.float64, (10,)), np.arange(10.0))


def test_memory_of_the_user_is_never_written(cpu, in_place):
    values = np.arange(10.0)
    (y,) = in_place.run([cpu.from_numpy(values)], [bits(2.0)], donate=[0])
    assert np.array_equal(values, np.arange(10.0))
    assert np.array_equal(y.view(np.float64, (10,)), 2 * values)


def test_donation_with_an_exported_view_raises(cpu, in_place):
    x = pooled(cpu, np.arange(10.0))
    view = x.view(np.float64, (10,))
    with pytest.raises(BufferError, match="still shows"):
        in_place.run([x], [bits(2.0)], donate=[0])
    del view
    in_place.run([x], [bits(2.0)], donate=[0])


# -------------------------------------------------------------------------------------------------------- the boundary

SOUND = scale(10)



def with_member(**changes) -> Program:
    """The sound program with another member."""
    step = SOUND.steps[0]
    return replace(SOUND, steps=(replace(step, members=(replace(step.members[0], **changes),)),))


UNSOUND = {
    "no member": replace(SOUND, steps=(replace(SOUND.steps[0], members=()),)),
    "members of other sizes": replace(
        SOUND, steps=(replace(SOUND.steps[0], members=(*SOUND.steps[0].members, Member((0, 1), (10,), (), 1))),)
    ),
    "kernel": replace(SOUND, kernels=()),
    "slot of a launch": with_member(slots=(0, 7)),
    "negative slot": with_member(slots=(0, -1)),
    "patched word": with_member(params=((2, 0),)),
    "parameter": with_member(params=((1, -1),)),
    "chunks": with_member(chunks=-1),
    "input not named": replace(SOUND, inputs=()),
    "output not named": replace(SOUND, outputs=()),
    "temporary outside the arena": replace(SOUND, slots=(*SOUND.slots, Slot("temp", 65, 0)), arena=64),
    "temporary unaligned": replace(SOUND, slots=(*SOUND.slots, Slot("temp", 8, 8)), arena=64),
    "copy beyond a slot": replace(SOUND, steps=(*SOUND.steps, Copy(0, 1, 81))),
    "alias of what is no input": replace(SOUND, slots=(SOUND.slots[0], Slot("output", 80, alias=1))),
    "alias of a smaller input": replace(SOUND, slots=(Slot("input", 72), Slot("output", 80, alias=0))),
    "two aliases of one input": replace(
        SOUND, slots=(SOUND.slots[0], Slot("output", 80, alias=0), Slot("output", 80, alias=0)), outputs=(1, 2)
    ),
    "unknown role": replace(SOUND, slots=(SOUND.slots[0], Slot("other", 80))),
    "library routine": replace(SOUND, steps=(Library("nonsense", (), (), ()),)),
    "library operand": replace(
        SOUND, steps=(Library("sort", (Operand(0, "float64", (11,)),), (Operand(1, "float64", (10,)),), ()),)
    ),
    "input twice": replace(SOUND, inputs=(0, 0)),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_a_program_that_does_not_fit_itself_is_refused(cpu, name):
    with pytest.raises(ValueError, match="cannot be run"):
        cpu.load(UNSOUND[name])


def test_inputs_and_parameters_are_checked_at_each_run(cpu):
    program = cpu.load(SOUND)
    x = cpu.from_numpy(np.ones(10))
    with pytest.raises(ValueError, match="takes 1 inputs"):
        program.run([], [1])
    with pytest.raises(ValueError, match="takes 1 parameters"):
        program.run([x], [])
    with pytest.raises(ValueError, match="80 bytes is needed"):
        program.run([cpu.from_numpy(np.ones(9))], [1])


# ------------------------------------------------------------------------------------------ floating point and threads


def test_subnormals_survive_a_host_that_flushes_them(cpu, threads):
    """The mode of the calling thread is replaced for the run and restored after it."""
    text = """
typedef long int64_t;
int64_t mode(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    for (int64_t c = begin; c < end; c++) {
        volatile double tiny = 1e-300, small = 1e-10;
        ((double *)buf[0])[c] = tiny * small;
    }
    return 0;
}
"""
    program = cpu.load(
        Program(
            slots=(Slot("output", 8 * 64),), steps=(launch(0, (0,), (), (), 64, 0),),
            kernels=(KernelSource("mode", text),), inputs=(), outputs=(0,), arena=0,
        )
    )
    mode = host_mode()
    before = mode.get()
    mode.set(before | 0x8040)  # flush results and operands to zero
    try:
        (y,) = program.run([])
        flushed = np.float64(1e-300) * np.float64(1e-10)
    finally:
        mode.set(before)
    assert (y.view(np.float64, (64,)) == 1e-310).all()
    assert flushed == 0.0


def host_mode():
    """Functions that read and write the floating-point mode of this thread."""
    import ctypes
    import platform

    if platform.machine() != "x86_64":
        pytest.skip("the mode register is that of x86-64")
    text = "int get(void) { return __builtin_ia32_stmxcsr(); } void set(int m) { __builtin_ia32_ldmxcsr(m); }"
    (path,) = build.build(compiler.find_compiler(), [compiler.Job("mode", text, ("-fPIC", "-shared"), ())]).values()
    return ctypes.CDLL(str(path))


def test_several_python_threads(cpu):
    x = np.arange(50_000.0)
    program, results = cpu.load(chain(50_000)), []

    def work(factor):
        for _ in range(30):
            (z,) = program.run([cpu.from_numpy(x)], [bits(factor), bits(1.0)])
            results.append(np.array_equal(z.view(np.float64, x.shape), factor * x + x))

    with settings.override(num_threads=3):
        workers = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert results == [True] * 180


def test_threads_that_compile_the_same_kernel_compile_it_once(cold):
    cpu, before, errors = backend.get("cpu"), counters.snapshot(), []

    def work():
        try:
            cpu.load(scale(10))
        except Exception as error:  # noqa: BLE001 (reported below)
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    assert (counters - before).compiles == 1


def test_small_launches_start_no_threads(cold, python):
    text = """
import runtime_programs
from graphc.runtime import backend, build, compiler
cpu = backend.get("cpu")
runtime_programs.run_scale(900)
assert cpu._native.lib.gc_pool_threads() == 0
runtime_programs.run_scale(500_000)
assert cpu._native.lib.gc_pool_threads() == 2
"""
    output(python(text, GRAPHC_NUM_THREADS="3"))


def test_fork(cpu):
    """The child has none of the parent's threads, and runs programs all the same."""
    x = np.arange(200_000.0)
    with settings.override(num_threads=3):
        program = cpu.load(chain(x.size))
        program.run([cpu.from_numpy(x)], [bits(1.0), bits(2.0)])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                (z,) = program.run([cpu.from_numpy(x)], [bits(1.0), bits(2.0)])
                cpu.load(scale(77)).run([cpu.from_numpy(x)], [bits(1.0)])
                code = 0 if np.array_equal(z.view(np.float64, x.shape), 3 * x) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        (z,) = program.run([cpu.from_numpy(x)], [bits(1.0), bits(2.0)])
        assert np.array_equal(z.view(np.float64, x.shape), 3 * x)


def test_fork_while_other_threads_run(cpu):
    """A fork may find the pool, and any lock of the runtime, in the hands of another thread."""
    x = np.arange(100_000.0)
    program, stop = cpu.load(chain(x.size)), threading.Event()

    def work():
        while not stop.is_set():
            program.run([cpu.from_numpy(x)], [bits(1.0), bits(2.0)])

    with settings.override(num_threads=2):
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    try:
                        program.run([cpu.from_numpy(x)], [bits(1.0), bits(2.0)])
                        pool.allocate(12_345)
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
        finally:
            stop.set()
            for worker in workers:
                worker.join()


def test_runs_give_back_all_memory(cpu):
    x = cpu.from_numpy(np.arange(100_000.0))
    program = cpu.load(chain(100_000))
    program.run([x], [0, 0])
    before = pool.in_use
    pool.reset_high_water()
    program.run([x], [0, 0])
    assert pool.in_use == before
    assert pool.high_water - before == chain(100_000).peak_bytes


# ----------------------------------------------------------------------------------------------------------- interrupts

INTERRUPTED = f"""
import os, signal, threading, time
import numpy as np
from graphc.ir.program import KernelSource, Launch, Member, Program, Slot
from graphc.runtime import backend, build, compiler
from graphc.config import settings

def program(chunks, steps=1):
    return Program(
        slots=(Slot("output", 8),), steps=(Launch(0, (Member((0,), (), (), chunks),), 0),) * steps,
        kernels=(KernelSource("slow", {SLOW!r}),), inputs=(), outputs=(0,), arena=0)

def after(seconds, signal_number):
    def send():
        time.sleep(seconds)
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal_number)
    threading.Thread(target=send).start()

# A handler that acts in the middle of a run, and waits for one if a busy machine has not come there yet.
def once_it_runs(act):
    return lambda number, frame: act() if frame.f_code.co_name == "poll" else after(0.05, number)
"""


@pytest.mark.parametrize("shape", ["program(20000)", "program(1, 20000)"])
@pytest.mark.parametrize("count", ["1", "2"])
def test_control_c_ends_a_long_run_soon(python, shape, count):
    text = f"""{INTERRUPTED}
executable = backend.get("cpu").load({shape})
after(0.3, signal.SIGINT)
try:
    executable.run([])
except KeyboardInterrupt:
    print(time.perf_counter() - sent)
(y,) = backend.get("cpu").load(program(5)).run([])
assert y.view("f8", (1,))[0] == 1
"""
    assert float(output(python(text, GRAPHC_NUM_THREADS=count))) < 0.2


def test_other_handlers_run_too_and_may_raise_what_they_like(python):
    text = f"""{INTERRUPTED}
class Enough(Exception): pass
def handler(number, frame): raise Enough("handled")
signal.signal(signal.SIGUSR1, lambda *_: print("seen"))
signal.signal(signal.SIGALRM, handler)
executable = backend.get("cpu").load(program(20000))
after(0.2, signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.6)
try:
    executable.run([])
except Enough as error:
    print(error)
"""
    assert output(python(text)).split() == ["seen", "handled"]


def test_a_handler_may_run_a_program_itself(python):
    text = f"""{INTERRUPTED}
import runtime_programs
signal.signal(signal.SIGUSR1, once_it_runs(lambda: (runtime_programs.run_scale(300_000), print("ran"))))
executable = backend.get("cpu").load(program(300))
after(0.1, signal.SIGUSR1)
executable.run([])
"""
    assert output(python(text, GRAPHC_NUM_THREADS="2")).split() == ["ran"]


def test_a_handler_that_forks_voids_the_run_in_the_child(python):
    text = f"""{INTERRUPTED}
child = None
def fork():
    global child
    child = os.fork()
signal.signal(signal.SIGUSR1, once_it_runs(fork))
executable = backend.get("cpu").load(program(400))
after(0.1, signal.SIGUSR1)
try:
    executable.run([])
except Exception as error:
    assert child == 0 and "forked" in str(error)
    backend.get("cpu").load(program(50)).run([])
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("ok")
"""
    assert output(python(text, GRAPHC_NUM_THREADS="2")).split() == ["ok"]


def test_chunks_cover_everything_once(cpu, threads):
    """Each chunk is run exactly once, whatever the threads take at a time."""
    text = """
typedef long int64_t;
int64_t count(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    for (int64_t c = begin; c < end; c++) __atomic_add_fetch((int64_t *)buf[1] + c, 1, 5);
    return 0;
}
"""
    count = 100_000
    program = cpu.load(
        Program(
            slots=(Slot("input", 8 * count), Slot("output", 8 * count)),
            steps=(Copy(0, 1, 8 * count), launch(0, (0, 1), (), (), count, 0)),
            kernels=(KernelSource("count", text),), inputs=(0,), outputs=(1,), arena=0,
        )
    )
    zeros = cpu.from_numpy(np.zeros(count, np.int64))
    for _ in range(10):
        (y,) = program.run([zeros])
        assert (y.view(np.int64, (count,)) == 1).all()


def test_counters(cold):
    cpu, before = backend.get("cpu"), counters.snapshot()
    program = cpu.load(chain(10))
    program.run([cpu.from_numpy(np.ones(10))], [1, 1])
    cpu.load(scale(10, SCALE))
    done = counters - before
    assert (done.launches, done.compiles, done.kernel_misses, done.kernel_hits) == (3, 2, 2, 1)
    assert done.compile_seconds > 0
    assert chunks(1001) == 2
