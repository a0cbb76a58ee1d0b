"""Which background evidence is measured against, and what the evidence of two texts means."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np

from whymatch.batching import Size, size_sorted
from whymatch.cost import Background, Cost
from whymatch.cost.background import MANY_TEXTS, MAX_SPANS, SplitsAndEncodes, pieces_of, sample
from whymatch.interruption import interruption_point
from whymatch.matching.comparing import compare
from whymatch.matching.parts import Judgement
from whymatch.matching.shipped import (
    cache_chance,
    phrase_vectors,
    shipped_background,
    shipped_calibration,
    shipped_chance,
)
from whymatch.matching.significance import (
    Calibration,
    Chance,
    Scale,
    bits_of_silent_pairs,
    counted_sizes,
    p_values,
    random_pairs,
    tails_against,
)
from whymatch.matching.solving import significant_bits
from whymatch.text.document import Document, same_text
from whymatch.text.encoders import Encoder, Pair, Vectors, unread_notes
from whymatch.text.spans import words
from whymatch.transport.batch import pad

MIN_BATCH_SPANS = 800
"""Spans of `MANY_TEXTS` distinct texts that are aligned together, from which on they are their own background."""
MAX_PAIRS_IN_BACKGROUND = 2000
"""The first pairs of a file, against whose texts all of them are judged."""
MIN_LABELLED = 5
"""Pairs that match, and pairs that do not, of which a calibration can be learned."""
_FEW_TEXTS = "The background has only {} texts, so that p-values and probabilities are rough: give 200 or more."
_OTHER_CALIBRATION = (
    "The calibration of {} was not used: its pairs were judged against a background of the other kind, "
    "a corpus of texts like theirs or texts of any kind."
)
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
        background: Background | HasBackground | list[str] | tuple[str, ...] | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self.cost, self.encoder, self.aligner = cost, encoder, aligner
        if background is None:
            background = cost.evidence.background if cost.evidence else None
        elif isinstance(background, list | tuple):
            background = Background.of(background, aligner)
        elif not isinstance(background, Background):
            if not hasattr(background, "background"):
                came = f"{type(background).__name__}: {background!r:.60}"
                advice = "Read the texts of a file or a folder first."
                raise TypeError(f"background is a Background, an index or a list of texts, got {came}. {advice}")
            background = background.background
        if background is not None and background.encoder != encoder.name:
            advice = "Make it with the aligner that uses it: Background.of(texts, aligner)."
            raise ValueError(f"{background!r} is of another encoder than {encoder.name}. {advice}")
        self.background = background
        self.calibration = calibration
        """What was fitted to the user's own labelled pairs."""
        self._scales: dict[str, Scale] = {}
        self._checked: Background | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what ships, and what was measured against that: another process has it too."""
        own = {digest: scale for digest, scale in self._scales.items() if not scale.background.general}
        kept = {name: value for name, value in vars(self).items() if name not in ("_shipped", "_phrases")}
        return {**kept, "_scales": own}

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
        enough = len(by_text) >= MANY_TEXTS and sum(map(len, by_text)) >= MIN_BATCH_SPANS
        if not enough:
            return self.scale_of(self._shipped)
        texts, rows = [*by_text], [*by_text.values()]
        sampled = sample(texts)
        chosen = np.concatenate([rows[number][part] for number, part in sampled]).astype(np.float32)
        name = f"the {len(by_text):,} texts that were aligned together"
        return self.scale_of(Background(name, self.encoder.name, pieces_of(texts, sampled), chosen))

    @cached_property
    def _shipped(self) -> Background:
        return shipped_background(self.aligner)

    def fix_background(self, pairs: Iterable[Pair] = (), name: str = "these texts") -> None:
        """Has evidence measured against the texts of these pairs from now on, or against those that ship if few.

        Otherwise the texts of each call may be its background, so that a pair is judged by its company. Nothing changes
        where a background was given, or costs are no evidence. Pairs are read until there are texts enough, at most
        `MAX_PAIRS_IN_BACKGROUND`. What chance gives is measured before the background is in place.
        """
        if self.cost.evidence is None or self.background is not None:
            return
        documents, spans = dict[Document, None](), 0
        for text in chain.from_iterable(islice(pairs, MAX_PAIRS_IN_BACKGROUND)):
            if text not in documents:
                documents[text] = None
                spans += len(text)
            if spans >= MAX_SPANS and len(documents) >= MANY_TEXTS:
                break
        background = self._shipped
        if len(documents) >= MANY_TEXTS and spans >= MIN_BATCH_SPANS:
            background = Background.of(documents, self.aligner, f"{len(documents):,} texts of {name}")
        self.scale_of(background)
        self.background = background

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
        scale = self._scales.get(background.digest)
        if scale is None:
            if chance is None and background.general:
                chance = shipped_chance(self.cost.unread, background)
            if chance is None:
                chance = self._chance(background)
                if background.general:
                    cache_chance(self.cost.unread, background, chance)
            few = not background.general and len(background.documents) < MANY_TEXTS
            calibration = shipped_calibration(general=background.general or few)
            remarks = (_FEW_TEXTS.format(len(background.documents)),) if few else ()
            scale = Scale(self.cost.against(background), background, chance, calibration, remarks)
            self._scales = {background.digest: scale}  # one is in use at a time
        if self.calibration is None:
            return scale
        if self.calibration.general != scale.calibration.general:
            return replace(scale, remarks=(*scale.remarks, _OTHER_CALIBRATION.format(self.calibration.fitted_on)))
        return replace(scale, calibration=self.calibration)

    def tails(self, scale: Scale, pairs: Sequence[Pair], vectors: Sequence[Vectors]) -> list[Vectors]:
        """The two numbers (spans, 2) per span from which evidence follows, for both texts of each pair.

        A text in several pairs is measured once. Against a general background, an encoder may say how many bits
        unrelated texts in their scripts have: so many are taken off.
        """
        by_text = {
            text: rows for pair, both in zip(pairs, vectors, strict=True) for text, rows in zip(pair, both, strict=True)
        }
        tails = dict(zip(by_text, self.tails_of(scale, [*by_text], [*by_text.values()]), strict=True))
        both = [(tails[left], tails[right]) for left, right in pairs]
        return self.lowered(scale.background, pairs, both)

    def lowered(self, background: Background, pairs: Sequence[Pair], tails: Sequence[Vectors]) -> list[Vectors]:
        """Tails of pairs of texts without the bits that unrelated texts have against a general background."""
        if not self._lowers(background):
            return [*tails]
        bits = self._general_bits(pairs)
        return [
            (_less(left, own_bits), _less(right, own_bits)) for (left, right), own_bits in zip(tails, bits, strict=True)
        ]

    def without_evidence(
        self, background: Background, pairs: Sequence[Pair], tails: Sequence[Vectors]
    ) -> np.ndarray | None:
        """(pairs, n, m): what pairs of spans without evidence cost more where bits are taken off all others, or None.

        Otherwise two set phrases, or spans that cannot be read, would be the closest of unrelated texts. Random pairs
        of the background's texts are measured without this, so that p-values of texts without links stay cautious.
        """
        if not self._lowers(background):
            return None
        return bits_of_silent_pairs(self.cost, tails, np.array(self._general_bits(pairs)))

    def _lowers(self, background: Background) -> bool:
        """Whether the encoder says how many bits unrelated texts have against this background."""
        return background.general and hasattr(self.encoder, "general_bits")

    def _general_bits(self, pairs: Sequence[Pair]) -> list[float]:
        return [self.encoder.general_bits(left.text, right.text) for left, right in pairs]  # type: ignore[attr-defined]

    def tails_of(self, scale: Scale, documents: Sequence[Document], vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The same (spans, 2) for single texts; spans that the encoder cannot read have zeros."""
        return tails_against(scale.background, self.cost, self.encoder, documents, vectors, phrases=self._phrases)

    @cached_property
    def _phrases(self) -> np.ndarray | None:
        """The vectors (phrases, dimensions) of phrases that are no evidence; None for words."""
        return None if self.aligner.splitter is words else phrase_vectors(self.encoder)

    def _chance(self, background: Background) -> Chance:
        """The evidence of random pairs of a background's texts, without terms by which a model reads pairs of spans.

        Those only make links dearer, so that chance gives no more evidence with them. Both texts of a pair are measured
        against the others of the background, as texts are that are not in it.
        """
        ends = np.cumsum([0, *map(len, background.documents)])
        all_vectors = np.split(background.vectors, ends[1:-1])
        parts = list[np.ndarray]()
        sizes = list[np.ndarray]()
        for fold, numbers in random_pairs(len(background.documents)):
            documents = {number: background.documents[number] for number in fold}
            vectors = {number: all_vectors[number] for number in fold}
            measured = tails_against(
                background,
                self.cost,
                self.encoder,
                [*documents.values()],
                [*vectors.values()],
                phrases=self._phrases,
                left_out=fold,
            )
            tails = dict(zip(fold, measured, strict=True))
            pairs = [(documents[left], documents[right]) for left, right in numbers]
            both = self.lowered(background, pairs, [(tails[left], tails[right]) for left, right in numbers])
            parts.append(self._bits(pairs, [(vectors[left], vectors[right]) for left, right in numbers], both))
            sizes.append(counted_sizes(self.cost, both) if both else np.zeros((0, 2)))
        least = -inf if self._lowers(background) else 0.0
        return Chance.fit(np.concatenate(parts), np.concatenate(sizes), least)

    def _bits(self, pairs: Sequence[Pair], vectors: Sequence[Vectors], tails: Sequence[Vectors]) -> np.ndarray:
        """(pairs): the sum of the significant evidence of pairs of texts, or that of the closest spans."""
        bits = np.zeros(len(pairs))
        sizes = [Size(1, len(left), len(right)) for left, right in pairs]
        for batch in size_sorted([*range(len(pairs))], sizes, _MAX_PAIRS_PER_BATCH):
            interruption_point()
            texts, rows = [pairs[number] for number in batch], [vectors[number] for number in batch]
            own_tails = [tails[number] for number in batch]
            bits[batch] = significant_bits(*pad(compare(self.cost.unread, texts, rows, own_tails)))
        return bits


