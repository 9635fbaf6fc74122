"""A depthwise convolution 7x7, as in ConvNeXt: 49 products to an element."""
from benchmarks.works import Cost

TITLE = "depthwise 7x7 4x96x56x56"
SIZE, SMALL = (4, 96, 56), (2, 5, 9)
ATOL = 1e-4


def inputs(random, batch, channels, size):
    return (random.standard_normal((batch, channels, size, size), "float32"),
            random.standard_normal((channels, 1, 7, 7), "float32"))


def cost(batch, channels, size):
    return Cost(reads=4 * channels * (batch * size**2 + 49), writes=4 * batch * channels * size**2,
                flops=98 * batch * channels * size**2)


def graphc(gc, x, w):
    return gc.conv2d(x, w, padding=3, groups=w.shape[0])


def torch(torch, x, w):
    return torch.nn.functional.conv2d(x, w, padding=3, groups=w.shape[0])


def jax(xp, x, w):
    import jax

    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=w.shape[0])


def numpy(np, x, w):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3))), (7, 7), (2, 3))
    return np.einsum("nchwij,cij->nchw", windows, w[:, 0])
