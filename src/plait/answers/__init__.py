"""Answers from a fitted model: typical documents, topics over time, what is similar to what, states in time.

====================  ===============================================================================
function              what it returns
====================  ===============================================================================
`documents`           the documents that are most typical of a topic, each with an excerpt
`timeline`            the share of each topic per year, month, week or day, or per value of a column
`topic_years`         the weights of topics over the years, for the paper's measures
`similar`             the documents whose topics are most similar to those of a document or of a text
`similar_topics`      the topics whose words are most similar to those of a topic
`topic_words`         the words of a topic, beside their frequencies in the corpus
`topic_map`           a place for each topic, near those of topics with similar words
`topic_similarities`  how similar the words of every two topics are
`match_topics`        the topics of two models, matched one to one
`decoded_sequence`    the states of a sequence, with their probabilities
`state_durations`     how long each state lasts, by its transitions and in the decoded paths
`state_agreement`     which states the paths confuse, whatever the model
`course`              the log-likelihood along the sweeps, with the stages, whatever the model
`describe`            what the file of a run holds, whatever its model
====================  ===============================================================================

All take a `Run` and return plain results. The command and the methods of `LatentDirichletAllocation` show
some of them as tables and as frames, and `plait.plots` draws them.
"""

from plait.answers.agreeing import state_agreement
from plait.answers.courses import Course, StageSpan, course
from plait.answers.describing import describe
from plait.answers.maps import TopicMap, topic_map, topic_similarities
from plait.answers.matched_topics import MatchedTopics, match_topics
from plait.answers.similarity import SimilarDocument, SimilarTopic, similar, similar_topics
from plait.answers.state_paths import DecodedSequence, StateDurations, decoded_sequence, state_durations
from plait.answers.timelines import Timeline, timeline
from plait.answers.topic_words import TopicWord, topic_words
from plait.answers.typical import TypicalDocument, documents
from plait.answers.years import topic_years

__all__ = [
    "Course",
    "DecodedSequence",
    "MatchedTopics",
    "SimilarDocument",
    "SimilarTopic",
    "StageSpan",
    "StateDurations",
    "Timeline",
    "TopicMap",
    "TopicWord",
    "TypicalDocument",
    "course",
    "decoded_sequence",
    "describe",
    "documents",
    "match_topics",
    "similar",
    "similar_topics",
    "state_agreement",
    "state_durations",
    "timeline",
    "topic_map",
    "topic_similarities",
    "topic_words",
    "topic_years",
]
