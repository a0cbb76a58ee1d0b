"""What a search finds: documents with their evidence and the links that make it; and why one ranks above another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from whymatch.matching.alignment import Alignment
from whymatch.matching.parts import Link
from whymatch.show.words import how_sure, in_words, kept_text, number, percent, short
from whymatch.text.spans import Span


@dataclass(frozen=True)
class Hit:
    """A document and its alignment with the query, whose left text is the query."""

    id: str
    score: float
    """What the links are worth, in bits where costs are evidence."""
    alignment: Alignment
    places: Mapping[str, int]
    """Its places, from 1, among the candidates by "text" and "spans" (vectors) and by "words", where it is one."""
    ranked_by: float
    """−log2 of how often chance gives as much to texts of such sizes; the score where costs are no evidence."""
    probability: float | None = None
    """The calibrated chance that it matches; None for a ranker that is not calibrated."""
    e_value: float | None = None
    """How many of the documents that were searched chance would bring as close: the p-value times their number."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the index keeps of it, by the names of the columns."""

    @property
    def bits(self) -> float | None:
        """The evidence of all significant links; None where costs are no evidence."""
        return self.alignment.bits

    @property
    def p_value(self) -> float | None:
        """The share of random pairs of texts with as much evidence; None where costs are no evidence."""
        return self.alignment.p_value

    @property
    def links(self) -> tuple[Link, ...]:
        return self.alignment.links

    @property
    def text(self) -> str:
        return self.alignment.right.text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "id": self.id,
            "probability": self.probability,
            "e_value": self.e_value,
            "bits": self.bits,
            "p_value": self.p_value,
            "score": self.score,
            "ranked_by": self.ranked_by,
            "places": dict(self.places),
            "metadata": dict(self.metadata),
            "alignment": self.alignment.to_dict(),
        }


@dataclass(frozen=True)
class Difference:
    """What one span of the query adds to the score of each of two documents, and by which links."""

    span: Span
    text: str
    above: tuple[Link, ...]
    below: tuple[Link, ...]

    @property
    def adds(self) -> float:
        """What the span adds to the lead of the one document over the other."""
        return sum(link.share for link in self.above) - sum(link.share for link in self.below)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        above, below = (
            [{"right": [*link.right], "text": link.texts[1], "cost": link.cost, "share": link.share} for link in links]
            for links in (self.above, self.below)
        )
        return {"span": [*self.span], "text": self.text, "adds": self.adds, "above": above, "below": below}


@dataclass(frozen=True)
class Explanation:
    """Why one document ranks above another: the differences, largest first, add up to that of the scores.

    Where costs are evidence, documents rank by p-values: of two with the same score, the one of which chance gives less
    to texts of its size ranks above.
    """

    above: Hit
    below: Hit
    differences: tuple[Difference, ...]

    @classmethod
    def of(cls, above: Hit, below: Hit) -> "Explanation":
        """What each span of the query adds to the lead of one document over another."""
        query = above.alignment.left
        differences = []
        for i, (span, text) in enumerate(zip(query.spans, query.pieces, strict=True)):
            links = [tuple(link for link in hit.links if link.at[0] == i) for hit in (above, below)]
            if any(links):
                differences.append(Difference(span, text, *links))
        differences.sort(key=lambda difference: (-abs(difference.adds), difference.span))
        return cls(above, below, tuple(differences))

    @property
    def lead(self) -> float:
        """The difference of the scores."""
        return self.above.score - self.below.score

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        rows = [difference.to_dict() for difference in self.differences]
        return {"above": self.above.id, "below": self.below.id, "lead": self.lead, "differences": rows}


@dataclass(frozen=True)
class SearchResults(Sequence[Hit]):
    """The documents that match a query, the best first."""

    query: str
    hits: tuple[Hit, ...]
    candidates: int
    """How many documents were aligned."""
    documents: int
    """How many documents were searched: those of the index, or those for which the filter holds."""

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def explain(self, one: int | str, other: int | str) -> Explanation:
        """Which links made one result rank above another; results by their places, from 0, or ids, in any order."""
        return Explanation.of(*sorted((self.find(one), self.find(other)), key=self.hits.index))

    def find(self, result: int | str) -> Hit:
        """A result by its place, from 0, or by its id; raises ValueError if there is none.

        A string that is no id of a result is a place as people count, from 1.
        """
        if isinstance(result, str) and result.isdecimal() and all(hit.id != result for hit in self.hits):
            result = int(result) - 1
        if isinstance(result, int):
            if not 0 <= result < len(self.hits):
                raise ValueError(f"There is no result {result + 1}: there are {len(self.hits)}. Raise top_k.")
            return self.hits[result]
        hit = next((hit for hit in self.hits if hit.id == result), None)
        if hit is None:
            raise ValueError(f"{result} is not among the {len(self.hits)} results. Raise top_k (--top-k).")
        return hit

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        sizes = {"candidates": self.candidates, "documents": self.documents}
        return {"query": self.query, **sizes, "hits": [hit.to_dict() for hit in self.hits]}

    def to_trec(self, query_id: str = "1", run: str = "whymatch") -> str:
        """Lines of a TREC run file; raises ValueError if an id has blanks, which the format cannot hold."""
        for name in (query_id, run, *(hit.id for hit in self.hits)):
            if not name or any(map(str.isspace, name)):
                raise ValueError(f"A TREC run file takes ids without blanks, got {name!r}.")
        lines = [f"{query_id} Q0 {hit.id} {rank} {hit.ranked_by:.6f} {run}\n" for rank, hit in enumerate(self.hits, 1)]
        return "".join(lines)

    def to_html(self) -> str:
        """A page that needs nothing else: the query beside each document, with the links between them."""
        from whymatch.show.gallery import page

        about = f"{len(self.hits)} documents of {self.candidates} that were aligned with the query, the best first."
        examples = [_gallery_example(hit, rank) for rank, hit in enumerate(self.hits, start=1)]
        title = "Which documents match, and why?"
        return page([{"title": "Results", "about": about, "examples": examples}], title, self.query)


def _gallery_example(hit: Hit, rank: int) -> Mapping[str, Any]:
    """A result as the gallery shows it."""
    values = hit.alignment.to_dict()
    rule = {
        "name": ", ".join(facts_in_words(hit)),
        "words": f"{in_words(values)}.".capitalize() if hit.bits is None else hit.alignment.verdict,
        "links": [[*link.at, link.share] for link in hit.links],
    }
    sides = {side: {**values[side], "marked": []} for side in ("left", "right")}
    kept = f" ({kept_text(hit.metadata)})" if hit.metadata else ""
    return {"title": f"{rank}. {hit.id}{kept}", **sides, "chosen": 0, "rules": [rule], "sure": how_sure(values)}


def facts_in_words(hit: Hit) -> list[str]:
    """What a result is worth, the answer first: probability, e-value and bits, or the score of a ranker."""
    chance = [] if hit.probability is None else [f"probability {percent(hit.probability)}"]
    if hit.bits is None or hit.e_value is None:
        return [*chance, f"score {number(hit.score)}"]
    return [*chance, f"e-value {short(hit.e_value)}", f"{hit.bits:.1f} bits"]
