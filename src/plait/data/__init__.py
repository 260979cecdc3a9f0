"""Corpora and sequences, the recipe from text to words, file readers and synthetic data.

All data that the samplers see are a `plait.data.corpus.Corpus` or `plait.data.sequences.Sequences`, which
check their contents once, so that the compiled kernels need no checks.  Import from the modules: `corpus`,
`text`, `readers`, `sequences`, `sequence_files` and `synthetic`.
"""
