"""Coherence, against gensim, against plain counts, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from gensim.topic_coherence.text_analysis import WordOccurrenceAccumulator

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError, PlaitWarning
from plait.evaluate import topic_coherence
from plait.evaluate.sources import top_words
from plait.evaluate.topic_coherence import coherence

GENSIM = ("u_mass", "c_uci", "c_npmi", "c_v")


def random_corpus(lengths, n_words=25, seed=0):
    """Return documents of words that come in bursts, so that windows hold repeats."""
    rng = np.random.default_rng(seed)
    words = []
    for length in lengths:
        theta = rng.dirichlet(np.full(n_words, 0.15))
        words.append(rng.choice(n_words, length, p=theta))
    vocabulary = tuple(f"w{w}" for w in range(n_words))
    return Corpus(np.concatenate(words), np.append(0, np.cumsum(lengths)), vocabulary)


@pytest.fixture(scope="module")
def corpus():
    lengths = np.random.default_rng(1).integers(0, 160, 60)
    lengths[[3, 9]] = 0
    lengths[[5, 6, 7, 8]] = [10, 9, 110, 111]
    return random_corpus(lengths)


@pytest.fixture(scope="module")
def topics():
    return np.random.default_rng(2).dirichlet(np.full(25, 0.5), 6)


def of_gensim(topics, corpus, measure, top, window=None):
    """Return gensim's value for each topic, given the same top words."""
    texts = [corpus.tokens(d) for d in range(corpus.n_documents)]
    dictionary = Dictionary([list(corpus.vocabulary)])
    words = [[corpus.vocabulary[w] for w in row] for row in top_words(topics, top)]
    model = CoherenceModel(
        topics=words,
        texts=texts,
        corpus=[dictionary.doc2bow(text) for text in texts],
        dictionary=dictionary,
        coherence=measure,
        window_size=window,
        topn=top,
        processes=1,
    )
    return model.get_coherence_per_topic(), model.get_coherence()


@pytest.fixture
def gensim_that_remembers(monkeypatch):
    """Make gensim count a word as present as long as it is in the window."""

    def slide(self, window, doc_num):
        self._uniq_words[:] = False
        self._uniq_words[np.unique(window)] = True

    monkeypatch.setattr(WordOccurrenceAccumulator, "_slide_window", slide)


class TestGensim:
    @pytest.mark.parametrize("top", [2, 10])
    @pytest.mark.parametrize("measure", GENSIM)
    def test_values_are_those_of_gensim(self, measure, top, topics, corpus):
        result = coherence(topics, corpus, measure=measure, top=top)
        per_topic, overall = of_gensim(topics, corpus, measure, top)
        np.testing.assert_allclose(result.per_topic, per_topic, rtol=0, atol=1e-9)
        assert result.overall == pytest.approx(overall, abs=1e-9)

    @pytest.mark.parametrize("window", [2, 3, 40, 1000])
    @pytest.mark.parametrize("measure", GENSIM[1:])
    def test_other_windows(self, measure, window, topics, corpus):
        result = coherence(topics, corpus, measure=measure, window=window)
        per_topic, _ = of_gensim(topics, corpus, measure, 10, window)
        np.testing.assert_allclose(result.per_topic, per_topic, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("window", [2, 10, 110])
    @pytest.mark.parametrize("measure", GENSIM[1:])
    @pytest.mark.usefixtures("gensim_that_remembers")
    def test_windows_that_remember(self, measure, window, topics, corpus):
        result = coherence(topics, corpus, measure=measure, window=window, forgetful=False)
        per_topic, _ = of_gensim(topics, corpus, measure, 10, window)
        np.testing.assert_allclose(result.per_topic, per_topic, rtol=0, atol=1e-9)
        forgetful = coherence(topics, corpus, measure=measure, window=window)
        assert np.abs(forgetful.per_topic - result.per_topic).max() > 1e-3  # repeats matter in these data

    def test_npmi_in_documents_is_that_of_gensim_in_windows_as_long_as_any_document(self, topics, corpus):
        result = coherence(topics, corpus)
        per_topic, _ = of_gensim(topics, corpus, "c_npmi", 10, 1000)
        np.testing.assert_allclose(result.per_topic, per_topic, rtol=0, atol=1e-9)

    def test_words_that_never_meet(self):
        corpus = Corpus.from_tokens([["a", "b"], ["c", "d"], ["a", "d"], []])
        topics = np.array([[0.4, 0.1, 0.3, 0.2], [0.0, 0.5, 0.5, 0.0]])
        for measure in GENSIM:
            result = coherence(topics, corpus, measure=measure, top=2)
            np.testing.assert_allclose(result.per_topic, of_gensim(topics, corpus, measure, 2)[0], atol=1e-9)


def plain_counts(corpus, size, forgetful):
    """Count windows by the definition: single words, pairs, and all windows."""
    single, pairs, n_windows = np.zeros(25, int), np.zeros((25, 25), int), 0
    for d in range(corpus.n_documents):
        words = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]].tolist()
        present: set = set()
        for v in range(max(1, len(words) - size + 1)):
            if forgetful and v:
                present = (present - {words[v - 1]}) | {words[v + size - 1]}
            else:
                present = set(words[v : v + size])
            n_windows += 1
            for w in present:
                single[w] += 1
            for a, b in itertools.permutations(present, 2):
                pairs[a, b] += 1
    return single, pairs, n_windows


