"""What goes wrong in lazy compilers elsewhere: stale values, needless misses, threads, forks, damaged caches."""

from __future__ import annotations

import gc as garbage
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc import driver
from graphc.api import indexing
from graphc.errors import BackendError

ROOT = Path(__file__).resolve().parent.parent


def run(script: Path | str, *arguments: str, status: int = 0, **environment: str) -> subprocess.CompletedProcess:
    """Run a script, or a text with -c, in a new process."""
    command = [str(script)] if isinstance(script, Path) else ["-c", script]
    done = subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})
    assert done.returncode == status, done.stdout + done.stderr
    return done


# ----------------------------------------------------------------------------------------------------- stale replay


def test_a_value_that_was_modified_is_not_replayed_stale():
    a = np.arange(12.0).reshape(3, 4)
    x = gc.asarray(a)
    for k in range(5):      # one structure, replayed: setitem, in-place operator, assign
        y = gc.realize(x * 2 + 1)
        np.testing.assert_array_equal(y.numpy(), a * 2 + 1)
        x[k % 3, 1:3] = float(k)
        a[k % 3, 1:3] = float(k)
        np.testing.assert_array_equal((x * 2 + 1).numpy(), a * 2 + 1)
        x += 1
        a += 1
        x.assign(x * x)
        a *= a
        np.testing.assert_array_equal(x.numpy(), a)


def test_what_was_recorded_before_an_assignment_sees_the_old_values():
    x, z = gc.asarray([1.0, 2.0]), gc.asarray([10.0, 20.0])
    y = x + 1
    row = x[0]
    x.assign(z)
    x[1] = 5.0
    assert y.tolist() == [2.0, 3.0] and row.item() == 1.0 and x.tolist() == [10.0, 5.0] and z.tolist() == [10.0, 20.0]


def test_a_numpy_array_that_is_written_later_changes_nothing():
    a = np.ones(1000)
    x = gc.asarray(a)
    y = x + 1
    a[:] = 7
    assert float(y.sum()) == 2000 and float(x.sum()) == 1000


def test_a_view_that_was_handed_out_keeps_its_values():
    x = gc.asarray(np.arange(1000.0))
    x[0] = -1.0
    seen = x.numpy()
    x[1] = -2.0
    x += 1
    x.realize()
    assert seen[0] == -1 and seen[1] == 1 and not seen.flags.writeable


def test_what_was_computed_is_not_handed_out_again():
    """A computed node may be written to in place by its only owner: nobody else may come by it."""
    first = gc.zeros(4).realize()
    second = gc.zeros(4)
    assert second.node is not first.node
    first[0] = 1.0
    first.realize()
    assert second.tolist() == [0.0] * 4 and gc.zeros(4).tolist() == [0.0] * 4


def test_the_same_tensor_twice_as_input_and_as_output():
    a = np.linspace(0, 1, 1000)
    x = gc.asarray(a)
    y = x * x + x
    first, second, third = gc.realize(y, y, x)
    assert first is second and third is x
    np.testing.assert_array_equal(y.numpy(), a * a + a)
    again, input_again = gc.realize(x - y, x)
    np.testing.assert_array_equal(again.numpy(), a - (a * a + a))
    np.testing.assert_array_equal(input_again.numpy(), a)
    np.testing.assert_array_equal(gc.where(x > 0.5, x, x).numpy(), a)


# ----------------------------------------------------------------------------------------------- threads and processes


