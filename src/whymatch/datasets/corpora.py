"""Texts of which some are similar: a corpus with pairs of ids, pairs of texts with labels, and MultiNews."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from whymatch.datasets.markup import page_text, titled
from whymatch.reading import JsonObject, find_file, read_json_lines, required_file, tab_fields, text_lines
from whymatch.text.spans import is_blank

_LABELS = {"duplicate": True, "non-duplicate": False, "1": True, "0": False}


class Text(NamedTuple):
    """A text with its id, and the site that it is from."""

    id: str
    text: str
    site: str = ""


@dataclass(frozen=True)
class SimilarTexts:
    """Texts by id, the site of each, which two are similar, and how much was left out for which reason."""

    texts: Mapping[str, str]
    sites: Mapping[str, str]
    similar: tuple[tuple[str, str], ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def collected(
    texts: Iterable[Text], similar: Iterable[tuple[str, str]], left_out: Mapping[str, int] | None = None
) -> SimilarTexts:
    """Every text once and every similar pair once; what is blank or repeats another is counted as left out."""
    lost, kept, sites = Counter(left_out or {}), dict[str, str](), dict[str, str]()
    first_ids: dict[str, str] = {}  # by text
    same_as: dict[str, str] = {}  # by id
    for id_, text, site in texts:
        if id_ in same_as:
            raise ValueError(f"Two texts have the id {id_}. Ids tell the texts of a corpus apart.")
        same_as[id_] = first_ids.setdefault(text, id_)
        if is_blank(text):
            lost["blank texts"] += 1
        elif same_as[id_] != id_:
            lost["texts that repeat another"] += 1
        else:
            kept[id_], sites[id_] = text, site
    pairs: dict[tuple[str, str], None] = {}
    for left, right in similar:
        missing = [id_ for id_ in (left, right) if id_ not in same_as]
        if missing:
            raise ValueError(f"A pair names {missing[0]}, which is not in the corpus.")
        a, b = sorted((same_as[left], same_as[right]))
        if a not in kept or b not in kept:
            lost["pairs with a blank text"] += 1
        elif a == b:
            lost["pairs of one text with itself"] += 1
        elif (a, b) in pairs:
            lost["pairs that repeat another"] += 1
        else:
            pairs[a, b] = None
    return SimilarTexts(kept, sites, tuple(pairs), dict(lost))


def read_texts(file: Path) -> Iterator[Text]:
    """JSON lines with "id", "text", and "title" and "site" if there are any."""

    def read(row: JsonObject, number: int) -> Text:
        title, text = row.get("title") or "", row["text"]
        if not isinstance(title, str) or not isinstance(text, str):
            raise ValueError('"title" and "text" are texts')
        return Text(str(row["id"]), titled(title, text), str(row.get("site") or ""))

    return read_json_lines(file, read)


def _read_ids(file: Path, known: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Pairs of ids of a corpus, between tabs."""
    for number, (left, right) in tab_fields(file, 2):
        for id_ in (left, right):
            if id_ not in known:
                raise ValueError(f"{file}, line {number}: {id_} is not in the corpus.")
        if left == right:
            raise ValueError(f"{file}, line {number}: {left} is paired with itself.")
        yield left, right


def read_corpus(folder: Path) -> SimilarTexts:
    """`corpus.jsonl` and `duplicates.tsv`; `non_duplicates.tsv` is checked against them where it is there."""
    texts = list(read_texts(required_file([folder], "corpus.jsonl")))
    known = dict.fromkeys(text.id for text in texts)
    duplicates, others = required_file([folder], "duplicates.tsv"), find_file([folder], "non_duplicates.tsv")
    similar = list(_read_ids(duplicates, known))
    unordered = {frozenset(pair) for pair in similar}
    for left, right in _read_ids(others, known) if others else ():
        if frozenset((left, right)) in unordered:
            raise ValueError(f"{others}: {left} and {right} are duplicates in {duplicates}.")
    return collected(texts, similar)


def read_labelled(files: Iterable[Path]) -> SimilarTexts:
    """Rows of label, left and right between tabs, their texts as one corpus; a side with a <p> is a title and HTML."""
    ids: dict[str, str] = {}  # by text
    similar, different = [], 0
    for file in files:
        for number, (label, *sides) in tab_fields(file, 3):
            if label not in _LABELS:
                raise ValueError(f"{file}, line {number}: a label is {', '.join(_LABELS)}, got {label!r}.")
            plain = [page_text(side) if "<p>" in side else side.strip() for side in sides]
            left, right = (ids.setdefault(text, f"{len(ids)}") for text in plain)
            similar += [(left, right)] if _LABELS[label] else []
            different += not _LABELS[label]
    texts = [Text(id_, text) for text, id_ in ids.items()]
    return collected(texts, similar, {"pairs labelled as different": different})


def articles(cluster: str) -> list[str]:
    """The articles of a cluster of MultiNews, of which some may be empty; what only ends the line is none.

    >>> articles("It rained. NEWLINE_CHAR NEWLINE_CHAR A lot. ||||| Rain fell. story_separator_special_tag Wet. |||||")
    ['It rained.\\n\\nA lot.', 'Rain fell.', 'Wet.']
    """
    parts = cluster.replace("story_separator_special_tag", "|||||").split("|||||")
    if len(parts) > 1 and is_blank(parts[-1]):
        parts.pop()
    return ["\n".join(line.strip() for line in part.split("NEWLINE_CHAR")).strip() for part in parts]


def read_multinews(files: Iterable[Path]) -> SimilarTexts:
    """The `.src` files of MultiNews, one cluster per line: every two of its articles are similar, empty ones go."""
    texts: list[Text] = []
    similar: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for file in files:
        for line, text in text_lines(file):
            cluster = articles(text)
            full = [article for article in cluster if not is_blank(article)]
            left_out["empty articles"] += len(cluster) - len(full)
            left_out["clusters of one article, which is similar to none"] += len(full) == 1
            ids = [f"{file.name.split('.')[0]}:{line}:{number}" for number, _ in enumerate(full)]
            texts += map(Text, ids, full)
            similar += combinations(ids, 2)
    return collected(texts, similar, +left_out)
