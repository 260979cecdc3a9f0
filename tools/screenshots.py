"""Make the pictures of the report in README.md, docs/report.md and docs/report-models.md.

    .venv/bin/python tools/screenshots.py

needs Chromium and a minute or two: it fits topics to the State of the Union addresses, and states to
simulated weather.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

import plait
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store
from plait.report.latent import shown_order

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, HEIGHT = 1280, 800
PICTURES = {"topics": "topics", "topic": "topics/{topic}", "document": "documents/{document}", "time": "time"}
STATE_PICTURES = {"states": "states", "transitions": "transitions", "sequence": "sequences/0"}
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
            take(page, page_file, place, name)
        page_file = weather().report(Path(folder) / "weather.html", title="Weather")
        for name, address in STATE_PICTURES.items():
            take(page, page_file, address, name)
        browser.close()


def take(page: Page, file: Path, place: str, name: str) -> None:
    """Take a picture of a view of a page."""
    page.goto(f"{file.as_uri()}#/{place}")
    page.wait_for_selector("#report[data-ready]")
    page.wait_for_timeout(1000)  # pictures are drawn when their place is known
    target = DOCS / f"report-{name}.png"
    page.screenshot(path=target)
    print(target, target.stat().st_size)
    assert target.stat().st_size < MOST_BYTES


def weather() -> plait.Run:
    """Return a run with three named states on simulated days, some of which were not recorded."""
    rng = np.random.default_rng(1)
    stay = np.array([0.95, 0.9, 0.8])
    states = [0]
    for _ in range(1499):
        own = states[-1]
        states.append(own if rng.random() < stay[own] else int(rng.choice(np.delete(range(3), own))))
    centres = np.array([[4.0, 12.0], [9.0, 7.0], [17.0, 10.0]])
    days = centres[states] + rng.normal(size=(1500, 2)) * [1.8, 2.2]
    days[300:340] = np.nan
    sequences = plait.Sequences.from_values(
        days, [600, 500, 400], missing=True, names=["Bergen", "Oslo", "Tromsø"], columns=["wind", "warmth"]
    )
    model = plait.HmmModel(plait.GaussianEmissions(sequences, 3))
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan.of_method("blocked", n_paths=5, n_iter=200, polish=True)
        run = fit_and_store(model, plan, Path(folder) / "weather.plait", seed=1, n_init=8)
    return run.named(dict(zip(shown_order(run).tolist(), ["calm", "cold wind", "storm"], strict=True)))


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
