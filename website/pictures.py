"""The pictures of the site, drawn by the product: the pages that `to_html` writes, each in a frame of its own."""

import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import whymatch as wm
from whymatch.show.checked import frame as check_frame
from whymatch.show.html import frame, framed

_FILE = Path(__file__).with_name("gallery.toml")


@cache
def texts() -> dict[str, Any]:
    """The texts of the pictures, by their names."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


@cache
def picture(name: str) -> str:
    """A picture with its caption, in HTML.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in texts() or "kind" not in texts()[name]:
        raise ValueError(f"There is no picture called {name!r} in website/gallery.toml.")
    given = texts()[name]
    shown = {"match": _match, "versions": _versions, "check": _check, "translation": _translation}[given["kind"]](given)
    caption = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(given["caption"], quote=False))
    return f'<figure class="picture">{shown}<figcaption>{caption}</figcaption></figure>'


def _match(given: dict[str, Any]) -> str:
    two = given if "left" in given else texts()["texts"][given["text"]]
    constraint = given.get("constraint")
    parsed = None if constraint is None else wm.transport.parse_constraint(constraint)
    aligner = wm.Aligner(relations=given.get("relations", True))
    return frame(aligner.align(two["left"].strip(), two["right"].strip(), parsed).picture())


def _versions(given: dict[str, Any]) -> str:
    return framed(wm.compare(given["left"], given["right"]).to_html(), "Two versions", given["height"])


def _check(given: dict[str, Any]) -> str:
    sources = {name: text.strip() for name, text in given["sources"].items()}
    return check_frame(wm.check(given["answer"].strip(), sources).to_dict())


def _translation(given: dict[str, Any]) -> str:
    return framed(wm.bitext(given["left"].strip(), given["right"].strip()).to_html(), "A translation", given["height"])
