"""What the functions of `plait.interop` take, and what they import."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait import interop
from plait.errors import PlaitError
from plait.trace import Trace

OF_TOPICS = (
    interop.to_pyldavis,
    interop.pyldavis_arguments,
    interop.topics_frame,
    interop.documents_frame,
    interop.tokens_frame,
    lambda run: interop.to_mallet(run, "state.gz"),
)


@pytest.mark.parametrize("function", [*OF_TOPICS, interop.to_arviz])
@pytest.mark.parametrize("source", [None, "run.plait", plait.LDA()])
def test_only_runs_and_fitted_estimators_are_taken(function, source):
    with pytest.raises(
        PlaitError, match=r"\Arun must be a Run or a fitted estimator, got [^\n]*\Z"
    ) as caught:
        function(source)
    assert caught.value.argument == "run"


@pytest.mark.parametrize("function", OF_TOPICS)
def test_runs_of_other_models_are_refused(function):
    data = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    run = plait.sample(plait.MixtureModel(plait.GaussianEmissions(data, 2)), n_sweeps=2, n_jobs=1)
    with pytest.raises(PlaitError, match=r"run must have a model of the kind 'lda'.*, got 'mixture'"):
        function(run)


@pytest.mark.parametrize("function", OF_TOPICS)
def test_a_run_without_paths_is_refused(function, small_bands):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 3), n_paths=1, n_sweeps=1, n_jobs=1)
    settings = replace(run.settings, n_paths=0, stages=())
    run = replace(run, paths=run.paths[:0], settings=settings, trace=Trace.empty(0))
    with pytest.raises(PlaitError, match="run must have at least one path, got none"):
        function(run)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (interop.to_pyldavis, "pyLDAvis"),
        (interop.topics_frame, "pandas"),
        (interop.documents_frame, "pandas"),
        (interop.tokens_frame, "pandas"),
        (interop.to_arviz, "arviz"),
    ],
)
def test_a_missing_library_is_named_with_the_extra_to_install(function, name, small_bands, monkeypatch):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 3), n_paths=1, n_sweeps=1, n_jobs=1)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PlaitError, match=rf'\Athis needs {name}[^\n]*: pip install "plait\[interop\]"\Z'):
        function(run)


def test_importing_the_package_imports_no_other_library():
    optional = ["pandas", "arviz", "xarray", "pyLDAvis", "gensim"]
    code = (
        "import json, sys, plait; plait.interop.to_mallet;"
        f"print(json.dumps([name for name in {optional} if name in sys.modules]))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == []
