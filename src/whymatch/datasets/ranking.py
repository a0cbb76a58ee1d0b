"""Queries with the documents to be ranked for them, from a corpus."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from whymatch.datasets.bm25 import searcher
from whymatch.datasets.conversion import Conversion, Row
from whymatch.datasets.corpora import Corpus
from whymatch.datasets.splits import components, dissimilar, split_whole
from whymatch.datasets.statistics import of_texts

Search: TypeAlias = Callable[[str, Collection[str], int], list[str]]


@dataclass(frozen=True)
class Protocol:
    """How queries are made: so many dissimilar documents each, random ones or hard ones, fixed by a seed."""

    negatives: int = 20
    hard: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Part:
    """The part of a corpus that is one split, and for each of its texts what may not be a negative of it."""

    corpus: Corpus
    together: Mapping[str, Sequence[str]]
    similar: Mapping[str, Sequence[str]]

    @property
    def texts(self) -> list[str]:
        return list(self.together)


def parts(corpus: Corpus, seed: int) -> dict[str, Part]:
    """The splits of a corpus, 80, 10 and 10 per cent of its texts; what similar pairs hold together stays together."""
    similar: dict[str, list[str]] = {}
    for left, right in corpus.similar:
        similar.setdefault(left, []).append(right)
        similar.setdefault(right, []).append(left)
    groups = components(corpus.texts, corpus.similar)
    kinds = [[group for group in groups if (len(group) > 1) is several] for several in (True, False)]
    linked, alone = (split_whole(kind, seed) for kind in kinds)  # so that each split has its share of both
    found = {}
    for split in linked:
        inside = {text: group for group in (*linked[split], *alone[split]) for text in group}
        together = {text: inside[text] for text in corpus.texts if text in inside}
        found[split] = Part(corpus, together, {text: similar[text] for text in together if text in similar})
        if not found[split].similar:
            raise ValueError(
                f"The corpus has {len(corpus.similar)} similar pairs among {len(corpus.texts)} texts, and none of them "
                f"fell into {split}: it is too small to be split into three."
            )
    return found


def queries(part: Part, protocol: Protocol) -> Iterator[Row]:
    """A row for every text that has similar ones: these first, then its dissimilar documents.

    Neither kind holds what is similar by way of others. Hard ones share words with the query and are of its site; where
    a site has too few, random ones follow, and "random" says how many.
    """
    texts, among = part.corpus.texts, part.texts
    search = searchers(part) if protocol.hard else {}
    for query, similar in part.similar.items():
        never = set(part.together[query])
        found = search[part.corpus.sites[query]](texts[query], never, protocol.negatives) if protocol.hard else []
        more = dissimilar(query, among, never | set(found), protocol.negatives - len(found), protocol.seed)
        row = query_row(query, similar, [*found, *more], texts)
        yield row | ({"random": len(more)} if protocol.hard else {})


def query_row(query: str, similar: Sequence[str], others: Sequence[str], texts: Mapping[str, str]) -> Row:
    """A row of our layout, with the documents' ids beside it."""
    ids = [*similar, *others]
    return {
        "id": query,
        "query": texts[query],
        "documents": [texts[id_] for id_ in ids],
        "relevant": list(range(len(similar))),
        "ids": ids,
    }


def searchers(part: Part) -> dict[str, Search]:
    """One search for each site of the part."""
    sites: dict[str, dict[str, str]] = {}
    for text in part.texts:
        sites.setdefault(part.corpus.sites[text], {})[text] = part.corpus.texts[text]
    return {site: searcher(texts) for site, texts in sites.items()}


def ranking(corpus: Corpus, protocol: Protocol) -> Conversion:
    """A corpus as queries, under a protocol."""
    splits = parts(corpus, protocol.seed)
    counts: dict[str, Counter[str]] = {
        split: Counter({"documents": len(part.together), "similar pairs": sum(map(len, part.similar.values())) // 2})
        for split, part in splits.items()
    }

    def statistics() -> dict[str, Any]:
        return {**of_corpus(corpus, counts), **vars(protocol)}

    return Conversion(
        {split: counted(queries(part, protocol), counts[split]) for split, part in splits.items()}, statistics
    )


def counted(rows: Iterable[Row], counts: Counter[str]) -> Iterator[Row]:
    """The same rows, counted."""
    for row in rows:
        counts["queries"] += 1
        counts["documents to rank"] += len(row["documents"])
        if "random" in row:
            counts["random for want of hard ones"] += row["random"]
        yield row


def of_corpus(corpus: Corpus, counts: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """The statistics of the paper's table 2, of each split, and of what was left out."""
    texts = of_texts(corpus.texts.values())
    return {
        "documents": texts.pop("documents"),
        "similar pairs": len(corpus.similar),
        **texts,
        "splits": {split: dict(some) for split, some in counts.items()},
        "left out": dict(corpus.left_out),
    }
