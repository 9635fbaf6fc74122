"""Files of weights: round trips, quantised blocks against their formulas, damage."""
from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import graphc as gc
from graphc import weights
from graphc.errors import DTypeError, StateError
from graphc.runtime.buffers import pool


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


ARRAYS = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.zeros((0, 4), np.float64),
          "flag": np.array([True, False]), "scalar": np.float16(1.5), "big": np.array([2**60, -1])}


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_round_trip(tmp_path, suffix):
    path = tmp_path / f"net{suffix}"
    weights.save(path, ARRAYS)
    found = weights.load(path)
    assert list(found) == list(ARRAYS) and len(found) == 5 and [p.name for p in tmp_path.iterdir()] == [path.name]
    for name, array in ARRAYS.items():
        assert found[name].numpy().dtype == array.dtype and found[name] is found[name]
        np.testing.assert_array_equal(found[name].numpy(), array)


def test_bfloat16_and_what_a_format_lacks(tmp_path):
    x = gc.asarray([1.0, -2.5]).astype(gc.bfloat16)
    weights.save(tmp_path / "x.safetensors", {"x": x})
    assert weights.load(tmp_path / "x.safetensors")["x"].dtype is gc.bfloat16
    with pytest.raises(ValueError, match="no bfloat16: x"):
        weights.save(tmp_path / "x.npz", {"x": x})
    with pytest.raises(ValueError, match="safetensors have no complex128"):
        weights.save(tmp_path / "y.safetensors", {"y": gc.asarray([1j])})
    with pytest.raises(ValueError, match=r"(?s)\.pt is not known.*\.safetensors, \.gguf, \.npz"):
        weights.load(tmp_path / "y.pt")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.safetensors"]


def test_safetensors_are_read_in_place(tmp_path):
    weights.save(tmp_path / "x.safetensors", {"x": np.zeros(1 << 18, np.float32)})
    before = pool.in_use
    x = weights.load(tmp_path / "x.safetensors")["x"]
    assert not x.numpy().flags.owndata and not x.numpy().flags.writeable
    assert pool.in_use == before


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(tensors: dict[str, tuple[tuple[int, ...], int, bytes]]) -> bytes:
    """A small GGUF file: name -> (shape in NumPy's order, number of the type, bytes)."""
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 3)
    out += text("general.name") + struct.pack("<I", 8) + text("tiny")
    out += text("sizes") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 7, 8)
    out += text("words") + struct.pack("<IIQ", 9, 8, 2) + text("yes") + text("no")
    body = b""
    for name, (shape, kind, data) in tensors.items():
        out += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        out += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % 32)
    return out + b"\0" * (-len(out) % 32) + body


def test_gguf(tmp_path):
    r = np.random.default_rng(0)
    plain = r.normal(size=(3, 2)).astype(np.float32)
    d, m = r.normal(size=(2, 2)).astype(np.float16), r.normal(size=(2, 2)).astype(np.float16)
    nibbles, signed = r.integers(0, 16, (2, 2, 32)).astype(np.uint8), r.integers(-127, 128, (2, 2, 32)).astype(np.int8)
    packed = nibbles[..., :16] | nibbles[..., 16:] << 4

    def blocks(*parts):
        return np.concatenate([np.ascontiguousarray(p).view(np.uint8).reshape(2, 2, -1) for p in parts], -1).tobytes()

    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf({
        "plain": ((3, 2), 0, plain.tobytes()), "q4_0": ((2, 64), 2, blocks(d, packed)),
        "q4_1": ((2, 64), 3, blocks(d, m, packed)), "q8_0": ((2, 64), 8, blocks(d, signed))}))
    found = weights.load(path)
    assert found.metadata == {"general.name": "tiny", "sizes": [7, 8], "words": ["yes", "no"]}
    np.testing.assert_array_equal(found["plain"].numpy(), plain)
    scale, offset = d.astype(np.float32)[..., None], m.astype(np.float32)[..., None]
    for name, expected, size in (("q4_0", (nibbles.astype(np.float32) - 8) * scale, 80),
                                 ("q4_1", nibbles * scale + offset, 80), ("q8_0", signed * scale, 136)):
        q = found[name]
        assert q.shape == (2, 64) and q.dequantize(gc.float16).dtype is gc.float16
        assert q.nbytes == size
        np.testing.assert_allclose(q.dequantize().numpy(), expected.reshape(2, 64), rtol=1e-6, atol=1e-6)


