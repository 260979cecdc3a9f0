"""Selects the sampler in tests of topic models."""

from __future__ import annotations

import pytest

from plait.models import lda_collapsed


@pytest.fixture
def collapsed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the sampler is collapsed; the names of kernels force these for any number of topics."""
    if request.param in lda_collapsed.KERNELS:
        monkeypatch.setattr(lda_collapsed, "kernel_for", lambda *_, **__: request.param)
    return bool(request.param != "partial")
