"""Selects the sampler in tests of topic models."""

from __future__ import annotations

import pytest

from plait.models import lda_collapsed


@pytest.fixture
def collapsed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the sampler is collapsed; "listed" forces the kernel for many topics."""
    if request.param == "listed":
        monkeypatch.setattr(lda_collapsed, "_MAX_DENSE", 0)
    return bool(request.param != "partial")
