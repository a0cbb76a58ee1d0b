"""Simple baselines: what the rows of a table are worth beside them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from whymatch.cost import Cosine
from whymatch.cost.cost import unit
from whymatch.datasets.folders import read_split
from whymatch.datasets.ranking import bm25_scorer, tokens
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.intervals import bootstrap
from whymatch.learning.evaluate import Selection, check_queries, evaluate, ranking_metrics, rationale_metrics
from whymatch.learning.settings import Settings
from whymatch.learning.tasks import spans_in
from whymatch.matching.aligner import Aligner
from whymatch.matching.attention import active, max_sim
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.text.document import Document
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.spans import Span

SENTENCES, WORDS = 2, 3  # chosen as a rationale
MAX_TRAINING_PAIRS = 8_000  # of boosted trees, drawn at random where there are more


def baseline(name: str, settings: Settings) -> dict[str, Any]:
    """The metrics of a baseline on the test split, by the names that `evaluate` gives them."""
    if name not in BASELINES:
        raise ValueError(f"There is no baseline {name!r}. Known are {', '.join(BASELINES)}.")
    task, measure = BASELINES[name]
    if settings.task != task:
        raise ValueError(f'The baseline {name!r} is for task = "{task}", got "{settings.task}".')
    records: list[Any] = read_split(settings.data, "test", settings.task, settings.spans)
    if not records:
        raise ValueError(f"There is nothing to measure: the test split of {settings.data} is empty.")
    return measure(records, settings)


# Rankings.


def bm25(queries: Sequence[Query], settings: Settings) -> dict[str, Any]:
    """Ranks by BM25, with the word frequencies of all documents of the split; there are no links to count."""
    check_queries(queries)
    texts = list(dict.fromkeys(text.text for query in queries for text in query.documents))
    number, score = {text: place for place, text in enumerate(texts)}, bm25_scorer(texts)
    scores = []
    for query in queries:
        every = score(tokens(query.query.text))
        scores.append([float(every[number[text.text]]) for text in query.documents])
    return {**ranking_metrics(queries, scores), "queries": len(queries)}


def late_interaction(queries: Sequence[Query], settings: Settings) -> dict[str, Any]:
    """Ranks by the mean, over the query's spans, of the largest cosine with a span of the document."""
    encoder = SentenceEncoder(settings.encoder.model or MINILM)
    return evaluate(Ranker(Aligner(settings.spans, Projected(encoder, encoder.size)), MaxSim()), queries)


@dataclass(frozen=True)
class MaxSim:
    """The rule of late interaction: each left span is linked to its cheapest right span."""

    def weights(self, cost: Tensor, sizes: Tensor) -> Tensor:
        return max_sim(cost, sizes=sizes)

    def active(self, cost: Tensor, sizes: Tensor) -> Tensor:
        return active(self.weights(cost, sizes), sizes=sizes)

    def zero(self, neutral: float) -> float:
        return neutral

    def selection(self, cost: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """The share of the links that a span is in."""
        weights = self.weights(cost, sizes)
        return weights.sum(dim=2), weights.sum(dim=1)


# Rationales without training.


def nearest_two(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the two right spans nearest to the left text as a whole: question and answer, joined by a blank."""
    _check_marked(pairs)
    vectors = _vectors([piece for pair in pairs for piece in (_whole(pair.left), *pair.right.pieces)], settings)
    cosines = [_stacked(vectors, pair.right.pieces) @ vectors[_whole(pair.left)] for pair in pairs]
    return _right_metrics(pairs, [(1 + cosine) / 2 for cosine in cosines])  # between 0 and 1, as a selection is


def farthest_words(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the three right words farthest from any left one, and the left word nearest to each of them."""
    _check_marked(pairs)
    if settings.spans != "word":
        raise ValueError(f'The baseline "farthest-words" is for spans = "word", got "{settings.spans}".')
    encoder = WordEncoder(settings.encoder.model or MINILM, layer=settings.encoder.layer)
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.left, pair.right)))
    vectors = dict(zip(texts, encoder.encode([t.text for t in texts], [t.spans for t in texts]), strict=True))
    chosen = [
        farthest(Cosine().between(*(torch.from_numpy(vectors[text]) for text in (pair.left, pair.right))))
        for pair in pairs
    ]
    links = [len(choice.spans[1]) for choice in chosen]
    shares = [100 * number / max(1, len(p.left) * len(p.right)) for number, p in zip(links, pairs, strict=True)]
    counts = {"active alignments": bootstrap(links)._asdict(), "% active": bootstrap(shares)._asdict()}
    return {**counts, **rationale_metrics(pairs, chosen), "pairs": len(pairs)}


