"""The emulator of CUDA and HIP kernels: it runs sound ones as a GPU would, and finds the faults of others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphc.errors import CompileError, KernelFault, NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import emulator
from graphc.runtime.emulator import Emulator, Memory

try:
    emulator.find_compiler()
except NoCompilerError as error:
    pytest.skip(error.message, allow_module_level=True)

# A block per row: a grid-stride sweep, shuffles, shared memory, and one thread that stores.
SUM = """typedef long long int64_t;
SHUFFLES
extern "C" __global__ void __launch_bounds__(128) sum(const float *__restrict__ x, float *__restrict__ y, int64_t n) {
    __shared__ float part[128 / WAVE];
    float v = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
    for (int s = WAVE / 2; s; s >>= 1) v += SHUFFLE(v, s);
    if (threadIdx.x % WAVE == 0) part[threadIdx.x / WAVE] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (int k = 0; k < 128 / WAVE; k++) total += part[k];
        y[blockIdx.x] = total;
    }
}
"""
CUDA = "#define SHUFFLE(v, s) __shfl_xor_sync(0xffffffffu, v, s)\n#define WAVE 32"
HIP = "#define SHUFFLE(v, s) __shfl_xor(v, s, WAVE)\n#define WAVE GC_WAVE"


def launch(text: str, entry: str, arrays: list[np.ndarray], *scalars, grid: int = 1, block: int = 64, dynamic: int = 0,
           hip: bool = False, wavefront: int = 32, orders=emulator.ORDERS) -> None:
    """Run a kernel on arrays, which it may change, and then scalars, which are int64 or float64."""
    [kernel] = Emulator(hip, wavefront).compile([KernelSource(entry, text)])
    words = [ctypes.c_double(s) if isinstance(s, float) else ctypes.c_longlong(s) for s in scalars]
    kernel.launch((grid, 1, 1), (block, 1, 1), [Memory(a.ctypes.data, a.nbytes) for a in arrays],
                  lambda places: [*[ctypes.c_void_p(place) for place in places], *words], dynamic, orders)


@pytest.mark.parametrize("hip, wavefront", [(False, 32), (True, 32), (True, 64)])
def test_a_sum_with_shuffles_and_a_barrier(hip, wavefront):
    x = np.random.default_rng(0).integers(-99, 99, (5, 333)).astype(np.float32)
    y = np.zeros(5, np.float32)
    launch(SUM.replace("SHUFFLES", HIP if hip else CUDA), "sum", [x, y], 333, grid=5, block=128, hip=hip,
           wavefront=wavefront)
    assert np.array_equal(y, x.sum(1))


def test_shuffles_of_every_kind():
    text = """extern "C" __global__ void k(int *out) {
    const int lane = threadIdx.x, all = 0xffffffff;
    out[lane] = __shfl_sync(all, lane, 5);
    out[32 + lane] = __shfl_up_sync(all, lane, 3);
    out[64 + lane] = __shfl_down_sync(all, lane, 3);
    out[96 + lane] = __shfl_xor_sync(all, lane, 8, 16);
    out[128 + lane] = __shfl_down_sync(all, lane, 1, 4);
    out[160 + lane] = __ballot_sync(all, lane % 2) == 0xaaaaaaaau && __any_sync(all, lane == 7)
        && !__all_sync(all, lane);
    if (lane < 7) out[192 + lane] = __shfl_sync(0x7f, lane, 6);
    out[224 + lane] = (int)(__shfl_xor_sync(all, (long long)lane << 40, 1) >> 40);
}
"""
    out = np.zeros((8, 32), np.int32)
    launch(text, "k", [out], block=32)
    lane = np.arange(32)
    assert (out[0] == 5).all()
    assert (out[1] == np.where(lane < 3, lane, lane - 3)).all()
    assert (out[2] == np.where(lane > 28, lane, lane + 3)).all()
    assert (out[3] == lane ^ 8).all()
    assert (out[4] == np.where(lane % 4 == 3, lane, lane + 1)).all()
    assert (out[5] == 1).all()
    assert (out[6] == np.where(lane < 7, 6, 0)).all()
    assert (out[7] == lane ^ 1).all()


def test_dynamic_shared_memory_structures_and_atomics():
    text = """struct words { long long w[2]; };
