"""Posts as plain text: what a reader sees of their HTML, after their titles."""

import re
from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "template", "noscript", "iframe", "object"})
_BLOCKS = frozenset(
    {"article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2", "h3"}
    | {"h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"}
    | {"td", "tfoot", "th", "thead", "tr", "ul"}
)
_DUPLICATE_NOTE = re.compile(
    r"<blockquote>\s*(?:<p>)?\s*<strong>\s*Possible Duplicates?:?.*?</blockquote>", re.DOTALL | re.IGNORECASE
)


def titled(title: str, text: str) -> str:
    """A title and a text as one, with a paragraph's break between them."""
    return "\n\n".join(part for part in (title.strip(), text.strip()) if part)


def post_text(html: str) -> str:
    """A post's HTML as text, without the note of moderators that names its duplicate."""
    return html_text(_DUPLICATE_NOTE.sub(" ", html))


def page_text(page: str) -> str:
    """A title, which is plain text, and the HTML that follows it, as one text."""
    title, tag, rest = page.partition("<p>")
    block = title.rfind("<blockquote>")
    if block >= 0:
        title, tag = title[:block], title[block:] + tag
    return titled(title, post_text(tag + rest))


def html_text(html: str) -> str:
    """What a reader sees: a blank line between blocks, code as it stands, and no scripts.

    >>> html_text("<p>Run <code>a &lt; b</code>:</p><pre>if x:\\n  y</pre><script>no()</script><p>Why?")
    'Run a < b:\\n\\nif x:\\n  y\\n\\nWhy?'
    """
    parser = _BlockParser()
    parser.feed(html)
    parser.close()
    parser.end_block()
    return "\n\n".join(parser.blocks)


class _BlockParser(HTMLParser):
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self.pieces: list[str] = []
        self.unseen = self.verbatim = 0  # how many such elements are open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.unseen += tag in _UNSEEN
        self.verbatim += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.end_block()
        elif tag == "br":
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.end_block()
        self.unseen = max(0, self.unseen - (tag in _UNSEEN))
        self.verbatim = max(0, self.verbatim - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.pieces.append(data if self.verbatim else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        """Makes one block of the pieces; white space around it, and around breaks outside of code, goes."""
        block = "".join(self.pieces)
        self.pieces.clear()
        if self.verbatim:
            block = block.strip("\r\n").rstrip()
        else:
            block = re.sub(r" {2,}", " ", re.sub(r" *\n *", "\n", block)).strip()
        if block.strip():
            self.blocks.append(block)
