"""Latent Dirichlet allocation with scikit-learn's names, attributes and methods."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from plait.arrays import check_sparse
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import Constraint, RunEstimator, choice, optional, whole
from plait.estimators.seeds import seed_of
from plait.evaluate.heldout import HeldOut, complete_documents
from plait.fitting.stored import resume
from plait.inference.starts import check_init, with_initial
from plait.inference.topics import infer_theta
from plait.models.lda import MAX_TOPICS, LdaModel, Topics
from plait.models.seeds import SEED_WEIGHT, SeededPrior, Seeds, check_seeds, check_weight, seeded_prior
from plait.progress import show_progress
from plait.run import Run
from plait.sampler import Interrupted, sample
from plait.threads import Threads

METHODS = ("partially-collapsed", "collapsed")


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RunEstimator):
    """Latent Dirichlet allocation, fitted by a multipath Gibbs sampler.

    m sets of topic assignments (paths) share one set of topics phi. That samples phi from
    P(phi) P(w | phi)^m: good topics become exponentially more likely than with one path. The letters
    below are those of the paper.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics T, at most 65535. One topic is allowed, with a warning, as scikit-learn requires.
    n_paths : int, default=5
        Number of paths m; 1 is the ordinary Gibbs sampler.
    doc_topic_prior : float or array (T,), default=None
        Prior alpha of the topics in a document, 1e-10 to 1e10; None is 10 / T, at most 1.
    topic_word_prior : float or array (T, W), default=None
        Prior eta of the words in a topic; None is 0.01. With `seeds`, a number.
    init : {"uniform", "progressive", "spectral"}, array (T, W), Run, estimator or path, default="uniform"
        How the initial paths are drawn: uniformly, as in the paper; token by token, given those before; given
        topics that anchor words determine; or given topics, from a matrix, a run of LDA, its file, or a
        fitted estimator. Vocabularies are matched by word, see `plait.inference.starts.with_initial`.
    seeds : mapping of str to sequence of str, default=None
        Seed words of the first topics, by the names of these, such as `{"tax": ["taxes", "revenue"]}`. They
        raise eta during the whole run, see `plait.models.seeds.seeded_prior`. Words are processed as those of
        the corpus were.
    seed_weight : float, default=1.0
        Prior counts of a seed word in its topic, as a share of its tokens in all paths.
    method : {"partially-collapsed", "collapsed"}, default="partially-collapsed"
        Algorithm 3 of the paper, which runs on all cores, or Algorithm 4, which is sequential and needs fewer
        sweeps.
    max_iter : int, default=1000
        Number of sweeps over the corpus.
    random_state : int, RandomState or None, default=None
        Determines the random numbers. An int gives the same result, bit for bit, on any number of threads.
    n_jobs : int, default=None
        Number of threads; None and -1 take all cores.
    warm_start : bool, default=False
        Whether `fit` resumes the last fit, on the same documents, for `max_iter` more sweeps.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    components_ : ndarray, (T, W)
        Pseudo-counts of the words in each topic, averaged over paths: (C^TW_tw + eta_tw) / m.
    topic_word_ : ndarray, (T, W)
        Mean of phi given the paths; rows sum to 1.
    doc_topic_ : ndarray, (D, T)
        Mean of theta given the paths, for the documents fitted; rows sum to 1. Computed on access.
    paths_ : ndarray of uint16, (m, N)
        Topic of each token in each path. Tokens of a matrix are in the order of its rows and, within these,
        of its columns.
    agreement_ : ndarray, (N,)
        Share of the paths that give a token its most common topic: how certain the topic is *given phi*. It
        measures neither the uncertainty of phi nor the stability between runs. Computed on access.
    trace_ : Trace
        Log-likelihood along the run.
    corpus_ : Corpus
        The documents fitted, in the order of `paths_`.
    run_ : Run
        The run as `plait.sample` returns it; `run_.save(path)` saves it.
    topic_names_ : dict of int to str
        Names of the seeded topics, by number.
    n_iter_ : int
        Number of sweeps made.
    seed_ : int
        The seed used, also if `random_state` was None.

    Notes
    -----
    Draws of phi for m > 1 concentrate on the optimum. Their spread is not a posterior interval: it is too
    narrow by about the square root of m.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> import plait
    >>> texts = ["apples and pears", "pears and plums", "trains and trams", "trams and buses"]
    >>> model = make_pipeline(
    ...     CountVectorizer(), plait.LatentDirichletAllocation(2, max_iter=100, random_state=0)
    ... )
    >>> model.fit_transform(texts).shape
    (4, 2)
    """

    _model_kind = "lda"
    _argument_names: ClassVar[dict[str, str]] = {
        "n_topics": "n_components",
        "alpha": "doc_topic_prior",
        "eta": "topic_word_prior",
        "initial": "init",
    }
    _constraints: ClassVar[dict[str, Constraint]] = RunEstimator._constraints | {
        "n_components": whole(1, MAX_TOPICS),
        "max_iter": whole(1),
        "method": choice(*METHODS),
        "init": check_init,
        "seeds": optional(check_seeds),
        "seed_weight": check_weight,
    }

    components_: NDArray[np.float64]
    topic_word_: NDArray[np.float64]
    corpus_: Corpus
    topic_names_: dict[int, str]
    n_iter_: int
    seed_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_paths: int = 5,
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: ArrayLike | None = None,
        init: Any = "uniform",
        seeds: Seeds | None = None,
        seed_weight: float = SEED_WEIGHT,
        method: str = "partially-collapsed",
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_paths = n_paths
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.seeds = seeds
        self.seed_weight = seed_weight
        self.method = method
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : array or sparse matrix (D, W) of counts, Corpus, or list of lists of words
            The documents.
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        corpus = self._corpus(X, reset=True)
        with rename_arguments(self._argument_names):
            seeded = self._seeded_prior(corpus)
            eta = self.topic_word_prior if seeded is None else seeded.eta
            model = LdaModel(corpus, self.n_components, self.doc_topic_prior, eta, least_topics=1)
            model = with_initial(model, self.init, self.n_jobs)
        if self.n_components == 1:
            _warn("n_components is 1: all words get the same topic; choose 2 or more")
        if corpus.n_empty:
            _warn(
                f"{corpus.n_empty} of {corpus.n_documents} documents are empty: they are kept, and their"
                " topic distribution is the prior's"
            )
        names = () if seeded is None else seeded.names
        try:
            self._take_run(self._run(model), names)
        except Interrupted as interrupted:
            self._take_run(interrupted.run, names)  # so that it can be used, and resumed by warm_start
            raise
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Infer the topic distribution of documents.

        The result is deterministic for a given seed. It depends on the words of the document only, not on the
        other documents, their order, or the number of threads.

        Parameters
        ----------
        X : array or sparse matrix (D, W) of counts, Corpus, or list of lists of words
            The documents; words that the model does not know are ignored.

        Returns
        -------
        ndarray, (D, T)
            Rows sum to 1.
        """
        check_is_fitted(self)
        return infer_theta(self._corpus(X, reset=False), *self._fitted(), seed=self.seed_, n_jobs=self.n_jobs)

    def score(self, X: Any, y: object = None) -> float:
        """Return the log-likelihood of held-out documents by document completion, summed over tokens.

        Topics are inferred from every other token of a document, and the remaining tokens are scored; see
        `plait.evaluate.heldout`.
        """
        return self._held_out(X).log_likelihood

    def perplexity(self, X: Any) -> float:
        """Return the perplexity of held-out documents by document completion: exp(-score per token)."""
        return self._held_out(X).perplexity

    @property
    def doc_topic_(self) -> NDArray[np.float64]:
        """Mean of theta given the paths, (D, T)."""
        model, paths = self._model, self.run_.paths
        totals = np.zeros((model.corpus.n_documents, model.n_topics))
        model.add_document_counts(paths, totals)
        return model.theta(totals, len(paths))

    @property
    def paths_(self) -> NDArray[np.uint16]:
        """Topic of each token in each path, (m, N)."""
        return self.run_.paths

    def _seeded_prior(self, corpus: Corpus) -> SeededPrior | None:
        if self.seeds is None:
            return None
        eta: Any = self.topic_word_prior
        return seeded_prior(
            corpus, self.n_components, self.seeds, eta, self.seed_weight, n_paths=self.n_paths
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _model(self) -> LdaModel:
        model = self.run_.model
        assert isinstance(model, LdaModel)
        return model

    def _fitted(self) -> tuple[Topics, NDArray[np.float64]]:
        """Return phi and alpha, for inference on new documents."""
        return self._topics, self._model.alpha_vector

    def _held_out(self, X: Any) -> HeldOut:
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        return complete_documents(corpus, *self._fitted(), seed=self.seed_, n_jobs=self.n_jobs)

    def _run(self, model: LdaModel) -> Run:
        with show_progress(self.verbose > 0) as callback:
            if self.warm_start and hasattr(self, "run_"):
                self._check_same_fit(model)
                total = self.run_.sweep + self.max_iter
                return resume(self.run_, n_sweeps=total, n_jobs=self.n_jobs, callback=callback)
            return sample(
                model,
                n_paths=self.n_paths,
                n_sweeps=self.max_iter,
                seed=seed_of(self.random_state),
                collapsed=self.method == "collapsed",
                n_jobs=self.n_jobs,
                callback=callback,
            )

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = run.model, run.settings
        assert isinstance(model, LdaModel)
        return {
            "n_components": model.n_topics,
            "n_paths": settings.n_paths,
            "doc_topic_prior": _number_or_array(model.alpha),
            "topic_word_prior": _number_or_array(model.eta),
            "init": model.initial.topic_word if isinstance(model.initial, Topics) else model.initial,
            "method": "collapsed" if settings.collapsed else "partially-collapsed",
            "max_iter": settings.n_sweeps,
            "random_state": settings.seed,
        }

    def _take_run(self, run: Run, names: tuple[str, ...] = ()) -> None:
        self.run_ = run
        self.topic_names_ = dict(enumerate(names))
        model = self._model
        with Threads(self.n_jobs) as threads:
            counts = model.count(run.paths, threads)
            self._topics = model.mean_parameters(counts, threads)
        self.components_ = model.pseudo_counts(counts) / len(run.paths)
        self.topic_word_ = model.topic_word(counts)
        self.corpus_ = model.corpus
        self.n_features_in_ = model.corpus.n_words
        self.seed_ = run.settings.seed
        self.n_iter_ = run.sweep

    def _check_same_fit(self, model: LdaModel) -> None:
        """Raise an error unless a warm start can resume the last run."""
        settings, last = self.run_.settings, self._model
        wanted = (self.n_components, self.n_paths, self.method == "collapsed")
        if wanted != (last.n_topics, settings.n_paths, settings.collapsed):
            changed = "n_components, n_paths or method has changed"
        elif not model.has_priors_of(last):
            changed = "a prior has changed"
        elif not model.corpus.equals(last.corpus):
            changed = "X is not what was fitted"
        else:
            return
        raise PlaitError(
            f"warm_start resumes the last fit, but {changed}: set ",
            Argument("warm_start", False),
            " to start again",
        )

    def _corpus(self, X: Any, *, reset: bool) -> Corpus:
        """Convert the input of `fit` or `transform` to a corpus, in the fitted vocabulary unless `reset`."""
        if isinstance(X, Corpus):
            corpus = X if reset or X.vocabulary == self.corpus_.vocabulary else X.reindexed(self._vocabulary)
        elif _is_token_lists(X):
            corpus = Corpus.from_tokens(X, vocabulary=None if reset else self._vocabulary)
        elif _is_texts(X):
            raise PlaitError(
                "X holds raw texts: split them into words, by plait.Corpus.from_texts or CountVectorizer"
            )
        else:
            check_sparse(X)  # before scikit-learn walks it
            X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
            names = getattr(self, "feature_names_in_", None)
            return Corpus.from_matrix(X, vocabulary=None if names is None else [str(name) for name in names])
        if reset:
            self.n_features_in_ = corpus.n_words
            self.__dict__.pop("feature_names_in_", None)
        return corpus

    @property
    def _vocabulary(self) -> tuple[str, ...]:
        return self.corpus_.vocabulary

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # whole numbers: counts with a fraction are refused
        return tags


def _warn(message: str) -> None:
    warnings.warn(message, PlaitWarning, stacklevel=3)


def _is_token_lists(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and all(
        isinstance(document, (list, tuple)) and all(isinstance(word, str) for word in document)
        for document in X
    )


def _is_texts(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "US"
    return isinstance(X, (list, tuple)) and any(isinstance(document, str) for document in X)


def _number_or_array(prior: Any) -> float | NDArray[np.float64]:
    return float(prior) if np.ndim(prior) == 0 else prior
