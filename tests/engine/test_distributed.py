"""A run on several workers has the bits of a run in one process, also when workers are lost."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from engine_cases import LEARNING, HereWorkers, assert_same_run, hmm, lda, mixture, walks

import plait
from plait.data.encoded import encode
from plait.data.sequences import Sequences
from plait.data.streams import Stream
from plait.engine import check_cluster, check_stages, distributed
from plait.engine.cutting import cut_ranges
from plait.errors import NotSupported, PlaitError
from plait.models.emissions import GaussianEmissions, RegressionEmissions, StudentEmissions
from plait.models.hmm import HmmModel

MODELS = {
    "lda": (lda, LEARNING),
    "lda, alpha fixed": (lambda: lda(("alpha",)), LEARNING),
    "hmm, categorical": (lambda: hmm("categorical"), 3),
    "hmm, gaussian": (lambda: hmm("gaussian"), 3),
    "hmm, poisson": (lambda: hmm("poisson"), 2),
    "hmm, gamma": (lambda: hmm("gamma"), 2),
    "hmm, negative binomial": (lambda: hmm("negative-binomial"), 2),
    "hmm, multinomial": (lambda: hmm("multinomial"), 2),
    "hmm, partly missing": (lambda: hmm("gaussian, partly missing"), 2),
    "mixture": (mixture, 3),
    "PathModel": (walks, 3),
}


def run(model: Any, plan: Any, **options: Any) -> plait.Run:
    n_sweeps = None if isinstance(plan, plait.Plan) else 4
    return plait.sample(model, n_paths=plan, n_sweeps=n_sweeps, seed=3, thin=1, **options)


@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_workers_has_the_bits_of_one_process(name: str) -> None:
    make, plan = MODELS[name]
    model = make()
    assert len(model.site_ranges()) >= 3
    one = run(model, plan, n_jobs=2)
    for n in (1, 2, 3):
        assert_same_run(one, run(model, plan, cluster=HereWorkers(n)))


def test_shares_are_whole_ranges_however_they_are_weighted() -> None:
    ranges = list(pairwise([0, 10, 20, 70, 75, 80, 100]))
    for weights in ([1.0], [1.0, 1.0], [1.0, 9.0], [9.0, 1.0, 1.0], [1.0] * 6, [1.0] * 20):
        cuts = cut_ranges(ranges, weights)
        assert len(cuts) == min(len(weights), len(ranges))
        assert [cuts[0].first, cuts[-1].last] == [0, 6]
        assert all(one.last == two.first and one.end == two.begin for one, two in pairwise(cuts))
        assert all(cut.first < cut.last and cut.begin == ranges[cut.first][0] for cut in cuts)


@pytest.mark.parametrize("lost", [{1}, {2}, {9}, {9, 10, 11}, {5, 9, 16, 40}])
def test_lost_workers_do_not_change_the_bits(lost: set[int]) -> None:
    workers = HereWorkers(2, lose=lambda order: order in lost)
    assert_same_run(run(lda(), LEARNING), run(lda(), LEARNING, cluster=workers))
    assert workers.placed == 1 + len(lost)


def test_sweeps_since_paths_were_kept_are_repeated_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(distributed, "MOST_SHARE", 1e9)
    workers = HereWorkers(2, lose=lambda order: order == 30)
    assert_same_run(run(lda(), LEARNING), run(lda(), LEARNING, cluster=workers))
    # 16 sweeps, each with a log-likelihood; an order to count at both starts; learning; 16 gatherings
    assert workers.orders <= 2 * 16 + 2 + 1 + 16 + 2


def test_workers_that_join_after_every_sweep_do_not_change_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(distributed, "MOST_SHARE", 1e9)
    workers = HereWorkers(2)
    workers.joining = True
    assert_same_run(run(lda(), LEARNING), run(lda(), LEARNING, cluster=workers))
    assert workers.placed == 17


def test_a_run_whose_workers_are_always_lost_ends_with_an_error() -> None:
    with pytest.raises(PlaitError, match="workers were lost 20 times in one sweep"):
        run(mixture(), 2, cluster=HereWorkers(2, lose=lambda order: order > 4))


def test_a_checkpoint_is_resumed_with_another_number_of_workers(tmp_path: Any) -> None:
    path = tmp_path / "run.plait"

    def stop(progress: Any) -> bool:
        assert progress.state.paths.shape == (len(progress.state.paths), 0)
        return bool(progress.state.sweep == 13)

    whole = run(lda(), LEARNING)
    run(lda(), LEARNING, cluster=HereWorkers(3), checkpoint=path, callback=stop)
    assert plait.load(path).sweep == 13
    assert_same_run(whole, plait.resume(path, cluster=HereWorkers(2)))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (plait.Stage("collapsed", 2, 3), r"stage 1 of the plan \(collapsed, 2 paths\) cannot .* n_paths=5"),
        (plait.Stage("partitioned", 1, 3), "a collapsed sampler needs all counts"),
        (plait.Stage(average=True), "an average needs all paths"),
    ],
)
def test_stages_that_cannot_be_distributed_are_refused(stage: plait.Stage, message: str) -> None:
    with pytest.raises(NotSupported, match=message):
        plait.sample(lda(), n_paths=plait.Plan([stage]), cluster=HereWorkers(2))


def test_models_that_cannot_be_cut_are_refused() -> None:
    whole = walks()
    whole.lengths = np.array([500])
    with pytest.raises(NotSupported, match="Walks does not say how its data can be cut: add a method parts"):
        run(whole, 2, cluster=HereWorkers(2))
    with pytest.raises(NotSupported, match="kind 'potts' cannot be sampled on a cluster"):
        check_stages(SimpleNamespace(kind="potts"), ())


@pytest.mark.parametrize(
    ("emissions", "message"),
    [
        (
            lambda data: StudentEmissions(data, 2),
            "student emissions cannot be sampled on a cluster: leave out",
        ),
        (lambda data: RegressionEmissions(data, 2), "regression emissions cannot be sampled"),
        (
            lambda data: GaussianEmissions(data, 2, covariance="full"),
            "gaussian emissions that draw what observations lack cannot be sampled",
        ),
    ],
)
def test_emissions_that_cannot_be_cut_are_refused(emissions: Any, message: str) -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    whole = Sequences.from_values(values)
    values[4, 1] = np.nan
    data = Sequences.from_values(values, missing=True) if "lack" in message else whole
    with pytest.raises(NotSupported, match=message):
        run(HmmModel(emissions(data)), 2, cluster=HereWorkers(2))


def test_models_that_draw_more_than_paths_are_refused() -> None:
    model = walks()
    model.completes = True  # type: ignore[attr-defined]
    with pytest.raises(NotSupported, match="kind 'own' that draw more than their paths cannot be sampled"):
        run(model, 2, cluster=HereWorkers(2))


@pytest.mark.parametrize("cluster", ["", "local", "local:0", "local:x", "nonsense", "a b:c", 3, object()])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    with pytest.raises(PlaitError, match='cluster must be "local:N"'):
        check_cluster(cluster)


def test_parts_that_do_not_fit_the_sites_are_refused() -> None:
    wrong = walks()
    wrong.parts = lambda: [walks(), walks()]  # type: ignore[method-assign]
    with pytest.raises(PlaitError, match=r"parts\(\) of Walks must return models with 500 sites in all"):
        run(wrong, 2)


def test_workers_read_their_words_of_an_encoded_corpus_and_the_driver_reads_none(tmp_path: Any) -> None:
    texts, corpus = tmp_path / "texts.txt", lda().corpus
    texts.write_text("".join(" ".join(corpus.tokens(d)) + "\n" for d in range(corpus.n_documents)))
    recipe = plait.TextRecipe(language=None)
    encoded = encode(Stream(texts), tmp_path / "encoded", recipe, shard_tokens=5000)
    model = plait.LdaModel(encoded, 8)
    path = tmp_path / "run.plait"
    distributed_run = run(model, LEARNING, cluster=HereWorkers(2), checkpoint=path)
    assert "words" not in vars(encoded)
    assert_same_run(
        run(plait.LdaModel(plait.Corpus.read(texts, recipe=recipe), 8), LEARNING), distributed_run
    )
    assert_same_run(distributed_run, plait.load(path))
