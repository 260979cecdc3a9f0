r"""Speed of topic models: plait compared with tomotopy, topica, pyrmallet, lda, gensim and scikit-learn.

    make bench
    python benchmarks/topics.py --corpora sotu --topics 100,500 --output results/topics.jsonl
    python benchmarks/topics.py --report results/topics.jsonl

Every contestant has fixed priors, alpha = 10 / T and eta = 0.01, and makes 50 sweeps, or as many as fit into
half a minute, before it takes turns with the others; see `contest.py`. An update is one token in one path;
times are those of whole sweeps, including everything that a package does in them. gensim and scikit-learn do
not sample: a sweep is a pass over the documents, and one of theirs changes more than one of a sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import corpora
from contest import ENDLESS, Arrays, Case, Contest, Contestant, parser_of, run, sweep_on
from methods import Job
from plait.data.corpus import Corpus
from plait.models.lda import LdaModel
from turns import report

ETA = 0.01


def alpha_of(n_topics: int) -> float:
    """Return the prior of all contestants."""
    return 10.0 / n_topics


def job_of(arrays: Arrays) -> Job:
    """Return what a contestant has to fit."""
    vocabulary = tuple(str(word) for word in range(int(arrays["n_words"])))
    corpus = Corpus(arrays["words"], arrays["offsets"], vocabulary)
    return Job(corpus, int(arrays["n_topics"]), 0, ENDLESS)


# -------------------------------------------------------------------------------------------------
# Contestants: each makes sweeps, and reports them, until it is killed
# -------------------------------------------------------------------------------------------------


def run_plait(n_paths: int, collapsed: bool, job: Job) -> None:
    model = LdaModel(job.corpus, job.n_topics, alpha_of(job.n_topics), ETA)
    sweep_on(model, n_paths, collapsed=collapsed)


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


def plait(n_paths: int, collapsed: bool) -> Contestant:
    return Contestant("plait", lambda arrays: run_plait(n_paths, collapsed, job_of(arrays)), n_paths)


def peer(package: str, work: Callable[[Job], None]) -> Contestant:
    return Contestant(package, lambda arrays: work(job_of(arrays)))


CONTEST = Contest(
    __file__,
    base="tomotopy",
    contestants={
        "plait, partially collapsed, m = 1": plait(1, False),
        "plait, partially collapsed, m = 5": plait(5, False),
        "plait, collapsed, m = 1": plait(1, True),
        "plait, collapsed, m = 5": plait(5, True),
        "tomotopy": peer("tomotopy", run_tomotopy),
        "topica": peer("topica", run_topica),
        "pyrmallet": peer("pyrmallet", run_pyrmallet),
        "lda": peer("lda", run_lda),
        "gensim": peer("gensim", run_gensim),
        "scikit-learn": peer("scikit-learn", run_sklearn),
    },
    warm_up=50,
    warm_up_seconds=30.0,
)


def load(name: str, n_topics: int) -> tuple[Arrays, int, str]:
    """Return the documents of a corpus, and how many tokens there are."""
    training = corpora.load(name).training
    arrays = {"words": training.words, "offsets": training.offsets, "n_words": np.array(training.n_words)}
    about = f"{training.n_documents} documents, {training.n_tokens} tokens"
    return arrays | {"n_topics": np.array(n_topics)}, training.n_tokens, about


def main() -> None:
    parser = parser_of(CONTEST, __doc__)
    parser.add_argument("--corpora", default="sotu,news,tweets")
    parser.add_argument("--topics", default="20,100,500,2000")
    options = parser.parse_args()
    cases = [
        Case(name, f"{n_topics} topics", partial(load, name, n_topics))
        for name in options.corpora.split(",")
        for n_topics in map(int, options.topics.split(","))
    ]
    run(CONTEST, cases, options)


if __name__ == "__main__":
    main()
