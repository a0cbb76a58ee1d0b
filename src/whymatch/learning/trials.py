"""What a cost and a constraint are worth on validation, with vectors of a frozen encoder and nothing trained.

Every record of a sample has a value of its own, so that two candidates can be compared record by record.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from whymatch.batching import Size, size_sorted
from whymatch.cost import Cost, WordCounts
from whymatch.datasets.records import Pair
from whymatch.evaluation.intervals import Interval, bootstrap
from whymatch.evaluation.ranking import average_precision
from whymatch.evaluation.rationales import tokens_in
from whymatch.interruption import interruption_point
from whymatch.learning.shape import is_marked
from whymatch.matching.comparing import compare
from whymatch.matching.head import Head
from whymatch.matching.solving import Solved, fit_problem, solve_batch
from whymatch.text.document import Document
from whymatch.text.encoders import Pair as Texts
from whymatch.text.encoders import all_or_raise
from whymatch.transport.constraints import Constraint, UpTo, parse_constraint

MAX_QUERIES, MAX_PAIRS_TRIED = 300, 3_000  # records of the validation split
MAX_PAIRS_LEARNED = 1_500  # of the training split, from which labels are learned
MAX_CHARACTERS = 3_000_000  # that are encoded: about a minute on one core
MIN_GROUPS = 20  # of records that share no text, below which an interval says nothing
ORDER = ("neighbours", "whole_text", "novelty", "shared_words", "rare_words")
"""The terms that are tried, in the order that they have in a cost."""
_EPOCHS, _BATCH, _RATE = 8, 64, 2e-3  # by which a head learns labels from links
_CELLS = 2**20  # pairs of spans that are solved together, padding included
Encode = Callable[[Sequence[Document]], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Links:
    """How many links: a constraint as settings name it, and for up-to how many links a pair has in the mean.

    `below` is a threshold that is given, in place of a number of links.
    """

    constraint: str
    per_pair: float | None = None
    below: float | None = None

    def __str__(self) -> str:
        return self.constraint if self.per_pair is None else f"{self.constraint}, {self.per_pair:g} links a pair"


@dataclass(frozen=True)
class Candidate:
    """Terms with their numbers, and links."""

    terms: tuple[tuple[str, float], ...]
    links: Links

    @property
    def cost(self) -> list[dict[str, float]]:
        """The terms as settings name them."""
        return [{name: value} for name, value in self.terms]

    def value_of(self, name: str) -> float:
        """The number of a term, 0 without it."""
        return dict(self.terms).get(name, 0.0)

    def having(self, name: str, value: float) -> "Candidate":
        """The same with a term at this number; without it where that is 0."""
        values = {**dict(self.terms), name: value}
        return replace(self, terms=tuple((key, values[key]) for key in ORDER if values.get(key)))

    def __str__(self) -> str:
        terms = [f"{name} {value:g}" for name, value in self.terms]
        return f"{', '.join(terms) or 'cosine alone'}; {self.links}"


def groups_of(pairs: Sequence[Pair]) -> np.ndarray:
    """(pairs): the number of the group of each, all of which have the same left text, or the same right text.

    The side with fewer distinct texts counts: documents with many questions, say.
    """
    sides: list[list[Hashable]] = [[pair.left for pair in pairs], [pair.right for pair in pairs]]
    names = min(sides, key=lambda side: len(set(side)))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], int)


def grouped_interval(difference: np.ndarray, groups: np.ndarray, seed: int) -> Interval:
    """The mean of a difference (records), with its bootstrap interval over groups (records) of them."""
    numbers = np.unique(groups, return_inverse=True)[1]
    sums = np.stack([np.bincount(numbers, difference), np.bincount(numbers)], axis=1)
    return bootstrap(sums, lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()), seed=seed)


class Trials:
    """A sample of the validation split, on which candidates are tried.

    Args:
        task: rank or classify.
        train: the training split, for labels where people marked nothing.
        validation: the validation split.
        encode: the vectors (spans, dimensions) of texts.
        counts: in how many texts words are.
        seed: the same seed draws the same sample.
    """

    def __init__(
        self,
        task: str,
        train: Sequence[Any],
        validation: Sequence[Any],
        encode: Encode,
        counts: WordCounts,
        seed: int,
    ) -> None:
        self.marked = task == "classify" and sum(map(is_marked, validation)) >= MIN_GROUPS
        self.ranks = task == "rank"
        chosen = [record for record in validation if not self.marked or is_marked(record)]
        self.records = _sample(chosen, MAX_QUERIES if self.ranks else MAX_PAIRS_TRIED, seed)
        self.learned: list[Any] = []
        if not self.ranks and not self.marked:
            self.learned = _sample(train, MAX_PAIRS_LEARNED, seed)
        self.encode, self.counts, self.seed = encode, counts, seed
        self.fixed: Cost | None = None
        """The cost of all candidates, where it is not to be chosen."""
        self._costs: dict[tuple[tuple[str, float], ...], tuple[Cost, list[np.ndarray]]] = {}
        self._values: dict[Candidate, np.ndarray] = {}

    @property
    def measure(self) -> str:
        """What a value of a record is, for people."""
        if self.ranks:
            return "MAP"
        return "rationale F1" if self.marked else "probability of the right label"

    @cached_property
    def groups(self) -> np.ndarray:
        """(records): the group of each, which share a text; a query is a group of its own."""
        return np.arange(len(self.records)) if self.ranks else groups_of(self.records)

    @property
    def can_tell(self) -> bool:
        """Whether there are records enough to tell candidates apart."""
        enough = len(np.unique(self.groups)) >= MIN_GROUPS
        return enough and (self.ranks or self.marked or len(self.learned) >= MIN_GROUPS)

    @cached_property
    def pairs(self) -> list[Texts]:
        """The texts of all records, those that labels are learned from first."""
        if self.ranks:
            return [(query.query, text) for query in self.records for text in query.documents]
        return [(pair.left, pair.right) for pair in (*self.learned, *self.records)]

    @cached_property
    def vectors(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The vectors of both texts of each pair; every text is encoded once."""
        distinct = list(dict.fromkeys(text for pair in self.pairs for text in pair))
        by_text = dict(zip(distinct, self.encode(distinct), strict=True))
        return [(by_text[left], by_text[right]) for left, right in self.pairs]

    def gain(self, before: Candidate, after: Candidate) -> Interval:
        """By how much one is better than another, with its bootstrap interval over groups of records."""
        return self.interval(self.values(after) - self.values(before))

    def interval(self, difference: np.ndarray) -> Interval:
        """The mean of a difference (records), with its bootstrap interval over groups of records."""
        return grouped_interval(difference, self.groups, self.seed)

    def values(self, candidate: Candidate) -> np.ndarray:
        """(records): what each is worth under a candidate, from 0 to 1; high is good."""
        if candidate not in self._values:
            measure = self._ranked if self.ranks else self._agreement if self.marked else self._predicted
            self._values[candidate] = np.array(measure(self._solved(candidate)))
        return self._values[candidate]

    def score(self, candidate: Candidate) -> float:
        """The mean of the values."""
        return float(self.values(candidate).mean())

    def constraint(self, candidate: Candidate) -> Constraint | None:
        """The constraint of a candidate; None where texts have fewer links than it asks for.

        That of up-to has the threshold under which pairs that match have so many links in the mean.
        """
        links = candidate.links
        if links.per_pair is None:
            return parse_constraint(links.constraint, links.below)
        cost, costs = self._compared(candidate.terms)
        matching = np.flatnonzero(self._matching)
        pairs, own = [self.pairs[number] for number in matching], [costs[number] for number in matching]
        most = parse_constraint(links.constraint, 0.0).rule()[1]
        highest = max((float(matrix.max()) for matrix in own if matrix.size), default=0.0)
        linked = np.sort(np.concatenate([_linked(one) for one in _solve(cost, pairs, own, UpTo(most, highest + 1))]))
        wanted = round(links.per_pair * len(pairs))
        if wanted >= len(linked):
            return None
        below = float(f"{(linked[wanted - 1] + linked[wanted]) / 2:.3g}")
        return UpTo(most, below) if below > cost.least else None

    @cached_property
    def _matching(self) -> list[bool]:
        """Which pairs of texts may match: not those of a query with dissimilar documents."""
        if self.ranks:
            return [relevant for query in self.records for relevant in query.relevant]
        return [True] * len(self.pairs)

    def _compared(self, terms: tuple[tuple[str, float], ...]) -> tuple[Cost, list[np.ndarray]]:
        """A cost, and what it makes of every pair."""
        if terms not in self._costs:
            cost = self.fixed or Cost.from_list([{name: value} for name, value in terms], self.counts)
            cost = cost.before_evidence or cost
            self._costs = {**dict([*self._costs.items()][-3:]), terms: (cost, compare(cost, self.pairs, self.vectors))}
        return self._costs[terms]

    def _solved(self, candidate: Candidate) -> list[Solved]:
        cost, costs = self._compared(candidate.terms)
        constraint = self.constraint(candidate)
        assert constraint is not None
        return _solve(cost, self.pairs, costs, constraint)

    def _ranked(self, solved: Sequence[Solved]) -> list[float]:
        """The average precision of each query."""
        scores = iter([one.score for one in solved])
        return [average_precision([next(scores) for _ in query.documents], query.relevant) for query in self.records]

    @cached_property
    def _tokens(self) -> dict[Document, list[set[int]]]:
        """The tokens of every span of each text."""
        return {text: [tokens_in(text.text, [span]) for span in text.spans] for pair in self.pairs for text in pair}

    @cached_property
    def _gold(self) -> list[list[set[int] | None]]:
        """The tokens that people marked in the left and in the right text of each pair; None where nobody was asked."""
        return [
            [
                None if marks is None else tokens_in(text.text, marks)
                for text, marks in ((pair.left, pair.left_rationale), (pair.right, pair.right_rationale))
            ]
            for pair in self.records
        ]

    def _agreement(self, solved: Sequence[Solved]) -> list[float]:
        """The token F1 of what is linked in each pair with what people marked, both texts as one."""
        values = []
        for one, gold in zip(solved, self._gold, strict=True):
            shared = sizes = chosen_tokens = gold_tokens = 0
            for side, marked in enumerate(gold):
                if marked is not None:
                    spans = np.flatnonzero((one.plan != 0).any(axis=1 - side)).tolist()
                    own = self._tokens[one.problem.texts[side]]
                    chosen = set[int]().union(*(own[number] for number in spans))
                    shared, sizes = shared + len(chosen & marked), sizes + len(chosen) + len(marked)
                    chosen_tokens, gold_tokens = chosen_tokens + len(chosen), gold_tokens + len(marked)
            values.append(2 * shared / sizes if chosen_tokens and gold_tokens else 0.0)
        return values

    def _predicted(self, solved: Sequence[Solved]) -> list[float]:
        """The probability of the right label of each pair, by a head that learns from the links of training pairs."""
        records = [*self.learned, *self.records]
        labels = sorted({pair.label for pair in records})
        gold = torch.tensor([labels.index(pair.label) for pair in records])
        links = [(number, i, j) for number, one in enumerate(solved) for i, j in np.argwhere(one.plan != 0).tolist()]
        masses = torch.tensor([solved[number].plan[i, j] for number, i, j in links], dtype=torch.float32)
        left, right = (
            torch.from_numpy(np.array(rows, np.float32).reshape(len(links), self.vectors[0][0].shape[1]))
            for rows in ([self.vectors[link[0]][side][link[1 + side]] for link in links] for side in (0, 1))
        )
        of_pair = torch.tensor([number for number, _, _ in links], dtype=torch.long)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            head = Head(left.shape[1], len(labels))
            optimiser = torch.optim.Adam(head.parameters(), lr=_RATE)

            def logits(numbers: torch.Tensor) -> torch.Tensor:
                """(pairs, labels) of pairs, whose numbers are sorted."""
                rows = torch.isin(of_pair, numbers).nonzero().flatten()
                weighted = head.compared(left[rows], right[rows]) * masses[rows, None]
                places = torch.searchsorted(numbers, of_pair[rows])
                return head.decide(weighted.new_zeros(len(numbers), weighted.shape[1]).index_add(0, places, weighted))

            for _ in range(_EPOCHS):
                for drawn in torch.split(torch.randperm(len(self.learned)), _BATCH):
                    numbers = drawn.sort().values
                    optimiser.zero_grad()
                    torch.autograd.backward(torch.nn.functional.cross_entropy(logits(numbers), gold[numbers]))
                    optimiser.step()
            head.eval()
            with torch.no_grad():
                numbers = torch.arange(len(self.learned), len(records))
                probabilities = logits(numbers).softmax(dim=1)
        return probabilities[torch.arange(len(numbers)), gold[numbers]].tolist()


