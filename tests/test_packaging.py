"""The wheel: built from the checkout, unpacked elsewhere, and used from a folder that knows nothing of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Copied before the build, because setuptools leaves build/ and *.egg-info beside the sources.
NEEDED = ("graphc", "runtime", "codegen_templates", "examples", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("source")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    # No isolation and no dependencies: nothing is fetched.
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", out, copy], cwd=out)
    (built,) = out.glob("graphc-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh venv that holds the wheel and sees the libraries, but not the checkout."""
    folder = tmp_path_factory.mktemp("venv")
    run([sys.executable, "-m", "venv", "--without-pip", folder], cwd=folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q"]
    run([*install, wheel], cwd=folder)
    libraries = folder / "libraries"
    libraries.mkdir()
    for path in {entry for entry in map(Path, sys.path) if entry.name == "site-packages"}:
        for entry in path.iterdir():  # all but graphc itself, which may be there as an editable install
            if "graphc" not in entry.name and entry.suffix != ".pth" and not (libraries / entry.name).exists():
                (libraries / entry.name).symlink_to(entry)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "libraries.pth").write_text(f"{libraries}\n")
    return python


def run(command: list, cwd: Path, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_every_source_file(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = set()
    for folder, prefix in [("graphc", "graphc"), ("runtime", "graphc/runtime"), ("examples", "graphc/examples"),
                           ("codegen_templates", "graphc/codegen_templates")]:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".j2", ".toml", ".c", ".h") and "__pycache__" not in path.parts:
                relative = path.relative_to(ROOT / folder).as_posix()
                if folder != "graphc" or relative.split("/")[0] not in ("runtime", "codegen_templates", "examples"):
                    expected.add(f"{prefix}/{relative}")
    assert expected - names == set()
    assert {name for name in names if name.split("/")[0] not in ("graphc",)} == {
        name for name in names if name.startswith("graphc-0.1.0.dist-info/")
    }
    assert any(name.endswith("licenses/LICENSE") for name in names) and "graphc/py.typed" in names


def test_the_installed_package_computes(installed: Path, tmp_path: Path):
    code = (
        "import graphc as gc, graphc.runtime, sys\n"
        "x = gc.asarray([1.0, 2.0, 3.0])\n"
        "print(float(gc.sum(x * x)), gc.__file__, graphc.runtime.__name__)\n"
        "assert 'runtime' not in sys.modules\n"
    )
    value, file, name = run([installed, "-c", code], cwd=tmp_path).split()
    assert float(value) == 14.0 and name == "graphc.runtime"
    assert Path(file).is_relative_to(installed.parent.parent) and not Path(file).is_relative_to(ROOT)


def test_the_installed_command_runs(installed: Path, tmp_path: Path):
    command = installed.parent / "graphc"
    assert "dump-kernels" in run([command, "--help"], cwd=tmp_path)
    listing = run([command, "devices"], cwd=tmp_path)
    assert "cpu" in listing and "reference" in listing
