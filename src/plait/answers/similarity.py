"""Documents with similar topics, and topics with similar words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.answers.choosing import document_number, topic_number
from plait.answers.maps import similarities_of
from plait.arrays import Floats
from plait.checks import check_integer, short_repr
from plait.data.corpus import Corpus
from plait.data.text import DEFAULT_RECIPE
from plait.errors import Argument, PlaitError
from plait.inference.fitted import doc_topic, fitted_topics, lda_model
from plait.inference.topics import infer_theta
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True)
class SimilarDocument:
    """A document whose topics are similar to others.

    Attributes
    ----------
    document : int
        Its number, from 0.
    name, date : str or None
        Its name and date, if the corpus has them.
    similarity : float
        From 0 to 1, see `similar`.
    topic : int
        The topic that contributes most to the similarity.
    """

    document: int
    name: str | None
    date: str | None
    similarity: float
    topic: int


@dataclass(frozen=True)
class SimilarTopic:
    """A topic whose words are similar to those of another.

    Attributes
    ----------
    topic : int
        Its number.
    similarity : float
        From 0 to 1, see `similar_topics`.
    """

    topic: int
    similarity: float


def similar(
    run: Run,
    document: int | str | None = None,
    *,
    text: str | None = None,
    n: int = 10,
    seed: int = 0,
    n_jobs: int | None = None,
) -> list[SimilarDocument]:
    """Return the documents whose topics are most similar to those of a document or a text.

    The similarity of two documents is 1 - H, where H is the Hellinger distance of their theta:
    H^2 = 1 - sum_t sqrt(theta_1t theta_2t). It is 1 for the same topics and 0 if they share none. Unlike the
    cosine, it is made for distributions: a topic that fills half of both documents does not hide the rest.
    Documents without tokens are left out.

    Parameters
    ----------
    run : Run
        A run of LDA.
    document : int or str, optional
        Number or name of a document that the run was fitted to.
    text : str, optional
        A text instead, which is processed as those of the fit were, and whose topics are inferred.
    n : int
        Number of documents.
    seed, n_jobs
        For the inference, as in `plait.inference.topics.infer_theta`.
    """
    if (document is None) == (text is None):
        raise PlaitError("give either ", Argument("document"), " or ", Argument("text"))
    check_integer("n", n, least=1)
    corpus = lda_model(run).corpus
    theta = doc_topic(run)
    if document is not None:
        d = document_number(corpus, document)
        if not corpus.lengths[d]:
            raise PlaitError(f"document {d} has no words that the model knows: choose another one")
        own = theta[d]
    else:
        assert text is not None
        d, own = -1, _inferred(run, text, seed, n_jobs)
    parts = np.sqrt(theta * own)
    similarities = similarities_of(parts.sum(axis=1))
    order = np.argsort(-similarities, kind="stable")
    order = order[(corpus.lengths[order] > 0) & (order != d)][:n]
    return [
        SimilarDocument(
            document=k,
            name=None if corpus.names is None else corpus.names[k],
            date=None if corpus.dates is None else corpus.dates[k],
            similarity=float(similarities[k]),
            topic=int(parts[k].argmax()),
        )
        for k in order.tolist()
    ]


def similar_topics(
    run: Run, topic: int | str, n: int = 10, *, n_jobs: int | Threads | None = None
) -> list[SimilarTopic]:
    """Return the topics whose words are most similar to those of a topic.

    The similarity is 1 - H, where H is the Hellinger distance of the distributions of words, phi.

    Parameters
    ----------
    run : Run
        A run of LDA.
    topic : int or str
        Number or name of the topic.
    n : int
        Number of topics.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    t = topic_number(run, topic)
    check_integer("n", n, least=1)
    phi = fitted_topics(run, n_jobs).topic_word
    similarities = similarities_of(np.sqrt(phi * phi[t]).sum(axis=1))
    order = np.argsort(-similarities, kind="stable")
    return [SimilarTopic(k, float(similarities[k])) for k in order[order != t][:n].tolist()]


def _inferred(run: Run, text: str, seed: int, n_jobs: int | None) -> Floats:
    model = lda_model(run)
    recipe = model.corpus.recipe or DEFAULT_RECIPE
    own = Corpus.from_texts([text], recipe=recipe, vocabulary=model.corpus.vocabulary)
    if not own.n_tokens:
        raise PlaitError(f"the text {short_repr(text)} has no words that the model knows: give a longer one")
    theta = infer_theta(own, run.parameters(n_jobs), model.alpha_vector, seed=seed, n_jobs=n_jobs)
    # A recipe that splits paragraphs makes several documents of a text.
    weighted: Floats = own.lengths @ theta / own.n_tokens
    return weighted
