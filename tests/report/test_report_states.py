"""The data of reports on models with states, without a browser."""

from __future__ import annotations

import numpy as np
import pytest
import state_runs

import plait
from plait.errors import PlaitError
from plait.inference.states import decode
from plait.models.emissions import mixed_emissions
from plait.models.model import Key
from plait.report import write_report
from plait.report.chains import chains_pages
from plait.report.emissions import emissions, parameters_of
from plait.report.latent import mixture_pages, own_pages, potts_pages
from plait.report.sequences import BUDGET, kept_lengths
from plait.report.states import fitted_states, states_pages


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return state_runs.gaussian_run(tmp_path_factory.mktemp("states") / "walks.plait")


def blocks(pages, run, tmp_path, **options):
    (page,) = pages(run, title="Walks", path=tmp_path / "a.html", n_jobs=1, **options)
    return page.blocks


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return blocks(states_pages, run, tmp_path_factory.mktemp("page"))


class TestHmm:
    def test_states_have_the_numbers_that_estimators_show(self, run, page):
        hmm = plait.GaussianHMM.from_run(run)
        means = page["main"]["emissions"]["tables"][0]["values"]
        assert means == pytest.approx(hmm.means_, rel=1e-3)
        assert page["main"]["chain"]["transitions"] == pytest.approx(hmm.transmat_, abs=1e-6)
        assert (
            page["sequences"]["states"] == hmm.predict(run.model.sequences.values, state_runs.LENGTHS)
        ).all()

    def test_sequences_have_their_observations_states_and_probabilities(self, run, page):
        own, sequences = page["sequences"], run.model.sequences
        assert own["names"] == ["Monday", "Tuesday", "Wednesday"]
        assert own["lengths"].tolist() == own["whole_lengths"].tolist() == state_runs.LENGTHS
        assert np.isnan(own["values"][0][state_runs.MISSING]).all()
        known = np.isfinite(sequences.values[:, 1])
        assert own["values"][1][known] == pytest.approx(sequences.values[known, 1], rel=1e-3, abs=1e-6)
        (part,) = decode(fitted_states(run).parameters, sequences, probabilities=True)
        assert own["probabilities"] == pytest.approx(255 * part.probabilities, abs=0.51)
        total = own["log_likelihoods"] @ sequences.lengths
        assert total == pytest.approx(max(run.fit.scores), rel=1e-3)

    def test_the_likelihoods_of_all_restarts_are_there(self, run, page):
        assert page["main"]["scores"] == list(run.fit.scores)
        assert len(page["main"]["scores"]) == 3
        assert len(page["main"]["em"]) == len(run.em_history)

    def test_shares_and_certainties_belong_to_the_states_that_are_shown(self, run, page):
        states = page["main"]["states"]
        decoded = fitted_states(run).states
        assert states["sites"].tolist() == np.bincount(decoded, minlength=3).tolist()
        assert states["shares"].sum() == pytest.approx(1, abs=1e-3)
        assert states["certainties"].sum(axis=1).tolist() == states["sites"].tolist()
        assert (states["certainty"] > 0.8).all()
        assert page["main"]["confusion"].argmax(axis=1).tolist() == [0, 1, 2]

    def test_names_follow_their_states(self, run, tmp_path):
        order = plait.GaussianHMM.from_run(run).means_[:, 0].argsort()
        own = blocks(states_pages, run.named({0: "first in the paths"}), tmp_path)
        shown = own["main"]["states"]["names"]
        from plait.report.latent import shown_order

        assert order.tolist() == [0, 1, 2]  # shown by their means
        assert shown.index("first in the paths") == shown_order(run).tolist().index(0)

    def test_stays_end_where_sequences_end(self, page):
        durations = page["main"]["chain"]["durations"]
        assert sum(own["stays"] * own["mean"] for own in durations if own["stays"]) == pytest.approx(200)
        assert sum(own["cut"] for own in durations) >= 4


class TestEmissions:
    def test_histograms_count_the_observations_of_each_state(self, run, page):
        first = page["main"]["emissions"]["histograms"][0]
        decoded, values = fitted_states(run).states, run.model.sequences.values[:, 0]
        known = np.isfinite(values)
        assert first["counts"].sum(axis=1).tolist() == np.bincount(decoded[known], minlength=3).tolist()
        assert first["outside"] == 0

    @pytest.mark.parametrize("n_features", [1, 2])
    def test_curves_of_any_family_are_its_probabilities(self, n_features):
        values = np.random.default_rng(0).poisson(4.0, (60, n_features)).astype(float)
        own = plait.PoissonEmissions(plait.Sequences.from_values(values, [60]), 2)
        from plait.models.emissions import PoissonParameters

        rates = np.array([[2.0] * n_features, [6.0] * n_features])
        found = emissions(own, PoissonParameters(rates), np.zeros(60, np.intp))["histograms"][-1]
        from scipy.stats import poisson

        expected = poisson.pmf(found["x"], rates[:, -1:])
        if n_features > 1:  # then they are scaled to the range that is shown
            expected /= expected.sum(axis=1, keepdims=True)
        assert found["whole"]
        assert found["densities"] == pytest.approx(expected, rel=1e-3)

    def test_parameters_of_an_unknown_family_are_tables_by_their_names(self):
        class Parameters:
            def to_arrays(self):
                own = {"shapes": np.ones((2, 3)), "turning_points": np.zeros(2), "lags": np.ones((2, 4, 2))}
                return own | {"shared": np.ones(5)}

        from plait.report.emissions import tables

        found = {own["name"]: own["values"].shape for own in tables(Parameters(), 2, 3)}
        assert found == {"shapes": (2, 3), "turning points": (2, 1), "lags": (2, 8)}

    def test_parameters_of_families_of_columns_have_the_names_of_these(self):
        rng = np.random.default_rng(0)
        frame = {"step": rng.gamma(2.0, size=40), "angle": rng.vonmises(0.0, 1.0, 40)}
        sequences = plait.Sequences.from_values(np.column_stack(list(frame.values())), columns=list(frame))
        own = mixed_emissions(sequences, 2, [([0], "gamma", {}), ([1], "vonmises", {})])
        names = [table["name"] for table in parameters_of(own, own.first_parameters(Key(0, 0), 0))["tables"]]
        assert names == ["step: means", "step: shapes", "angle: directions", "angle: concentrations"]

    def test_only_the_most_probable_of_many_symbols_are_shown(self):
        from plait.models.emissions import CategoricalParameters

        sequences = plait.Sequences.from_symbols(np.arange(500), [500])
        chances = np.full((2, 500), 0.5 / 499)
        chances[0, 7] = chances[1, 400] = 0.5
        own = plait.CategoricalEmissions(sequences, 2)
        found = emissions(own, CategoricalParameters(chances), np.zeros(500, np.intp))["symbols"]
        assert found["n_all"] == 500
        assert len(found["names"]) == 60
        assert {"7", "400"} <= set(found["names"])


