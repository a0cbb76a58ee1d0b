"""What a search finds: documents with their scores and the links that make them; and why one ranks above another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whymatch.matching.alignment import Alignment, Link
from whymatch.show.words import in_words, number
from whymatch.text.spans import Span


@dataclass(frozen=True)
class Hit:
    """A document that was found: its score is that of its alignment with the query, whose left text is the query."""

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
        chance = {} if self.probability is None else {"probability": self.probability}
        places = {"places": dict(self.places)}
        return {"id": self.id, "score": self.score, **chance, **places, "alignment": self.alignment.to_dict()}


@dataclass(frozen=True)
class Difference:
    """What one span of the query adds to the score of each of two documents, and by which links."""

    span: Span
    text: str
    above: tuple[Link, ...]
    below: tuple[Link, ...]

    @property
    def shares(self) -> tuple[float, float]:
        return sum(link.share for link in self.above), sum(link.share for link in self.below)

    @property
    def adds(self) -> float:
        """What it adds to the lead of the one over the other."""
        above, below = self.shares
        return above - below


@dataclass(frozen=True)
class Explanation:
    """Why one document ranks above another: the differences add up to that of the scores. The largest come first."""

    above: Hit
    below: Hit
    differences: tuple[Difference, ...]

    @property
    def lead(self) -> float:
        return self.above.score - self.below.score

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        rows = [
            {
                "span": [*some.span],
                "text": some.text,
                "adds": some.adds,
                "above": [link_values(link) for link in some.above],
                "below": [link_values(link) for link in some.below],
            }
            for some in self.differences
        ]
        return {"above": self.above.id, "below": self.below.id, "lead": self.lead, "differences": rows}


def link_values(link: Link) -> dict[str, Any]:
    return {"right": [*link.right], "text": link.texts[1], "cost": link.cost, "share": link.share}


@dataclass(frozen=True)
class Results(Sequence[Hit]):
    """The best documents for a query, the best first."""

    query: str
    hits: tuple[Hit, ...]
    candidates: int
    """How many documents were aligned."""

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def explain(self, one: int | str, other: int | str) -> Explanation:
        """Which links made one result rank above another; places from 0, or ids, in any order."""
        above, below = sorted((self.find(one), self.find(other)), key=self.hits.index)
        return explain(above, below)

    def find(self, which: int | str) -> Hit:
        """A result by its place, from 0, or by its id."""
        if isinstance(which, int):
            if not 0 <= which < len(self.hits):
                raise ValueError(f"There is no result {which + 1}: there are {len(self.hits)}. Ask for more (top=…).")
            return self.hits[which]
        hit = next((hit for hit in self.hits if hit.id == which), None)
        if hit is None:
            raise ValueError(f"{which} is not among the {len(self.hits)} results. Ask for more (top=…, --top).")
        return hit

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"query": self.query, "candidates": self.candidates, "hits": [hit.to_dict() for hit in self.hits]}

    def to_trec(self, query_id: str = "1", run: str = "whymatch") -> str:
        """Lines of a TREC run file."""
        for name in (query_id, run, *(hit.id for hit in self.hits)):
            if not name or any(map(str.isspace, name)):
                raise ValueError(f"A TREC run file takes ids without blanks, got {name!r}.")
        lines = [f"{query_id} Q0 {hit.id} {rank} {hit.score:.6f} {run}\n" for rank, hit in enumerate(self.hits, 1)]
        return "".join(lines)

    def to_html(self) -> str:
        """A page that needs nothing else: the query beside each document, with the links between them."""
        from whymatch.show.gallery import page

        about = f"{len(self.hits)} documents of {self.candidates} that were aligned with the query, the best first."
        examples = [example(hit, rank) for rank, hit in enumerate(self.hits, start=1)]
        title = "Which documents match, and why?"
        return page([{"title": "Results", "about": about, "examples": examples}], title, self.query)


def explain(above: Hit, below: Hit) -> Explanation:
    """What each span of the query adds to the lead of one document over another."""
    query, pieces = above.alignment.left, above.alignment.left.pieces
    found = []
    for number_, span in enumerate(query.spans):
        of_above, of_below = (tuple(link for link in hit.links if link.at[0] == number_) for hit in (above, below))
        if of_above or of_below:
            found.append(Difference(span, pieces[number_], of_above, of_below))
    found.sort(key=lambda some: (-abs(some.adds), some.span))
    return Explanation(above, below, tuple(found))


def example(hit: Hit, rank: int) -> Mapping[str, Any]:
    """A result as the gallery shows it."""
    why = hit.alignment
    said = in_words(why.to_dict())
    links = [[*link.at, link.share] for link in why.links]
    words = f"{said}. {why.certificate}"
    left, right = (
        {"text": text.text, "spans": [[*span] for span in text.spans], "marked": []} for text in (why.left, why.right)
    )
    rule = {"name": f"score {number(hit.score)}", "words": words, "links": links}
    return {"title": f"{rank}. {hit.id}", "left": left, "right": right, "chosen": 0, "rules": [rule]}
