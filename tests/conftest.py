"""Options of the suite: which backend runs it, and whether goldens are compared or rewritten."""

from __future__ import annotations

import difflib
import os
import shutil
import signal
import tempfile
import tomllib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import simulator

# A busy machine must not fail a test by its clock; a failure prints what reproduces it.
hypothesis.settings.register_profile("ci", deadline=None, print_blob=True)
hypothesis.settings.register_profile("long", deadline=None, print_blob=True, max_examples=2_000)
hypothesis.settings.load_profile("ci")

ROOT = str(Path(__file__).resolve().parent.parent)
GOLDENS = Path(__file__).parent / "goldens"
_made_cache: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--backend", default="cpu", type=lambda name: {"c": "cpu", "numpy": "cpu"}.get(name, name),
                     help="backend that runs the suite (default: cpu, which is also called c)")
    parser.addoption("--programs", type=int, default=300, help="random programs per differential test")
    parser.addoption("--update-goldens", action="store_true", help="rewrite tests/goldens; read the diff after it")


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment before anything imports graphc. Workers of pytest-xdist and subprocesses inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite in the background; programs under test want Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["GRAPHC_BACKEND"] = config.getoption("--backend")
    # Wherever they start, they import what is tested, and not what another PYTHONPATH or an installation names.
    path = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", ROOT)]
    os.environ["PYTHONPATH"] = os.pathsep.join([ROOT, *path])
    if "GRAPHC_CACHE_DIR" not in os.environ:  # never the user's own cache
        os.environ["GRAPHC_CACHE_DIR"] = tempfile.mkdtemp(prefix="graphc-tests-")
        _made_cache.append(os.environ["GRAPHC_CACHE_DIR"])
    if simulator.is_chosen(config.getoption("--backend")):
        simulator.switch_on()


def pytest_unconfigure(config: pytest.Config) -> None:
    if simulator.is_chosen(config.getoption("--backend")):
        simulator.switch_off()
    for folder in _made_cache:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop("GRAPHC_CACHE_DIR", None)
    _made_cache.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests record as "machine code" of the kernels that they compiled."""
    told = [text for report in terminalreporter.stats.get("passed", ()) for what, text in report.user_properties
            if what == "machine code"]
    if told:
        terminalreporter.section("CUDA kernels of the goldens, by NVRTC")
        terminalreporter.write_line("\n".join(sorted(told)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what the backend cannot do: tests/lacking.toml has it all."""
    table = tomllib.loads((Path(__file__).parent / "lacking.toml").read_text())
    name = config.getoption("--backend")
    lacking = {} if name == "cpu" else table["others"] | table.get(name, {})
    if name not in ("cpu", "reference"):
        lacking |= table["devices"]
    if name.endswith("-emulated"):
        lacking |= table["emulated"]
    for item in items:
        test = item.nodeid.removeprefix("tests/")
        for key in (test.partition("/")[0], test.partition("::")[0], test.partition("[")[0], test):
            if key in lacking:
                item.add_marker(pytest.mark.skip(reason=f"{name}: {lacking[key]}"))
                break


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test whose kernels the simulator finds fault with has failed."""
    result = yield
    if simulator.is_chosen(item.config.getoption("--backend")):
        simulator.raise_findings()
    return result


@pytest.fixture(autouse=True, scope="session")
def exact_buffers(pytestconfig: pytest.Config) -> None:
    if simulator.is_chosen(pytestconfig.getoption("--backend")):
        simulator.use_exact_buffers()


@pytest.fixture(scope="session")
def backend(pytestconfig: pytest.Config) -> str:
    """The name of the backend that this run is about."""
    return pytestconfig.getoption("--backend")


@pytest.fixture
def compiled(backend: str) -> None:
    """For tests of what only a backend with kernels has: counters of compiles and launches, updates in place."""
    if backend == "reference":
        pytest.skip("the reference compiles nothing")


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> int:
    """How many random programs a differential test should run."""
    return pytestconfig.getoption("--programs")


@pytest.fixture
def settings():
    """The settings of graphc, read afresh from the test's environment (monkeypatch.setenv) and restored after it."""
    from graphc.config import settings

    kept = dict(settings.__dict__)
    settings.reload()
    yield settings
    settings.__dict__.clear()
    settings.__dict__.update(kept)


@pytest.fixture(autouse=True, scope="session")
def every_pass_is_verified():
    """Whatever a test builds, graphs, schedules and kernels are checked after each pass."""
    from graphc import build
    from graphc.passes import verify

    def verified(name: str, graph_pass: Callable) -> Callable:
        def run(roots, *target):
            roots = graph_pass(roots, *target)
            verify.verify_graph(roots, name)
            return roots

        return run

    def lower(schedule, *choose):
        verify.verify_schedule(schedule)
        steps = lower_unchecked(schedule, *choose)
        verify.verify_kernels(steps)
        return steps

    def batch(*arguments, **options):
        steps = batch_unchecked(*arguments, **options)
        verify.verify_batches(steps)
        return steps

    lower_unchecked, batch_unchecked = build.lower, build.batch
    build.lower, build.batch = lower, batch
    build.GRAPH_PASSES = tuple(p._replace(run=verified(p.name, p.run)) for p in build.GRAPH_PASSES)


# What these modules ask is what a function gives, of every dtype: hundreds of kernels each. They are compiled without
# optimisation, in a fifth of the time. That its bits are the same with it is what test_differential.py asks.
QUICKLY_COMPILED = ("test_api_activations", "test_api_linalg", "test_api_manipulation", "test_api_reductions",
                    "test_api_sorting", "test_frontend_elementwise", "test_frontend_indexing", "test_kernels",
                    "test_numpy_habits", "test_vmap")


@pytest.fixture(autouse=True, scope="module")
def quickly_compiled(request: pytest.FixtureRequest, backend: str) -> Iterator[None]:
    if backend != "cpu" or request.module.__name__ not in QUICKLY_COMPILED:
        yield
        return
    from together import Together

    with Together("-O0").chosen():
        yield


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """golden("c/softmax.c", text) holds `text` against tests/goldens/c/softmax.c, or writes it (--update-goldens)."""

    def check(name: str, text: str) -> None:
        path = GOLDENS / name
        if pytestconfig.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden {name}: run pytest --update-goldens and read what it wrote")
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"goldens/{name}", "this run", lineterm=""
            )
            pytest.fail("\n".join([f"golden {name} differs; if that is meant: pytest --update-goldens", *diff]))

    return check
