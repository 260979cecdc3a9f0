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


class Visitor:
    """A page that is looked at, and everything that it should not have done."""

    def __init__(self, browser, file, **options):
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(5000)
        self.file = file
        self.complaints = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self.note_request)
        self.page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )

    def note_request(self, request):
        if not request.is_navigation_request() and not request.url.startswith("blob:"):
            self.complaints.append(f"it asked for {request.url}")

    def open(self, address=""):
        self.page.goto(f"{self.file.as_uri()}#/{address}")
        self.page.wait_for_selector("#report[data-ready]")
        return self.page

    def close(self):
        self.context.close()
        assert self.complaints == []


def go(page, address):
    """Go to a view within the page, as a link does."""
    page.evaluate("address => { location.hash = `#/${address}`; }", address)


def check_axe(browser, file, addresses, scheme):
    """Check that axe-core finds nothing serious in some views of a page."""
    if not AXE.exists():
        pytest.skip(NO_AXE)
    visitor = Visitor(browser, file, color_scheme=scheme)
    page = visitor.open()
    page.evaluate(AXE.read_text("utf-8"))
    for address in addresses:
        go(page, address)
        page.wait_for_timeout(150)
        # Only the colours depend on the scheme.
        rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
        found = page.evaluate("rules => axe.run({resultTypes: ['violations'], ...rules})", rules)
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == [], address
    visitor.close()


def check_width(browser, file, addresses, width):
    """Check that no view of a page is wider than the window."""
    visitor = Visitor(browser, file)
    visitor.page.set_viewport_size({"width": width, "height": 900})
    page = visitor.open()
    for address in addresses:
        go(page, address)
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (file.name, address)
    visitor.close()