def test_any_name_is_one_of_an_array(tmp_path):
    """numpy.savez has arguments of these names."""
    weights.save(tmp_path / "x.npz", {"file": np.arange(2), "allow_pickle": np.arange(3)})
    assert {name: t.tolist() for name, t in weights.load(tmp_path / "x.npz").items()} == {
        "file": [0, 1], "allow_pickle": [0, 1, 2]}
    with pytest.raises(weights.WeightsError, match="__metadata__"):
        weights.save(tmp_path / "x.safetensors", {"__metadata__": np.arange(2)})


def test_damage(tmp_path):
    np.savez(tmp_path / "whole.npz", x=np.arange(9))
    archive = bytearray((tmp_path / "whole.npz").read_bytes())
    archive[archive.index(b"NUMPY") + 130] ^= 1
    np.savez(tmp_path / "objects.npz", x=np.array([None]))
    good = gguf({"plain": ((3,), 0, b"\0" * 12)})
    bad = {"empty.gguf": b"", "other.gguf": b"GGML" + good[4:], "short.gguf": good[:-30], "cut.gguf": good[:60],
           "type.gguf": gguf({"x": ((3,), 99, b"\0" * 12)}), "row.gguf": gguf({"x": ((33,), 2, b"\0" * 18)}),
           "long.safetensors": struct.pack("<Q", 1 << 40) + b"{}", "text.safetensors": struct.pack("<Q", 4) + b"[1,]",
           "list.safetensors": struct.pack("<Q", 4) + b"[1 ]", "not.npz": b"PK\3\4nothing",
           "crc.npz": bytes(archive), "objects.npz": (tmp_path / "objects.npz").read_bytes(),
           "scalar.gguf": gguf({"x": ((), 8, b"\0" * 34)})}
    for offsets, shape in (((0, 8), [3]), ((-4, 8), [3]), ((0, 400), [100]), ((0, 4), [-1])):
        head = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}).encode()
        bad[f"{offsets[0]} {offsets[1]}.safetensors"] = struct.pack("<Q", len(head)) + head + b"\0" * 12
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(weights.WeightsError):
            dict(weights.load(tmp_path / name))


def test_what_is_wrong_is_named(tmp_path):
    """It was an error of Python's own about integers or types, or none but that of a missing archive."""
    def header(entry) -> bytes:
        text = json.dumps({"x": entry}).encode()
        return struct.pack("<Q", len(text)) + text + b"\0" * 12

    bad = {"list.safetensors": (struct.pack("<Q", 2) + b"[]", "list.safetensors .* its header is no object"),
           "number.safetensors": (header(3), "no dtype, shape and data_offsets of x"),
           "less.safetensors": (header({"dtype": "F32", "shape": [3]}), "no dtype, shape and data_offsets of x"),
           "text.safetensors": (header({"dtype": "F32", "shape": "3", "data_offsets": [0, 12]}), "data_offsets of x"),
           "dtype.safetensors": (header({"dtype": "F7", "shape": [3], "data_offsets": [0, 12]}), "x has the dtype F7"),
           "row.gguf": (gguf({"x": ((33,), 2, b"\0" * 18)}), r"row.gguf .* rows of x, whose shape is \(33,\)")}
    for name, (data, said) in bad.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(weights.WeightsError, match=said):
            weights.load(tmp_path / name)
    np.savez(tmp_path / "words.npz", x=np.array(["word"]))
    with pytest.raises(weights.WeightsError, match="x in words.npz can't be read: arrays of <U4"):
        weights.load(tmp_path / "words.npz")["x"]
    with pytest.raises(FileNotFoundError, match="there is no file .*gone.npz"):
        weights.load(tmp_path / "gone.npz")
    for tensors, said in (({1: np.ones(2)}, "1 is no name: it is a int"), ({"x": None}, "x is no tensor: NoneType"),
                          ({"x": {"y": np.ones(2)}}, "x is no tensor: dict")):
        for name in ("x.npz", "x.safetensors"):
            with pytest.raises(weights.WeightsError, match=said):
                weights.save(tmp_path / name, tensors)


def test_a_state_with_strange_names_or_values_is_refused():
    net = gc.nn.Linear(3, 2)
    adam, state = gc.optim.Adam(net.parameters(), lr=0.1), net.state_dict()
    with pytest.raises(StateError, match="1 is no name: it is a int"):
        net.load_state_dict(state | {1: np.ones(2)})
    with pytest.raises(DTypeError, match="bias is no tensor: arrays of <U4"):
        net.load_state_dict(state | {"bias": "word"})
    with pytest.raises(DTypeError, match="a int is no state"):
        adam.load_state_dict(3)
    with pytest.raises(StateError, match="other names: 1"):
        adam.load_state_dict(adam.state_dict() | {1: np.ones(2)})
