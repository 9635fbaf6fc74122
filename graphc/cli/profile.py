"""`graphc profile`: where the time of a program's kernels goes, and how far each is from what the machine can do."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from graphc.cli import UsageError
from graphc.cli.target import collect, say_if_none, use_backend
from graphc.ir.program import Copy, Library
from graphc.units import count, duration

if TYPE_CHECKING:
    from graphc.runtime.floor import Machine
    from graphc.runtime.profiler import StepTimes

WIDE = ("float64", "complex128")  # dtypes of which a vector holds half as many


class Row(Struct):
    """One kernel of the program: equal kernels from the same lines, on the same shapes, are one row.

    median, total    seconds
    share            of the time in all kernels
    bytes_per_second, flops_per_second   by the median
    floor            seconds below which this machine cannot be, None where nothing is known of the kernel
    bound            "memory" or "flops": what makes the floor
    """

    kernel: str
    shapes: str
    origins: tuple[str, ...]
    launches: int
    median: float
    total: float
    share: float
    bytes_per_second: float
    flops_per_second: float
    floor: float | None = None
    bound: str = ""


def profile(options: argparse.Namespace) -> int:
    """Run a program with the clock on and show its kernels, the longest first."""
    from graphc import driver
    from graphc.runtime.cpu import CpuBackend
    from graphc.runtime.profiler import Profiler

    if options.repeat < 1:
        raise UsageError("--repeat: at least 1")
    if options.top is not None and options.top < 1:
        raise UsageError("--top: at least 1")
    use_backend(options.backend)
    backend = driver.current_backend()
    if not isinstance(backend, CpuBackend):
        raise UsageError(f"only kernels of the backend cpu can be timed, not those of {backend.name}")
    with Profiler(backend.library()) as profiler:
        found = collect(options.target, options.arguments, None, options.repeat)
    rows = make_rows(profiler.times(), found.plans, _machine())
    if options.format == "json":
        print(json.dumps([asdict(row) for row in rows[: options.top]], indent=2))
    elif rows:
        _show(rows, options.top)
    if profiler.dropped:
        print(f"graphc: {profiler.dropped:,} later launches were not timed", file=sys.stderr)
    if not rows:
        say_if_none(found)
    return found.status


def _machine() -> Machine | None:
    from graphc.config import settings
    from graphc.runtime import floor

    return floor.measure(settings.num_threads)


def make_rows(times: Sequence[StepTimes], plans: Sequence[Any], machine: Machine | None) -> list[Row]:
    """The rows, the longest first. `plans`: those of the programs that ran."""
    kernels = {}
    for plan in plans:
        steps = [k for k, step in enumerate(plan.program.steps) if not isinstance(step, Copy)]
        kernels |= {(id(plan.program), k): kernel for k, kernel in zip(steps, plan.kernels, strict=True)}
    groups: dict[tuple, tuple[StepTimes, Any, list[int]]] = {}
    for step in times:
        kernel = kernels.get((id(step.program), step.step))
        key = (step.program.labels[step.step],) if kernel is None else (kernel.source, kernel.shapes, kernel.origins)
        groups.setdefault(key, (step, kernel, []))[2].extend(step.nanoseconds)
    everything = sum(sum(spent) for _, _, spent in groups.values()) or 1
    rows = [_row(step, kernel, spent, everything, machine) for step, kernel, spent in groups.values()]
    return sorted(rows, key=lambda row: -row.total)


def _row(step: StepTimes, kernel: Any, spent: list[int], everything: int, machine: Machine | None) -> Row:
    median, total, share = statistics.median(spent) / 1e9, sum(spent) / 1e9, sum(spent) / everything
    if kernel is None:  # a copy
        return Row(step.program.labels[step.step], "", (), len(spent), median, total, share, 0.0, 0.0)
    read, written = kernel.bytes_read, kernel.bytes_written
    row = Row(kernel.name, kernel.shapes, kernel.origins, len(spent), median, total, share,
              (read + written) / max(median, 1e-9), kernel.flops / max(median, 1e-9))
    read = min(read, _held(step))  # what it reads again because it left the cache need not have been read
    if machine is not None and read + written:
        flops = kernel.flops * (2 if any(name in kernel.shapes for name in WIDE) else 1)
        size = 1 << (read + written).bit_length()  # few sizes, so that few are measured
        row.floor, row.bound = machine.seconds(read, written, flops, size, kernel.unit)
    return row


def _held(times: StepTimes) -> int:
    """The bytes of the buffers of a step."""
    step = times.program.steps[times.step]
    slots = [o.slot for o in step.inputs] if isinstance(step, Library) else step.slots
    return sum(times.program.slots[slot].nbytes for slot in slots)


def _show(rows: list[Row], top: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160)
    total = duration(sum(row.total for row in rows))
    table = Table(title=f"{total} in {count(len(rows), 'kernel')}", title_justify="left")
    table.add_column("kernel", overflow="fold")
    for name in ("launches", "median", "total", "share", "GB/s", "GFLOP/s", "of floor"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("from", overflow="fold")
    for row in rows[:top]:
        reached = "" if row.floor is None else f"{min(row.floor / max(row.median, 1e-9), 1):.0%} {row.bound}"
        table.add_row(row.kernel, f"{row.launches:,}", duration(row.median), duration(row.total),
                      f"{row.share:.1%}", f"{row.bytes_per_second / 1e9:.1f}", f"{row.flops_per_second / 1e9:.1f}",
                      reached, _short(row.origins))
    console.print(table)
    console.print("of floor: the time that this machine needs to move the bytes from memory or to do the float32 "
                  "multiply-adds, whichever is more, over the median; what lies in a cache may do better",
                  style="dim", highlight=False, soft_wrap=True)


def _short(origins: Sequence[str], most: int = 3) -> str:
    """The lines, with the file's name only where it is the same as before."""
    texts, last = [], ""
    for origin in origins[:most]:
        file, _, line = origin.rpartition(":")
        texts.append(f":{line}" if file == last else f"{file.rpartition('/')[2]}:{line}")
        last = file
    return " ".join(texts) + (f" and {len(origins) - most} more" if len(origins) > most else "")
