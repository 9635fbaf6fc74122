"""Runs rows of tests/torch_operators.py on torch's samples and compares values and gradients."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import torch
from torch_operators import ATOL, ROWS, RTOL, NoCounterpart

import graphc as gc


@dataclass
class Found:
    """What became of the samples of one operation: counts, and a line for the first that failed."""

    name: str
    same: int = 0
    gradients: int = 0
    without: int = 0
    failed: list[str] = field(default_factory=list)


def rebuilt(tree, leaf):
    """A tree with its tensors replaced."""
    if isinstance(tree, torch.Tensor):
        return leaf(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree)(rebuilt(x, leaf) for x in tree) if type(tree) in (tuple, list) else tuple(
            rebuilt(x, leaf) for x in tree)
    return {k: rebuilt(x, leaf) for k, x in tree.items()} if isinstance(tree, dict) else tree


def tensors(tree) -> list:
    if isinstance(tree, (torch.Tensor, gc.Tensor)):
        return [tree]
    return [t for x in tree for t in tensors(x)] if isinstance(tree, (tuple, list)) else []


def array(t: torch.Tensor) -> np.ndarray:
    return t.detach().resolve_conj().resolve_neg().numpy(force=True)


def compare(op, sample, found: Found, seed: int) -> None:
    whole = (sample.input, tuple(sample.args), dict(sample.kwargs))
    theirs = tensors(op(sample.input, *sample.args, **sample.kwargs))
    wanted = [x for x in tensors_of(whole) if x.requires_grad]

    def ours(*values):
        given = dict(zip(map(id, wanted), values, strict=True))
        x, args, kwargs = rebuilt(whole, lambda t: given.get(id(t), None) if id(t) in given else gc.asarray(array(t)))
        return tensors(ROWS[op.name](x, *args, **kwargs))

    values = [gc.asarray(array(x)) for x in wanted]
    results, pull = gc.vjp(ours, *values) if wanted else (ours(), None)
    if len(results) > len(theirs):
        raise AssertionError(f"{len(results)} results, not {len(theirs)}")
    for a, b in zip(results, theirs, strict=False):
        np.testing.assert_allclose(a.numpy(), array(b), rtol=RTOL, atol=ATOL)
    found.same += 1
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=b.shape) + (1j * rng.normal(size=b.shape) if b.is_complex() else 0) for b in theirs]
    chosen = [k for k, b in enumerate(theirs[:len(results)]) if b.requires_grad]
    if not chosen:
        return
    expected = torch.autograd.grad([theirs[k] for k in chosen], wanted, [
        torch.as_tensor(weights[k]).to(theirs[k].dtype) for k in chosen], allow_unused=True)
    gs = [gc.asarray(weights[k]).astype(y.dtype) if k in chosen else gc.zeros_like(y) for k, y in enumerate(results)]
    for x, g, e in zip(wanted, pull(gs), expected, strict=True):
        e = np.zeros(x.shape) if e is None else array(e)
        np.testing.assert_allclose(g.numpy(), e, rtol=100 * RTOL, atol=100 * ATOL, err_msg="gradient")
    found.gradients += 1


def tensors_of(tree) -> list:
    """Different tensors anywhere in arguments."""
    seen: dict[int, torch.Tensor] = {}
    rebuilt(tree, lambda t: seen.setdefault(id(t), t))
    return list(seen.values())


def run(op, most: int | None = None) -> Found:
    """All samples of an operation, or the first of them."""
    found = Found(op.name + (f" ({op.variant_test_name})" if op.variant_test_name else ""))
    torch.manual_seed(0)
    for k, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)):
        if most is not None and k >= most:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compare(op, sample, found, k)
        except NoCounterpart:
            found.without += 1
        except Exception as error:      # whatever it is, it is reported as a sample that failed
            text = " ".join(str(error).split())
            shapes = [tuple(t.shape) for t in tensors_of((sample.input, sample.args, sample.kwargs))]
            rest = [a for a in sample.args if not tensors(a)]
            found.failed.append(f"{shapes} {rest} {sample.kwargs}: {type(error).__name__} {text}"[:400])
    return found


def database(names=()) -> list:
    """Operations that have a row, with gradients or not."""
    from torch.testing._internal.common_methods_invocations import op_db
    others = ("with_dtype", "reflect", "replicate", "circular", "singular")     # variants that graphc does not have
    return [op for op in op_db if op.name in ROWS and torch.float64 in op.dtypes and (not names or op.name in names)
            and not op.variant_test_name.startswith(others)]
