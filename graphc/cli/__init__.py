"""The `graphc` command: what a script's kernels look like, what fused, what this machine offers, what the cache holds.

Each command is one function in a module of this folder, imported when it is asked for, so that `graphc --help` is
quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 if the work failed, 2 if the command line was wrong."""
    from graphc.errors import GraphcError

    options = _parse(sys.argv[1:] if argv is None else list(argv))
    try:
        module, function = options.command
        return getattr(import_module(f"graphc.cli.{module}"), function)(options) or 0
    except UsageError as error:
        print(f"graphc: {error}", file=sys.stderr)
        return 2
    except GraphcError as error:
        print("graphc: " + "; ".join(filter(None, [error.message, error.fix])), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("graphc: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `graphc dump-kernels script.py | head`
        sys.stderr.close()
        return 1


class UsageError(Exception):
    """A command line that cannot be carried out; the text is one line."""


def check_writable(out: str | os.PathLike) -> None:
    """Make the folder of --out. UsageError where that, or a file in it, is not possible."""
    import tempfile
    try:
        os.makedirs(out, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from None


def _parse(argv: list[str]) -> argparse.Namespace:
    """Options may stand before and after the script; what follows `--` is the script's own."""
    own, arguments = argv, []
    if "--" in argv:
        place = argv.index("--")
        own, arguments = argv[:place], argv[place + 1 :]
    parser = _parser()
    options, unknown = parser.parse_known_args(own)
    takes_a_script = hasattr(options, "target")
    if unknown:
        hint = "; arguments of the script come after --" if takes_a_script else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if arguments and not takes_a_script:
        parser.error(f"unrecognized arguments: -- {' '.join(arguments)}")
    options.arguments = arguments
    return options


DUMP_EXAMPLES = """examples:
  graphc dump-kernels script.py                       every kernel of a script, in the order they are first needed
  graphc dump-kernels script.py -- --size 100         what follows -- is handed to the script
  graphc dump-kernels script.py --out kernels         one file per kernel in the folder kernels/
  graphc dump-kernels script.py --format json         for programs: a list of objects
  graphc dump-kernels script.py --backend cuda        those of another backend, with or without such a device
  graphc dump-kernels script.py --backend hip --check and what the compilers that are here say of them
  graphc dump-kernels script.py --backend hip-cdna    those of HIP on devices with this matrix unit; or -rdna3, -rdna4
  graphc dump-kernels script.py --backend cuda-hopper those of CUDA on devices of compute capability 9.0
  graphc dump-kernels mypackage.model:step            a function without arguments; what it returns is realized
"""
EXPLAIN_EXAMPLES = """examples:
  graphc explain script.py                            kernels, bytes, flops, and why two groups did not fuse
  GRAPHC_DISABLE=fuse graphc explain script.py        the same without fusion, to compare
"""
PROFILE_EXAMPLES = """examples:
  graphc profile script.py                            time per kernel, bandwidth and flops against this machine's
  graphc profile script.py --top 5                    the five that take longest
  graphc profile script.py --format json              for programs
  graphc profile mypackage.model:step --repeat 20     the same function twenty times
"""
TUNE_EXAMPLES = """examples:
  graphc tune script.py                               what it finds is used by every later run; results stay the same
  graphc tune script.py --seconds 300                 at most five minutes of trying (default: GRAPHC_TUNE_SECONDS, 60)
  graphc cache clear                                  forgets it, with everything else in the cache
"""
DEVICES_EXAMPLES = """examples:
  graphc devices                                      backends, compiler, threads and settings of this machine
  GRAPHC_NUM_THREADS=1 graphc devices                 how a variable is understood
"""
CACHE_EXAMPLES = """examples:
  graphc cache ls                                     entries and their sizes
  graphc cache verify                                 read every entry and name those that are damaged
  graphc cache clear                                  remove every entry; kernels are compiled again when needed
"""
DEMO_EXAMPLES = """examples:
  graphc demo                                         both; needs: pip install 'graphc[demo]'
  graphc demo kmeans                                  k-means on 1,797 handwritten digits
  graphc demo denoise --out pictures                  diffusion and edges of a photograph; PNGs go to pictures/
"""


def _parser() -> argparse.ArgumentParser:
    from graphc import __version__

    parser = argparse.ArgumentParser(
        prog="graphc",
        description="Lazy arrays compiled to fused kernels: read the kernels, see what fused, look after the cache.",
        epilog="graphc COMMAND --help shows examples of each command",
    )
    parser.add_argument("--version", action="version", version=f"graphc {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, module: str, summary: str, examples: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=summary, description=summary, epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=(module, name.replace("-", "_")))
        return sub

    sub = command("dump-kernels", "kernels", "run a program and show the kernels it needed", DUMP_EXAMPLES)
    sub.add_argument("--out", metavar="DIR", help="write one file per kernel into DIR")
    sub.add_argument("--format", choices=("source", "json"), default="source", help="source with a header, or JSON")
    sub.add_argument("--check", action="store_true", help="let the compilers that are here take every kernel")
    _target(sub)

    sub = command("explain", "kernels", "run a program and tell what fused and what did not", EXPLAIN_EXAMPLES)
    _target(sub)

    sub = command("profile", "profile", "run a program and show where its kernels spend their time", PROFILE_EXAMPLES)
    sub.add_argument("--format", choices=("table", "json"), default="table", help="a table, or JSON")
    sub.add_argument("--top", type=int, metavar="N", help="only the N kernels that take longest")
    sub.add_argument("--repeat", type=int, default=1, metavar="N", help="run the program N times (default: 1)")
    _target(sub)

    sub = command("tune", "tune", "run a program and find how its kernels are best cut on this machine", TUNE_EXAMPLES)
    sub.add_argument("--seconds", type=float, metavar="S", help="how long to try altogether")
    _target(sub)

    command("devices", "machine", "show backends, compiler, threads and settings of this machine", DEVICES_EXAMPLES)

    sub = command("cache", "machine", "look after the compiled kernels on disk", CACHE_EXAMPLES)
    sub.add_argument("action", choices=("ls", "clear", "verify"))

    sub = command("demo", "demo", "run the examples on real data, checked against NumPy", DEMO_EXAMPLES)
    sub.add_argument("which", nargs="?", choices=("all", "kmeans", "denoise"), default="all")
    sub.add_argument("--out", metavar="DIR", default="out", help="folder for the pictures (default: out)")
    sub.add_argument("--backend", help="backend to run on (default: GRAPHC_BACKEND, else the best there is)")
    return parser


def _target(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--backend", help="backend to run on (default: GRAPHC_BACKEND, else the best there is)")
    sub.add_argument("target", metavar="SCRIPT|MODULE:FUNC",
                     help="a Python file (its own arguments after --), or a function without arguments")
