"""Weights in files: safetensors, GGUF and NumPy's .npz, read lazily.

`load` gives a mapping from names to tensors. Safetensors and GGUF files are memory-mapped: a tensor is made when it is
asked for, over the pages of the file where its bytes can be used as they lie. Quantised GGUF tensors stay packed: they
are `Quantized`, whose `dequantize` is an expression that fuses into what reads it.

Formats: https://github.com/huggingface/safetensors, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np

import graphc as gc
from graphc.errors import DTypeError, WeightsError
from graphc.ir.dtype import DType, by_name
from graphc.quantized import Quantized, concat, quantize, quantized_matmul
from graphc.tensor import Tensor

__all__ = ["Quantized", "Weights", "concat", "load", "quantize", "quantized_matmul", "save"]


class Weights(Mapping):
    """Names and tensors of a file. A tensor is made when it is first asked for. `metadata`: what else the file says."""

    def __init__(self, makers: dict[str, Callable[[], object]], metadata: dict):
        self._makers, self._made, self.metadata = makers, {}, metadata

    def __getitem__(self, name: str):
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def load(path) -> Weights:
    """The weights in a .safetensors, .gguf or .npz file. Raises WeightsError (a ValueError) for a damaged file."""
    suffix = Path(path).suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise WeightsError(f"{suffix or 'a file without a suffix'} is not known", op="load",
                           fix=f"use one of {', '.join(_READERS)}")
    return reader(Path(path))


def save(path, tensors: Mapping[str, object]) -> None:
    """Write tensors by name to a .safetensors or .npz file. The file appears whole or not at all.

    >>> import graphc as gc, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gc.weights.save(folder + "/net.safetensors", {"bias": gc.arange(3)})
    ...     gc.weights.load(folder + "/net.safetensors")["bias"].tolist()
    [0, 1, 2]
    """
    path = Path(path)
    writer = {".safetensors": _write_safetensors, ".npz": _write_npz}.get(path.suffix.lower())
    if writer is None:
        raise WeightsError(f"{path.suffix or 'a file without a suffix'} can't be written", op="save",
                           fix="use .safetensors or .npz")
    if not isinstance(tensors, Mapping):
        raise WeightsError(f"a {type(tensors).__name__} has no names for its tensors", op="save",
                           fix="pass a dict such as module.state_dict()")
    arrays = {name: _named(name, t) for name, t in tensors.items()}
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with whole.open("wb") as file:
            writer(file, arrays)
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)


def _named(name, t) -> Tensor:
    if not isinstance(name, str):
        raise WeightsError(f"{name!r} is no name: it is a {type(name).__name__}", op="save", fix="use text")
    try:
        return gc.asarray(t)
    except DTypeError as error:
        raise WeightsError(f"{name} is no tensor: {error.message}", op="save",
                           fix="pass a dict of tensors such as module.state_dict()") from None


def _mapped(path: Path) -> np.ndarray:
    """The bytes of a file, read-only, without reading them."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            raise WeightsError(f"{path.name} is empty", op="load")
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _over(data: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    return gc.asarray(data.view(dtype.numpy).reshape(shape))     # read-only and aligned bytes are not copied


# -------------------------------------------------------------------------------------------------------- safetensors

_SAFETENSORS = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
                "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32",
                "F64": "float64", "C64": "complex64"}


def _read_safetensors(path: Path) -> Weights:
    data = _mapped(path)
    try:
        size = int.from_bytes(data[:8].tobytes(), "little")
        if len(data) < 8 or size > len(data) - 8:
            raise ValueError("its header is longer than the file")
        header = json.loads(data[8:8 + size].tobytes())
        if not isinstance(header, dict):
            raise ValueError("its header is no object")
        metadata = header.pop("__metadata__", {})
        body = data[8 + size:]
        makers = {name: _safetensor(name, entry, body) for name, entry in header.items()}
    except ValueError as error:
        raise WeightsError(f"{path.name} is no safetensors file: {error}", op="load") from None
    return Weights(makers, metadata)


def _safetensor(name: str, entry: dict, body: np.ndarray) -> Callable[[], Tensor]:
    try:
        (start, stop), shape, kind = entry["data_offsets"], tuple(entry["shape"]), entry["dtype"]
        whole = all(isinstance(n, int) for n in (start, stop, *shape))
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"the header has no dtype, shape and data_offsets of {name}")
    if kind not in list(_SAFETENSORS):
        raise ValueError(f"{name} has the dtype {kind}, and graphc reads {', '.join(_SAFETENSORS)}")
    dtype = by_name(_SAFETENSORS[kind])
    if not 0 <= start <= stop <= len(body) or any(n < 0 for n in shape) or stop - start != prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} does not lie in the file")
    return lambda: _over(body[start:stop], dtype, shape)


