"""A convolution of signals with kernels of 31 elements, 32 -> 32 channels."""
from benchmarks.works import Cost

TITLE = "conv1d k=31 32->32 8x4096"
SIZE, SMALL = (8, 32, 4096), (2, 3, 70)
ATOL = 2e-3     # sums of 992 products


def inputs(random, batch, channels, size):
    return (random.standard_normal((batch, channels, size), "float32"),
            random.standard_normal((channels, channels, 31), "float32") * 0.1)


def cost(batch, channels, size):
    return Cost(reads=4 * (batch * channels * size + 31 * channels**2), writes=4 * batch * channels * size,
                flops=62 * batch * channels**2 * size)


def graphc(gc, x, w):
    return gc.conv1d(x, w, padding=15)


def torch(torch, x, w):
    return torch.nn.functional.conv1d(x, w, padding=15)


def jax(xp, x, w):
    import jax

    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NCH", "OIH", "NCH"))


def numpy(np, x, w):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (15, 15))), 31, 2)
    return np.einsum("nclk,ock->nol", windows, w, optimize=True)
