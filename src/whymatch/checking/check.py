"""`whymatch.check`: what the sources of an answer say of each of its claims."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whymatch.checking.clauses import clauses
from whymatch.checking.evidence import Linked, Source, coverage, linked_spans, missing_words, nearest_span
from whymatch.checking.findings import SUPPORTED_FROM, Finding, read_findings
from whymatch.checking.result import Check, Citation, Claim, SourceText
from whymatch.checking.sources import NamedTexts, refuse_names
from whymatch.checking.structure import cut_by_structure
from whymatch.checking.units import Unit, units
from whymatch.cost import Background
from whymatch.interruption import interruption_point
from whymatch.matching.aligner import Aligner
from whymatch.matching.conflicts import Kind
from whymatch.matching.defaults import default_aligner
from whymatch.matching.relating import NOT_ENGLISH
from whymatch.matching.relations import RelationReader, shipped_reader
from whymatch.matching.shipped import shipped_background
from whymatch.matching.significance import tails_against
from whymatch.show.words import plain
from whymatch.text.document import Document, joined
from whymatch.text.encoders import Vectors, check_readable, encode_texts, languages_read, unread_notes
from whymatch.text.spans import Span

if TYPE_CHECKING:
    from whymatch.search.index import Index

MOST_SOURCES = 5
"""Sources that are read for a claim, those that say most of it; and documents that are searched in an index."""

_NEARLY_ALL = 0.85  # of a claim's words, from which on it is not said that no source says it
_OTHERWISE: Mapping[Kind, str] = {
    "number": "another number",
    "date": "another date",
    "name": "another name",
    "negation": "with a negation more or less",
    "antonym": "the opposite",
    "role": "with exchanged roles",
}


def check(answer: str, sources: Any, *, aligner: Aligner | None = None) -> Check:
    """What the sources say of every claim of an answer: supported, contradicted, or unsupported.

    A claim is a sentence; where a clause of one has a source and another has not, each clause is a claim. What one
    source says of a claim depends on no other source and no other claim.

        >>> import whymatch as wm
        >>> found = wm.check("Lunch costs 7 euros.", {"canteen": "It opens at noon. Lunch costs 5 euros."})
        >>> print(found.verdict)
        The claim is contradicted.
        >>> [citation] = found.claims[0].citations
        >>> citation.source, citation.text, citation.conflicts[0].kind
        ('canteen', 'Lunch costs 5 euros.', 'number')

    Args:
        answer: a text.
        sources: a text; a mapping of texts by name; a list of texts, paths of files or folders (text, HTML, DOCX, JSON
            lines, CSV, Parquet), documents of LangChain or nodes of LlamaIndex; or an `Index`, which is searched for
            each claim.
        aligner: what cuts texts into spans and encodes them, its cost being evidence; `Aligner()` by default. An index
            has one of its own.

    Raises:
        TypeError: if sources are none of these.
        ValueError: if the answer cannot be split or read, a source is the name of a file, costs are no evidence, or
            there is an aligner beside an index.
    """
    if not isinstance(answer, str):
        raise TypeError(f"An answer is a text, got {type(answer).__name__}.")
    refuse_names(sources)
    if _is_index(sources):
        if aligner is not None:
            raise ValueError("An index is searched with the aligner that it was made with: leave out the other one.")
        checker = Checker(sources.aligner, sources.background)
        return checker.check(answer, checker.searched_sources(answer, sources), [])
    return check_texts(answer, NamedTexts.of(sources), aligner or default_aligner("sentence"))


def check_texts(answer: str, sources: NamedTexts, aligner: Aligner) -> Check:
    """As `check`, for sources that were read."""
    checker = Checker(aligner, None)
    check_readable(aligner.encoder, "answer", aligner.split(answer))
    read, problems = checker.read(sources.texts)
    return checker.check(answer, read, [*sources.problems, *problems])


def _is_index(sources: Any) -> bool:
    """Whether sources are an `Index`, without loading what an index needs: who has one has loaded it."""
    module = sys.modules.get("whymatch.search.index")
    return module is not None and isinstance(sources, module.Index)


class Checker:
    """An aligner with the background that evidence is measured against, and what reads relations."""

    def __init__(self, aligner: Aligner, background: Background | None) -> None:
        if aligner.cost.evidence is None:
            raise ValueError(f"Claims are checked by evidence, and {aligner.cost.name} is none: use Aligner().")
        self.aligner = aligner
        self.background = aligner.judge.background or background or shipped_background(aligner)
        reader = aligner.relation_reader or shipped_reader()
        self.unread = reader.missing
        self.reader: RelationReader | None = reader if self.unread is None else None

    def read(self, texts: Mapping[str, str | Document]) -> tuple[list[Source], list[str]]:
        """The sources with their vectors and tails, and what is wrong with those that cannot be read."""
        documents, problems = dict[str, Document](), list[str]()
        for name, text in texts.items():
            try:
                document = text if isinstance(text, Document) else cut_by_structure(self.aligner.split(text))
                check_readable(self.aligner.encoder, "source", document)
                documents[name] = document
            except ValueError as error:
                problems.append(f"{name}: {error}")
        sources = list[Source]()
        for (name, document), outcome in zip(documents.items(), self._encode([*documents.values()]), strict=True):
            if isinstance(outcome, ValueError):
                problems.append(f"{name}: {outcome}")
            elif len(document):
                sources.append(Source(name, document, *outcome))
        return sources, problems

    def _encode(self, documents: Sequence[Document]) -> list[Vectors | ValueError]:
        """The vectors (spans, dimensions) and tails (spans, 2) of each text, or why there are none."""
        encoded = encode_texts(self.aligner.encoder, documents)
        good = [number for number, rows in enumerate(encoded) if not isinstance(rows, ValueError)]
        vectors = [rows for rows in encoded if not isinstance(rows, ValueError)]
        tails = dict(zip(good, self._tails([documents[number] for number in good], vectors), strict=True))
        return [rows if isinstance(rows, ValueError) else (rows, tails[number]) for number, rows in enumerate(encoded)]

    def _tails(self, documents: Sequence[Document], vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The tails (spans, 2) of texts with these vectors; zeros for spans that the encoder cannot read."""
        return tails_against(self.background, self.aligner.cost, self.aligner.encoder, documents, vectors)

    def searched_sources(self, answer: str, index: "Index") -> list[Source]:
        """The documents of an index that are searched for each sentence of an answer and each of its clauses."""
        asked = [unit.text for unit in units(answer, self.aligner.split)[0]]
        asked += [text[a:b] for text in asked for a, b in clauses(text)]
        hits = (hit.id for text in dict.fromkeys(asked) for hit in index.search(text, MOST_SOURCES).hits)
        entries = index.entries([*dict.fromkeys(hits)])
        documents, vectors = (
            [entry.document for entry in entries],
            [entry.vectors.astype(np.float32) for entry in entries],
        )
        tails = self._tails(documents, vectors)
        return [
            Source(entry.id, entry.document, rows, own)
            for entry, rows, own in zip(entries, vectors, tails, strict=True)
        ]

    def check(self, answer: str, sources: Sequence[Source], problems: Sequence[str]) -> Check:
        """The check of an answer against sources that are read."""
        sentences, no_claims = units(answer, self.aligner.split)
        whole = self.findings(sentences, sources)
        doubtful = [unit for unit, best in zip(sentences, whole, strict=True) if _verdict(best) != "supported"]
        parts = [clause for unit in doubtful for clause in _clauses(unit)]
        of_parts = self.findings(parts, sources)
        by_sentence: dict[int, list[tuple[Unit, list[Finding]]]] = {}
        for unit, best in zip(parts, of_parts, strict=True):
            by_sentence.setdefault(unit.sentence, []).append((unit, best))
        claims = list[Claim]()
        for unit, best in zip(sentences, whole, strict=True):
            own = by_sentence.get(unit.sentence, [])
            apart = any(_verdict(part) == "supported" for _, part in own)
            claims += [_claim(answer, *each, bool(sources)) for each in (own if apart else [(unit, best)])]
        notes = [plain(problem) for problem in problems]
        if self.unread is not None:
            notes.append(f"Relations were not read: {self.unread}")
        else:
            notes += _not_english(claims, [one for own in (*whole, *of_parts) for one in own])
        notes += unread_notes(self.aligner.encoder, _by_language(answer, sources))
        texts = tuple(SourceText(source.name, source.document.text, source.document.spans) for source in sources)
        return Check(answer, tuple(claims), texts, self.background.name, tuple(notes), tuple(no_claims))

    def findings(self, units: Sequence[Unit], sources: Sequence[Source]) -> list[list[Finding]]:
        """What the sources say of each unit, the best first."""
        linked = self._linked(units, sources)
        asked = [(unit.text, *each) for unit, own in zip(units, linked, strict=True) for each in own]
        rest = iter(read_findings(asked, self.reader))
        return [
            sorted((next(rest) for _ in own), key=lambda one: (*(-value for value in one.rank), one.source.name))
            for own in linked
        ]

    def _linked(self, units: Sequence[Unit], sources: Sequence[Source]) -> list[list[tuple[Source, Linked]]]:
        """The sources that say most of each unit, with the spans that speak of it."""
        if not (units and sources):
            return [[] for _ in units]
        documents = [joined([unit.text]) for unit in units]
        return [
            [] if isinstance(outcome, ValueError) else self._linked_sources(document, outcome, sources)
            for document, outcome in zip(documents, self._encode(documents), strict=True)
        ]

    def _linked_sources(
        self, claim: Document, encoded: Vectors, sources: Sequence[Source]
    ) -> list[tuple[Source, Linked]]:
        """The same for a claim with its vectors (1, dimensions) and tails (1, 2)."""
        interruption_point()
        costs = self.aligner.compare(
            [(claim, source.document) for source in sources],
            [(encoded[0], source.vectors) for source in sources],
            tails=[(encoded[1], source.tails) for source in sources],
        )
        own = Source("claim", claim, *encoded)
        linked = [
            (
                source,
                nearest_span(own, source, -cost[0])
                if self._translates(own, source)
                else linked_spans(own.stems[0], source, -cost[0], self.background),
            )
            for source, cost in zip(sources, costs, strict=True)
        ]
        linked = [(source, one) for source, one in linked if one.spans]
        linked.sort(key=lambda each: (-_said_share(*each), -sum(each[1].bits), each[0].name))
        return linked[:MOST_SOURCES]

    def _translates(self, claim: Source, source: Source) -> bool:
        """Whether a claim and a source are in two languages, both of which the encoder reads."""
        known = languages_read(self.aligner.encoder) or frozenset()
        return claim.language != source.language and {claim.language, source.language} <= known