extern "C" __global__ void k(const double *x, double *y, unsigned *most, const words at, double scale) {
    extern __shared__ __align__(16) char scratch[];
    double *kept = (double *)scratch;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = fma(kept[blockDim.x - 1 - threadIdx.x], scale, (double)(at.w[0] + at.w[1]));
    atomicMax(most, i);
}
"""
    x, y, most = np.arange(96.0), np.zeros(96), np.zeros(1, np.uint32)
    [kernel] = Emulator().compile([KernelSource("k", text)])
    words = (ctypes.c_longlong * 2)(3, 4)
    kernel.launch((3, 1, 1), (32, 1, 1), [Memory(a.ctypes.data, a.nbytes) for a in (x, y, most)],
                  lambda places: [*map(ctypes.c_void_p, places), words, ctypes.c_double(2.0)],
                  dynamic=32 * 8)
    assert np.array_equal(y, x.reshape(3, 32)[:, ::-1].ravel() * 2 + 7)
    assert most[0] == 95


def test_pieces_of_memory_that_overlap_stay_one():
    text = 'extern "C" __global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }\n'
    a = np.arange(10, dtype=np.float32)
    launch(text, "k", [a, a], block=10)
    assert np.array_equal(a, np.arange(10) + 1)
    launch(text, "k", [a[:5], a[5:]], block=5)
    assert np.array_equal(a, [1, 2, 3, 4, 5, 2, 3, 4, 5, 6])


# ------------------------------------------------------------------------------------------------- faults are found

REVERSED = """extern "C" __global__ void k(const float *x, float *y) {
    __shared__ float kept[64];
    kept[threadIdx.x] = x[threadIdx.x];
    BARRIER
    y[threadIdx.x] = kept[63 - threadIdx.x];
}
"""


def test_a_missing_barrier():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(REVERSED.replace("BARRIER", "__syncthreads();"), "k", [x, y])
    assert np.array_equal(y, x[::-1])
    with pytest.raises(KernelFault, match=r"^k: byte \d+ of buffer 1 depends on the order of threads"):
        launch(REVERSED.replace("BARRIER", ""), "k", [x, y])


def test_a_missing_barrier_between_warps_that_meet():
    """What lanes wait for among themselves does not keep the warps in step."""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(KernelFault, match="depends on the order"):
        launch(REVERSED.replace("BARRIER", "__syncwarp();"), "k", [x, y])


def test_a_missing_barrier_within_a_warp_of_hip():
    """Lanes of a wavefront do not go in step here, so that nothing may rely on it."""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(KernelFault, match="depends on the order"):
        launch(REVERSED.replace("BARRIER", "__threadfence_block();"), "k", [x, y], hip=True, wavefront=64)


def test_two_blocks_that_write_one_place():
    text = 'extern "C" __global__ void k(float *y) { y[0] = blockIdx.x; }\n'
    with pytest.raises(KernelFault, match="byte . of buffer 0"):
        launch(text, "k", [np.zeros(1, np.float32)], grid=3, block=1)


def test_shared_memory_that_nobody_wrote():
    text = """extern "C" __global__ void k(float *y) {
    __shared__ float kept[8];
    __shared__ int whole[4];
    if (threadIdx.x < 7) kept[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = kept[threadIdx.x];
    if (threadIdx.x < 4) y[8 + threadIdx.x] = whole[threadIdx.x];
}
"""
    for _ in range(2):  # also after a run has left something there
        y = np.zeros(12, np.float32)
        launch(text, "k", [y], grid=1, block=8)
        assert np.isnan(y[7]) and (y[:7] == 1).all() and (y[8:] == -1).all()


def test_a_barrier_that_some_threads_pass_by():
    text = """extern "C" __global__ void k(float *y) {
    if (threadIdx.x < 48)
        __syncthreads();
    y[threadIdx.x] = 1;
}
"""
    with pytest.raises(KernelFault, match=r"divergent barrier in block \(0, 0, 0\): 48 threads from 0 on wait at the "
                                          r"barrier of line 3, 16 threads from 48 on have ended"):
        launch(text, "k", [np.zeros(64, np.float32)])


def test_different_barriers():
    text = """extern "C" __global__ void k(float *y) {
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}
"""
    with pytest.raises(KernelFault, match="line 5, 32 threads from 1 on wait at the barrier of line 3"):
        launch(text, "k", [np.zeros(64, np.float32)])


def test_a_shuffle_that_waits_for_lanes_elsewhere():
    text = """extern "C" __global__ void k(int *y) {
    int v = threadIdx.x;
    if (threadIdx.x < 20)
        v = SHUFFLE;
    __syncthreads();
    y[threadIdx.x] = v;
}
"""
    for hip, spelling in ((False, "__shfl_xor_sync(0xffffffffu, v, 1)"), (True, "__shfl_xor(v, 1)")):
        with pytest.raises(KernelFault, match="20 threads from 0 on wait for their warp of line 4"):
            launch(text.replace("SHUFFLE", spelling), "k", [np.zeros(32, np.int32)], block=32, hip=hip)


def test_the_line_of_a_text_that_does_not_compile():
    with pytest.raises(CompileError, match=r":2:\d+: error: .*nothing"):
        launch('extern "C" __global__ void k(float *y) {\n    y[0] = nothing;\n}\n', "k", [np.zeros(1, np.float32)])


# ------------------------------------------------------------------------------------------------------- sanitizers

OVERRUNS = {
    "global": ("y[blockIdx.x * 64 + threadIdx.x + 1] = 1;", "heap-buffer-overflow"),
    "shared": ("__shared__ float s[64]; s[threadIdx.x + 1] = 1; y[threadIdx.x] = s[threadIdx.x];",
               "global-buffer-overflow"),
    "dynamic": ("extern __shared__ __attribute__((aligned(16))) float s[]; s[threadIdx.x + 1] = 1; "
                "y[threadIdx.x] = s[threadIdx.x];", "heap-buffer-overflow"),
    "stack": ("float s[8]; for (int k = 0; k <= (int)threadIdx.x; k++) s[k] = k; __syncthreads(); "
              "y[threadIdx.x] = s[threadIdx.x % 8];", "stack-buffer-overflow"),
    "none": ("__shared__ float s[64]; s[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = s[63 - threadIdx.x];", ""),
}


@pytest.fixture(scope="module")
def sanitizer() -> str:
    """The library that has to be loaded before Python."""
    cc = emulator.find_compiler()
    found = subprocess.run([*cc.command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    path = found.stdout.strip()
    if found.returncode or not os.path.isabs(path):
        pytest.skip(f"{cc.command[0]} has no AddressSanitizer for shared objects")
    return path


@pytest.mark.parametrize("where", OVERRUNS)
def test_an_access_outside(sanitizer, where):
    environment = {**os.environ, "LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([sys.executable, __file__, where], env=environment, capture_output=True, text=True,
                          timeout=120, check=False, cwd=Path(__file__).parent)
    message = OVERRUNS[where][1]
    if message:
        assert done.returncode and message in done.stderr and "in overrun" in done.stderr, done.stderr[-3000:]
        assert "nothing was found" not in done.stdout
    else:
        assert done.returncode == 0 and "nothing was found" in done.stdout, done.stderr[-3000:]


def overrun(where: str) -> None:
    text = 'extern "C" __global__ void overrun(float *y) { BODY }\n'.replace("BODY", OVERRUNS[where][0])
    [kernel] = Emulator(sanitize=True).compile([KernelSource("overrun", text)])
    y = np.zeros(64, np.float32)
    kernel.launch((1, 1, 1), (64, 1, 1), [Memory(y.ctypes.data, y.nbytes)],
                  lambda places: [ctypes.c_void_p(places[0])], dynamic=256)
    print("nothing was found")


if __name__ == "__main__":
    overrun(sys.argv[1])
