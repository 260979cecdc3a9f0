"""Runs in ArviZ: paths have a dimension of their own, and a run is one chain."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.interop import to_arviz
from plait.trace import Trace

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # about ArviZ 1
    az = pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def run(small_bands):
    model = plait.LdaModel(small_bands.corpus, 3)
    return plait.sample(model, n_paths=2, n_sweeps=7, thin=3, seed=2**62, n_jobs=1, names={1: "war"})


def test_paths_are_never_chains(run):
    data = to_arviz(run)
    log_joint, paths = data["sample_stats"]["log_joint"], data["posterior"]["paths"]
    assert dict(log_joint.sizes) == {"chain": 1, "draw": 3, "path": 2}
    assert dict(paths.sizes) == {"chain": 1, "draw": 1, "path": 2, "site": run.model.n_sites}
    for group in ("posterior", "sample_stats"):
        assert "Paths are not chains" in data[group].attrs["note"]
        assert "not a posterior interval" in data[group].attrs["note"]


def test_draws_are_numbered_by_their_sweeps(run):
    data = to_arviz(run)
    assert data["sample_stats"]["draw"].values.tolist() == [3, 6, 7]
    assert data["posterior"]["draw"].values.tolist() == [7]
    assert np.array_equal(data["sample_stats"]["log_joint"][0], run.trace.log_joint)
    assert np.array_equal(data["sample_stats"]["seconds"][0], run.trace.seconds)
    assert np.array_equal(data["posterior"]["paths"][0, 0], run.paths)


def test_without_inference_data_it_is_a_tree(run, monkeypatch):
    """ArviZ 1 has no InferenceData, but takes xarray's DataTree."""
    xarray = pytest.importorskip("xarray")
    expected = to_arviz(run)
    if hasattr(az, "InferenceData"):
        monkeypatch.delattr(az, "InferenceData")
    data = to_arviz(run)
    assert isinstance(data, xarray.DataTree)
    assert set(data.children) == {"posterior", "sample_stats"}
    assert data.attrs["inference_library"] == "plait"
    for group, name in (("posterior", "paths"), ("sample_stats", "log_joint")):
        assert data[group][name].identical(expected[group][name])
        assert "Paths are not chains" in data[group].attrs["note"]


def test_a_file_of_arviz_keeps_everything(run, tmp_path):
    pytest.importorskip("h5netcdf")
    to_arviz(run).to_netcdf(str(tmp_path / "run.nc"))
    again = az.from_netcdf(str(tmp_path / "run.nc"))
    attributes = again["sample_stats"].attrs
    assert (attributes["model"], attributes["n_paths"], int(attributes["seed"])) == ("lda", 2, 2**62)
    assert json.loads(attributes["names"]) == {"1": "war"}
    assert np.array_equal(again["posterior"]["paths"][0, 0], run.paths)


def test_arviz_summarises_each_path_alone(run):
    summary = az.summary(to_arviz(run), group="sample_stats", var_names=["log_joint"], kind="stats")
    assert len(summary) == 2
    np.testing.assert_allclose(
        np.asarray(summary["mean"], float), run.trace.log_joint.mean(axis=0), rtol=1e-3
    )


def test_other_models_and_runs_without_a_trace_are_taken(run):
    data = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    model = plait.HmmModel(plait.GaussianEmissions(data, 2))
    hmm = plait.sample(model, n_paths=3, n_sweeps=2, n_jobs=1)
    assert dict(to_arviz(hmm)["posterior"]["paths"].sizes) == {"chain": 1, "draw": 1, "path": 3, "site": 20}
    bare = to_arviz(replace(run, trace=Trace.empty(2)))
    assert dict(bare["sample_stats"]["log_joint"].sizes) == {"chain": 1, "draw": 0, "path": 2}
