"""A few vectors times a weight matrix of bfloat16, 4096 x 4096 and transposed, as a linear layer has it: bound by
reading the weights. NumPy multiplies what it widened."""
from ml_dtypes import bfloat16

from benchmarks.works import Cost

TITLE = "decode 4096x4096 bfloat16, batch"
SMALL = (3, 24)
RTOL, ATOL = 1e-2, 0.5      # one rounding to 8 digits, of sums of 4096 products


def inputs(random, batch, n=4096):
    return tuple(random.standard_normal(shape, "float32").astype(bfloat16) for shape in ((batch, n), (n, n)))


def cost(batch, n=4096):
    return Cost(reads=2 * (n * n + batch * n), writes=2 * batch * n, flops=2 * batch * n * n, unit="bfloat16")


def array(xp, x, w):
    return x @ w.T


def numpy(np, x, w):
    return x.astype(np.float32) @ w.astype(np.float32).T


def torch(torch, x, w):
    return x @ w.T
