"""Texts of which some are similar: a corpus with pairs of ids, and pairs of texts with labels."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from whymatch.datasets.markup import html_text
from whymatch.reading import JsonObject, find_file, read_json_lines, tab_fields
from whymatch.text.spans import is_blank

DUPLICATE = {"duplicate": True, "non-duplicate": False, "1": True, "0": False}
NOTE = re.compile(
    r"<blockquote>\s*(?:<p>)?\s*<strong>\s*Possible Duplicates?:?.*?</blockquote>", re.DOTALL | re.IGNORECASE
)
"""What moderators put above a duplicate: it names the answer."""


class Text(NamedTuple):
    """A text of a corpus, and the site that it is from."""

    id: str
    text: str
    site: str = ""


@dataclass(frozen=True)
class Corpus:
    """Texts by id, the site of each, which two are similar, and how much was left out for which reason."""

    texts: Mapping[str, str]
    sites: Mapping[str, str]
    similar: tuple[tuple[str, str], ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def corpus(
    texts: Iterable[Text], similar: Iterable[tuple[str, str]], left_out: Mapping[str, int] | None = None
) -> Corpus:
    """Every text once and every similar pair once; what is blank or repeats another is counted as left out."""
    lost, kept, sites = Counter(left_out or {}), dict[str, str](), dict[str, str]()
    first: dict[str, str] = {}  # by text
    same: dict[str, str] = {}  # by id
    for id_, text, site in texts:
        if id_ in same:
            raise ValueError(f"Two texts have the id {id_}. Ids tell the texts of a corpus apart.")
        same[id_] = first.setdefault(text, id_)
        if is_blank(text):
            lost["blank texts"] += 1
        elif same[id_] != id_:
            lost["texts that repeat another"] += 1
        else:
            kept[id_], sites[id_] = text, site
    pairs: dict[tuple[str, str], None] = {}
    for left, right in similar:
        missing = [id_ for id_ in (left, right) if id_ not in same]
        if missing:
            raise ValueError(f"A pair names {missing[0]}, which is not in the corpus.")
        a, b = sorted((same[left], same[right]))
        if a not in kept or b not in kept:
            lost["pairs with a blank text"] += 1
        elif a == b:
            lost["pairs of one text with itself"] += 1
        elif (a, b) in pairs:
            lost["pairs that repeat another"] += 1
        else:
            pairs[a, b] = None
    return Corpus(kept, sites, tuple(pairs), dict(lost))


def body(html: str) -> str:
    """A post's HTML as text, without the note that names its duplicate."""
    return html_text(NOTE.sub(" ", html))


def titled(title: str, text: str) -> str:
    """A title and a text as one, with a paragraph's break between them."""
    return "\n\n".join(part for part in (title.strip(), text.strip()) if part)


def read_texts(file: Path) -> Iterator[Text]:
    """JSON lines with "id", "text", and "title" and "site" if there are any."""

    def read(row: JsonObject, number: int) -> Text:
        title, text = row.get("title") or "", row["text"]
        if not isinstance(title, str) or not isinstance(text, str):
            raise ValueError('"title" and "text" are texts')
        return Text(str(row["id"]), titled(title, text), str(row.get("site") or ""))

    return read_json_lines(file, read)


def read_ids(file: Path, known: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Pairs of ids of a corpus, between tabs."""
    for number, (left, right) in tab_fields(file, 2):
        for id_ in (left, right):
            if id_ not in known:
                raise ValueError(f"{file}, line {number}: {id_} is not in the corpus.")
        if left == right:
            raise ValueError(f"{file}, line {number}: {left} is paired with itself.")
        yield left, right


def read_corpus(folder: Path) -> Corpus:
    """`corpus.jsonl` and `duplicates.tsv`; `non_duplicates.tsv` is checked against them where it is there."""
    files = [find_file([folder], name) for name in ("corpus.jsonl", "duplicates.tsv", "non_duplicates.tsv")]
    if files[0] is None or files[1] is None:
        raise ValueError(f"{folder} has no corpus.jsonl and duplicates.tsv, plain or gzipped.")
    texts = list(read_texts(files[0]))
    known = dict.fromkeys(text.id for text in texts)
    similar = list(read_ids(files[1], known))
    if files[2] is not None:
        unordered = {frozenset(pair) for pair in similar}
        for pair in read_ids(files[2], known):
            if frozenset(pair) in unordered:
                raise ValueError(f"{files[2]}: {pair[0]} and {pair[1]} are duplicates in {files[1]}.")
    return corpus(texts, similar)


def read_labelled(file: Path) -> Iterator[tuple[bool, str, str]]:
    """Rows of label, left and right between tabs; a side with a paragraph's tag is HTML, and comes as its text."""
    for number, (label, *sides) in tab_fields(file, 3):
        if label not in DUPLICATE:
            raise ValueError(f"{file}, line {number}: a label is {', '.join(DUPLICATE)}, got {label!r}.")
        left, right = (page(side) if "<p>" in side else side.strip() for side in sides)
        yield DUPLICATE[label], left, right


def page(side: str) -> str:
    """A title, which is plain text, and the HTML that follows it."""
    title, tag, rest = side.partition("<p>")
    block = title.rfind("<blockquote>")
    if block >= 0:
        title, tag = title[:block], title[block:] + tag
    return titled(title, body(tag + rest))


def labelled_corpus(files: Iterable[Path]) -> Corpus:
    """The texts of labelled pairs as one corpus."""
    texts: dict[str, str] = {}
    similar, different = [], 0
    for file in files:
        for duplicate, *sides in read_labelled(file):
            ids = [texts.setdefault(side, f"{len(texts)}") for side in sides]
            similar += [(ids[0], ids[1])] if duplicate else []
            different += not duplicate
    return corpus((Text(id_, text) for text, id_ in texts.items()), similar, {"pairs labelled as different": different})