def _write_safetensors(file, tensors: dict[str, Tensor]) -> None:
    names = {value: key for key, value in _SAFETENSORS.items()}
    header, at = {}, 0
    for name, t in tensors.items():
        if name == "__metadata__":
            raise WeightsError("safetensors have no tensor of the name __metadata__", op="save", fix="use another name")
        if t.dtype.name not in names:
            raise WeightsError(f"safetensors have no {t.dtype}", op="save", fix="use .npz")
        header[name] = {"dtype": names[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64 + 56)       # so that the data begin at a multiple of 64
    file.write(struct.pack("<Q", len(text)) + text)
    for t in tensors.values():
        file.write(np.ascontiguousarray(t.numpy()).tobytes())


# ---------------------------------------------------------------------------------------------------------------- npz

def _read_npz(path: Path) -> Weights:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not is_zipfile(path):
        raise WeightsError(f"{path.name} is no .npz file: it is no archive", op="load")
    archive = np.load(path, allow_pickle=False)
    return Weights({name: lambda name=name: _of_archive(path, archive, name) for name in archive.files}, {})


def _of_archive(path: Path, archive, name: str) -> Tensor:
    try:
        return gc.asarray(archive[name])
    except (ValueError, EOFError, BadZipFile, zlib.error, DTypeError) as error:
        said = getattr(error, "message", error)
        raise WeightsError(f"{name} in {path.name} can't be read: {said}", op="load") from None


def _write_npz(file, tensors: dict[str, Tensor]) -> None:
    narrow = [name for name, t in tensors.items() if t.dtype is gc.bfloat16]
    if narrow:
        raise WeightsError(f"an .npz file holds no bfloat16: {narrow[0]}", op="save", fix="use .safetensors")
    with ZipFile(file, "w", allowZip64=True) as archive:     # arguments of numpy.savez are no names of arrays there
        for name, t in tensors.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, t.numpy(), allow_pickle=False)


# --------------------------------------------------------------------------------------------------------------- GGUF

def _blocks(data: np.ndarray, shape: tuple[int, ...], size: int) -> np.ndarray:
    return data.reshape(*shape[:-1], shape[-1] // 32, size)


def _half(blocks: np.ndarray, at: int) -> Tensor:
    return gc.asarray(np.ascontiguousarray(blocks[..., at:at + 2]).view(np.float16)[..., 0])


def _q4_0(data, shape) -> Quantized:
    """q * d - 8 d: the offset is exact, for it is a power of two times d."""
    blocks = _blocks(data, shape, 18)
    scale = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
    return Quantized(gc.asarray(blocks[..., 2:]), gc.asarray(scale), gc.asarray(scale * np.float16(-8)))


def _q4_1(data, shape) -> Quantized:
    blocks = _blocks(data, shape, 20)
    return Quantized(gc.asarray(blocks[..., 4:]), _half(blocks, 0), _half(blocks, 2))


def _q8_0(data, shape) -> Quantized:
    blocks = _blocks(data, shape, 34)
    return Quantized(gc.asarray(blocks[..., 2:].view(np.int8)), _half(blocks, 0), None)


def _plain(name: str):
    return lambda data, shape: _over(data, by_name(name), shape)


# number of a type -> (name, numbers in a block, bytes of a block, reader)
_TYPES = {0: ("F32", 1, 4, _plain("float32")), 1: ("F16", 1, 2, _plain("float16")), 2: ("Q4_0", 32, 18, _q4_0),
          3: ("Q4_1", 32, 20, _q4_1), 8: ("Q8_0", 32, 34, _q8_0), 24: ("I8", 1, 1, _plain("int8")),
          25: ("I16", 1, 2, _plain("int16")), 26: ("I32", 1, 4, _plain("int32")), 27: ("I64", 1, 8, _plain("int64")),
          28: ("F64", 1, 8, _plain("float64")), 30: ("BF16", 1, 2, _plain("bfloat16"))}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, data: np.ndarray):
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("it ends too early")
        self.at += size
        return self.data[self.at - size:self.at].tobytes()

    def scalar(self, code: str):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        return self.take(self.scalar("Q")).decode("utf-8", "replace")

    def value(self, kind: int):
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            inner, count = self.scalar("I"), self.scalar("Q")
            if inner in _SCALARS:
                code = "<" + _SCALARS[inner]
                return np.frombuffer(self.take(count * struct.calcsize(code)), code).tolist()
            return [self.value(inner) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"there is no kind of value {kind}")
        return self.scalar(_SCALARS[kind])


def _read_gguf(path: Path) -> Weights:
    """Axes in NumPy's order: the file has the last axis first."""
    data = _mapped(path)
    try:
        cursor = _Cursor(data)
        if cursor.take(4) != b"GGUF" or cursor.scalar("I") not in (2, 3):
            raise ValueError("it does not begin as one of version 2 or 3")
        count, facts = cursor.scalar("Q"), cursor.scalar("Q")
        metadata = {cursor.text(): cursor.value(cursor.scalar("I")) for _ in range(facts)}
        entries = [(cursor.text(), tuple(cursor.scalar("Q") for _ in range(cursor.scalar("I")))[::-1],
                    cursor.scalar("I"), cursor.scalar("Q")) for _ in range(count)]
        aligned = metadata.get("general.alignment", 32)
        if aligned <= 0:
            raise ValueError(f"its data are aligned to {aligned} bytes")
        body = data[-(-cursor.at // aligned) * aligned:]
        makers = {name: _gguf(name, shape, kind, at, body) for name, shape, kind, at in entries}
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise WeightsError(f"{path.name} is no GGUF file: {error}", op="load") from None
    return Weights(makers, metadata)


def _gguf(name: str, shape: tuple[int, ...], kind: int, at: int, body: np.ndarray) -> Callable[[], object]:
    if kind not in _TYPES:
        raise ValueError(f"{name} has the type {kind}, and graphc reads " + ", ".join(t[0] for t in _TYPES.values()))
    _, numbers, size, reader = _TYPES[kind]
    if numbers > 1 and (not shape or shape[-1] % numbers):
        raise ValueError(f"the rows of {name}, whose shape is {shape}, do not divide into blocks of {numbers}")
    nbytes = prod(shape) // numbers * size
    if at + nbytes > len(body):
        raise ValueError(f"{name} does not lie in the file")
    return lambda: reader(body[at:at + nbytes], shape)


_READERS = {".safetensors": _read_safetensors, ".gguf": _read_gguf, ".npz": _read_npz}
