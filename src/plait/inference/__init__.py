"""Inference given a fitted model: topics of documents, states of sequences."""

from plait.inference.slim import slim
from plait.inference.states import decode
from plait.inference.topics import BURN_IN, N_PATHS, N_SWEEPS, infer_theta

__all__ = ["BURN_IN", "N_PATHS", "N_SWEEPS", "decode", "infer_theta", "slim"]
