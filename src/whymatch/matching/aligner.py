"""From two texts to their alignment: split, encode, compare, solve."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from torch import Tensor

from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment, Certificate, Link, Step
from whymatch.matching.costs import COSTS, Cost, calibrated, cosine_distance, out_of_order
from whymatch.matching.encoding import encode_pairs
from whymatch.matching.rarity import Rarity
from whymatch.matching.refinement import Refinement
from whymatch.text.document import LIMIT, Document, document
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.spans import Splitter, splitter, words
from whymatch.transport.batch import pad
from whymatch.transport.constraints import Constraint, UpTo, check_constraint
from whymatch.transport.exact import margin, path, solve
from whymatch.transport.solution import OptimalPath as Steps
from whymatch.transport.solution import Solution, Status

Text: TypeAlias = str | Sequence[str] | Document

ORDER = 0.4  # how much words prefer links in the order of the texts
# Costs below which spans are taken to match where nobody gives a constraint, by encoder, cost and order: sentences by
# benchmarks/thresholds.py, words by benchmarks/word_alignment.py.
THRESHOLDS = {
    (MINILM, cosine_distance.name, 0.0): 0.55,
    (f"{MINILM}, layer 3", calibrated().name, ORDER): 0.84,
}
LONGEST_PATH = 32  # links, in the path that the slider shows
MARGIN_WORK = 10**8  # links × pairs, beyond which the margin is not computed
AT_ONCE = 2**22  # pairs of spans in a batch
MOST_PAIRS = 2**26  # pairs of spans of two texts


@dataclass(frozen=True)
class Task:
    """Two texts to be aligned, and the constraint that suits their sizes."""

    texts: tuple[Document, Document]
    constraint: Constraint
    clipped: bool


class Aligner:
    """Aligns texts. Parts are given by name or built: what splits, what encodes, what a pair of spans costs.

    Sentences are encoded alone by MiniLM and compared by cosine distance. Words are encoded in context, by a middle
    layer of it, and compared by calibrated cosine. `order` is the price of links out of order, `below` the cost under
    which spans match if no constraint is given, `rarity` what links of rare words are worth, and `refinement` what a
    cost loses or gains by those around it.

    `split` is sentence, word, paragraph, line, text, punkt or a function; `encode` a model's name or folder, a file of
    word vectors, or an encoder; `cost` cosine, calibrated, dot, euclidean or another key of `COSTS`, or a `Cost`.
    """

    def __init__(
        self,
        split: str | Splitter = "sentence",
        encode: str | Encoder | None = None,
        cost: str | Cost | None = None,
        *,
        order: float | None = None,
        below: float | None = None,
        rarity: Rarity | None = None,
        refinement: Refinement | None = None,
        limit: int = LIMIT,
    ) -> None:
        self.split = splitter(split) if isinstance(split, str) else split
        of_words = self.split is words
        self.separator = " " if of_words else "\n"  # between the pieces of a text that comes split
        self.encoder = encoder_for(split, encode) if encode is None or isinstance(encode, str) else encode
        if isinstance(cost, str) and cost not in COSTS:
            raise ValueError(f"Costs are {', '.join(COSTS)} or a Cost, got {cost!r}.")
        self.cost = COSTS[cost] if isinstance(cost, str) else cost or (calibrated() if of_words else cosine_distance)
        self.order = order if order is not None else ORDER if of_words and self.cost == calibrated() else 0.0
        known = THRESHOLDS.get((self.encoder.name, self.cost.name, self.order))
        self.rarity, self.refinement = rarity, refinement
        self.threshold = None if self.adjusted else known
        self.below = self.threshold if below is None else below
        self.limit = limit

    def __repr__(self) -> str:
        name = getattr(self.split, "__name__", repr(self.split))
        return f"Aligner({name}, {self.encoder.name}, {self.cost_name})"

    @property
    def zooms(self) -> bool:
        """Whether there are words inside its spans to be shown."""
        return self.split is not words and not isinstance(self.encoder, Precomputed)

    @property
    def cost_name(self) -> str:
        """What its costs are, in words."""
        refined = ", refined" if self.refinement is not None else ""
        return f"{self.cost.name}{refined}{', with rarity' if self.rarity is not None else ''}"

    @property
    def adjusted(self) -> bool:
        """Whether costs are more than what the vectors of two spans give."""
        return self.rarity is not None or self.refinement is not None

    @property
    def contextual(self) -> bool:
        """Whether a cost depends on more than the text of its two spans."""
        return self.encoder.contextual or self.cost.of_all or self.order != 0 or self.refinement is not None

    def align(self, left: Text, right: Text, constraint: Constraint | None = None) -> Alignment:
        """The optimal alignment of two texts: strings, or lists of strings that are split already."""
        (found,) = self.outcomes([(left, right)], constraint)
        if isinstance(found, ValueError):
            raise found
        return found

    def align_many(
        self,
        pairs: Iterable[tuple[Text, Text]],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
    ) -> list[Alignment]:
        """One alignment a pair, encoded and solved together; `clip` makes k smaller where a text is short.

        `links_only` leaves out the margin and the path, which take longer than the links where texts have many spans.
        """
        alignments = []
        for number, found in enumerate(self.outcomes(pairs, constraint, clip=clip, links_only=links_only)):
            if isinstance(found, ValueError):
                raise ValueError(f"Pair {number}: {found}") from None
            alignments.append(found)
        return alignments

    def outcomes(
        self,
        pairs: Iterable[tuple[Text, Text]],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
    ) -> list[Alignment | ValueError]:
        """As `align_many`, but a pair that cannot be aligned gives its error and changes nothing for the others."""
        if constraint is not None:
            check_constraint(constraint)
        wanted = self.default() if constraint is None else constraint.resolved(self.below)
        below = wanted.zero(inf)
        if not self.adjusted and below <= self.cost.least:
            known = f", such as {self.threshold:g}" if self.threshold else ""
            reason = f"no pair has a {self.cost.name} below {below:g}"
            raise ValueError(f"{wanted} links nothing: {reason}. Give a larger one{known}.")
        outcomes: list[Any] = [self.split_pair(pair, wanted, clip) for pair in pairs]
        ready = [number for number, found in enumerate(outcomes) if isinstance(found, Task)]
        vectors = dict(
            zip(ready, encode_pairs(self.encoder, [outcomes[number].texts for number in ready]), strict=True)
        )
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number, found in vectors.items():
            if isinstance(found, ValueError):
                outcomes[number] = found
            else:
                groups[outcomes[number].constraint].append(number)
        for numbers in groups.values():
            for some in batches(numbers, [tuple(map(len, outcomes[number].texts)) for number in numbers]):
                interruption_point()
                costs = [self.compare(outcomes[number].texts, *vectors[number]) for number in some]  # type: ignore[misc]
                tasks = [outcomes[number] for number in some]
                solved = self.solve(tasks, costs, by_default=constraint is None, links_only=links_only)
                for number, alignment in zip(some, solved, strict=True):
                    outcomes[number] = alignment
        return outcomes

    def default(self) -> UpTo:
        """What is used without a constraint."""
        if self.below is None:
            parts = f"{self.encoder.name} with {self.cost_name} and order {self.order:g}"
            advice = "Give a constraint, or Aligner(below=…): the cost under which spans match."
            raise ValueError(f"No threshold is known for {parts}. {advice}")
        return UpTo(1, below=self.below)

    def split_pair(self, pair: Any, wanted: Constraint, clip: bool) -> "Task | ValueError":
        """Both texts split, with the constraint that fits them, or what is wrong."""
        try:
            if isinstance(pair, str) or len(pair) != 2:
                raise TypeError(f"A pair is (left, right), got {pair!r:.60}.")
            left, right = (document(text, self.split, limit=self.limit, separator=self.separator) for text in pair)
        except (ValueError, TypeError) as error:
            return ValueError(str(error))
        sizes = len(left), len(right)
        if sizes[0] * sizes[1] > MOST_PAIRS:
            pairs = f"{sizes[0]:,} × {sizes[1]:,} pairs of spans"
            return ValueError(f"{pairs} are more than {MOST_PAIRS:,}, and would not fit in memory. Use larger spans.")
        if not clip and not wanted.admits(*sizes):
            return ValueError(wanted.advice(*sizes))
        fits = wanted.fitted(*sizes)
        return Task((left, right), wanted if fits is None else fits, clipped=fits != wanted)

    def costs(self, pairs: Sequence[tuple[Document, Document]]) -> list[Tensor]:
        """The cost of every pair of spans, for each pair of texts."""
        costs = []
        for texts, found in zip(pairs, encode_pairs(self.encoder, pairs), strict=True):
            if isinstance(found, ValueError):
                raise found
            costs.append(self.compare(texts, *found))
        return costs

    def compare(self, texts: tuple[Document, Document], left: Tensor, right: Tensor) -> Tensor:
        """The costs of two texts with these vectors."""
        cost = self.cost(left.double(), right.double())
        if self.rarity is not None and self.rarity.shared:
            cost = cost - self.rarity.between(*texts).to(cost)
        if self.refinement is not None:
            cost = self.refinement.alone(cost)
        if self.rarity is not None:
            of_left, of_right = (self.rarity.of(text).to(cost) for text in texts)
            cost = cost - of_left[:, None] - of_right[None]
        return cost + self.order * out_of_order(*cost.shape) if self.order else cost

    def solve(
        self,
        tasks: "Sequence[Task]",
        costs: Sequence[Tensor],
        *,
        by_default: bool = False,
        links_only: bool = False,
    ) -> list[Alignment | ValueError]:
        """The optimal alignments of texts under one constraint, with these costs."""
        constraint = tasks[0].constraint
        padded, sizes = pad(costs)
        solution = solve(padded, constraint, sizes=sizes, strict=False)
        margins: Sequence[float | None] = [None] * len(tasks)
        steps: Steps | None = None
        if not links_only:
            margins = affordable_margins(padded, constraint, solution, sizes)
            interruption_point()
            steps = path(padded, min(LONGEST_PATH, int(sizes.amin(dim=1).max())) or 1, sizes=sizes)
        links: list[list[tuple[int, int]]] = [[] for _ in tasks]
        for b, i, j in solution.links.tolist():
            links[b].append((i, j))
        zero = constraint.zero(self.cost.neutral)
        alignments: list[Alignment | ValueError] = []
        for b, (task, cost) in enumerate(zip(tasks, costs, strict=True)):
            interruption_point()
            left, right = task.texts
            solved = solution.status[b] == Status.OK
            if not solved and len(left) and len(right):
                alignments.append(ValueError("The costs are no numbers, or forbid so many pairs that nothing is left."))
                continue
            found = (
                make_link(left, right, i, j, float(cost[i, j]), float(solution.plan[b, i, j]), zero)
                for i, j in links[b]
            )
            gap, margin = (float(solution.gap[b]), margins[b]) if solved else (0.0, inf)  # nothing to align
            alignments.append(
                Alignment(
                    left,
                    right,
                    tuple(sorted(found, key=lambda link: (-link.share, link.at))),
                    constraint,
                    by_default=by_default,
                    cost=self.cost_name,
                    neutral=self.cost.neutral,
                    encoder=self.encoder.name,
                    contextual=self.contextual,
                    certificate=Certificate(len(links[b]), gap, margin, task.clipped),
                    path=() if steps is None else tuple(self.steps(cost, Steps(*(values[b] for values in steps)))),
                    aligner=self,
                )
            )
        return alignments

    def steps(self, cost: Tensor, found: Steps) -> Iterable[Step]:
        """The path of one problem, as far as it goes."""
        reach = min(len(found.cost), *cost.shape)
        costs, increments, gaps = (values[:reach].tolist() for values in (found.cost, found.increments, found.gap))
        for k, partners in enumerate(found.partner[:reach].tolist(), start=1):
            if costs[k - 1] == inf:
                return  # +inf forbids so many pairs that there are no k links
            links = tuple((i, j, float(cost[i, j])) for i, j in enumerate(partners) if j >= 0)
            score, adds = self.cost.neutral - costs[k - 1] / k, self.cost.neutral - increments[k - 1]
            yield Step(k, score, adds, gaps[k - 1], links)


def make_link(left: Document, right: Document, i: int, j: int, cost: float, mass: float, zero: float) -> Link:
    a, b = left.spans[i], right.spans[j]
    texts = left.text[a.start : a.end], right.text[b.start : b.end]
    return Link(a, b, (i, j), texts, cost, mass, mass * (zero - cost))


def affordable_margins(costs: Tensor, constraint: Constraint, solution: Solution, sizes: Tensor) -> list[float | None]:
    """The margin of each problem, None where it would take too long: it solves once more for every link."""
    work = (solution.plan > 0).sum(dim=(1, 2)) * sizes.prod(dim=1)
    some = (work <= (MARGIN_WORK // 10 if constraint.takes_masses else MARGIN_WORK)).nonzero().flatten()
    found: list[float | None] = [None] * len(costs)
    chosen = Solution(*(values[some] for values in solution))
    margins = margin(costs[some], constraint, chosen, sizes=sizes[some])
    for b, value in zip(some.tolist(), margins.tolist(), strict=True):
        found[b] = value
    return found


def batches(numbers: Sequence[int], sizes: Sequence[tuple[int, ...]]) -> Iterable[list[int]]:
    """Problems of similar size together, so that padding stays small."""
    some: list[int] = []
    widest = [0, 0]
    for position in sorted(range(len(numbers)), key=lambda position: sizes[position]):
        shape = [max(both) for both in zip(widest, sizes[position], strict=True)]
        if some and (len(some) + 1) * shape[0] * shape[1] > AT_ONCE:
            yield some
            some, shape = [], list(sizes[position])
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
    if split in ("word", words):
        from whymatch.text.encoders.context import WordEncoder

        return WordEncoder(model or MINILM, layer=layer, download=download)
    from whymatch.text.encoders.sentence import SentenceEncoder

    return SentenceEncoder(model or MINILM, download=download)


@cache
def default_words() -> Aligner:
    """The aligner of words that zooms into sentences."""
    return Aligner("word")
