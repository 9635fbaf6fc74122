"""`graphc demo`: run the examples as a user would, from a checkout or from an installed package."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from argparse import Namespace
from pathlib import Path

from graphc.cli import check_writable
from graphc.cli.target import use_backend
from graphc.errors import GraphcError

EXAMPLES = {"kmeans": "kmeans_digits.py", "denoise": "denoise_photo.py"}
NEEDS = {"sklearn": "scikit-learn", "PIL": "pillow"}


def demo(options: Namespace) -> int:
    """Run one example or all; 1 if a check of theirs failed."""
    import graphc.examples

    missing = [package for module, package in NEEDS.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise GraphcError(f"the demo needs {' and '.join(missing)}", op="graphc demo", site="the command line",
                          fix="pip install 'graphc[demo]'")
    use_backend(options.backend)
    check_writable(options.out)
    folder = Path(graphc.examples.__file__).parent
    failed = False
    for name in EXAMPLES if options.which == "all" else [options.which]:
        failed |= _run(folder / EXAMPLES[name], options.out)
    return int(failed)


def _run(script: Path, out: str) -> bool:
    """Run a script as `python SCRIPT OUT` would; True if it failed."""
    argv = list(sys.argv)
    sys.argv[:] = [str(script), out]
    try:
        runpy.run_path(str(script), run_name="__main__")
        return False
    except SystemExit as exit:
        return exit.code not in (None, 0)
    finally:
        sys.argv[:] = argv
