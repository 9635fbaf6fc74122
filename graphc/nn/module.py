"""Module: a function with parameters, written as a class."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from reprlib import recursive_repr

import numpy as np

import graphc as gc
from graphc.api.other_names import MODULES, Elsewhere, check_arguments, explain, missing
from graphc.errors import BackendError, DTypeError, ShapeError, StateError
from graphc.ir.dtype import DType, as_dtype
from graphc.tensor import Tensor, rebinding
from graphc.tracing import Counted, mode_of, set_mode


_NO_TENSORS = (list, tuple, int, float, complex, np.ndarray)


class Module(Counted):
    """What has parameters: tensors that require a gradient, kept in attributes, lists, tuples and dicts of a module.

    One that is frozen by `requires_grad = False` remains a parameter, which optimisers leave alone. Other tensors in
    attributes are buffers (running statistics): part of the state, not trained. Modules inside are found in the same
    way, and names are paths: "layers.0.weight". Write `forward`; call the module.

    >>> import graphc as gc
    >>> class Line(gc.nn.Module):
    ...     def __init__(self):
    ...         self.slope = gc.nn.parameter(gc.asarray([2.0]))
    ...     def forward(self, x):
    ...         return x * self.slope
    >>> line = Line()
    >>> line(gc.asarray([3.0])).tolist(), [name for name, _ in line.named_parameters()]
    ([6.0], ['slope'])
    """

    # Whether Dropout and BatchNorm behave as in training. What is jitted looks at it again at each call.
    training = property(mode_of, set_mode)

    def __new__(cls, *args, **kwargs):
        check_arguments(cls, args, kwargs)
        new = super().__new__
        return new(cls) if new is object.__new__ else new(cls, *args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args, **kwargs):
        try:
            return self.forward(*args, **kwargs)
        except AttributeError as error:
            kind = type(error.obj)
            if kind in _NO_TENSORS and hasattr(Tensor, error.name) and any(
                    error.obj is x for x in (*args, *kwargs.values())):
                raise DTypeError(f"an argument is a {kind.__name__}, and has no {error.name!r}, which a tensor has",
                                 op=type(self).__name__, fix="pass gc.asarray(x)") from error
            raise
        except TypeError as error:
            explain(error, _is_a_function)
            raise

    # ---- what is inside

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside, with their paths; each once."""
        return ((path, found) for path, found in _walk(self, prefix) if isinstance(found, Module))

    def modules(self) -> list[Module]:
        return [m for _, m in self.named_modules()]

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers with their paths; one that is shared has the first of its paths."""
        return ((path, found) for path, found in _walk(self, "") if isinstance(found, Tensor))

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, t) for name, t in self.named_tensors() if t.is_parameter)

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, t) for name, t in self.named_tensors() if not t.is_parameter)

    def parameters(self) -> list[Tensor]:
        return [t for _, t in self.named_parameters()]

    def buffers(self) -> list[Tensor]:
        return [t for _, t in self.named_buffers()]

    # ---- state

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by path, as new handles without history: later training does not change them."""
        return {name: t.detach() for name, t in self.named_tensors()}

    def load_state_dict(self, state: dict, strict: bool = True) -> Module:
        """Take over tensors or arrays by path. strict: every name of either side must be in the other.

        Names of PyTorch's modules serve as well: "0.weight" of a Sequential, and all names of what is shared, where
        the first counts; a `num_batches_tracked` is passed over.

        Raises StateError (a KeyError) for names, ShapeError for shapes; nothing is changed then. Returns the module.
        """
        if not isinstance(state, Mapping):
            raise DTypeError(f"a {type(state).__name__} is no state", op="load_state_dict",
                             fix="pass a dict of tensors by path, as state_dict() gives")
        strange = [name for name in state if not isinstance(name, str)]
        if strange:
            raise StateError(f"{strange[0]!r} is no name: it is a {type(strange[0]).__name__}", op="load_state_dict",
                             fix="pass a dict of tensors by path, as state_dict() gives")
        own = dict(self.named_tensors())
        state = _by_own_names(self, own, state)
        absent, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
        if strict and (absent or unknown):
            sides = (("missing", absent), ("unknown", unknown))
            parts = [f"{what}: {', '.join(names)}" for what, names in sides if names]
            raise StateError("the state does not fit the module: " + "; ".join(parts), op="load_state_dict",
                             fix="pass strict=False to take over what fits")
        take_over({name: t for name, t in own.items() if name in state}, state)
        return self

    # ---- modes

    def train(self, mode: bool = True) -> Module:
        """Dropout and BatchNorm behave as in training (True) or as in use (False). Returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, wanted: bool = True) -> Module:
        """Let all parameters require a gradient, or none: frozen ones remain parameters. Returns the module.

        >>> import graphc as gc
        >>> layer = gc.nn.Linear(2, 2).requires_grad_(False)
        >>> layer.weight.requires_grad, len(layer.parameters())
        (False, 2)
        """
        for p in self.parameters():
            p.requires_grad = wanted
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        gc.zero_grad(self.parameters(), set_to_none)

    def apply(self, function: Callable[[Module], object]) -> Module:
        """Call a function with every module inside. Returns the module."""
        for module in self.modules():
            function(module)
        return self

    def to(self, target) -> Module:
        """Move to a device, or cast floating-point tensors to a dtype. Returns the module.

        Raises BackendError, or DTypeError for what is no text, if it is neither.
        """
        dtype = _dtype_or_none(target)
        with gc.no_grad():
            for _, t in self.named_tensors():
                if dtype is None:
                    _replace(t, t.detach().to(target))
                elif t.dtype.kind == "f":
                    _replace(t, t.detach().astype(dtype))
        return self

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in MODULES or hasattr(self, name)]

    @recursive_repr()
    def __repr__(self) -> str:
        inside = [(str(name), m) for name, m in _inside(self) if isinstance(m, Module)]
        inside += [(f"{name}[{i!r}]", m) for name, ms in _inside(self) if not isinstance(ms, Module)
                   for i, m in _inside(ms) if isinstance(m, Module)]
        facts = ", ".join(f"{name}={value!r}" for name, value in vars(self).items()
                          if isinstance(value, (int, float, str, bool)) and not name.startswith("_"))
        if not inside:
            return f"{type(self).__name__}({facts})"
        body = "\n".join(f"  {name}: " + repr(m).replace("\n", "\n  ") for name, m in inside)
        return f"{type(self).__name__}(\n{body}\n)"


for _name in MODULES:
    setattr(Module, _name, Elsewhere(_name, MODULES))


def _is_a_function(name: str) -> bool:
    return any(callable(getattr(place, name, None)) for place in (gc, Tensor, gc.nn.functional))


def _dtype_or_none(target) -> DType | None:
    """A dtype, or None for the name of a device that is here."""
    try:
        return as_dtype(target)
    except DTypeError:
        if not isinstance(target, str):
            raise
    try:
        gc.ones(()).to(target)
    except BackendError as error:
        raise BackendError(f"{target!r} is neither a dtype nor a device that can be used here: {error.message}",
                           op="to") from None
    return None


def take_over(own: Mapping[str, Tensor], state: Mapping) -> None:
    """Assign to each of these tensors what the state has under its name. ShapeError, before anything is changed."""
    values = {}
    for name, t in own.items():
        value = state[name]
        try:
            values[name] = value if isinstance(value, Tensor) else gc.asarray(value, device=t.device)
        except DTypeError as error:
            raise DTypeError(f"{name} is no tensor: {error.message}", op="load_state_dict") from None
        if values[name].shape != t.shape:
            raise ShapeError(f"{name} has shape {t.shape}, the state {values[name].shape}", op="load_state_dict")
    with gc.no_grad():
        for name, t in own.items():
            t.assign(values[name])


def _replace(t: Tensor, value: Tensor) -> None:
    """Another dtype or device for the same handle."""
    wanted = t.is_variable
    t.node = value.node
    rebinding.of(t)
    t.grad = None
    if wanted:
        t.requires_grad = True


def items_of(holder: list | tuple | dict) -> Iterable[tuple]:
    """What a list, a tuple or a dict holds, each with its index or key."""
    return holder.items() if isinstance(holder, dict) else enumerate(holder)


def like(found: tuple, items: list) -> tuple:
    """A tuple of these items, with names where the other has them."""
    return found._make(items) if hasattr(found, "_make") else type(found)(items)


def _inside(found) -> list[tuple[object, object]]:
    """What something holds, by name: attributes of a module, elements of a list, tuple or dict."""
    inside: list[tuple[object, object]] = list(vars(found).items()) if isinstance(found, Module) else []
    return inside + list(items_of(found)) if isinstance(found, list | tuple | dict) else inside


def _by_own_names(module: Module, own: dict[str, Tensor], state: Mapping) -> dict:
    """A state under the names of the module's tensors, where they have others as well."""
    names = {id(t): name for name, t in own.items()}
    found = {name: value for name, value in state.items() if name in own}
    for name, value in state.items():
        *path, last = str(name).split(".")
        if name not in own and not (last == "num_batches_tracked" and hasattr(_at(module, path), "running_mean")):
            found.setdefault(names.get(id(_at(module, [*path, last])), name), value)
    return found


