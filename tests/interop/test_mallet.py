"""State files of MALLET: what is written comes back, and what is wrong with a file is said with the line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.interop import from_mallet, to_mallet

STATE = """\
#doc source pos typeindex type topic
#alpha : 0.5 1.0E-4 3.25\x20
#beta : 0.01
0 file:/my%20texts/1.txt 0 0 taxes 2
0 file:/my%20texts/1.txt 1 2 war 0
0 file:/my%20texts/1.txt 2 0 taxes 2
2 NA 0 1 día 1
"""
"""As MALLET writes it, with an empty document."""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(annotated_corpus):
    model = plait.LdaModel(annotated_corpus, 3, alpha=[0.1, 1 / 3, 1e-7], eta=0.1 + 0.2)
    return plait.sample(model, n_paths=2, n_sweeps=5, n_jobs=1)


def read(text, **options):
    Path("state.txt").write_text(text, encoding="utf-8")
    return from_mallet("state.txt", **options)


class TestReading:
    def test_a_file_of_mallet_is_a_run_that_can_be_resumed(self):
        run = read(STATE)
        corpus, model = run.model.corpus, run.model
        assert corpus.vocabulary == ("taxes", "día", "war")
        assert corpus.words.tolist() == [0, 2, 0, 1]
        assert corpus.offsets.tolist() == [0, 3, 3, 4]
        assert corpus.names == ("file:/my texts/1.txt", "", "NA")
        assert run.paths.tolist() == [[2, 0, 2, 1]]
        assert (model.n_topics, model.alpha.tolist(), float(model.eta)) == (3, [0.5, 1e-4, 3.25], 0.01)
        assert (run.sweep, run.settings.n_sweeps, run.finished, len(run.trace)) == (0, 1000, False, 0)
        again = plait.resume(run, n_sweeps=3, n_jobs=1)
        assert (again.sweep, again.paths.shape) == (3, (1, 4))

    def test_resuming_starts_from_its_topics(self, small_bands):
        """A sweep given topics that fit the data keeps most of them; from random ones it cannot."""
        model = plait.LdaModel(small_bands.corpus, 3, alpha=0.01, eta=0.01)
        fitted = plait.sample(model, n_paths=1, n_sweeps=200, n_jobs=1)
        to_mallet(fitted, "state.gz")
        again = plait.resume(from_mallet("state.gz", seed=9), n_sweeps=1, n_jobs=1)
        assert (again.paths == fitted.paths).mean() > 0.8
        fresh = plait.sample(model, n_paths=1, n_sweeps=1, seed=9, n_jobs=1)
        assert (fresh.paths == fitted.paths).mean() < 0.6

    def test_all_paths_start_from_its_topics_with_the_given_settings(self):
        run = read(STATE, n_paths=3, n_sweeps=20, seed=7, collapsed=True)
        assert run.paths.tolist() == [[2, 0, 2, 1]] * 3
        settings = run.settings
        assert (settings.n_paths, settings.n_sweeps, settings.seed, settings.collapsed) == (3, 20, 7, True)
        with pytest.raises(PlaitError, match="n_paths must be a whole number of at least 1, got 0"):
            read(STATE, n_paths=0)

    def test_names_that_are_all_missing_are_none(self):
        assert read(re.sub(r"file:\S+", "NA", STATE)).model.corpus.names is None

    def test_a_source_may_have_spaces_and_what_is_no_escape_stays(self):
        text = STATE.replace("file:/my%20texts/1.txt", "my texts 100% %ff").replace("2 NA", "2 語")
        assert read(text).model.corpus.names == ("my texts 100% %ff", "", "語")

    def test_equal_priors_are_one_number(self):
        run = read(STATE.replace("0.5 1.0E-4 3.25", "0.2 0.2 0.2"))
        assert np.ndim(run.model.alpha) == 0
        assert run.model.alpha_vector.tolist() == [0.2] * 3

    def test_words_that_are_skipped_are_unknown_unless_given(self):
        text = STATE.replace(" 1 día", " 7 día")
        vocabulary = read(text).model.corpus.vocabulary
        assert (len(vocabulary), vocabulary[0], vocabulary[3], vocabulary[7]) == (
            8,
            "taxes",
            "(word 3)",
            "día",
        )
        given = ["taxes", "x", "war", "y", "día", "z"]
        assert read(STATE.replace(" 1 día", " 4 día"), vocabulary=given).model.corpus.vocabulary == tuple(
            given
        )

    def test_other_orders_of_the_first_lines_blank_lines_and_line_ends_are_read(self):
        first, alpha, beta, *rest = STATE.splitlines()
        run = read("\r\n".join([alpha, beta, first, *rest, "", "  "]))
        assert run.paths.tolist() == [[2, 0, 2, 1]]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("#alpha", "#alpa", r": it does not start with a line '#alpha : \.\.\.': pass a state file"),
            ("#beta", "#", r": it does not start with a line '#beta"),
            ("#alpha : 0.5 1.0E-4 3.25", "#alpha :", ": alpha has 0 numbers: write 1 to 65535"),
            ("0.01\n", "0.01 0.02\n", ": beta has 2 numbers: write 1 to 1"),
            ("1.0E-4", "x", ":2: 'x' is not a number: correct alpha"),
            ("1.0E-4", "1_0", ":2: '1_0' is not a number"),
            ("0.01\n", "NaN\n", ":3: 'NaN' is not a number: correct beta"),
            ("3.25", "0", r": alpha\[2\] must be .*, got 0"),
            ("0.01\n", "1e300\n", ": eta must be .*, got 1e"),
            ("1 2 war 0", "1 2 war", ":5: '[^\n]*' is not 'doc source pos typeindex type topic'"),
            ("war 0", "war  0", ":5: .* is not 'doc source"),
            ("war 0", "war 3", ":5: topic 3 is not from 0 to 2, as alpha says"),
            ("war 0", "war -1", ":5: '-1' is not a whole number"),
            ("war 0", "war ٣", ":5: '٣' is not a whole number"),
            ("war 0", "war 1.0", ":5: '1.0' is not a whole number"),
            ("war 0", f"war {9**99}", ":5: '[0-9]*... is not a whole number from 0 to 999999999"),
            ("1 2 war", "2 2 war", ":5: position 2 of document 0 is not 1, the next one"),
            ("2 NA 0", "2 NA 1", ":7: position 1 of document 2 is not 0"),
            ("2 NA 0 1 día 1", "2 NA 0 1 día 1\n1 NA 0 1 día 1", ":8: document 1 comes after document 2"),
            ("2 NA 0 1 día 1", "2 NA 0 1 día 1\n0 NA 3 1 día 1", ":8: document 0 comes after document 2"),
            ("2 0 taxes", "2 0 tax", ":6: word 0 is 'tax' here and 'taxes' before"),
            ("1 día", "1 taxes", ":7: the word 'taxes' has the indices 0 and 1"),
            ("2 NA", "999999999 NA", ":7: document 999999999 claims 1000000000 documents in a file of"),
            ("1 día", "999999999 día", ":7: word 999999999 claims a vocabulary of 1000000000 in a file of"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_with_the_line(self, old, new, message):
        assert STATE.count(old) >= 1
        with pytest.raises(PlaitError, match=rf"\Astate\.txt{message}[^\n]*\Z"):
            read(STATE.replace(old, new, 1))

    def test_files_without_tokens_and_missing_ones_are_refused(self):
        with pytest.raises(PlaitError, match=r"\Astate\.txt: it has no tokens"):
            read("".join(STATE.splitlines(keepends=True)[:3]))
        with pytest.raises(PlaitError, match=r"\Astate\.txt: the file is empty"):
            read("")
        with pytest.raises(PlaitError, match=r"\Anone\.gz: there is no such file"):
            from_mallet("none.gz")
        Path("state.gz").write_text(STATE)
        with pytest.raises(PlaitError, match=r"\Astate\.gz: the gzip file is broken"):
            from_mallet("state.gz")

    @pytest.mark.parametrize(
        ("vocabulary", "message"),
        [
            (["taxes", "día"], r"state\.txt:5: word 2 is 'war', but in vocabulary it is beyond the 2 given"),
            (["taxes", "war", "día"], r"state\.txt:5: word 2 is 'war', but in vocabulary it is 'día'"),
            (["a", "a"], "vocabulary must not have duplicates"),
        ],
    )
    def test_another_vocabulary_is_refused(self, vocabulary, message):
        with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
            read(STATE, vocabulary=vocabulary)

    def test_a_bomb_is_refused_unless_asked_for(self):
        text = STATE + "".join(f"2 {'x' * 10**4} {i} 1 día 1\n" for i in range(1, 2000))
        Path("state.gz").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(PlaitError, match=r"\Astate\.gz: it unpacks to more than .* max_unpacked"):
            from_mallet("state.gz")
        assert from_mallet("state.gz", max_unpacked=2**25).model.corpus.n_tokens == 2003


class TestWriting:
    def test_the_file_is_what_mallet_writes(self):
        run = read(STATE.replace("NA", "b"))
        to_mallet(run, "again.gz")
        text = gzip.decompress(Path("again.gz").read_bytes()).decode()
        assert text == STATE.replace("NA", "b").replace("1.0E-4", "0.0001")

    @pytest.mark.parametrize("name", ["state.gz", "state.txt"])
    @pytest.mark.parametrize("j", [0, 1])
    def test_bits_of_paths_and_priors_come_back(self, run, name, j):
        to_mallet(run, name, path_index=j)
        corpus = run.model.corpus
        again = from_mallet(name, vocabulary=corpus.vocabulary)
        assert np.array_equal(again.paths[0], run.paths[j])
        assert again.model.has_priors_of(run.model)
        assert again.model.corpus.equals(corpus)
        assert again.model.corpus.names == ("a", "", "ç", "d")  # the second is empty, and so has no line
        assert np.array_equal(
            again.model.count(again.paths, plait.threads.Threads(1)).words,
            run.model.count(run.paths[j : j + 1], plait.threads.Threads(1)).words,
        )

    def test_the_same_run_gives_the_same_bytes(self, run):
        to_mallet(run, "a.gz")
        to_mallet(run, "b.gz")
        assert Path("a.gz").read_bytes() == Path("b.gz").read_bytes()

    def test_names_and_words_with_white_space_stay_one_field(self):
        names = ["a b\n%41", "", "\t", "語\u2028 100%"]
        corpus = Corpus.from_tokens([["new york", "x\ny"], ["x\ny"], ["\x1f"], ["a"]], names=names)
        run = plait.sample(plait.LdaModel(corpus, 2), n_paths=1, n_sweeps=1, n_jobs=1)
        to_mallet(run, "state.txt")
        lines = Path("state.txt").read_text(encoding="utf-8").split("\n")[3:-1]
        assert all(len(line.split()) == 6 for line in lines)
        assert [line.split()[4] for line in lines] == ["new_york", "x_y", "x_y", "_", "a"]
        assert from_mallet("state.txt").model.corpus.names == ("a b\n%41", "NA", "\t", "語\u2028 100%")
        assert from_mallet("state.txt", vocabulary=corpus.vocabulary).model.corpus.equals(corpus)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["a b", "a_b"], "without white space, the words 'a b' and 'a_b' are the same"),
            (["", "a"], "the vocabulary has an empty word"),
        ],
    )
    def test_words_that_the_format_cannot_hold_are_refused(self, words, message):
        run = plait.sample(plait.LdaModel(Corpus.from_tokens([words]), 2), n_sweeps=1, n_jobs=1)
        with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
            to_mallet(run, "state.gz")
        assert not Path("state.gz").exists()

    def test_a_prior_that_the_format_cannot_hold_is_refused(self, annotated_corpus):
        eta = np.full((2, annotated_corpus.n_words), 0.1)
        run = plait.sample(plait.LdaModel(annotated_corpus, 2, eta=eta), n_sweeps=1, n_jobs=1)
        to_mallet(run, "state.gz")
        eta[0, 0] = 5
        run = plait.sample(plait.LdaModel(annotated_corpus, 2, eta=eta), n_sweeps=1, n_jobs=1)
        with pytest.raises(PlaitError, match=r"one beta, but eta of the model has values from 0\.1 to 5"):
            to_mallet(run, "other.gz")

    def test_files_are_not_replaced_unless_asked_for(self, run):
        Path("state.gz").write_text("mine")
        with pytest.raises(PlaitError, match=r"state\.gz exists: replace it with overwrite=True"):
            to_mallet(run, "state.gz")
        assert Path("state.gz").read_text() == "mine"
        to_mallet(run, "state.gz", overwrite=True)
        assert from_mallet("state.gz").model.n_topics == 3

    @pytest.mark.parametrize("j", [-1, 2, 0.0])
    def test_only_paths_of_the_run_can_be_written(self, run, j):
        with pytest.raises(PlaitError, match="path_index must be a whole number from 0 to 1, got"):
            to_mallet(run, "state.gz", path_index=j)
