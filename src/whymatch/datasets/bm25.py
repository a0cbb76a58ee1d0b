"""BM25: scores by shared words, and hard negatives, the texts that share most of them with a query."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np


def tokens(text: str) -> list[str]:
    """Words in lower case.

    >>> tokens("Don't mount /dev/sda1!")
    ['don', 't', 'mount', 'dev', 'sda1']
    """
    return re.findall(r"\w+", text.lower())


def scorer(texts: Iterable[str]) -> Callable[[Sequence[str]], np.ndarray]:
    """A function of a query's words, each counted as often as it is given: the score of every text."""
    try:
        from bm25s import BM25
    except ModuleNotFoundError:
        raise ValueError("BM25 needs bm25s: pip install 'whymatch[data]'.") from None
    words = [tokens(text) for text in texts]
    if not any(words):
        return lambda query: np.zeros(len(words))
    index = BM25(method="lucene")
    index.index(words, show_progress=False)
    return lambda query: index.get_scores([*query]) if query else np.zeros(len(words))


def searcher(texts: Mapping[str, str]) -> Callable[[str, Collection[str], int], list[str]]:
    """A function of a query, ids that may not come back, and a number: the ids of the nearest texts, the best first.

    Only texts that share a word with the query come back; of equals, those first that are first in `texts`.
    """
    ids, score = list(texts), scorer(texts.values())

    def search(query: str, never: Collection[str], count: int) -> list[str]:
        scores = score(sorted(set(tokens(query))))
        return [ids[i] for i in best(scores, count + len(never)) if scores[i] > 0 and ids[i] not in never][:count]

    return search


def best(scores: np.ndarray, count: int) -> Sequence[int]:
    """The places of the highest scores, the highest first, equals in order."""
    if count < len(scores):
        least = np.partition(scores, -count)[-count]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order: list[int] = places[np.argsort(-scores[places], kind="stable")].tolist()
    return order
