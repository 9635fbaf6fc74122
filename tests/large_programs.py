"""Random programs as if their arrays, of some hundred elements, were large; run by test_differential.py in a process of
its own.

    python large_programs.py FIRST COUNT      compares programs FIRST .. FIRST + COUNT - 1 with the reference
"""

from __future__ import annotations

import importlib
import sys

from differential import problem_of, problems_of, shortest
from programs import of_seed

# Sizes from which on kernels are made in other ways.
SIZES = {
    "graphc.passes.lower": {"STREAM": 0, "READS": sys.maxsize, "SHORT_ROWS": 0},
    "graphc.passes.short_rows": {"ENOUGH": 0}, "graphc.passes.split": {"MIN_ELEMENTS": 64, "LEAST_TERMS": 64},
    "graphc.passes.fuse": {"SERIAL_ELEMENTS": 16},
    "graphc.passes.contract": {"LEAST_FAR": 0, "FAR_COLUMNS": 0, "LEAST_SWEPT": 1},
    "graphc.passes.evaluate": {"PACKED": 16},
    "graphc.passes.chunks": {"MAP_CHUNK": 64, "LONG_CHUNK": 256, "ROW_CHUNK": 64},
    "graphc.codegen.ahead_c": {"LARGE": 0}, "graphc.ir.routines": {"_LITTLE": 16, "_SHORT": 4}}


def main(first: int, count: int) -> int:
    for module, sizes in SIZES.items():
        for name, size in sizes.items():
            getattr(importlib.import_module(module), name)      # it may have another name by now
            setattr(sys.modules[module], name, size)
    written = [of_seed(seed) for seed in range(first, first + count)]
    problems = [f"seed {first + k}: {problem_of(shortest(program)) or problem}"
                for k, (program, problem) in enumerate(zip(written, problems_of(written), strict=True))
                if problem is not None]
    print("\n\n".join(problems) or f"{count} programs agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*(int(text) for text in sys.argv[1:])))
