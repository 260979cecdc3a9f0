"""Runs to report on, each fitted once."""

from __future__ import annotations

import pytest
import report_runs
from browsers import launch
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def run():
    return report_runs.themed_run().named({0: "orchards"})


@pytest.fixture(scope="session")
def hostile_run():
    return report_runs.hostile_run()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()
