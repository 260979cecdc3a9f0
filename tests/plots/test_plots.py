"""Pictures: each returns the axes and draws finite things, and leaves matplotlib as it was."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pytest
from scipy.integrate import trapezoid

import plait
from plait import plots
from plait.errors import PlaitError
from plait.fitting.plan import Plan as FitPlan
from plait.fitting.stored import fit_and_store

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

HOSTILE = ("$\\frac{", "_under", "<script>", "שלום", "a\x1b[31m\n", "x" * 3000)


@pytest.fixture(autouse=True)
def matplotlib_stays_as_it_was():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    before = dict(matplotlib.rcParams), pyplot.get_fignums()
    yield
    assert (dict(matplotlib.rcParams), pyplot.get_fignums()) == before


@pytest.fixture
def ax():
    return Figure(figsize=(5, 4), layout="constrained").add_subplot()


def drawn(ax):
    """Draw a figure, and return the numbers of all that is in the axes."""
    ax.figure.savefig(BytesIO(), format="png", dpi=50)
    found = [line.get_xydata() for line in ax.lines]
    found += [np.asarray(collection.get_offsets(), float) for collection in ax.collections]
    found += [patch.get_path().vertices for patch in ax.patches]
    found += [np.ma.filled(image.get_array().astype(float), np.nan) for image in ax.images]
    found = [array for array in found if array.size]
    assert found
    limits = [*ax.get_xlim(), *ax.get_ylim()]
    assert np.isfinite(limits).all()
    return found


def texts(ax):
    return [text.get_text() for text in (*ax.get_yticklabels(), *ax.get_xticklabels(), *ax.texts, ax.title)]


@pytest.fixture(scope="module")
def lda():
    """Return a run in stages, of documents with a year missing between two, whose words are hostile."""
    rng = np.random.default_rng(0)
    words = [*HOSTILE, "tax", "war", "peace", "money"]
    documents = [[words[w] for w in rng.integers(5 * (d % 2), 5 + 5 * (d % 2), 20)] for d in range(24)]
    years = [1900 + d // 3 + 2 * (d >= 12) for d in range(24)]
    corpus = plait.Corpus.from_tokens(
        documents,
        names=[f"document $ {d}" for d in range(24)],
        dates=[str(year) for year in years],
        columns={"party": ["$a", "_b", ""] * 8, "place": [f"place {d % 9}" for d in range(24)]},
    )
    plan = plait.Plan(
        [
            plait.Stage("collapsed", 1, 20, learn_priors=True),
            plait.Stage(n_paths=(1, 3), sweeps=10),
        ]
    )
    run = plait.sample(plait.LdaModel(corpus, 3), n_paths=plan, thin=2, n_jobs=1)
    return run.named({1: "_$name$ " + "long " * 100})


@pytest.fixture(scope="module")
def hmm(tmp_path_factory):
    """Return the best of three restarts, with missing observations."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 30, axis=0)
    values[40:45] = np.nan
    sequences = plait.Sequences.from_values(
        values, [50, 40], missing=True, columns=["$x$", "y"], names=["_$one", "two"]
    )
    path = tmp_path_factory.mktemp("hmm") / "model.plait"
    model = plait.HmmModel(plait.GaussianEmissions(sequences, 3))
    fit_and_store(model, FitPlan(2, 20, em_iterations=20), path, seed=1, n_init=3, n_jobs=1)
    return path


class TestTopics:
    def test_words_are_bars_of_tokens(self, lda, ax):
        plots.topic_words(lda, 0, 4, ax=ax)
        assert drawn(ax)
        found = plait.answers.topic_words(lda, 0, 4)
        widths = [bar.get_width() for bar in ax.patches]
        assert widths[:4] == [word.corpus_tokens for word in found]
        assert widths[4:] == [word.tokens for word in found]

    def test_the_map_has_a_circle_for_each_topic(self, lda, ax):
        plots.topic_map(lda, ax=ax)
        places = plait.answers.topic_map(lda).places
        assert any(np.allclose(array, places) for array in drawn(ax) if array.shape == places.shape)

    def test_others(self, lda, ax):
        for draw in (plots.similarity, lambda run, ax: plots.document_topics(run, 3, 1, ax=ax)):
            ax.clear()
            assert draw(lda, ax=ax) is ax
            drawn(ax)

    def test_the_bars_of_a_document_add_up_to_all(self, lda, ax):
        plots.document_topics(lda, "document $ 3", 2, ax=ax)
        assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(100)

    def test_topics_that_one_model_lacks_are_hollow(self, lda, ax):
        other = plait.sample(plait.LdaModel(lda.model.corpus, 5), n_paths=1, n_sweeps=5, n_jobs=1)
        plots.compare_topics(lda, other, ax=ax)
        drawn(ax)
        assert [bar.get_facecolor() == (1, 1, 1, 1) for bar in ax.patches] == [False] * 3 + [True] * 2
        ax.clear()
        plots.compare_topics(lda, other, 2, ax=ax)
        assert "3 more in between" in texts(ax)


