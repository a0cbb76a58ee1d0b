"""What the evidence of two texts means: how often chance gives as much, and how likely the texts match."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import inf, isfinite, log
from pathlib import Path
from typing import Any

import numpy as np

from whymatch.batching import stacked
from whymatch.cost import Background, Cost
from whymatch.cost.evidence import counted_spans
from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, Vectors, readable

RANDOM_PAIRS = 3000
"""Pairs of texts of a background that are aligned to learn what chance gives."""
_TEXTS = 800  # of a background, from which the pairs are drawn
_FOLDS = 4  # into which those texts are divided, so that none of a pair is among the texts that it is measured against
_MAX_PARTITIONS = 3  # of few texts, which make few pairs at a time
_BODY = 0.8  # share of the random pairs below the tail that is fitted
_USUAL_EXCESS, _PAIRS_OF_USUAL = 2.0, 20  # bits over the threshold, and how many pairs that counts as
_PHRASE_BITS = 15.0  # between a span and a set phrase, from which on it is one
_USUAL_HALVING = 4.0  # bits
_LEAST = 0.5  # bits, of the mean excess and of the halving


@dataclass(frozen=True)
class Chance:
    """The evidence that random pairs of texts of a background have, by their sizes.

    Beyond `threshold` bits it falls exponentially, for texts of all sizes alike. How often it is exceeded is a logistic
    curve of the sizes. Below, the share of pairs with less evidence is halved every so many bits.

    Args:
        threshold: in bits.
        exceeded: the logistic curve: constant, and weights of log2 of the shorter and of the longer text's spans.
        excess: the mean excess over the threshold, in bits.
        halving: the bits below the threshold in which the share of pairs with less evidence is halved.
    """

    threshold: float
    exceeded: tuple[float, float, float]
    excess: float
    halving: float

    @classmethod
    def fit(cls, bits: np.ndarray, sizes: np.ndarray, least_threshold: float = 0.0) -> "Chance":
        """Fits the tail to the evidence (pairs) of random pairs of texts of these sizes (pairs, 2)."""
        inputs = _inputs(sizes)
        threshold = max(least_threshold, float(np.quantile(bits, _BODY)))
        beyond = bits >= threshold
        one_more = np.vstack([inputs, inputs.mean(axis=0)]), np.append(beyond, 1.0)  # what was never seen has a chance
        exceeded = logistic(*one_more, ridge=1.0 / len(bits))
        excesses = np.append(bits[beyond] - threshold, np.full(_PAIRS_OF_USUAL, _USUAL_EXCESS))
        median = float(np.median(bits))
        doublings = np.log2(2 * max(float((~beyond).mean()), 0.55))  # from a half to what is below the threshold
        halving = max((threshold - median) / doublings, _LEAST) if median < threshold else _USUAL_HALVING
        return cls(threshold, tuple(exceeded.tolist()), max(float(excesses.mean()), _LEAST), float(halving))

    def p_value(self, bits: float, left: int, right: int) -> float:
        """The share of random pairs of texts with so many spans that have as much evidence."""
        return float(p_values(self.surprise(np.array([bits]), np.array([[left, right]])))[0])

    def surprise(self, bits: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """−log2 of the p-values (pairs) of pairs of texts with this evidence (pairs) and these sizes (pairs, 2)."""
        shorter, longer = _inputs(sizes)[:, 1:].T  # sums by hand: a matrix product rounds by the number of its rows
        constant, of_shorter, of_longer = self.exceeded
        exceeding = -np.logaddexp(0, -(constant + of_shorter * shorter + of_longer * longer))  # log of the chance
        over = bits - self.threshold
        tail = -exceeding + np.maximum(over, 0) / self.excess
        body = 1 - (1 - np.exp(exceeding)) * np.exp2(np.minimum(over, 0) / self.halving)
        return np.where(over > 0, tail / np.log(2), -np.log2(body))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Chance":
        """What `to_dict` gave.

        Raises:
            ValueError: if these values are not that.
        """
        try:
            first, second, third = map(float, values["exceeded"])
            threshold, excess, halving = (float(values[name]) for name in ("threshold", "excess", "halving"))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"What chance gives has other values: {type(error).__name__}: {error}") from None
        if not (all(map(isfinite, (first, second, third, threshold, excess, halving))) and min(excess, halving) > 0):
            raise ValueError("What chance gives is finite, and its mean excess and its halving above 0.")
        return cls(threshold, (first, second, third), excess, halving)


def random_pairs(texts: int) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Pairs of so many texts, by numbers, drawn at random: up to `RANDOM_PAIRS`, of folds of texts.

    A fold is a list of texts and the pairs of two of them. Each pair is drawn once.
    """
    draw = random.Random(0)
    folds, pairs = list[tuple[list[int], list[tuple[int, int]]]](), set[tuple[int, int]]()
    for _ in range(_MAX_PARTITIONS):
        order = draw.sample(range(texts), min(texts, _TEXTS))
        for first in range(_FOLDS):
            fold = sorted(order[first::_FOLDS])
            new = [pair for pair in combinations(fold, 2) if pair not in pairs]
            new = sorted(draw.sample(new, min(len(new), RANDOM_PAIRS // _FOLDS)))
            folds.append((fold, new))
            pairs.update(new)
        if len(pairs) >= RANDOM_PAIRS // 2:
            break
    return folds


@dataclass(frozen=True)
class Calibration:
    """From the p-value of two texts to the probability that they match: a logistic curve of √−log2 p.

    `fitted_on` says by which labelled pairs, and `share` which share of all pairs matches: where fewer pairs do, the
    probability is lower. `general` says that they were judged against a background of texts of any kind, such as the
    one that ships, whose p-values mean something else than those against a corpus of texts like theirs. `by_size` is
    added for each doubling of the shorter text's spans. It is 0 for corpora, whose p-values hold for texts of every
    size, and not for a general background: long texts on one subject, of which it has little, have many links.
    """

    slope: float
    offset: float
    fitted_on: str
    by_size: float = 0.0
    general: bool = False
    share: float = 0.5

    @classmethod
    def fit(
        cls,
        p_values: np.ndarray,
        matches: np.ndarray,
        fitted_on: str,
        weights: np.ndarray | None = None,
        share: float | None = None,
        sizes: np.ndarray | None = None,
        *,
        general: bool = False,
    ) -> "Calibration":
        """Fits the curve to p-values of labelled pairs by maximum likelihood.

        `weights` (pairs) say how much each pair counts, and `share` which share of all pairs matches where the
        probabilities are to be used, by default as many as of these. `by_size` is fitted where `sizes` (pairs, 2) are
        given: how many spans of both texts carry evidence.

        Raises:
            ValueError: if there are not both kinds of pairs, or those that match have no more evidence than others.
        """
        matches = np.asarray(matches, float)
        if len(p_values) != len(matches) or not 0 < matches.sum() < len(matches):
            raise ValueError("Calibration needs pairs that match and pairs that do not, with one label each.")
        weights = np.ones(len(matches)) if weights is None else weights
        if share is not None and not (isinstance(share, int | float) and 0 < share < 1):
            raise ValueError(f"share is that of pairs that match among all: above 0 and below 1, got {share!r:.40}.")
        if share is None:
            share = float((weights * matches).sum() / weights.sum())
        balanced = np.where(
            matches > 0, share / (weights * matches).sum(), (1 - share) / (weights * (1 - matches)).sum()
        )
        surprise = -np.log2(np.maximum(p_values, np.finfo(float).tiny))
        inputs = [np.ones(len(surprise)), np.sqrt(np.maximum(surprise, 0))]
        if sizes is not None:
            inputs.append(_inputs(sizes)[:, 1])
        offset, slope, *by_size = logistic(np.stack(inputs, axis=1), matches, balanced * weights, ridge=1e-4).tolist()
        if slope <= 0:
            raise ValueError("Pairs that match have no more evidence here than others: there is nothing to calibrate.")
        return cls(slope, offset, fitted_on, by_size[0] if by_size else 0.0, general, share)

    def where_fewer_match(self, share: float) -> "Calibration":
        """The same where a smaller share of all pairs matches, such as one document of many."""
        share = min(share, self.share)
        offset = self.offset + log(share / (1 - share)) - log(self.share / (1 - self.share))
        return replace(self, offset=offset, share=share)

    def probability(self, surprise: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
        """The chance (pairs) that texts with these −log2 p and sizes (pairs, 2) match; of single spans if None."""
        logit = self.offset + self.slope * np.sqrt(np.maximum(surprise, 0))
        if sizes is not None:
            logit = logit + self.by_size * _inputs(sizes)[:, 1]
        return 1 / (1 + np.exp(-logit))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, file: str | Path) -> "Calibration":
        """What `whymatch calibrate` wrote, or whoever wrote `to_dict` as JSON.

        Raises:
            OSError: if there is no such file.
            ValueError: if it holds no calibration.
        """
        try:
            return cls.from_dict(json.loads(Path(file).read_text(encoding="utf-8")))
        except (ValueError, RecursionError) as error:
            advice = "Make it with whymatch calibrate."
            raise ValueError(f"{file} is no calibration: {str(error).removesuffix('.')}. {advice}") from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Calibration":
        """What `to_dict` gave; other keys are left out.

        Raises:
            ValueError: if these values are no calibration, or more evidence would not make a match more probable.
        """
        try:
            slope, offset, fitted_on = float(values["slope"]), float(values["offset"]), str(values["fitted_on"])
            by_size, general = float(values.get("by_size", 0.0)), values.get("general", False)
            share = float(values.get("share", 0.5))
            if not isinstance(general, bool):
                raise TypeError(f"general is true or false, got {general!r:.40}")
            fitted_on.encode()  # not text that no page could hold
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(f"A calibration has slope, offset and fitted_on: {problem}") from None
        if not (isfinite(slope) and isfinite(offset) and isfinite(by_size) and slope > 0 and 0 < share < 1):
            numbers = f"got {slope:g}, {offset:g}, {by_size:g} and {share:g}"
            limits = "a slope above 0, a finite offset and by_size, and a share above 0 and below 1"
            raise ValueError(f"A calibration has {limits}, {numbers}.")
        return cls(slope, offset, fitted_on, by_size, general, share)


def logistic(inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None, *, ridge: float) -> np.ndarray:
    """The weights (features) of a logistic regression of targets from 0 to 1 on inputs (rows, features).

    By Newton's method, with a ridge on all weights but the first, which is that of the constant; `weights` (rows) say
    how much each row counts.
    """
    weights = np.full(len(inputs), 1 / len(inputs)) if weights is None else weights / weights.sum()
    penalty = ridge * np.eye(inputs.shape[1])
    penalty[0, 0] = 1e-9
    fitted = np.zeros(inputs.shape[1])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ fitted, -500, 500)))
        gradient = inputs.T @ (weights * (chance - targets)) + penalty @ fitted
        curvature = inputs.T @ (inputs * (weights * chance * (1 - chance))[:, None]) + penalty
        step = np.linalg.solve(curvature, gradient)
        fitted = fitted - step * min(1.0, 5.0 / max(1e-12, float(np.linalg.norm(step))))
        if np.linalg.norm(step) < 1e-10:
            break
    return fitted


