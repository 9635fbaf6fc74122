"""Choosing a backend, and what is registered."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from runtime_programs import output, scale

from graphc.config import settings
from graphc.errors import BackendError
from graphc.runtime import backend
from graphc.runtime.backend import Backend
from graphc.runtime.native import declare


def test_what_comes_with_graphc_is_registered_in_package_metadata():
    table = backend.registered()
    assert table["cpu"] == "graphc.runtime.cpu:CpuBackend"
    assert table["reference"] == "graphc.runtime.reference:ReferenceBackend"


def test_every_backend_keeps_the_protocol():
    for name in ("cpu", "reference"):
        found = backend.get(name)
        assert isinstance(found, Backend) and found.name == name
        assert all(isinstance(text, str) for text in found.describe().values())
        assert found.from_numpy(np.arange(3.0)).view(np.float64, (3,)).tolist() == [0, 1, 2]
        assert found.allocate(10).nbytes == 10
    assert backend.get("cpu").dialect in ("c", "c-amx", "c-pairs", "c-bytes")
    assert backend.get("reference").dialect is None


def test_aliases_and_auto():
    cpu = backend.get("cpu")
    assert backend.get("c") is cpu and backend.get("numpy") is cpu and backend.get("auto") is cpu


def test_a_chain_keeps_its_order_and_drops_what_is_absent():
    with pytest.warns(RuntimeWarning, match="GRAPHC_BACKEND: there is no backend 'nonsense'; available: cpu"):
        assert [found.name for found in backend.select("nonsense,reference,cpu,c")] == ["reference", "cpu"]
    with settings.override(backend="reference"):
        assert [found.name for found in backend.select()] == ["reference"]


def test_an_unknown_backend_says_what_there_is():
    with pytest.raises(BackendError, match="no backend 'nonsense'.*cpu.*reference"):
        backend.get("nonsense")
    with pytest.raises(BackendError, match="nonsense"):
        backend.select("nonsense,gpu")
    with pytest.raises(BackendError, match="no GPU"):
        backend.get("gpu")


def test_the_reference_compiles_and_runs_nothing():
    with pytest.raises(BackendError):
        backend.get("reference").compile([])
    with pytest.raises(BackendError):
        backend.get("reference").load(scale(1))


# ------------------------------------------------------------------------------------------------------------ plug-ins


class Plugin:
    name, dialect, rank, kind = "plugin", "c", 5, "gpu"
    reason: str | None = None

    def is_available(self):
        return self.reason


@pytest.fixture
def plugin(monkeypatch, forget):
    """A backend from another package: one entry point and one class."""
    module = types.ModuleType("graphc_plugin")
    module.Plugin = Plugin
    monkeypatch.setitem(sys.modules, "graphc_plugin", module)
    monkeypatch.setattr(Plugin, "reason", None)
    table = {**backend.registered(), "plugin": "graphc_plugin:Plugin", "lost": "graphc_no_such_module:Lost"}
    monkeypatch.setattr(backend, "registered", lambda: table)


def test_a_plugin_is_found_by_name_rank_and_kind(plugin):
    assert backend.get("plugin").name == backend.get("auto").name == backend.get("gpu").name == "plugin"


def test_a_plugin_that_cannot_run_is_passed_over_and_its_reason_shown(plugin, monkeypatch):
    monkeypatch.setattr(Plugin, "reason", "no such device; install a driver")
    assert backend.get("auto").name == "cpu"
    with pytest.raises(BackendError, match="cannot run here: no such device; install a driver"):
        backend.get("plugin")
    assert backend.status()["plugin"] == "no such device; install a driver"


def test_a_module_that_cannot_be_imported_is_a_reason(plugin):
    with pytest.raises(BackendError, match="graphc_no_such_module"):
        backend.get("lost")
    assert "graphc_no_such_module" in backend.status()["lost"]


def test_the_table_is_read_again_when_a_package_is_installed(cold, python, tmp_path):
    text = "from graphc.runtime import backend; print(backend.registered().get('other'))"
    site = tmp_path / "site"
    site.mkdir()
    text = f"import sys; sys.path.append({str(site)!r}); {text}"
    assert output(python(text)) == "None\n"
    info = site / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[graphc.backends]\nother = other:Other\n")
    assert output(python(text)) == "other:Other\n"


def test_declarations_of_the_native_library_are_up_to_date():
    from pathlib import Path

    assert (Path(declare.__file__).parent / "abi.py").read_text() == declare.text()
