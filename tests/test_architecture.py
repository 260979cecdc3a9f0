"""The shape of the package: imports point one way, and `import plait` is quick."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plait

ROOT = Path(plait.__file__).parent

LAYERS = (
    "errors",
    "version",
    "checks",
    "storage",
    "jit",
    "scratch",
    "rng",
    "threads",
    "blas",
    "data",
    "datasets",
    "kernels",
    "models",
    "em",
    "run",
    "sampler",
    "testing",
    "progress",
    "inference",
    "evaluate",
    "estimators",
    "paper",
    "cli",
)
"""A module imports from its own layer and from those before it, never from those after it."""

MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def layer_of(name: str) -> str:
    """Return the layer of a module: plait.data.corpus belongs to data."""
    return name.split(".")[1]


def is_module(name: str) -> bool:
    place = ROOT.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").exists()


def imports(source: str) -> list[tuple[int, str]]:
    """Return the line and the module of everything of plait that some source imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write imports in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append((node.lineno, inner if is_module(inner) else str(node.module)))
    return [(line, name) for line, name in found if name.split(".")[0] == "plait"]


def complaints(layer: str, source: str) -> list[str]:
    """Return what is wrong with the imports of a module of some layer."""
    found = []
    for line, name in imports(source):
        if name == "plait":
            if layer not in ("cli", "__main__"):  # the top of the package stands for all of it
                found.append(f"line {line}: import from the module that defines it, not from plait")
        elif LAYERS.index(layer_of(name)) > LAYERS.index(layer):
            found.append(f"line {line}: {layer} must not import {name}")
    return found


def test_the_map_for_contributors_is_this_one():
    text = ROOT.parents[1].joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text.split("    src/plait/\n")[1].split("    tests/")[0].splitlines()
    assert tuple(re.match(r" {6}(\w+)(\.py|/)", line)[1] for line in lines) == LAYERS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    layer = path.relative_to(ROOT).with_suffix("").parts[0]
    assert layer in LAYERS, f"give {layer} a place in LAYERS"
    assert complaints(layer, path.read_text(encoding="utf-8")) == []


def test_the_check_sees_what_it_should():
    assert complaints("data", "from plait.errors import PlaitError\nimport numpy") == []
    assert complaints("data", "def f():\n    from plait import sampler") == [
        "line 2: data must not import plait.sampler"
    ]
    assert complaints("data", "import plait.models.lda") == ["line 1: data must not import plait.models.lda"]
    assert len(complaints("data", "from plait import PlaitError")) == 1


def test_importing_plait_imports_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "pandas", "rich", "joblib", "safetensors", "click"]
    code = f"import json, sys, plait; print(json.dumps([name for name in {heavy} if name in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == []


def test_public_names():
    for name in plait.__all__:
        assert getattr(plait, name) is not None
        assert name in dir(plait)
    with pytest.raises(AttributeError, match="module 'plait' has no attribute 'Lda'"):
        _ = plait.Lda
