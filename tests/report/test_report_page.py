"""The page and its bundle, without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browsers import ROOT

import plait
from plait.errors import PlaitError
from plait.report import write_report
from plait.report.packing import unpack
from plait.report.page import Live, content_security_policy, render

WEB = ROOT / "report-web"
OWN = Path(plait.__file__).parent / "report"


class Elements(HTMLParser):
    """All elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_page_loads_nothing_and_allows_its_own_script_and_style_alone():
    text = render("Letters", {"main": {"kind": "lda"}, "documents": {}})
    page = Elements(text)
    assert not [own for own in page.found if {"src", "href", "style", "onclick"} & own[1].keys()]
    rules = dict(rule.split(" ", 1) for rule in policy_of(page).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag in ("style", "script"):
        (own,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_a_title_cannot_leave_its_place():
    title = "</title><script>alert(1)</script>\"'&"
    page = Elements(render(title, {"main": {"title": title}}))
    assert [tag for tag, _ in page.found].count("script") == 2
    text = render(title, {"main": {"title": title}})
    assert unpack(re.search(r'id="data-main">([^<]*)<', text)[1]) == {"title": title}


def test_only_a_live_page_may_ask_its_server_for_more():
    live = Elements(render("Letters", {"main": {}}, Live("1-2", "letters.plait")))
    rules = dict(rule.split(" ", 1) for rule in policy_of(live).split("; "))
    assert rules["connect-src"] == "'self'"
    assert len(rules["script-src"].split()) == 2
    assert "connect-src" not in policy_of(Elements(render("Letters", {"main": {}})))


def policy_of(page):
    (policy,) = [own["content"] for tag, own in page.found if "http-equiv" in own]
    return policy


def test_the_policy_follows_the_text():
    assert content_security_policy("a", "b") != content_security_policy("c", "b")


def sources():
    found = [path for path in (WEB / "src").rglob("*") if path.suffix in (".js", ".css")]
    found += [WEB / "build.mjs", WEB / "package-lock.json"]
    return sorted(path.relative_to(WEB).as_posix() for path in found)


def test_the_bundle_is_built_from_these_sources():
    """The digest is that of build.mjs; `make report-bundle` builds the bundle."""
    digest = hashlib.sha256()
    for name in sources():
        digest.update(f"{name}\n".encode() + (WEB / name).read_bytes())
    first = OWN.joinpath("bundle.js").read_text("utf-8").split("\n", 1)[0]
    assert first == f"/* sources {digest.hexdigest()} */", "run make report-bundle"


def test_the_bundle_is_what_the_sources_make(tmp_path):
    if shutil.which("node") is None or not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("no Node, or no packages in report-web: the bundle is not built again; run npm ci there")
    subprocess.run(["node", str(WEB / "build.mjs"), str(tmp_path)], check=True)
    for name in ("bundle.js", "bundle.css", "LICENSES.txt"):
        assert tmp_path.joinpath(name).read_bytes() == OWN.joinpath(name).read_bytes(), name


def test_the_bundle_is_small_fits_into_html_and_makes_no_markup_of_text():
    script = OWN.joinpath("bundle.js").read_text("utf-8")
    assert len(script) < 180_000
    assert script.isascii()
    assert not re.search(
        r"</script|<!--|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bfetch\(|\beval\(", script
    )
    assert "</style" not in OWN.joinpath("bundle.css").read_text("utf-8")


def test_packages_in_the_bundle_have_their_licences():
    text = OWN.joinpath("LICENSES.txt").read_text("utf-8")
    for name in ("d3-array", "d3-scale", "d3-shape"):
        assert f"\n{name} " in text
    assert text.count("Permission to use, copy, modify") >= 3


def test_locked_packages_come_from_no_named_registry():
    assert "http" not in re.sub(
        r'"url": "https://[^"]*"', "", WEB.joinpath("package-lock.json").read_text("utf-8")
    )


class TestWriting:
    def test_runs_estimators_and_files_have_the_same_report(self, run, tmp_path):
        run.save(tmp_path / "letters.plait")
        estimator = plait.LatentDirichletAllocation.from_run(run)
        written = [
            write_report(tmp_path / "letters.plait", tmp_path / "a.html"),
            run.report(tmp_path / "b.html", title="letters"),
            estimator.report(tmp_path / "c.html", title="letters"),
        ]
        assert [path.name for path in written] == ["a.html", "b.html", "c.html"]
        first, *others = (path.read_bytes() for path in written)
        assert all(other == first for other in others)
        assert b"<title>letters</title>" in first

    def test_a_file_is_replaced_only_if_it_may_be(self, run, tmp_path):
        path = tmp_path / "a.html"
        path.write_text("mine")
        with pytest.raises(PlaitError, match="exists"):
            write_report(run, path, overwrite=False)
        assert path.read_text() == "mine"

    def test_other_pages_are_replaced_only_if_they_may_be(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr("plait.report.documents.MOST_DOCUMENTS", 25)
        other = tmp_path / "a-documents-2.html"
        other.write_text("mine")
        with pytest.raises(PlaitError, match=r"a-documents-2\.html exists"):
            write_report(run, tmp_path / "a.html", overwrite=False, full=True)
        assert other.read_text() == "mine"
