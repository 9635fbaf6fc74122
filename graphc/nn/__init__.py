"""Neural networks: modules, layers, losses, initial values. Written with the public API alone."""
from graphc.api.activations import cross_entropy, gelu, log_softmax, relu, sigmoid, silu, softmax
from graphc.api.attention import scaled_dot_product_attention
from graphc.nn import functional, init
from graphc.nn.attention import (
    MLP, KVCache, MultiHeadAttention, SwiGLU, TransformerDecoderBlock, TransformerEncoderBlock,
)
from graphc.nn.convolution import (
    AdaptiveAvgPool, AdaptiveAvgPool2d, AvgPool, AvgPool2d, Conv1d, Conv2d, ConvTranspose2d, MaxPool, MaxPool2d,
)
from graphc.nn.functional import (
    apply_rope, bce, bce_with_logits, dropout, embedding, group_norm, huber, kl, l1, layer_norm, linear, mse, nll,
    rms_norm, rotary_angles,
)
from graphc.nn.layers import (
    GELU, BatchNorm, BatchNorm1d, BatchNorm2d, Dense, Dropout, Embedding, Flatten, GroupNorm, LayerNorm, Linear, ReLU,
    RMSNorm, RotaryEmbedding, Sigmoid, SiLU, Softmax, Tanh,
)
from graphc.nn.module import Module, NeuralNetwork, Sequential, StateError, parameter
from graphc.nn.precision import MixedPrecision
from graphc.nn.quantized import QuantizedLinear, quantize
from graphc.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
