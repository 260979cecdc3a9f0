"""The page: one file of HTML that holds its data, its script and its style, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from plait.libraries import library
from plait.report.packing import Payload, pack
from plait.version import __version__


class Page(NamedTuple):
    """A page of a report."""

    file: Path
    blocks: Mapping[str, Payload]


MAIN: Final = "main"
"""The block that the page reads first; it shows something before it reads the others."""


class Live(NamedTuple):
    """What a page that is served while a fit goes on knows of it; see `plait.report.live`."""

    version: str
    """What tells this page from later ones."""

    model: str
    """The model's file, as it is written in a shell."""


def render(title: str, blocks: Mapping[str, Payload], live: Live | None = None) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Its title: any text.
    blocks : mapping of str to Payload
        Its data by the names of the blocks, which are plain words; one is "main".
    live : Live, optional
        For a page that is served while a fit goes on.
    """
    packed = {name: pack(block) for name, block in blocks.items()}
    main = packed.pop(MAIN)
    return _filled("template.html", live, title=title, version=__version__, main=main, others=packed)


def render_waiting(title: str, text: str, live: Live) -> str:
    """Return the page that is served before there is a first checkpoint."""
    return _filled("waiting.html", live, title=title, text=text)


def _filled(template: str, live: Live | None, **values: Any) -> str:
    jinja2 = library("jinja2", "report")
    own = files("plait.report")
    # Text of any kind is escaped, except the parts that come from this package.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(own.joinpath(template).read_text("utf-8"))
    js, css, live_js = (
        own.joinpath(name).read_text("utf-8") for name in ("bundle.js", "bundle.css", "live.js")
    )
    values |= {"js": _Trusted(js), "css": _Trusted(css), "live_js": _Trusted(live_js), "live": live}
    policy = content_security_policy(js, css, None if live is None else live_js)
    return str(page.render(policy=policy, **values))


def content_security_policy(js: str, css: str, live_js: str | None = None) -> str:
    """Return the policy that allows this script, this style and pictures in the page, and nothing else.

    A page that is served while a fit goes on has another script, which asks the server for newer ones.
    """
    scripts = [js] if live_js is None else [js, live_js]
    allowed = {
        "default-src": "'none'",
        "script-src": " ".join(f"'{_digest(own)}'" for own in scripts),
        "style-src": f"'{_digest(css)}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if live_js is not None:
        allowed["connect-src"] = "'self'"
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


class _Trusted(str):
    """A part of the page that is not escaped."""

    def __html__(self) -> str:
        return self


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
