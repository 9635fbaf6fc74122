"""The benchmarks at tiny sizes: every work's answer in graphc and NumPy, the rounds, the tables and the page."""

from __future__ import annotations

import math

import numpy as np
import pytest

import graphc as gc
from benchmarks import __main__ as command
from benchmarks import overhead, peers, report, runner, works
from graphc.runtime import floor


@pytest.mark.parametrize("name", works.ALL)
def test_every_work_gives_the_reference_answer(name: str):
    work = works.load(name)
    expected = runner.reference(work, work.SMALL)
    inputs = runner.make_inputs(work, work.SMALL)
    for library in ("numpy", peers.OURS):
        if peers.formula(work, library) is None:
            continue
        peer = peers.open_peer(library)
        # those of many kernels are compiled where the benchmarks are run, which checks answers too
        with gc.backend("reference" if name in works.TRAINING + works.DECODERS else "cpu"):
            taken = tuple(peer.take(a) for a in inputs)
            answer = peer.give(peer.bind(peers.formula(work, library), taken)())
        assert runner.disagreement(work, np.asarray(answer), expected) is None


@pytest.mark.parametrize("name", works.ALL)
def test_a_work_says_what_it_costs(name: str):
    work = works.load(name)
    inputs = runner.make_inputs(work, work.SMALL)
    cost = work.cost(*work.SMALL)
    assert cost.reads == sum(a.nbytes for a in inputs)
    result = np.dtype(getattr(work, "RESULT", inputs[0].dtype))
    assert cost.writes == runner.reference(work, work.SMALL).size * result.itemsize
    assert cost.flops > 0
    assert work.TITLE and peers.formula(work, peers.OURS) and work.torch


def test_a_wrong_answer_is_seen():
    work = works.load("softmax")
    expected = runner.reference(work, work.SMALL)
    wrong = expected.copy()
    wrong[1, 2] += 0.1
    assert "1 of 231 elements are wrong" in runner.disagreement(work, wrong, expected)
    assert "shape" in runner.disagreement(work, wrong[0], expected)
    few = works.load("mandelbrot")
    counts = runner.reference(few, (64, 64))
    other = counts.copy()
    other[5, 5] += 1
    assert runner.disagreement(few, other, counts) is None


def test_an_unknown_work_lists_those_that_there_are():
    with pytest.raises(ValueError, match="no work 'sofmax'.*softmax"):
        works.load("sofmax")


@pytest.fixture(scope="module")
def rows() -> list[runner.Row]:
    with runner.Run(["graphc", "numpy"], threads=1, rounds=2, small=True, seconds=0.002) as run:
        return [run.measure(name) for name in ("softmax", "three_ops")]


def test_rounds_time_each_peer_in_its_own_process(rows: list[runner.Row], backend: str):
    for row in rows:
        assert not row.failed
        assert set(row.rounds) == {"graphc", "numpy"}
        assert all(len(times) == 2 and min(times) > 0 for times in row.rounds.values())
        assert all(row.fastest[peer] <= seconds for peer, seconds in row.medians().items())
    if backend == "cpu":
        assert rows[0].compiled["kernels"] >= 1 and rows[0].compiled["source_bytes"] > 100
        assert rows[0].compiled["compile_seconds"] > 0
        assert len(rows[0].floors) == 2 and {bound for _, bound in rows[0].floors} <= {"memory", "flops"}
        assert 0 < rows[0].floor(min)[0] <= rows[0].floor()[0] < math.inf


def test_the_page_has_every_table(rows: list[runner.Row]):
    figures = [overhead.Figure("recording, per op", 2e-6, 1e-6, 3e-6)]
    page = report.markdown(rows, ["graphc", "numpy"], figures, {"processor": "P"}, {"jax": "which is not installed"})
    lines = page.splitlines()
    assert sum(line.startswith("| softmax 4096x1024 (tiny)") for line in lines) >= 2
    assert "| recording, per op | 2.00 us | 1.00 us | 3.00 us |" in lines
    assert any("over 1 of the 10 fused-loop rows" in line for line in lines)    # three_ops is not of the ten
    assert "- Left out: JAX, which is not installed." in lines and "- processor: P" in lines
    for _, (header, cells) in report.sections(rows, ["graphc", "numpy"], figures):
        assert all(len(line) == len(header) for line in cells)


