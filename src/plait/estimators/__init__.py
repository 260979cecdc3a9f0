"""Estimators: faces of the models that existing code knows; they store, delegate and expose."""