def _less(tails: np.ndarray, bits: float) -> np.ndarray:
    """Tails (spans, 2) that give so many bits less; those of spans that cannot be read stay 0."""
    return np.where(tails[:, 1:] > 0, tails - [bits, 0.0], tails)


def calibrated(
    judged: Sequence[Judgement], matches: Sequence[bool], fitted_on: str, share: float | None = None
) -> Calibration:
    """The calibration by labelled pairs with these judgements, for backgrounds of the kind that they were judged by.

    The sizes of texts count where that background is a general one.

    Raises:
        ValueError: if there are fewer than `MIN_LABELLED` pairs of a kind, or those that match have no more evidence.
    """
    check_labels(matches, len(judged))
    labels = np.array(matches, bool)
    p_values, sizes, general = calibration_inputs(judged)
    return Calibration.fit(p_values, labels, fitted_on, share=share, sizes=sizes, general=general)


def calibration_inputs(judged: Sequence[Judgement]) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """What `Calibration.fit` takes of judgements: p-values, sizes (pairs, 2) if they count, and whether they do."""
    general = judged[0].general
    sizes = np.array([judgement.sizes for judgement in judged]) if general else None
    return np.array([judgement.p_value for judgement in judged]), sizes, general


def check_labels(matches: Sequence[bool], pairs: int) -> None:
    """Raises ValueError unless there is a label for each of so many pairs, and `MIN_LABELLED` or more of each kind."""
    if len(matches) != pairs:
        raise ValueError(f"Calibration takes a label for each pair; got {pairs:,} pairs and {len(matches):,} labels.")
    other = [label for label in matches if label not in (True, False)]
    if other:
        raise ValueError(f"Calibration takes labels that are True or False, got {other[0]!r:.40}.")
    right, wrong = [*matches].count(True), [*matches].count(False)
    if right + wrong != pairs or min(right, wrong) < MIN_LABELLED:
        there = f"{pairs:,} pairs, {right:,} of them labelled as matches and {wrong:,} as others"
        raise ValueError(
            f"Calibration takes {MIN_LABELLED} pairs or more of each kind, all of them labelled; got {there}."
        )


