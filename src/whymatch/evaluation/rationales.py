"""How well a rationale agrees with what people marked, counted in tokens between blanks."""

from collections.abc import Iterable, Sequence, Set

from whymatch.evaluation.ranking import ties
from whymatch.text.spans import Span, token_ranges


def tokens_in(text: str, spans: Iterable[Span]) -> set[int]:
    """The numbers of the tokens that are in any of the spans.

    >>> sorted(tokens_in("the cat sat on the mat", [Span(4, 11)]))
    [1, 2]
    """
    return {token for first, last in token_ranges(text, spans) for token in range(first, last)}


def f1(predicted: Set[object], gold: Set[object]) -> float:
    """The harmonic mean of precision and recall; 0 where nothing is predicted or nothing is gold.

    >>> f1({1, 2, 3}, {2, 3, 4, 5})
    0.5714285714285714
    """
    return 2 * len(predicted & gold) / (len(predicted) + len(gold)) if predicted and gold else 0.0


def iou_f1(
    predicted: Sequence[Span], gold: Sequence[Span], text: str, least: float = 0.5
) -> tuple[float | None, float | None]:
    """ERASER's precision and recall of spans: one counts where it overlaps a gold one by `least` of their union.

    Spans are compared as sets of tokens, each set once. None where nothing is predicted, or nothing is gold. Several
    predictions can match one gold span; where ERASER's recall would exceed 1 for that, ours is 1.

    >>> iou_f1([Span(0, 7), Span(12, 14)], [Span(0, 11)], "the cat sat on")
    (0.5, 1.0)
    """
    chosen, marked = ({frozenset(tokens_in(text, [span])) for span in spans} for spans in (predicted, gold))
    hits = sum(max((len(a & b) / max(len(a | b), 1) for b in marked), default=0.0) >= least for a in chosen)
    return hits / len(chosen) if chosen else None, min(1.0, hits / len(marked)) if marked else None


def mean_f1(values: Sequence[tuple[float | None, float | None]]) -> float:
    """The F1 of the mean precision and the mean recall, each over the instances where it is defined.

    >>> mean_f1([(1.0, 0.5), (None, 0.0)])
    0.4
    """
    sides = [[value for value in side if value is not None] for side in zip(*values, strict=True)]
    if len(sides) < 2 or not all(sides):
        raise ValueError("There is no mean of no values.")
    precision, recall = (sum(side) / len(side) for side in sides)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def auprc(scores: Sequence[float], gold: Set[int]) -> float:
    """The area under the precision-recall curve of soft token scores, by trapezoids, as ERASER measures it.

    >>> auprc([0.9, 0.1, 0.8], {0, 2})
    1.0
    """
    seen = found = 0
    area, before = 0.0, (0.0, 1.0)
    for good, size in ties(scores, [token in gold for token in range(len(scores))]):
        seen, found = seen + size, found + good
        here = found / len(gold), found / seen
        area += (here[0] - before[0]) * (here[1] + before[1]) / 2
        before = here
    return area
