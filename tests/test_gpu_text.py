"""The text of kernels for GPUs by compilers for them: the programs of the goldens, and small random programs.

The registers and spills of the goldens' CUDA kernels stand at the end of the suite's output.
"""

from __future__ import annotations

import re

import numpy as np
import programs as random_programs
import pytest
import test_goldens
import test_simulator

import graphc as gc
from graphc import canonical, codegen
from graphc.api.record import wrap
from graphc.build import build
from graphc.codegen.loader import Loader
from graphc.errors import NoCompilerError
from graphc.ir import dtype as dtypes
from graphc.ir.node import make
from graphc.ir.ops import ELEMENTWISE, TABLE
from graphc.ir.program import KernelSource
from graphc.runtime import checkers, nvrtc

SEEDS = range(20_000, 20_005)
DIALECTS = ("cuda", "hip")
CHECKED = (*DIALECTS, "opencl")


def listed(found: gc.Tensor | tuple[gc.Tensor, ...]) -> list[gc.Tensor]:
    return list(found) if isinstance(found, tuple) else [found]


def kernels_of(roots: list, dialect: str) -> tuple[KernelSource, ...]:
    pending = [tensor.node for tensor in roots if tensor.node.value is None]
    return build(canonical.canonicalize(pending), dialect).program.all_kernels if pending else ()


def accepted(kernels: tuple[KernelSource, ...], dialect: str) -> list[checkers.Finding]:
    found = []
    for kernel in kernels:
        try:
            check = checkers.types_of_opencl if dialect == "opencl" else lambda k: checkers.check(k, dialect)
            findings = check(kernel)
        except NoCompilerError as error:
            pytest.skip(error.message)
        for finding in findings:
            assert finding.error is None, f"{finding.compiler}: {finding.error}\n{kernel.text}"
        found += findings
    return found


@pytest.mark.parametrize("dialect", CHECKED)
@pytest.mark.parametrize("name", test_goldens.ALL)
def test_golden_programs(name, dialect, record_property):
    kernels = kernels_of(listed(test_goldens.ALL[name]()), dialect)
    findings = []
    for kernel in kernels:
        findings += (of_one := accepted((kernel,), dialect))
        if dialect == "cuda":
            record_property("machine code", f"{name}, {kernel.entry}: " + ", ".join(
                f"{f.compiler.split()[-1]} {f.facts['registers']} registers, {f.facts['spills']} bytes spilled"
                for f in of_one))
    assert findings
    # 256 threads of 255 registers do not fit a multiprocessor twice; what spills more than a little is slow
    assert all(f.facts.get("spills", 0) <= 256 and f.facts.get("registers", 0) <= 128 for f in findings)


@pytest.mark.parametrize("features", [64, 128])
def test_attention_and_its_gradients_do_not_spill(features):
    """The larger of their two kernels has the sums of two results, beside the products under their weights."""
    q, k, v, g = (gc.asarray(np.ones((2, 256, features), np.float32)) for _ in range(4))
    y, pull = gc.vjp(lambda k, v: gc.scaled_dot_product_attention(q, k, v, is_causal=True), k, v)
    for dialect in DIALECTS:
        kernels = tuple(x for x in kernels_of([y, *pull(g)], dialect) if "weighted" in x.entry or "att" in x.entry)
        assert len(kernels) == 2
        assert all(f.facts.get("spills", 0) == 0 for f in accepted(kernels, dialect))


