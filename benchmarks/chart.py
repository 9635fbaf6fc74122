"""The picture: for every work, each peer's time over that of the best peer, on a logarithmic axis."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers
from benchmarks.runner import Row

MARKS = {"graphc": "D", "numpy": "o", "jax": "s", "torch": "^", "torchc": "v", "numexpr": "P", "numba": "X"}


def draw(rows: Sequence[Row], names: Sequence[str], path: Path) -> bool:
    """Write the PNG. False, and nothing is written, if matplotlib is not installed or there is nothing to draw."""
    shown = [(row, times) for row in rows if len(times := row.medians()) > 1]
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        return False
    if not shown:
        return False
    figure = Figure(figsize=(9, 1.6 + 0.42 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(shown), 0, -1)
    for place, (row, times) in zip(places, shown, strict=True):
        best = min(seconds for peer, seconds in times.items() if peer != peers.OURS)
        if floor := row.floor():
            axes.plot([floor[0] / best] * 2, [place - 0.3, place + 0.3], color="0.6", linewidth=2, zorder=1)
    for name in names:
        points = [(times[name] / min(t for p, t in times.items() if p != peers.OURS), place)
                  for place, (_, times) in zip(places, shown, strict=True) if name in times]
        ours = name == peers.OURS
        axes.scatter([x for x, _ in points], [y for _, y in points], marker=MARKS[name], label=peers.title(name),
                     s=64 if ours else 36, color="crimson" if ours else None, zorder=3 if ours else 2)
    axes.axvline(1, color="black", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_yticks(list(places), [row.title for row, _ in shown])
    axes.set_xlabel("time over the best peer's (left of 1: faster than every peer; grey: the floor)")
    axes.grid(axis="y", color="0.9")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=120)
    return True
