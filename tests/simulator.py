"""What Oclgrind, a simulator of an OpenCL device, says of the kernels that it runs: reads of what nobody wrote,
accesses outside a buffer, races between work items, barriers that not all of a group reach.

It writes that to a log; its exit status is 0 whatever it finds. tests/conftest.py reads the log after each test.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

SHOWN = 40  # lines of a log that a failure quotes
CHECKS = {
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNINITIALIZED": "1",
    "OCLGRIND_MAX_ERRORS": "1000000",  # of a process; after them it says nothing more
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",  # LLVM's optimised code has instructions that the check does not know
}


class FindingError(Exception):
    """The simulator found something."""


def is_chosen(backend: str) -> bool:
    """Whether kernels of this backend run on the simulator."""
    return backend == "opencl" and "oclgrind" in os.environ.get("PYOPENCL_CTX", "").lower()


def switch_on() -> None:
    """All checks, for the devices that this process makes, and a log of its own."""
    handle, log = tempfile.mkstemp(prefix="graphc-simulator-")
    os.close(handle)
    os.environ.update(CHECKS, OCLGRIND_LOG=log)


def switch_off() -> None:
    Path(os.environ.pop("OCLGRIND_LOG")).unlink(missing_ok=True)
    for name in CHECKS:
        del os.environ[name]


def findings() -> str:
    """What the log has, which is then empty."""
    log = Path(os.environ["OCLGRIND_LOG"])
    text = log.read_text(encoding="utf-8", errors="replace").strip("\0 \n")  # who writes it goes on where it was
    if text:
        os.truncate(log, 0)
    return text


def raise_findings() -> None:
    """FindingError if the log has anything."""
    lines = [line for line in findings().splitlines() if line.strip()]
    if lines:
        more = [f"... and {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
        raise FindingError("\n".join(["the simulator of OpenCL reports:", *lines[:SHOWN], *more]))