class TestTime:
    def test_a_year_without_documents_is_a_gap(self, lda, ax):
        plots.timeline(lda, n=2, ax=ax)
        drawn(ax)
        data = [patch.get_data() for patch in ax.patches]
        assert all(np.isnan(steps.values[4:6]).all() for steps in data)  # 1904 and 1905
        assert np.nanmax(data[-1].values) == 100
        shares = plait.answers.timeline(lda).shares
        own = sorted(np.argsort(-plait.answers.topic_map(lda).shares)[:2])
        np.testing.assert_allclose(data[0].values, 100 * shares[:, own[0]])
        np.testing.assert_allclose(data[1].values - data[1].baseline, 100 * shares[:, own[1]])

    def test_every_topic_has_a_row(self, lda, ax):
        plots.timeline(lda, "decade", kind="rows", topics=[2, 0], ax=ax)
        drawn(ax)
        assert len(ax.patches) == 2
        with pytest.raises(PlaitError, match="kind must be one of"):
            plots.timeline(lda, kind="pie", ax=ax)

    @pytest.mark.parametrize("by", ["party", "place"])
    def test_prevalence_by_few_or_many_values(self, lda, by, ax):
        plots.prevalence(lda, by, ax=ax)
        drawn(ax)
        assert bool(ax.images) == (by == "place")

    def test_measures_of_years_are_those_of_the_evaluation(self, lda, ax):
        plots.yearly_entropy(lda, ax=ax)
        drawn(ax)
        years, entropies = ax.lines[0].get_data()
        assert years.tolist() == list(range(1900, 1910))
        assert np.isnan(entropies).tolist() == [4 <= k <= 5 for k in range(10)]
        ax.clear()
        plots.bucket_lengths(lda, 0.5, ax=ax)
        drawn(ax)
        assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(100)
        ax.clear()
        plots.topic_buckets(lda, 0, 0.25, ax=ax)
        drawn(ax)

    def test_a_corpus_without_dates_is_refused(self, small_bands, ax):
        run = plait.sample(plait.LdaModel(small_bands.corpus, 2), n_paths=1, n_sweeps=1, n_jobs=1)
        with pytest.raises(PlaitError, match="the corpus has no dates"):
            plots.yearly_entropy(run, ax=ax)


class TestRuns:
    def test_the_trace_has_all_paths_and_stages(self, lda, ax):
        plots.trace(lda, ax=ax)
        drawn(ax)
        *paths, mean, _ = ax.lines  # the last is between two stages
        assert len(paths) == 3
        np.testing.assert_allclose(mean.get_ydata(), lda.trace.mean_log_joint() / lda.model.n_sites)
        assert [text.get_text() for text in ax.texts] == ["m = 1", "m = 1 to 3"]
        with pytest.raises(PlaitError, match="the run has no records of EM from 0 on"):
            plots.trace(lda, of="EM", ax=ax)

    def test_em_has_a_trace_too(self, hmm, ax):
        plots.trace(hmm, of="EM", ax=ax)
        np.testing.assert_allclose(ax.lines[0].get_ydata() * 90, plait.load(hmm).em_history)

    def test_learnt_priors(self, lda, hmm, ax):
        plots.priors(lda, ax=ax)
        drawn(ax)
        with pytest.raises(PlaitError, match="the run learnt no priors"):
            plots.priors(hmm, ax=ax)

    def test_restarts_are_below_the_best(self, hmm, lda, ax):
        plots.restarts(hmm, ax=ax)
        drawn(ax)
        scores = np.array(plait.load(hmm).fit.scores)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), np.sort(scores)[::-1] - scores.max())
        with pytest.raises(PlaitError, match="no finished restarts"):
            plots.restarts(lda, ax=ax)

    def test_agreement_is_a_matrix(self, lda, hmm, ax):
        plots.agreement(hmm, ax=ax)
        np.testing.assert_allclose(ax.images[0].get_array(), plait.answers.state_agreement(plait.load(hmm)))
        ax.clear()
        plots.agreement(lda, ax=ax)
        drawn(ax)


