"""Neural networks: modules, layers, losses, initial values. Written with the public API alone."""
from graphc.api.activations import cross_entropy, gelu, log_softmax, relu, sigmoid, silu, softmax
from graphc.api.attention import scaled_dot_product_attention
from graphc.errors import StateError
from graphc.nn import functional, init
from graphc.nn.activations import (
    ELU, GELU, GLU, SELU, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU,
    ReLU6, Sigmoid, SiLU, Softmax, Softplus, Softsign, Tanh,
)
from graphc.nn.attention import (
    MLP, KVCache, MultiHeadAttention, SwiGLU, TransformerDecoderBlock, TransformerEncoderBlock,
)
from graphc.nn.convolution import (
    AdaptiveAvgPool, AdaptiveAvgPool2d, AvgPool, AvgPool1d, AvgPool2d, AvgPool3d, Conv1d, Conv2d, Conv3d,
    ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, MaxPool, MaxPool1d, MaxPool2d, MaxPool3d,
)
from graphc.nn.functional import (
    apply_rope, cosine_similarity, dropout, embedding, group_norm, gumbel_softmax, instance_norm, layer_norm, linear,
    normalize, pairwise_distance, prelu, rms_norm, rotary_angles,
)
from graphc.nn.layers import (
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, Dense, Dropout, Embedding, Flatten, GroupNorm, Identity,
    InstanceNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm, Linear, RMSNorm, RotaryEmbedding,
)
from graphc.nn.losses import (
    bce, bce_with_logits, cosine_embedding, gaussian_nll, hinge_embedding, huber, kl, l1, margin_ranking, mse,
    multi_margin, multilabel_soft_margin, nll, poisson_nll, smooth_l1, soft_margin, triplet_margin,
)
from graphc.nn.module import Module, ModuleDict, ModuleList, NeuralNetwork, Sequential, parameter
from graphc.nn.precision import MixedPrecision
from graphc.nn.quantized import QuantizedLinear, quantize
from graphc.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from graphc.nn.resizing import (
    PixelShuffle, PixelUnshuffle, Upsample, interpolate, pixel_shuffle, pixel_unshuffle,
)

__all__ = [
    "AdaptiveAvgPool", "AdaptiveAvgPool2d", "AvgPool", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "Dense", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GLU", "GRU", "GRUCell",
    "GroupNorm", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "InstanceNorm", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "KVCache", "LSTM", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear",
    "LogSigmoid", "LogSoftmax", "MLP", "MaxPool", "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish", "MixedPrecision",
    "Module", "ModuleDict", "ModuleList", "MultiHeadAttention", "NeuralNetwork", "PReLU", "PixelShuffle",
    "PixelUnshuffle", "QuantizedLinear", "RMSNorm", "RNN", "RNNCell", "ReLU", "ReLU6", "RotaryEmbedding", "SELU",
    "Sequential", "SiLU", "Sigmoid", "Softmax", "Softplus", "Softsign", "StateError", "SwiGLU", "Tanh",
    "TransformerDecoderBlock", "TransformerEncoderBlock", "Upsample", "apply_rope", "bce", "bce_with_logits",
    "cosine_embedding", "cosine_similarity", "cross_entropy", "dropout", "embedding", "functional", "gaussian_nll",
    "gelu", "group_norm", "gumbel_softmax", "hinge_embedding", "huber", "init", "instance_norm", "interpolate", "kl",
    "l1", "layer_norm", "linear", "log_softmax", "margin_ranking", "mse", "multi_margin", "multilabel_soft_margin",
    "nll", "normalize", "pairwise_distance", "parameter", "pixel_shuffle", "pixel_unshuffle", "poisson_nll", "prelu",
    "quantize", "relu", "rms_norm", "rotary_angles", "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1",
    "soft_margin", "softmax", "triplet_margin",
]


def __getattr__(name: str):
    from graphc.api.other_names import LAYERS, missing
    raise missing("module 'graphc.nn'", name, LAYERS)
