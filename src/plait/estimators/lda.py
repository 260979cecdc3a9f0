"""Latent Dirichlet allocation with scikit-learn's names, attributes and methods."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from plait.arrays import check_sparse
from plait.checks import check_flag, check_string
from plait.data.corpus import Corpus
from plait.data.dates import check_date_format
from plait.data.documents import Roles, check_columns
from plait.data.frames import FRAME_ARGUMENTS, find_documents
from plait.data.text import DEFAULT_RECIPE, TextRecipe, check_recipe
from plait.data.vocabulary import Vocabulary
from plait.errors import Argument, PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import CHECKPOINTS, Constraint, RunEstimator, choice, number, optional, whole
from plait.estimators.seeds import seed_of
from plait.estimators.topic_answers import TopicAnswers
from plait.evaluate.heldout import HeldOut, complete_documents
from plait.evaluate.summary import topic_names
from plait.fitting.checkpointed import sample_or_resume
from plait.fitting.stored import resume
from plait.inference.fitted import doc_topic, fitted_topics, lda_model, note_of_changes, topic_model
from plait.inference.slim import slim
from plait.inference.starts import check_init
from plait.inference.topics import KnownTopics
from plait.interop.pyldavis import to_pyldavis
from plait.models.lda import MAX_TOPICS, LdaModel, Topics
from plait.models.seeds import SEED_WEIGHT, Seeds, check_seeds, check_weight
from plait.models.slim_lda import SlimLdaModel
from plait.plans import SAMPLERS, Plan
from plait.progress import show_progress
from plait.run import Run
from plait.sampler import Callback, Interrupted, sample
from plait.topic_fits import DEFAULT_PLAN, TopicFit, TopicSettings, check_paths_or_plan, is_same_fit


class LatentDirichletAllocation(
    TopicAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, RunEstimator
):
    """Latent Dirichlet allocation, fitted by a multipath Gibbs sampler.

    m sets of topic assignments (paths) share one set of topics phi. That samples phi from
    P(phi) P(w | phi)^m: good topics become exponentially more likely than with one path. A fit may take
    several stages with different numbers of paths; see `plait.Plan`. The letters below are those of the
    paper.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics T, at most 65535. One topic is allowed, with a warning, as scikit-learn requires.
    n_paths : int, str or Plan, default="prediction"
        A plan: the stages of the fit. Or the name of one, "prediction", "optimum" or "posterior";
        docs/choosing.md tells which to take. Or a number of paths m; 1 is the ordinary Gibbs sampler.
    doc_topic_prior : float or array (T,), default=None
        Prior alpha of the topics in a document, 1e-10 to 1e10. None means learnt, one value per topic, in the
        stages that learn priors; it starts at 10 / T, at most 1. A number or an array is fixed.
    topic_word_prior : float or array (T, W), default=None
        Prior eta of the words in a topic. None means learnt, one value for all words; it starts at 0.01. A
        number or an array is fixed. With `seeds`, it is a number, and 0.01 instead of learnt if it is None.
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
    method : {"partially-collapsed", "collapsed", "partitioned"}, default="partially-collapsed"
        The sampler, if `n_paths` is a number: Algorithm 3 of the paper, which runs on all cores; Algorithm 4,
        which is sequential and needs fewer sweeps; or Algorithm 4 on several ranges of documents side by
        side, which is approximate. The priors that are learnt are learnt with one path, in the first 30 % of
        the sweeps.
    max_iter : int, default=1000
        Number of sweeps over the corpus.
    max_seconds : float, default=None
        Time for the fit, instead of a number of sweeps. Each stage takes its share of it.
        `run_.settings.plan` then is the plan that was made; a fit with it has the same bits.
    tol : float, default=None
        A stage that does not average ends early when the log-likelihood per token gains less than this in 50
        sweeps. By default no stage ends early.
    random_state : int, RandomState or None, default=None
        Determines the random numbers. An int gives the same result, bit for bit, on any number of threads.
    n_jobs : int, default=None
        Number of threads; None and -1 take all cores.
    warm_start : bool, default=False
        Whether `fit` resumes the last fit, on the same documents, for `max_iter` more sweeps.
    verbose : int, default=0
        Whether to show progress.
    recipe : TextRecipe, default=None
        How raw texts become words; None is `plait.TextRecipe()`. `transform` and `score` process raw texts by
        the recipe of the documents fitted, `corpus_.recipe`.
    text, id, date : str, default=None
        Columns of a data frame with the text, the name and the date of each document; by default "text", and
        "id" and "date" if there are such columns. See `Corpus.from_frame`.
    columns : "all" or sequence of str, default=None
        Other columns of a data frame to keep in `corpus_.columns`, for `timeline` and `to_frame`.
    date_format : str, default=None
        How to read dates that are text; by default that is found out.
    checkpoint : path, default=None
        A file that keeps the fit while it runs. If `fit` is interrupted, even killed, call it again with the
        same settings and data: it continues, and ends with the same bits. Another fit in the file is refused.
    checkpoint_seconds : float, default=30
        Time between two checkpoints; 0 writes one after every sweep.

    Attributes
    ----------
    components_ : ndarray, (T, W)
        Pseudo-counts of the words in each topic, averaged over paths: (C^TW_tw + eta_tw) / m; or averaged
        over late sweeps.
    topic_word_ : ndarray, (T, W)
        phi averaged over late sweeps, if the plan averages; else its mean given the paths. Rows sum to 1.
    doc_topic_ : ndarray, (D, T)
        theta of the documents fitted, likewise; rows sum to 1. Computed on access.
    doc_topic_prior_, topic_word_prior_ : ndarray
        The priors alpha (T,) and eta (a number or (T, W)) as they were learnt or given.
    paths_ : ndarray of uint16, (m, N)
        Topic of each token in each path. Tokens of a matrix are in the order of its rows and, within these,
        of its columns.
    agreement_ : ndarray, (N,)
        Share of the paths that give a token its most common topic: how certain the topic is *given phi*. It
        measures neither the uncertainty of phi nor the stability between runs. Computed on access.
    topic_names_ : list of str
        Names of the topics; one that `name_topics` has not named is "topic 3", by its number.
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

    _model_kinds = ("lda", "slim-lda")
    _argument_names: ClassVar[dict[str, str]] = {
        "n_sweeps": "max_iter",
        "n_topics": "n_components",
        "alpha": "doc_topic_prior",
        "eta": "topic_word_prior",
        "initial": "init",
    }
    _constraints: ClassVar[dict[str, Constraint]] = (
        RunEstimator._constraints
        | CHECKPOINTS
        | {
            "n_components": whole(1, MAX_TOPICS),
            "n_paths": check_paths_or_plan,
            "max_iter": whole(1),
            "max_seconds": optional(number()),
            "tol": optional(number()),
            "method": choice(*SAMPLERS),
            "init": check_init,
            "seeds": optional(check_seeds),
            "seed_weight": check_weight,
            "recipe": optional(check_recipe),
            "text": optional(check_string),
            "id": optional(check_string),
            "date": optional(check_string),
            "columns": lambda name, value: check_columns(value),
            "date_format": optional(check_date_format),
        }
    )

    components_: NDArray[np.float64]
    doc_topic_prior_: NDArray[np.float64]
    topic_word_prior_: NDArray[np.float64]
    topic_word_: NDArray[np.float64]
    corpus_: Corpus
    n_iter_: int
    seed_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_paths: int | str | Plan = DEFAULT_PLAN,
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: ArrayLike | None = None,
        init: Any = "uniform",
        seeds: Seeds | None = None,
        seed_weight: float = SEED_WEIGHT,
        method: str = "partially-collapsed",
        max_iter: int = 1000,
        max_seconds: float | None = None,
        tol: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        recipe: TextRecipe | None = None,
        text: str | None = None,
        id: str | None = None,
        date: str | None = None,
        columns: str | Sequence[str] | None = None,
        date_format: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
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
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.recipe = recipe
        self.text = text
        self.id = id
        self.date = date
        self.columns = columns
        self.date_format = date_format
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : list or Series of texts, DataFrame with a column of texts, array or sparse matrix (D, W) of \
counts, Corpus, or list of lists of words
            The documents.
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        corpus = self._corpus(X, reset=True)
        with rename_arguments(self._argument_names):
            fit = TopicSettings(
                n_topics=self.n_components,
                n_paths=self.n_paths,
                sampler=self.method,
                n_sweeps=self.max_iter,
                alpha=self.doc_topic_prior,
                eta=self.topic_word_prior,
                init=self.init,
                seeds=self.seeds,
                seed_weight=self.seed_weight,
            ).fit(corpus, self.n_jobs, least_topics=1)
        if self.n_components == 1:
            _warn("n_components is 1: all words get the same topic; choose 2 or more")
        if corpus.n_empty:
            _warn(corpus.note_of_empty)
        try:
            self._take_run(self._run(fit))
        except Interrupted as interrupted:
            self._take_run(interrupted.run)  # so that the result can be used, and resumed by warm_start
            raise
        changed = note_of_changes(self.run_)
        if changed:
            _warn(changed)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Infer the topic distribution of documents.

        The result is deterministic for a given seed. It depends on the words of the document only, not on the
        other documents, their order, or the number of threads.

        Parameters
        ----------
        X : as for `fit`
            The documents; words that the model does not know are ignored.

        Returns
        -------
        ndarray, (D, T)
            Rows sum to 1.
        """
        check_is_fitted(self)
        return self._known.theta(self._corpus(X, reset=False), seed=self.seed_, n_jobs=self.n_jobs)

    def score(self, X: Any, y: object = None) -> float:
        """Return the log-likelihood of held-out documents by document completion, summed over tokens.

        Topics are inferred from half of the tokens of a document, chosen at random, and the other tokens are
        scored: `plait.evaluate.held_out` with the seed of the fit.
        """
        return self._held_out(X).log_likelihood

    def perplexity(self, X: Any) -> float:
        """Return the perplexity of held-out documents by document completion: exp(-score per token)."""
        return self._held_out(X).perplexity

    def save(self, path: str | PathLike[str], *, inference: bool = False) -> None:
        """Write the fitted run to a file, which `load` and the command read.

        Parameters
        ----------
        path : path
            The file, replaced if it exists.
        inference : bool
            Whether to leave out the documents of the fit. The file is far smaller, and `load` returns an
            estimator for new documents; see `plait.inference.slim`.
        """
        check_is_fitted(self, "run_")
        run = slim(self.run_, self.n_jobs) if check_flag("inference", inference) else self.run_
        run.save(path)

    def name_topics(self, names: Mapping[int, str | None]) -> Self:
        """Name topics; `run_`, and so its file, keeps the names.

        Parameters
        ----------
        names : mapping of int to str or None
            Names by the number of the topic, its row in `topic_word_`; None removes a name.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.run_ = self.run_.named(names)
        return self

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return names of the columns of `transform`: those of named topics, scikit-learn's for the others.

        Parameters
        ----------
        input_features : array of str, optional
            The names seen in `fit`, which are only checked.
        """
        names = super().get_feature_names_out(input_features)
        for t, name in self.run_.names.items():
            names[t] = name
        return names

    def to_pyldavis(self, **options: Any) -> Any:
        """Return the data of pyLDAvis, with topics numbered as here; see `plait.interop.to_pyldavis`."""
        check_is_fitted(self)
        return to_pyldavis(self.run_, **options)

    @property
    def topic_names_(self) -> list[str]:
        """Names of the topics, such as "taxes" or "topic 3"."""
        return topic_names(self.run_)

    @property
    def doc_topic_(self) -> NDArray[np.float64]:
        """Topic distributions theta of the documents fitted, (D, T)."""
        return doc_topic(self.run_)

    @property
    def paths_(self) -> NDArray[np.uint16]:
        """Topic of each token in each path, (m, N)."""
        lda_model(self.run_)
        return self.run_.paths

    @property
    def agreement_(self) -> NDArray[np.float64]:
        """Share of the paths that give a token its most common topic, (N,)."""
        lda_model(self.run_)
        return super().agreement_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _fitted(self) -> tuple[Topics, NDArray[np.float64]]:
        """Return phi and alpha, for inference on new documents."""
        return self._topics, self.doc_topic_prior_

    def _held_out(self, X: Any) -> HeldOut:
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        return complete_documents(corpus, *self._fitted(), seed=self.seed_, n_jobs=self.n_jobs)

    def _run(self, fit: TopicFit) -> Run:
        with show_progress(self.verbose > 0) as callback:
            if self.checkpoint is not None:
                return self._run_in_file(fit, callback)
            if self.warm_start and hasattr(self, "run_"):
                self._check_same_fit(fit.model)
                total = max(self.run_.sweep + self.max_iter, self.run_.settings.n_sweeps)
                return resume(self.run_, n_sweeps=total, n_jobs=self.n_jobs, callback=callback)
            return sample(
                fit.model,
                n_paths=fit.plan,
                names=fit.names,
                seed=seed_of(self.random_state),
                max_seconds=self.max_seconds,
                tol=self.tol,
                n_jobs=self.n_jobs,
                callback=callback,
            )

    def _run_in_file(self, fit: TopicFit, callback: Callback | None) -> Run:
        """Run in the file `checkpoint`, or continue in it."""
        if self.warm_start:
            raise PlaitError(
                Argument("checkpoint"), " resumes a fit by itself: set ", Argument("warm_start", False)
            )
        assert self.checkpoint is not None
        return sample_or_resume(
            fit.model,
            fit.plan,
            self.checkpoint,
            seed=seed_of(self.random_state),
            is_seed_given=isinstance(self.random_state, (int, np.integer)),
            same_model=partial(is_same_fit, fit.model),
            max_seconds=self.max_seconds,
            tol=self.tol,
            n_jobs=self.n_jobs,
            callback=callback,
            checkpoint_seconds=self.checkpoint_seconds,
            names=fit.names,
        )

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = topic_model(run), run.settings
        if isinstance(model, SlimLdaModel):
            return {
                "n_components": model.n_topics,
                "doc_topic_prior": model.alpha_vector,
                "topic_word_prior": model.eta,
                "max_iter": settings.n_sweeps,
                "random_state": settings.seed,
            }
        stages, last = settings.stages, settings.stages[-1]
        learnt = {"alpha", "eta"} - set(model.fixed) if settings.learns_priors else set[str]()
        is_plain = len(stages) == 1 and isinstance(last.n_paths, int) and not last.average
        return {
            "n_components": model.n_topics,
            "n_paths": last.n_paths if is_plain else settings.plan,
            "doc_topic_prior": None if "alpha" in learnt else _number_or_array(model.alpha),
            "topic_word_prior": None if "eta" in learnt else _number_or_array(model.eta),
            "init": model.initial.topic_word if isinstance(model.initial, Topics) else model.initial,
            "method": last.sampler if is_plain else "partially-collapsed",
            "max_iter": settings.n_sweeps,
            "random_state": settings.seed,
            "recipe": model.corpus.recipe,
        }

    def _take_run(self, run: Run) -> None:
        self.run_ = run
        self._fitted_with = (self.n_components, self.n_paths, self.method)
        model = topic_model(run)
        fitted = fitted_topics(run, self.n_jobs)
        self._topics = run.parameters(self.n_jobs)
        self._known = KnownTopics(self._topics, model.alpha_vector)
        self.components_, self.topic_word_ = fitted.components, fitted.topic_word
        self.doc_topic_prior_, self.topic_word_prior_ = model.alpha_vector, np.asarray(model.eta)
        self.corpus_ = model.corpus
        self._vocabulary = Vocabulary(model.corpus.vocabulary).warning_once()
        self.n_features_in_ = model.corpus.n_words
        self.seed_ = run.settings.seed
        self.n_iter_ = run.sweep

    def _check_same_fit(self, model: LdaModel) -> None:
        """Raise an error unless a warm start can resume the last run."""
        last = lda_model(self.run_)
        if (self.n_components, self.n_paths, self.method) != self._fitted_with:
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
            corpus = X if reset or X.vocabulary == self._vocabulary else X.reindexed(self._vocabulary)
        elif _is_token_lists(X):
            corpus = Corpus.from_tokens(X, vocabulary=None if reset else self._vocabulary)
        elif (raw := self._corpus_of_texts(X, reset=reset)) is not None:
            corpus = raw
        else:
            check_sparse(X)  # before scikit-learn walks it
            X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
            if not reset:
                return Corpus.from_matrix(X, vocabulary=self._vocabulary)
            names = getattr(self, "feature_names_in_", None)
            return Corpus.from_matrix(X, vocabulary=None if names is None else [str(name) for name in names])
        if reset:
            self.n_features_in_ = corpus.n_words
            self.__dict__.pop("feature_names_in_", None)
        return corpus

    def _corpus_of_texts(self, X: Any, *, reset: bool) -> Corpus | None:
        """Return the corpus of raw texts; None if there are none in X."""
        roles = Roles(self.text, self.id, self.date, self.columns, self.date_format, FRAME_ARGUMENTS)
        documents = find_documents(X, roles, only_texts=not reset)
        if documents is None:
            return None
        with rename_arguments({"texts": "X"}):
            if reset:
                return documents.to_corpus(self.recipe or DEFAULT_RECIPE, keep_texts=True)
            if self.corpus_.recipe is None:
                raise PlaitError(
                    "X holds raw texts, but the model was fitted to words or counts: split them as those were"
                )
            return documents.to_corpus(self.corpus_.recipe, self._vocabulary)

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


def _number_or_array(prior: Any) -> float | NDArray[np.float64]:
    return float(prior) if np.ndim(prior) == 0 else prior
