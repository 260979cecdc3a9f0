"""Inference given a fitted model: topics of documents, states of sequences."""