@pytest.mark.parametrize("forgetful", [False, True])
@pytest.mark.parametrize("size", [2, 7, 50])
def test_counts_are_those_of_the_definition(size, forgetful, topics, corpus):
    words = top_words(topics, 10)
    known = topic_coherence._number_words(words, topic_coherence.TopicSource(topics, None, None), corpus)
    with plait.threads.Threads(1) as threads:
        counts = topic_coherence._count(corpus, size, forgetful, known, threads)
    single, pairs, n_windows = plain_counts(corpus, size, forgetful)
    assert topic_coherence._count_windows(corpus, size) == n_windows
    np.testing.assert_array_equal(counts.words[known.of_topic], single[words])
    for t, row in enumerate(words):
        np.testing.assert_array_equal(counts.pairs[t], np.triu(pairs[np.ix_(row, row)], 1))


def test_same_bits_for_any_number_of_threads(monkeypatch, topics, corpus):
    whole = coherence(topics, corpus, measure="c_v", n_jobs=1)
    monkeypatch.setattr(topic_coherence, "_TOKENS_PER_RANGE", 100)
    for n_jobs in (1, 2, 4):
        again = coherence(topics, corpus, measure="c_v", n_jobs=n_jobs)
        np.testing.assert_array_equal(again.per_topic, whole.per_topic)


def test_values_by_hand():
    # a and b are in 2 of 4 documents each, once together.
    corpus = Corpus.from_tokens([["a", "b", "b"], ["a"], ["b"], ["c"]])
    topics = [[0.6, 0.4, 0.0]]
    npmi = np.log(0.25 / 0.25) / -np.log(0.25)
    assert coherence(topics, corpus, top=2).overall == pytest.approx(npmi, abs=1e-9)
    u_mass = np.log(0.25 / 0.5)
    assert coherence(topics, corpus, measure="u_mass", top=2).overall == pytest.approx(u_mass, abs=1e-9)


class TestUnseenWords:
    corpus = Corpus.from_tokens([["a", "b"], ["a", "b"], ["c"]], vocabulary=["a", "b", "c", "never"])
    topics = ((0.4, 0.3, 0.0, 0.3), (0.0, 0.0, 0.3, 0.7))

    @pytest.mark.parametrize("measure", topic_coherence.WINDOWS)
    def test_they_have_nothing_to_do_with_others(self, measure):
        result = coherence(self.topics, self.corpus, measure=measure, top=3)
        assert result.n_unseen == 1
        assert np.isfinite(result.per_topic).all()
        seen = coherence([(0.6, 0.4, 0.0, 0.0)], self.corpus, measure=measure, top=2).overall
        if measure == "c_v":
            # Vectors (1, 1, 0) of a and b, both of cosine 1 with their sum; the third has none.
            assert result.per_topic[0] == pytest.approx(2 / 3)
        else:  # one of three pairs
            assert result.per_topic[0] == pytest.approx(seen / 3)

    def test_the_corpus_may_have_another_vocabulary(self, corpus):
        run = plait.sample(plait.LdaModel(corpus, 3), n_paths=1, n_sweeps=2, n_jobs=1)
        tokens = [[f"x{d}", *corpus.tokens(d)] for d in range(corpus.n_documents)]
        other = Corpus.from_tokens(tokens)  # no word has the number that it has in the model
        for measure in ("npmi", "u_mass"):
            np.testing.assert_array_equal(
                coherence(run, other, measure=measure).per_topic,
                coherence(run, corpus, measure=measure).per_topic,
            )
        fewer = Corpus.from_tokens([["w0", "w1"], ["w2"]])
        result = coherence(run, fewer, top=10)
        best = np.unique(top_words(run.parameters().topic_word, 10))
        assert result.n_unseen == len(set(best.tolist()) - {0, 1, 2})


def test_windows_over_counts_are_warned_of(topics, corpus):
    counts = Corpus.from_matrix(corpus.to_matrix(), vocabulary=corpus.vocabulary)
    with pytest.warns(PlaitWarning, match="sorted, as in counts: windows of 10 words need the order"):
        coherence(topics, counts, measure="c_npmi")
    coherence(topics, counts)
    coherence(topics, counts, measure="c_npmi", window=1000)  # windows are whole documents


def test_the_result_tells_its_settings(topics, corpus):
    result = coherence(topics, corpus, measure="c_uci", top=5)
    assert (result.measure, result.top, result.window, result.n_unseen) == ("c_uci", 5, 10, 0)
    assert result.overall == result.per_topic.mean()
    assert repr(result).startswith("Coherence(overall=")
    assert coherence(topics, corpus).window is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"measure": "npmi2"},
            "measure must be one of 'npmi', 'u_mass', 'c_uci', 'c_npmi', 'c_v', got 'npmi2'",
        ),
        ({"top": 1}, "top must be a whole number from 2 to 25, got 1"),
        ({"top": 26}, "top must be a whole number from 2 to 25, got 26"),
        ({"window": 1, "measure": "c_v"}, "window must be a whole number of at least 2, got 1"),
        ({"window": 5, "measure": "u_mass"}, "window must be None for u_mass"),
        ({"forgetful": 1}, "forgetful must be True or False, got 1"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments, message, topics, corpus):
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
        coherence(topics, corpus, **arguments)
