"""Estimators with the interfaces of scikit-learn and hmmlearn: they store, delegate and expose."""
