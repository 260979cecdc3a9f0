"""Inference given a fitted model: topics of documents, states of sequences."""

from plait.inference.states import decode
from plait.inference.topics import infer_theta

__all__ = ["decode", "infer_theta"]
