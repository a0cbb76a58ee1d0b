"""Rationales from boosted trees over a few features a sentence: what supervision is worth without a network."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.nearest import check_marked, right_metrics, stacked, vectors_of, whole
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair
from whymatch.learning.settings import Settings
from whymatch.learning.tasks import marked

MOST = 8_000  # training pairs, drawn at random where there are more


def boosted_trees(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the two right spans that trees, trained on the marks of the training split, find most probable."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ModuleNotFoundError:
        raise ValueError("The baseline 'boosted-trees' needs scikit-learn: pip install scikit-learn.") from None
    records = read_split(settings.data, "train", "classify", settings.spans)
    examples = drawn([pair for pair in records if isinstance(pair, Pair)], settings.schedule.seed)
    check_marked([*examples, *pairs])
    vectors = vectors_of([text for pair in (*examples, *pairs) for text in read(pair)], settings)
    marks = np.concatenate([marked(pair.right, pair.right_rationale).numpy() for pair in examples])
    if len(set(marks)) < 2:
        raise ValueError("Trees learn from spans that are marked and spans that are not: the training split has one.")
    trees = HistGradientBoostingClassifier(early_stopping=False, random_state=settings.schedule.seed)
    trees.fit(np.concatenate([features(pair, vectors) for pair in examples]), marks)
    chances = trees.predict_proba(np.concatenate([features(pair, vectors) for pair in pairs]))[:, 1]
    ends = np.cumsum([len(pair.right) for pair in pairs])
    return right_metrics(pairs, [torch.from_numpy(some) for some in np.split(chances, ends[:-1])])


def drawn(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """All pairs, or as many as are trained on."""
    chance = torch.Generator().manual_seed(seed)
    return [pairs[number] for number in sorted(torch.randperm(len(pairs), generator=chance)[:MOST].tolist())]


def asked(pair: Pair) -> tuple[str, str, str]:
    """What sentences are compared with: question and answer, the question, and the answer."""
    pieces = pair.left.pieces
    return whole(pair.left), pieces[0], pieces[-1]


def read(pair: Pair) -> list[str]:
    """Every text of a pair that is encoded."""
    return [*asked(pair), *pair.right.pieces]


def features(pair: Pair, vectors: Mapping[str, Tensor]) -> np.ndarray:
    """(right spans, 9): cosines with question and answer, question, answer; and of the first of these, the rank, the
    neighbours' before and after, and the document's best; the place in the document, and the length in words.
    """
    pieces = pair.right.pieces
    if not pieces:
        return np.zeros((0, 9))
    sentences = stacked(vectors, pieces)
    both, question, answer = (sentences @ vectors[text] for text in asked(pair))
    rank = both.argsort(descending=True, stable=True).argsort()
    nothing = both.new_full((1,), torch.nan)
    columns = [
        both,
        question,
        answer,
        rank,
        torch.cat([nothing, both[:-1]]),
        torch.cat([both[1:], nothing]),
        both.max().expand(len(pieces)),
        torch.arange(len(pieces)) / len(pieces),
        torch.tensor([len(piece.split()) for piece in pieces]),
    ]
    return torch.stack([column.double() for column in columns], dim=1).numpy()
