"""Synthetic data: the documented parameters, and data that follow them."""

import numpy as np
import pytest

from plait.data.synthetic import bands, hard_hmm
from plait.errors import PlaitError


def test_topics_are_bands():
    topics = bands(5).topics
    assert topics.shape == (10, 100)
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    inside = topics > 0.001
    assert inside.sum(axis=1).tolist() == [10] + [19] * 8 + [10]
    # The second centre is word 11, so its band goes from 2 to 20.
    assert np.flatnonzero(inside[1]).tolist() == list(range(2, 21))
    np.testing.assert_allclose(topics[1, 5], 0.95 / 19 + 0.05 / 100)
    np.testing.assert_allclose(topics[1, 50], 0.05 / 100)


@pytest.mark.parametrize(("n_topics", "n_words", "width"), [(7, 30, 5), (4, 11, 4), (1, 3, 1), (3, 5, 50)])
def test_any_sizes_give_distributions(n_topics, n_words, width):
    topics = bands(2, n_topics=n_topics, n_words=n_words, width=width).topics
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    assert ((topics > 0.1 / n_words).sum(axis=1) <= width).all()


def test_the_corpus_has_the_default_sizes():
    drawn = bands()
    corpus = drawn.corpus
    assert (corpus.n_documents, corpus.n_words) == (1500, 100)
    assert (corpus.lengths == 10).all()
    assert corpus.vocabulary[:2] == ("0", "1")
    assert not drawn.topics.flags.writeable


def test_the_seed_determines_the_corpus():
    assert bands(20, 3).corpus.equals(bands(20, 3).corpus)
    assert not bands(20, 3).corpus.equals(bands(20, 4).corpus)


def test_word_frequencies_follow_the_topics():
    drawn = bands(20_000, 1)
    frequencies = np.bincount(drawn.corpus.words, minlength=100) / drawn.corpus.n_tokens
    expected = drawn.topics.mean(axis=0)
    # The shares of topics vary between documents, so allow some more than the spread of independent tokens.
    spread = np.sqrt(expected / drawn.corpus.n_tokens) * 1.5
    assert (np.abs(frequencies - expected) < 5 * spread).all()


def test_pairs_of_tokens_follow_the_dirichlet_shares():
    """Two tokens of a document share their topic with probability (alpha + 1) / (T alpha + 1)."""
    drawn = bands(40_000, 2, n_topics=2, n_words=10, width=1, document_length=2, alpha=0.5)
    pairs = drawn.corpus.words.reshape(-1, 2)
    shares = np.array([[0.75, 0.25], [0.25, 0.75]]) / 2
    joint = drawn.topics.T @ shares @ drawn.topics
    observed = np.zeros((10, 10))
    np.add.at(observed, (pairs[:, 0], pairs[:, 1]), 1 / len(pairs))
    spread = np.sqrt(joint / len(pairs))
    assert (np.abs(observed - joint) < 5 * spread).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_documents": 0}, "n_documents must be a whole number of at least 1, got 0"),
        ({"n_documents": 1.5}, "n_documents must be .*, got 1.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"width": 0}, "width must be .*, got 0"),
        ({"alpha": 0.0}, "alpha must be a number above 0, got 0.0"),
        ({"alpha": float("nan")}, "alpha must be .*, got nan"),
        ({"alpha": "1"}, "alpha must be .*, got '1'"),
    ],
)
def test_impossible_bands_are_refused(options, message):
    with pytest.raises(PlaitError, match=message) as caught:
        bands(**options)
    assert [caught.value.argument] == list(options)


class TestHardHmm:
    def test_the_parameters_are_the_documented_ones(self):
        drawn = hard_hmm(n=5, switch=0.3, n_symbols=4, amplitude=0.5)
        assert drawn.start.tolist() == [0.5, 0.5]
        np.testing.assert_allclose(drawn.transitions, [[0.7, 0.3], [0.3, 0.7]])
        np.testing.assert_allclose(drawn.emissions, [[0.375, 0.25, 0.125, 0.25], [0.125, 0.25, 0.375, 0.25]])

    def test_shapes_and_types_are_the_documented_ones(self):
        drawn = hard_hmm(n=1000)
        assert (drawn.sequences.n_sequences, drawn.sequences.n_sites) == (1, 1000)
        assert (drawn.sequences.n_symbols, drawn.sequences.n_missing) == (10, 0)
        assert (drawn.states.shape, drawn.states.dtype) == ((1000,), np.uint16)
        for array in (drawn.states, drawn.start, drawn.transitions, drawn.emissions):
            assert not array.flags.writeable

    def test_the_default_length_is_200000(self):
        assert hard_hmm().sequences.n_sites == 200_000

    @pytest.mark.parametrize("n_symbols", [2, 3, 10])
    def test_one_observation_has_all_labels(self, n_symbols):
        drawn = hard_hmm(n=1, n_symbols=n_symbols)
        assert drawn.sequences.labels == tuple(map(str, range(n_symbols)))
        np.testing.assert_allclose(drawn.emissions.sum(axis=1), 1)

    def test_the_seed_determines_the_sequence(self):
        assert hard_hmm(3, n=50).sequences.equals(hard_hmm(3, n=50).sequences)
        assert not hard_hmm(3, n=50).sequences.equals(hard_hmm(4, n=50).sequences)

    @pytest.mark.parametrize("switch", [0.1, 0.45, 0.8])
    def test_states_follow_the_transitions(self, switch):
        states = hard_hmm(1, n=100_000, switch=switch).states.astype(int)
        assert set(states.tolist()) == {0, 1}
        steps = np.bincount(2 * states[:-1] + states[1:], minlength=4).reshape(2, 2)
        totals = steps.sum(axis=1)
        spread = np.sqrt(switch * (1 - switch) / totals)
        assert (np.abs(np.diag(steps[::-1])[::-1] / totals - switch) < 4.5 * spread).all()
        # Whether the state switched is independent from step to step.
        switched = states[1:] != states[:-1]
        again = np.mean(switched[1:] & switched[:-1])
        assert abs(again - switch**2) < 4.5 * np.sqrt(3 * switch**2 / switched.size)

    def test_the_first_state_is_a_fair_coin(self):
        first = np.mean([hard_hmm(seed, n=1, switch=0.01).states[0] for seed in range(2000)])
        assert abs(first - 0.5) < 4.5 * np.sqrt(0.25 / 2000)

    def test_symbols_follow_the_emissions_of_their_states(self):
        drawn = hard_hmm(2, n=100_000)
        for state in (0, 1):
            own = drawn.sequences.values[drawn.states == state]
            expected = drawn.emissions[state]
            spread = np.sqrt(expected / own.size)
            assert (np.abs(np.bincount(own, minlength=10) / own.size - expected) < 4.5 * spread).all()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n": 0}, "n must be a whole number of at least 1, got 0"),
            ({"n_symbols": 1}, "n_symbols must be a whole number from 2 to .*, got 1"),
            ({"seed": -1}, "seed must be .*, got -1"),
            ({"switch": 0}, "switch must be a number above 0 and below 1, got 0"),
            ({"switch": 1.0}, "switch must be .*, got 1.0"),
            ({"switch": float("nan")}, "switch must be .*, got nan"),
            ({"amplitude": 1}, "amplitude must be a number above 0 and below 1, got 1"),
            ({"amplitude": "0.5"}, "amplitude must be .*, got '0.5'"),
        ],
    )
    def test_impossible_models_are_refused(self, options, message):
        with pytest.raises(PlaitError, match=message) as caught:
            hard_hmm(**options)
        assert [caught.value.argument] == list(options)
