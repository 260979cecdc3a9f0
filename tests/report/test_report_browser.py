"""The report in a real browser: every view, by pointer and by keyboard; nothing is loaded, nothing runs."""

from __future__ import annotations

import json
import re

import pytest
from browsers import Visitor, check_axe, check_width, go
from playwright.sync_api import expect
from report_runs import HOSTILE

from plait.report import write_report

ADDRESSES = [
    "",
    "topics",
    "topics/1",
    "documents",
    "documents/5",
    "time",
    "columns",
    "columns/0",
    "words",
    "words/orchard",
]


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    return write_report(run, tmp_path_factory.mktemp("report") / "letters.html", title="Letters")


@pytest.fixture(scope="module")
def hostile_file(hostile_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    return write_report(hostile_run, path, title="</title><script>window.hacked = true</script>")


@pytest.fixture
def visitor(browser, file):
    visitor = Visitor(browser, file)
    yield visitor
    visitor.close()


@pytest.fixture
def page(visitor):
    return visitor.open()


def headings(page):
    return page.locator("main h1, main h2").all_inner_texts()


def test_every_view_opens_from_the_navigation(page):
    for name, heading in {
        "Topics": "Topics",
        "Documents": "Documents",
        "Time": "Topics over time",
        "Columns": "Topics by column",
        "Words": "Words",
        "Overview": "Letters",
    }.items():
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.locator("h1")).to_have_text(heading)
        expect(page.locator("nav [aria-current]")).to_have_text(name)


def test_the_overview_tells_what_was_fitted_and_how_it_went(page, run):
    text = page.locator("main").inner_text()
    assert "4 topics in 60 documents, fitted by 60 sweeps" in text
    assert run.verdict().describe("token") in text
    assert page.locator("svg .path").count() == 3
    assert page.locator(".card").count() == 4


def test_a_list_of_topics_is_searched_and_sorted(page, run):
    go(page, "topics")
    rows = page.locator("table.topics tbody tr")
    expect(rows).to_have_count(4)
    numbers = [int(text) for text in rows.locator("td.number").all_inner_texts()]
    shares = [float(text.split("\u202f")[0]) for text in rows.locator("td.size").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    page.get_by_role("button", name="No.").click()
    assert rows.locator("td.number").all_inner_texts() == ["0", "1", "2", "3"]
    page.get_by_role("button", name="Size").click()
    page.get_by_role("button", name="Size").click()
    assert [int(text) for text in rows.locator("td.number").all_inner_texts()] == numbers[::-1]
    page.get_by_label("Search topics").fill("orchards")
    expect(rows).to_have_count(1)
    expect(rows.locator("td.number")).to_have_text("0")
    assert page.locator(".map .faint").count() == 3
    page.get_by_label("Search topics").fill("nowhere")
    expect(rows).to_have_count(0)


def test_the_slider_changes_the_order_of_words(page):
    go(page, "topics/1")
    words = page.locator("table.bars").first.locator("tbody td:first-child")
    before = words.all_inner_texts()
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator(".slider output")).to_have_text("0.00")
    expect(words).not_to_have_text(before)
    lifts = page.locator("table.bars").first.locator("tbody td:last-child").all_inner_texts()
    assert [float(text[1:]) for text in lifts] == sorted((float(text[1:]) for text in lifts), reverse=True)
    page.keyboard.press("End")
    expect(words).to_have_text(before)


def test_pointing_at_a_circle_marks_its_row_and_tells_its_words(page):
    go(page, "topics")
    page.locator(".map a circle").last.hover()  # the smallest, which is in front
    marked = page.locator("table.topics tr.marked")
    expect(marked).to_have_count(1)
    words = page.locator(".sticky .readout").inner_text().split()
    assert words[0] == marked.locator("td.number").inner_text()
    assert len(words) > 5
    page.mouse.move(5, 5)
    expect(marked).to_have_count(0)


def test_links_lead_on_and_the_back_button_leads_back(page):
    go(page, "topics")
    page.locator("table.topics tbody a").first.click()
    expect(page.locator("h1 .number")).to_be_visible()
    first = page.locator("h1").inner_text()
    page.locator(".excerpts a").first.click()
    expect(page.locator("h1")).to_contain_text("Letter")
    page.locator("aside a.topic-link").first.click()
    expect(page.locator("h1 .number")).to_be_visible()
    page.go_back()
    expect(page.locator("h1")).to_contain_text("Letter")
    page.go_back()
    assert page.locator("h1").inner_text() == first
    page.go_back()
    expect(page.locator("h1")).to_have_text("Topics")
    page.go_forward()
    assert page.locator("h1").inner_text() == first


def test_a_typical_document_is_shown_with_the_words_of_the_topic_marked(page, run):
    go(page, "topics/0")
    marks = page.locator(".excerpts li").first.locator("mark")
    expect(marks.first).to_be_visible()
    best = page.locator(".excerpts a").first.get_attribute("href")
    from plait.answers import documents

    assert best.endswith(f"/{documents(run, 0, 1)[0].document}")


def test_the_reader_shows_the_text_with_the_topic_of_each_word(page, run):
    go(page, "documents/7")
    corpus = run.model.corpus
    expect(page.locator("p.text")).to_have_text(corpus.texts[7])
    tokens = page.locator("p.text .token")
    assert tokens.count() == corpus.lengths[7]
    page.locator("p.text .token").first.hover()
    expect(page.locator(".reader .readout")).to_contain_text("certainty")
    topics = page.evaluate("[...document.querySelectorAll('p.text .token')].map((token) => token.topic)")
    start = corpus.offsets[7]
    assert all(topic in run.paths[:, start + i] for i, topic in enumerate(topics))
    tokens.first.click()
    expect(page.locator("h1 .number")).to_have_text(str(topics[0]))


