"""What a check gives: claims with their verdicts, and the spans of sources that speak of each. Plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from whymatch.files import write_whole
from whymatch.matching.conflicts import Conflict
from whymatch.matching.relations import Relation
from whymatch.text.spans import Span

ClaimVerdict: TypeAlias = Literal["supported", "contradicted", "unsupported"]
VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
NoClaimKind: TypeAlias = Literal["heading", "question", "lead-in", "offer"]
FORMAT = 1


@dataclass(frozen=True)
class Citation:
    """A span of a source that speaks of a claim."""

    source: str
    """The name of the source."""
    span: Span
    """Its characters in the text of the source."""
    text: str
    bits: float
    """Its evidence against what chance gives: of shared words, and half of that of its meaning."""
    relation: Relation | None = None
    """What the claim (left) and the span (right) say of each other; None where that was not read."""
    conflicts: tuple[Conflict, ...] = ()
    """Words that contradict each other, by their places in the answer (left) and in the source (right)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        conflicts = [
            {"kind": one.kind, "answer": [[*span] for span in one.left], "source": [[*span] for span in one.right]}
            for one in self.conflicts
        ]
        return asdict(self) | {"span": [*self.span], "conflicts": conflicts}


@dataclass(frozen=True)
class Claim:
    """A sentence of an answer, or a clause of one whose clauses differ, and what the sources say of it."""

    span: Span
    """Its characters in the answer."""
    text: str
    sentence: int
    """The number of its sentence in the answer, from 0."""
    verdict: ClaimVerdict
    reason: str
    """Why, in one sentence."""
    support: float
    """From 0 to 1: how far the source with the most says what the claim says."""
    citations: tuple[Citation, ...] = ()
    """The spans of that source, strongest first; for a claim without support, those that come closest."""
    missing: tuple[Span, ...] = ()
    """Words of the claim that no cited span says, by their characters in the answer."""
    read: bool = True
    """Whether relations and conflicts were read; without, it is supported by its words or meaning alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {
            "span": [*self.span],
            "citations": [citation.to_dict() for citation in self.citations],
            "missing": [[*span] for span in self.missing],
        }


@dataclass(frozen=True)
class NoClaim:
    """A piece of an answer that claims nothing, and so is not counted."""

    span: Span
    """Its characters in the answer."""
    text: str
    kind: NoClaimKind

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"span": [*self.span]}


@dataclass(frozen=True)
class SourceText:
    """A source, with the characters of its spans."""

    name: str
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, repr=False)
class Check:
    """What the sources say of every claim of an answer."""

    answer: str
    claims: tuple[Claim, ...]
    """In the order of the answer."""
    sources: tuple[SourceText, ...]
    """Those that were read; of an index, those that were found."""
    background: str
    """What evidence was measured against."""
    notes: tuple[str, ...] = ()
    """What a reader has to know, such as sources that could not be read."""
    no_claims: tuple[NoClaim, ...] = ()
    """Headings, questions, lead-ins and offers of the answer, in its order."""

    def __repr__(self) -> str:
        return f"Check({self.verdict!r}, faithfulness={self.faithfulness:.2f})"

    @property
    def counts(self) -> dict[ClaimVerdict, int]:
        """How many claims have each verdict."""
        counted = Counter(claim.verdict for claim in self.claims)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    @property
    def faithfulness(self) -> float:
        """The share of claims that are supported; 1 where there is none."""
        return self.counts["supported"] / len(self.claims) if self.claims else 1.0

    @property
    def verdict(self) -> str:
        """The answer in one sentence: is all of it supported?"""
        from whymatch.show.words import check_verdict

        by_words = sum(claim.verdict == "supported" and not claim.read for claim in self.claims)
        return check_verdict(self.counts, by_words)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "faithfulness": self.faithfulness,
            "counts": self.counts,
            "answer": self.answer,
            "claims": [claim.to_dict() for claim in self.claims],
            "no_claims": [piece.to_dict() for piece in self.no_claims],
            "sources": [
                {"name": source.name, "text": source.text, "spans": [[*span] for span in source.spans]}
                for source in self.sources
            ],
            "background": self.background,
            "notes": [*self.notes],
        }

    def to_html(self, file: str | Path | None = None) -> str:
        """A page that needs nothing else: the answer beside its sources."""
        from whymatch.show.checked import page

        text = page(self.to_dict())
        if file is not None:
            write_whole(file, text)
        return text

    def _repr_html_(self) -> str:
        from whymatch.show.checked import frame

        return frame(self.to_dict())

    def __str__(self) -> str:
        from whymatch.show.checked import as_text

        return as_text(self.to_dict())


def verdicts_only(check: Check) -> Mapping[str, Any]:
    """The dictionary of a check without the texts of its sources: a line of a batch."""
    return {key: value for key, value in check.to_dict().items() if key not in ("sources", "answer", "format")}