class TestStates:
    def test_transitions_are_in_the_order_in_which_states_are_shown(self, hmm, ax):
        plots.transitions(hmm, ax=ax)
        drawn(ax)
        states = plait.GaussianHMM.from_run(hmm).transmat_
        np.testing.assert_allclose(ax.images[0].get_array(), states)

    def test_the_diagram_has_arrows_above_the_least_probability(self, hmm, ax):
        from matplotlib.patches import FancyArrowPatch

        for least in (0.0, 0.9):
            ax.clear()
            plots.state_diagram(hmm, least=least, ax=ax)
            drawn(ax)
            arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
            between = plait.GaussianHMM.from_run(hmm).transmat_[~np.eye(3, dtype=bool)]
            assert len(arrows) == np.count_nonzero(between >= max(least, 1e-12))
            assert len(arrows) > 0 or least == 0.9

    @pytest.mark.parametrize("features", [None, 1, (1, 0)])
    def test_normal_emissions(self, hmm, features, ax):
        plots.emissions(hmm, features, ax=ax)
        drawn(ax)
        if features == 1:
            x, y = ax.lines[-1].get_data()  # the density of all
            assert trapezoid(y, x) == pytest.approx(1, abs=0.01)

    def test_bars_of_symbols_counts_and_ones(self, ax):
        symbols = plait.Sequences.from_symbols(np.arange(40) % 4, labels=["$", "_", "c", "d" * 99])
        counts = plait.Sequences.from_values(np.arange(40)[:, None] % 4)
        for own in (
            plait.CategoricalEmissions(symbols, 2),
            plait.PoissonEmissions(counts, 2),
            plait.BernoulliEmissions(plait.Sequences.from_values(np.arange(40)[:, None] % 2), 2),
        ):
            run = plait.sample(plait.HmmModel(own), n_paths=1, n_sweeps=2, n_jobs=1)
            ax.clear()
            plots.emissions(run, ax=ax)
            drawn(ax)
            assert max(bar.get_height() for bar in ax.patches) == pytest.approx(0.85)

    def test_durations_are_drawn_beside_what_transitions_imply(self, hmm, ax):
        plots.durations(hmm, ax=ax)
        drawn(ax)
        own = plait.answers.state_durations(plait.load(hmm))[0]
        implied = ax.lines[1].get_ydata()
        np.testing.assert_allclose(-np.diff(implied), own.implied(np.arange(1, len(implied))))

    def test_missing_stretches_are_hatched(self, hmm, ax):
        plots.decoded(hmm, "_$one", ax=ax)
        drawn(ax)
        hatched = [patch for patch in ax.patches if patch.get_hatch()]
        assert [(patch.get_x(), patch.get_width()) for patch in hatched] == [(39.5, 5)]
        assert np.isnan(ax.lines[0].get_ydata()).tolist() == [40 <= i < 45 for i in range(50)]
        ax.clear()
        plots.decoded(hmm, 1, start=3, stop=4, ax=ax)
        drawn(ax)

    def test_other_models_are_refused(self, lda, ax):
        for draw in (plots.transitions, plots.state_diagram, plots.durations, plots.decoded):
            with pytest.raises(PlaitError, match="this works for hidden Markov models"):
                draw(lda, ax=ax)
        with pytest.raises(PlaitError, match="no emissions to draw: try `parameters`"):
            plots.emissions(lda, ax=ax)


@dataclass(frozen=True)
class Coins(plait.PathModel):
    """A model of one's own: every site is heads or tails, by a share."""

    n_sites: int = 12
    n_states: int = 2

    def statistics(self, path):
        return {"heads": path.sum(), "rows": np.ones((2, 2, 3))}

    def draw(self, statistics, rng):
        return {"share": rng.beta(1 + statistics["heads"], 1), "rows": statistics["rows"]}

    def update(self, path, parameters, rng):
        return (rng.random(self.n_sites) < 0.5).astype(path.dtype)

    def log_density(self, path, parameters):
        return float(-self.n_sites * np.log(2))

    def mean(self, statistics):
        return {"share": 0.5, "rows": statistics["rows"]}