def test_threads_that_realize_shared_graphs_while_garbage_is_collected():
    problems: list[str] = []
    start = threading.Barrier(4)
    leaf = gc.asarray(np.arange(2000.0))
    shared = [gc.sqrt(leaf * float(k + 2)) + gc.sum(leaf) for k in range(12)]
    mixed = [gc.arange(100, dtype=gc.float64) * float(k + 2) for k in range(12)]    # nothing in memory below
    want = [np.sqrt(np.arange(2000.0) * (k + 2)) + np.arange(2000.0).sum() for k in range(12)]

    def work(number: int) -> None:
        try:
            start.wait()
            for k in np.random.default_rng(number).permutation(12):
                own = shared[k] - float(number)
                gc.realize(own, mixed[k]) if number % 2 else gc.realize(shared[k], mixed[k] + float(number))
                np.testing.assert_allclose(own.numpy(), want[k] - number, rtol=1e-15)
                np.testing.assert_array_equal(mixed[k].numpy(), np.arange(100.0) * (k + 2))
                np.testing.assert_allclose(shared[k].numpy(), want[k], rtol=1e-15)
        except BaseException as error:      # noqa: BLE001 (reported by the main thread)
            problems.append(f"{type(error).__name__}: {error}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    garbage.freeze()        # a collection looks at what this test made, not at what all tests before it did
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            garbage.collect()
        for thread in threads:
            thread.join()
    finally:
        garbage.unfreeze()
        sys.setswitchinterval(interval)
    assert not problems, problems[0]


def test_threads_that_write_to_parts_of_one_tensor(monkeypatch):
    """As in NumPy both parts are written, also where one thread comes in the middle of the other's."""
    x, written = gc.zeros(3), indexing.written

    def interrupted(*args):
        new = written(*args)
        monkeypatch.undo()
        other = threading.Thread(target=x.__setitem__, args=(1, 5.0))
        other.start()
        other.join()
        return new

    monkeypatch.setattr(indexing, "written", interrupted)
    x[0] = 3.0
    assert x.tolist() == [3.0, 5.0, 0.0]


@pytest.mark.parametrize("write", [lambda x, k: gc.add.at(x, [k], 1), lambda x, k: gc.put(x, [k], x[k] + 1),
                                   lambda x, k: gc.put_along_axis(x, gc.asarray([k]), x[k] + 1, axis=0)],
                         ids=["at", "put", "put_along_axis"])
def test_threads_that_update_elements_of_one_tensor(write):
    x, interval = gc.zeros(3), sys.getswitchinterval()

    def work(k):
        for _ in range(60):
            write(x, k)

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert x.tolist() == [60.0] * 3


def test_threads_that_update_one_base_at_a_time_do_not_share_their_writes():
    """Each thread adds into a tensor that the others read: what is written in place belongs to one handle alone."""
    base = gc.asarray(np.zeros(500))
    index = gc.asarray(np.arange(0, 500, 5))
    problems: list[str] = []

    def work(number: int) -> None:
        mine = base + float(number)
        for _ in range(20):
            mine[index] = mine[index] + 1.0
            if mine.numpy().sum() != 500 * number + 100:
                problems.append(f"{mine.numpy().sum()} of thread {number}")
            mine = base + float(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and float(base.sum()) == 0


def test_a_block_with_another_backend_is_its_threads_own(backend):
    other = "reference" if backend != "reference" else "cpu"
    inside, left, seen = threading.Event(), threading.Event(), []
    double = gc.jit(lambda x: x * 2)

    def block():
        with gc.backend(other):
            inside.set()
            left.wait()
            seen.extend([gc.ones(2).device, double(gc.ones(2)).device, gc.get_backend_name()])

    for _ in range(3):      # the third call of a traced function is written out
        double(gc.ones(2))
    thread = threading.Thread(target=block)
    with gc.backend(other):
        thread.start()
        inside.wait()
    assert gc.ones(2).device == double(gc.ones(2)).device == gc.get_backend_name() == backend
    left.set()
    thread.join()
    assert seen == [other] * 3


def test_a_backend_that_is_set_inside_a_block_holds_until_it_ends(backend):
    other = "reference" if backend != "reference" else "cpu"
    with gc.backend(other):
        gc.set_backend(backend)
        assert gc.get_backend_name() == backend
        with gc.backend(other), pytest.raises(BackendError), gc.backend("abacus"):
            pass
        assert gc.get_backend_name() == backend
        gc.set_backend(other)
    assert gc.get_backend_name() == backend


def test_a_forked_child_computes(compiled, backend):
    """A device's driver does not work in a child: there it is told so, and does not hang. An emulated one has none."""
    x = gc.asarray(np.arange(100_000.0))
    pending = x * 3.0
    assert float(gc.sum(x + 1)) == 5000050000.0      # threads and compiler were used
    holder = threading.Thread(target=_hold_the_lock, daemon=True)
    holder.start()
    _held.wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            good = float(gc.sum(pending)) == 3 * 4999950000.0 and float(gc.max(gc.tan(x * 0.0) + 2.0)) == 2.0
            code = 0 if good else 2
        except BackendError:
            code = 3
        finally:
            os._exit(code)
    _release.set()
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    holder.join()
    assert os.waitstatus_to_exitcode(status) == (0 if backend == "cpu" or backend.endswith("-emulated") else 3)
    assert float(gc.sum(pending)) == 3 * 4999950000.0


_held, _release = threading.Event(), threading.Event()


def _hold_the_lock() -> None:
    """As a thread would that is in the middle of a realize when another one forks."""
    with driver.lock:
        _held.set()
        _release.wait(60)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import graphc as gc
size = 4_000_000 if gc.get_backend_name() == "cpu" else 400_000     # what a device has queued it computes to the end
x = gc.asarray(np.arange(1.0, size + 1.0))
def slow(x):
    for _ in range(40):
        x = gc.sin(gc.tan(x)) + 1.5
    return x
gc.realize(slow(x[:10]))
small = gc.sum(x[:4])
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    while time.perf_counter() - start < 60:
        y = slow(x)
        gc.realize(y)
        float(y[0])  # a device only queues what is realized; nobody waits for it
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", float(small), float(gc.sum(slow(x[:10]) * 0.0)))
"""


def test_control_c_ends_a_realize_and_the_next_one_works():
    assert run(INTERRUPTED).stdout == "interrupted 10.0 0.0\n"


PROGRAM = """
import numpy as np
import graphc as gc
x = gc.asarray(np.arange(60.0, dtype=np.float32).reshape(6, 10))
def softmax(x, scale):
    e = gc.exp((x - gc.max(x, axis=1, keepdims=True)) * scale)
    return e / gc.sum(e, axis=1, keepdims=True)
y = softmax(x, 0.37)
print(float(gc.sum(y[::2] * gc.roll(x, 1, axis=0)[::2])))
c = gc.counters()
print(c.compiles, c.program_misses)
"""


def test_eight_processes_on_one_cold_cache(tmp_path, compiled):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "GRAPHC_CACHE_DIR": str(tmp_path / "cache"), "GRAPHC_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, str(script)], env=environment, **pipes) for _ in range(8)]
    done = [(process.communicate(timeout=300), process.returncode) for process in processes]
    assert [code for _, code in done] == [0] * 8, done
    assert {err for (_, err), _ in done} == {""}
    assert len({out.splitlines()[0] for (out, _), _ in done}) == 1
    last = run(script, GRAPHC_CACHE_DIR=str(tmp_path / "cache"), GRAPHC_NUM_THREADS="1").stdout.splitlines()
    assert last[1] == "0 0"


KERNELS = {"cuda": "cubins", "hip": "cubins"}  # the folders of other backends


def test_a_cache_full_of_garbage(tmp_path, compiled, backend):
    script, cache = tmp_path / "program.py", tmp_path / "cache"
    script.write_text(PROGRAM)
    first = run(script, GRAPHC_CACHE_DIR=str(cache)).stdout.splitlines()
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} >= {KERNELS.get(backend, "kernels"), "programs"}
    for number, path in enumerate(sorted(files)):
        data = path.read_bytes()
        damages = b"", b"garbage" * 1000, data[: len(data) // 2], data[:-1] + b"\0", bytes(len(data))
        path.write_bytes(damages[number % 5])
    for folder in (KERNELS.get(backend, "kernels"), "programs", "tools"):
        (cache / folder / "intruder").write_bytes(os.urandom(5000))
        (cache / folder / "a-folder").mkdir()
    again = run(script, GRAPHC_CACHE_DIR=str(cache))
    assert again.stdout.splitlines()[0] == first[0] and "Traceback" not in again.stderr
    third = run(script, GRAPHC_CACHE_DIR=str(cache)).stdout.splitlines()
    assert third == [first[0], "0 0"]


# --------------------------------------------------------------------------------------------------- needless compiles


def test_the_same_program_moved_down_a_line_compiles_nothing(tmp_path, compiled):
    first, moved = tmp_path / "program.py", tmp_path / "elsewhere" / "other.py"
    moved.parent.mkdir()
    first.write_text(PROGRAM)
    moved.write_text("# one line more\n" + PROGRAM.replace("softmax", "weights"))
    cache = str(tmp_path / "cache")
    outputs = [run(first, GRAPHC_CACHE_DIR=cache, PYTHONHASHSEED="1").stdout.splitlines(),
               run(moved, GRAPHC_CACHE_DIR=cache, PYTHONHASHSEED="2").stdout.splitlines()]
    assert outputs[0][0] == outputs[1][0] and outputs[0][1] != "0 0" and outputs[1][1] == "0 0"


def test_a_thousand_learning_rates_compile_nothing_new(compiled):
    w = np.linspace(-1, 1, 64, dtype=np.float32)
    g = np.cos(w)

    def step(rate: float, decay: float) -> np.ndarray:
        x, gradient = gc.asarray(w), gc.asarray(g)
        return (x - rate * (gradient + decay * x)).numpy()

    step(0.1, 0.1)
    before = gc.counters()
    for rate in np.geomspace(1e-6, 0.9, 1000).tolist():
        want = w - np.float32(rate) * (g + np.float32(rate / 3) * w)
        np.testing.assert_allclose(step(rate, rate / 3), want, rtol=1e-5)
    done = gc.counters() - before
    assert (done.compiles, done.program_misses, done.launches) == (0, 0, 1000)


def test_from_the_fourth_batch_size_on_nothing_is_compiled(compiled):
    weights = np.random.default_rng(0).normal(size=(24, 40)).astype(np.float32)

    def forward(batch: int) -> np.ndarray:
        x = gc.asarray(np.ones((batch, 24), np.float32))
        h = gc.tanh(x @ gc.asarray(weights) + 0.5)
        e = gc.exp(h - gc.max(h, axis=1, keepdims=True))
        return (e / gc.sum(e, axis=1, keepdims=True)).numpy()

    for batch in (32, 33, 57):
        forward(batch)
    before = gc.counters()
    for batch in (64, 100, 129, 255):
        np.testing.assert_allclose(forward(batch).sum(1), 1, rtol=1e-5)
    assert (gc.counters() - before).compiles == 0


def test_narrow_arrays_share_their_kernels(compiled):
    """Widths up to 16 as well, where neighbours lie along them."""
    rng = np.random.default_rng(0)

    def centred(width: int) -> None:
        a, b = rng.random((500, width)).astype(np.float32), rng.random((20, width)).astype(np.float32)
        x = gc.asarray(a)
        np.testing.assert_allclose((x - gc.mean(x, axis=0)).numpy(), a - a.mean(0), atol=1e-6)
        np.testing.assert_allclose((x @ gc.asarray(b).T).numpy(), a @ b.T, rtol=1e-5)

    for width in (7, 9):
        centred(width)
    before = gc.counters()
    for width in (6, 11, 13, 14):
        centred(width)
    assert (gc.counters() - before).compiles == 0


def test_rows_of_a_tensor_are_one_program(compiled):
    """Where a slice begins that lies in one piece is no part of the program: x[i], x[i:i + 4], x[i, 2:5], x[i, j]."""
    a = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    x = gc.asarray(a)

    def use(i: int) -> None:
        np.testing.assert_array_equal((x[i] * 3.5 + 1).numpy(), a[i] * np.float32(3.5) + 1)
        np.testing.assert_allclose(gc.sum(x[i:i + 4] * 3.5, axis=0).numpy(), (a[i:i + 4] * 3.5).sum(0), rtol=1e-5)
        np.testing.assert_array_equal((x[i, 2:5] - 0.5).numpy(), a[i, 2:5] - np.float32(0.5))
        assert float(x[i, i % 7] * 2.5) == a[i, i % 7] * np.float32(2.5)

    use(0)
    before = gc.counters()
    for i in range(1, 36):
        use(i)
    done = gc.counters() - before
    assert (done.compiles, done.program_misses, done.program_hits, done.launches) == (0, 0, 140, 140)


def test_a_part_of_a_tensor_is_not_written_to_with_it():
    a = np.arange(12.0).reshape(4, 3)
    x = gc.asarray(a)
    row = x[1].realize()
    later = x[2] + 0.5
    for i in range(1, 4):
        x[i] = x[i - 1] * 2.0 + x[i]
        a[i] = a[i - 1] * 2.0 + a[i]
    np.testing.assert_array_equal(x.numpy(), a)
    assert row.tolist() == [3.0, 4.0, 5.0] and later.tolist() == [6.5, 7.5, 8.5]
    row += 1.0
    assert row.tolist() == [4.0, 5.0, 6.0]
    np.testing.assert_array_equal(x.numpy(), a)


def test_threads_that_do_the_same_to_tensors_of_their_own():
    """Equal graphs are one graph: what one thread computes of it meanwhile, another must not compute in place again."""
    def work() -> None:
        barrier.wait()
        for turn in range(100):
            x = gc.zeros(10)
            x[2:] += 1
            x[3:] += turn
            if turn % 2:
                barrier.wait()
            found.append((x.tolist(), turn))

    found: list = []
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 400
    assert all(values == [0, 0, 1] + [1 + turn] * 7 for values, turn in found)


def test_another_thread_computes_an_update_in_place_first(monkeypatch):
    """Here in the middle of this one, which has read the graph already."""
    x = gc.asarray(np.zeros(10)).copy()
    gc.realize(x)
    leaf = x.node       # what somebody else holds is not overwritten
    x[2:] = 1
    look_up, node = driver._look_up, x.node

    def slowly(graph, backend):
        found = look_up(graph, backend)
        monkeypatch.setattr(driver, "_look_up", look_up)
        driver.realize([node])
        return found

    monkeypatch.setattr(driver, "_look_up", slowly)
    assert x.tolist() == [0, 0] + 8 * [1]
    assert not leaf.value.view(np.float64, (10,)).any()


def test_a_tensor_is_read_while_another_thread_assigns_to_it(monkeypatch):
    x, realize = gc.zeros(3) + 1, driver.realize

    def slowly(*arguments) -> None:
        monkeypatch.setattr(driver, "realize", realize)
        realize(*arguments)
        x.assign(x + 1)

    monkeypatch.setattr(driver, "realize", slowly)
    assert x.numpy().tolist() == [1, 1, 1]
    assert x.numpy().tolist() == [2, 2, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_while_another_thread_is_inside_of_no_grad_or_grad():
    """It may hold their locks, and is not there in the child."""
    from graphc import autodiff
    from graphc.api import laziness

    locks, held, done = (laziness._watching, autodiff._lock), threading.Event(), threading.Event()

    def hold() -> None:
        with gc.no_grad(), locks[0], locks[1]:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with gc.no_grad():
            autodiff._give_back(autodiff._take_bit())
        os._exit(0 if laziness.alarm.nodes > 0 else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_fork_while_another_thread_builds_a_program():
    """Python's collector of cycles is paused there, and no thread of the child would have begun it again."""
    done = run("""
import gc, os, threading
from graphc import build
inside, leave = threading.Event(), threading.Event()
def builds():
    with build._no_collector():
        inside.set()
        leave.wait()
thread = threading.Thread(target=builds, daemon=True)
thread.start()
inside.wait()
assert not gc.isenabled()
child = os.fork()
if not child:
    os._exit(7 if gc.isenabled() else 8)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
leave.set()
thread.join()
assert gc.isenabled()
""")
    assert done.returncode == 0
