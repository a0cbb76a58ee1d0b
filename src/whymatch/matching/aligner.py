"""From two texts to their alignment: split, encode, compare, solve."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from whymatch.batching import Size, size_sorted
from whymatch.cost import Background, Calibrated, Cosine, Cost, Evidence, Order, named_cost
from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment
from whymatch.matching.comparing import compare
from whymatch.matching.frames import Alignments, Frame, with_alignments
from whymatch.matching.judging import HasBackground, Judge, calibrated, judgements
from whymatch.matching.parts import Certificate, Judgement, Step, make_link
from whymatch.matching.relations import shipped_reader
from whymatch.matching.significance import Calibration, Scale
from whymatch.matching.solving import (
    NO_PROOF,
    Problem,
    Solved,
    fit_problem,
    link_mass,
    prove_batch,
    solve_batch,
)
from whymatch.progress import Update, call_progress
from whymatch.text.document import LIMIT, Document, document, same_text
from whymatch.text.encoders import (
    Pair,
    Vectors,
    all_or_raise,
    check_readable,
    check_vectors,
    encode_pairs,
    reads_pairs,
)
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.naming import encoder_for
from whymatch.text.encoders.own import GivenEncoder, given_encoder
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.spans import Splitter, splitter, words
from whymatch.transport.constraints import Constraint, UpTo, check_constraint

Text: TypeAlias = str | Sequence[str] | Document

PLAIN_COST = Cost(Cosine())
EVIDENCE = Cost(Cosine(), Evidence())
WORD_COST = Cost(Cosine(), Calibrated(), Order(0.4))
MAX_PAIRS_PER_BATCH = 2**22  # pairs of spans, padding included
# Costs below which words are taken to match where nobody gives a threshold: benchmarks/word_alignment.py.
THRESHOLDS = {(f"{MINILM}, layer 3", WORD_COST): 0.84}


class Aligner:
    """Aligns texts. Parts are given by name or built: how texts are cut, what encodes, what a pair of spans costs.

    Sentences are encoded alone by MiniLM, words in context by a middle layer of it. What a pair of spans is worth is
    its evidence, in bits: how surprising their cosine is against a background. Words of texts that are known to match,
    such as two sentences of a link, are aligned by `cost="calibrated"`: calibrated cosine with a preference for the
    order of the texts, which links frequent words too.

    >>> import whymatch as wm
    >>> why = wm.Aligner().align("My train was late. I missed the flight.", "I missed the plane. My train was delayed.")
    >>> why.to_pharaoh(), why.probability > 0.5
    ('0-1 1-0', True)

    Args:
        spans: sentence, word, paragraph, line, text, punkt, or a function of a text that gives its spans.
        encode: a model's name or folder, "multilingual", a file of word vectors, or an encoder; also a model with a
            method `encode`, such as a SentenceTransformer or a StaticModel, or any function from a list of strings to
            an array (n, d).
        cost: evidence, cosine, calibrated, dot, euclidean or another key of `whymatch.cost.COSTS`, or a `Cost`.
        below: the cost under which spans match where a constraint does not say; 0 for evidence, which is in minus bits.
        background: what evidence is measured against: texts like those that are compared, 200 or more, as a list, a
            `Background`, or an index, which has one of its documents.
            Without it, many texts that are aligned together are their own background, and others are judged against
            the one that ships with whymatch.
        calibration: what makes probabilities of evidence, in place of the one that ships: what `calibrate` gave, or
            the file that `whymatch calibrate` wrote.
        limit: spans in a text.
        relations: whether each link says what it means (`Link.relation`), and which words contradict each other
            (`Link.conflicts`); for English texts.
    """

    def __init__(
        self,
        spans: str | Splitter = "sentence",
        encode: str | Path | GivenEncoder | None = None,
        cost: str | Cost | None = None,
        *,
        below: float | None = None,
        background: Background | HasBackground | list[str] | tuple[str, ...] | None = None,
        calibration: Calibration | str | Path | None = None,
        limit: int = LIMIT,
        relations: bool = False,
    ) -> None:
        self.spans = spans
        self.splitter = splitter(spans) if isinstance(spans, str) else spans
        of_words = self.splitter is words
        self.separator = " " if of_words else "\n"  # between the pieces of a text that comes split
        if encode is None or isinstance(encode, str | Path):
            self.encoder = encoder_for(spans, encode)
        else:
            self.encoder = given_encoder(encode)
        if of_words and cost == "calibrated":
            cost = WORD_COST
        if cost is None and background is None and (isinstance(self.encoder, Precomputed) or reads_pairs(self.encoder)):
            cost = PLAIN_COST  # there are no vectors of other texts that could be a background
        self.cost = named_cost(cost) if isinstance(cost, str) else cost or EVIDENCE
        if self.cost.lacks_reader:
            self.cost = self.cost.read_by(shipped_reader())
        known = 0.0 if self.cost.evidence else THRESHOLDS.get((self.encoder.name, self.cost))
        self.below = known if below is None else below
        self.limit = limit
        if isinstance(calibration, str | Path):
            calibration = Calibration.read(calibration)
        self.judge = Judge(self.cost, self.encoder, self, background, calibration)
        self.relation_reader = shipped_reader() if relations else None

    def __repr__(self) -> str:
        name = getattr(self.splitter, "__name__", repr(self.splitter))
        return f"Aligner({name}, {self.encoder.name}, {self.cost.name})"

    def without_evidence(self) -> "Aligner":
        """The same aligner, whose costs are those before evidence: what a model is trained on."""
        before = self.cost.before_evidence
        if before is None:
            return self
        return Aligner(self.spans, self.encoder, before, limit=self.limit)

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
        progress: bool | None = None,
    ) -> Alignments:
        """One alignment per pair, encoded and solved together; `clip` makes k smaller where a text is short.

        `links_only` leaves out the margin and the path, which take longer than the links where texts have many spans.
        `progress` says whether a bar is shown: by default at a terminal and in a notebook, where it takes longer.
        """
        outcomes = self.outcomes(pairs, constraint, clip=clip, links_only=links_only, progress=progress)
        return Alignments(all_or_raise(outcomes))

    def align_frame(
        self,
        frame: Frame,
        left: Hashable,
        right: Hashable,
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        progress: bool | None = None,
    ) -> Frame:
        """A frame of pandas or polars, a table of pyarrow or a `Dataset`, with the alignments of two of its columns.

        The same frame with further columns: `probability`, `verdict`, `bits`, `links` and `conflicts`, as
        `Alignments.to_frame` has them, and `error`, which says why a row could not be aligned. Such a row changes
        nothing for the others. The other arguments are those of `align_many`.

        Raises:
            TypeError: if it is no such frame.
            ValueError: if it has no such column, or one of the columns that are added.
        """

        def outcomes(pairs: list[tuple[Text, Text]]) -> list[Alignment | ValueError]:
            return self.outcomes(pairs, constraint, clip=clip, links_only=True, progress=progress)

        return with_alignments(frame, left, right, outcomes)

    def outcomes(
        self,
        pairs: Iterable[tuple[Text, Text]],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
        progress: bool | None = False,
    ) -> list[Alignment | ValueError]:
        """As `align_many`, but a pair that cannot be aligned gives its error and changes nothing for the others."""
        resolved = self.resolve(constraint)
        outcomes: list[Any] = [self._problem(pair, resolved, clip, constraint is None) for pair in pairs]
        with call_progress("encoding", len(outcomes), progress) as update:
            return self._outcomes(outcomes, links_only, update)

    def _outcomes(self, outcomes: list[Any], links_only: bool, update: Update) -> list[Alignment | ValueError]:
        """Alignments in place of problems; what is no problem stays as it is."""
        problems = {number: problem for number, problem in enumerate(outcomes) if isinstance(problem, Problem)}
        texts = [problem.texts for problem in problems.values()]
        vectors = self.encode(texts, lambda done, items: update(done, total=items))
        outcomes = _put(outcomes, dict(zip(problems, vectors, strict=True)))
        scale, done = self.judge.scale(texts, vectors), 0
        for numbers, solved in self._solve_batches(problems, outcomes, scale):
            plans = [one for one in solved if isinstance(one, Solved)]
            alignments = iter(self.explain(plans, links_only=links_only, scale=scale))
            for number, one in zip(numbers, solved, strict=True):
                outcomes[number] = next(alignments) if isinstance(one, Solved) else one
            done += len(numbers)
            update(done, total=len(problems), description="aligning")
        aligned = {number: why for number, why in enumerate(outcomes) if isinstance(why, Alignment)}
        return _put(outcomes, dict(zip(aligned, self.relate([*aligned.values()]), strict=True)))

    def align_vectors(
        self,
        texts: Sequence[Pair],
        vectors: Sequence[Vectors],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        links_only: bool = False,
        tails: Sequence[Vectors] | None = None,
    ) -> list[Alignment]:
        """As `align_many`, for split texts whose vectors, (spans, dimensions) per text, the caller has already.

        `tails` are the two numbers (spans, 2) per text of which the evidence is made, where the caller has them too.
        """
        scale = self.judge.scale(texts, vectors)
        solved = all_or_raise(self.solve(texts, vectors, constraint, clip=clip, tails=tails, scale=scale))
        return self.relate(self.explain(solved, links_only=links_only, scale=scale))

    def relate(self, alignments: Sequence[Alignment]) -> list[Alignment]:
        """The alignments with what their links mean, where this aligner reads relations, or else as they are."""
        if self.relation_reader is None:
            return [*alignments]
        from whymatch.matching.defaults import word_aligner
        from whymatch.matching.relating import related

        return related(alignments, self.relation_reader, word_aligner)

    def split(self, text: Text) -> Document:
        """A text with its spans.

        Raises:
            ValueError: if it is not valid Unicode or has more spans than the limit.
        """
        return document(text, self.splitter, limit=self.limit, separator=self.separator)

    def encode(
        self, pairs: Sequence[Pair], report: Callable[[int, int], None] = lambda done, items: None
    ) -> list[Vectors | ValueError]:
        """The vectors (spans, dimensions) of both texts of each pair, or why there are none.

        `report` takes how many texts are encoded of how many.
        """
        return encode_pairs(self.encoder, pairs, report)

    def costs(self, pairs: Sequence[Pair]) -> list[np.ndarray]:
        """The cost (n, m) of every pair of spans, for each pair of split texts.

        Raises:
            ValueError: if the encoder refuses a text.
        """
        return self.compare(pairs, all_or_raise(self.encode(pairs)))

    def calibrate(
        self,
        pairs: Iterable[tuple[Text, Text]],
        matches: Sequence[bool],
        fitted_on: str = "your pairs",
        *,
        share: float | None = None,
    ) -> Calibration:
        """Learns from labelled pairs of texts what evidence means: from now on `probability` is that of such pairs.

        `share` says which share of all pairs matches where the probabilities are to be used, if it is another than
        among these pairs. The calibration holds for the kind of background that they were judged against: their own
        corpus, or the one that ships. Other aligners take it by `Aligner(calibration=…)`.

        Raises:
            ValueError: if the cost is no evidence, or there are too few pairs, or they do not tell matches from others.
        """
        if self.cost.evidence is None:
            raise ValueError(f"Probabilities are those of evidence, and {self.cost.name} has none: Aligner() has.")
        judged = [why.judgement for why in self.align_many(pairs, links_only=True)]
        if None in judged:
            raise ValueError(f"Pair {judged.index(None)} has a text without spans, and so no evidence. Leave it out.")
        self.judge.calibration = calibrated([one for one in judged if one is not None], matches, fitted_on, share)
        return self.judge.calibration

    def compare(
        self,
        pairs: Sequence[Pair],
        vectors: Sequence[Vectors],
        *,
        tails: Sequence[Vectors] | None = None,
        searched: np.ndarray | None = None,
    ) -> list[np.ndarray]:
        """The cost (n, m) of every pair of spans of split texts with these vectors, in double precision.

        Evidence takes the `tails` (spans, 2) of the texts where they are known, and the numbers of spans (pairs, 2)
        that were `searched` where only some of them are given.
        """
        if tails is None and (scale := self.judge.scale(pairs, vectors)) is not None:
            tails = self.judge.tails(scale, pairs, vectors)
        return compare(self.cost, pairs, vectors, tails, searched)

    def solve(
        self,
        texts: Sequence[Pair],
        vectors: Sequence[Vectors],
        constraint: Constraint | None = None,
        *,
        clip: bool = False,
        tails: Sequence[Vectors] | None = None,
        scale: Scale | None = None,
    ) -> list[Solved | ValueError]:
        """The optimal plan of each pair of split texts with these vectors, or why there is none.

        Raises:
            TypeError: if vectors do not have one row per span.
        """
        resolved = self.resolve(constraint)
        outcomes: list[Any] = [fit_problem(pair, resolved, clip, by_default=constraint is None) for pair in texts]
        problems = {number: problem for number, problem in enumerate(outcomes) if isinstance(problem, Problem)}
        checked = {number: check_vectors(self.encoder.name, texts[number], vectors[number]) for number in problems}
        outcomes = _put(outcomes, checked)
        if scale is None and tails is None:
            scale = self.judge.scale(texts, outcomes)
        known = None if tails is None else dict(enumerate(tails))
        for numbers, solved in self._solve_batches(problems, outcomes, scale, known):
            outcomes = _put(outcomes, dict(zip(numbers, solved, strict=True)))
        return outcomes

    def _solve_batches(
        self,
        problems: Mapping[int, Problem],
        vectors: Sequence[Vectors | ValueError],
        scale: Scale | None,
        tails: Mapping[int, Vectors] | None = None,
    ) -> Iterator[tuple[list[int], list[Solved | ValueError]]]:
        """The numbers of problems of similar sizes, and their plans or errors; those without vectors are left out."""
        ready = {number: rows for number in problems if not isinstance(rows := vectors[number], ValueError)}
        if tails is None and scale is not None:
            texts = [problems[number].texts for number in ready]
            tails = dict(zip(ready, self.judge.tails(scale, texts, [*ready.values()]), strict=True))
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number in ready:
            groups[problems[number].constraint].append(number)
        sizes = {number: Size(1, *map(len, problems[number].texts)) for number in ready}
        for numbers in groups.values():
            for batch in size_sorted(numbers, sizes, MAX_PAIRS_PER_BATCH):
                interruption_point()
                chosen = [problems[number] for number in batch]
                own_tails = None if tails is None else [tails[number] for number in batch]
                texts, own_vectors = [problem.texts for problem in chosen], [ready[number] for number in batch]
                costs = compare(self.cost, texts, own_vectors, own_tails)
                silent = None
                if scale is not None and own_tails is not None:
                    silent = self.judge.without_evidence(scale.background, texts, own_tails)
                yield batch, solve_batch(chosen, costs, self.cost.neutral, own_tails, silent)

    def explain(
        self, solved: Sequence[Solved], *, links_only: bool = False, scale: Scale | None = None
    ) -> list[Alignment]:
        """The alignments of solved problems, with margin and path unless `links_only`; `scale` judges evidence."""
        alignments: dict[int, Alignment] = {}
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number, one in enumerate(solved):
            groups[one.problem.constraint].append(number)
        sizes = [Size(1, *one.cost.shape) for one in solved]
        for numbers in groups.values():
            for batch in size_sorted(numbers, sizes, MAX_PAIRS_PER_BATCH):
                plans = [solved[number] for number in batch]
                proofs = [NO_PROOF] * len(batch) if links_only else prove_batch(plans, self.cost.neutral)
                judged = self._judged(plans, scale)
                for number, plan, proof, judgement in zip(batch, plans, proofs, judged, strict=True):
                    interruption_point()
                    alignments[number] = self._alignment(plan, *proof, judgement)
        return [alignments[number] for number in range(len(solved))]

    def _judged(self, plans: Sequence[Solved], scale: Scale | None) -> Sequence[Judgement | None]:
        """What the evidence of each plan means; None where costs are no evidence."""
        tails = [plan.tails for plan in plans if plan.tails is not None]
        if scale is None or len(tails) < len(plans):
            return [None] * len(plans)
        texts, bits = [plan.problem.texts for plan in plans], [plan.bits for plan in plans]
        return judgements(texts, bits, tails, scale, self.encoder)

    def _alignment(
        self, solved: Solved, gap_to_next: float | None, steps: tuple[Step, ...], judgement: Judgement | None
    ) -> Alignment:
        problem = solved.problem
        left, right = problem.texts
        zero = problem.constraint.zero(self.cost.neutral)
        unit = 1.0 if solved.tails is None or not solved.cost.size else link_mass(problem.constraint, solved.cost.shape)
        evidence = solved.tails is not None
        links = [
            make_link(left, right, i, j, float(solved.cost[i, j]), float(solved.plan[i, j]), zero, unit, evidence)
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
            judgement=judgement,
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
            if not same_text(left.text, right.text):  # equal texts match, whoever reads them
                check_readable(self.encoder, "left", left)
                check_readable(self.encoder, "right", right)
        except (ValueError, TypeError) as error:
            return ValueError(str(error))
        return fit_problem((left, right), constraint, clip, by_default=by_default)


def _put(outcomes: Sequence[Any], changed: Mapping[int, Any]) -> list[Any]:
    """The outcomes with those of some numbers changed."""
    return [changed.get(number, outcome) for number, outcome in enumerate(outcomes)]
