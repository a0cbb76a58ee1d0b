"""Queries with the documents to be ranked for them, from texts of which some are similar; BM25 for hard negatives."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whymatch.datasets.conversion import Conversion, text_statistics
from whymatch.datasets.corpora import SimilarTexts
from whymatch.datasets.splits import components, dissimilar, split_whole
from whymatch.reading import JsonObject
from whymatch.text.spans import sentences


@dataclass(frozen=True)
class Sampling:
    """How the dissimilar documents of a query are drawn: how many, random or hard ones, by which seed."""

    negatives: int = 20
    hard: bool = False
    seed: int = 0


@dataclass(frozen=True)
class CorpusSplit:
    """One split: with each text its group, none of which may be a negative of it, and the texts that are similar."""

    corpus: SimilarTexts
    groups: Mapping[str, Sequence[str]]
    similar: Mapping[str, Sequence[str]]


def split_corpus(corpus: SimilarTexts, seed: int) -> dict[str, CorpusSplit]:
    """The splits of a corpus, 80, 10 and 10 per cent of its texts; what similar pairs connect stays together."""
    similar: dict[str, list[str]] = {}
    for left, right in corpus.similar:
        similar.setdefault(left, []).append(right)
        similar.setdefault(right, []).append(left)
    groups = components(corpus.texts, corpus.similar)
    connected, alone = ([group for group in groups if (len(group) > 1) is several] for several in (True, False))
    shares = split_whole(connected, seed), split_whole(alone, seed)  # so that each split has its share of both
    splits = {}
    for split in shares[0]:
        group_of = {text: group for share in shares for group in share[split] for text in group}
        ordered = {text: group_of[text] for text in corpus.texts if text in group_of}
        splits[split] = CorpusSplit(corpus, ordered, {text: similar[text] for text in ordered if text in similar})
        if not splits[split].similar:
            raise ValueError(
                f"The corpus has {len(corpus.similar)} similar pairs among {len(corpus.texts)} texts, and none of them "
                f"fell into {split}: it is too small to be split into three."
            )
    return splits


def queries(part: CorpusSplit, sampling: Sampling) -> Iterator[JsonObject]:
    """A row for every text that has similar ones: these first, then its dissimilar documents.

    Neither kind holds what is similar by way of others. Hard ones share words with the query and are of its site; where
    a site has too few, random ones follow, and "random" says how many.
    """
    texts, ids, sites = part.corpus.texts, list(part.groups), part.corpus.sites
    by_site: dict[str, dict[str, str]] = {}
    for id_ in ids if sampling.hard else ():
        by_site.setdefault(sites[id_], {})[id_] = texts[id_]
    search = {site: bm25_search(site_texts) for site, site_texts in by_site.items()}
    for query, similar in part.similar.items():
        group = set(part.groups[query])
        hard = search[sites[query]](texts[query], group, sampling.negatives) if sampling.hard else []
        random = dissimilar(query, ids, group | set(hard), sampling.negatives - len(hard), sampling.seed)
        row = query_row(query, similar, [*hard, *random], texts)
        yield row | ({"random": len(random)} if sampling.hard else {})


def query_row(query: str, similar: Sequence[str], others: Sequence[str], texts: Mapping[str, str]) -> JsonObject:
    """A row of our layout, with the documents' ids beside it."""
    ids = [*similar, *others]
    return {
        "id": query,
        "query": texts[query],
        "documents": [texts[id_] for id_ in ids],
        "relevant": list(range(len(similar))),
        "ids": ids,
    }


def convert_corpus(corpus: SimilarTexts, sampling: Sampling) -> Conversion:
    """A corpus as queries by split."""
    parts = split_corpus(corpus, sampling.seed)
    counts: dict[str, Counter[str]] = {
        split: Counter({"documents": len(part.groups), "similar pairs": sum(map(len, part.similar.values())) // 2})
        for split, part in parts.items()
    }
    rows = {split: counted(queries(part, sampling), counts[split]) for split, part in parts.items()}
    return Conversion(rows, lambda: {**corpus_statistics(corpus, counts), **vars(sampling)})


def counted(rows: Iterable[JsonObject], counts: Counter[str]) -> Iterator[JsonObject]:
    """The same rows, counted as they pass."""
    for row in rows:
        counts["queries"] += 1
        counts["documents to rank"] += len(row["documents"])
        if "random" in row:
            counts["random for want of hard ones"] += row["random"]
        yield row


def corpus_statistics(corpus: SimilarTexts, counts: Mapping[str, Counter[str]]) -> JsonObject:
    """The statistics of the paper's table 2, of each split, and of what was left out."""
    texts = text_statistics((text, len(sentences(text))) for text in corpus.texts.values())
    return {
        "documents": texts.pop("documents"),
        "similar pairs": len(corpus.similar),
        **texts,
        "splits": {split: dict(count) for split, count in counts.items()},
        "left out": dict(corpus.left_out),
    }


def tokens(text: str) -> list[str]:
    """The words that BM25 counts, in lower case.

    >>> tokens("Don't mount /dev/sda1!")
    ['don', 't', 'mount', 'dev', 'sda1']
    """
    return re.findall(r"\w+", text.lower())


def bm25_scorer(texts: Iterable[str]) -> Callable[[Sequence[str]], np.ndarray]:
    """A function of a query's words, each counted as often as it is given: the BM25 scores of the texts, (texts,)."""
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


def bm25_search(texts: Mapping[str, str]) -> Callable[[str, Collection[str], int], list[str]]:
    """A function of a query, ids that may not come back, and a number: the ids of the nearest texts, the best first.

    Only texts that share a word with the query come back; of equals, those first that are first in `texts`.
    """
    ids, score = list(texts), bm25_scorer(texts.values())

    def search(query: str, never: Collection[str], count: int) -> list[str]:
        scores = score(sorted(set(tokens(query))))
        best = best_places(scores, count + len(never))
        return [ids[place] for place in best if scores[place] > 0 and ids[place] not in never][:count]

    return search


def best_places(scores: np.ndarray, count: int) -> list[int]:
    """The places of the `count` highest scores or more, the highest first, equals in order; scores are (texts,)."""
    places = np.arange(len(scores))
    if count < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    order: list[int] = places[np.argsort(-scores[places], kind="stable")].tolist()
    return order
