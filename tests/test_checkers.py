"""Compilers for devices that are absent take what is right and name the line of what is not."""

from __future__ import annotations

import pytest

from graphc.errors import NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import checkers, nvrtc

SQUARE = {
    "c": "long square(void *const *buf, const long *arg, long begin, long end, void *scratch)\n"
         "{ for (long k = begin; k < end; k++) ((float *)buf[0])[k] *= 2; return 0; }\n",
    "cuda": 'extern "C" __global__ void square(float *x)\n'
            "{ x[threadIdx.x] = exp(x[blockIdx.x]); }\n",
    "hip": 'extern "C" __global__ void __launch_bounds__(256) square(float *x)\n'
           "{ x[threadIdx.x] = exp(__shfl_down(x[blockIdx.x], GC_WAVE / 2)); }\n",
    "opencl": "__kernel void square(__global float *x)\n"
              "{ x[get_local_id(0)] = exp(x[get_group_id(0)]); }\n",
}


def findings(dialect: str, text: str) -> list[checkers.Finding]:
    try:
        return checkers.check(KernelSource("square", text), dialect)
    except NoCompilerError as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("dialect", SQUARE)
def test_right_and_wrong_text(dialect):
    assert [f.error for f in findings(dialect, SQUARE[dialect])] == [None] * len(findings(dialect, SQUARE[dialect]))
    wrong = SQUARE[dialect].replace("x[", "nowhere[", 1).replace("buf[0]", "nowhere")
    for found in findings(dialect, wrong):
        assert found.compiler and "nowhere" in found.error and "square" in found.error
        assert "libclang" not in found.compiler or "line 2" in found.error


def test_registers_and_spills_of_cuda():
    for found, arch in zip(findings("cuda", SQUARE["cuda"]), checkers.ARCHITECTURES["cuda"], strict=True):
        assert arch in found.compiler and 4 <= found.facts["registers"] <= 32 and found.facts["spills"] == 0
    many = "\n".join(f"    float v{k} = x[i + {k} * n];" for k in range(120))
    stores = "\n".join(f"    x[i + {k} * n] = v{119 - k};" for k in range(120))
    text = ('extern "C" __global__ void __launch_bounds__(1024) square(float *x, int n) {\n    int i = threadIdx.x;\n'
            f"{many}\n    __syncthreads();\n{stores}\n}}")
    assert findings("cuda", text)[0].facts["spills"] > 0
    shared = SQUARE["cuda"].replace("{ x", "{ __shared__ float kept[100]; kept[threadIdx.x] = x[0]; __syncthreads(); "
                                    "x[1] = kept[7]; x", 1)
    assert findings("cuda", shared)[0].facts["shared"] == 400


def test_a_cubin_is_code_for_its_architecture():
    try:
        cubins = [nvrtc.compile(KernelSource("square", SQUARE["cuda"]), arch).code
                  for arch in checkers.ARCHITECTURES["cuda"]]
    except NoCompilerError as error:
        pytest.skip(error.message)
    assert all(code.startswith(b"\x7fELF") and b".text.square" in code for code in cubins) and cubins[0] != cubins[1]


def test_a_dialect_without_compilers_and_a_compiler_that_is_absent(monkeypatch):
    with pytest.raises(NoCompilerError, match="no compiler that checks fortran"):
        checkers.check(KernelSource("k", ""), "fortran")
    monkeypatch.setattr(nvrtc, "_paths", lambda: iter(["/nowhere/libnvrtc.so"]))
    nvrtc.library.cache_clear()
    with pytest.raises(NoCompilerError, match="NVRTC was not found") as caught:
        checkers.check(KernelSource("k", ""), "cuda")
    assert "nvidia-cuda-nvrtc" in caught.value.fix
