"""Settings: what each variable accepts, what a malformed one says, and that scopes restore."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
import timeit
from pathlib import Path

import pytest

from graphc import config
from graphc.config import VARIABLES, Settings
from graphc.errors import ConfigError, GraphcError

README = Path(__file__).resolve().parent.parent / "README.md"

READS = [
    ("backend", "CPU, reference", "cpu,reference"),
    ("cc", "zig cc", "zig cc"),
    ("num_threads", "3", 3),
    ("disable", "fuse, Simplify", frozenset({"fuse", "simplify"})),
    ("verify", "on", True),
    ("verify", "0", False),
    ("lazy_limit", "0", 0),
    ("memory_limit", "4G", 4 << 30),
    ("memory_limit", "1.5MiB", 3 << 19),
    ("memory_limit", "1000", 1000),
    ("debug", "4", 4),
]
MALFORMED = [
    ("backend", "cpu,,cuda"),
    ("backend", "cpu; rm"),
    ("num_threads", "0"),
    ("num_threads", "two"),
    ("num_threads", "1.5"),
    ("disable", "fuse simplify"),
    ("verify", "maybe"),
    ("lazy_limit", "-1"),
    ("memory_limit", "lots"),
    ("memory_limit", "-4G"),
    ("memory_limit", "nan"),
    ("debug", "5"),
    ("cache_dir", "~nobody-has-this-name/cache"),
]


@pytest.mark.parametrize("name, text, value", READS)
def test_reads(settings: Settings, monkeypatch, name, text, value):
    monkeypatch.setenv(VARIABLES[name].env, text)
    assert getattr(settings, name) == value


@pytest.mark.parametrize("name, text", MALFORMED)
def test_a_malformed_value_names_variable_value_and_remedy(settings: Settings, monkeypatch, name, text):
    variable = VARIABLES[name]
    monkeypatch.setenv(variable.env, text)
    for _ in range(2):  # it is not remembered as read
        with pytest.raises(GraphcError) as caught:
            getattr(settings, name)
        message = str(caught.value)
        assert message.startswith(f"[{variable.env}] {text!r}") and f"fix: use {variable.works}" in message
    assert isinstance(caught.value, ConfigError) and isinstance(caught.value, ValueError)


def test_malformed_values_do_not_matter_before_their_use(settings: Settings, monkeypatch):
    monkeypatch.setenv("GRAPHC_DEBUG", "loud")
    assert settings.verify in (False, True)


@pytest.mark.parametrize("name", VARIABLES)
def test_empty_counts_as_absent(settings: Settings, monkeypatch, name):
    monkeypatch.setenv(VARIABLES[name].env, " ")
    assert getattr(settings, name) == VARIABLES[name].default()


def test_every_variable_is_annotated_and_in_the_readme():
    assert set(Settings.__annotations__) == set(VARIABLES)
    readme = README.read_text()
    assert [v.env for v in VARIABLES.values() if f"`{v.env}`" not in readme] == []


def test_values_are_kept_until_reload(settings: Settings, monkeypatch):
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "3")
    assert settings.num_threads == 3
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "5")
    assert settings.num_threads == 3
    settings.reload()
    assert settings.num_threads == 5


def test_override_restores_also_after_an_error(settings: Settings, monkeypatch):
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "3")
    with settings.override(num_threads=1, disable=["fuse"]):  # set before it was ever read
        assert settings.num_threads == 1 and settings.disable == frozenset({"fuse"})
        with settings.override(num_threads=2):
            assert settings.num_threads == 2
        assert settings.num_threads == 1
    assert settings.num_threads == 3 and settings.disable == frozenset()
    with pytest.raises(KeyError), settings.override(num_threads=7):
        raise KeyError
    assert settings.num_threads == 3


def test_override_checks_every_value_before_it_changes_one(settings: Settings):
    before = settings.debug
    with pytest.raises(ConfigError, match="GRAPHC_VERIFY"), settings.override(debug=3, verify="maybe"):
        pytest.fail("entered")
    assert settings.debug == before


def test_override_with_none_is_the_default(settings: Settings, monkeypatch):
    monkeypatch.setenv("GRAPHC_LAZY_LIMIT", "7")
    with settings.override(lazy_limit=None):
        assert settings.lazy_limit == 1000
    assert settings.lazy_limit == 7


def test_assignment_is_checked(settings: Settings):
    settings.debug = 2
    assert settings.debug == 2
    with pytest.raises(ConfigError):
        settings.debug = 9
    with pytest.raises(AttributeError, match="num_threads"):
        settings.threads = 2
    with pytest.raises(AttributeError, match="num_threads"), settings.override(threads=2):
        pytest.fail("entered")


def test_the_cache_folder_is_absolute(settings: Settings, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHC_CACHE_DIR", "here")
    assert settings.cache_dir == tmp_path / "here"


def test_threads_follow_omp_then_affinity_and_cgroup(settings: Settings, monkeypatch):
    monkeypatch.delenv("GRAPHC_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7,2")
    assert settings.num_threads == 7
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for limit, threads in [(None, 8), (2.5, 3), (0.1, 1), (64.0, 8)]:
        monkeypatch.setattr(config, "cgroup_cpus", lambda limit=limit: limit)
        assert config.default_threads() == threads


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_cgroup_2_takes_the_least_of_all_parents(tmp_path):
    write(tmp_path / "member", "0::/user/job\n")
    root = tmp_path / "fs"
    assert config.cgroup_cpus(str(tmp_path / "member"), str(root)) is None
    write(root / "cpu.max", "max 100000\n")
    write(root / "user/job/cpu.max", "400000 100000\n")
    assert config.cgroup_cpus(str(tmp_path / "member"), str(root)) == 4
    write(root / "user/cpu.max", "150000 100000\n")
    assert config.cgroup_cpus(str(tmp_path / "member"), str(root)) == 1.5


def test_cgroup_1(tmp_path):
    write(tmp_path / "member", "5:memory:/job\n3:cpu,cpuacct:/job\n")
    folder = tmp_path / "fs" / "cpu,cpuacct" / "job"
    write(folder / "cpu.cfs_quota_us", "-1\n")
    write(folder / "cpu.cfs_period_us", "100000\n")
    assert config.cgroup_cpus(str(tmp_path / "member"), str(tmp_path / "fs")) is None
    write(folder / "cpu.cfs_quota_us", "200000\n")
    assert config.cgroup_cpus(str(tmp_path / "member"), str(tmp_path / "fs")) == 2


def test_a_misspelled_variable_is_warned_of_once(settings: Settings, monkeypatch):
    config.warn_of_unknown.cache_clear()
    for name in ("GRAPHC_THREADS", "GRAPHC_ZZZ", "GRAPHC_DATA_DIR"):
        monkeypatch.setenv(name, "2")
    with pytest.warns(RuntimeWarning) as caught:
        assert settings.verify in (False, True) and settings.debug in range(5)
    said = [str(w.message) for w in caught]
    assert [text.split(" is set")[0] for text in said] == ["GRAPHC_THREADS", "GRAPHC_ZZZ"]
    assert said[0].endswith("GRAPHC_NUM_THREADS would be read") and "GRAPHC_BACKEND" in said[1]


def test_a_setting_is_cheap_to_read(settings: Settings):
    assert settings.num_threads > 0
    assert min(timeit.repeat(lambda: settings.num_threads, number=10_000, repeat=5)) / 10_000 < 1e-6


def test_config_and_errors_import_nothing_heavy():
    heavy = ("numpy", "rich", "platformdirs", "pathlib", "cffi", "jinja2", "networkx")
    code = f"""
