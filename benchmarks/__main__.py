"""`python -m benchmarks`: graphc beside its peers on this machine.

    python -m benchmarks                                     # everything that is installed
    python -m benchmarks --peers numpy,jax --work softmax,norm --rounds 30
    python -m benchmarks --work overhead                     # recording, importing, starting
    python -m benchmarks --out benchmarks                    # writes benchmarks/RESULTS.md and results.png
"""
from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import chart, machine, names_among, overhead, peers, report, runner, works

OVERHEAD = "overhead"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = 160     # a file is as wide as the table
    known = [name for name in peers.DISTRIBUTIONS if name in options.peers or name == peers.OURS]
    names = [name for name in known if peers.version(name)]
    left_out = {name: "which is not installed" for name in known if name not in names}
    rows: list[runner.Row] = []
    figures: list[overhead.Figure] = []
    notes = Console(stderr=True)
    with notes.status("starting") as status:
        with runner.Run(names, options.threads, options.rounds, options.small, tell=status.update) as run:
            for name in options.work:
                if name == OVERHEAD:
                    status.update("overhead")
                    worker = run.workers[peers.OURS]
                    figures += overhead.figures_of(worker.ask(do="overhead"))
                    figures += overhead.in_new_processes(names, options.threads)
                else:
                    rows.append(run.measure(name))
                    times = {peers.title(p): f"{t * 1e3:.3f}" for p, t in rows[-1].medians().items()}
                    notes.print(rows[-1].title, times, rows[-1].failed or "", highlight=False)
    asked = sys.argv[1:] if arguments is None else arguments
    about = {"command": shlex.join(["python", "-m", "benchmarks", *asked])} | machine.describe(names, options.threads)
    for title, (header, cells) in report.sections(rows, names, figures):
        console.print(report.rich_table(title, header, cells))
    for line in [*(f"{key}: {value}" for key, value in about.items()), *report.remarks(rows, left_out)]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        drawn = chart.draw(rows, names, options.out / "results.png")
        text = report.markdown(rows, names, figures, about, left_out, "results.png" if drawn else None)
        (options.out / "RESULTS.md").write_text(text, encoding="utf-8")
    return int(any(row.failed for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    allowed, all_works = list(peers.DISTRIBUTIONS), [*works.ALL, OVERHEAD]
    parser.add_argument("--peers", type=names_among(allowed), default=allowed, metavar="NAME,...",
                        help=f"beside graphc: {', '.join(allowed[1:])} (default: all that are installed)")
    parser.add_argument("--work", type=names_among(all_works), default=all_works, metavar="NAME,...",
                        help=f"{', '.join(all_works)} (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="for each work (default: 15)")
    parser.add_argument("--threads", type=int, default=2, help="for each peer (default: 2)")
    parser.add_argument("--small", action="store_true", help="tiny arrays, to try the command")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write RESULTS.md and results.png there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
