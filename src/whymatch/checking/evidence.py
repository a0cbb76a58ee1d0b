"""Which spans of a source speak of a claim: rare words that they share with it, and meaning, both in bits."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import log2

import numpy as np

from whymatch.checking.structure import Place, PlaceKind, structure
from whymatch.cost import Background
from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.text.antonyms import lemmas
from whymatch.text.document import Document
from whymatch.text.languages import language
from whymatch.text.spans import Span, words
from whymatch.transport.constraints import Each
from whymatch.transport.exact import solve

MOST_LINKS = 8
"""Spans of a source that are linked with a claim, of which those are kept that add something."""
_MEANING = 0.5  # the share of the bits of meaning that counts beside those of words, which meaning counts once more
_AGAIN = 0.3  # the share of a word's bits that count once more when a span before has said it
_MIN_BITS = 3.0  # what a span has to add, and beside that a share of the bits of the claim
MIN_SHARE = 0.1
_TURNS: tuple[tuple[PlaceKind, ...], ...] = (("statement", "row"), ("heading",), ("question",))
"""Kinds of spans in the order in which they are linked."""
_MAX_CACHED_WORDS = 200_000
_LONGEST_CACHED = 40  # characters: longer words are rare, and a cache of them would be large


def stem(word: str) -> str:
    """One form for the inflected forms of a word, case-folded: the shortest of those that it may come from."""
    return (_stem if len(word) <= _LONGEST_CACHED else _stem.__wrapped__)(word.casefold())


@lru_cache(_MAX_CACHED_WORDS)
def _stem(word: str) -> str:
    if word[:1].isdigit():
        return word.replace(",", "")
    return min(lemmas(word), key=lambda lemma: (len(lemma), lemma))


def spoken(text: str) -> list[tuple[str, Span]]:
    """The stems of the words with a letter or a digit, with their characters."""
    pieces = ((text[span.start : span.end], span) for span in words(text))
    return [(stem(piece), span) for piece, span in pieces if any(map(str.isalnum, piece))]


def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text, each once."""
    return frozenset(word for word, _ in spoken(text))


@lru_cache(4)
def background_counts(background: Background) -> tuple[Mapping[str, int], int]:
    """In how many texts of a background each stem is, and how many texts there are."""
    counts = Counter(word for text in background.documents for word in stems(text.text))
    return counts, len(background.documents)