def farthest(cost: Tensor, count: int = WORDS) -> Selection:
    """The columns whose least cost is largest, and the row where each has it; selected by half that cost."""
    n, m = cost.shape
    if not n or not m:
        return Selection(([], []), ([0.0] * n, [0.0] * m))
    least, nearest = cost.min(dim=0)
    right = highest(least, count)
    left = sorted(set(nearest[right].tolist()))
    of_left = torch.zeros(n).scatter_reduce(0, nearest, least.clamp(min=0) / 2, "amax")
    return Selection((left, right), (of_left.tolist(), (least.clamp(min=0) / 2).tolist()))


def highest(values: Tensor, count: int) -> list[int]:
    """The places of the highest values, in order; of equals, the first.

    >>> highest(torch.tensor([0.1, 0.3, 0.2, 0.3]), 3)
    [1, 2, 3]
    """
    return sorted(values.argsort(descending=True, stable=True)[:count].tolist())


# Rationales from boosted trees over a few features of a sentence: what supervision is worth without a network.


def boosted_trees(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the two right spans that trees, trained on the marks of the training split, find most probable."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ModuleNotFoundError:
        raise ValueError("The baseline 'boosted-trees' needs scikit-learn: pip install scikit-learn.") from None
    records = read_split(settings.data, "train", "classify", settings.spans)
    examples = _drawn([pair for pair in records if isinstance(pair, Pair)], settings.schedule.seed)
    _check_marked([*examples, *pairs])
    texts = [text for pair in (*examples, *pairs) for text in (*_questions(pair), *pair.right.pieces)]
    vectors = _vectors(texts, settings)
    marks = np.concatenate([_marks(pair.right, pair.right_rationale).numpy() for pair in examples])
    if len(set(marks)) < 2:
        raise ValueError("Trees learn from spans that are marked and spans that are not: the training split has one.")
    trees = HistGradientBoostingClassifier(early_stopping=False, random_state=settings.schedule.seed)
    trees.fit(np.concatenate([_features(pair, vectors) for pair in examples]), marks)
    chances = trees.predict_proba(np.concatenate([_features(pair, vectors) for pair in pairs]))[:, 1]
    ends = np.cumsum([len(pair.right) for pair in pairs])
    return _right_metrics(pairs, [torch.from_numpy(part) for part in np.split(chances, ends[:-1])])


def _drawn(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The pairs that are trained on: all of them, or as many as are allowed."""
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed))
    return [pairs[number] for number in sorted(order[:MAX_TRAINING_PAIRS].tolist())]


def _questions(pair: Pair) -> tuple[str, str, str]:
    """What sentences are compared with: question and answer, the question, and the answer."""
    pieces = pair.left.pieces
    return _whole(pair.left), pieces[0], pieces[-1]


def _features(pair: Pair, vectors: Mapping[str, Tensor]) -> np.ndarray:
    """(right spans, 9): cosines with question and answer, question, answer; and of the first of these, the rank, the
    neighbours' before and after, and the document's best; the place in the document, and the length in words.
    """
    pieces = pair.right.pieces
    if not pieces:
        return np.zeros((0, 9))
    sentences = _stacked(vectors, pieces)
    both, question, answer = (sentences @ vectors[text] for text in _questions(pair))
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


# What agreement could be: of links that know what people marked, and of a second person with the first.


def knowing_links(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Links under the row's constraint, where marked spans are cheap: two cost 0, one 0.5, none 1."""
    rule = settings.rule.build()
    if not isinstance(rule, Transport):
        raise ValueError('The baseline "marks-known" links spans: it takes a [rule] constraint, not attention.')
    chosen, links = [], []
    for pair in pairs:
        left, right = _marks(pair.left, pair.left_rationale), _marks(pair.right, pair.right_rationale)
        cost = 1 - (left[:, None] + right[None, :]) / 2
        linked = rule.active(cost[None], torch.tensor([cost.shape]))[0]
        chosen.append(_choice(linked.any(dim=1), linked.any(dim=0)))
        links.append(int(linked.sum()))
    counts = {"active alignments": bootstrap(links)._asdict()}
    return {**counts, **rationale_metrics(pairs, chosen), "pairs": len(pairs)}


def second_person(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """What a second person marked, as if a model had chosen it; those marks lie beside the data, in NAME-second."""
    folder = Path(settings.data).resolve()
    beside = folder.with_name(f"{folder.name}-second")
    if not beside.is_dir():
        how = f"whymatch data prepare {folder.name} --annotation second --from … --out {beside}"
        raise ValueError(f"There is no {beside}. Make it: {how}")
    others: dict[str, Any] = {pair.id: pair for pair in read_split(beside, "test", settings.task, settings.spans)}
    chosen = []
    for pair in pairs:
        other = others.get(pair.id)
        if other is None or (other.left, other.right) != (pair.left, pair.right):
            raise ValueError(f"{beside} does not have the pair {pair.id} of {folder}: prepare both from one source.")
        if other.left_rationale is None or other.right_rationale is None:
            raise ValueError(f"Nobody else was asked about the pair {pair.id}: {beside} has no marks of it.")
        chosen.append(_choice(_marks(pair.left, other.left_rationale), _marks(pair.right, other.right_rationale)))
    return {**rationale_metrics(pairs, chosen), "pairs": len(pairs)}


def _choice(left: Tensor, right: Tensor) -> Selection:
    """The spans of either side that are not 0, each chosen to the full."""
    numbers = [side.nonzero().flatten().tolist() for side in (left, right)]
    return Selection((numbers[0], numbers[1]), (left.float().tolist(), right.float().tolist()))


# What several of them use.


def _right_metrics(pairs: Sequence[Pair], selection: Sequence[Tensor]) -> dict[str, Any]:
    """The agreement of the two right spans that are selected most strongly; nothing is chosen on the left."""
    chosen = [
        Selection(([], highest(strengths, SENTENCES)), ([0.0] * len(pair.left), strengths.tolist()))
        for pair, strengths in zip(pairs, selection, strict=True)
    ]
    right_only = [replace(pair, left_rationale=None) for pair in pairs]
    return {**rationale_metrics(right_only, chosen), "pairs": len(pairs)}


def _marks(text: Document, marked: Sequence[Span] | None) -> Tensor:
    """(spans): 1 where people marked something, 0 elsewhere."""
    marks = torch.zeros(len(text))
    marks[spans_in(text, marked or ())] = 1.0
    return marks


def _check_marked(pairs: Sequence[Pair]) -> None:
    """Raises where nobody was asked for the reason in a right text, or a left text says nothing."""
    for pair in pairs:
        if pair.right_rationale is None:
            raise ValueError(f"Pair {pair.id} has no right rationale to compare with.")
        if not len(pair.left):
            raise ValueError(f"Pair {pair.id} has an empty left text.")


def _whole(text: Document) -> str:
    """The spans of a text as one, joined by blanks."""
    return " ".join(text.pieces)


def _vectors(texts: Iterable[str], settings: Settings) -> dict[str, Tensor]:
    """Vectors of length 1, each distinct text encoded once."""
    distinct = list(dict.fromkeys(texts))
    encoder = SentenceEncoder(settings.encoder.model or MINILM)
    vectors = encoder.encode(distinct, [[Span(0, len(text))] for text in distinct])
    return dict(zip(distinct, unit(torch.from_numpy(np.concatenate(vectors))), strict=True))


def _stacked(vectors: Mapping[str, Tensor], pieces: Sequence[str]) -> Tensor:
    """(pieces, dimensions)."""
    size = len(next(iter(vectors.values())))
    return torch.stack([vectors[piece] for piece in pieces]) if pieces else torch.zeros(0, size)


Measure = Callable[[Sequence[Any], Settings], dict[str, Any]]
BASELINES: dict[str, tuple[Literal["rank", "classify"], Measure]] = {
    "bm25": ("rank", bm25),
    "max-sim": ("rank", late_interaction),
    "nearest-two": ("classify", nearest_two),
    "boosted-trees": ("classify", boosted_trees),
    "farthest-words": ("classify", farthest_words),
    "marks-known": ("classify", knowing_links),
    "second-person": ("classify", second_person),
}
