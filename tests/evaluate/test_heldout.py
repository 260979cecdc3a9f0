"""Held-out likelihood, against its definition: splits, document completion, and the result."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.evaluate import heldout
from plait.evaluate.heldout import HeldOut, complete_documents, held_out, shuffle
from plait.inference.topics import infer_theta
from plait.models.lda import LdaModel
from plait.models.topics import make_topics
from plait.threads import Threads

VOCABULARY = ("a", "b", "c", "d")
DOCUMENTS = [["a", "b", "c"], [], ["d"], ["c", "c", "d", "a", "b", "b"]]
CORPUS = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
PHI = np.random.default_rng(0).dirichlet(np.ones(4), 3)


def halves(corpus, seed):
    """Return the shown and the scored words of each document, by the definition."""
    with Threads(1) as threads:
        words = shuffle(corpus, seed, threads).words
    parts = [words[start:stop] for start, stop in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]
    return [part[: len(part) - len(part) // 2] for part in parts], [
        part[len(part) - len(part) // 2 :] for part in parts
    ]


def corpus_of(lists):
    return Corpus.from_tokens([[VOCABULARY[w] for w in words] for words in lists], vocabulary=VOCABULARY)


def random_corpus(n, n_words=30, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 40, n)
    words = rng.integers(0, n_words, lengths.sum(), dtype=np.int32)
    return Corpus(words, np.append(0, np.cumsum(lengths)), tuple(f"w{w}" for w in range(n_words)))


class TestSplit:
    def test_a_shuffled_document_has_its_own_words(self):
        shown, scored = halves(CORPUS, 0)
        for d in range(CORPUS.n_documents):
            together = sorted(VOCABULARY[w] for w in (*shown[d], *scored[d]))
            assert together == sorted(CORPUS.tokens(d))

    def test_it_depends_on_the_bag_and_the_seed_alone(self):
        corpus = random_corpus(50)
        rng = np.random.default_rng(1)
        order = rng.permutation(50)
        mixed = Corpus.from_tokens(
            [rng.permutation(corpus.tokens(d)).tolist() for d in order], vocabulary=corpus.vocabulary
        )
        mine, other = halves(corpus, 3), halves(mixed, 3)
        for part, other_part in zip(mine, other, strict=True):
            for place, d in enumerate(order):
                np.testing.assert_array_equal(part[d], other_part[place])
        again = halves(corpus, 4)
        assert any(not np.array_equal(a, b) for a, b in zip(mine[0], again[0], strict=True))

    def test_every_order_is_equally_likely(self):
        corpus = Corpus([0, 1, 2], [0, 3], VOCABULARY)
        times: dict = {}
        n = 3000
        with Threads(1) as threads:
            for seed in range(n):
                order = tuple(shuffle(corpus, seed, threads).words.tolist())
                times[order] = times.get(order, 0) + 1
        assert len(times) == 6
        chi_square = sum((count - n / 6) ** 2 / (n / 6) for count in times.values())
        assert chi_square < 20.5  # the 0.999 quantile for 5 degrees of freedom

    def test_repeats_of_a_word_do_not_always_fall_on_both_sides(self):
        # Counts are sorted by word: every other token would show one of each two.
        corpus = Corpus.from_matrix(np.full((1, 4), 2))
        both = [len(set(halves(corpus, seed)[0][0].tolist())) == 4 for seed in range(200)]
        # 2^4 of the 70 ways to choose 4 of 8 tokens take one of each pair.
        assert abs(np.mean(both) - 16 / 70) < 4 * np.sqrt(16 / 70 * 54 / 70 / 200)


class TestCompletion:
    def test_the_log_likelihood_follows_its_formula(self):
        topics = make_topics(PHI, np.full(3, 0.2))
        result = held_out(PHI, CORPUS, alpha=0.2, seed=4, n_jobs=1)
        shown, scored = halves(CORPUS, 4)
        theta = infer_theta(corpus_of(shown), topics, 0.2, seed=4, n_jobs=1)
        by_hand = [np.log(theta[d] @ PHI[:, words]).sum() for d, words in enumerate(scored)]
        np.testing.assert_array_equal(result.document_tokens, [1, 0, 0, 3])
        np.testing.assert_allclose(result.document_scores, by_hand, rtol=1e-6)  # phi in single precision
        assert result.log_likelihood == pytest.approx(np.sum(by_hand), rel=1e-6)
        assert (result.n_tokens, result.n_documents) == (4, 2)

    def test_the_log_likelihood_is_exact_if_theta_is_certain(self):
        # No word is in both topics, so theta is certain: (count + 1/2) / (n + 1).
        phi = np.array([[0.75, 0.25, 0, 0], [0, 0, 0.5, 0.5]])
        result = held_out(phi, CORPUS, alpha=0.5, n_jobs=1)
        exact = 0.0
        for shown, scored in zip(*halves(CORPUS, 0), strict=True):
            in_first = np.count_nonzero(shown < 2)
            theta = np.array([in_first + 0.5, len(shown) - in_first + 0.5]) / (len(shown) + 1)
            exact += np.log(theta @ phi[:, scored]).sum()
        assert result.log_likelihood == pytest.approx(exact, rel=1e-6)

    def test_one_topic_is_a_unigram_model(self):
        phi = [[0.4, 0.3, 0.2, 0.1]]
        result = held_out(phi, CORPUS, alpha=1.0, n_jobs=1)
        words = np.concatenate(halves(CORPUS, 0)[1])
        assert result.log_likelihood == pytest.approx(np.log(np.array(phi[0])[words]).sum(), rel=1e-6)

    def test_the_perplexity_of_uniform_topics_is_the_number_of_words(self):
        for method in heldout.METHODS:
            result = held_out(np.full((3, 4), 0.25), CORPUS, alpha=1.0, method=method)
            assert result.perplexity == pytest.approx(4)

    def test_batches_do_not_change_the_result(self, monkeypatch):
        corpus = random_corpus(60)
        phi = np.random.default_rng(2).dirichlet(np.ones(30), 5)
        whole = held_out(phi, corpus, alpha=0.1)
        monkeypatch.setattr(heldout, "_THETA_CELLS", 5 * 7)
        np.testing.assert_array_equal(held_out(phi, corpus, alpha=0.1).document_scores, whole.document_scores)

    def test_documents_too_short_to_split_are_refused(self):
        short = Corpus.from_tokens([["a"], [], ["d"]], vocabulary=VOCABULARY)
        with pytest.raises(PlaitError, match=r"^no document has two words: [^\n]*; pass longer documents$"):
            held_out(PHI, short, alpha=1.0)


@pytest.mark.parametrize("method", heldout.METHODS)
class TestBothMethods:
    def test_the_order_of_documents_and_tokens_does_not_matter(self, method):
        corpus = random_corpus(40)
        phi = np.random.default_rng(2).dirichlet(np.full(30, 0.3), 5)
        order = np.random.default_rng(3).permutation(40)
        mixed = Corpus.from_tokens([sorted(corpus.tokens(d)) for d in order], vocabulary=corpus.vocabulary)
        mine = held_out(phi, corpus, alpha=0.1, method=method, n_particles=3)
        other = held_out(phi, mixed, alpha=0.1, method=method, n_particles=3)
        np.testing.assert_array_equal(mine.document_scores[order], other.document_scores)
        assert mine.log_likelihood == other.log_likelihood

    def test_same_bits_for_any_number_of_threads(self, method, monkeypatch):
        monkeypatch.setattr(heldout, "_TOKENS_PER_RANGE", 50)
        monkeypatch.setattr(heldout, "_DRAWS_PER_RANGE", 500)
        corpus = random_corpus(60)
        phi = np.random.default_rng(2).dirichlet(np.full(30, 0.3), 5)
        one, two, four = (
            held_out(phi, corpus, alpha=0.1, method=method, n_particles=3, n_jobs=n) for n in (1, 2, 4)
        )
        np.testing.assert_array_equal(one.document_scores, two.document_scores)
        np.testing.assert_array_equal(one.document_scores, four.document_scores)

    def test_the_seed_matters(self, method):
        scores = [
            held_out(PHI, CORPUS, alpha=0.2, method=method, seed=seed).log_likelihood for seed in (0, 1)
        ]
        assert scores[0] != scores[1]

    def test_a_word_without_probability_makes_the_likelihood_zero(self, method):
        phi = [[0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0]]
        result = held_out(phi, Corpus([2, 2, 0, 1], [0, 2, 4], VOCABULARY), alpha=1.0, method=method)
        assert result.document_scores[0] == -np.inf
        assert np.isfinite(result.document_scores[1])
        assert (result.log_likelihood, result.perplexity) == (-np.inf, np.inf)
        assert np.isnan(result.standard_error)

    def test_all_sources_agree(self, method, tmp_path, small_bands):
        model = LdaModel(small_bands.corpus, 3, [0.1, 0.2, 0.3])
        run = plait.sample(model, n_paths=2, n_sweeps=5, n_jobs=1)
        run.save(tmp_path / "run.plait")
        estimator = plait.LatentDirichletAllocation.from_run(run)
        matrix = run.parameters().topic_word.astype(float)
        test = small_bands.corpus.select(range(10))
        scores = [
            held_out(source, test, method=method, seed=7).log_likelihood
            for source in (run, tmp_path / "run.plait", str(tmp_path / "run.plait"), estimator)
        ]
        scores.append(held_out(matrix, test, alpha=[0.1, 0.2, 0.3], method=method, seed=7).log_likelihood)
        assert len(set(scores)) == 1
        changed = held_out(run, test, alpha=5.0, method=method, seed=7).log_likelihood
        assert changed != scores[0]
        assert changed == held_out(matrix, test, alpha=5.0, method=method, seed=7).log_likelihood

    def test_documents_of_another_vocabulary_are_read_by_name(self, method, small_bands):
        run = plait.sample(LdaModel(small_bands.corpus, 3), n_paths=1, n_sweeps=2, n_jobs=1)
        test = small_bands.corpus.select(range(5))
        other = test.reindexed((*reversed(test.vocabulary), "more"))
        mine = held_out(run, test, method=method)
        assert held_out(run, other, method=method).log_likelihood == mine.log_likelihood


def test_score_and_perplexity_of_the_estimator_are_those_of_document_completion(small_bands):
    lda = plait.LatentDirichletAllocation(3, max_iter=5, random_state=3, n_jobs=1).fit(small_bands.corpus)
    test = small_bands.corpus.select(range(10))
    result = held_out(lda, test, seed=lda.seed_)
    assert lda.score(test) == result.log_likelihood
    assert lda.perplexity(test) == result.perplexity


class TestResult:
    scores, tokens = np.array([-2.0, -9.0, 0.0, -4.0]), np.array([1, 3, 0, 2])
    result = HeldOut("completion", scores, tokens)

    def test_totals(self):
        assert (self.result.log_likelihood, self.result.n_tokens, self.result.n_documents) == (-15.0, 6, 3)
        assert self.result.per_token == -2.5
        assert self.result.perplexity == pytest.approx(np.exp(2.5))

    def test_the_standard_error_is_that_of_a_ratio(self):
        residuals = np.array([-2 + 2.5, -9 + 7.5, -4 + 5])
        by_hand = np.sqrt(3 / 2 * (residuals**2).sum()) / 6
        assert self.result.standard_error == pytest.approx(by_hand)
        assert np.isnan(HeldOut("completion", self.scores[:1], self.tokens[:1]).standard_error)

    def test_the_standard_error_is_the_spread_over_samples_of_documents(self):
        rng = np.random.default_rng(0)
        ratios, errors = [], []
        for _ in range(400):
            tokens = rng.integers(5, 50, 100)
            scores = tokens * rng.normal(-7, 0.5, 100) + rng.normal(0, 1, 100)  # tokens of a document cluster
            result = HeldOut("completion", scores, tokens)
            ratios.append(result.per_token)
            errors.append(result.standard_error)
        # The spread of 400 values is known to 1 / sqrt(800), or 3.5 %.
        assert np.std(ratios) == pytest.approx(np.mean(errors), rel=0.12)

    def test_differences_are_paired(self):
        other = HeldOut("completion", self.scores - 0.5 * self.tokens, self.tokens)
        difference, error = self.result.difference(other)
        assert difference == pytest.approx(0.5)
        assert error == pytest.approx(0.0, abs=1e-12)
        with pytest.raises(PlaitError, match="must be a result for the same documents and method"):
            self.result.difference(HeldOut("completion", self.scores, self.tokens + 1))
        with pytest.raises(PlaitError, match="must be a result for the same documents and method"):
            self.result.difference(HeldOut("left-to-right", self.scores, self.tokens))

    def test_arrays_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            self.result.document_scores[0] = 1.0
        self.scores[0] = -2.0

    def test_the_repr_is_short(self):
        assert repr(self.result).startswith("HeldOut(method='completion', per_token=-2.5, standard_error=")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "half"}, r"method must be one of 'completion', 'left-to-right', got 'half'"),
        ({"alpha": None}, r"alpha must be given for topics in a matrix"),
        ({"alpha": [1.0, 2.0]}, r"alpha must be a number or an array of shape \(T\) = \(3,\)"),
        ({"alpha": -1.0}, r"alpha must be a number from"),
        ({"seed": -1}, r"seed must be a whole number from 0"),
        ({"seed": -1, "method": "left-to-right"}, r"seed must be a whole number from 0"),
        ({"n_particles": 0, "method": "left-to-right"}, r"n_particles must be a whole number of at least 1"),
        ({"n_particles": 2**30, "method": "left-to-right"}, r"n_particles must be at most 1048576"),
        ({"corpus": [["a"]]}, r"corpus must be a Corpus, got .*: make one with plait.Corpus.from_texts"),
        (
            {"corpus": Corpus([0, 1], [0, 2], tuple("abc"))},
            r"corpus must have the words of the topics, which are 4",
        ),
        (
            {"corpus": Corpus([], [0, 0], VOCABULARY), "method": "left-to-right"},
            r"no document has a word that the topics know",
        ),
        ({"source": [[0.5, 0.6, 0, 0]]}, r"row 0 of source must sum to 1, got 1.1"),
        ({"source": [[0.5, np.nan, 0, 0]]}, r"source\[0\]\[1\] must be from 0 to 1, got nan"),
        ({"source": [0.5, 0.5]}, r"source must be a run, its file, a fitted estimator or a matrix of shape"),
        ({"source": plait.LatentDirichletAllocation(2)}, r"source must be fitted topics, got .*: call fit"),
        ({"source": "missing.plait"}, r"cannot read the model missing.plait"),
        ({"source": None}, r"source must be a number or an array of numbers, got None"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments, message):
    given = {"source": PHI, "corpus": CORPUS, "alpha": 0.1} | arguments
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
        held_out(given.pop("source"), given.pop("corpus"), **given)


def test_topics_of_another_model_are_refused():
    sequences = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    model = plait.MixtureModel(plait.GaussianEmissions(sequences, 2))
    run = plait.sample(model, n_sweeps=2, n_jobs=1)
    with pytest.raises(PlaitError, match="source must have a model of the kind 'lda'") as caught:
        held_out(run, CORPUS)
    assert caught.value.argument == "source"


def test_topics_are_checked_before_a_kernel_sees_them():
    topics = make_topics(PHI, np.full(3, 0.2))
    for use in (complete_documents, heldout.score_left_to_right):
        with pytest.raises(PlaitError, match="topics must be finite numbers"):
            use(CORPUS, topics._replace(phi=topics.phi * np.float32(np.nan)), 0.2)
        with pytest.raises(PlaitError, match="phi of the topics must have shape"):
            use(Corpus([0, 1, 7], [0, 3], tuple("abcdefgh")), topics, 0.2)