class TestOtherModels:
    def test_mixtures_have_emissions_and_agreement(self):
        values = np.concatenate([np.zeros(20), np.full(20, 5.0)]) + np.arange(40) % 3
        model = plait.MixtureModel(plait.GaussianEmissions(plait.Sequences.from_values(values[:, None]), 2))
        run = plait.sample(model, n_paths=2, n_sweeps=20, n_jobs=1)
        for draw in (plots.emissions, plots.agreement, plots.trace, plots.parameters):
            figure_axes = Figure().add_subplot()
            assert draw(run, ax=figure_axes) is figure_axes
            drawn(figure_axes)

    def test_a_field_is_a_picture_of_its_labels(self, ax):
        image = np.zeros((6, 8))
        image[:, 4:] = 9
        model = plait.PottsSegmentation(2, n_paths=3, n_iter=10, random_state=0, n_jobs=1).fit(image)
        plots.field(model, ax=ax)
        (colours,) = [array for array in drawn(ax) if array.shape == (6, 8, 3)]
        assert len(np.unique(colours.reshape(-1, 3), axis=0)) == 2
        with pytest.raises(PlaitError, match="plane must be a whole number from 0 to 0"):
            plots.field(model, plane=1, ax=ax)

    def test_parameters_of_a_model_of_ones_own(self, ax):
        run = plait.sample(Coins(), n_paths=2, n_sweeps=2, n_jobs=1)
        plots.parameters(run, ax=ax)
        drawn(ax)
        ax.clear()
        plots.parameters(run, "['rows'][1]", ax=ax)
        assert ax.images[0].get_array().shape == (2, 3)
        with pytest.raises(PlaitError, match=r"name must be one of .*\['rows'\]\[0\]"):
            plots.parameters(run, "shape", ax=ax)
        ax.clear()
        plots.agreement(run, ax=ax)


class TestAllPictures:
    def test_hostile_text_is_shown_as_it_is_and_cut_off(self, lda, ax):
        plots.topic_words(lda, 1, 10, ax=ax)
        drawn(ax)  # raises an error if it is read as mathematics
        shown = texts(ax)
        assert max(map(len, shown)) <= 60
        assert any("\\$\\frac{" in text for text in shown)
        assert not any("\x1b" in text or "\n" in text for text in shown)
        ax.clear()
        plots.timeline(lda, ax=ax)
        drawn(ax)
        assert len(ax.get_legend().get_texts()) == 3  # a label that starts with an underscore stays

    def test_without_axes_there_is_a_new_figure(self, lda):
        from matplotlib import pyplot

        mine = pyplot.figure()
        try:
            ax = plots.topic_words(lda, 0)
            assert ax.figure is not mine
            assert not mine.axes
            pyplot.close(ax.figure)
        finally:
            pyplot.close(mine)

    def test_files_and_estimators_are_sources_too(self, lda, tmp_path, ax):
        lda.save(tmp_path / "model.plait")
        plots.topic_words(tmp_path / "model.plait", 0, ax=ax)
        plots.topic_words(str(tmp_path / "model.plait"), 0, ax=ax)
        plots.topic_words(plait.LDA.from_run(lda), 0, ax=ax)

    def test_what_is_no_source_or_no_axes_is_refused(self, lda, ax):
        with pytest.raises(PlaitError, match="run must be a Run or a fitted estimator, got 3"):
            plots.topic_map(3, ax=ax)
        with pytest.raises(PlaitError, match="ax must be axes of matplotlib, got int"):
            plots.topic_map(lda, ax=3)

    def test_without_matplotlib_there_is_a_clear_error(self, lda, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(PlaitError, match=r'figures need matplotlib: pip install "plait\[plot\]"'):
            plots.topic_words(lda, 0)

    def test_more_states_than_colours_can_be_told_apart_by_lightness(self):
        from plait.plots.drawing import colours

        assert len(set(colours(7))) == 7
        assert len(set(colours(12))) == 12

    def test_the_docstring_lists_all_pictures(self):
        assert all(f"`{name}`" in plots.__doc__ for name in plots.__all__)


def test_a_run_without_paths_can_be_drawn(hmm):
    model = plait.load(hmm).model
    em = fit_and_store(model, FitPlan(0, 0, em_iterations=5), hmm.with_name("em.plait"), seed=1, n_jobs=1)
    for draw in (plots.trace, plots.emissions, plots.durations, plots.transitions):
        ax = Figure().add_subplot()
        draw(em, ax=ax)
        drawn(ax)
