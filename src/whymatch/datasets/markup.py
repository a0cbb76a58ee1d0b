"""HTML as plain text."""

import re
from html.parser import HTMLParser

UNSEEN = frozenset({"script", "style", "template", "noscript", "iframe", "object"})
BLOCKS = frozenset(
    {"article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2", "h3"}
    | {"h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"}
    | {"td", "tfoot", "th", "thead", "tr", "ul"}
)


def html_text(html: str) -> str:
    """What a reader sees: a blank line between blocks, code as it stands, and no scripts.

    >>> html_text("<p>Run <code>a &lt; b</code>:</p><pre>if x:\\n  y</pre><script>no()</script><p>Why?")
    'Run a < b:\\n\\nif x:\\n  y\\n\\nWhy?'
    """
    reader = Reader()
    reader.feed(html)
    reader.close()
    reader.end_block()
    return "\n\n".join(reader.blocks)


class Reader(HTMLParser):
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self.pieces: list[str] = []
        self.unseen = self.verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS:
            self.end_block()
        self.unseen += tag in UNSEEN
        self.verbatim += tag == "pre"
        if tag == "br":
            self.pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self.pieces.append("\n")
        elif tag in BLOCKS:
            self.end_block()

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self.end_block()
        self.unseen = max(0, self.unseen - (tag in UNSEEN))
        self.verbatim = max(0, self.verbatim - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.pieces.append(data if self.verbatim else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        """What was collected is one block; white space around it, and around breaks outside of code, goes."""
        block = "".join(self.pieces)
        self.pieces.clear()
        block = block.strip("\r\n").rstrip() if self.verbatim else re.sub(r" *\n *| {2,}", collapsed, block).strip()
        if block.strip():
            self.blocks.append(block)


def collapsed(blanks: re.Match[str]) -> str:
    return "\n" if "\n" in blanks[0] else " "