@dataclass(frozen=True, eq=False)
class Source:
    """A source that can be read: its spans, with their vectors (spans, dimensions) and tails (spans, 2)."""

    name: str
    document: Document
    vectors: np.ndarray
    tails: np.ndarray

    @cached_property
    def stems(self) -> list[frozenset[str]]:
        """The stems of the words of each span."""
        return [stems(piece) for piece in self.document.pieces]

    @cached_property
    def places(self) -> list[Place]:
        """What each span is, and what stands above it."""
        return structure(self.document)

    @cached_property
    def readings(self) -> list[str]:
        """Each span as it is read: a row of a table with the headers of its columns."""
        return [place.reading or piece for place, piece in zip(self.places, self.document.pieces, strict=True)]

    @cached_property
    def language(self) -> str | None:
        """The language of the whole text, if that is known."""
        return language(self.document.text)

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many spans each stem is."""
        return Counter(word for span in self.stems for word in span)


@dataclass(frozen=True)
class Linked:
    """The spans of a source that speak of a claim."""

    spans: tuple[int, ...]
    """Their numbers, strongest first."""
    bits: tuple[float, ...]
    worth: Mapping[str, float]
    """The bits of every stem of the claim: how rare it is in the background and in the source."""
    adds: bool
    """Whether each says enough of the claim; where none does, there may be one span all the same, the strongest."""
    asked_only: bool = False
    """Whether they are questions, which say nothing."""
    likeness: float | None = None
    """The cosine of a claim with the span of a source in another language that is nearest in meaning."""


@cache
def _function_stems() -> frozenset[str]:
    return frozenset(map(stem, FUNCTION_WORDS))


def word_bits(claim: frozenset[str], source: Source, background: Background) -> dict[str, float]:
    """The bits of each stem of a claim: log2((D + 1) / (d + 1)), over the background's texts and the source's spans.

    Function words count only where there are no others. Bits depend on no other source, so that what one source says of
    a claim is the same whatever else is given.
    """
    counts, texts = background_counts(background)
    total = texts + len(source.document) + 1
    counted = claim - _function_stems() or claim
    return {word: log2(total / (counts.get(word, 0) + source.counts[word] + 1)) for word in sorted(counted)}


def linked_spans(
    claim: frozenset[str],
    source: Source,
    evidence: np.ndarray,
    background: Background,
    *,
    min_share: float = MIN_SHARE,
) -> Linked:
    """The spans of a source that speak of a claim with these stems, by their evidence (spans) in bits.

    Candidates are those with the most bits in all (`Each`, solved and proven as every alignment is). Of these a span is
    kept if the words that it shares with the claim, and that no span before has said, are worth enough: 3 bits and
    `min_share` of the bits of the claim. Sentences and rows come first, and then what stands above all of them:
    headings, and the question that they answer. Only where nothing is kept, a heading or a question may stand alone.
    """
    worth = word_bits(claim, source, background)
    shared = np.array([[word in span for word in worth] for span in source.stems], float).reshape(-1, len(worth))
    values = np.array([*worth.values()])
    trials = log2(max(1, len(source.document)))
    meaning = _MEANING * (evidence + trials)  # evidence is less log2(m) already
    bits = shared @ values + meaning - trials
    plan = solve(-bits[None], Each(MOST_LINKS, below=0.0)).plan[0]
    found = sorted(np.flatnonzero(plan).tolist(), key=lambda j: (-bits[j], j))
    needed = _MIN_BITS + min_share * values.sum()
    kept = list[int]()
    unsaid = np.ones(len(worth))
    for kinds in _TURNS:
        while left := [j for j in found if source.places[j].kind in kinds and _completes(j, kept, source.places)]:
            adds = shared[left] @ (values * unsaid)
            best = int((adds + meaning[left]).argmax())
            if adds[best] < needed:
                break
            kept.append(left[best])
            unsaid = unsaid * (1 - (1 - _AGAIN) * shared[kept[-1]])
    chosen = kept or [j for j in found if source.places[j].kind != "question"][:1]
    asked_only = bool(kept) and all(source.places[j].kind == "question" for j in kept)
    return Linked(tuple(chosen), tuple(float(bits[j]) for j in chosen), worth, bool(kept), asked_only)


def _completes(span: int, kept: Sequence[int], places: Sequence[Place]) -> bool:
    """Whether a span can be read together with those that are kept.

    Sentences can, and what stands above all of them: headings, and the question that they answer. A row of a table is
    read with what stands above it alone, and a question without an answer alone.
    """
    own, bodies = places[span], [j for j in kept if places[j].kind in ("statement", "row")]
    if span in kept:
        return False
    if own.kind in ("statement", "row"):
        return not bodies or all(places[j].kind == "statement" for j in (span, *bodies))
    if bodies or own.kind == "question":
        return bool(bodies or not kept) and all(span in places[j].above for j in bodies)
    return all(span in places[j].above or j in own.above for j in kept)


def nearest_span(claim: Source, source: Source, evidence: np.ndarray) -> Linked:
    """The span of a source in another language that is nearest to a claim, a source of one span, with its evidence."""
    ours, theirs = (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in (claim.vectors, source.vectors)
    )
    cosines = theirs @ ours[0]
    best = max(range(len(cosines)), key=lambda j: (source.places[j].kind != "question", cosines[j]))
    worth = dict.fromkeys(sorted(claim.stems[0]), 1.0)
    asked_only = source.places[best].kind == "question"
    return Linked((best,), (float(evidence[best]),), worth, False, asked_only, float(cosines[best]))


def coverage(worth: Mapping[str, float], said: Iterable[str]) -> float:
    """The share of a claim's bits whose words are said; 0 for a claim without words."""
    total = sum(worth.values())
    return sum(worth[word] for word in {*said} & worth.keys()) / total if total > 0 else 0.0


def missing_words(text: str, said: Sequence[bool]) -> list[Span]:
    """The words of a claim that are not said, in runs; a function word goes with the word after it.

    `said` has a value for each of the words that `spoken` gives.
    """
    pieces = spoken(text)
    unsaid = [not one for one in said]
    for number in range(len(pieces) - 1, -1, -1):
        span = pieces[number][1]
        if text[span.start : span.end].lower() in FUNCTION_WORDS:
            follows = number + 1 < len(pieces) and text[span.end : pieces[number + 1][1].start].isspace()
            unsaid[number] = follows and unsaid[number + 1]
    runs: list[Span] = []
    for number, (_, span) in enumerate(pieces):
        if not unsaid[number]:
            continue
        if runs and number and unsaid[number - 1] and text[runs[-1].end : span.start].isspace():
            runs[-1] = Span(runs[-1].start, span.end)
        else:
            runs.append(span)
    return runs
