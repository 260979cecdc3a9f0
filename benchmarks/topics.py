r"""Speed of topic models: plait compared with tomotopy, topica, pyrmallet, lda, gensim and scikit-learn.

    make bench
    python benchmarks/topics.py --corpora sotu --topics 100,500 --output results/topics.jsonl
    python benchmarks/topics.py --report results/topics.jsonl

Every contestant has a process, one thread, and fixed priors, alpha = 10 / T and eta = 0.01. It first makes 50
sweeps alone, or as many as fit into half a minute. Then all take turns (`turns.py`), so that whatever slows a
shared machine down slows all of them down alike: trust the ratios. An update is one token in one path; times
are those of whole sweeps, including everything that a package does in them. gensim and scikit-learn do not
sample: a sweep is a pass over the documents, and one of theirs changes more than one of a sampler.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import corpora
from methods import Job
from plait.data.corpus import Corpus
from plait.models.lda import LdaModel
from plait.plans import Settings
from plait.sampler import State, step
from plait.threads import Threads
from quality import cpu_model, read
from turns import report, take_turns

ETA = 0.01
ENDLESS = 1_000_000
WARM_UP = 50
WARM_UP_SECONDS = 30.0
BASE = "tomotopy"
"""The contestant that speeds are shown relative to."""


def alpha_of(n_topics: int) -> float:
    """Return the prior of all contestants."""
    return 10.0 / n_topics


# -------------------------------------------------------------------------------------------------
# Contestants: each makes sweeps, and reports them, until it is killed
# -------------------------------------------------------------------------------------------------


def run_plait(n_paths: int, collapsed: bool, job: Job) -> None:
    model = LdaModel(job.corpus, job.n_topics, alpha_of(job.n_topics), ETA)
    settings = Settings(n_paths=n_paths, n_sweeps=1, seed=0, collapsed=collapsed, thin=1)
    threads = Threads(1)
    state = State(0, model.initial_paths(n_paths, settings.seed, threads))
    for sweep in range(1, ENDLESS):
        state = step(model, state, settings, threads)
        report(sweep)


def run_tomotopy(job: Job) -> None:
    import tomotopy

    model = tomotopy.LDAModel(k=job.n_topics, alpha=alpha_of(job.n_topics), eta=ETA, seed=1)
    model.optim_interval = 0
    for document in job.documents():
        model.add_doc(document)
    for sweep in range(1, ENDLESS):
        model.train(1, workers=1)
        report(sweep)


def run_topica(job: Job) -> None:
    import topica

    model = topica.LDA(
        job.n_topics,
        alpha_sum=alpha_of(job.n_topics) * job.n_topics,
        beta=ETA,
        seed=1,
        num_threads=1,
        burn_in=ENDLESS,  # before the first time that it learns priors
        optimize_interval=ENDLESS,
    )
    model.fit(
        topica.Corpus.from_documents(job.documents()),
        iters=ENDLESS,
        progress=lambda sweep, *_: report(sweep),
        progress_interval=1,
        keep_theta_draws=False,
        check_every=0,
    )


def run_pyrmallet(job: Job) -> None:
    from pyrmallet import _rust_mallet

    corpus = _rust_mallet.Corpus.from_strings([" ".join(d) for d in job.documents()], token_regex=r"\d+")
    _rust_mallet.train(
        corpus,
        num_topics=job.n_topics,
        iterations=ENDLESS,
        alpha_sum=alpha_of(job.n_topics) * job.n_topics,
        beta=ETA,
        seed=1,
        callback=lambda sweep, *_: report(sweep),
        callback_interval=1,
        burn_in=ENDLESS,
        optimize_interval=ENDLESS,
    )


def run_lda(job: Job) -> None:
    # Its fit cannot be watched, so this makes the sweeps as its fit does.
    import lda

    model = lda.LDA(job.n_topics, alpha=alpha_of(job.n_topics), eta=ETA, random_state=1)
    variates, generator = model._rands.copy(), np.random.default_rng(1)
    model._initialize(job.corpus.to_matrix().astype(np.intc))
    for sweep in range(1, ENDLESS):
        generator.shuffle(variates)
        model._sample_topics(variates)
        report(sweep)


def run_gensim(job: Job) -> None:
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel as GensimModel

    documents = job.documents()
    dictionary = Dictionary(documents)
    bags = [dictionary.doc2bow(document) for document in documents]
    model = GensimModel(id2word=dictionary, num_topics=job.n_topics, eval_every=None, random_state=1)
    for sweep in range(1, ENDLESS):
        model.update(bags, passes=1)
        report(sweep)


def run_sklearn(job: Job) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    matrix = job.corpus.to_matrix()
    model = LatentDirichletAllocation(job.n_topics, total_samples=matrix.shape[0], n_jobs=1, random_state=1)
    for sweep in range(1, ENDLESS):
        model.partial_fit(matrix)
        report(sweep)


CONTESTANTS: dict[str, tuple[int, Callable[[Job], None]]] = {
    "plait, partially collapsed, m = 1": (1, lambda job: run_plait(1, False, job)),
    "plait, partially collapsed, m = 5": (5, lambda job: run_plait(5, False, job)),
    "plait, collapsed, m = 1": (1, lambda job: run_plait(1, True, job)),
    "plait, collapsed, m = 5": (5, lambda job: run_plait(5, True, job)),
    "tomotopy": (1, run_tomotopy),
    "topica": (1, run_topica),
    "pyrmallet": (1, run_pyrmallet),
    "lda": (1, run_lda),
    "gensim": (1, run_gensim),
    "scikit-learn": (1, run_sklearn),
}
"""By name, the number of paths and the function that makes sweeps."""


# -------------------------------------------------------------------------------------------------
# Measuring and reporting
# -------------------------------------------------------------------------------------------------


def measure(name: str, n_topics: int, contestants: Sequence[str], n_turns: int) -> list[dict[str, Any]]:
    """Return a record of each contestant on a corpus."""
    training = corpora.load(name).training
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.npz"
        np.savez(path, words=training.words, offsets=training.offsets, n_words=training.n_words)
        commands = {
            contestant: [sys.executable, __file__, "--run", contestant, str(path), str(n_topics)]
            for contestant in contestants
        }
        runners = take_turns(commands, n_turns, warm_up=WARM_UP, warm_up_seconds=WARM_UP_SECONDS)
    records = []
    for contestant, runner in runners.items():
        seconds = runner.seconds_per_unit_in_parts()
        if np.isnan(seconds).any():
            print(f"{name}, T = {n_topics}: {contestant} made too few sweeps, and is left out", flush=True)
            continue
        n_paths = CONTESTANTS[contestant][0]
        records.append(
            {
                "corpus": name,
                "tokens": training.n_tokens,
                "documents": training.n_documents,
                "topics": n_topics,
                "contestant": contestant,
                "paths": n_paths,
                "nanoseconds": (seconds / (training.n_tokens * n_paths) * 1e9).tolist(),
                "megabytes": runner.megabytes,
                "cpu": cpu_model(),
            }
        )
    return records


def tables_of(records: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table for each corpus and number of topics; the newest record counts."""
    lines = [f"Processor: {', '.join(sorted({r['cpu'] for r in records}))}. One thread each."]
    for name, n_topics in dict.fromkeys((r["corpus"], r["topics"]) for r in records):
        here = [r for r in records if (r["corpus"], r["topics"]) == (name, n_topics)]
        rows = {r["contestant"]: r for r in here}
        base = np.median(rows[BASE]["nanoseconds"]) if BASE in rows else np.nan
        sizes = f"{here[0]['documents']} documents, {here[0]['tokens']} tokens"
        lines += ["", f"**{name}** ({sizes}), {n_topics} topics", ""]
        lines += [f"| | updates relative to {BASE} | ns per update | from, to | peak MB |"]
        lines += ["|---|---:|---:|---:|---:|"]
        for contestant in CONTESTANTS:
            if contestant in rows:
                ns, megabytes = np.array(rows[contestant]["nanoseconds"]), rows[contestant]["megabytes"]
                middle = np.median(ns)
                lines.append(
                    f"| {contestant} | {base / middle:.2f} | {middle:.0f} | {ns.min():.0f}, {ns.max():.0f}"
                    f" | {megabytes:.0f} |"
                )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", default="sotu,news,tweets")
    parser.add_argument("--topics", default="20,100,500,2000")
    parser.add_argument("--contestants", nargs="+", default=list(CONTESTANTS))
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("results/topics.jsonl"))
    parser.add_argument("--report", type=Path, help="print the tables of an output")
    parser.add_argument("--run", nargs=3, metavar=("CONTESTANT", "CORPUS", "TOPICS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        contestant, path, n_topics = options.run
        with np.load(path) as arrays:
            vocabulary = tuple(str(word) for word in range(int(arrays["n_words"])))
            corpus = Corpus(arrays["words"], arrays["offsets"], vocabulary)
        CONTESTANTS[contestant][1](Job(corpus, int(n_topics), 0, ENDLESS))
        return
    if options.report:
        print(tables_of(read(options.report)))
        return
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for name in options.corpora.split(","):
        for n_topics in map(int, options.topics.split(",")):
            records = measure(name, n_topics, options.contestants, options.turns)
            with options.output.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            print(tables_of(records), "\n", flush=True)


if __name__ == "__main__":
    main()
