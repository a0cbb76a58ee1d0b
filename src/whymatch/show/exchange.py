"""A bitext as other programs read it, from its dictionary: rows in reading order, tables with tabs, TMX."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from whymatch.show.words import no_formula

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


class Row(NamedTuple):
    """A passage, or a sentence without a counterpart: its characters in both texts, "" where it has none."""

    left: str
    right: str
    likeness: float | None = None
    moved: bool = False


def rows(bitext: Mapping[str, Any]) -> Iterator[Row]:
    """What stands beside what, in the order of the source; what the translation adds stands where it stands there."""
    starts = {one["left"][0]: one for one in bitext["passages"]}
    alone = {side: [*bitext["alone"][side]] for side in ("left", "right")}
    added = iter(alone["right"])
    following = next(added, None)
    for number in sorted([*starts, *alone["left"]]):
        one = starts.get(number)
        if one is None:
            yield Row(_sentence(bitext, "left", number), "")
            continue
        while following is not None and not one["moved"] and following < one["right"][0]:
            yield Row("", _sentence(bitext, "right", following))
            following = next(added, None)
        yield Row(one["texts"][0], one["texts"][1], one["likeness"], one["moved"])
    while following is not None:
        yield Row("", _sentence(bitext, "right", following))
        following = next(added, None)


def _sentence(bitext: Mapping[str, Any], side: str, number: int) -> str:
    start, end = bitext[side]["spans"][number]
    return str(bitext[side]["text"][start:end])


def as_tsv(bitext: Mapping[str, Any]) -> str:
    """A line for each row, under a header; no spreadsheet takes a cell for a formula."""
    lines = ["source\ttranslation\tlikeness\tmoved"]
    for row in rows(bitext):
        likeness = "" if row.likeness is None else f"{row.likeness:.3f}"
        cells = [no_formula(_one_line(text)) for text in (row.left, row.right)]
        lines.append("\t".join([*cells, likeness, "moved" if row.moved else ""]))
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """
    >>> _one_line("one\\ttwo\\r\\nthree\\u2028four")
    'one two three four'
    """
    return " ".join(text.split())


def check_languages(codes: Sequence[str | None]) -> None:
    """Raises ValueError unless both texts have a language that a translation memory can name."""
    for side, code in zip(("source", "translation"), codes, strict=True):
        if code is None or not _CODE.fullmatch(code):
            came = "is not recognised" if code is None else f"is {code!r}, which is no code such as de or pt-BR"
            raise ValueError(f"The language of the {side} {came}. A TMX file names both: --languages, languages=.")


def as_tmx(bitext: Mapping[str, Any], languages: tuple[str, str] | None) -> str:
    """A translation memory of the passages. Raises ValueError where a language is not known."""
    codes = languages or tuple(bitext["languages"])
    check_languages(codes)
    from whymatch import __version__

    units = [
        f'<tu><prop type="likeness">{one["likeness"]:.3f}</prop>'
        + "".join(
            f"<tuv xml:lang={quoteattr(code)}><seg>{escape(_NOT_IN_XML.sub('', _one_line(text)))}</seg></tuv>"
            for code, text in zip(codes, one["texts"], strict=True)
        )
        + "</tu>\n"
        for one in bitext["passages"]
    ]
    header = (
        f'<header creationtool="whymatch" creationtoolversion="{__version__}" segtype="block" o-tmf="whymatch" '
        f'adminlang="en" srclang={quoteattr(codes[0])} datatype="plaintext"/>'
    )
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">'
    return f"{start}\n{header}\n<body>\n{''.join(units)}</body>\n</tmx>\n"
