"""The estimates of a run of LDA, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.data.synthetic import bands
from plait.errors import PlaitError
from plait.inference.fitted import doc_topic, fitted_topics, note_of_changes, token_topics
from plait.models.late import LateSums
from plait.models.late_topics import changed_topics, late_theta, late_topic_word
from plait.models.lda import LdaModel
from plait.plans import Plan, Stage
from plait.run import Run
from plait.sampler import sample
from plait.threads import Threads

ONE = Threads(1)


@pytest.fixture(scope="module")
def run():
    model = LdaModel(bands(30, seed=2).corpus, 4, [0.4, 0.3, 0.2, 0.1], 0.05)
    return sample(model, n_paths=3, n_sweeps=20, n_jobs=1)


class TestTokenTopics:
    def test_probabilities_are_the_conditionals_of_the_sampler(self, run):
        corpus, alpha, phi = run.model.corpus, run.model.alpha_vector, fitted_topics(run, 1).topic_word
        start, stop = corpus.offsets[5:7]
        exact = np.zeros((stop - start, 4))
        for path in run.paths:
            for k, i in enumerate(range(start, stop)):
                others = np.delete(path[start:stop], k)
                weights = phi[:, corpus.words[i]] * (np.bincount(others, minlength=4) + alpha)
                exact[k] += weights / weights.sum() / 3
        np.testing.assert_allclose(token_topics(run, 5, 1), exact)

    def test_document_that_does_not_exist_is_refused(self, run):
        with pytest.raises(PlaitError, match="document must be a whole number from 0 to 29, got 30"):
            token_topics(run, 30)

    def test_other_models_are_refused(self):
        hmm = plait.HmmModel(plait.CategoricalEmissions(plait.Sequences(np.array([0, 1]), [0, 2]), 2))
        with pytest.raises(PlaitError, match="run must have a model of the kind 'lda'"):
            token_topics(sample(hmm, n_sweeps=1), 0)


class TestLateSums:
    @pytest.mark.parametrize("n_paths", [1, 2])
    def test_parts_add_up_and_later_one_is_never_longer(self, run, n_paths):
        model, paths = run.model, run.paths[:n_paths].copy()
        late, counts = LateSums.empty(model), model.count(paths, ONE)
        for n in range(1, 20):
            late = late.added(model, paths, counts, ONE)
            assert late.n == n * n_paths
            assert n == 1 or 0 < late.n_paths["later"] <= late.n_paths["earlier"]
            np.testing.assert_array_equal(late.total("words"), n * counts.words)

    def test_topics_that_keep_their_words_have_not_changed(self, run):
        model, late = run.model, LateSums.empty(run.model)
        for _ in range(4):
            late = late.added(model, run.paths, model.count(run.paths, ONE), ONE)
        assert not len(changed_topics(late))

    def test_topics_that_swap_are_noticed_and_averaged_over_the_later_sweeps_alone(self, run):
        model, late = run.model, LateSums.empty(run.model)
        swapped = np.array([0, 2, 1, 3], np.uint16)[run.paths]
        for k in range(4):  # two sweeps in the earlier part, two in the later one
            paths = run.paths if k < 2 else swapped
            late = late.added(model, paths, model.count(paths, ONE), ONE)
        assert changed_topics(late).tolist() == [1, 2]
        after = Run(model, swapped, 20, run.settings, run.trace)
        np.testing.assert_allclose(
            late_topic_word(model, late)[[1, 2]],
            fitted_topics(after, 1).topic_word[[1, 2]],
            rtol=0.1,
            atol=1e-3,
        )
        theta = late_theta(model, late)
        np.testing.assert_allclose(theta.sum(axis=1), 1)
        np.testing.assert_allclose(theta, doc_topic(after), atol=0.01)
        note = note_of_changes(Run(model, swapped, 20, run.settings, run.trace, late=late))
        assert note.startswith("2 topics, 1, 2, changed while the sweeps were averaged")

    def test_run_without_averages_has_no_note(self, run):
        assert note_of_changes(run) == ""

    def test_sums_that_do_not_fit_the_model_are_refused(self, run):
        late = LateSums.empty(run.model)
        arrays, header = late.to_arrays()
        for name in arrays:
            for wrong in (arrays[name][:-1], arrays[name].astype(np.float64), None):
                forged = {k: v for k, v in arrays.items() if k != name} | (
                    {} if wrong is None else {name: wrong}
                )
                with pytest.raises(PlaitError):
                    LateSums.from_arrays(run.model, forged, header)
        arrays["later.words"][0, 0] = -1
        with pytest.raises(PlaitError, match="negative"):
            LateSums.from_arrays(run.model, arrays, header)


def test_shares_of_averaged_topics_are_those_of_all_averaged_sweeps():
    model = LdaModel(bands(30, seed=2).corpus, 4, 0.2, 0.05)
    run = sample(
        model, n_paths=Plan([Stage("collapsed", 1, 5), Stage("collapsed", 1, 10, average=True)]), n_jobs=1
    )
    np.testing.assert_allclose(fitted_topics(run, 1).shares, run.late.total("words").sum(axis=0) / 3000)
