"""`graphc dump-kernels` and `graphc explain`."""

from __future__ import annotations

import argparse
import json
import linecache
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphc.cli import UsageError, check_writable
from graphc.cli.target import collect, dialect_of_absent, say_if_none
from graphc.units import amount, count

WIDTH = 100  # columns of `explain` where no narrower terminal shows it
LINES = 12  # of the user's program, shown for one kernel by `explain`


def dump_kernels(options: argparse.Namespace) -> int:
    """Show every kernel that a program needed, in order, or write each to a file."""
    if options.out:
        check_writable(options.out)  # before the program runs, which may take long
    backend = options.backend or dialect_of_absent(os.environ.get("GRAPHC_BACKEND"))
    found = collect(options.target, options.arguments, backend, absent=True)
    kernels = [kernel for plan in found.plans for kernel in plan.kernels]
    if options.out:
        _write(Path(options.out), kernels, options.format, backend)
    elif options.format == "json":
        print(json.dumps([as_dict(number, kernel) for number, kernel in enumerate(kernels, 1)], indent=2))
    else:
        _show(kernels)
    say_if_none(found, backend)
    return _check(found.plans, backend) or found.status if options.check else found.status


def _check(plans: list[Any], name: str | None) -> int:
    """Let the compilers that are here take each kernel, and say which did; 1 if one refuses a kernel."""
    from graphc.errors import NoCompilerError
    from graphc.runtime import checkers

    dialect = _dialect(name)
    refused = False
    for kernel in dict.fromkeys(kernel for plan in plans for kernel in plan.program.all_kernels):
        try:
            findings = checkers.check(kernel, dialect)
        except NoCompilerError as error:
            raise UsageError(f"--check: {error.message}; {error.fix}") from None
        for finding in findings:
            facts = ", ".join(f"{value} {what}" for what, value in finding.facts.items())
            print(f"{kernel.entry}: {finding.compiler}: {finding.error or facts or 'accepted'}", file=sys.stderr)
            refused = refused or finding.error is not None
    return int(refused)


def _dialect(name: str | None) -> str:
    """In which language the kernels were shown that `collect` found for --backend NAME."""
    from graphc import codegen, driver

    return name if name and codegen.is_dialect(name) else driver.current_backend().dialect or "c"


def header(number: int, kernel: Any) -> str:
    """The comment over a kernel's source. It is not part of what is compiled, so that lines and sizes of the user's
    program never cause a compile."""
    rows = [
        ("from", ", ".join(kernel.origins) or "no line of a program"),
        ("shapes", kernel.shapes),
        ("bytes", f"{amount(kernel.bytes_read, 'B')} read, {amount(kernel.bytes_written, 'B')} written"),
        ("flops", amount(kernel.flops)),
        ("launch", _launch(kernel)),
        ("cache", str(kernel.cached)),
    ]
    lines = [f"/* kernel {number}: {kernel.name}", *(f" *   {name:<7} {text}" for name, text in rows), " */"]
    return "\n".join(lines)


def _launch(kernel: Any) -> str:
    chunks, threads = kernel.launch
    if kernel.items:
        return f"{count(chunks, 'group')} of {kernel.items} work items"
    return f"{count(chunks, 'chunk')} on {count(threads, 'thread')}"


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
        "items": kernel.items,
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


def _write(folder: Path, kernels: list[Any], form: str, backend: str | None) -> None:
    from graphc import codegen

    if form == "json":
        objects = [as_dict(number, kernel) for number, kernel in enumerate(kernels, 1)]
        (folder / "kernels.json").write_text(json.dumps(objects, indent=2) + "\n")
        print(f"{count(len(kernels), 'kernel')} in {folder / 'kernels.json'}")
        return
    suffix = codegen.suffix_of(_dialect(backend))
    for number, kernel in enumerate(kernels, 1):
        file = folder / f"{number:03}_{kernel.name}{suffix}"
        file.write_text(f"{header(number, kernel)}\n{kernel.source.rstrip()}\n")
        print(file)


def explain(options: argparse.Namespace) -> int:
    """Tell for every schedule of a program what its kernels are, what they move, and what did not fuse."""
    from rich.console import Console

    found = collect(options.target, options.arguments, options.backend)
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
    for number, plan in enumerate(found.plans, 1):
        console.print(f"schedule {number} of {len(found.plans)}: {count(len(plan.kernels), 'kernel')}, "
                      f"{amount(plan.bytes_moved, 'B')} moved, {amount(plan.flops)} flops, "
                      f"{amount(plan.peak_bytes, 'B')} held at most",
                      style="bold")
        for place, kernel in enumerate(plan.kernels, 1):
            console.print(f"  {place}. {kernel.name}: {amount(kernel.bytes_read, 'B')} read, "
                          f"{amount(kernel.bytes_written, 'B')} written, {amount(kernel.flops)} flops; {kernel.cached}",
                          markup=False)
            for line in _details(kernel, min(console.width, WIDTH)):
                console.print(f"     {line}", style="dim", markup=False)
        for line in plan.explain:
            for part in textwrap.wrap(line, min(console.width, WIDTH) - 4, initial_indent="- ", subsequent_indent="  "):
                console.print(f"  {part}", markup=False)
        console.print()
    say_if_none(found, options.backend)
    return found.status


def _details(kernel: Any, width: int) -> Iterator[str]:
    """A kernel's shapes and the user's lines, none longer than the width."""
    yield from textwrap.wrap(kernel.shapes, width - 5, subsequent_indent="  ", break_on_hyphens=False)
    column = max((len(origin) for origin in kernel.origins), default=0)
    for origin in kernel.origins[:LINES]:
        file, _, line = origin.rpartition(":")
        source = linecache.getline(file, int(line)).strip()
        text = f"{origin:<{column}}  {source}".rstrip()
        yield text if len(text) <= width - 5 else text[: width - 8] + "..."
    if len(kernel.origins) > LINES:
        yield f"and {len(kernel.origins) - LINES} more lines"
