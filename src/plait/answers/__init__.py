"""Answers from a fitted topic model: typical documents, topics over time, and what is similar to what.

=================  ==================================================================================
function           what it returns
=================  ==================================================================================
`documents`        the documents that are most typical of a topic, each with an excerpt
`timeline`         the share of each topic per year, month, week or day, or per value of a column
`similar`          the documents whose topics are most similar to those of a document or of a text
`similar_topics`   the topics whose words are most similar to those of a topic
`describe`         what the file of a run holds, whatever its model
=================  ==================================================================================

All take a `Run` and return plain results. The command and the methods of `LatentDirichletAllocation` show
them as tables and as frames.
"""

from plait.answers.describing import describe
from plait.answers.similarity import SimilarDocument, SimilarTopic, similar, similar_topics
from plait.answers.timelines import Timeline, timeline
from plait.answers.typical import TypicalDocument, documents

__all__ = [
    "SimilarDocument",
    "SimilarTopic",
    "Timeline",
    "TypicalDocument",
    "describe",
    "documents",
    "similar",
    "similar_topics",
    "timeline",
]
