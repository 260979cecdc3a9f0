"""Which sampler a test of topic models runs."""

from __future__ import annotations

import pytest

from plait.models import lda


@pytest.fixture
def collapsed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the sampler is collapsed; with "listed" by lists of topics, however few topics there are."""
    if request.param == "listed":
        monkeypatch.setattr(lda, "_MAX_DENSE", 0)
    return bool(request.param != "partial")
