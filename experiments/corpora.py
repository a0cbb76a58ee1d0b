"""The corpora that evidence is measured on: posts, titles and news with known pairs, split and encoded once."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import whymatch as wm
from whymatch.datasets.corpora import read_texts
from whymatch.datasets.markup import page_text
from whymatch.matching.aligner import Aligner
from whymatch.progress import progress_bar

CHOICES = ("tex", "gaming", "physics", "wordpress", "mathematica", "stats")
"""StackExchange sites on which choices were made."""
NUMBERS = ("english", "unix", "android", "gis", "webmasters", "programmers")
"""StackExchange sites of which numbers are reported."""
MAX_SPANS = 40  # of a text: later sentences of long posts are left out
_TEXTS_PER_CALL = 512


@dataclass(frozen=True, eq=False)
class Corpus:
    """Split texts with the vectors of their spans, and pairs of their numbers that match or are known not to."""

    name: str
    documents: Sequence[wm.Document]
    vectors: Sequence[np.ndarray]
    groups: Sequence[str]
    """The site or the cluster of each text."""
    matches: Sequence[tuple[int, int]]
    others: Sequence[tuple[int, int]] = ()

    def of(self, groups: Sequence[str]) -> "Corpus":
        """The texts of some sites alone, with their pairs."""
        kept = [number for number, group in enumerate(self.groups) if group in groups]
        place = {number: new for new, number in enumerate(kept)}

        def moved(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
            return [(place[a], place[b]) for a, b in pairs if a in place and b in place]

        documents, vectors = [self.documents[n] for n in kept], [self.vectors[n] for n in kept]
        own = [self.groups[n] for n in kept]
        return Corpus(self.name, documents, vectors, own, moved(self.matches), moved(self.others))


class Encoding:
    """Splits and encodes texts with an aligner's parts; vectors are kept in a folder, and encoded once."""

    def __init__(self, aligner: Aligner, folder: Path) -> None:
        self.aligner, self.encoder = aligner, wm.CachedEncoder(aligner.encoder, folder)

    def corpus(
        self,
        name: str,
        texts: Sequence[str],
        groups: Sequence[str],
        matches: Sequence[tuple[int, int]],
        others: Sequence[tuple[int, int]] = (),
    ) -> Corpus:
        """The corpus of these texts."""
        documents, vectors = list[wm.Document](), list[np.ndarray]()
        for text in texts:
            whole = self.aligner.split(text)
            documents.append(wm.Document(whole.text, whole.spans[:MAX_SPANS]))
        with progress_bar(f"encoding {name}", len(documents)) as update:
            for start in range(0, len(documents), _TEXTS_PER_CALL):
                batch = documents[start : start + _TEXTS_PER_CALL]
                vectors += self.encoder.encode([text.text for text in batch], [text.spans for text in batch])
                update(len(vectors))
        self.encoder.keep()
        return Corpus(name, documents, vectors, groups, matches, others)


def stackexchange(data: Path, encoding: Encoding, *, titles: bool = False) -> Corpus:
    """Twelve sites of StackExchange, with duplicates and pairs that are none; `titles` keeps the titles alone."""
    folder = data / "stackexchange" / "cqadupstack"
    if titles:
        with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        texts = {row["id"]: (row.get("title") or "", row["site"]) for row in rows}
        texts = {id_: both for id_, both in texts.items() if both[0].strip()}
    else:
        texts = {text.id: (text.text, text.site) for text in read_texts(folder / "corpus.jsonl.gz")}
    place = {id_: number for number, id_ in enumerate(texts)}

    def pairs(name: str) -> list[tuple[int, int]]:
        rows = (line.split() for line in (folder / name).read_text().splitlines())
        return [(place[a], place[b]) for a, b in rows if a in place and b in place]

    contents, sites = [text for text, _ in texts.values()], [site for _, site in texts.values()]
    name = "StackExchange, titles" if titles else "StackExchange"
    return encoding.corpus(name, contents, sites, pairs("duplicates.tsv"), pairs("non_duplicates.tsv"))


def askubuntu(data: Path, encoding: Encoding, *, titles: bool = False) -> Corpus:
    """AskUbuntu's labelled pairs: 1,000 of full texts, or 6,000 of titles; texts 2i and 2i + 1 are a pair."""
    file = data / "stackexchange" / "askubuntu" / ("test_titles.tsv.gz" if titles else "full_text.tsv.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    plain: Callable[[str], str] = str if titles else page_text
    texts = [plain(text) for row in rows for text in row[1:3]]
    numbered = [(row[0] == "duplicate", (2 * number, 2 * number + 1)) for number, row in enumerate(rows)]
    matches, others = ([pair for match, pair in numbered if match is wanted] for wanted in (True, False))
    name = "AskUbuntu, titles" if titles else "AskUbuntu"
    return encoding.corpus(name, texts, ["askubuntu"] * len(texts), matches, others)


def multinews(data: Path, encoding: Encoding) -> Corpus:
    """MultiNews' articles of the val and test splits; neighbours in a cluster match."""
    articles: list[tuple[str, str]] = []
    for split in ("val", "test"):
        with gzip.open(data / "multinews" / f"{split}.src.gz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                parts = [part.strip() for part in line.split("|||||")]
                articles += [(part, f"{split} {number}") for part in parts if part]
    matches = [(n, n + 1) for n in range(len(articles) - 1) if articles[n][1] == articles[n + 1][1]]
    return encoding.corpus("MultiNews", [text for text, _ in articles], [own for _, own in articles], matches)


def all_corpora(data: Path, encoding: Encoding) -> Mapping[str, Corpus]:
    """All of them, by name."""
    made = [
        stackexchange(data, encoding),
        stackexchange(data, encoding, titles=True),
        askubuntu(data, encoding),
        askubuntu(data, encoding, titles=True),
        multinews(data, encoding),
    ]
    return {corpus.name: corpus for corpus in made}
