"""The AskUbuntu benchmark: `text_tokenized.txt`, and candidates in `train_random.txt`, `dev.txt` and `test.txt`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whymatch.datasets.conversion import Conversion, Row
from whymatch.datasets.corpora import Corpus, Text, titled
from whymatch.datasets.ranking import counted, of_corpus, query_row
from whymatch.datasets.splits import dissimilar
from whymatch.reading import errors_at, find_file, tab_fields

SPLITS = {"train": "train_random.txt", "val": "dev.txt", "test": "test.txt"}


@dataclass(frozen=True)
class Candidates:
    """A query, the texts to be ranked for it, which of them are similar, and their BM25 scores where there are any."""

    query: str
    texts: tuple[str, ...]
    similar: frozenset[str]
    scores: tuple[float, ...] = ()


def read_texts(file: Path) -> Iterator[Text]:
    """Rows of id, title and body."""
    for _, (id_, title, body) in tab_fields(file, 3):
        yield Text(id_, titled(title, body), "askubuntu")


def read_candidates(file: Path, known: Mapping[str, object]) -> Iterator[Candidates]:
    """Rows of query, similar and dissimilar texts, or of query, similar texts, candidates and their BM25 scores.

    In the second form only the candidates are ranked, which may hold none of the similar texts.
    """
    for number, (query, similar, others, *rest) in tab_fields(file, 3, 4):
        with errors_at(file, number):
            good, listed = similar.split(), others.split()
            scores = tuple(map(float, rest[0].split())) if rest else ()
            texts = listed if rest else [*good, *listed]
            unknown = [id_ for id_ in (query, *good, *listed) if id_ not in known]
            if unknown:
                raise ValueError(f"{unknown[0]} is not among the texts.")
            if rest and len(scores) != len(listed):
                raise ValueError(f"there are {len(listed)} candidates and {len(scores)} scores.")
            if not rest and set(good) & set(listed):
                raise ValueError(f"{min(set(good) & set(listed))} is both similar and dissimilar to {query}.")
            read = Candidates(query, tuple(texts), frozenset(good), scores)
        yield read


def benchmark(folder: Path, negatives: int, seed: int) -> Conversion:
    """The benchmark with its own splits; of the hundred random negatives of a training query, so many are drawn."""
    file = find_file([folder], "text_tokenized.txt")
    assert file is not None
    lists = {split: find_file([folder], name) for split, name in SPLITS.items()}
    missing = [SPLITS[split] for split, found in lists.items() if found is None]
    if missing:
        raise ValueError(f"{folder} has no {missing[0]}, plain or gzipped.")
    texts = {text.id: text.text for text in read_texts(file)}
    counts: dict[str, Counter[str]] = {split: Counter() for split in SPLITS}
    similar: set[tuple[str, str]] = set()
    left_out: Counter[str] = Counter()

    def rows(split: str, file: Path) -> Iterator[Row]:
        for one in read_candidates(file, texts):
            similar.update((min(one.query, id_), max(one.query, id_)) for id_ in one.similar)
            listed = dict.fromkeys(one.texts)
            good, others = ([id_ for id_ in listed if (id_ in one.similar) is kind] for kind in (True, False))
            if not good:
                left_out[f"queries of {split} without a similar text among their candidates"] += 1
                continue
            if not one.scores and len(others) > negatives:
                others = dissimilar(one.query, others, (), negatives, seed)
            yield query_row(one.query, good, others, texts)

    def statistics() -> dict[str, Any]:
        whole = Corpus(texts, {}, tuple(sorted(similar)), dict(left_out))
        return {**of_corpus(whole, counts), "negatives": negatives, "seed": seed}

    found = {split: counted(rows(split, name), counts[split]) for split, name in lists.items() if name is not None}
    return Conversion(found, statistics)
