"""Reports on models with states, and on two models, in a real browser."""

from __future__ import annotations

import json

import pytest
import report_runs
import state_runs
from browsers import Visitor, check_axe, check_width, go
from playwright.sync_api import expect

import plait
from plait.report import write_report
from plait.report.latent import shown_order
from plait.report.live import LiveReport

ADDRESSES = {
    "walks": ["", "states", "states/1", "transitions", "sequences", "sequences/0"],
    "hostile": [
        "",
        "states",
        "states/0",
        "states/2",
        "transitions",
        "sequences",
        "sequences/1",
        "sequences/2",
    ],
    "columns": ["", "states", "states/0", "sequences/0"],
    "mixture": ["", "states", "states/0"],
    "volume": ["", "states", "field"],
    "chains": ["", "chains", "sequences"],
    "coins": ["", "states", "sequences", "parameters"],
    "topics": ["", "pairs", "pairs/0", "only", "time"],
    "hmms": ["", "pairs", "pairs/0", "only", "states"],
}
"""The views of each page."""


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    return state_runs.gaussian_run(tmp_path_factory.mktemp("runs") / "walks.plait")


@pytest.fixture(scope="module")
def files(walks, run, tmp_path_factory):
    """Return all pages by their names."""
    folder = tmp_path_factory.mktemp("pages")
    runs = {
        "walks": walks.named({int(shown_order(walks)[0]): "calm"}),
        "hostile": state_runs.hostile_run(folder / "hostile.plait"),
        "columns": state_runs.hostile_columns_run(folder / "columns.plait"),
        "mixture": state_runs.mixture_run(),
        "volume": state_runs.field_run((4, 12, 16)),
        "chains": state_runs.chains_run(),
        "coins": state_runs.own_run(),
    }
    found = {name: write_report(own, folder / f"{name}.html") for name, own in runs.items()}
    both = {
        "topics": (run.named({1: state_runs.HOSTILE[0]}), report_runs.themed_run(n_paths=1, n_sweeps=20)),
        "hmms": (runs["walks"], runs["columns"].named({1: state_runs.HOSTILE[3]})),
    }
    found |= {name: write_report(a, folder / f"{name}.html", other=b) for name, (a, b) in both.items()}
    return found


@pytest.fixture
def page(browser, files):
    visitor = Visitor(browser, files["walks"])
    yield visitor.open()
    visitor.close()


def test_every_view_of_every_page_opens(browser, files):
    for name, addresses in ADDRESSES.items():
        visitor = Visitor(browser, files[name])
        page = visitor.open()
        for address in addresses:
            go(page, address)
            page.wait_for_timeout(60)
            expect(page.locator("main h1")).to_have_count(1)
            assert "undefined" not in page.locator("main").inner_text(), (name, address)
            assert "NaN" not in page.locator("main").inner_text(), (name, address)
        assert page.evaluate("window.hacked") is None, name
        assert page.locator("main script, main img").count() == 0
        assert not set("\u202e\x00\x1b") & set(page.locator("body").inner_text())
        visitor.close()


def test_the_navigation_names_what_the_model_has(browser, files):
    expected = {
        "walks": ["Overview", "States", "Transitions", "Sequences"],
        "mixture": ["Overview", "Components"],
        "volume": ["Overview", "Labels", "Picture"],
        "chains": ["Overview", "Chains", "Sequences"],
        "coins": ["Overview", "States", "Sites", "Parameters"],
        "topics": ["Overview", "Pairs", "Only in one", "Time"],
        "hmms": ["Overview", "Pairs", "Only in one", "Agreement"],
    }
    for name, labels in expected.items():
        visitor = Visitor(browser, files[name])
        assert visitor.open().get_by_role("navigation").get_by_role("link").all_inner_texts() == labels
        visitor.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, files, scheme):
    for name in ("walks", "volume", "chains", "coins", "topics", "hmms"):
        check_axe(browser, files[name], ADDRESSES[name], scheme)


def test_nothing_is_wider_than_a_narrow_window(browser, files):
    for name, addresses in ADDRESSES.items():
        check_width(browser, files[name], addresses, 400)


def test_the_overview_tells_of_the_restarts(page, walks):
    assert "the best of 3 restarts" in page.locator("main").inner_text()
    expect(page.locator("circle.restart")).to_have_count(3)
    expect(page.locator("circle.restart.best")).to_have_count(1)
    expect(page.locator(".state-card")).to_have_count(3)


def test_a_state_is_named_and_the_names_are_saved_with_the_numbers_that_are_shown(page, tmp_path):
    go(page, "states/2")
    name = page.get_by_label("Name of the state")
    name.fill("calm")
    name.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("State 0 has this name already.")
    name.fill("storm")
    name.press("Enter")
    expect(page.locator("h1")).to_contain_text("storm")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save names").click()
    download.value.save_as(tmp_path / "names.json")
    saved = json.loads((tmp_path / "names.json").read_text("utf-8"))
    assert saved["names"]["2"] == "storm"
    go(page, "transitions")
    expect(page.locator(".diagram")).to_contain_text("storm")


