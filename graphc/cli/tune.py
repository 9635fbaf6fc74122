"""`graphc tune`: run a program with the tuner on, and show what it chose."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING

from graphc.cli import UsageError
from graphc.cli.target import collect, say_if_none, use_backend
from graphc.units import count, duration

if TYPE_CHECKING:
    from graphc.tuner import Result


def tune(options: argparse.Namespace) -> int:
    """Tune the kernels of a program whose classes are new, and say what was gained."""
    from graphc import driver, tuner
    from graphc.config import settings

    if options.seconds is not None and not 0 < options.seconds < math.inf:
        raise UsageError("--seconds: more than 0, and finite")
    use_backend(options.backend)
    backend = driver.current_backend()
    if backend.dialect is None:
        raise UsageError(f"the backend {backend.name} has no kernels to tune")
    results: list[Result] = []
    tuner.watchers.append(results.append)
    try:
        with settings.override(tune=True, tune_seconds=options.seconds or settings.tune_seconds):
            found = collect(options.target, options.arguments, None)
    finally:
        tuner.watchers.remove(results.append)
    if any(plan.kernels for plan in found.plans):
        _show(results)
    say_if_none(found)
    if tuner.unfinished:
        print(f"graphc: the time was up before {tuner.unfinished} more kernels; run it again", file=sys.stderr)
    return found.status


def _show(results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160)
    if not results:
        console.print("nothing new to tune: each kernel of the program was tuned before or can be cut in one way only")
        return
    faster = sum(bool(result.choices) for result in results)
    table = Table(title=f"{count(len(results), 'kernel')} tried, {faster} faster", title_justify="left")
    table.add_column("kernel", overflow="fold")
    for name in ("before", "after", "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("chosen", overflow="fold")
    for result in sorted(results, key=lambda result: result.after - result.before):
        chosen = ", ".join(f"{name} {value:+}" if name == "chunk" else f"{name} {value}"
                           for name, value in result.choices.items())
        table.add_row(result.kernel, duration(result.before), duration(result.after),
                      f"{result.before / result.after:.2f}x", chosen or result.verdict or "as it was")
    console.print(table)