def test_a_failing_peer_is_named_and_the_others_are_timed():
    with runner.Run(["numpy", "numexpr"], threads=1, rounds=1, small=True, seconds=0.001) as run:
        run.workers["numexpr"].peer = "nobody"      # its process cannot open such a library
        row = run.measure("chain")
    assert "nobody" in row.failed["numexpr"] and list(row.rounds) == ["numpy"]
    assert any("No time for numexpr in 5-op chain" in line for line in report.remarks([row], {}))


def test_numbers_have_three_digits():
    assert [report.number(x) for x in (0.01234, 1.2345, 12.345, 1234.5)] == ["0.0123", "1.23", "12.3", "1234"]
    assert [report.unit_of(x)[0] for x in (5e-6, 5e-3, 5)] == ["us", "ms", "s"]


def test_the_ratio_is_of_the_best_peer():
    row = runner.Row("softmax", "softmax", rounds={"graphc": [1.0], "numpy": [6.0, 2.0, 4.0], "jax": [3.0]})
    assert report.speedup(row, row.medians()) == 3.0
    assert report.geometric_mean([row], runner.Row.medians) == (pytest.approx(3.0), 1)


def test_the_floor_of_a_time_is_of_its_kind():
    floors = [(0.5, "flops"), (0.9, "memory"), (0.6, "memory")]
    row = runner.Row("norm", "norm", floors, {"graphc": [0.8, 1.0, 0.9]}, {"graphc": 0.75})
    tables = dict(report.sections([row], ["graphc"], []))
    shown = {title: cells[0][1:-1] for title, (_, cells) in tables.items() if title != "what graphc compiled"}
    assert shown["medians"] == ["600 memory", "900*", "0.67"]
    assert shown["quickest of all rounds"] == ["500 flops", "750*", "0.67"]


@pytest.mark.skipif(floor.measure(1) is None, reason="no C compiler")
def test_the_floor_is_positive_and_finite():
    machine = floor.measure(1)
    for cost in (works.Cost(1 << 20, 0, 1), works.Cost(1 << 20, 1 << 20, 1e12)):
        seconds, bound = machine.seconds(cost.reads, cost.writes, cost.flops)
        assert 0 < seconds < 1e4 and bound == ("flops" if cost.flops > 1e9 else "memory")


def test_a_machine_keeps_its_best_or_nothing():
    class Native:
        found = iter([1e9, 3e9, 2e9] * 2)

        def read_bandwidth(self, nbytes: int, threads: int, repeats: int) -> float:
            return next(self.found)
    for keep, last in ((True, 3e9), (False, 2e9)):
        machine = floor.Machine(1, Native(), keep)
        assert [machine.bandwidth("read", 1 << 20) for _ in range(3)] == [1e9, 3e9, last]


def test_own_costs_are_measured(backend: str):
    if backend != "cpu":
        pytest.skip("the figures are those of compiled kernels")
    measured = overhead.in_this_process(repeats=1)
    figures = overhead.figures_of(measured)
    assert {f.title for f in figures} == {title for title, _ in overhead.TARGETS.values()}
    assert all(figure.median > 0 for figure in figures)


def test_the_command_writes_page_and_chart(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    status = command.main(["--peers", "numpy", "--work", "chain,gemm_256", "--rounds", "1", "--threads", "1", "--small",
                           "--out", str(tmp_path)])
    assert status == 0
    assert "best peer / graphc" in capsys.readouterr().out
    assert "## Medians" in (tmp_path / "RESULTS.md").read_text()
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_refuses_what_it_does_not_know(capsys):
    with pytest.raises(SystemExit):
        command.main(["--peers", "nympy"])
    assert "no nympy" in capsys.readouterr().err
