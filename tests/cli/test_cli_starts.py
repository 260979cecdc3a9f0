"""`plait fit lda --init` and `--seeds`: the same fits as the estimator's, and what they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.models.seeds import SEED_WEIGHT

TEXTS = [
    "Taxes and revenues raise the budget",
    "The army and the navy fight a war",
    "A tax on income, and revenue from taxes",
    "War: armies, navies, soldiers",
] * 8
RECIPE = plait.TextRecipe(stem="english")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that fits with some options, in a folder with texts; it returns the result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / "seeds.txt").write_text("war: Armies war\ntax: taxes revenue\n")

    def run(*more, output="m.plait", status=0):
        fast = ("--topics", 3, "--paths", 2, "--sweeps", 12, "--stem", "english", "--seed", 5, "-q")
        done = CliRunner().invoke(
            main, [str(a) for a in ("fit", "lda", "texts.txt", "-o", output, *fast, *more)]
        )
        assert done.exit_code == status, done.output
        return done

    return run


def estimate(corpus=None, **options):
    corpus = plait.Corpus.from_texts(TEXTS, recipe=RECIPE) if corpus is None else corpus
    return plait.LDA(3, n_paths=2, max_iter=12, random_state=5, n_jobs=1, **options).fit(corpus)


def same_fit(estimator, path="m.plait"):
    run = plait.load(path)
    np.testing.assert_array_equal(run.paths, estimator.paths_)
    np.testing.assert_array_equal(run.model.eta, estimator.run_.model.eta)


@pytest.mark.parametrize("init", ["uniform", "progressive", "spectral"])
def test_command_and_estimator_start_alike(command, init):
    command("--init", init)
    same_fit(estimate(init=init))
    assert plait.load("m.plait").model.initial == init


def test_a_model_is_a_start(command):
    command(output="first.plait")
    command("--init", "first.plait")
    same_fit(estimate(init="first.plait"))


@pytest.mark.parametrize(("weight", "options"), [(SEED_WEIGHT, []), (0.25, ["--seed-weight", 0.25])])
def test_command_and_estimator_have_the_same_seeds(command, weight, options):
    command("--seeds", "seeds.txt", "--eta", 0.02, *options)
    seeds = {"war": ["Armies", "war"], "tax": ["taxes", "revenue"]}
    same_fit(estimate(seeds=seeds, seed_weight=weight, topic_word_prior=0.02))


def test_the_help_states_the_default_weight():
    text = CliRunner().invoke(main, ["fit", "lda", "--help"]).output
    assert float(re.search(r"Strength of seed words\.\s+\[default: ([\d.]+)\]", text)[1]) == SEED_WEIGHT


def test_unknown_seed_words_are_noted(command, tmp_path):
    (tmp_path / "s.json").write_text('{"tax": ["tax", "zebra"]}')
    assert (
        "Note: seed words that do not occur in the corpus are ignored: 'zebra'"
        in command("--seeds", "s.json").stderr
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--init", "random"], "Error: --init must be one of 'uniform', .*, got 'random'"),
        (["--init", "texts.txt"], "Error: texts.txt is not a plait model"),
        (["--init", "hmm.plait"], "Error: hmm.plait holds a hidden Markov model: give a topic model"),
        (["--init", "two.plait"], "Error: --init must have as many topics as --topics, 3, got 2"),
        (["--seeds", "none.txt"], "Error: none.txt: there is no such file"),
        (["--seeds", "texts.txt"], "Error: texts.txt:1: the line must be a name, a colon and words"),
        (["--seeds", "x.txt"], r"Error: --seeds\['x'\] has no word that occurs in the corpus, got 'zebra'"),
        (["--seeds", "many.txt"], "Error: --seeds must be for at most 3 topics, got 4: raise --topics"),
        (
            ["--seeds", "seeds.txt", "--seed-weight", -1],
            "Error: --seed-weight must be a number of at least 0",
        ),
        (["--seeds", "seeds.txt", "--eta", -1], "Error: --eta must be a number of at least 0, got -1"),
    ],
)
def test_impossible_starts_are_refused_before_the_run(command, tmp_path, options, message):
    (tmp_path / "x.txt").write_text("x: zebra")
    (tmp_path / "many.txt").write_text("\n".join(f"{name}: tax" for name in "abcd"))
    plait.CategoricalHMM(2, n_iter=2, random_state=0).fit([[0], [1], [0]]).run_.save("hmm.plait")
    plait.LDA(2, max_iter=1, random_state=0).fit([["tax", "war"]]).run_.save("two.plait")
    assert re.search(rf"^{message}[^\n]*$", command(*options, status=2).stderr, re.MULTILINE)
    assert not (tmp_path / "m.plait").exists()


def test_the_output_does_not_replace_its_inputs(command):
    command(output="first.plait")
    for options in (["--init", "first.plait"], ["--seeds", "first.plait"]):
        done = command(*options, "--overwrite", output="first.plait", status=2)
        assert "first.plait" in done.stderr
        assert plait.load("first.plait").finished
