"""The alignment of two texts: its links, its score, and what proves it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whymatch.files import write_whole
from whymatch.matching.parts import Certificate, Judgement, Link, Step, Unmatched
from whymatch.text.document import Document, same_text
from whymatch.text.spans import Span, token_ranges
from whymatch.transport.constraints import Constraint, constraint_from_dict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whymatch.matching.aligner import Aligner
    from whymatch.matching.verification import Verification

Side: TypeAlias = Literal["left", "right"]
FORMAT = 2
MAX_WORD_PAIRS = 200_000  # pairs of words, of all links together, that a page shows the inside of


@dataclass(frozen=True, repr=False)
class Alignment:
    """Which spans of two texts match. Strongest link first; 0 is the score of texts with nothing in common.

    >>> import whymatch as wm
    >>> aligner = wm.Aligner(encode=wm.Precomputed({"a": [1.0, 0.0], "b": [0.0, 1.0]}))
    >>> why = aligner.align(["a", "b"], ["b"], wm.Exactly(1))
    >>> [link.texts for link in why.links], why.score, wm.Alignment.from_dict(why.to_dict()) == why
    ([('b', 'b')], 1.0, True)
    """

    left: Document
    right: Document
    links: tuple[Link, ...]
    constraint: Constraint
    by_default: bool
    """Whether nobody asked for this constraint: it is `UpTo(1)` with what the cost calls significant."""
    cost: str
    neutral: float
    """What two spans with nothing in common cost."""
    encoder: str
    contextual: bool
    """Whether a span's vector or its costs depend on text beyond the span."""
    certificate: Certificate
    path: tuple[Step, ...]
    zooms: bool
    """Whether its spans are texts with words inside, which can be aligned in turn."""
    judgement: Judgement | None = None
    """What its evidence is worth; None where costs are no evidence."""
    remarks: tuple[str, ...] = ()
    """What a reader has to know beside what the judgement says, such as why relations were not read."""

    def __repr__(self) -> str:
        chance = "" if self.probability is None else f"probability={self.probability:.3f}, "
        return f"Alignment({chance}score={self.score:.3f}, links={len(self.links)}, constraint={self.constraint})"

    @property
    def bits(self) -> float | None:
        """The evidence of all significant links, whatever the constraint; None where costs are no evidence."""
        return None if self.judgement is None else self.judgement.bits

    @property
    def p_value(self) -> float | None:
        """The share of random pairs of texts with as much evidence; None where costs are no evidence."""
        return None if self.judgement is None else self.judgement.p_value

    @property
    def probability(self) -> float | None:
        """The calibrated chance that the texts match; None where costs are no evidence or a language is not read."""
        return None if self.judgement is None else self.judgement.probability

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know, such as spans that could not be read."""
        return (*(() if self.judgement is None else self.judgement.notes), *self.remarks)

    @property
    def coverage(self) -> tuple[float, float]:
        """The share of the characters of the left and of the right text's spans that stand in links."""
        return self._covered_by(self.links)

    @property
    def verdict(self) -> str:
        """The answer in one sentence: do the texts match?"""
        from whymatch.show.words import UNREAD, verdict

        reasons = [link for link in self.links if link.bits is None or link.bits > 0]
        same = same_text(self.left.text, self.right.text)
        contradicted = sum(link.contradicts for link in reasons)
        if self.judgement is not None and self.judgement.probability is None:
            return UNREAD
        covered, strict = self._covered_by(reasons), self.zero < self.neutral
        return verdict(self.probability, len(reasons), covered, contradicted, same=same, strict=strict)

    def _covered_by(self, links: Sequence[Link]) -> tuple[float, float]:
        """The share of the characters of the left and of the right text's spans that stand in these links."""
        left, right = {link.left for link in links}, {link.right for link in links}
        return _length(left) / max(1, _length(self.left.spans)), _length(right) / max(1, _length(self.right.spans))

    @property
    def zero(self) -> float:
        """The cost at which a link adds nothing to the score."""
        return self.constraint.zero(self.neutral)

    @property
    def score(self) -> float:
        """The sum of the links' shares: Σ (zero − cost) where costs are evidence, else Σ mass · (zero − cost)."""
        return sum((link.share for link in self.links), 0.0)

    def rationale(self, side: Side) -> tuple[Span, ...]:
        """The spans of one text that are in a link, in order."""
        return self.sides(side)[0]

    @property
    def unmatched(self) -> Unmatched:
        return Unmatched(self.sides("left")[1], self.sides("right")[1])

    def sides(self, side: Side) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """The spans of one text in a link, and those in none."""
        if side not in ("left", "right"):
            raise ValueError(f"A side is 'left' or 'right', got {side!r}.")
        linked = {link.at[side == "right"] for link in self.links}
        spans = self.left.spans if side == "left" else self.right.spans
        kept = tuple(span for number, span in enumerate(spans) if number in linked)
        return kept, tuple(span for number, span in enumerate(spans) if number not in linked)

    def verify(self, aligner: "Aligner | None" = None) -> "Verification":
        """Aligns the rationale alone, all other text deleted, and says whether links and score hold.

        Takes the aligner that made this alignment, unless that is the default one, of sentences or of words.

        Raises:
            ValueError: if another aligner made it than the given or the default one.
        """
        from whymatch.matching.defaults import default_maker
        from whymatch.matching.verification import verify

        maker = aligner or default_maker(self.encoder, self.cost)
        if maker is None or (maker.encoder.name, maker.cost.name) != (self.encoder, self.cost):
            made_by = f"{self.encoder} with {self.cost}"
            raise ValueError(f"verify takes the aligner that made this alignment, by {made_by}: why.verify(aligner).")
        return verify(self, maker)

    def zoom(self, link: Link | int, aligner: "Aligner | None" = None) -> "Alignment":
        """The words inside one link: an alignment of its two spans by an aligner of words, the default one if none."""
        from whymatch.matching.defaults import word_aligner

        if not isinstance(link, Link | int):
            raise TypeError(f"zoom takes a link, or its place in links, got {type(link).__name__}.")
        if isinstance(link, int):
            if not -len(self.links) <= link < len(self.links):
                raise ValueError(f"There is no link {link}: this alignment has {len(self.links)}, counted from 0.")
            link = self.links[link]
        return (aligner or word_aligner()).align(*link.texts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `Alignment.from_dict` reads them."""
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "probability": self.probability,
            "bits": self.bits,
            "p_value": self.p_value,
            "coverage": [*self.coverage],
            "notes": [*self.notes],
            "score": self.score,
            "links": [link.to_dict() for link in self.links],
            "left": {"text": self.left.text, "spans": [[*span] for span in self.left.spans]},
            "right": {"text": self.right.text, "spans": [[*span] for span in self.right.spans]},
            "unmatched": {side: [[*span] for span in spans] for side, spans in self.unmatched._asdict().items()},
            "constraint": self.constraint.to_dict(),
            "constraint_in_words": self.constraint.words,
            "by_default": self.by_default,
            "cost": self.cost,
            "neutral": self.neutral,
            "zero": self.zero,
            "encoder": self.encoder,
            "contextual": self.contextual,
            "zooms": self.zooms,
            "certificate": {
                **asdict(self.certificate),
                "margin": "inf" if self.certificate.margin == float("inf") else self.certificate.margin,
                "in_words": str(self.certificate),
            },
            "path": [asdict(step) for step in self.path],
            "judgement": None if self.judgement is None else asdict(self.judgement),
            "remarks": [*self.remarks],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Alignment":
        """What `to_dict` gave.

        Raises:
            ValueError: if these values are not what `to_dict` gives.
        """
        if not isinstance(values, Mapping) or values.get("format") != FORMAT:
            raise ValueError(f"This is no alignment of format {FORMAT}: it was not written by Alignment.to_dict.")
        try:
            left, right = (
                Document(values[side]["text"], tuple(Span(*span) for span in values[side]["spans"]))
                for side in ("left", "right")
            )
            links = tuple(Link.from_dict(link, left, right) for link in values["links"])
            if values["judgement"] is not None and any(link.bits is None for link in links):
                raise ValueError("a link has no bits, but the evidence was judged")
            return cls(
                left,
                right,
                links,
                constraint_from_dict(values["constraint"]),
                certificate=Certificate.from_dict(values["certificate"]),
                path=tuple(Step.from_dict(step, left, right) for step in values["path"]),
                neutral=float(values["neutral"]),
                by_default=bool(values["by_default"]),
                contextual=bool(values["contextual"]),
                zooms=bool(values["zooms"]),
                cost=str(values["cost"]),
                encoder=str(values["encoder"]),
                judgement=None if values["judgement"] is None else Judgement.from_dict(values["judgement"]),
                remarks=tuple(map(str, values.get("remarks", ()))),
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"This alignment is damaged: {type(error).__name__}: {error}") from None

    def to_pharaoh(self) -> str:
        """Links as pairs of numbers, in order: `0-1 2-0`."""
        return " ".join(f"{i}-{j}" for i, j in sorted(link.at for link in self.links))

    def to_eraser(
        self, annotation_id: str, *, left: str | None = "left", right: str | None = "right"
    ) -> dict[str, Any]:
        """ERASER's prediction: the rationale as ranges of tokens between blanks, for the documents of these names."""
        sides = [(left, self.left, self.rationale("left")), (right, self.right, self.rationale("right"))]
        return {
            "annotation_id": annotation_id,
            "rationales": [
                {
                    "docid": name,
                    "hard_rationale_predictions": [
                        {"start_token": start, "end_token": end} for start, end in token_ranges(document.text, spans)
                    ],
                }
                for name, document, spans in sides
                if name is not None
            ],
        }

    def to_html(self, file: str | Path | None = None, *, zoom: bool = True) -> str:
        """A page that needs nothing else: texts, links, a slider over k, and the words inside links (`zoom`)."""
        from whymatch.show.html import page

        text = page(self.picture(zoom=zoom))
        if file is not None:
            write_whole(file, text)
        return text

    def to_figure(self, file: str | Path | None = None) -> "Figure":
        """A still picture for a paper; written, if a file is given, as SVG, PDF or PNG by the ending of its name.

        Raises:
            ValueError: if matplotlib is not installed, or for another ending.
        """
        try:
            from whymatch.show.figures import links_as_figure
        except ModuleNotFoundError:
            raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
        return links_as_figure(self.to_dict(), None if file is None else Path(file))

    def picture(self, *, zoom: bool = True) -> dict[str, Any]:
        """What the page shows: `to_dict`, and the words inside the links where spans are larger than words."""
        from whymatch.matching.defaults import word_aligner

        values = self.to_dict()
        if zoom and self.zooms:
            left, right = self.left.pieces, self.right.pieces
            try:
                aligner = word_aligner()
                pairs = self._zoomed(aligner)
                inside = aligner.outcomes([(left[i], right[j]) for i, j in pairs], links_only=True)
            except ValueError:  # there is no model of words on this machine
                return values
            values["words"] = [
                {"at": [*at], **words.to_dict()}
                for at, words in zip(pairs, inside, strict=True)
                if isinstance(words, Alignment)  # not where a span has too many words
            ]
        return values

    def _zoomed(self, word_aligner: "Aligner") -> list[tuple[int, int]]:
        """The links whose words a page shows: those asked for first, then those of the path, while there is room."""
        links = dict.fromkeys([link.at for link in self.links])
        links |= dict.fromkeys((i, j) for step in self.path for i, j, _ in step.links)
        left, right = (
            [len([*word_aligner.splitter(piece)]) for piece in side.pieces] for side in (self.left, self.right)
        )
        room, chosen = MAX_WORD_PAIRS, []
        for i, j in links:
            if left[i] * right[j] <= room:
                room -= left[i] * right[j]
                chosen.append((i, j))
        return sorted(chosen)

    def _repr_html_(self) -> str:
        from whymatch.show.html import frame

        return frame(self.picture(zoom=False))

    def __str__(self) -> str:
        from whymatch.show.terminal import links_as_text

        return links_as_text(self.to_dict())


def _length(spans: Iterable[Span]) -> int:
    """The characters of spans together."""
    return sum(end - start for start, end in spans)
