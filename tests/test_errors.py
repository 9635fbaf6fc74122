"""What an error says, whom it is caught by, and that the user's line is found without keeping frames alive."""

from __future__ import annotations

import gc as garbage
import linecache
import pickle
import timeit
import weakref

import numpy as np
import pytest

from graphc import errors
from graphc.errors import GraphcError, Site, user_site

# A module that poses as part of graphc: what lies in it is not the user's code.
INSIDE: dict = {"__name__": "graphc.pretended"}
exec(
    "from graphc.errors import ShapeError, user_site\n"
    "def matmul(a, b): return _matmul(a, b)\n"
    "def _matmul(a, b): raise ShapeError('shapes (3, 4) and (5, 6) do not fit', op='matmul', fix='transpose one')\n"
    "def record(*args, **options): return _record()\n"
    "def _record(): return user_site()\n",
    INSIDE,
)
matmul, record = INSIDE["matmul"], INSIDE["record"]


def run(source: str, file: str = "script.py", **names) -> dict:
    """Run a user's script whose lines linecache can show."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"__name__": "__main__", "matmul": matmul, "record": record, **names}
    exec(compile(source, file, "exec"), scope)
    return scope


def test_the_text_of_an_error():
    with pytest.raises(errors.ShapeError) as caught:
        run("a = b = None\n\ndef main():\n    y = 'é', matmul(a, b)\nmain()\n")
    assert str(caught.value) == (
        "[matmul] shapes (3, 4) and (5, 6) do not fit\n"
        "  at script.py:4 in main: y = 'é', matmul(a, b)\n"
        "                                   ^^^^^^^^^^^^\n"
        "  fix: transpose one"
    )


def test_without_source_or_op_or_fix_the_rest_still_reads():
    site = compile("f(x)", "<gone>", "exec"), 0
    assert str(GraphcError("it broke", site=site)) == "it broke\n  at <gone>:1"
    assert str(GraphcError("it broke", op="sum", site="x.py:3")) == "[sum] it broke\n  at x.py:3"


def test_an_expression_over_several_lines_names_its_first_line():
    scope = run("def f():\n    return record(\n        1,\n    )\nsite = f()\n")
    assert Site(*scope["site"]).excerpt() == "script.py:2 in f: return record("


def test_two_calls_on_one_line_are_told_apart():
    scope = run("sites = [record(1), record(22)]\n")
    first, second = (Site(*site).excerpt().splitlines()[1] for site in scope["sites"])
    assert first.strip() == "^" * len("record(1)") and second.strip() == "^" * len("record(22)")
    assert first != second


def test_paths_below_the_current_folder_are_shortened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = run("site = record()\n", file=str(tmp_path / "sub" / "a.py"))
    assert Site(*scope["site"]).resolve() == "sub/a.py:1"
    monkeypatch.chdir(tmp_path / "..")
    assert Site(*scope["site"]).location() == f"{tmp_path.name}/sub/a.py:1"
    scope = run("site = record()\n", file="/elsewhere/a.py")
    assert Site(*scope["site"]).resolve() == "/elsewhere/a.py:1"


def test_numpy_and_context_managers_are_looked_through():
    class Array:
        sum = staticmethod(record)

    scope = run("site = np.sum(array)\n", np=np, array=Array())
    assert Site(*scope["site"]).excerpt().startswith("script.py:1: site = np.sum(array)")


def test_examples_are_user_code_and_the_rest_of_graphc_is_not():
    scope = {"record": record}
    exec(compile("site = record()", "kmeans.py", "exec"), scope | {"__name__": "graphc.examples.kmeans"}, scope)
    assert scope["site"][0].co_filename == "kmeans.py"
    scope = {"record": record}
    exec(compile("site = record()", "linear.py", "exec"), scope | {"__name__": "graphc.nn.linear"}, scope)
    assert scope["site"][0].co_filename == __file__
    scope = {"record": record}
    exec(compile("site = record()", "mine.py", "exec"), scope | {"__name__": "graphcalc"}, scope)
    assert scope["site"][0].co_filename == "mine.py"


def test_globals_without_a_name_are_user_code():
    scope: dict = {}
    exec(compile("site = record()", "bare.py", "exec"), {"record": record, "__builtins__": {}}, scope)
    assert scope["site"][0].co_filename == "bare.py"


def test_no_frame_is_kept_alive():
    class Big:
        pass

    def caller():
        big = Big()
        return weakref.ref(big), record()

    garbage.disable()
    try:
        ref, site = caller()
        assert ref() is None and site[0] is caller.__code__
    finally:
        garbage.enable()


def test_finding_the_site_is_quick():
    best = min(timeit.repeat(record, number=2_000, repeat=50)) / 2_000
    assert best < 2e-6  # 0.4 us on the machine it was written on; the margin is for slow and busy ones


CAUGHT_BY = {
    "ShapeError": (ValueError,),
    "ArgumentError": (ValueError,),
    "AxisError": (ValueError, IndexError),
    "DTypeError": (TypeError,),
    "IntegerOverflow": (OverflowError,),
    "PowerError": (ValueError,),
    "IndexOutOfRange": (IndexError,),
    "TruthValueError": (ValueError,),
    "TracerError": (RuntimeError,),
    "JitError": (TypeError,),
    "BatchingError": (NotImplementedError,),
    "StateError": (KeyError, ValueError),
    "WeightsError": (ValueError,),
    "GradientError": (ValueError,),
    "BackendError": (RuntimeError,),
    "NoCompilerError": (errors.BackendError, RuntimeError),
    "CompileError": (RuntimeError,),
    "KernelFault": (RuntimeError,),
    "CacheError": (OSError,),
    "OutOfMemory": (MemoryError,),
    "MismatchError": (ArithmeticError,),
    "ConfigError": (ValueError,),
}


def test_the_table_names_every_error():
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    defined = {name for name, value in classes.items() if issubclass(value, GraphcError)}
    assert defined == set(CAUGHT_BY) | {"GraphcError"}


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_errors_are_caught_as_numpy_users_expect(name):
    kind = getattr(errors, name)
    for builtin in CAUGHT_BY[name]:
        with pytest.raises(builtin, match=r"\[sum\] bad") as caught:
            raise kind("bad", op="sum", fix="do well")
        assert isinstance(caught.value, GraphcError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is kind and str(copy) == str(caught.value)


def test_axis_error_has_the_bases_of_numpys():
    bases = {base for base in np.exceptions.AxisError.__mro__ if base not in (np.exceptions.AxisError, object)}
    assert bases <= set(errors.AxisError.__mro__)


def test_there_is_no_site_past_the_end_of_the_stack():
    assert user_site(10_000) is None
    assert Site(*user_site(0)).code.co_name == "test_there_is_no_site_past_the_end_of_the_stack"
