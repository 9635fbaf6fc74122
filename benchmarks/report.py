"""The results as tables: on the terminal with rich, and as Markdown."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from rich.table import Table

from benchmarks import peers, works
from benchmarks.overhead import Figure
from benchmarks.runner import Row

HEAD = """# Results

Seconds per call: the median over the rounds of each round's median. Peers run in processes of their own and in turn,
in a new order each round; every answer was first checked against NumPy in float64. The floor is what this machine
needs to move the bytes or to do the operations, measured in each round, as the speed of memory changes from minute to
minute: its median beside medians, its best moment beside the quickest. Caches can lift a work above it.
"""


# ------------------------------------------------------------------------------------------------------------- figures


def speedup(row: Row, times: Mapping[str, float]) -> float | None:
    """The best peer's time over graphc's: above 1, graphc is faster. None if either has no time."""
    others = [seconds for peer, seconds in times.items() if peer != peers.OURS]
    return min(others) / times[peers.OURS] if others and peers.OURS in times else None


def geometric_mean(rows: Sequence[Row], times_of: Callable[[Row], Mapping[str, float]]) -> tuple[float, int] | None:
    """Of the speed-ups over those of the ten rows that have one; with how many these are."""
    found = [s for row in rows if row.name in works.TEN and (s := speedup(row, times_of(row)))]
    return (math.exp(math.fsum(map(math.log, found)) / len(found)), len(found)) if found else None


def unit_of(seconds: float) -> tuple[str, float]:
    return ("us", 1e6) if seconds < 1e-4 else ("ms", 1e3) if seconds < 1 else ("s", 1)


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


# -------------------------------------------------------------------------------------------------------------- tables


def table_of_rows(rows: Sequence[Row], names: Sequence[str], times_of: Callable[[Row], Mapping[str, float]],
                  floor_of: Callable[[Row], tuple[float, str] | None]) -> tuple[list[str], list[list[str]]]:
    """Header and cells. The best time of a row is marked with a star."""
    header = ["work", "floor", *map(peers.title, names), "floor / graphc", "best peer / graphc"]
    cells = []
    for row in rows:
        times = times_of(row)
        unit, scale = unit_of(min(times.values(), default=0))
        best = min(times.values(), default=None)
        shown = []
        for name in names:
            mark = "*" if times.get(name) == best else ""
            shown.append(number(times[name] * scale) + mark if name in times else "failed" * (name in row.failed))
        (floor, bound), ratio = floor_of(row) or (None, ""), speedup(row, times)
        reached = f"{floor / times[peers.OURS]:.2f}" if floor and peers.OURS in times else ""
        cells.append([f"{row.title} ({unit})", f"{number(floor * scale)} {bound}" if floor else "", *shown, reached,
                      "" if ratio is None else f"{ratio:.2f}"])
    return header, cells


def table_of_kernels(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    header = ["work", "kernels", "bytes of source", "seconds in the compiler"]
    return header, [[row.title, str(row.compiled["kernels"]), str(row.compiled["source_bytes"]),
                     f"{row.compiled['compile_seconds']:.3f}"] for row in rows if row.compiled]


def table_of_figures(figures: Sequence[Figure]) -> tuple[list[str], list[list[str]]]:
    header = ["what", "median", "quickest", "to reach"]
    cells = []
    for figure in figures:
        unit, scale = unit_of(figure.median)
        target = "" if figure.target is None else f"{number(figure.target * scale)} {unit}"
        cells.append([figure.title, f"{number(figure.median * scale)} {unit}",
                      f"{number(figure.fastest * scale)} {unit}", target])
    return header, cells


def sections(rows: Sequence[Row], names: Sequence[str], figures: Sequence[Figure]):
    """(title, (header, cells)) of every table that has something in it."""
    if rows:
        yield "medians", table_of_rows(rows, names, Row.medians, Row.floor)
        yield "quickest of all rounds", table_of_rows(rows, names, lambda row: row.fastest, lambda row: row.floor(min))
        yield "what graphc compiled", table_of_kernels(rows)
    if figures:
        yield "overhead", table_of_figures(figures)


def remarks(rows: Sequence[Row], left_out: Mapping[str, str]) -> list[str]:
    """Geometric means, peers that are missing, and works that failed."""
    lines = []
    for title, times_of in (("medians", Row.medians), ("the quickest", lambda row: row.fastest)):
        mean = geometric_mean(rows, times_of)
        if mean:
            lines.append(f"Geometric mean of best peer / graphc over {mean[1]} of the {len(works.TEN)} fused-loop rows,"
                         f" by {title}: {mean[0]:.2f}.")
    lines += [f"Left out: {peers.title(name)}, {reason}." for name, reason in left_out.items()]
    lines += [f"No time for {peers.title(peer)} in {row.title}: {reason.splitlines()[0]}"
              for row in rows for peer, reason in row.failed.items()]
    return lines


# ------------------------------------------------------------------------------------------------------------- writing


def rich_table(title: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column, name in enumerate(header):
        table.add_column(name, justify="right" if column else "left", overflow="fold", no_wrap=not column)
    for line in cells:
        table.add_row(*(f"[bold]{cell}[/bold]" if cell.endswith("*") else cell for cell in line))
    return table


def markdown_table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)]
    lines += [[f"**{cell[:-1]}**" if cell.endswith("*") else cell for cell in line] for line in cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown(rows: Sequence[Row], names: Sequence[str], figures: Sequence[Figure], about: Mapping[str, str],
             left_out: Mapping[str, str], chart: str | None = None) -> str:
    """The whole page."""
    parts = [HEAD, *(f"- {key}: {value}" for key, value in about.items()), ""]
    if chart:
        parts += [f"![each peer's time over the best peer's]({chart})", ""]
    for title, (header, cells) in sections(rows, names, figures):
        parts += [f"## {title[0].upper()}{title[1:]}", "", markdown_table(header, cells), ""]
    notes = remarks(rows, left_out)
    if notes:
        parts += ["## Remarks", "", *(f"- {line}" for line in notes), ""]
    return "\n".join(parts)