def test_the_diagram_shows_the_transitions_that_are_asked_for(page, walks):
    go(page, "transitions")
    transitions = plait.GaussianHMM.from_run(walks).transmat_
    for label, least in {"all": 0.0, "at least 0.1": 0.1}.items():
        page.get_by_label("Transitions:").select_option(label)
        drawn = (transitions >= least) & (transitions > 0)
        expect(page.locator(".diagram .arrow")).to_have_count(int(drawn.sum()))
    page.locator(".diagram a").last.click()
    expect(page.locator("h1")).to_contain_text("State 2")


def test_sequences_are_searched_and_read(page, walks):
    go(page, "sequences")
    rows = page.locator("table.sequences tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Search sequences").fill("wed")
    expect(rows).to_have_count(1)
    rows.locator("a").click()
    expect(page.locator("h1")).to_have_text("Wednesday")
    page.locator("canvas.strip").hover(position={"x": 300, "y": 60})
    readout = page.locator(".readout")
    expect(readout).to_contain_text("observation")
    expect(readout).to_contain_text("wind")
    expect(readout).to_contain_text("%")


def test_the_keyboard_moves_along_a_sequence_and_zooms(page):
    go(page, "sequences/0")
    box = page.locator(".strip-box")
    box.focus()
    page.keyboard.press("End")
    readout = page.locator(".readout")
    expect(readout).to_contain_text("observation 119:")
    page.keyboard.press("Home")
    expect(readout).to_contain_text("observation 0:")
    page.keyboard.press("Control+ArrowRight")
    expect(readout).to_contain_text("observation 1:")
    where = page.locator(".strip-controls [role=status]")
    expect(where).to_have_text("0 to 119, 120 observations of 120")
    page.keyboard.press("+")
    expect(where).to_contain_text("60 observations of 120")
    page.keyboard.press("PageDown")
    expect(where).to_contain_text("119, 60 observations")
    page.keyboard.press("-")
    expect(where).to_contain_text("120 observations of 120")


def test_missing_observations_are_told(page):
    go(page, "sequences/0")
    page.locator(".strip-box").focus()
    page.keyboard.press("Home")
    for _ in range(state_runs.MISSING.start + 2):
        page.keyboard.press("Control+ArrowRight")
    expect(page.locator(".readout")).to_contain_text("wind missing")


def test_dragging_moves_the_window(page):
    go(page, "sequences/0")
    where = page.locator(".strip-controls [role=status]")
    page.get_by_role("button", name="Zoom in").click()
    before = where.inner_text()
    box = page.locator("canvas.strip").bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(where).not_to_have_text(before)
    assert int(where.inner_text().split()[0]) > int(before.split()[0])


def test_a_volume_is_seen_slice_by_slice(browser, files):
    visitor = Visitor(browser, files["volume"])
    page = visitor.open("field")
    expect(page.locator(".fields canvas")).to_have_count(3)
    slider = page.get_by_label("Slice", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("output")).to_have_text("0 of 4")
    page.get_by_label("Direction of the slices").select_option("by column")
    expect(page.locator("output")).to_have_text("8 of 16")
    page.locator(".fields canvas").nth(1).hover()
    expect(page.locator(".readout")).to_contain_text("Label")
    visitor.close()


def test_pairs_of_topics_are_searched_ordered_and_opened(browser, files):
    visitor = Visitor(browser, files["topics"])
    page = visitor.open("pairs")
    rows = page.locator("table.pairs tbody tr")
    expect(rows).to_have_count(4)
    order = rows.locator(".size a").all_inner_texts()
    assert order == sorted(order, reverse=True)
    page.get_by_label("Order", exact=True).select_option("least similar first")
    assert rows.locator(".size a").all_inner_texts() == order[::-1]
    page.get_by_label("Search pairs").fill("<script>window.hacked")
    expect(rows).to_have_count(1)
    rows.locator(".size a").click()
    expect(page.locator("main h2").first).to_have_text("Words in both")
    go(page, "only")
    page.get_by_role("slider").fill("0.9")
    assert page.locator("table.pairs tbody tr").count() >= 2
    visitor.close()


def test_unknown_addresses_say_so(page, browser, files):
    for address, text in {"states/9": "No such state", "sequences/9": "No such sequence"}.items():
        go(page, address)
        expect(page.locator("h1")).to_have_text(text)
    visitor = Visitor(browser, files["topics"])
    expect(visitor.open("pairs/x").locator("h1")).to_have_text("No such pair")
    visitor.close()


def test_a_live_page_shows_each_new_checkpoint_and_stays_when_the_fit_has_ended(browser, walks, tmp_path):
    context = browser.new_context()
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    file = tmp_path / "walks.plait"
    live = LiveReport(file)
    try:
        page.goto(live.url)
        expect(page.locator("h1")).to_have_text("walks")
        expect(page.locator(".lead")).to_contain_text("Waiting")
        walks.save(file)
        expect(page.get_by_role("navigation").get_by_text("Transitions")).to_be_visible(timeout=120_000)
        page.get_by_text("Transitions").click()
        walks.named({0: "gusts"}).save(file)
        expect(page.locator(".diagram")).to_contain_text("gusts", timeout=120_000)
    finally:
        live.close()
    expect(page.locator(".live")).to_contain_text("The fit has ended", timeout=30_000)
    expect(page.locator(".diagram")).to_contain_text("gusts")
    assert complaints == []
    context.close()
