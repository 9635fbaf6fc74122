"""Three operations on sixteen elements: nothing but overhead."""
from benchmarks.works import Cost

TITLE = "3 ops on 16 elements"
SIZE, SMALL = (16,), (16,)


def inputs(random, n):
    return random.standard_normal(n, "float32"), random.standard_normal(n, "float32")


def cost(n):
    return Cost(reads=8 * n, writes=4 * n, flops=3 * n)


def array(xp, a, b):
    return (a + b) * a - b


def torch(torch, a, b):
    return (a + b) * a - b
