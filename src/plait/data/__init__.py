"""Documents in and out: corpora, the recipe from text to words, file readers and example data.

Everything the samplers see passes through one class, `plait.data.corpus.Corpus`, which checks its
contents once so that the compiled kernels need not.  Import from the modules: `corpus`, `text`,
`readers` and `synthetic`.
"""
