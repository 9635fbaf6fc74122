"""Modules, layers and losses against their formulas in NumPy."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import graphc as gc
from graphc import nn
from graphc.errors import ArgumentError, BackendError, DTypeError, ShapeError
from graphc.nn import functional as F
from graphc.nn import init


@pytest.fixture(autouse=True)
def on_the_reference():
    gc.random.seed(3)
    with gc.backend("reference"):
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def close(found, expected, tolerance: float = 1e-5):
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


class Tied(nn.Module):
    def __init__(self):
        self.first = nn.Linear(3, 3)
        self.blocks = [nn.Sequential(nn.Linear(3, 2), nn.Tanh()), {"norm": nn.LayerNorm(2)}]
        self.again = self.first
        self.steps = gc.zeros(())

    def forward(self, x):
        return self.blocks[1]["norm"](self.blocks[0](self.again(self.first(x))))


def test_parameters_are_found_once_by_path():
    net = Tied()
    assert [name for name, _ in net.named_parameters()] == [
        "first.weight", "first.bias", "blocks.0.layers.0.weight", "blocks.0.layers.0.bias", "blocks.1.norm.weight",
        "blocks.1.norm.bias"]
    assert [name for name, _ in net.named_buffers()] == ["steps"]
    assert len(net.modules()) == 6 and net(gc.ones((4, 3))).shape == (4, 2)
    assert "first: Linear" in repr(net)


def test_state_goes_round():
    a, b = Tied(), Tied()
    b.load_state_dict({name: t.numpy() for name, t in a.state_dict().items()})
    x = gc.asarray(normal(4, 3))
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    assert all(p.is_variable for p in b.parameters())
    kept = a.state_dict()["first.bias"].numpy().copy()
    with gc.no_grad():
        a.first.bias += 1
    np.testing.assert_array_equal(b.first.bias.numpy(), kept)
    state = a.state_dict()
    state["typo"] = state.pop("steps")
    with pytest.raises(KeyError, match=r"(?s)missing: steps; unknown: typo.*strict=False"):
        b.load_state_dict(state)
    with pytest.raises(ShapeError, match=r"steps has shape \(\), the state \(2,\)"):
        b.load_state_dict(a.state_dict() | {"steps": np.zeros(2)})


def test_modes_and_dtypes():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    x = gc.ones((1000, 2))
    dropped = nn.Dropout(0.25)(x).numpy()
    assert np.unique(dropped).tolist() == [0.0, np.float32(1) / np.float32(0.75)] and 0.7 < (dropped > 0).mean() < 0.8
    np.testing.assert_array_equal(nn.Dropout(0.5).eval()(x).numpy(), x.numpy())
    assert not net.eval().layers[1].training and net.train().layers[1].training
    net.to("float64")
    assert {p.dtype for p in net.parameters()} == {gc.float64} and all(p.is_variable for p in net.parameters())
    assert len(net.requires_grad_(False).parameters()) == 2 and not net[0].weight.requires_grad


def test_sequential():
    net = nn.NeuralNetwork().add(nn.Dense(4, 8)).add(gc.relu).add(nn.Dense(8, 2))
    assert len(net) == 3 and len(net[:2]) == 2 and net[0].weight.shape == (8, 4)
    x = normal(3, 4)
    hidden = np.maximum(x @ net[0].weight.numpy().T + net[0].bias.numpy(), 0)
    close(net(gc.asarray(x)), hidden @ net[2].weight.numpy().T + net[2].bias.numpy())


def test_normalisation():
    x, w, b = normal(4, 6, 5), normal(5, seed=1), normal(5, seed=2)
    t = [gc.asarray(a) for a in (x, w, b)]
    centred = x - x.mean(-1, keepdims=True)
    close(F.layer_norm(t[0], 5, t[1], t[2]), centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b)
    close(F.rms_norm(t[0], 5, t[1], 1e-3), x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-3) * w)
    groups = x.reshape(4, 3, -1)
    expected = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    close(F.group_norm(t[0], 3), expected.reshape(x.shape))
    with pytest.raises(ShapeError, match=r"last axes of \(4, 6, 5\) are not \(6,\)"):
        F.layer_norm(t[0], 6)
    with pytest.raises(ShapeError, match="6 channels do not make 4"):
        F.group_norm(t[0], 4)


def test_batch_norm():
    x = normal(16, 3, 4) * 2 + 1
    norm = nn.BatchNorm2d(3)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    expected = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5)
    close(norm(gc.asarray(x)), expected)
    close(norm.running_mean, 0.1 * mean)
    close(norm.running_var, 0.9 + 0.1 * x.transpose(1, 0, 2).reshape(3, -1).var(-1, ddof=1))
    frozen = norm.eval()(gc.asarray(x))
    close(frozen, (x - 0.1 * mean[:, None]) / np.sqrt(norm.running_var.numpy()[:, None] + 1e-5))
    assert not norm.running_mean.requires_grad and len(norm.parameters()) == 2
    kept = norm.running_mean.numpy()
    assert norm.train()(gc.ones((0, 3, 4))).shape == (0, 3, 4) and norm(gc.ones((2, 3, 0))).shape == (2, 3, 0)
    np.testing.assert_array_equal(norm.running_mean.numpy(), kept)
    assert np.isfinite(norm.running_var.numpy()).all()


@pytest.mark.parametrize("dtype, eps", [("float16", 2.0 ** -23), ("bfloat16", 2.0 ** -23), ("float32", 2.0 ** -23),
                                        ("float64", 2.0 ** -52)])
def test_the_eps_of_rms_norm_is_that_of_the_dtype_it_is_computed_in(dtype, eps):
    x = gc.asarray([[1e-3, -2e-3, 3e-4]]).astype(dtype)
    exact = x.numpy().astype(np.float64)
    expected = exact / np.sqrt((exact ** 2).mean() + eps)
    for found in (F.rms_norm(x, 3), nn.RMSNorm(3)(x), nn.RMSNorm(3, None, False)(x)):
        np.testing.assert_allclose(found.numpy().astype(np.float64), expected, rtol={
            "float64": 1e-12, "float32": 1e-5}.get(dtype, 1e-2))
    assert not nn.RMSNorm(3, elementwise_affine=False).parameters()


@pytest.mark.parametrize("given, count", [((), 2), ((True,), 2), ((False,), 0), ((True, False), 1), ((False, True), 0)])
def test_the_third_argument_of_a_normalisation_is_whether_it_has_weights(given, count):
    x = normal(6, 4) + 2
    layer = nn.LayerNorm(4, 1e-5, *given)
    assert len(layer.parameters()) == count and (layer.weight is None) == (count == 0)
    close(layer(gc.asarray(x)), (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5))
    assert len(nn.GroupNorm(2, 4, 1e-5, *given[:1]).parameters()) == 2 * bool(count)


def test_batch_norm_without_weights_or_statistics():
    x = np.array([[1.0, 2.0], [3.0, 8.0]], np.float32)
    expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
    for given in ({"affine": False}, {"track_running_stats": False}):
        norm = nn.BatchNorm1d(2, **given)
        close(norm(gc.asarray(x)), expected)
        assert len(norm.parameters()) == (0 if "affine" in given else 2)
        assert len(norm.buffers()) == (2 if "affine" in given else 0)
    close(norm.eval()(gc.asarray(x)), expected)     # there are no running ones


@pytest.mark.parametrize("jitted", [False, True])
def test_batch_norm_without_momentum_averages_all_batches(jitted, compiled):
    norm = nn.BatchNorm1d(3, momentum=None)
    call = gc.jit(lambda x: norm(x)) if jitted else norm
    batches = [normal(5, 3, seed=k) * (k + 1) for k in range(3)]
    for batch in batches:
        call(gc.asarray(batch)).numpy()
    close(norm.running_mean, np.mean([b.mean(0) for b in batches], axis=0))
    close(norm.running_var, np.mean([b.var(0, ddof=1) for b in batches], axis=0))
    other = nn.BatchNorm1d(3, momentum=None).load_state_dict(norm.state_dict())
    assert other.num_batches_tracked.item() == 3 and "num_batches_tracked" not in nn.BatchNorm1d(3).state_dict()


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1, 1)])
def test_one_value_of_a_channel_is_no_batch_to_learn_from(shape):
    """It became 0, and the running variance shrank."""
    norm = nn.BatchNorm(3)
    with pytest.raises(ShapeError, match=r"(?s)\[batch_norm\].*a channel has one value.*eval\(\)"):
        norm(gc.ones(shape))
    assert norm.running_var.tolist() == [1.0] * 3 and norm.eval()(gc.ones(shape)).shape == shape


def test_sequential_with_names():
    first, last = nn.Linear(4, 8), nn.Linear(8, 2)
    net = nn.Sequential({"hidden": first, "act": gc.relu, "out": last})
    x = gc.asarray(normal(3, 4))
    close(net(x), last(gc.relu(first(x))).numpy())
    assert net.hidden is net[0] is first and [*net][-1] is last and len(net) == 3 and net[1:].out is last
    assert not hasattr(net, "nothing") and "layers['out']: Linear" in repr(net)
    state = {name.removeprefix("layers."): np.ones(t.shape) for name, t in net.state_dict().items()}
    assert [*state] == ["hidden.weight", "hidden.bias", "out.weight", "out.bias"]       # as torch names them
    assert net.load_state_dict(state).hidden.weight.numpy().min() == 1
    net.out = nn.Linear(8, 5)                       # the one that is called
    assert net(x).shape == (3, 5) and net[2] is net.out and copy.deepcopy(net)(x).shape == (3, 5)
    odd = nn.quantize(nn.Sequential({"layers": nn.Linear(32, 32), "out": nn.Linear(32, 2)}))
    assert [*odd.layers] == ["layers", "out"] and isinstance(odd.out, nn.QuantizedLinear) and len(odd) == 2
    net[2] = nn.Identity()
    assert net(x).shape == (3, 8) and net.append(nn.Linear(8, 1))(x).shape == (3, 1)


def test_layers_of_a_sequential_are_replaced():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    call, x = gc.jit(lambda x: net(x)), gc.asarray(normal(3, 4))
    assert call(x).shape == (3, 8)
    net[0] = nn.Linear(4, 6)
    assert call(x).shape == (3, 6) and net.append(nn.Linear(6, 2)) is net and len(net) == 3
    net[-1] = gc.tanh
    close(call(x), np.tanh(np.maximum(x.numpy() @ net[0].weight.numpy().T + net[0].bias.numpy(), 0)))


def test_losses():
    p, t = normal(6), normal(6, seed=1)
    a, b = gc.asarray(p), gc.asarray(t)
    d = np.abs(p - t)
    close(nn.mse(a, b), (d ** 2).mean())
    close(nn.l1(a, b, "sum"), d.sum())
    close(nn.huber(a, b, 0.5), np.where(d <= 0.5, d * d / 2, 0.5 * (d - 0.25)).mean())
    q, y = 1 / (1 + np.exp(-p)), (t > 0).astype(np.float32)
    expected = -(y * np.log(q) + (1 - y) * np.log(1 - q)).mean()
    close(nn.bce(gc.asarray(q), gc.asarray(y)), expected)
    close(nn.bce_with_logits(a, gc.asarray(y)), expected)
    assert nn.bce(gc.asarray([0.0]), gc.asarray([1.0])).item() == 100.0
    sure = gc.asarray([0.0, 1.0, 0.0, 1.0])
    assert gc.grad(lambda q: nn.bce(q, gc.asarray([0.0, 1.0, 1.0, 0.0]), "sum"))(sure).tolist() == [1, -1, 0, 0]
    scores = normal(3, 4)
    logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    labels = np.array([1, 0, 3])
    close(nn.nll(gc.asarray(logs), gc.asarray(labels)), -logs[np.arange(3), labels].mean())
    close(nn.cross_entropy(gc.asarray(scores), gc.asarray(labels)), -logs[np.arange(3), labels].mean())
    target = np.array([[0.5, 0.5, 0, 0], [0.25] * 4, [0, 0, 1, 0]], np.float32)
    safe = np.where(target > 0, target, 1)
    close(nn.kl(gc.asarray(logs), gc.asarray(target), "batchmean"), (target * (np.log(safe) - logs)).sum() / 3)
    with pytest.raises(ArgumentError, match="mean, sum or none"):
        nn.mse(a, b, "average")


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_turns_pairs_by_their_positions(interleaved):
    x = normal(2, 7, 6)
    found = nn.RotaryEmbedding(6, base=100.0, interleaved=interleaved)(gc.asarray(x), 3).numpy()
    pairs = x.reshape(2, 7, 3, 2) if interleaved else np.stack([x[..., :3], x[..., 3:]], -1)
    rates = 100.0 ** (-np.arange(3) / 3)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * (np.arange(7) + 3)[:, None] * rates)
    parts = np.stack([turned.real, turned.imag], -1)
    expected = parts.reshape(x.shape) if interleaved else np.concatenate([parts[..., 0], parts[..., 1]], -1)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name, variance", [
    ("glorot_uniform", 2 / (300 + 200)), ("glorot_normal", 2 / (300 + 200)), ("he_uniform", 2 / 300),
    ("he_normal", 2 / 300), ("lecun_uniform", 1 / 300), ("lecun_normal", 1 / 300)])
def test_initial_variances(name, variance):
    values = getattr(init, name)((200, 300)).numpy()
    assert values.dtype == np.float32 and abs(values.mean()) < 4 * np.sqrt(variance / values.size)
    assert values.var() == pytest.approx(variance, rel=0.05)


def test_other_initial_values():
    q = init.orthogonal((4, 6)).numpy()
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-5)
    z = init.truncated_normal((20000,), std=0.5).numpy()
    assert np.abs(z).max() <= 1.0 and z.std() == pytest.approx(0.5 * 0.8796, rel=0.02)
    with pytest.raises(ShapeError, match="no inputs and outputs"):
        init.he_normal((3,))


def test_embedding():
    table = nn.Embedding(5, 3)
    index = np.array([[0, 4], [2, 2]])
    np.testing.assert_array_equal(table(gc.asarray(index)).numpy(), table.weight.numpy()[index])
    table(gc.asarray(index)).sum().backward()
    np.testing.assert_array_equal(table.weight.grad.numpy()[:, 0], [1, 0, 2, 0, 1])


def test_layers_and_functions_have_the_names_that_users_know():
    layers = """Module Sequential NeuralNetwork Dense Linear Conv1d Conv2d ConvTranspose2d MaxPool AvgPool
        AdaptiveAvgPool BatchNorm LayerNorm GroupNorm RMSNorm Dropout Embedding RNN LSTM GRU RNNCell LSTMCell GRUCell
        MultiHeadAttention RotaryEmbedding SwiGLU TransformerEncoderBlock TransformerDecoderBlock KVCache ReLU GELU SiLU
        Sigmoid Tanh Softmax"""
    functions = """rms_norm layer_norm softmax silu apply_rope scaled_dot_product_attention cross_entropy mse bce huber
        nll kl"""
    assert all(isinstance(getattr(nn, name), type) for name in layers.split())
    assert all(getattr(nn, name) is getattr(F, name) for name in functions.split())
    papers = "glorot_uniform glorot_normal he_uniform he_normal lecun_uniform lecun_normal orthogonal truncated_normal"
    assert all(callable(getattr(init, name)) for name in papers.split())


def frozen_network():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Linear(4, 2))


@pytest.mark.parametrize("each", [False, True])
def test_what_is_frozen_remains_a_parameter(each):
    """It was none any more, so that nothing could be thawed; and `requires_grad_` made parameters of statistics."""
    net = frozen_network()
    names = [name for name, _ in net.named_parameters()]
    for wanted in (False, True):
        if each:
            for p in net.parameters():
                p.requires_grad = wanted
        else:
            net.requires_grad_(wanted)
        assert [name for name, _ in net.named_parameters()] == names and len(names) == 6
        assert [name for name, _ in net.named_buffers()] == ["layers.1.running_mean", "layers.1.running_var"]
        assert all(p.requires_grad == wanted for p in net.parameters())
        assert len(net.state_dict()) == 8


def test_a_quantized_layer_has_no_parameters_to_be_thawed():
    layer = nn.quantize(nn.Linear(32, 2)).requires_grad_(False).requires_grad_(True)
    assert not layer.parameters() and not layer.scale.requires_grad


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net)),
                                    lambda net: net.to("float64"), lambda net: net.load_state_dict(net.state_dict())])
def test_frozen_parameters_remain_so_in_other_hands(copied):
    net = frozen_network()
    net[0].requires_grad_(False)
    other = copied(net)
    assert [p.requires_grad for p in other.parameters()] == [False, False, True, True, True, True]
    assert [p.requires_grad for p in other.requires_grad_().parameters()] == [True] * 6
    assert len(other.buffers()) == 2


@pytest.mark.parametrize("jitted", [False, True])
def test_optimisers_leave_frozen_parameters_alone(jitted, compiled):
    net = frozen_network()
    net[0].requires_grad_(False)
    optimizer = gc.optim.Adam(net.parameters(), lr=0.1)
    x = gc.asarray(normal(5, 3))

    def step():
        optimizer.zero_grad()
        (net(x) ** 2).sum().backward()
        optimizer.step()

    def moved(*, frozen: bool):
        before = [p.numpy().copy() for p in net.parameters()]
        (gc.jit(step) if jitted else step)()
        changed = [not np.array_equal(p.numpy(), b) for p, b in zip(net.parameters(), before, strict=True)]
        assert changed[:2] == [not frozen] * 2 and changed[2] and changed[4:] == [True] * 2

    moved(frozen=True)
    net.requires_grad_(True)
    moved(frozen=False)
    net[0].requires_grad_(False)        # a gradient is left from before
    optimizer.zero_grad = lambda: None
    moved(frozen=True)


def test_frozen_parameters_are_cast_for_mixed_precision_and_counted_as_weights():
    net = nn.Linear(4, 4).requires_grad_(False)
    seen = []
    net.forward = lambda x: seen.append(net.weight.dtype) or x
    nn.MixedPrecision(net, gc.bfloat16)(gc.ones(4))
    assert seen == [gc.bfloat16]
    assert gc.estimate_memory(nn.Linear(4, 4).requires_grad_(False), (2, 4)).weights == 4 * (16 + 4)


def test_what_holds_itself_comes_to_an_end():
    class Child(nn.Module):
        def __init__(self, parent):
            self.parent, self.itself, self.layer = [parent], parent, nn.Linear(32, 32)
            self.ring = [self.layer]
            self.ring.append(self.ring)

    class Parent(nn.Module):
        def __init__(self):
            self.child = Child(self)

    net = Parent()
    assert [name for name, _ in net.named_parameters()] == ["child.layer.weight", "child.layer.bias"]
    assert [name for name, _ in net.named_modules()] == ["", "child", "child.layer"]
    assert "itself: ..." in repr(net) and "layer: Linear" in repr(net)
    assert not net.eval().child.training and copy.deepcopy(net).load_state_dict(net.state_dict())
    net.child.ring = []
    assert isinstance(nn.quantize(net).child.layer, nn.QuantizedLinear)


def test_states_with_the_names_of_torch():
    """Layers of a Sequential by number, the count of batches, and both names of what is tied."""
    class Language(nn.Module):
        def __init__(self):
            self.words, self.body = nn.Embedding(5, 3), nn.Sequential(nn.Linear(3, 3), nn.BatchNorm(3), nn.ReLU())
            self.head = nn.Linear(3, 5)
            self.head.weight = self.words.weight

    net, theirs = Language(), {}
    names = {"words.weight": "words.weight", "head.weight": "words.weight", "head.bias": "head.bias"}
    names |= {f"body.{layer}.{name}": f"body.layers.{layer}.{name}" for layer, name in [
        (0, "weight"), (0, "bias"), (1, "weight"), (1, "bias"), (1, "running_mean"), (1, "running_var")]}
    own = dict(net.named_tensors())
    theirs = {name: np.full(own[ours].shape, k, np.float32) for k, (name, ours) in enumerate(names.items(), 1)}
    theirs |= {"head.weight": theirs["words.weight"], "body.1.num_batches_tracked": np.array(7)}
    net.load_state_dict(theirs)
    for name, ours in names.items():
        np.testing.assert_array_equal(own[ours].numpy(), theirs[name])
    del theirs["words.weight"]
    net.load_state_dict(theirs)                     # the other name of it is enough
    with pytest.raises(KeyError, match=r"(?s)missing: head.bias; unknown: body.0.num_batches_tracked, body.7.weight"):
        theirs |= {"body.7.weight": theirs.pop("head.bias"), "body.0.num_batches_tracked": 3}
        net.load_state_dict(theirs)


@pytest.mark.parametrize("given", [[[1.0, 2.0]], ((1.0, 2.0),), 3.0])
def test_what_is_no_tensor_is_named(given):
    for layer in (nn.Linear(2, 2), nn.Sequential(nn.LayerNorm(2), nn.Linear(2, 2)), nn.Flatten()):
        with pytest.raises(DTypeError, match=rf"(?s)\[(Linear|LayerNorm|Flatten)\] an argument is a "
                           rf"{type(given).__name__}.*pass gc.asarray\(x\)"):
            layer(given)


def test_other_missing_attributes_are_errors_as_ever():
    class Own(nn.Module):
        def forward(self, x):
            return x.nonsense
    for given in (gc.ones(2), [1, 2], nn.ModuleList()):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            Own()(given)


def test_a_module_may_be_something_else_as_well():
    class Named(nn.Module, str):
        def __init__(self, name):
            self.layer = nn.Linear(2, 2)
    assert Named("encoder") + "!" == "encoder!" and len(Named("encoder").parameters()) == 2


def test_dropout_of_everything():
    x = gc.Tensor([1.0, 2.0], requires_grad=True)
    y = nn.Dropout(1.0)(x)
    y.sum().backward()
    assert y.tolist() == [0.0, 0.0] and x.grad.tolist() == [0.0, 0.0]
    assert nn.Dropout(1.0).eval()(x).tolist() == [1.0, 2.0]
    with pytest.raises(ArgumentError, match=r"in \[0, 1\]"):
        nn.Dropout(1.5)(x)


def test_where_a_module_can_go():
    net = nn.Linear(2, 2)
    with pytest.raises(BackendError, match=r"'nowhere' is neither a dtype nor a device.*available: "):
        net.to("nowhere")
    with pytest.raises(DTypeError, match="no data type|not a data type"):
        net.to(3.5)
    assert net.to("reference").to("float16").weight.dtype is gc.float16 and net.weight.device == "reference"


def test_labels_to_be_ignored_are_told_how():
    with pytest.raises(IndexError, match=r"(?s)label -100 is none of .*ignore_index=-100"):
        nn.cross_entropy(gc.ones((2, 3)), gc.asarray([0, -100])).item()


def test_a_layer_is_added_beside_those_with_names():
    net = nn.Sequential({"1": gc.tanh}).add(gc.exp).add(gc.sin)
    assert [*net] == [gc.tanh, gc.exp, gc.sin]
