"""Simple baselines: what a table's rows are worth beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from experiments.knowing import knowing_links, second_person
from experiments.nearest import farthest_words, nearest_two
from experiments.trees import boosted_trees
from whymatch.datasets.bm25 import scorer, tokens
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Query
from whymatch.learning.evaluate import check_queries, evaluate, ranking_metrics
from whymatch.learning.settings import Settings
from whymatch.matching.attention import active, max_sim
from whymatch.matching.ranker import Ranker
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.projected import Projected
from whymatch.text.encoders.sentence import SentenceEncoder


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


def bm25(queries: Sequence[Query], settings: Settings) -> dict[str, Any]:
    """Ranks by BM25, with word frequencies of all documents of the split; there are no links to count."""
    check_queries(queries)
    texts = list(dict.fromkeys(text.text for query in queries for text in query.documents))
    number, score = {text: place for place, text in enumerate(texts)}, scorer(texts)
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
