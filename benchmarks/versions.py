"""Documents in two versions, made by edits that are known: what `benchmarks.comparing` measures."""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.conflicts import another_number, negated, renamed
from benchmarks.word_alignment import edinburgh, mtref
from whymatch.matching.defaults import default_aligner
from whymatch.matching.shipped import FOLDER
from whymatch.text.spans import sentences, whole

DOMAINS = {
    "choose": ("contracts", "company-policies", "privacy-terms", "wikipedia-history"),
    "check": ("statutes-regulations", "insurance-banking", "user-manuals", "wikipedia-technology", "wikipedia-places"),
    "report": ("court-decisions", "patents-standards", "release-notes-docs", "wikipedia-people", "wikipedia-nature"),
}
EDITS = ("number", "name", "negation", "paraphrase", "revision")
STATES = dict.fromkeys(EDITS, "changed") | {
    "deleted": "missing", "deleted for another": "missing", "inserted": "new",
    "inserted for another": "new", "moved": "moved", "moved and edited": "moved and edited",
    "split": "split", "merged": "merged",
}  # fmt: skip
NAMES = str.split("Bergmann Okafor Lindqvist Ferreira Castellano Whitcombe Nakamura Dunmore Marchetti Halloran")
_TEXTS = 5  # of a document
_PER_KIND = 2  # edits of a kind in a document
_TRIED = 12  # clauses, of which the one goes that another document has most nearly


class Found(NamedTuple):
    """A change: its state, and the numbers of its clauses."""

    state: str
    left: frozenset[int]
    right: frozenset[int]


@dataclass
class Versions:
    """A document before and after its edits, by clauses; headings are clauses too."""

    old: list[str]
    new: list[str]
    edits: list[tuple[str, Found]] = field(default_factory=list)


def read_sections(split: str) -> Iterator[list[tuple[str, list[str]]]]:
    """The texts of each domain: a title and sentences."""
    blocks = re.split(r"(?m)^%% ", (FOLDER / "texts.txt").read_text(encoding="utf-8"))
    for domain in DOMAINS[split]:
        texts = [body for name, _, body in (block.partition("\n") for block in blocks) if name.strip() == domain]
        sections = []
        for number, text in enumerate(texts):
            lines = text.strip().splitlines()
            title = lines[0] if len(lines) > 1 and len(lines[0]) < 60 else f"Part {number + 1} of the {domain}"
            body = " ".join(lines[1:] if title == lines[0] else lines)
            own = [" ".join(body[a:b].split()) for a, b in sentences(body)]
            own = [one for one in own if one[:1].isupper() and one.endswith(".") and 6 <= len(one.split()) <= 60]
            if len(own) >= 4:
                sections.append((re.sub(r"^[\d.]+ *", "", title).rstrip("."), own))
        yield sections


def pairs_of(folder: Path, split: str) -> dict[str, list[tuple[str, str]]]:
    """Human paraphrases and authors' revisions, of which both sides are one sentence."""
    aligned = (
        mtref(folder / "word_alignment", "train") if split == "choose" else edinburgh(folder / "word_alignment", "test")
    )
    revised = [
        (one["sentence-1"], one["sentence-2"]) for one in revisions(folder, "train" if split == "choose" else "dev")
    ]
    pairs = {"paraphrase": [(left.text, right.text) for left, right, _ in aligned], "revision": revised}
    return {
        kind: [
            (_clause(left), _clause(right))
            for left, right in own
            if min(len(left.split()), len(right.split())) >= 8 and _clause(left) != _clause(right)
            and all(len(sentences(_clause(one))) == 1 for one in (left, right))
        ]
        for kind, own in pairs.items()
    }  # fmt: skip


def revisions(folder: Path, split: str) -> list[dict[str, Any]]:
    with gzip.open(folder / "arxivedits" / f"{split}.json.gz", "rt", encoding="utf-8") as file:
        return [*json.load(file).values()]


