"""Exchange of topic models with other software: one module per format.

=================  ==================================================================================
module             what it has
=================  ==================================================================================
`pyldavis`         `to_pyldavis`, `pyldavis_arguments`: the data of pyLDAvis's viewer
`mallet`           `to_mallet`, `from_mallet`: MALLET's state files
`frames`           `topics_frame`, `documents_frame`, `words_frame`, `tokens_frame`: frames of pandas
`books`            `write_tables`: all tables as CSV files in a folder, or as an Excel workbook
`draws`            `to_arviz`: the run as ArviZ's InferenceData or DataTree
=================  ==================================================================================

All take a `Run` or a fitted estimator. Bags of words of gensim are read by `plait.Corpus.from_gensim`. Other
libraries are imported only by the functions that need them: pip install "plait[interop]" installs them.
"""

from plait.interop.books import write_tables
from plait.interop.draws import to_arviz
from plait.interop.frames import documents_frame, tokens_frame, topics_frame, words_frame
from plait.interop.mallet import from_mallet, to_mallet
from plait.interop.pyldavis import pyldavis_arguments, to_pyldavis

__all__ = [
    "documents_frame",
    "from_mallet",
    "pyldavis_arguments",
    "to_arviz",
    "to_mallet",
    "to_pyldavis",
    "tokens_frame",
    "topics_frame",
    "words_frame",
    "write_tables",
]
