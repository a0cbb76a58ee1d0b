"""Hard negatives: the texts that share most words with a query, by BM25."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np


def tokens(text: str) -> list[str]:
    """Words in lower case.

    >>> tokens("Don't mount /dev/sda1!")
    ['don', 't', 'mount', 'dev', 'sda1']
    """
    return re.findall(r"\w+", text.lower())


def searcher(texts: Mapping[str, str]) -> Callable[[str, Collection[str], int], list[str]]:
    """A function of a query, ids that may not come back, and a number: the ids of the nearest texts, the best first.

    Only texts that share a word with the query come back; of equals, those first that are first in `texts`.
    """
    try:
        from bm25s import BM25
    except ModuleNotFoundError:
        raise ValueError("Hard negatives need bm25s: pip install 'whymatch[data]'.") from None
    ids = list(texts)
    words = [tokens(text) for text in texts.values()]
    if not any(words):
        return lambda query, never, count: []
    index = BM25(method="lucene")
    index.index(words, show_progress=False)

    def search(query: str, never: Collection[str], count: int) -> list[str]:
        scores: np.ndarray = index.get_scores(sorted(set(tokens(query))))
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
