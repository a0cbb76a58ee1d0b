"""Which background evidence is measured against, and what the evidence of two texts means."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from whymatch.batching import Size, size_sorted
from whymatch.cost import Background, Cost
from whymatch.cost.background import MIN_TEXTS, SplitsAndEncodes, sample
from whymatch.interruption import interruption_point
from whymatch.matching.comparing import compare
from whymatch.matching.parts import Judgement
from whymatch.matching.shipped import cache_chance, shipped_background, shipped_calibration, shipped_chance
from whymatch.matching.significance import (
    Calibration,
    Chance,
    Scale,
    counted_sizes,
    p_values,
    random_pairs,
    tails_against,
)
from whymatch.matching.solving import significant_bits
from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, Pair, Vectors, readable
from whymatch.transport.batch import pad

MIN_BATCH_TEXTS = 200
"""Distinct texts that are aligned together, from which on they are their own background (docs/evidence.md)."""
MIN_BATCH_SPANS = 800
MIN_SAME_COSINE = 0.999
"""Of vectors of one text by the same weights: backends, precisions and storage differ by less."""
_MAX_PAIRS_PER_BATCH = 2**20  # pairs of spans of random pairs of texts, padding included
_PlainTails: TypeAlias = tuple[tuple[float, float], ...]


class HasBackground(Protocol):
    """What has a background of its own, such as an index."""

    @property
    def background(self) -> Background | None:
        """A sample of its texts; None where they are too few."""


class Judge:
    """Chooses the background, and learns from its random pairs of texts what chance gives."""

    def __init__(
        self,
        cost: Cost,
        encoder: Encoder,
        aligner: SplitsAndEncodes,
        background: Background | HasBackground | None = None,
    ) -> None:
        self.cost, self.encoder, self.aligner = cost, encoder, aligner
        if background is None:
            background = cost.evidence.background if cost.evidence else None
        elif not isinstance(background, Background):
            background = background.background
        if background is not None and background.encoder != encoder.name:
            advice = "Make it with the aligner that uses it: Background.of(texts, aligner)."
            raise ValueError(f"{background!r} is of another encoder than {encoder.name}. {advice}")
        self.background = background
        self.calibration: Calibration | None = None
        """What was fitted to the user's own labelled pairs."""
        self._scales: dict[str, Scale] = {}
        self._checked: Background | None = None

    def scale(self, pairs: Sequence[Pair], vectors: Sequence[Vectors | ValueError]) -> Scale | None:
        """What the evidence of pairs of texts with these vectors is measured by; None if the cost is no evidence.

        Many distinct texts are their own background, unless one was given. Pairs without vectors are left out.
        """
        if self.cost.evidence is None or all(isinstance(both, ValueError) for both in vectors):
            return None
        if self.background is not None:
            self._check_weights(self.background)
            return self.scale_of(self.background)
        encoded = [(pair, both) for pair, both in zip(pairs, vectors, strict=True) if not isinstance(both, ValueError)]
        by_text = {text: rows for pair, both in encoded for text, rows in zip(pair, both, strict=True)}
        enough = len(by_text) >= MIN_BATCH_TEXTS and sum(map(len, by_text)) >= MIN_BATCH_SPANS
        documents = sample([*by_text]) if enough else []
        if len(documents) < MIN_TEXTS:  # also where texts are so long that a sample has few of them
            return self.scale_of(self._shipped)
        chosen = np.concatenate([by_text[text] for text in documents]).astype(np.float32)
        name = f"the {len(by_text):,} texts that were aligned together"
        return self.scale_of(Background(name, self.encoder.name, tuple(documents), chosen))

    @cached_property
    def _shipped(self) -> Background:
        return shipped_background(self.aligner)

    def _check_weights(self, background: Background) -> None:
        """Raises ValueError if a background that was given has vectors of other weights than the encoder's.

        They are told apart by the vectors of one text, once.
        """
        if background is self._checked:
            return
        text = min(background.documents, key=lambda document: len(document.text))
        start = sum(map(len, background.documents[: background.documents.index(text)]))
        try:
            (own,) = self.encoder.encode([text.text], [text.spans])
        except ValueError:  # it knows no other texts than those that are compared
            return
        known = background.vectors[start : start + len(text)]
        if own.shape != known.shape or _least_cosine(own, known) < MIN_SAME_COSINE:
            raise ValueError(
                f"{background!r} was made with other vectors than {self.encoder.name} gives now. "
                "Make it with the aligner that uses it: Background.of(texts, aligner)."
            )
        self._checked = background

    def scale_of(self, background: Background, chance: Chance | None = None) -> Scale:
        """What evidence against a background is measured by; what its random pairs have is computed once.

        `chance` is what they have, where the caller knows it.
        """
        if background.digest not in self._scales:
            if chance is None and background.general:
                chance = shipped_chance(self.cost, background)
            if chance is None:
                chance = self._chance(background)
                if background.general:
                    cache_chance(self.cost, background, chance)
            self._scales.clear()  # one is in use at a time
            self._scales[background.digest] = Scale(
                self.cost.against(background), background, chance, shipped_calibration(general=background.general)
            )
        scale = self._scales[background.digest]
        return scale if self.calibration is None else replace(scale, calibration=self.calibration)

    def tails(self, scale: Scale, pairs: Sequence[Pair], vectors: Sequence[Vectors]) -> list[Vectors]:
        """The two numbers (spans, 2) per span from which evidence follows, for both texts of each pair.

        A text in several pairs is measured once.
        """
        by_text = {
            text: rows for pair, both in zip(pairs, vectors, strict=True) for text, rows in zip(pair, both, strict=True)
        }
        tails = dict(zip(by_text, self.tails_of(scale, [*by_text], [*by_text.values()]), strict=True))
        return [(tails[left], tails[right]) for left, right in pairs]

    def tails_of(self, scale: Scale, documents: Sequence[Document], vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The same (spans, 2) for single texts; spans that the encoder cannot read have zeros."""
        tails = tails_against(scale.background, self.cost, documents, vectors)
        for text, rows in zip(documents, tails, strict=True):
            rows[~readable(self.encoder, text.pieces)] = 0
        return tails

    def _chance(self, background: Background) -> Chance:
        """The evidence of random pairs of a background's texts."""
        ends = np.cumsum([0, *map(len, background.documents)])
        numbers = random_pairs(background.documents)
        used = sorted({number for pair in numbers for number in pair})
        documents = {number: background.documents[number] for number in used}
        vectors = {number: background.vectors[ends[number] : ends[number + 1]] for number in used}
        measured = tails_against(background, self.cost, [*documents.values()], [*vectors.values()])
        tails = dict(zip(used, measured, strict=True))
        sizes = [Size(1, len(documents[left]), len(documents[right])) for left, right in numbers]
        bits = np.zeros(len(numbers))
        for batch in size_sorted([*range(len(numbers))], sizes, _MAX_PAIRS_PER_BATCH):
            interruption_point()
            chosen = [numbers[number] for number in batch]
            texts = [(documents[left], documents[right]) for left, right in chosen]
            rows, both = ([(values[left], values[right]) for left, right in chosen] for values in (vectors, tails))
            bits[batch] = significant_bits(*pad(compare(self.cost, texts, rows, both)))
        counted = counted_sizes(self.cost, [(tails[left], tails[right]) for left, right in numbers])
        return Chance.fit(bits, counted)


def judgements(pairs: Sequence[Pair], bits: Sequence[float], tails: Sequence[Vectors], scale: Scale) -> list[Judgement]:
    """What the evidence of each pair of texts means; texts that are equal match, whatever their evidence."""
    if not pairs:
        return []
    surprise, probabilities = scale.judge(bits, tails)
    plain = [(_plain(left), _plain(right)) for left, right in tails]
    judged = zip(pairs, bits, plain, p_values(surprise).tolist(), probabilities.tolist(), strict=True)
    fitted_on, background = scale.calibration.fitted_on, scale.background.name
    return [
        Judgement(
            own_bits,
            p_value,
            1.0 if left.text == right.text else probability,
            background,
            fitted_on,
            tuple(_notes((left, right), numbers, scale.background.encoder)),
            numbers,
        )
        for (left, right), own_bits, numbers, p_value, probability in judged
    ]


def _least_cosine(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The least cosine of rows with rows; that of zero vectors with zero vectors is 1."""
    left, right = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    same = (left == right).all(axis=1)
    return float(np.where(same, 1.0, (left * right).sum(axis=1) / np.where(norms > 0, norms, 1)).min(initial=1.0))


def _plain(tails: np.ndarray) -> _PlainTails:
    """The tails (spans, 2) of a text as plain values."""
    return tuple(map(tuple, tails.tolist()))


def _notes(pair: Pair, tails: tuple[_PlainTails, _PlainTails], encoder: str) -> Iterator[str]:
    """What a reader has to know of two texts whose spans have these tails: which cannot be read, and why.

    Of single punctuation marks, which are spans where texts are cut into words, nobody expects evidence.
    """
    for side, text, numbers in zip(("left", "right"), pair, tails, strict=True):
        if all(slope for _, slope in numbers):
            continue
        unread = [piece for piece, (_, slope) in zip(text.pieces, numbers, strict=True) if not slope]
        silent = [piece for piece in unread if not any(map(str.isalnum, piece))]
        marks = [piece for piece in silent if len(piece) > 1 or len(silent) == len(text)]
        if foreign := len(unread) - len(silent):
            spans, have = ("1 span", "has") if foreign == 1 else (f"{foreign} spans", "have")
            yield f"{spans} of the {side} text cannot be read by {encoder}, and {have} no evidence."
        if marks:
            spans, have = ("1 span", "has") if len(marks) == 1 else (f"{len(marks)} spans", "have")
            yield f"{spans} of the {side} text {have} no letter or digit, and no evidence."
