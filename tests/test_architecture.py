"""The shape of the package: imports point one way, and `import plait` is quick."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from itertools import accumulate
from pathlib import Path

import pytest

import plait

ROOT = Path(plait.__file__).parent

LAYERS = (
    "display",
    "errors",
    "version",
    "checks",
    "libraries",
    "names",
    "arrays",
    "outputs",
    "mapped",
    "storage",
    "interrupts",
    "jit",
    "scratch",
    "rng",
    "threads",
    "blas",
    "data",
    "datasets",
    "kernels",
    "models",
    "plans",
    "em",
    "trace",
    "convergence",
    "run",
    "engine",
    "sampler",
    "testing",
    "speed",
    "progress",
    "fitting",
    "inference",
    "topic_fits",
    "evaluate",
    "answers",
    "interop",
    "report",
    "plots",
    "estimators",
    "hmm",
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
    found = [re.match(r" {6}(\w+)(\.py|/)|( {23})", line) for line in lines]  # or the rest of a long line
    assert tuple(own[1] for own in found if not own[3]) == LAYERS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    layer = path.relative_to(ROOT).with_suffix("").parts[0]
    assert layer in LAYERS, f"give {layer} a place in LAYERS"
    assert complaints(layer, path.read_text(encoding="utf-8")) == []


INTERNALS_OF_PAPER = {
    "internals": {"em.maximise", "rng.INITIAL", "rng.Key", "threads.Threads"},
    "page": {"progress.describe_seconds", "outputs.replacing"},
    "power": {
        "checks.short_repr",
        "jit.kernel",
        "models.chain.HmmCounts",
        "models.lda.TopicCounts",
        "models.model.Arrays",
        "models.model.Header",
        "rng.Key",
        "rng.new_stream",
        "rng.open_stream",
        "rng.uniform",
        "scratch.scratch",
        "threads.Threads",
    },
    "reproduce": {"checks.check_choice", "checks.check_integer", "outputs.replacing"},
    "results": {"outputs.cannot_write", "outputs.replacing"},
    "sotu": {"datasets.import_sotu"},
    "work": {
        "interrupts.interrupt_flag",
        "interrupts.signal_number",
        "progress.show_share",
        "outputs.cannot_write",
        "outputs.check_writable",
        "outputs.exclusive",
        "threads.count_threads",
    },
}
"""What the experiments use besides the public interface; the docstring of plait.paper gives the reasons."""

TYPES_OF_PAPER = {"data.synthetic.Bands", "models.model.Model", "models.model.Paths", "sampler.Progress"}
"""Types that appear in annotations of the experiments."""


def is_public(module: str, name: str) -> bool:
    """Tell whether a name is public: not plait's at all, offered by plait, or of a public module."""
    if module.split(".")[0] != "plait" or re.match(r"plait\.(errors|version|evaluate)\b", module):
        return True
    if module == "plait.datasets":
        return name in plait.datasets.__all__
    return name in plait.__all__ and getattr(plait, name) is getattr(import_module(module), name)


def internals(source: str) -> set[str]:
    """Return the names, not public, that a module of plait.paper imports from the rest of plait."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("plait") for alias in node.names), (
                "import names, not modules"
            )
        elif isinstance(node, ast.ImportFrom) and not node.module.startswith("plait.paper"):
            names = [alias.name for alias in node.names if not is_public(node.module, alias.name)]
            found |= {f"{node.module}.{name}".removeprefix("plait.") for name in names}
    return found


def test_experiments_use_the_public_interface_and_the_internals_that_are_listed():
    used = {
        path.stem: internals(path.read_text("utf-8")) - TYPES_OF_PAPER for path in ROOT.glob("paper/*.py")
    }
    assert {module: names for module, names in used.items() if names} == INTERNALS_OF_PAPER


def test_the_docstring_of_the_experiments_names_the_modules_that_use_internals():
    text = import_module("plait.paper").__doc__.split("They also need some internals")[1]
    assert [module for module in INTERNALS_OF_PAPER if not re.search(rf"\b{module}\b", text)] == []


def test_the_check_of_internals_tells_public_names_from_others():
    assert internals("from plait.sampler import sample, Progress") == {"sampler.Progress"}
    assert internals("from plait.datasets import sotu, import_sotu") == {"datasets.import_sotu"}
    assert internals("from plait.evaluate.agreement import token_agreement") == set()
    assert internals("def f():\n    from plait import threads") == {"threads"}


def test_the_check_sees_what_it_should():
    assert complaints("data", "from plait.errors import PlaitError\nimport numpy") == []
    assert complaints("data", "def f():\n    from plait import sampler") == [
        "line 2: data must not import plait.sampler"
    ]
    assert complaints("data", "import plait.models.lda") == ["line 1: data must not import plait.models.lda"]
    assert len(complaints("data", "from plait import PlaitError")) == 1


MOST_ARGUMENTS = 10
MOST_FIELDS = 9
MOST_LINES = 600

KERNELS = [ROOT / "rng.py", ROOT / "paper" / "power.py", *sorted(ROOT.glob("kernels/**/*.py"))]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_kernels_take_few_arguments_and_the_key_last(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list):
            names = [argument.arg for argument in node.args.args]
            assert len(names) <= MOST_ARGUMENTS, f"{node.name} takes {len(names)} arguments"
            assert "key" not in names[:-1], f"{node.name}: the key is the last argument"
        if isinstance(node, ast.ClassDef):
            fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
            assert len(fields) <= MOST_FIELDS, f"{node.name} has {len(fields)} fields"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_fit_in_the_head_or_say_why_they_do_not(path):
    source = path.read_text(encoding="utf-8")
    if len(source.splitlines()) > MOST_LINES:
        assert "longer than" in (ast.get_docstring(ast.parse(source)) or ""), "split it, or give the reason"


def test_importing_plait_imports_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "pandas", "rich", "joblib", "safetensors", "click"]
    code = f"import json, sys, plait; print(json.dumps([name for name in {heavy} if name in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == []


def loaded_with(name: str, found: set[str] | None = None) -> set[str]:
    """Return the names of all that importing a module of plait imports, at the top of some module."""
    found = set() if found is None else found
    place = ROOT.parent.joinpath(*name.split("."))
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [one if is_module(one) else str(node.module) for one in inner]
            names = inner if node.module.split(".")[0] != "plait" else names
        else:
            continue
        for module in (parent for one in names for parent in accumulate(one.split("."), "{}.{}".format)):
            if module not in found:
                found.add(module)
                if module.split(".")[0] == "plait":
                    loaded_with(module, found)
    return found


@pytest.mark.parametrize(
    "name", ["plait.sampler", "plait.models.lda", "plait.models.hmm", "plait.topic_fits"]
)
def test_samplers_and_the_command_load_neither_scikit_learn_nor_what_else_is_slow(name):
    slow = re.compile(r"(sklearn|pandas|rich|scipy\.(?!linalg))\b")  # Numba loads scipy.linalg itself
    assert "numba" in loaded_with(name)
    assert [module for module in loaded_with(name) if slow.match(module)] == []


def test_topic_models_load_no_kernels_of_chains():
    assert "plait.kernels.chains" in loaded_with("plait.estimators.hmm")
    assert "plait.kernels.chains" not in loaded_with("plait.estimators.lda")


def test_public_names():
    for name in plait.__all__:
        assert getattr(plait, name) is not None
        assert name in dir(plait)
    with pytest.raises(AttributeError, match="module 'plait' has no attribute 'Lda'"):
        _ = plait.Lda