def p_values(surprise: np.ndarray) -> np.ndarray:
    """p-values from −log2 of them; none is 0."""
    return np.maximum(np.exp2(-surprise), np.finfo(float).tiny)


def _inputs(sizes: np.ndarray) -> np.ndarray:
    """(pairs, 3): 1, and log2 of the numbers of spans of the shorter and of the longer text."""
    logs = np.log2(np.maximum(np.sort(np.asarray(sizes, float), axis=1), 1))
    return np.concatenate([np.ones((len(logs), 1)), logs], axis=1)


@dataclass(frozen=True, eq=False)
class Scale:
    """What evidence is measured by: a cost against a background, and what that makes of a sum of bits.

    `remarks` are what a reader has to know of it.
    """

    cost: Cost
    background: Background
    chance: Chance
    calibration: Calibration
    remarks: tuple[str, ...] = ()

    def judge(self, bits: Sequence[float], tails: Sequence[Vectors]) -> tuple[np.ndarray, np.ndarray]:
        """−log2 of the p-values (pairs), and the probabilities (pairs) of a match, of pairs of texts.

        They have this evidence and these tails (n, 2) and (m, 2).
        """
        sizes = counted_sizes(self.cost, tails)
        surprise = self.chance.surprise(np.array(bits, float), sizes)
        return surprise, self.calibration.probability(surprise, sizes)


