"""The states of sequences, and how long they last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.answers import decoded_sequence, state_durations
from plait.errors import PlaitError
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel


@pytest.fixture(scope="module")
def run():
    """Return a run with given parameters, under which a symbol nearly tells its state."""
    symbols = [0, 0, 0, 1, 1, 0, 0, 1, -1, 1, 1, 1, 1]
    sequences = plait.Sequences.from_symbols(symbols, [10, 3], names=("long", "short"), missing=True)
    parameters = HmmParameters(
        np.array([0.5, 0.5]),
        np.array([[0.5, 0.5], [0.25, 0.75]]),
        CategoricalParameters(np.array([[0.999, 0.001], [0.001, 0.999]])),
    )
    model = HmmModel(CategoricalEmissions(sequences, 2))
    made = plait.sample(model, n_paths=1, n_sweeps=1, n_jobs=1)
    return replace(made, estimate=parameters, numbered=True, names={1: "on"})


def test_durations_are_the_lengths_of_stays(run):
    off, on = state_durations(run, n_jobs=1)
    assert off.lengths.tolist() == [3, 2]
    assert off.is_cut.tolist() == [True, False]
    assert on.lengths.tolist() == [2, 3, 3]  # the missing observation stays, and sequences do not join
    assert on.is_cut.tolist() == [False, True, True]
    assert (off.name, on.name) == (None, "on")
    assert (off.implied_mean, on.implied_mean) == (2, 4)
    assert (off.observed_mean, on.observed_mean) == (2.5, pytest.approx(8 / 3))


def test_stays_that_are_cut_count_for_as_long_as_they_were_seen(run):
    on = replace(state_durations(run, n_jobs=1)[1], lengths=np.array([1, 2, 2, 4]), is_cut=np.arange(4) == 2)
    lengths, longer = on.survival()
    assert lengths.tolist() == [0, 1, 2, 4]
    np.testing.assert_allclose(longer, [1, 3 / 4, 3 / 4 * 2 / 3, 0])
    never = replace(on, lengths=np.array([], int), is_cut=np.array([], bool))
    assert [part.tolist() for part in never.survival()] == [[0], [1]]
    assert np.isnan(never.observed_mean)


def test_implied_durations_are_geometric(run):
    on = state_durations(run, n_jobs=1)[1]
    assert on.implied(np.array([1, 2, 3])).tolist() == [0.25, 0.1875, 0.140625]
    endless = replace(on, stay=1.0)
    assert endless.implied_mean == np.inf


def test_states_have_the_numbers_under_which_they_are_shown(run):
    swapped = replace(run, estimate=run.estimate.permuted(np.array([1, 0])), numbered=False, names={0: "on"})
    own = decoded_sequence(run, "long", n_jobs=1)
    other = decoded_sequence(swapped, 0, n_jobs=1)
    assert (own.sequence, own.name) == (0, "long")
    assert own.states.tolist() == [0, 0, 0, 1, 1, 0, 0, 1, 1, 1]
    assert own.missing.tolist() == [False] * 8 + [True, False]
    np.testing.assert_allclose(own.probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(own.probabilities.argmax(axis=1), own.states)
    assert own.log_likelihood == pytest.approx(other.log_likelihood)
    assert other.states.tolist() == own.states.tolist()
    assert [one.name for one in state_durations(swapped, n_jobs=1)] == [None, "on"]


def test_what_is_no_sequence_or_no_chain_is_refused(run, small_bands):
    with pytest.raises(PlaitError, match="sequence must be a number from 0 to 1 or a name, such as 'long'"):
        decoded_sequence(run, "third")
    topics = plait.sample(plait.LdaModel(small_bands.corpus, 2), n_sweeps=1, n_jobs=1)
    with pytest.raises(PlaitError, match="this works for hidden Markov models"):
        state_durations(topics)
