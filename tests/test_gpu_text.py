"""The text of CUDA and HIP kernels by compilers for them: the programs of the goldens, and small random programs.

`pytest -s` shows registers and spills of every CUDA kernel.
"""

from __future__ import annotations

import programs
import pytest
import test_goldens

from graphc import canonical
from graphc.build import build
from graphc.errors import NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import checkers

SEEDS = range(20_000, 20_005)
DIALECTS = ("cuda", "hip")


def kernels_of(roots: list, dialect: str) -> tuple[KernelSource, ...]:
    pending = [tensor.node for tensor in roots if tensor.node.value is None]
    return build(canonical.canonicalize(pending), dialect).program.all_kernels if pending else ()


def accepted(kernels: tuple[KernelSource, ...], dialect: str) -> list[checkers.Finding]:
    found = []
    for kernel in kernels:
        try:
            findings = checkers.check(kernel, dialect)
        except NoCompilerError as error:
            pytest.skip(error.message)
        for finding in findings:
            assert finding.error is None, f"{finding.compiler}: {finding.error}\n{kernel.text}"
            if finding.facts:
                print(f"{kernel.entry:<44} {finding.compiler}: {finding.facts}")
        found += findings
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", test_goldens.PROGRAMS)
def test_golden_programs(name, dialect):
    found = test_goldens.PROGRAMS[name]()
    findings = accepted(kernels_of(list(found) if isinstance(found, tuple) else [found], dialect), dialect)
    assert findings
    # 256 threads of 255 registers do not fit a multiprocessor twice; what spills more than a little is slow
    assert all(f.facts.get("spills", 0) <= 256 and f.facts.get("registers", 0) <= 128 for f in findings)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, dialect):
    accepted(kernels_of(programs.small(seed).results(), dialect), dialect)