def judgements(
    pairs: Sequence[Pair], bits: Sequence[float], tails: Sequence[Vectors], scale: Scale, encoder: Encoder
) -> list[Judgement]:
    """What the evidence of each pair of texts means; texts that are equal match, whatever their evidence.

    Texts in a language that the encoder does not read have no probability against a general background: there all
    texts of that language are alike to it.
    """
    if not pairs:
        return []
    surprise, probabilities = scale.judge(bits, tails)
    sizes = counted_sizes(scale.cost, tails).tolist()
    plain = [(_plain(left), _plain(right)) for left, right in tails]
    judged = zip(pairs, bits, plain, p_values(surprise).tolist(), probabilities.tolist(), sizes, strict=True)
    calibration, background = scale.calibration, scale.background
    return [
        Judgement(
            own_bits,
            p_value,
            1.0 if same_text(left.text, right.text) else None if foreign else probability,
            background.name,
            calibration.fitted_on,
            (*scale.remarks, *_notes((left, right), numbers, background.encoder), *foreign),
            calibration.general,
            numbers,
            (int(own_sizes[0]), int(own_sizes[1])),
        )
        for (left, right), own_bits, numbers, p_value, probability, own_sizes in judged
        for foreign in [tuple(_foreign(encoder, (left, right), numbers)) if background.general else ()]
    ]


def _foreign(encoder: Encoder, pair: Pair, tails: tuple[_PlainTails, _PlainTails]) -> Iterator[str]:
    """What a reader has to know of texts with evidence in languages that the encoder does not read."""
    sides = zip(("left", "right"), pair, tails, strict=True)
    yield from unread_notes(
        encoder,
        [(f"The {side} text", text.text) for side, text, numbers in sides if any(slope for _, slope in numbers)],
    )


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
