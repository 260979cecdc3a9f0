"""Make the pictures of the report in README.md and docs/report.md.

    .venv/bin/python tools/screenshots.py

needs Chromium and a minute or two: it fits topics to the State of the Union addresses.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import plait

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, HEIGHT = 1280, 800
PICTURES = {"topics": "topics", "topic": "topics/{topic}", "document": "documents/{document}", "time": "time"}
MOST_BYTES = 300_000


def main() -> None:
    """Fit, write a report, and take pictures of its views."""
    chromium = shutil.which("chromium") or sys.exit("install chromium first")
    corpus = plait.datasets.sotu(keep_texts=True)
    lda = plait.LatentDirichletAllocation(60, max_iter=400, random_state=1, verbose=1).fit(corpus)
    topic = most_concentrated(lda)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = lda.report(Path(folder) / "report.html", title="State of the Union")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name, address in PICTURES.items():
            place = address.format(topic=topic, document=long_document(lda, topic))
            page.goto(f"{page_file.as_uri()}#/{place}")
            page.wait_for_selector("#report[data-ready]")
            page.wait_for_timeout(1000)  # pictures are drawn when their place is known
            target = DOCS / f"report-{name}.png"
            page.screenshot(path=target)
            print(target, target.stat().st_size)
            assert target.stat().st_size < MOST_BYTES
        browser.close()


def most_concentrated(lda: plait.LatentDirichletAllocation) -> int:
    """Return the topic whose share of some decade is largest, compared with its mean."""
    shares = lda.timeline("decade").to_numpy()
    return int((shares.max(axis=0) / shares.mean(axis=0)).argmax())


def long_document(lda: plait.LatentDirichletAllocation, topic: int) -> int:
    """Return a typical document of a topic, of some length."""
    frame = lda.documents(topic, 200)
    return int(frame.index[(frame["tokens"] > 60).to_numpy()][0])


if __name__ == "__main__":
    main()