def counted_sizes(cost: Cost, tails: Sequence[Vectors]) -> np.ndarray:
    """(pairs, 2): how many spans of both texts of each pair carry evidence under a cost, at least one."""
    return np.maximum(np.stack([side.sum(axis=1) for side in _counted(cost, tails)], axis=1), 1)


def bits_of_silent_pairs(cost: Cost, tails: Sequence[Vectors], bits: np.ndarray) -> np.ndarray:
    """(batch, n, m): the `bits` (batch) of each pair of texts for its pairs of spans that carry no evidence, else 0."""
    left, right = _counted(cost, tails)
    return np.where(left[:, :, None] & right[:, None, :], 0.0, bits[:, None, None])


def _counted(cost: Cost, tails: Sequence[Vectors]) -> tuple[np.ndarray, np.ndarray]:
    """(batch, n) and (batch, m): which spans of pairs of texts with these tails carry evidence under a cost."""
    before = cost.before_evidence
    left, right = (stacked([both[side] for both in tails])[0] for side in (0, 1))
    return counted_spans(left, right, -inf if before is None else before.least)


def tails_against(
    background: Background,
    cost: Cost,
    encoder: Encoder,
    documents: Sequence[Document],
    vectors: Sequence[np.ndarray],
    *,
    phrases: np.ndarray | None = None,
    left_out: Iterable[int] = (),
) -> list[np.ndarray]:
    """The tails (spans, 2) of texts for a cost with evidence; spans that the encoder cannot read have zeros.

    Spans that are nearer to one of the `phrases` (phrases, dimensions) than chance explains are worth nothing, unless
    there are no others in a text. `left_out` are the numbers of texts of the background that do not count.
    """
    before = cost.before_evidence
    if before is None:
        raise ValueError(f"{cost.name} has no evidence, and so no tails.")
    tails = background.tails(before, documents, vectors, left_out)
    read = iter(readable(encoder, [piece for text in documents for piece in text.pieces]))
    for text, rows, phrase in zip(documents, tails, _are_phrases(before, vectors, tails, phrases), strict=True):
        if len(text) > 1 and not phrase.all():
            rows[phrase, 0] = np.minimum(rows[phrase, 0], 0)
        rows[[not next(read) for _ in rows]] = 0
    return tails


def _are_phrases(
    before: Cost, vectors: Sequence[np.ndarray], tails: Sequence[np.ndarray], phrases: np.ndarray | None
) -> list[np.ndarray]:
    """For each text (spans): which of its spans, with these vectors and tails (spans, 2), are set phrases."""
    ends = np.cumsum([len(rows) for rows in tails])[:-1]
    if phrases is None or not sum(map(len, tails)):
        return [np.zeros(len(rows), bool) for rows in tails]
    costs = before.base.compared(np.concatenate(vectors)[None].astype(np.float32), phrases[None])[0].min(axis=1)
    intercept, slope = np.concatenate(tails).T
    return np.split(intercept - slope * costs >= _PHRASE_BITS, ends)
