"""Deprecated: `PathModel` is in `plait.models.path_model`, and in `plait`."""

from __future__ import annotations

import warnings

from plait.models.path_model import PathModel

__all__ = ["PathModel"]

warnings.warn("plait.models.own is called plait.models.path_model now", DeprecationWarning, stacklevel=2)