@pytest.mark.parametrize("dialect", CHECKED)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, dialect, programs):
    for one in range(seed, seed + max(programs // 1000, 1) * len(SEEDS), len(SEEDS)):
        accepted(kernels_of(random_programs.small(one).results(), dialect), dialect)


@pytest.mark.parametrize("dialect", ["c", *CHECKED])
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_every_elementwise_operation_has_a_text(dtype, dialect: str):
    x, y = (gc.asarray(np.ones(shape)).astype(dtype).node for shape in (7, (3, 7)))
    taking = [op for op in TABLE.values() if op.kind == ELEMENTWISE and op.arity in (1, 2) and op.result is not None
              and dtype.kind in op.dtypes and op.domain != "index"]
    roots = [wrap(make(op, op.result(*[dtype] * op.arity), (3, 7), (y, x)[:op.arity], device=y.device))
             for op in taking]
    assert len(roots) > 5
    kernels = kernels_of(roots, dialect)
    assert kernels
    if dialect in CHECKED:
        accepted(kernels, dialect)


def test_large_maps_move_sixteen_bytes_at_a_time():
    x, h = gc.asarray(np.ones((1024, 1028), np.float32)), gc.asarray(np.ones((1024, 1028), np.float16))
    for tensor, moved in ((x * 2 + x[0], ".v4"), (h * h, ".v4"), (h.astype("float32") + x, ".v4"), (h + h[0], ".v4")):
        (kernel,) = kernels_of([tensor], "cuda")
        try:
            text = nvrtc.assembly(kernel, "compute_80")
        except NoCompilerError as error:
            pytest.skip(error.message)
        code = text[text.index(".entry"):]
        assert f"ld.global{moved}" in code and f"st.global{moved}" in code
        assert not re.search(r"(ld|st)\.(v\d\.)?[fu]\d", code), "an address that may be of any kind"


def test_large_maps_divide_once():
    """For the first element of an item; strides that arrays have in common are one argument."""
    x = gc.asarray(np.ones((1030, 1030), np.float32))
    y = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]
    for dialect in CHECKED:
        (kernel,) = kernels_of([y], dialect)
        _, _, loop = kernel.text.rpartition("for (; at < stop;")
        loop = loop[:loop.index("\n    }")]
        assert loop and "gc_rest" not in loop and "gc_quotient" not in loop
        assert len(set(re.findall(r"i0 \* a\d+", loop))) == 2


def test_long_columns_fill_a_large_device():
    """Sixteen columns for a group, whose items take chunks of them; more groups than multiprocessors."""
    x = gc.asarray(np.ones((1024, 4096), np.float32))
    for y in (gc.var(x, axis=0), gc.sum(x, axis=0), gc.max(x, axis=0)):
        program = build(canonical.canonicalize([y.node]), "cuda").program
        (launch,) = program.steps
        assert [m.chunks for m in launch.members] == [256]
        (finding,) = [f for f in accepted(program.all_kernels, "cuda") if "sm_90" in f.compiler]
        assert finding.facts["registers"] <= 64 and finding.facts["spills"] == 0


def test_few_long_columns_are_cut():
    """Where groups would be too few, but for variances, whose bits are of their shape alone."""
    x = gc.asarray(np.ones((8192, 512), np.float32))
    for y, launches in ((gc.sum(x, axis=0), 2), (gc.max(x, axis=0), 2), (gc.var(x, axis=0), 1)):
        assert len(build(canonical.canonicalize([y.node]), "cuda").program.steps) == launches
        assert len(build(canonical.canonicalize([y.node]), "c").program.steps) == 1


def test_sums_of_many_elements_are_those_of_several_groups():
    """On a device with many; a mean's division needs no kernel of its own. A thread takes as many by itself."""
    for y, dialect, groups in ((gc.mean(gc.asarray(np.ones(65536, np.float32))), "cuda", [16, 1]),
                               (gc.max(gc.asarray(np.ones((2, 20_000), np.float32)), axis=1), "cuda", [10, 1]),
                               (gc.max(gc.asarray(np.ones((2, 20_000), np.float32)), axis=1), "c", [2])):
        steps = build(canonical.canonicalize([y.node]), dialect).program.steps
        assert [step.members[0].chunks for step in steps] == groups


def test_large_products_fit_the_registers():
    """64 sums of each of 256 items, two groups of them for a multiprocessor; a convolution's windows take more."""
    a, b = (gc.asarray(np.ones(shape, np.float32)) for shape in ((2048, 2048), (2048,)))
    images, weights = (gc.asarray(np.ones(shape, np.float32)) for shape in ((8, 64, 56, 56), (128, 64, 3, 3)))
    for product in (a @ a, gc.relu(a @ a + b), a.T @ a.T, gc.conv2d(images, weights, padding=1)):
        for finding in accepted(kernels_of([product], "cuda"), "cuda"):
            assert finding.facts["spills"] <= 160 and finding.facts["registers"] <= 128
            assert 16000 < finding.facts["shared"] <= 49152


@pytest.mark.parametrize("dtype, cast", [("float16", "cvt.rn.f16.f32"), ("bfloat16", "cvt.rn.bf16")])
def test_halves_are_converted_by_instructions(dtype, cast):
    x = gc.asarray(np.ones((7, 300), np.float32)).astype(dtype)
    for tensor in (x * x, gc.softmax(x, axis=1)):
        kernels = kernels_of([tensor], "cuda")
        try:
            text = nvrtc.assembly(kernels[-1], "compute_80")
        except NoCompilerError as error:
            pytest.skip(error.message)
        assert cast in text and "setp.gt.u32" not in text, "a comparison of integer arithmetic"


@pytest.mark.parametrize("dialect, spelled", [("cuda", "__expf("), ("hip", "__expf("), ("opencl", "native_exp(")])
def test_devices_spell_marked_operations_otherwise(dialect, spelled):
    """Of float32 alone."""
    def texts(dtype: str) -> list[str]:
        x = gc.asarray(np.ones(5000)).astype(dtype)
        found = [gc.exp(x), gc.log(x), gc.log2(x), gc.log10(x), gc.sin(x), gc.cos(x), x / (x + 1), x * x + 1]
        (kernel,) = kernels_of(found, dialect)
        accepted((kernel,), dialect)
        return [name for name in (spelled, spelled.replace("exp", "log10"), "gc_fma_") if name in kernel.text]
    assert texts("float32") == []
    with gc.fast_math():
        assert len(texts("float32")) == 3 and texts("float64") == ["gc_fma_"]


TAG = re.compile(r"{%-? (?:if|elif|else|for|macro)\b.*?%}")
# What OpenCL has not: a matrix unit, tables of launches, words that CUDA keeps in shared memory, and more of that.
NOT_OF_OPENCL = {"{% macro mma(s) -%}", "{% if f.plain and copied -%}", "{% if k.room %}", "{% if k.shared_words %}",
                 "{% for s in k.in_scratch %}", "{% if s.single %}", "{% if s.whole -%}"}


class Marked(Loader):
    """Templates of which every branch says that it is rendered."""

    def __init__(self, files: list[str]) -> None:
        super().__init__()
        self.files, self.branches, self.rendered = files, set(), set()

    def get_source(self, environment, template):
        text, *rest = super().get_source(environment, template)
        return TAG.sub(lambda tag: self._mark(template, text, tag), text) if template in self.files else text, *rest

    def _mark(self, path: str, text: str, tag: re.Match) -> str:
        if "{% if table %}" in text[:tag.end()] or tag[0] in NOT_OF_OPENCL:
            return tag[0]
        branch = f"{path}:{text.count(chr(10), 0, tag.start()) + 1}: {tag[0]}"
        self.branches.add(branch)
        return f"{tag[0]}{{{{ rendered.add({branch!r}) or '' }}}}"


def test_the_simulator_runs_every_form_of_kernel(monkeypatch):
    """Each branch of the templates that OpenCL has is in a kernel of a program of tests/test_simulator.py."""
    names = ("kernel", "loops", "gemm", "gemv", "runs", "attention", "weighted")
    loader = Marked([f"gpu/{name}.j2" for name in names])
    environment = codegen.environment.__wrapped__().overlay(loader=loader, bytecode_cache=None)
    environment.globals = environment.globals | {"rendered": loader.rendered}
    monkeypatch.setattr(codegen, "environment", lambda: environment)
    test_simulator.shorten_goldens(monkeypatch)
    goldens = [test_goldens.ALL[name] for name in test_simulator.GOLDENS]
    for program in (*test_simulator.PROGRAMS.values(), *goldens):
        kernels_of(listed(program()), "opencl")
    test_simulator.lower_limits(monkeypatch)
    for program in test_simulator.LARGE.values():
        kernels_of(listed(program()), "opencl")
    assert loader.branches and not sorted(loader.branches - loader.rendered)
