"""Speed of hidden Markov models: plait compared with hmmlearn, pomegranate, dynamax and deeptime.

    make bench
    python benchmarks/hmm.py --emissions categorical --states 2,8
    python benchmarks/hmm.py --sequences 1            # the same observations in one long sequence
    python benchmarks/hmm.py --report results/hmm.jsonl

The peers have EM alone. Every contestant starts from the parameters that the data were drawn from, and runs
without end: an iteration is an E step and an M step, a sweep draws all states of all paths, and phi. Times
are per site and iteration, or per site and path. Sequences have 1000 observations, 100000 in all and 10000
for 128 states; symbols are one of 50, numbers have one feature. See `contest.py`.

pomegranate and dynamax are not in uv.lock, because they require PyTorch with CUDA and nightly builds. They
take part if they are installed; PyTorch for processors alone is enough, and best installed first:

    uv pip install torch --index https://download.pytorch.org/whl/cpu
    uv pip install pomegranate dynamax
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contest import ENDLESS, Arrays, Case, Contest, Contestant, climb_on, parser_of, run, sweep_on
from plait.data.sequences import Sequences
from plait.models.chain import HmmParameters
from plait.models.emissions import (
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
)
from plait.models.hmm import HmmModel
from turns import report

Floats = NDArray[np.float64]

N_SYMBOLS = 50
LENGTH = 1000


@dataclass(frozen=True)
class Task:
    """Observations, and the model that they were drawn from.

    Attributes
    ----------
    values : ndarray, (N,)
        Symbols, or numbers.
    lengths : ndarray
        Lengths of the sequences, which are all the same.
    start, transitions : ndarray
        Probabilities of states.
    emissions : ndarray, (S, symbols) or (S,)
        Probabilities of symbols, or means; the variances of numbers are 1.
    """

    values: NDArray[Any]
    lengths: NDArray[np.int64]
    start: Floats
    transitions: Floats
    emissions: Floats

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.start)

    @property
    def is_categorical(self) -> bool:
        """Whether the observations are symbols."""
        return self.emissions.ndim == 2

    @property
    def column(self) -> NDArray[Any]:
        """The observations as a table with one feature."""
        return self.values[:, None]

    @property
    def batch(self) -> NDArray[Any]:
        """The observations as an array (sequences, length, 1)."""
        return self.values.reshape(len(self.lengths), -1, 1)


def load(kind: str, n_states: int, n_sequences: int | None) -> tuple[Arrays, int, str]:
    """Draw observations of states that stay for ten steps on average."""
    n_sites = 100_000 if n_states < 100 else 10_000
    n_sequences = n_sites // LENGTH if n_sequences is None else n_sequences
    lengths = np.full(n_sequences, n_sites // n_sequences)
    rng = np.random.default_rng(0)
    start = np.full(n_states, 1 / n_states)
    transitions = 0.9 * np.eye(n_states) + 0.1 * rng.dirichlet(np.ones(n_states), n_states)
    stays = rng.geometric(0.1, n_sites)
    states = np.repeat(rng.integers(n_states, size=n_sites), stays)[:n_sites]
    if kind == "categorical":
        emissions = rng.dirichlet(np.full(N_SYMBOLS, 0.5), n_states)
        steps = np.cumsum(emissions, axis=1)[states]
        values = np.minimum((steps < rng.random(n_sites)[:, None]).sum(axis=1), N_SYMBOLS - 1)
    else:
        emissions = 2.0 * np.arange(n_states)
        values = emissions[states] + rng.normal(size=n_sites)
    arrays = {
        "values": values,
        "lengths": lengths,
        "start": start,
        "transitions": transitions,
        "emissions": emissions,
    }
    return arrays, n_sites, f"sequences of {lengths[0]} observations"


# -------------------------------------------------------------------------------------------------
# Contestants: each makes iterations or sweeps, and reports them, until it is killed
# -------------------------------------------------------------------------------------------------


def model_of(task: Task, *, blocked: bool = True) -> HmmModel:
    if task.is_categorical:
        symbols = Sequences.from_symbols(task.values, task.lengths)
        return HmmModel(CategoricalEmissions(symbols, task.n_states, n_symbols=N_SYMBOLS), blocked=blocked)
    numbers = Sequences.from_values(task.column, task.lengths)
    return HmmModel(GaussianEmissions(numbers, task.n_states), blocked=blocked)


def run_plait_em(task: Task) -> None:
    if task.is_categorical:
        emissions: Any = CategoricalParameters(task.emissions)
    else:
        means = task.emissions[:, None]
        emissions = NormalParameters(means, np.ones_like(means), "diag")
    climb_on(model_of(task), HmmParameters(task.start, task.transitions, emissions))


def run_plait_sweeps(n_paths: int, method: str, task: Task) -> None:
    sweep_on(model_of(task, blocked=method == "blocked"), n_paths, collapsed=method == "collapsed")


def run_hmmlearn(implementation: str, task: Task) -> None:
    from hmmlearn.base import ConvergenceMonitor
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    class Reporting(ConvergenceMonitor):
        converged = False

        def report(self, log_prob: float) -> None:
            self.iter += 1
            report(self.iter)

    settings = {"n_iter": ENDLESS, "init_params": "", "implementation": implementation}
    if task.is_categorical:
        model: Any = CategoricalHMM(task.n_states, n_features=N_SYMBOLS, **settings)
        model.emissionprob_ = task.emissions
    else:
        model = GaussianHMM(task.n_states, "diag", **settings)
        model.means_, model.covars_ = task.emissions[:, None], np.ones((task.n_states, 1))
    model.startprob_, model.transmat_ = task.start, task.transitions
    model.monitor_ = Reporting(0.0, ENDLESS, False)
    model.fit(task.column, task.lengths)


def run_pomegranate(task: Task) -> None:
    import torch
    from pomegranate.distributions import Categorical, Normal
    from pomegranate.hmm import DenseHMM

    torch.set_num_threads(1)
    if task.is_categorical:
        emissions = [Categorical([row]) for row in task.emissions.astype(np.float32)]
    else:
        emissions = [Normal([mean], [1.0], covariance_type="diag") for mean in task.emissions]
    transitions, start = task.transitions.astype(np.float32), task.start.astype(np.float32)
    ends = np.full(task.n_states, 1 / LENGTH, np.float32)  # it has a probability that a sequence ends
    model = DenseHMM(emissions, transitions * (1 - ends[0]), start, ends)
    batch = torch.tensor(task.batch, dtype=torch.int64 if task.is_categorical else torch.float32)
    for iteration in range(1, ENDLESS):
        model.summarize(batch)
        model.from_summaries()
        report(iteration)


def run_dynamax(task: Task) -> None:
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import CategoricalHMM, DiagonalGaussianHMM

    n_states = task.n_states
    given = {"initial_probs": jnp.array(task.start), "transition_matrix": jnp.array(task.transitions)}
    if task.is_categorical:
        model: Any = CategoricalHMM(n_states, 1, N_SYMBOLS)
        parameters, properties = model.initialize(**given, emission_probs=jnp.array(task.emissions)[:, None])
    else:
        model = DiagonalGaussianHMM(n_states, 1)
        parameters, properties = model.initialize(
            **given,
            emission_means=jnp.array(task.emissions)[:, None],
            emission_scale_diags=jnp.ones((n_states, 1)),
        )
    batch = jnp.array(task.batch)

    @jax.jit
    def iterate(parameters: Any, state: Any) -> Any:
        # Its fit_em compiles this anew in every call, and reports nothing in between.
        statistics, _ = jax.vmap(partial(model.e_step, parameters))(batch)
        return model.m_step(parameters, properties, statistics, state)

    state = model.initialize_m_step_state(parameters, properties)
    for iteration in range(1, ENDLESS):
        parameters, state = jax.block_until_ready(iterate(parameters, state))
        report(iteration)


def run_deeptime(task: Task) -> None:
    from deeptime.markov.hmm import (
        DiscreteOutputModel,
        GaussianOutputModel,
        HiddenMarkovModel,
        MaximumLikelihoodHMM,
    )

    class Reporting:
        """What deeptime takes for a progress bar."""

        def __init__(self, **settings: Any) -> None:
            self.iterations: Iterator[int] = count(1)

        def __enter__(self) -> Reporting:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def update(self) -> None:
            report(next(self.iterations))

    if task.is_categorical:
        emissions: Any = DiscreteOutputModel(task.emissions)
    else:
        emissions = GaussianOutputModel(task.n_states, task.emissions, np.ones(task.n_states))
    first = HiddenMarkovModel(task.transitions, emissions, task.start)
    estimator = MaximumLikelihoodHMM(first, lagtime=1, reversible=False, accuracy=-np.inf, maxit=ENDLESS)
    estimator.fit(np.split(task.values, np.cumsum(task.lengths)[:-1]), progress=Reporting)


def entry(package: str, work: Callable[[Task], None], n_paths: int = 1) -> Contestant:
    return Contestant(package, lambda arrays: work(Task(**arrays)), n_paths)


def sampler(n_paths: int, method: str) -> Contestant:
    return entry("plait", partial(run_plait_sweeps, n_paths, method), n_paths)


CONTEST = Contest(
    __file__,
    base="hmmlearn",
    contestants={
        "plait, EM": entry("plait", run_plait_em),
        "hmmlearn": entry("hmmlearn", partial(run_hmmlearn, "log")),
        "hmmlearn, scaling": entry("hmmlearn", partial(run_hmmlearn, "scaling")),
        "pomegranate": entry("pomegranate", run_pomegranate),
        "dynamax": entry("dynamax", run_dynamax),
        "deeptime": entry("deeptime", run_deeptime),
        "plait, blocked, m = 1": sampler(1, "blocked"),
        "plait, blocked, m = 5": sampler(5, "blocked"),
        "plait, single-site, m = 5": sampler(5, "single-site"),
        "plait, collapsed, m = 5": sampler(5, "collapsed"),
    },
    warm_up=10,
    warm_up_seconds=15.0,
)


def main() -> None:
    parser = parser_of(CONTEST, __doc__)
    parser.add_argument("--emissions", default="categorical,gaussian")
    parser.add_argument("--states", default="2,8,32,128")
    parser.add_argument("--sequences", type=int, help="number of sequences, instead of their length")
    options = parser.parse_args()
    suffix = "" if options.sequences is None else f", {options.sequences} long"
    cases = [
        Case(
            f"{kind}{suffix}",
            f"{n_states} states",
            partial(load, kind, n_states, options.sequences),
            without=() if kind == "categorical" else ("plait, collapsed, m = 5",),
        )
        for kind in options.emissions.split(",")
        for n_states in map(int, options.states.split(","))
    ]
    run(CONTEST, cases, options)


if __name__ == "__main__":
    main()
