"""`graphc dump-kernels` and `graphc explain`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphc.cli.target import Collected, collect
from graphc.cli.units import amount, size

EXTENSIONS = {"cpu": ".c", "cuda": ".cu", "hip": ".hip", "opencl": ".cl"}


def dump_kernels(options: argparse.Namespace) -> int:
    """Show every kernel that a program needed, in order, or write each to a file."""
    found = collect(options.target, options.arguments, options.backend)
    kernels = [kernel for plan in found.plans for kernel in plan.kernels]
    if options.out:
        _write(Path(options.out), kernels, options.format)
    elif options.format == "json":
        print(json.dumps([as_dict(number, kernel) for number, kernel in enumerate(kernels, 1)], indent=2))
    else:
        _show(kernels)
    _say_if_none(found)
    return found.status


def header(number: int, kernel: Any) -> str:
    """The comment over a kernel's source. It is not part of what is compiled, so that lines and sizes of the user's
    program never cause a compile."""
    chunks, threads = kernel.launch
    rows = [
        ("from", ", ".join(kernel.origins) or "no line of a program"),
        ("shapes", kernel.shapes),
        ("bytes", f"{size(kernel.bytes_read)} read, {size(kernel.bytes_written)} written"),
        ("flops", amount(kernel.flops)),
        ("launch", f"{chunks} chunk{'s' * (chunks != 1)} on {threads} thread{'s' * (threads != 1)}"),
        ("cache", str(kernel.cached)),
    ]
    lines = [f"/* kernel {number}: {kernel.name}", *(f" *   {name:<7} {text}" for name, text in rows), " */"]
    return "\n".join(lines)


def as_dict(number: int, kernel: Any) -> dict[str, Any]:
    chunks, threads = kernel.launch
    return {
        "number": number,
        "name": kernel.name,
        "origins": list(kernel.origins),
        "shapes": kernel.shapes,
        "bytes_read": kernel.bytes_read,
        "bytes_written": kernel.bytes_written,
        "flops": kernel.flops,
        "chunks": chunks,
        "threads": threads,
        "cached": kernel.cached,
        "source": kernel.source,
    }


def _show(kernels: list[Any]) -> None:
    """Coloured on a terminal, plain text into a pipe: the output is then a C file."""
    if not sys.stdout.isatty():
        for number, kernel in enumerate(kernels, 1):
            print(f"{header(number, kernel)}\n{kernel.source.rstrip()}\n")
        return
    from rich.console import Console
    from rich.syntax import Syntax

    console = Console()
    for number, kernel in enumerate(kernels, 1):
        text = f"{header(number, kernel)}\n{kernel.source.rstrip()}\n"
        console.print(Syntax(text, "c", theme="ansi_dark", background_color="default", word_wrap=False))


def _write(folder: Path, kernels: list[Any], form: str) -> None:
    import graphc as gc

    folder.mkdir(parents=True, exist_ok=True)
    if form == "json":
        objects = [as_dict(number, kernel) for number, kernel in enumerate(kernels, 1)]
        (folder / "kernels.json").write_text(json.dumps(objects, indent=2) + "\n")
        print(f"{len(kernels)} kernels in {folder / 'kernels.json'}")
        return
    extension = EXTENSIONS.get(gc.get_backend_name(), ".txt")
    for number, kernel in enumerate(kernels, 1):
        file = folder / f"{number:03}_{kernel.name}{extension}"
        file.write_text(f"{header(number, kernel)}\n{kernel.source.rstrip()}\n")
        print(file)


def explain(options: argparse.Namespace) -> int:
    """Tell for every schedule of a program what its kernels are, what they move, and what did not fuse."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    found = collect(options.target, options.arguments, options.backend)
    console = Console()
    for number, plan in enumerate(found.plans, 1):
        table = Table(title=f"schedule {number} of {len(found.plans)}", title_justify="left")
        for name in ("kernel", "from", "shapes", "cache"):
            table.add_column(name, overflow="fold")
        for name in ("read", "written", "flops"):
            table.add_column(name, justify="right")
        for kernel in plan.kernels:
            table.add_row(kernel.name, escape(_lines(kernel.origins)), escape(kernel.shapes), str(kernel.cached),
                          size(kernel.bytes_read), size(kernel.bytes_written), amount(kernel.flops))  # fmt: skip
        console.print(table)
        count = f"{len(plan.kernels)} kernel" + "s" * (len(plan.kernels) != 1)
        console.print(f"  {count}, {size(plan.bytes_moved)} moved, {amount(plan.flops)} flops, "
                      f"{size(plan.peak_bytes)} held at most", highlight=False)  # fmt: skip
        for line in plan.explain:
            console.print(f"  {line}", highlight=False, markup=False)
        console.print()
    _say_if_none(found)
    return found.status


def _lines(origins: Iterable[str]) -> str:
    """'a.py:3, 4, 7' for lines of one file, instead of its name before each."""
    files: dict[str, list[str]] = {}
    for origin in origins:
        file, _, line = origin.rpartition(":")
        files.setdefault(file, []).append(line)
    return "; ".join(f"{file}:{', '.join(dict.fromkeys(lines))}" for file, lines in files.items())


def _say_if_none(found: Collected) -> None:
    if not any(plan.kernels for plan in found.plans):
        import graphc as gc

        print(f"graphc: no kernel was needed on backend {gc.get_backend_name()}", file=sys.stderr)
