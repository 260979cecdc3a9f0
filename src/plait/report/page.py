"""The page: one file of HTML that holds its data, its script and its style, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from plait.libraries import library
from plait.report.packing import Payload, pack
from plait.version import __version__


class Page(NamedTuple):
    """A page of a report."""

    file: Path
    blocks: Mapping[str, Payload]


MAIN: Final = "main"
"""The block that the page reads first; it shows something before it reads the others."""


def render(title: str, blocks: Mapping[str, Payload]) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Its title: any text.
    blocks : mapping of str to Payload
        Its data by the names of the blocks, which are plain words; one is "main".
    """
    jinja2 = library("jinja2", "report")
    own = files("plait.report")
    # Text of any kind is escaped, except the three parts that come from this package.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(own.joinpath("template.html").read_text("utf-8"))
    js, css = (own.joinpath(name).read_text("utf-8") for name in ("bundle.js", "bundle.css"))
    packed = {name: pack(block) for name, block in blocks.items()}
    return str(
        template.render(
            title=title,
            version=__version__,
            policy=content_security_policy(js, css),
            js=_Trusted(js),
            css=_Trusted(css),
            main=packed.pop(MAIN),
            others=packed,
        )
    )


def content_security_policy(js: str, css: str) -> str:
    """Return the policy that allows this script, this style and pictures in the page, and nothing else."""
    allowed = {
        "default-src": "'none'",
        "script-src": f"'{_digest(js)}'",
        "style-src": f"'{_digest(css)}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


class _Trusted(str):
    """A part of the page that is not escaped."""

    def __html__(self) -> str:
        return self


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