import sys, types
sys.modules["graphc"] = package = types.ModuleType("graphc")  # not graphc/__init__.py, which imports the rest
package.__path__ = [sys.argv[1]]
import graphc.config, graphc.errors
print([name for name in {heavy} if name in sys.modules])
"""
    folder = str(Path(config.__file__).parent)
    done = subprocess.run([sys.executable, "-S", "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_config_error_can_be_pickled(settings: Settings):
    with pytest.raises(ConfigError) as caught:
        settings.debug = 9
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("first_ends_first", [False, True])
def test_blocks_of_threads_that_overlap_leave_what_was_before(first_ends_first):
    settings, seen = config.settings, []
    before, both_began, second_ended = settings.num_threads, threading.Event(), threading.Event()

    def first():
        with settings.override(num_threads=7):
            both_began.wait()
            if not first_ends_first:
                second_ended.wait()
                seen.append(settings.num_threads)

    thread = threading.Thread(target=first)
    thread.start()
    while settings.num_threads != 7:
        time.sleep(0.001)
    with settings.override(num_threads=9):
        both_began.set()
        if first_ends_first:
            thread.join()
            seen.append(settings.num_threads)
    second_ended.set()
    thread.join()
    assert seen == [9 if first_ends_first else 7] and settings.num_threads == before
    with settings.override(num_threads=3), settings.override(num_threads=4):
        pass
    assert settings.num_threads == before
