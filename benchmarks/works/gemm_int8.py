"""The product of two square matrices of int8 in int32. NumPy multiplies them as float32, which holds these sums."""
from benchmarks.works import Cost

TITLE = "GEMM int8"
SMALL = (24,)
RESULT = "int32"
RTOL = ATOL = 0


def inputs(random, n):
    return tuple(random.integers(-127, 128, (n, n), "int8") for _ in range(2))


def cost(n):
    return Cost(reads=2 * n * n, writes=4 * n * n, flops=2 * n**3, unit="int8")


def graphc(gc, a, b):
    return a.astype(gc.int32) @ b.astype(gc.int32)


def numpy(np, a, b):
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int32)


def jax(jnp, a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.int32)


def torch(torch, a, b):
    return torch._int_mm(a, b)
