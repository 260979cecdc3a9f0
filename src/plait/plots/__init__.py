"""Pictures of results for papers and notebooks, drawn with matplotlib (the extra `plot`).

Every function takes a run, a fitted estimator, or the path of a file, and returns the axes with the picture:

    ax = plait.plots.topic_map(run)
    ax.figure.savefig("map.pdf")

Given `ax`, it draws there. Otherwise it makes a figure with pyplot, so that notebooks show it; it never draws
into the current axes, and no setting of matplotlib changes. To stay clear of pyplot altogether, as a server
should, pass axes of your own `matplotlib.figure.Figure`.

===================  ====================================================================================
topics               picture
===================  ====================================================================================
`topic_words`        the words of a topic as bars, before their frequencies in the corpus
`topic_map`          a map on which topics with similar words are near each other
`similarity`         the similarity of every two topics as a matrix
`document_topics`    the topics of a document
`compare_topics`     the topics of two models, matched
`timeline`           topics over time, stacked or one above the other
`prevalence`         topics by the values of a column
`yearly_entropy`     how many topics a year has
`bucket_lengths`     how concentrated topics are in time, over all topics
`topic_buckets`      the same for one topic: its weight over the years, in buckets of equal weight
===================  ====================================================================================

===================  ====================================================================================
any model            picture
===================  ====================================================================================
`trace`              the log-likelihood along the run, with its stages
`priors`             the priors as they were learnt
`restarts`           the scores of all restarts
`agreement`          which states the paths confuse, as a matrix
`emissions`          the emissions of the states of chains, mixtures and fields
`parameters`         one array of the parameters, as for factorial models and models of one's own
`field`              the labels of a Potts field and their certainty
===================  ====================================================================================

===================  ====================================================================================
hidden Markov model  picture
===================  ====================================================================================
`transitions`        the transition matrix
`state_diagram`      the same as a diagram of circles and arrows
`durations`          how long states last, beside what the transitions imply
`decoded`            the states of a sequence with their probabilities
===================  ====================================================================================

The numbers come from `plait.answers` and `plait.evaluate`, where they can be had without pictures.
"""

from plait.plots.runs import agreement, field, parameters, priors, restarts, trace
from plait.plots.states import decoded, durations, emissions, state_diagram, transitions
from plait.plots.time import bucket_lengths, prevalence, timeline, topic_buckets, yearly_entropy
from plait.plots.topics import compare_topics, document_topics, similarity, topic_map, topic_words

__all__ = [
    "agreement",
    "bucket_lengths",
    "compare_topics",
    "decoded",
    "document_topics",
    "durations",
    "emissions",
    "field",
    "parameters",
    "prevalence",
    "priors",
    "restarts",
    "similarity",
    "state_diagram",
    "timeline",
    "topic_buckets",
    "topic_map",
    "topic_words",
    "trace",
    "transitions",
    "yearly_entropy",
]