def _solve(cost: Cost, pairs: Sequence[Texts], costs: Sequence[np.ndarray], constraint: Constraint) -> list[Solved]:
    """The optimal plan of every pair of texts with these costs (n, m), k made smaller where a text is short."""
    solved: dict[int, Solved] = {}
    groups: dict[Constraint, list[int]] = defaultdict(list)
    problems = all_or_raise([fit_problem(pair, constraint, True, by_default=False) for pair in pairs])
    for number, problem in enumerate(problems):
        groups[problem.constraint].append(number)
    sizes = [Size(1, *matrix.shape) for matrix in costs]
    for numbers in groups.values():
        for batch in size_sorted(numbers, sizes, _CELLS):
            interruption_point()
            plans = solve_batch([problems[b] for b in batch], [costs[b] for b in batch], cost.neutral)
            solved |= zip(batch, all_or_raise(plans), strict=True)
    return [solved[number] for number in range(len(pairs))]


def _linked(solved: Solved) -> np.ndarray:
    """(links): what they cost."""
    return solved.cost[solved.plan != 0]


def _sample(records: Sequence[Any], most: int, seed: int) -> list[Any]:
    """So many records at most, with so much text that encoding it takes about a minute; in their order."""
    numbers = random.Random(seed).sample(range(len(records)), min(most, len(records)))
    seen, characters, chosen = set[Document](), 0, list[int]()
    for number in numbers:
        record = records[number]
        texts = (record.left, record.right) if isinstance(record, Pair) else (record.query, *record.documents)
        new = set(texts) - seen
        characters += sum(len(text.text) for text in new)
        if characters > MAX_CHARACTERS and chosen:
            break
        seen |= new
        chosen.append(number)
    return [records[number] for number in sorted(chosen)]
