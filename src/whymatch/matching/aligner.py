"""From two texts to their alignment: split, encode, compare, solve."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from torch import Tensor

from whymatch.matching.alignment import Alignment, Certificate, Link, Step
from whymatch.matching.costs import Cost, calibrated, cosine_distance, out_of_order
from whymatch.text.document import LIMIT, Document, document
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.spans import Splitter, splitter
from whymatch.transport.batch import pad
from whymatch.transport.constraints import Constraint, UpTo, check_constraint, fitted
from whymatch.transport.exact import solve
from whymatch.transport.margin import margin
from whymatch.transport.path import path
from whymatch.transport.solution import Path as Steps
from whymatch.transport.solution import Status

Text: TypeAlias = str | Sequence[str] | Document

# Costs below which spans are taken to match where nobody asks for a constraint, by encoder and cost: sentences by
# benchmarks/thresholds.py, words by benchmarks/word_alignment.py.
THRESHOLDS = {
    (MINILM, cosine_distance.name): 0.55,
    (f"{MINILM}, layer 3", calibrated().name): 0.84,
}
ORDER = 0.4  # how much words prefer links in the order of the texts
LONGEST_PATH = 32  # links, in the path that the slider shows
MARGIN_WORK = 10**8  # links × pairs, beyond which the margin is not computed
AT_ONCE = 2**22  # pairs of spans in a batch
MOST_PAIRS = 2**26  # pairs of spans of two texts


@dataclass(frozen=True)
class Problem:
    """Two texts with the costs of their pairs of spans, and the constraint that suits their sizes."""

    left: Document
    right: Document
    cost: Tensor
    constraint: Constraint
    clipped: bool


class Aligner:
    """Aligns texts. Parts may be given by name or built: what splits, what encodes, what a pair of spans costs.

    Sentences are encoded alone by MiniLM and compared by cosine distance. Words are encoded in context, by a middle
    layer of it, and compared by calibrated cosine. `order` is the price of links out of order, `below` the cost under
    which spans match if no constraint is given.
    """

    def __init__(
        self,
        split: str | Splitter = "sentence",
        encode: Encoder | None = None,
        cost: Cost | None = None,
        *,
        order: float | None = None,
        below: float | None = None,
        limit: int = LIMIT,
    ) -> None:
        of_words = split == "word"
        self.split = splitter(split) if isinstance(split, str) else split
        self.encoder = encode if encode is not None else encoder_for(split)
        self.cost = cost or (calibrated() if of_words else cosine_distance)
        self.order = order if order is not None else ORDER if of_words and cost is None else 0.0
        self.below = below if below is not None else THRESHOLDS.get((self.encoder.name, self.cost.name))
        self.limit = limit

    @property
    def contextual(self) -> bool:
        """Whether a cost depends on more than the text of its two spans."""
        return self.encoder.contextual or self.cost.of_all or self.order != 0

    def align(self, left: Text, right: Text, constraint: Constraint | None = None) -> Alignment:
        """The optimal alignment of two texts: strings, or lists of strings that are split already."""
        (found,) = self.outcomes([(left, right)], constraint)
        if isinstance(found, ValueError):
            raise found
        return found

    def align_many(
        self, pairs: Iterable[tuple[Text, Text]], constraint: Constraint | None = None, *, clip: bool = False
    ) -> list[Alignment]:
        """One alignment a pair, encoded and solved together; `clip` makes k smaller where a text is short."""
        alignments = []
        for number, found in enumerate(self.outcomes(pairs, constraint, clip=clip)):
            if isinstance(found, ValueError):
                raise ValueError(f"Pair {number}: {found}") from None
            alignments.append(found)
        return alignments

    def outcomes(
        self, pairs: Iterable[tuple[Text, Text]], constraint: Constraint | None = None, *, clip: bool = False
    ) -> list[Alignment | ValueError]:
        """As `align_many`, but a pair that cannot be aligned gives its error and changes nothing for the others."""
        wanted = self.default() if constraint is None else constraint
        check_constraint(wanted)
        outcomes: list[Any] = [self.split_pair(left, right, wanted, clip) for left, right in pairs]
        ready = [number for number, found in enumerate(outcomes) if not isinstance(found, ValueError)]
        costs = self.costs([outcomes[number][:2] for number in ready])
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number, cost in zip(ready, costs, strict=True):
            left, right, fits = outcomes[number]
            outcomes[number] = Problem(left, right, cost, fits or wanted, clipped=fits != wanted)
            if cost.isfinite().all():
                groups[fits or wanted].append(number)
            else:
                outcomes[number] = ValueError(
                    "The vectors give costs that are not numbers. Look for NaN in the vectors."
                )
        for numbers in groups.values():
            for some in batches(numbers, [outcomes[number].cost for number in numbers]):
                solved = self.solve([outcomes[number] for number in some], by_default=constraint is None)
                for number, alignment in zip(some, solved, strict=True):
                    outcomes[number] = alignment
        return outcomes

    def default(self) -> UpTo:
        """What is used without a constraint."""
        if self.below is None:
            parts = f"{self.encoder.name} with {self.cost.name}"
            advice = "Give a constraint, or Aligner(below=…): the cost under which spans match."
            raise ValueError(f"No threshold is known for {parts}. {advice}")
        return UpTo(1, below=self.below)

    def split_pair(self, left: Text, right: Text, wanted: Constraint, clip: bool) -> Any:
        """Both documents and the constraint that fits them (None where there is nothing to align), or what is wrong."""
        try:
            documents = [document(text, self.split, limit=self.limit) for text in (left, right)]
        except ValueError as error:
            return error
        sizes = [len(text) for text in documents]
        if sizes[0] * sizes[1] > MOST_PAIRS:
            pairs = f"{sizes[0]:,} × {sizes[1]:,} pairs of spans"
            return ValueError(f"{pairs} are more than {MOST_PAIRS:,}, and would not fit in memory. Use larger spans.")
        if not clip and not wanted.admits(min(sizes), max(sizes)):
            assert not isinstance(wanted, UpTo)
            return ValueError(wanted.advice(*sizes))
        return (*documents, fitted(wanted, *sizes))

    def costs(self, pairs: Sequence[tuple[Document, Document]]) -> list[Tensor]:
        """The cost of every pair of spans, for each pair of texts."""
        distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
        encoded = self.encoder.encode([text.text for text in distinct], [text.spans for text in distinct])
        vectors = dict(zip(distinct, encoded, strict=True))
        return [self.compare(vectors[left], vectors[right]) for left, right in pairs]

    def compare(self, left: Tensor, right: Tensor) -> Tensor:
        """The costs of left vectors with right vectors."""
        cost = self.cost(left.double(), right.double())
        return cost + self.order * out_of_order(*cost.shape) if self.order else cost

    def solve(self, problems: Sequence[Problem], *, by_default: bool = False) -> list[Alignment]:
        """The optimal alignments of problems under one constraint."""
        constraint = problems[0].constraint
        costs, sizes = pad([problem.cost for problem in problems])
        solution = solve(costs, constraint, sizes=sizes, strict=False)
        work = len(solution.links) * costs.shape[1] * costs.shape[2] / len(costs)
        margins = margin(costs, constraint, solution, sizes=sizes).tolist() if work <= MARGIN_WORK else None
        steps = path(costs, min(LONGEST_PATH, int(sizes.amin(dim=1).max())) or 1, sizes=sizes)
        zero = constraint.below if isinstance(constraint, UpTo) else self.cost.neutral
        links: list[list[tuple[int, int]]] = [[] for _ in problems]
        for b, i, j in solution.links.tolist():
            links[b].append((i, j))
        return [
            Alignment(
                problem.left,
                problem.right,
                strongest_first(make_link(problem, i, j, float(solution.plan[b, i, j]), zero) for i, j in links[b]),
                constraint,
                by_default,
                self.cost.name,
                self.cost.neutral,
                self.encoder.name,
                self.contextual,
                Certificate(
                    len(links[b]),
                    float(solution.gap[b])
                    if solution.status[b] == Status.OK
                    else 0.0,  # nothing to align, nothing lost
                    None if margins is None else margins[b] if solution.status[b] == Status.OK else float("inf"),
                    problem.clipped,
                ),
                tuple(self.steps(problem, Steps(*(values[b] for values in steps)))),
                aligner=self,
            )
            for b, problem in enumerate(problems)
        ]

    def steps(self, problem: Problem, found: Steps) -> Iterable[Step]:
        """The path of one problem, as far as it goes."""
        reach = min(len(found.cost), *problem.cost.shape)
        costs, increments, gaps = (values[:reach].tolist() for values in (found.cost, found.increments, found.gap))
        for k, partners in enumerate(found.partner[:reach].tolist(), start=1):
            links = tuple((i, j, float(problem.cost[i, j])) for i, j in enumerate(partners) if j >= 0)
            score, adds = self.cost.neutral - costs[k - 1] / k, self.cost.neutral - increments[k - 1]
            yield Step(k, score, adds, gaps[k - 1], links)


def make_link(problem: Problem, i: int, j: int, mass: float, zero: float) -> Link:
    left, right = problem.left.spans[i], problem.right.spans[j]
    texts = problem.left.text[left.start : left.end], problem.right.text[right.start : right.end]
    cost = float(problem.cost[i, j])
    return Link(left, right, (i, j), texts, cost, mass, mass * (zero - cost))


def strongest_first(links: Iterable[Link]) -> tuple[Link, ...]:
    return tuple(sorted(links, key=lambda link: (-link.share, link.at)))


def batches(numbers: Sequence[int], costs: Sequence[Tensor]) -> Iterable[list[int]]:
    """Problems of similar size together, so that padding stays small."""
    order = sorted(range(len(numbers)), key=lambda position: costs[position].shape)
    some: list[int] = []
    widest = [0, 0]
    for position in order:
        shape = [max(sizes) for sizes in zip(widest, costs[position].shape, strict=True)]
        if some and (len(some) + 1) * shape[0] * shape[1] > AT_ONCE:
            yield some
            some, shape = [], list(costs[position].shape)
        some.append(numbers[position])
        widest = shape
    if some:
        yield some


def encoder_for(
    split: str | Splitter, model: str | None = None, *, layer: int | None = None, download: bool = False
) -> Encoder:
    """Words in context, other spans alone; by MiniLM unless another model, or a file of word vectors, is named."""
    if model is not None and (Path(model).is_file() or (Path(model) / "vocab").is_dir()):
        from whymatch.text.encoders.recurrent import RecurrentEncoder
        from whymatch.text.vectors import read_vectors

        return RecurrentEncoder(read_vectors(model), layers=0)
    if split == "word":
        from whymatch.text.encoders.word import WordEncoder

        return WordEncoder(model or MINILM, layer=layer, download=download)
    from whymatch.text.encoders.sentence import SentenceEncoder

    return SentenceEncoder(model or MINILM, download=download)


@cache
def default_words() -> Aligner:
    """The aligner of words that zooms into sentences."""
    return Aligner("word")