def _not_english(claims: Sequence[Claim], findings: Sequence[Finding]) -> list[str]:
    """A note that names the claims whose relations were not read, or else the sources, as not looking English."""
    cited = [claim for claim in claims if claim.citations]
    unread = [f"“{plain(claim.text):.60}”" for claim in cited if not claim.read]
    if unread:
        of = "" if len(unread) == len(cited) else f" of {_listed(unread)}"
        return [NOT_ENGLISH.replace(" were not read", f"{of} were not read")]
    names = [plain(one.source.name) for one in findings if one.speaks and one.follows is None]
    named = _listed([*dict.fromkeys(names)])
    return [NOT_ENGLISH.replace(" were not read", f" with {named} were not read")] if names else []


def _listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    shown = [*names[:3], *([f"{len(names) - 3} more"] if len(names) > 3 else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _by_language(answer: str, sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """The answer, and of the sources in each language the first: what a note calls it, and its text."""
    yield "The answer", answer
    first = {source.language: source for source in reversed(sources)}
    for language, source in first.items():
        others = sum(one.language == language for one in sources) - 1
        yield f"{plain(source.name)} (and {others} more)" if others else plain(source.name), source.document.text


def _said_share(source: Source, linked: Linked) -> float:
    if linked.likeness is not None:
        return linked.likeness
    return coverage(linked.worth, frozenset[str]().union(*(source.stems[j] for j in linked.spans)))


def _clauses(unit: Unit) -> list[Unit]:
    """The clauses of a sentence, if there are several."""
    spans = clauses(unit.text)
    if len(spans) < 2:
        return []
    start = unit.span.start
    return [replace(unit, span=Span(start + a, start + b), text=unit.text[a:b]) for a, b in spans]


def _verdict(findings: Sequence[Finding]) -> str:
    return findings[0].verdict if findings else "unsupported"


def _claim(answer: str, unit: Unit, findings: Sequence[Finding], any_source: bool) -> Claim:
    """A claim with the citations of the source that says most of it, and of one that contradicts it beside that."""
    findings, span = [one for one in findings if one.speaks], _with_marks(answer, unit.span)
    text = answer[span.start : span.end]
    if not findings:
        reason = "No source speaks of this." if any_source else "There is no source that could be read."
        return Claim(span, text, unit.sentence, "unsupported", reason, 0.0, (), (unit.span,))
    best = findings[0]
    disputes = [one for one in findings[1:] if one.verdict == "contradicted"] if best.verdict == "supported" else []
    citations = [
        *_citations(best, unit.span.start),
        *(each for one in disputes for each in _citations(one, unit.span.start)),
    ]
    missing = tuple(Span(unit.span.start + a, unit.span.start + b) for a, b in missing_words(unit.text, best.said))
    reason = _reason(best, disputes)
    read = best.follows is not None
    return Claim(span, text, unit.sentence, best.verdict, reason, best.support, tuple(citations), missing, read)


def _with_marks(answer: str, span: Span) -> Span:
    """The span of a claim with the mark of emphasis before or behind it whose other half is inside."""
    start, end = span
    for mark in ("**", "__", "~~", "`", "*", "_"):
        if answer.count(mark, start, end) % 2:
            if answer.startswith(mark, start - len(mark)) and start >= len(mark):
                return Span(start - len(mark), end)
            if answer.startswith(mark, end):
                return Span(start, end + len(mark))
    return span


def _citations(finding: Finding, start: int) -> list[Citation]:
    document = finding.source.document
    return [
        Citation(
            finding.source.name,
            document.spans[j],
            document[document.spans[j]],
            bits,
            relation,
            tuple(one.moved(start, 0) for one in against),
        )
        for j, bits, relation, against in zip(
            finding.linked.spans, finding.linked.bits, finding.relations, finding.conflicts, strict=True
        )
    ]


def _reason(best: Finding, disputes: Sequence[Finding]) -> str:
    """Why a claim has its verdict, in one sentence."""
    words = "it" if best.follows is not None else "its words; contradictions were not read"
    name, share = plain(best.source.name), "all" if best.coverage > 0.995 else f"{best.coverage:.0%}"
    if best.linked.asked_only:
        return f"No source says this; {name} only asks it."
    if best.linked.likeness is not None:
        says = "says the same" if best.verdict == "supported" else "comes closest"
        return f"{name} {says} in another language, by its meaning alone: the cosine is {best.linked.likeness:.2f}."
    if best.verdict == "supported":
        but = f", but {plain(disputes[0].source.name)} contradicts it" if disputes else ""
        return f"{name} says {share} of {words}{but}."
    if best.verdict == "contradicted":
        kinds = dict.fromkeys(_OTHERWISE[one.kind] for against in best.conflicts for one in against)
        return f"{name} says otherwise: {', '.join(kinds)}." if kinds else f"{name} says otherwise."
    if best.limits and best.support >= SUPPORTED_FROM:
        words = " and ".join(f"“{plain(word)}”" for word in best.limits)
        return f"No source says this plainly, because of {words}: compare the claim with {name}."
    if best.coverage >= _NEARLY_ALL:
        return f"Not fully supported; closest: {name}, which has {share} of its words."
    return f"No source says this; {name} comes closest, with {share} of it."
