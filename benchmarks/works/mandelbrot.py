"""Twenty steps z <- z^2 + c on a grid, counting how long |z| stays within 2: arithmetic in registers."""
from benchmarks.works import Cost

TITLE = "20 Mandelbrot steps 1M"
SIZE, SMALL = (1024, 1024), (13, 17)
STEPS = 20
MISMATCH = 2e-3     # at the set's edge one rounding decides in which step a point leaves


def inputs(random, height, width):
    import numpy as np
    real, imaginary = np.meshgrid(np.linspace(-2, 0.6, width), np.linspace(-1.3, 1.3, height))
    return real.astype("float32"), imaginary.astype("float32")


def cost(height, width):
    return Cost(reads=8 * height * width, writes=4 * height * width, flops=9 * STEPS * height * width)


def array(xp, cr, ci):
    x, y, count = cr, ci, xp.zeros(cr.shape, dtype=xp.int32)
    for _ in range(STEPS):
        x, y = x * x - y * y + cr, 2 * x * y + ci
        count = count + (x * x + y * y <= 4)
    return count


def torch(torch, cr, ci):
    return array(torch, cr, ci)


def numexpr(numexpr, cr, ci):
    import numpy as np
    two, four, one, zero = np.float32(2), np.float32(4), np.int32(1), np.int32(0)
    x, y, count = cr, ci, np.zeros(cr.shape, np.int32)
    for _ in range(STEPS):
        x, y = numexpr.evaluate("x * x - y * y + cr"), numexpr.evaluate("two * x * y + ci")
        count = numexpr.evaluate("count + where(x * x + y * y <= four, one, zero)")
    return count


def numba(numba):
    import numpy as np

    @numba.njit(parallel=True)
    def call(cr, ci):
        out = np.empty(cr.shape, np.int32)
        for i in numba.prange(cr.shape[0]):
            for j in range(cr.shape[1]):
                x, y, count = cr[i, j], ci[i, j], np.int32(0)
                for _ in range(STEPS):
                    x, y = x * x - y * y + cr[i, j], numba.float32(2) * x * y + ci[i, j]
                    count += np.int32(x * x + y * y <= numba.float32(4))
                out[i, j] = count
        return out

    return call