def _at(found, path: list[str]):
    """What lies at a path, None if nothing does. The layers of a Sequential are found by number or name, too."""
    for part in path:
        inside = [*(_inside(found.layers) if isinstance(found, Sequential) else ()), *_inside(found)]
        found = {str(name): x for name, x in inside}.get(part)
    return found


def _walk(found, path: str) -> Iterator[tuple[str, object]]:
    """All modules and tensors under something, depth first, in the order of attributes, each once: what holds itself,
    as by a list of its parents, comes to an end. Iterative."""
    stack, seen = [(path, found)], set()
    while stack:
        path, found = stack.pop()
        if not isinstance(found, (Module, Tensor, list, tuple, dict)) or id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, (Module, Tensor)):
            yield path, found
        inside = _inside(found)
        stack += [(f"{path}.{name}" if path else str(name), x) for name, x in reversed(inside)]


def parameter(value, dtype=None) -> Tensor:
    """A tensor that is trained: a new handle that requires a gradient."""
    return gc.Tensor(value, dtype=dtype, requires_grad=True)


class Sequential(Module):
    """Modules, and functions, one after the other. `add`, or `append`, puts one more at the end.

    A dict gives them names: they are attributes then as well.

    >>> import graphc as gc
    >>> net = gc.nn.Sequential(gc.nn.Linear(4, 8), gc.tanh).add(gc.nn.Linear(8, 2))
    >>> net(gc.ones((3, 4))).shape, len(net)
    ((3, 2), 3)
    >>> net = gc.nn.Sequential({"hidden": gc.nn.Linear(4, 8), "out": gc.nn.Linear(8, 2)})
    >>> net(gc.ones((3, 4))).shape, net.hidden is net[0]
    ((3, 2), True)
    """

    def __init__(self, *layers):
        only = layers[0] if len(layers) == 1 and isinstance(layers[0], (list, tuple, dict)) else layers
        self.layers = dict(only) if isinstance(only, dict) else list(only)

    def add(self, layer) -> Sequential:
        if isinstance(self.layers, dict):
            free = next(k for k in itertools.count(len(self.layers)) if str(k) not in self.layers)
            self.layers[str(free)] = layer
        else:
            self.layers.append(layer)
        return self

    append = add

    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, i):
        if isinstance(i, slice):
            named = isinstance(self.layers, dict)
            return Sequential(dict([*self.layers.items()][i]) if named else self.layers[i])
        return [*self][i]

    def __setitem__(self, i: int, layer) -> None:
        found = self.layers
        found[[*found][i] if isinstance(found, dict) else i] = layer

    def __iter__(self):
        return iter(self.layers.values() if isinstance(self.layers, dict) else self.layers)

    def __getattr__(self, name: str):
        """A layer by its name. Python asks here for what is found nowhere else."""
        named = vars(self).get("layers")
        if isinstance(named, dict) and name in named:
            return named[name]
        raise missing(f"{type(self).__name__!r} object", name, MODULES, self)

    def __setattr__(self, name: str, value) -> None:
        named = vars(self).get("layers")
        if name != "layers" and isinstance(named, dict) and name in named:
            named[name] = value
        else:
            super().__setattr__(name, value)


NeuralNetwork = Sequential


class ModuleList(Module, list):
    """A list of modules that is a module: its parameters have the paths "0.weight", "1.weight", ...

    Inside of a module a plain list does as well. Slices are ModuleLists.

    >>> import graphc as gc
    >>> layers = gc.nn.ModuleList(gc.nn.Linear(4, 4) for _ in range(3))
    >>> len(layers), len(layers[1:].parameters())
    (3, 4)
    """

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__      # as other modules

    def __getitem__(self, i):
        found = list.__getitem__(self, i)
        return type(self)(found) if isinstance(i, slice) else found


class ModuleDict(Module, dict):
    """A dict of modules that is a module: its parameters have the paths "name.weight", ...

    Inside of a module a plain dict does as well.

    >>> import graphc as gc
    >>> heads = gc.nn.ModuleDict({"a": gc.nn.Linear(4, 2), "b": gc.nn.Linear(4, 3)})
    >>> heads["b"](gc.ones(4)).shape, [name for name, _ in heads.named_parameters()][:2]
    ((3,), ['a.weight', 'a.bias'])
    """

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__
