"""What a user reads after a mistake: the op, the shapes and dtypes, the line, and what would help."""

from __future__ import annotations

import operator
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.config import settings

HERE = f"{Path(__file__).name}:"


class Lent:
    """What another library's tensor is to graphc: here in torch's bfloat16, of which NumPy has no dtype."""

    dtype = "torch.bfloat16"

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")

    def __dlpack__(self, **options):
        raise BufferError("NumPy has no such dtype")

    def cpu(self):
        return self

    def float(self):
        return np.float32([1.5, -2.0, 2.0 ** 127])


A = gc.zeros((3, 4))
B = gc.zeros((5, 6))
MISTAKES = {
    "broadcast": (lambda: A + B, ValueError, "[add] shapes (3, 4) and (5, 6) do not broadcast: 4 is not 6",
                  "equal or 1"),
    "matmul": (lambda: A @ B, ValueError, "[matmul] shapes (3, 4) and (5, 6) do not fit: 4 is not 5", "fix:"),
    "reshape": (lambda: A.reshape((5, 2)), ValueError, "[reshape]", "(3, 4)"),
    "concat": (lambda: gc.concat([A, B]), ValueError, "[concat]", "(5, 6)"),
    "axis": (lambda: gc.sum(A, axis=2), IndexError, "[sum] axis 2 is out of range for an array of 2 dimensions",
             "fix: use -2 to 1"),
    "axis twice": (lambda: gc.sum(A, axis=(0, -2)), ValueError, "[sum] an axis is given twice in (0, -2)", HERE),
    "dtype": (lambda: gc.sin(gc.asarray([1 + 2j])) % 2, TypeError, "complex128", "fix: use a dtype of kind"),
    "bitwise": (lambda: A & 1, TypeError, "[bitwise_and]", "float64"),
    "index": (lambda: A[3], IndexError, "index 3 is out of range for axis 0 of size 3", HERE),
    "index in data": (lambda: gc.asarray(np.ones((3, 4)))[:, gc.asarray([1, 7]) + 0].numpy(), IndexError,
                      "index 7 is out of range for axis 1 of size 4", "fix: use -4 to 3"),
    "index in a list": (lambda: A[[1, -5]], IndexError, "index -5 is out of range for axis 0", "fix: use -3 to 2"),
    "bins": (lambda: gc.histogram(A, bins="best"), ValueError, "[histogram] bins='best'", "a number of bins"),
    "weighted bins": (lambda: gc.histogram(A, bins="auto", weights=A), ValueError, "weighted", "without weights"),
    "shown while traced": (lambda: gc.jit(lambda x: print(x))(A), RuntimeError, "[print] the value depends on",
                           "to see it, return it"),
    "shown while a loop is traced": (lambda: gc.scan(lambda c, x: (c + float(x), None), 0.0, A[0]), RuntimeError,
                                     "[float] the value depends on what a loop", "to see it, return it"),
    "a static dict": (lambda: gc.jit(lambda x, d: x * d["k"], static_argnums=1)(A, {"k": 1}), TypeError,
                      "a static argument has to be hashable, and a dict is not", "an argument of its own"),
    "of a shape alone": (lambda: gc.estimate_memory(lambda x: x if x.sum() > 0 else -x, (2,)), RuntimeError,
                         "[bool] the value depends on a tensor without values", "gc.where"),
    "too many indices": (lambda: A[0, 0, 0], IndexError, "3", "(3, 4)"),
    "truth": (lambda: bool(A), ValueError, "12 elements", "any"),
    "if": (lambda: 1 if A > 0 else 2, ValueError, "12 elements", HERE),
    "integer": (lambda: gc.asarray([1], dtype=gc.int8) + 1000, OverflowError, "the integer 1000 does not fit int8",
                "astype('int16')"),
    "nothing to reduce": (lambda: gc.max(gc.zeros((0, 3)), axis=0), ValueError, "[max]", "(0, 3)"),
    "ragged": (lambda: gc.asarray([[1, 2], [3]]), TypeError, "[asarray] list can't become a tensor", HERE),
    "backend": (lambda: gc.set_backend("abacus"), RuntimeError, "there is no backend 'abacus'; available: ",
                "reference"),
    "device": (lambda: A.to("abacus"), RuntimeError, "there is no backend 'abacus'", "cpu"),
    "channels": (lambda: gc.nn.BatchNorm2d(3)(gc.ones((2, 4, 5, 5))), ValueError,
                 "[batch_norm] an input of shape (2, 4, 5, 5) has not 3 channels", HERE),
    "falling edges": (lambda: gc.histogram(A, bins=[3, 1]), ValueError, "[histogram] the edges [3. 1.] do not rise",
                      HERE),
    "a gradient by a module": (lambda: gc.grad(lambda m, x: gc.sum(m(x)))(gc.nn.Linear(4, 1), A), TypeError,
                               "[grad] argument 0 is a module, Linear", "loss.backward()"),
    "no state": (lambda: gc.nn.Linear(2, 2).load_state_dict(3), TypeError, "a int is no state", "state_dict() gives"),
    "no names": (lambda: gc.weights.save("x.npz", [A]), ValueError, "a list has no names", "fix: pass a dict"),
    "no parameters": (lambda: gc.optim.SGD(3, lr=0.1), ValueError, "a int is no list of parameters", HERE),
    "no size": (lambda: gc.spec(3.5), TypeError, "[spec] a size must be an integer, not 3.5", HERE),
    "branch of None": (lambda: gc.cond(A[0, 0] > 0, lambda: None, lambda: A), TypeError,
                       "[cond] the result is None by true_fun and tensor by false_fun",
                       "fix: return one structure from both"),
    "branches of two trees": (lambda: gc.cond(A[0, 0] > 0, lambda: (A, None), lambda: (A, [A])), TypeError,
                              "the result is (tensor, None) by true_fun and (tensor, [tensor]) by false_fun", HERE),
    "branches of two shapes": (lambda: gc.cond(A[0, 0] > 0, lambda: A, lambda: A[1:]), ValueError,
                               "the result has shape (3, 4) by true_fun, (2, 4) by false_fun", "one shape from both"),
    "no shift": (lambda: gc.roll(A, "a"), TypeError, "[roll]", "'a'"),
    "no name": (lambda: gc.set_backend(3), RuntimeError, "a backend is named by text, not 3; available: ", "cpu"),
    "tensor": (lambda: gc.tensor([1.0]), TypeError, "[tensor] graphc.tensor is a module", "write gc.asarray(values"),
    "to a dtype": (lambda: A.to(gc.float32), RuntimeError, "[to] graphc.float32 is a dtype, and no device",
                   "write x.astype(gc.float32)"),
    "to a dtype by name": (lambda: A.to("float16"), RuntimeError, "'float16' is a dtype", "x.astype(gc.float16)"),
    "two axes": (lambda: gc.ones((2, 3, 4)).transpose(1, 2), IndexError, "axes (1, 2) do not name each of the 3 axes",
                 "write x.swapaxes(1, 2)"),
    "flatten from": (lambda: gc.ones((2, 3, 4)).flatten(1), ValueError, "order must be 'C' or 'F', not 1",
                     "write x.reshape((*x.shape[:1], -1))"),
    "sizes": (lambda: gc.zeros(2, 3), TypeError, "3 is not a data type", "a tuple: zeros((2, 3))"),
    "an unknown object": (lambda: gc.jit(lambda x: x)(Path()), TypeError, "[jit] an argument can't be a pathlib.",
                          "name others in static_argnums"),
    "another library's": (lambda: gc.jit(lambda x: x)(Lent()), TypeError, "can't be a test_error_texts.Lent",
                          "fix: pass gc.asarray(x)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_at_its_call(name):
    mistake, builtin, *texts = MISTAKES[name]
    with pytest.raises(builtin) as caught:
        mistake()
    text = str(caught.value)
    assert isinstance(caught.value, gc.errors.GraphcError)
    assert all(part in text for part in (*texts, HERE)), text


def test_a_bad_index_in_data_names_the_line_that_indexed():
    x = gc.asarray(np.arange(10.0))
    where = gc.asarray(np.array([3, 12, -1])) + 0
    y = x[where] * 2        # this line, not that of the realize
    line = test_a_bad_index_in_data_names_the_line_that_indexed.__code__.co_firstlineno + 3
    with pytest.raises(IndexError, match="index 12 is out of range") as caught:
        y.numpy()
    assert f"{HERE}{line} " in str(caught.value) and "x[where]" in str(caught.value)
    assert (y + 0).shape == (3,)


def test_a_singular_matrix_names_the_operation_and_the_line():
    inverse = gc.linalg.inv(gc.ones((3, 3))) + 1
    with pytest.raises(np.linalg.LinAlgError, match=r"\[inv\] Singular matrix") as caught:
        inverse.numpy()
    assert HERE in str(caught.value) and "gc.linalg.inv(gc.ones((3, 3)))" in str(caught.value)


def test_memory_that_cannot_fit_names_the_largest_arrays_and_their_lines(backend):
    if backend == "reference":
        pytest.skip("NumPy allocates by itself")
    x = gc.asarray(np.ones(1 << 12))
    with settings.override(memory_limit="48M"):
        big = gc.cumulative_sum(x[:, None] * x, axis=0)
        with pytest.raises(MemoryError) as caught:
            gc.realize(big)
    text = str(caught.value)
    assert "exceed GRAPHC_MEMORY_LIMIT=50,331,648" in text
    assert "the largest arrays: float64[4096, 4096] of 134,217,728 bytes (" in text and HERE in text and "fix:" in text


SCRIPT = """
import numpy as np
import graphc as gc
x = gc.asarray(np.arange(3.0))
y = gc.exp(x) - 0.71
print(y.numpy())
"""


@pytest.fixture
def script(tmp_path, backend):
    """Run SCRIPT in a new process with these variables; what it says on stderr."""
    if backend == "reference":
        pytest.skip("the reference needs no compiler and no cache")

    def run(status: int, **environment: str) -> str:
        (tmp_path / "program.py").write_text(SCRIPT)
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "GRAPHC_CACHE_DIR": str(tmp_path / "cache"), **environment},
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr

    return run


def test_an_unknown_backend(script):
    said = script(1, GRAPHC_BACKEND="abacus")
    assert "[GRAPHC_BACKEND] there is no backend 'abacus'; available: cpu, reference" in said


def test_a_missing_compiler(script):
    said = script(1, GRAPHC_CC="no-such-compiler")
    assert "'no-such-compiler' is not a program on the PATH" in said and "name a C compiler" in said


def test_a_program_that_is_no_compiler(script):
    said = script(1, GRAPHC_CC="true", GRAPHC_BACKEND="cpu")
    assert "the chosen compiler cannot be used (" in said and "it writes no file" in said


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only", "-funsafe-math-optimizations"])
def test_a_compiler_with_arithmetic_of_its_own(script, flag):
    said = script(1, GRAPHC_CC=f"cc {flag}", GRAPHC_BACKEND="cpu")
    assert "the chosen compiler cannot be used (" in said and flag in said
    assert "leave out the flags of fast math, which change results" in said


def test_a_compiler_whose_libraries_do_not_load(script, tmp_path):
    fake = tmp_path / "fakecc"      # calls what nobody has
    fake.write_text('#!/bin/sh\nexec cc -include "$(dirname "$0")/needs.h" "$@"\n')
    fake.chmod(0o755)
    (tmp_path / "needs.h").write_text("void gc_nobody(void);\n__attribute__((constructor)) static void f(void)"
                                      " { gc_nobody(); }\n")
    said = script(1, GRAPHC_CC=str(fake), GRAPHC_BACKEND="cpu")
    assert f"what {fake} builds does not load: " in said and "gc_nobody" in said
    assert "name another by GRAPHC_CC" in said


def test_no_compiler_at_all_means_one_warning(script, tmp_path):
    said = script(0, PATH=str(tmp_path), CC="", GRAPHC_CC="", GRAPHC_BACKEND="auto")
    assert said.count("RuntimeWarning: graphc computes with NumPy, without compiled kernels") == 1 and "gcc" in said


def test_a_failing_compiler_names_its_first_error_the_lines_and_the_source(script, tmp_path):
    fake = tmp_path / "fakecc"      # compiles everything but kernels
    fake.write_text('#!/bin/sh\nfor a; do case "$a" in [0-9]*.c) if grep -q map_sub "$a"; then\n'
                    'echo "$a:7:1: error: no kernels today" >&2; exit 1; fi;; esac; done\nexec cc "$@"\n')
    fake.chmod(0o755)
    said = script(1, GRAPHC_CC=str(fake))
    assert "CompileError: [realize] the C compiler refused map_sub" in said and "error: no kernels today" in said
    assert "the kernel comes from program.py:5" in said and "at program.py:5: y = gc.exp(x) - 0.71" in said
    source = Path(said.rpartition("the source lies in ")[2].strip())
    assert "map_sub" in source.read_text()
    assert list((tmp_path / "cache" / "kernels").glob("map_sub*")) == []     # nothing half-built is kept


def test_a_cache_that_others_can_write(script, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    said = script(1)
    assert "CacheError" in said and str(tmp_path / "cache") in said and "fix: " in said
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o777


def test_a_cache_that_cannot_be_made_is_a_warning(script, tmp_path):
    (tmp_path / "file").write_text("")
    said = script(0, GRAPHC_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert said.count("Warning") == 1 and str(tmp_path / "file") in said


def test_other_names_say_what_to_write():
    """What they name exists, and what they stand for does not."""
    from graphc.api import other_names
    from graphc.api.methods import METHODS
    real = {name for names in METHODS.values() for name in names.split()}
    assert not real & other_names.METHODS.keys() and not dir(A).count("unsqueeze") and "expand_dims" in dir(A)
    for owner, table in ((A, other_names.METHODS), (gc, other_names.FUNCTIONS), (gc.nn, other_names.LAYERS),
                         (gc.nn.functional, other_names.LAYERS), (gc.nn.Linear(1, 1), other_names.MODULES),
                         (gc.zeros(2).at[0], other_names.UPDATES),
                         (gc.optim, other_names.OPTIMISERS), (gc.nn.init, other_names.INITIAL),
                         (gc.optim.SGD([gc.nn.parameter([1.0])], 0.1), other_names.OF_AN_OPTIMISER)):
        for name, text in table.items():
            with pytest.raises(AttributeError, match=f"no attribute '{name}'; write {re.escape(text)}"):
                getattr(owner, name)
            for root, path in re.findall(r"\b(gc|nn|x)\.([a-zA-Z_][\w.]*)", text):
                operator.attrgetter(path.rstrip("."))({"gc": gc, "nn": gc.nn, "x": A}[root])
    for owner in (gc.nn, gc.optim, gc.nn.Linear(1, 1), gc.optim.SGD([gc.nn.parameter([1.0])], 0.1)):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
            owner.nonsense  # noqa: B018


def test_modules_may_have_attributes_of_those_names():
    class Own(gc.nn.Module):
        def __init__(self):
            self.half = gc.nn.Linear(1, 1)

        def children(self):
            return 3
    own = Own()
    assert own.children() == 3 and len(own.half.parameters()) == 2 and {"half", "children"} <= {*dir(own)}
    assert not hasattr(own, "cuda") and "cuda" not in dir(own)


@pytest.mark.parametrize("kind, name, text", [
    (gc.nn.Linear, "in_features", "inputs"), (gc.nn.Conv2d, "in_channels", "inputs"),
    (gc.nn.Embedding, "num_embeddings", "words"), (gc.nn.GRU, "input_size", "inputs"),
    (gc.nn.BatchNorm2d, "num_features", "channels"),
    (gc.nn.LayerNorm, "normalized_shape", "shape"), (gc.nn.Conv2d, "padding_mode", "gc.pad"),
    (gc.nn.InstanceNorm, "track_running_stats", "nothing"), (gc.nn.Embedding, "padding_idx", "every row"),
    (gc.nn.MaxPool2d, "ceil_mode", "gc.max_pool2d"), (gc.nn.MaxPool2d, "dilation", "gc.max_pool2d"),
    (gc.nn.Flatten, "start_dim", "x.reshape"),
    (gc.nn.Softmax, "dim", "axis"), (gc.nn.ReLU, "inplace", "values never change"),
    (gc.optim.Adam, "fused", "compiled as a whole"), (gc.optim.GradScaler, "init_scale", "factor"),
])
def test_arguments_of_other_names_say_what_to_write(kind, name, text):
    with pytest.raises(TypeError, match=rf"{kind.__name__} has no argument '{name}'; write .*{text}"):
        kind(**{name: 3})


@pytest.mark.parametrize("call, text", [
    (lambda: gc.nn.MaxPool2d(3, 2, 1, 1), "MaxPool2d has no argument 'dilation'; write gc.max_pool2d"),
    (lambda: gc.nn.AvgPool2d(3, 2, 1, True), "AvgPool2d has no argument 'ceil_mode'; write gc.max_pool2d or"),
    (lambda: gc.nn.Dropout(0.1, True), "Dropout has no argument 'inplace'; write nothing"),
    (lambda: gc.nn.ReLU(True), "ReLU has no argument 'inplace'; write nothing"),
    (lambda: gc.nn.Flatten(1), "Flatten has no argument 'start_dim'; write nothing"),
    (lambda: gc.nn.Embedding(5, 3, 0), "Embedding has no argument 'padding_idx'; write nothing"),
    (lambda: gc.nn.InstanceNorm2d(3, 1e-5, 0.1), "InstanceNorm has no argument 'momentum'"),
    (lambda: gc.nn.Tanh(3), "Tanh takes no arguments"),
])
def test_arguments_by_position_that_only_torch_has(call, text):
    with pytest.raises(TypeError, match=f"^{text}"):
        call()


class Calling(gc.nn.Module):
    def __init__(self, function):
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("function, note", [
    (lambda x: x.sum(dim=1), "sum: write axis"), (lambda x: x.mean(-1, keepdim=True), "mean: write keepdims"),
    (lambda x: gc.stack([x], dim=0), "stack: write axis"), (lambda x: gc.softmax(x, dim=1), "softmax: write axis"),
    (lambda x: gc.nn.functional.relu(x, inplace=True), "relu: write nothing: values never change"),
])
def test_a_forward_that_names_arguments_as_torch_does_is_told_so(function, note):
    for module in (Calling(function), gc.nn.Sequential(Calling(function))):
        with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
            module(A)
        assert caught.value.__notes__ == [f"graphc.{note}"]
    with pytest.raises(TypeError) as caught:
        Calling(lambda x: (lambda x: x)(dim=1))(A)      # the user's own function
    assert not hasattr(caught.value, "__notes__")


def test_bfloat16_of_torch_is_taken():
    for found in (gc.asarray(Lent()), gc.from_dlpack(Lent()), gc.asarray(Lent(), dtype="float32").astype("bfloat16")):
        assert found.dtype is gc.bfloat16
        assert found.numpy().astype(np.float32).tolist() == [1.5, -2.0, 2.0 ** 127]
    layer = gc.nn.Linear(3, 1, bias=False)
    layer.weight = gc.nn.parameter(gc.ones(3, dtype=gc.float32))
    assert layer.load_state_dict({"weight": Lent()}).weight.tolist()[:2] == [1.5, -2.0]


def test_other_arguments_are_errors_as_ever():
    for call in (lambda: gc.nn.ReLU(3), lambda: gc.nn.ReLU(junk=3), lambda: gc.nn.Linear(1, 1, junk=3),
                 lambda: gc.optim.SGD([gc.nn.parameter([1.0])], lr=1, junk=2)):
        with pytest.raises(TypeError, match="argument"):
            call()
    assert gc.nn.Identity(dim=3)(3) == 3 and gc.nn.Conv2d(1, 1, 1, dilation=1).dilation == 1