def test_documents_are_searched_by_name_column_number_and_text(page, run):
    go(page, "documents")
    rows = page.locator(".documents li:not(.more)")
    search = page.get_by_label("Search documents")
    search.fill("letter 59")
    expect(rows).to_have_count(1)
    search.fill("war first")
    values = run.model.corpus.columns
    both = sum(a == "war" and b == "first" for a, b in zip(values["theme"], values["half"], strict=True))
    expect(rows).to_have_count(both)
    search.fill("the fortress")
    expect(rows.first).to_be_visible()
    assert 0 < rows.count() < 60
    search.fill("9")
    expect(rows.first.locator(".number")).to_have_text("9")


def test_names_are_given_kept_and_saved_to_a_file_that_plait_reads(visitor, page, run, tmp_path):
    go(page, "topics/2")
    name = page.get_by_label("Name of the topic")
    name.fill("orchards")
    name.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Topic 0 has this name already.")
    name.fill('the <b>"war"</b>')
    name.press("Enter")
    expect(page.locator("h1 bdi")).to_have_text('the <b>"war"</b>')
    go(page, "topics/3")
    page.get_by_label("hide").check()
    go(page, "topics")
    rows = page.locator("table.topics tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text='the <b>"war"</b>')).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save names").click()
    file = tmp_path / "names.json"
    download.value.save_as(file)
    from plait.names import hidden_from_json, names_from_json

    saved = json.loads(file.read_text("utf-8"))
    named = run.named(names_from_json(saved))
    assert dict(named.names) == {0: "orchards", 2: 'the <b>"war"</b>'}
    assert hidden_from_json(saved, 4) == (3,)
    visitor.open("topics")
    expect(page.locator("table.topics tbody tr")).to_have_count(3)


def test_time_and_columns_follow_the_pointer_and_show_all_values(page):
    go(page, "time")
    page.locator("svg[aria-label*=stacked]").hover(position={"x": 300, "y": 100})
    expect(page.locator(".readout").first).to_have_text(re.compile(r"^19\d\d"))
    assert page.locator(".multiples canvas").count() == 4
    go(page, "columns/0")
    expect(page.locator("h1")).to_have_text("Topics by theme")
    assert page.locator("table.specials tbody tr").count() == 3
    assert page.locator("table.matrix tbody tr").count() == 4


def test_the_keyboard_alone_suffices(page):
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Topics")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Topics")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_attribute("aria-label", "Search topics")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.map') !== null"):
            break
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    assert second.startswith("#/topics/")
    assert second != first
    page.keyboard.press("Enter")
    expect(page.locator("h1 .number")).to_have_text(second.rsplit("/", 1)[1])
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, file, scheme):
    check_axe(browser, file, ADDRESSES, scheme)


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_wider_than_the_window(browser, file, hostile_file, width):
    for own in (file, hostile_file):
        check_width(browser, own, ADDRESSES, width)


def test_hostile_text_is_shown_and_nothing_runs(browser, hostile_file):
    visitor = Visitor(browser, hostile_file)
    page = visitor.open()
    expect(page.locator("h1")).to_have_text("</title><script>window.hacked = true</script>")
    expect(page.locator(".card").filter(has_text=HOSTILE[0]).first).to_be_visible()
    for address in (
        *ADDRESSES[:-1],
        "topics/0",
        "topics/2",
        "columns/1",
        "documents/0",
        "documents/3",
        "documents/8",
    ):
        go(page, address)
        page.wait_for_timeout(60)
        assert page.locator("h1").count() == 1
    go(page, "documents/3")
    expect(page.locator("h1")).to_contain_text("evil")
    assert HOSTILE[0] in page.locator("p.text").inner_text()
    assert not set("\u202e\x00\x1b") & set(page.locator("main").inner_text())
    go(page, "words")
    page.locator("a.word").filter(has_text=HOSTILE[1]).first.click()
    expect(page.locator("h1")).to_have_text(HOSTILE[1])
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img").count() == 0
    visitor.close()


def test_the_policy_of_the_page_stops_what_is_not_its_own(browser, file):
    visitor = Visitor(browser, file)
    page = visitor.open()
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = true";
            document.body.append(script);
            document.body.setAttribute("onclick", "window.hacked = true");
            document.body.click();
        }"""
    )
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in complaint for complaint in visitor.complaints)
    visitor.context.close()


def test_pages_of_a_full_report_lead_to_each_other(browser, run, tmp_path, monkeypatch):
    monkeypatch.setattr("plait.report.documents.MOST_DOCUMENTS", 25)
    visitor = Visitor(browser, write_report(run, tmp_path / "a report.html", full=True))
    page = visitor.open("documents")
    expect(page.locator(".notice")).to_contain_text("This file has 25 of 60 documents.")
    page.get_by_role("link", name="50 to 59").click()
    expect(page.locator(".documents li")).to_have_count(10)
    page.locator(".documents a.document-link").last.click()
    expect(page.locator("h1")).to_have_text("Letter 59")
    visitor.close()


def test_an_unknown_address_says_so(page):
    for address, text in {
        "topics/99": "No such topic",
        "documents/99": "No such document",
        "words/?": "No such word",
    }.items():
        go(page, address)
        expect(page.locator("h1")).to_have_text(text)
