"""How well a rationale agrees with what people marked, counted in tokens between blanks."""

from collections.abc import Iterable, Set

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
