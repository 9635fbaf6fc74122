"""What the examples share: timing, the counts of a run, and a table that ends in a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphc as gc


def timed(work: Callable, *args: Any) -> tuple[Any, float]:
    """(result, seconds) of one call."""
    start = time.perf_counter()
    result = work(*args)
    return result, time.perf_counter() - start


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def show(title: str, rows: dict[str, str]) -> None:
    width = max(map(len, rows))
    print(f"\n{title} [{gc.get_backend_name()}]")
    for name, value in rows.items():
        print(f"  {name:<{width}}  {value}")


def verdict(checks: dict[str, bool]) -> None:
    """Print each check; leave with status 1 if one failed."""
    for name, passed in checks.items():
        print(f"  {'ok  ' if passed else 'FAIL'}  {name}")
    if not all(checks.values()):
        raise SystemExit(1)


def save_png(path: Path, pixels) -> None:
    """Save an array of (height, width) or (height, width, 3) in [0, 1] as a PNG."""
    import numpy as np
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((np.clip(pixels, 0, 1) * 255).round().astype(np.uint8)).save(path)