def _clause(text: str) -> str:
    """A tokenised sentence as people write it."""
    text = re.sub(r" (?=[.,;:!?)%]|'s\b|n't\b)", "", text.strip()).replace("( ", "(")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def vectors_of(texts: Sequence[str]) -> np.ndarray:
    """(texts, dimensions): unit vectors by MiniLM."""
    encoded = default_aligner("sentence").encoder.encode(texts, [whole(text) for text in texts])
    rows = np.concatenate(encoded)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Editor:
    """Edits the clauses of one document; every clause is in one edit at most."""

    def __init__(self, sections: Sequence[tuple[str, list[str]]], rng: random.Random, names: Sequence[str]) -> None:
        self.rng, self.names = rng, names
        self.old: list[str] = []
        self.heads: set[int] = set()
        for title, own in sections:
            self.heads.add(len(self.old))
            self.old += [title, *own]
        self.new: list[list[tuple[int, str]]] = [[(n, text)] for n, text in enumerate(self.old)]  # in place of each
        self.kinds: dict[int, str] = {}
        self.tails: dict[int, list[tuple[int, str]]] = {n: [] for n in range(len(self.old))}  # what comes behind it

    def free(self, more: int = 0) -> list[int]:
        """Clauses that no edit is near, in random order; `more` clauses after each are as free."""
        used = {*self.kinds} | self.heads
        own = [n for n in range(1, len(self.old)) if not any(n + by in used for by in range(more + 1))]
        own = [n for n in own if n + more + 1 < len(self.old) and not self.tails[n]]
        self.rng.shuffle(own)
        return own

    def in_place(self, kind: str, edit: Callable[[str], str | None]) -> None:
        for n in self.free():
            text = edit(self.old[n])
            if text is not None and text != self.old[n] and len(sentences(text)) == 1:
                self.new[n], self.kinds[n] = [(n, text)], kind
                return

    def replaced(self, kind: str, pair: tuple[str, str]) -> None:
        if free := self.free():
            self.old[free[0]], self.new[free[0]], self.kinds[free[0]] = pair[0], [(free[0], pair[1])], kind

    def deleted(self) -> None:
        if free := self.free():
            self.new[free[0]], self.kinds[free[0]] = [], "deleted"

    def inserted(self, text: str, number: int) -> None:
        if free := self.free():
            self.tails[free[0]].append((number, text))
            self.kinds[free[0]] = "before an inserted clause"

    def exchanged(self, others: list[str], number: int) -> None:
        """A clause goes, and the nearest one by MiniLM of other documents stands in its place."""
        if free := self.free()[:_TRIED]:
            cosines = vectors_of([self.old[n] for n in free]) @ vectors_of(others).T
            place, other = divmod(int(cosines.argmax()), len(others))
            n = free[place]
            self.new[n], self.kinds[n] = [(number, others.pop(other))], "deleted for another"

    def moved(self, kind: str, edit: Callable[[str], str | None]) -> None:
        free = self.free()
        for n in free:
            text = edit(self.old[n])
            far = [other for other in free if abs(other - n) > 6]
            if text is not None and far and len(sentences(text)) == 1:
                self.new[n], self.kinds[n] = [], kind
                self.tails[far[0]].append((n, text))
                self.kinds[far[0]] = "before a moved clause"
                return

    def split(self) -> None:
        for n in self.free():
            middle = re.search(
                r"(?<=\w{3})(?:, and|, but|; and|;) (?=(?:the|a|an|it|this|they|any|each|no|we|you|he|she) )",
                self.old[n],
            )
            if middle and min(middle.start(), len(self.old[n]) - middle.end()) > 25:
                halves = [self.old[n][: middle.start()] + ".", self.old[n][middle.end() :]]
                self.new[n] = [(n, halves[0]), (n, halves[1][:1].upper() + halves[1][1:])]
                self.kinds[n] = "split"
                return

    def merged(self) -> None:
        for n in self.free(1):
            first, second = self.old[n], self.old[n + 1]
            if second.split()[0] in ("The", "A", "An", "It", "This", "Any", "Each", "They", "All", "You", "We"):
                text = f"{first[:-1]}, and {second[:1].lower()}{second[1:]}"
                self.new[n], self.new[n + 1] = [(n, text)], []
                self.kinds[n] = self.kinds[n + 1] = "merged"
                return

    def versions(self) -> Versions:
        """Both versions, with what was done."""
        new: list[str] = []
        places: dict[int, list[int]] = {}
        for n in range(len(self.old)):
            for number, text in [*self.new[n], *self.tails[n]]:
                places.setdefault(number, []).append(len(new))
                new.append(text)
        made = Versions(self.old, new)
        for n, kind in self.kinds.items():
            if kind == "merged" and self.kinds.get(n + 1) == "merged" and self.new[n]:
                made.edits.append((kind, Found("merged", frozenset({n, n + 1}), frozenset(places[n]))))
            elif kind in STATES and kind != "merged":
                right = places.get(n, ()) if STATES[kind] != "missing" else ()
                made.edits.append((kind, Found(STATES[kind], frozenset({n}), frozenset(right))))
        for n, own in places.items():
            if n < 0:
                kind = "inserted for another" if n < -_PER_KIND else "inserted"
                made.edits.append((kind, Found("new", frozenset(), frozenset(own))))
        return made


def documents(folder: Path, split: str, seed: int = 0) -> list[Versions]:
    """Edited documents of all domains of a split."""
    rng, made = random.Random(seed), []
    pairs = {kind: rng.sample(own, len(own)) for kind, own in pairs_of(folder, split).items()}
    for sections in read_sections(split):
        rng.shuffle(sections)
        count = len(sections) // _TEXTS - 1
        others = [text for _, own in sections[count * _TEXTS :] for text in own]  # to insert
        rng.shuffle(others)
        for number in range(count):
            own = sections[number * _TEXTS : (number + 1) * _TEXTS]
            made.append(_edited(Editor(own, rng, NAMES), pairs, others))
    return made


def _edited(editor: Editor, pairs: dict[str, list[tuple[str, str]]], others: list[str]) -> Versions:
    rng, rename = editor.rng, renamed(NAMES)

    def any_edit(text: str) -> str | None:
        return another_number(text, rng) or rename(text, rng) or negated(text, rng)

    for turn in range(_PER_KIND):
        editor.split()
        editor.merged()
        editor.in_place("name", lambda text: rename(text, rng))
        editor.in_place("number", lambda text: another_number(text, rng))
        editor.moved("moved and edited", any_edit)
        editor.moved("moved", lambda text: text)
        editor.in_place("negation", lambda text: negated(text, rng))
        editor.replaced("paraphrase", pairs["paraphrase"].pop())
        editor.replaced("revision", pairs["revision"].pop())
        editor.deleted()
        editor.inserted(others.pop(), -1 - turn)
        editor.exchanged(others, -1 - turn - _PER_KIND)
    return editor.versions()


def rendered(clauses: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text of a version, numbered, and where each clause is; a clause without a mark at its end is a heading."""
    text, places, section, number = "", [], 0, 0
    for clause in clauses:
        heading = not clause.endswith(".")
        section, number = (section + 1, 0) if heading else (section, number + 1)
        label = f"\n{section}. " if heading else f"{section}.{number} "
        text += label
        places.append((len(text), len(text) + len(clause)))
        text += f"{clause}\n"
    return text, places
