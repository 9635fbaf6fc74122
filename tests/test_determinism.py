"""The kernels of a program are the same text in every process: else its caches would miss for no reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = """
import random, sys
ballast = [object() for _ in range(random.Random(int(sys.argv[1])).randrange(100_000))]     # other addresses
from programs import of_seed
from graphc import canonical
from graphc.build import build
for seed in range(150):
    roots = [n for n in dict.fromkeys(t.node for t in of_seed(seed).results()) if n.value is None]
    program = build(canonical.canonicalize(roots), "c").program
    print(seed, [kernel.entry for kernel in program.kernels], program.slots, program.steps)
"""


def kernels(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE), "GRAPHC_BACKEND": "cpu"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT, hash_seed], env=environment, cwd=HERE.parent,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_kernels_do_not_depend_on_hashes_or_addresses():
    first, second = kernels("1"), kernels("2")
    assert len(first) == 150
    for a, b in zip(first, second, strict=True):
        assert a == b
