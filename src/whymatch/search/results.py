"""What a search finds: documents with their scores and the links that make them; and why one ranks above another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from whymatch.matching.alignment import Alignment, Link
from whymatch.show.words import in_words, number
from whymatch.text.spans import Span
from whymatch.transport.constraints import MANY, Constraint


@dataclass(frozen=True)
class Hit:
    """A document with the score of its alignment with the query, whose left text is the query."""

    id: str
    score: float
    alignment: Alignment
    places: Mapping[str, int]
    """Its places, from 1, among the candidates by "text" and "spans" (vectors) and by "words", where it is one."""
    probability: float | None = None
    """The chance that it matches, where the ranker is calibrated."""

    @property
    def links(self) -> tuple[Link, ...]:
        return self.alignment.links

    @property
    def text(self) -> str:
        return self.alignment.right.text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        probability = {} if self.probability is None else {"probability": self.probability}
        places = {"places": dict(self.places)}
        return {"id": self.id, "score": self.score, **probability, **places, "alignment": self.alignment.to_dict()}


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
    """Why one document ranks above another: the differences, largest first, add up to that of the scores."""

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
        """A result by its place, from 0, or by its id; raises ValueError if there is none."""
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
        return {"query": self.query, "candidates": self.candidates, "hits": [hit.to_dict() for hit in self.hits]}

    def to_trec(self, query_id: str = "1", run: str = "whymatch") -> str:
        """Lines of a TREC run file; raises ValueError if an id has blanks, which the format cannot hold."""
        for name in (query_id, run, *(hit.id for hit in self.hits)):
            if not name or any(map(str.isspace, name)):
                raise ValueError(f"A TREC run file takes ids without blanks, got {name!r}.")
        lines = [f"{query_id} Q0 {hit.id} {rank} {hit.score:.6f} {run}\n" for rank, hit in enumerate(self.hits, 1)]
        return "".join(lines)

    def to_html(self) -> str:
        """A page that needs nothing else: the query beside each document, with the links between them."""
        from whymatch.show.gallery import page

        about = f"{len(self.hits)} documents of {self.candidates} that were aligned with the query, the best first."
        examples = [_gallery_example(hit, rank) for rank, hit in enumerate(self.hits, start=1)]
        title = "Which documents match, and why?"
        return page([{"title": "Results", "about": about, "examples": examples}], title, self.query)


def ranking_weight(constraint: Constraint, query: int, document: int) -> float:
    """The factor by which links weigh the same in documents of every length; sizes are numbers of spans.

    A link's mass depends on both texts: in a document of one span, one good link is everything. For a ranking it gets
    the mass that it has in a long document, and a document too short for k links lacks what they would have added.
    """
    fits, fits_long = constraint.fitted(query, document), constraint.fitted(query, MANY)
    if fits is None or fits_long is None or constraint.takes_masses:
        return 1.0
    return float(fits_long.mass(query, MANY) / fits.mass(query, document))


def reweighted(alignment: Alignment, weight: float) -> Alignment:
    """An alignment whose links have `weight` times their mass, and with it of their share of the score."""
    if weight == 1:
        return alignment
    links = tuple(replace(link, mass=link.mass * weight, share=link.share * weight) for link in alignment.links)
    proof = alignment.certificate
    margin = None if proof.margin is None else proof.margin * weight
    return replace(alignment, links=links, certificate=replace(proof, gap=proof.gap * weight, margin=margin))


def _gallery_example(hit: Hit, rank: int) -> Mapping[str, Any]:
    """A result as the gallery shows it."""
    values = hit.alignment.to_dict()
    rule = {
        "name": f"score {number(hit.score)}",
        "words": f"{in_words(values)}. {hit.alignment.certificate}",
        "links": [[*link.at, link.share] for link in hit.links],
    }
    sides = {side: {**values[side], "marked": []} for side in ("left", "right")}
    return {"title": f"{rank}. {hit.id}", **sides, "chosen": 0, "rules": [rule]}
