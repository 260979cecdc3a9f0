"""The command that judges topic models, as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main

TEXTS = [
    "Apples and pears grow on trees in the orchard behind the old farm",
    "Pears, plums and apples: the harvest of trees in the orchard",
    "Trains and trams run on rails through the city to the station",
    "The city's trams, buses and trains stop at the station on rails",
] * 5
TEST = [
    "Pears and plums in the orchard",
    "Trams on rails, and a zeppelin",
    "",
    "Trains and apples and trains",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with texts and models of them: two seeds, and one with other topics."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    (folder / "test.txt").write_text("\n".join(TEST) + "\n")
    for name, more in {"a": ["--seed", "1"], "b": ["--seed", "2"], "c": ["--topics", "2"]}.items():
        arguments = [
            "fit",
            "lda",
            folder / "texts.txt",
            "-o",
            folder / f"{name}.plait",
            "--topics",
            "3",
            "-q",
        ]
        fast = ["--paths", "2", "--sweeps", "20", "--stem", "english", "--jobs", "1"]
        done = CliRunner().invoke(main, [*map(str, arguments), *fast, *more])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def ok(*arguments):
    done = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


def fails(*arguments):
    done = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    return last


def as_json(*arguments):
    return json.loads(ok(*arguments, "--json").stdout)


def test_values_are_those_of_the_library():
    found = as_json("a.plait", "test.txt", "--method", "both", "--measure", "npmi", "--measure", "c_v")
    run = plait.load("a.plait")
    fitted = run.model.corpus
    with pytest.warns(plait.PlaitWarning, match="not in the vocabulary|unknown"):
        test = plait.Corpus.read("test.txt", recipe=fitted.recipe, vocabulary=fitted.vocabulary)
    (model,) = found["models"]
    for method in ("completion", "left-to-right"):
        result = plait.evaluate.held_out(run, test, method=method)
        scores = model["held_out"][method]
        assert scores["log_likelihood"] == result.log_likelihood
        assert scores["per_token"] == result.per_token
        assert scores["standard_error"] == result.standard_error
        assert (scores["n_tokens"], scores["n_documents"]) == (result.n_tokens, result.n_documents)
    for measure in ("npmi", "c_v"):
        result = plait.evaluate.coherence(run, fitted, measure=measure)
        assert model["coherence"][measure]["per_topic"] == result.per_topic.tolist()
        assert model["coherence"][measure]["overall"] == result.overall
    assert model["diversity"]["overall"] == plait.evaluate.diversity(run).overall
    assert model["exclusivity"]["per_topic"] == plait.evaluate.exclusivity(run).per_topic.tolist()
    assert (model["model"], model["topics"], found["stability"]) == ("a.plait", 3, None)


def test_the_table_of_one_model():
    done = ok("a.plait", "test.txt")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["a.plait"]
    labels = [line.rsplit("  ", 1)[0].strip() for line in lines[1:]]
    assert labels == [
        "topics",
        "held-out log-likelihood per token, completion",
        "standard error",
        "perplexity",
        "scored tokens",
        "coherence, npmi, in the fitted documents",
        "diversity",
        "exclusivity",
    ]
    found = as_json("a.plait", "test.txt")["models"][0]["held_out"]["completion"]
    assert lines[2].endswith(f" {found['per_token']:.4f}")
    assert lines[4].endswith(f" {found['perplexity']:.2f}")


def test_several_models_have_a_column_each_and_their_stability():
    done = ok("a.plait", "b.plait", "test.txt")
    assert done.stdout.splitlines()[0].split() == ["a.plait", "b.plait"]
    assert "above the first model" in done.stdout
    assert "stability of 2 models" in done.stdout
    found = as_json("a.plait", "b.plait", "test.txt")
    result = plait.evaluate.stability(["a.plait", "b.plait"])
    assert found["stability"]["cosine"] == result.cosine
    assert found["stability"]["unrelated"]["found"] == result.unrelated.found
    np.testing.assert_array_equal(found["stability"]["matches"], result.matches)
    assert [model["model"] for model in found["models"]] == ["a.plait", "b.plait"]
    assert f"{result.cosine:.4f}" in done.stdout


def test_models_with_other_topics_are_not_compared():
    done = ok("a.plait", "c.plait", "test.txt")
    assert "stability" not in done.stdout
    assert "Note: the models differ in words or number of topics" in done.stderr
    assert as_json("a.plait", "c.plait")["stability"] is None


def test_without_documents_there_is_no_held_out_likelihood():
    done = ok("a.plait")
    assert "held-out" not in done.stdout
    assert "coherence" in done.stdout
    assert "Note: no documents to score" in done.stderr
    assert as_json("a.plait")["models"][0]["held_out"] == {}


def test_coherence_can_be_counted_in_the_test_documents():
    found = as_json("a.plait", "test.txt", "--coherence-on", "test")["models"][0]["coherence"]["npmi"]
    fitted = as_json("a.plait", "test.txt")["models"][0]["coherence"]["npmi"]
    assert found["per_topic"] != fitted["per_topic"]
    assert found["unseen"] > 0 == fitted["unseen"]


def test_options_reach_the_library():
    found = as_json("a.plait", "--top", 3, "--measure", "c_npmi", "--window", 4, "--exact-windows")
    run = plait.load("a.plait")
    result = plait.evaluate.coherence(
        run, run.model.corpus, measure="c_npmi", top=3, window=4, forgetful=False
    )
    assert found["models"][0]["coherence"]["c_npmi"]["overall"] == result.overall
    assert found["models"][0]["diversity"]["top"] == 3
    one, two = (
        as_json("a.plait", "test.txt", "--seed", seed)["models"][0]["held_out"]["completion"]
        for seed in (0, 5)
    )
    assert one["log_likelihood"] != two["log_likelihood"]


def test_json_has_no_numbers_that_json_lacks(folder):
    (folder / "one.txt").write_text("apples and pears and plums\n")
    found = as_json("a.plait", "one.txt")["models"][0]["held_out"]["completion"]
    assert found["standard_error"] is None
    assert found["n_documents"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.plait", "missing.plait"], "cannot read the model missing.plait"),
        (["a.plait", "missing.txt"], "missing.txt"),
        (["test.txt"], "test.txt is not a plait model"),
        (["test.txt", "a.plait"], "test.txt is not a plait model"),
        (["a.plait", "--coherence-on", "test"], "--coherence-on test needs TEST: give a file of documents"),
        (["a.plait", "--top", "1000"], "--top must be a whole number from 2 to"),
        (["a.plait", "--measure", "c_v", "--window", "1"], "--window must be a whole number of at least 2"),
        (
            ["a.plait", "test.txt", "--method", "both", "--particles", "0"],
            "--particles must be a whole number",
        ),
        (["a.plait", "test.txt", "--seed", "-1"], "--seed must be a whole number from 0"),
    ],
)
def test_mistakes_are_named_in_one_line(arguments, message):
    assert message in fails(*arguments)


def test_models_of_other_kinds_are_refused(folder):
    values = np.random.default_rng(0).normal(size=(30, 1))
    plait.GaussianHMM(2, n_iter=2, random_state=0, n_jobs=1).fit(values).run_.save(folder / "hmm.plait")
    assert "hmm.plait holds a hidden Markov model: `plait evaluate` judges topic models" in fails("hmm.plait")
