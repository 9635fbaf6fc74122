"""graphc beside other array libraries: `python -m benchmarks --help`, and on a GPU `python -m benchmarks.gpu --help`.

    works/       one file a work: its inputs, what it must cost, and the same formula in each peer's natural style
    peers.py     how a peer takes inputs, runs a formula and gives the answer back
    worker.py    a process that is one peer, driven through its stdin and stdout
    runner.py    rounds that alternate between the peers; answers are checked before anything is timed
    overhead.py  what graphc costs where arrays are small: recording, realizing, importing, starting
    report.py    the tables; chart.py the picture; machine.py what stands above them
    gpu.py       the same works on a GPU, whose peers share one process

What this machine can do, bandwidth and multiply-adds, is measured in the same run by graphc/runtime/floor.py.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence


def names_among(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an option that takes some of these names, separated by commas."""
    def parse(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in found if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(allowed)}")
        return found
    return parse
