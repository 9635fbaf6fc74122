"""Programs of the goldens on random data, their GPU kernels emulated under AddressSanitizer; run by test_emulated.py.

    python emulated_programs.py cuda-emulated softmax layernorm
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import test_goldens

import graphc as gc

MOST = 50_000


def halved(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Until there are at most MOST elements."""
    while np.prod(shape) > MOST:
        shape = tuple(max(n // 2, 1) for n in shape)
    return shape


def short(shape: tuple[int, ...]) -> tuple[int, ...]:
    """For a simulator, which takes long: axes that were alike still are, a longer one is no shorter than another, and
    of two heads one is left."""
    return tuple(n if n in (1, 3) else min(-(-n // 4), 40) for n in shape)


def random_leaf(shortened: Callable[[tuple[int, ...]], tuple[int, ...]] = halved) -> Callable[..., gc.Tensor]:
    """What makes the programs' leaves: random numbers, and smaller arrays."""
    rng = np.random.default_rng(7)

    def leaf(*shape: int, dtype: str = "float32") -> gc.Tensor:
        shape = shortened(shape)
        kind = getattr(gc, dtype).numpy
        if np.issubdtype(kind, np.integer):
            return gc.asarray(rng.integers(1, 50, shape).astype(kind))
        return gc.asarray((rng.random(shape) + 0.5).astype(kind))

    return leaf


def run(name: str) -> None:
    """Realize a program; MismatchError where a value is not what the reference says."""
    from graphc.config import settings

    found = test_goldens.ALL[name]()
    with settings.override(verify=True):
        gc.realize(*(found if isinstance(found, tuple) else (found,)))


if __name__ == "__main__":
    from graphc.runtime.emulated import CudaEmulated

    CudaEmulated.sanitize = True
    gc.set_backend(sys.argv[1])
    test_goldens.leaf = random_leaf()
    for wanted in sys.argv[2:]:
        print(wanted, file=sys.stderr, flush=True)  # the last one is what was found
        run(wanted)
    print(f"{len(sys.argv) - 2} programs")
