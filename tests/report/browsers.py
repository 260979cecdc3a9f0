"""Finding a browser for tests, and what only tests need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AXE = ROOT / "report-web" / "node_modules" / "axe-core" / "axe.min.js"

NO_BROWSER = "no Chromium: the report is not tested in a browser; install chromium, or set PLAIT_CHROMIUM"
NO_AXE = "no axe-core: the report is not tested for accessibility; run npm ci in report-web"

_NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def find_chromium() -> str | None:
    """Return the program of a browser, or None."""
    given = os.environ.get("PLAIT_CHROMIUM")
    return given or next(filter(None, map(shutil.which, _NAMES)), None)


def launch(playwright):
    """Return a browser, or skip the test."""
    program = find_chromium()
    if program is None:
        pytest.skip(NO_BROWSER)
    return playwright.chromium.launch(executable_path=program, args=_OPTIONS)
