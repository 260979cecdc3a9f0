"""Evaluation: how good and how certain a result is."""
