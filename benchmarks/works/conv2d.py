"""A convolution 3x3 with bias and ReLU, 64 -> 64 channels."""
from benchmarks.works import Cost

TITLE = "conv 3x3 64->64 16x56x56"
SIZE, SMALL = (16, 64, 56), (2, 5, 9)
ATOL = 1e-3     # sums of 576 products


def inputs(random, batch, channels, size):
    return (random.standard_normal((batch, channels, size, size), "float32"),
            random.standard_normal((channels, channels, 3, 3), "float32") * 0.1,
            random.standard_normal(channels, "float32"))


def cost(batch, channels, size):
    return Cost(reads=4 * channels * (batch * size**2 + 9 * channels + 1), writes=4 * batch * channels * size**2,
                flops=18 * batch * (channels * size)**2)


def graphc(gc, x, w, b):
    return gc.relu(gc.conv2d(x, w, b, padding=1))


def torch(torch, x, w, b):
    return torch.relu(torch.nn.functional.conv2d(x, w, b, padding=1))


def jax(xp, x, w, b):
    import jax

    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")
    return xp.maximum(y + b[:, None, None], 0)


def numpy(np, x, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, w, optimize=True) + b[:, None, None], 0)