class TestRoom:
    def test_of_many_sequences_some_are_kept_at_equal_distances(self):
        n = BUDGET // 10
        sequences = plait.Sequences.from_values(np.zeros((n, 1)), [10] * (n // 10))
        kept = kept_lengths(sequences, 14, full=False)  # 20 bytes per observation: room for half of them
        assert set(kept) == {0, 10}
        assert kept.sum() * 20 == pytest.approx(BUDGET, rel=0.01)
        assert (kept_lengths(sequences, 14, full=True) == 10).all()

    def test_of_a_sequence_that_is_too_long_the_start_is_kept(self):
        n = BUDGET // 5
        sequences = plait.Sequences.from_values(np.zeros((n, 1)), [n])
        (kept,) = kept_lengths(sequences, 4, full=False)
        assert kept == BUDGET // 10


class TestOtherModels:
    def test_a_mixture_has_shares_sizes_and_parameters(self, tmp_path):
        run = state_runs.mixture_run()
        main = blocks(mixture_pages, run, tmp_path)["main"]
        assert main["states"]["sites"].tolist() == [40, 40]
        assert sorted(main["emissions"]["tables"][0]["values"][:, 0].round()) == [-4, 4]
        mixture = plait.GaussianMixture.from_run(run)
        assert main["em"][-1] == pytest.approx(mixture.score(run.model.emissions.sequences.values), abs=0.01)

    @pytest.mark.parametrize("shape", [(12, 16), (4, 12, 16)])
    def test_a_field_has_its_labels_in_their_places(self, tmp_path, shape):
        run = state_runs.field_run(shape)
        own = blocks(potts_pages, run, tmp_path)
        field = own["field"]
        assert field["shape"] == [1, 1, 1][: 3 - len(shape)] + list(shape)
        labels = field["labels"].reshape(shape)
        assert labels[..., 5, 6].all()
        assert not labels[..., 0, 0].any()
        assert own["main"]["emissions"]["tables"][0]["values"][:, 0] == pytest.approx([0, 3], abs=0.3)

    def test_chains_are_ordered_by_what_they_contribute(self, tmp_path):
        run = state_runs.chains_run()
        own = blocks(chains_pages, run, tmp_path)
        model = plait.FactorialHMM.from_run(run)
        assert own["main"]["chains"]["means"] == pytest.approx(model.means_, rel=1e-3, abs=1e-6)
        assert own["main"]["chains"]["intercept"] == pytest.approx(model.intercept_, rel=1e-3)
        assert (own["sequences"]["states"] == model.states_).mean() > 0.95
        assert own["sequences"]["probabilities"].shape == (100, 2)

    def test_a_model_of_ones_own_has_its_parameters_and_sites(self, tmp_path):
        run = state_runs.own_run()
        own = blocks(own_pages, run, tmp_path)
        found = {array["name"]: array["shape"] for array in own["main"]["parameters"]}
        assert found == {"chance": [2], "table": [2, 2]}
        assert own["sequences"]["probabilities"].sum(axis=1) == pytest.approx(255, abs=1)
        assert own["main"]["words"]["model"] == "model of the kind coins"

    def test_a_model_without_a_mean_says_so(self, tmp_path):
        main = blocks(own_pages, state_runs.own_run(state_runs.CoinsWithoutMean), tmp_path)["main"]
        assert main["parameters"] is None
        assert "has no method mean" in main["notes"][0]


def test_options_of_other_kinds_of_models_are_refused_in_one_line(run, tmp_path):
    with pytest.raises(PlaitError, match="texts is no option of this report"):
        write_report(run, tmp_path / "a.html", texts=False)
    assert not list(tmp_path.iterdir())


def test_a_fit_that_is_not_finished_has_a_report(run, tmp_path):
    from dataclasses import replace

    state = replace(run.fit, scores=run.fit.scores[:1], best=replace(run, fit=None))
    main = blocks(states_pages, replace(run, fit=state), tmp_path)["main"]
    assert not main["about"]["progress"]["finished"]
    assert len(main["scores"]) == 1
