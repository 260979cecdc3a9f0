"""The examples of the documentation run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.data.languages import LANGUAGES
from plait.run import load

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_your_own_model(whole, capsys):
    """The page builds a model on the public contract alone: it is right, and it needs no change in plait.

    Its last two examples, a check of compiled code and twenty runs, are left to the slow tests.
    """
    text = DOCS.joinpath("your-own-model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    blocks = blocks if whole else blocks[:-2]
    names: dict = {"__name__": __name__}
    printed = []
    for code, expected in blocks:
        exec(compile(code, "your-own-model.md", "exec"), names)
        printed.append(capsys.readouterr().out)
        if expected:
            assert printed[-1] == expected
    imports = re.findall(r"^(?:from|import) plait\S*|^from plait\S* import \S+", text, re.MULTILINE)
    assert set(imports) <= {"import plait", "from plait.testing", "from plait.progress"}

    tables = [np.array(line.strip("[]").split(), int) for line in printed[3].splitlines()]
    assert sorted(table.max() for table in tables) == [30] * 4  # every community, whole
    assert load("communities.plait", names["Communities"]).sweep == 250
    if whole:
        one, five = (int(re.search(r": (\d+) of 10", line)[1]) for line in printed[-1].splitlines())
        assert five > one


def test_command(capsys):
    text = DOCS.joinpath("command.md").read_text(encoding="utf-8")
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "command.md", "exec"), names)
    assert load("fruit.plait").finished
    assert load("slim.plait").model.kind == "slim-lda"
    assert re.fullmatch(r"\[\[0\.\d+ +0\.\d+\]\]\n", capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of ArviZ, about its next version
def test_exchange(capsys):
    for library in ("arviz", "pandas", "pyLDAvis"):
        pytest.importorskip(library)
    text = DOCS.joinpath("exchange.md").read_text(encoding="utf-8")
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python")
    for code, expected in blocks:
        exec(compile(code, "exchange.md", "exec"), names)
        assert capsys.readouterr().out == expected
    assert Path("texts.html").stat().st_size > 1000


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_pictures_are_there_and_small(page):
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", DOCS.joinpath(page).read_text(encoding="utf-8")):
        assert 0 < (DOCS / name).stat().st_size < 300_000


def test_gallery():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    text = DOCS.joinpath("gallery.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(compile(example, "gallery.md", "exec"), names)
    pyplot.close(names["ax"].figure)
    assert Path("map.pdf").stat().st_size > 1000
    drawn = set(re.findall(r"`plots\.(\w+)", text))
    assert drawn == set(plait.plots.__all__)
    shown = re.findall(r"images/gallery/([\w-]+)\.png", text)
    made = re.findall(r'save\("([\w-]+)"', DOCS.joinpath("gallery.py").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(made)


def test_starting(capsys):
    text = DOCS.joinpath("starting.md").read_text(encoding="utf-8")
    starts, words, seeds = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(starts, "starting.md", "exec"), {})
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(lines["uniform"]) + 0.1 < float(lines["progressive"])
    assert float(lines["uniform"]) + 0.1 < float(lines["spectral"])
    exec(compile(words, "starting.md", "exec"), {})
    topics = [set(re.findall(r"'(\w+)'", line)) for line in capsys.readouterr().out.splitlines()]
    fruit = {"apple", "pear", "plum", "cherry"}
    for old, new in (topics[:2], topics[2:]):
        assert old <= fruit or not old & fruit
        assert (old <= fruit) == (new <= fruit) == ("cherry" in new)
    exec(compile(seeds, "starting.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("0 war [")
    assert {"war", "armi"} <= set(re.findall(r"'(\w+)'", first))
    assert {"tax", "revenu"} <= set(re.findall(r"'(\w+)'", second))


def test_models(capsys):
    text = DOCS.joinpath("models.md").read_text(encoding="utf-8")
    walk, mixture, picture, chains = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(walk, "models.md", "exec"), {})
    *steps, rest, travel, right = (float(x) for x in re.findall(r"\d+\.\d*", capsys.readouterr().out))
    np.testing.assert_allclose(steps, [4, 20], rtol=0.15)
    assert rest < 1 < 3 < travel
    assert right > 0.95
    exec(compile(mixture, "models.md", "exec"), {})
    means = [float(x) for x in re.findall(r"-?\d+\.\d*", capsys.readouterr().out)[:6]]
    np.testing.assert_allclose(sorted(means), [-4, -4, 0, 0, 4, 4], atol=0.3)
    exec(compile(picture, "models.md", "exec"), {})
    assert float(capsys.readouterr().out) < 0.03
    names: dict = {}
    exec(compile(chains, "models.md", "exec"), names)
    capsys.readouterr()
    # Each true chain is one of those found, numbered as it is or the other way round.
    right = (names["truth"][:, :, None] == names["model"].states_[:, None, :]).mean(axis=0)
    assert np.all(np.maximum(right, 1 - right).max(axis=1) > 0.95)


def test_evaluating(capsys):
    text = DOCS.joinpath("evaluating.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python") == 5
    names: dict = {}
    for code, expected in blocks:
        exec(compile(code, "evaluating.md", "exec"), names)
        printed = capsys.readouterr().out
        assert re.sub(r"[\d.-]+", "", printed).split() == re.sub(r"[\d.-]+", "", expected).split()
        # On another kind of processor, a sum may be rounded otherwise, and a draw with it.
        numbers = [[float(x) for x in re.findall(r"-?\d+\.\d*", part)] for part in (printed, expected)]
        np.testing.assert_allclose(*numbers, rtol=0.1, atol=0.1)
    assert names["result"].per_token > names["whole"].per_token
    assert names["stable"].cosine > 2 * names["stable"].unrelated.cosine


def test_text(capsys):
    text = DOCS.joinpath("text.md").read_text(encoding="utf-8")
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python") == 3
    for code, expected in blocks:
        exec(compile(code, "text.md", "exec"), names)
        assert capsys.readouterr().out == expected


def test_text_names_all_languages():
    text = " ".join(DOCS.joinpath("text.md").read_text(encoding="utf-8").split())
    stemmed, listed = re.search(r"stems for (.*?); stop words alone for (.*?)\. Stems", text).groups()
    known = [language for language in LANGUAGES.values() if language.has_list]
    assert re.split(", | and ", stemmed) == sorted(one.name for one in known if one.stemmer)
    assert re.split(", | and ", listed) == sorted(one.name for one in known if not one.stemmer)


def test_files(capsys):
    text = DOCS.joinpath("files.md").read_text(encoding="utf-8")
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "files.md", "exec"), {})
    assert capsys.readouterr().out == expected


def test_large_corpora(capsys):
    text = DOCS.joinpath("large-corpora.md").read_text(encoding="utf-8")
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "large-corpora.md", "exec"), {})
    assert capsys.readouterr().out == expected


def test_choosing(capsys):
    text = DOCS.joinpath("choosing.md").read_text(encoding="utf-8")
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "choosing.md", "exec"), {})
    assert capsys.readouterr().out == expected


def test_comparing(capsys):
    text = DOCS.joinpath("comparing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python") == 2
    names: dict = {}
    for code, expected in blocks:
        exec(compile(code, "comparing.md", "exec"), names)
        printed = capsys.readouterr().out
        # On another kind of processor, a sum may be rounded otherwise, and a draw with it.
        scores = [
            re.findall(r"^(\w+)(?: topics)?: (\S+) per token, npmi (\S+)", part, re.M)
            for part in (printed, expected)
        ]
        assert [row[0] for row in scores[0]] == [row[0] for row in scores[1]] != []
        numbers = [[[float(x) for x in row[1:]] for row in part] for part in scores]
        np.testing.assert_allclose(*numbers, rtol=0.05, atol=0.05)
    assert f"Take {names['sizes'].recommended} topics" in printed


def test_report(capsys):
    text = DOCS.joinpath("report.md").read_text(encoding="utf-8")
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(compile(code, "report.md", "exec"), names)
    assert capsys.readouterr().out == expected
    names["lda"].save("speeches.plait")
    Path("names.json").write_text('{"names": {"0": "fruit"}, "hidden": [1]}')
    commands = [line.strip() for line in text.splitlines() if line.startswith("    plait ")]
    assert len(commands) == 3
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command, comments=True)[1:])
        assert done.exit_code == 0, done.output


def test_commands_of_comparing():
    text = DOCS.joinpath("comparing.md").read_text(encoding="utf-8").split("## From the command line")[1]
    corpus = plait.datasets.bands(40, seed=1, document_length=20).corpus
    lines = [" ".join(f"w{word}" for word in corpus.tokens(d)) for d in range(40)]
    Path("texts.csv").write_text("text\n" + "\n".join(lines) + "\n")
    commands = [line.strip() for line in text.splitlines() if line.startswith("    plait ")]
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command.replace("--time 30s", "--time 0.05s"))[1:]
        fast = ["--sweeps", "5"] if words[0] == "select" else []
        done = CliRunner().invoke(main, [*words, "-q", *fast])
        assert done.exit_code == 0, done.output


def test_commands_of_evaluating():
    text = DOCS.joinpath("evaluating.md").read_text(encoding="utf-8").split("## From the command line")[1]
    texts = ["apples pears plums trees orchard farm", "trains trams rails city station buses"] * 4
    for name in ("texts.txt", "test.csv"):
        Path(name).write_text("text\n" + "\n".join(texts) + "\n")
    for seed, name in enumerate(("model", "seed1", "seed2", "seed3")):
        fast = ["--topics", "2", "--sweeps", "3", "-q", "--seed", str(seed), "--jobs", "1"]
        done = CliRunner().invoke(main, ["fit", "lda", "texts.txt", "-o", f"{name}.plait", *fast])
        assert done.exit_code == 0, done.output
    commands = [line.strip() for line in text.splitlines() if line.startswith("    plait ")]
    assert len(commands) == 3
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command.split(">")[0])[1:])
        assert done.exit_code == 0, done.output


def test_reports_on_other_models(capsys):
    text = DOCS.joinpath("report-models.md").read_text(encoding="utf-8")
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(compile(code, "report-models.md", "exec"), names)
    assert capsys.readouterr().out == expected
    Path("walks.html").unlink()
    names["hmm"].save("walks.plait")
    names["hmm"].save("other.plait")
    np.savetxt("walks.csv", names["X"][:100], header="x", comments="")
    commands = [line.strip() for line in text.splitlines() if line.startswith("    plait ")]
    assert len(commands) == 3
    for command in commands:
        if " fit " in command:
            command += " --overwrite --sweeps 5"
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
