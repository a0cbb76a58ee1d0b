"""Search of a real corpus: what two stages find of what aligning everything finds, how good the ranking is, how fast.

    WHYMATCH_DATA=… python -m benchmarks.search --index FOLDER [--queries 100] [--large 1000 10000 100000] [--plot F]

The corpus is that of twelve StackExchange sites. Queries are posts with known duplicates, which are what is relevant;
a post is not among the results for itself. The index is kept in FOLDER: started again, its posts are not encoded again.
Large corpora are made of the same posts' sentences, drawn anew with their vectors, since encoding 100,000 posts takes
hours on two cores; the rate of indexing is measured on real posts with the encoder at work.
"""

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

import whymatch as wm
from whymatch.datasets.corpora import read_corpus
from whymatch.datasets.documents import CorpusRow
from whymatch.datasets.ranking import bm25_scorer, tokens
from whymatch.evaluation.ranking import average_precision
from whymatch.search.building import BuildReport, build
from whymatch.search.entries import ENTRY_COLUMNS, Entry, from_arrow, pooled, to_arrow
from whymatch.search.index import CANDIDATES, Index, ranking_values
from whymatch.show.terminal import table
from whymatch.transport.constraints import parse_constraint

TOP = 10
SAME = 1e-6  # scores that count as equal
RECALL = "recall of "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--index", type=Path, required=True, help="where indices are kept")
    parser.add_argument("--documents", type=int, default=10**6, help="posts of the corpus, those with duplicates first")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--constraints", nargs="*", default=["default"], help="default, exactly:3, …")
    parser.add_argument("--candidates", type=int, nargs="*", default=[CANDIDATES])
    parser.add_argument("--rate", type=int, default=256, help="posts that are encoded to measure the rate")
    parser.add_argument("--large", type=int, nargs="*", default=[], help="documents of made-up corpora (1000 100000)")
    parser.add_argument("--plot", type=Path, help="draw what a search takes in those, by their size")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    texts, similar = posts(Path(settings.data), settings.documents)
    index = Index.create(settings.index / "posts")
    written(index, texts)
    queries = random.Random(1).sample(sorted(similar), min(settings.queries, len(similar)))
    print(f"{len(index):,} posts, {len(queries)} queries\n")
    quality(index, similar, queries, settings.constraints, settings.candidates)
    rates(texts, settings.rate)
    asked = [texts[query] for query in queries]
    speed(index, asked)
    found = {size: speed(enlarged(index, settings.index / f"large-{size}", size), asked) for size in settings.large}
    if settings.plot and found:
        draw(found, settings.plot)


def posts(data: Path, most: int) -> tuple[dict[str, str], Mapping[str, set[str]]]:
    """The texts of the corpus by id, those with duplicates first, and the duplicates of each."""
    corpus = read_corpus(data / "stackexchange" / "cqadupstack")
    similar: dict[str, set[str]] = defaultdict(set)
    for left, right in corpus.similar:
        similar[left].add(right)
        similar[right].add(left)
    order = sorted(corpus.texts, key=lambda id_: id_ not in similar)[:most]
    return {id_: corpus.texts[id_] for id_ in order}, {id_: similar[id_] for id_ in order if similar[id_] & {*order}}


def written(index: Index, texts: Mapping[str, str]) -> BuildReport:
    """The texts in an index, as `whymatch index` writes them."""
    numbered = enumerate(texts.items())
    rows = (CorpusRow(f"row {number}", number, id_, text) for number, (id_, text) in numbered)
    return build(index, rows, lambda complaint: None)


class Exhaustive:
    """Every document of an index in memory, to be ranked for a query in every way."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.entries = entries_of(index)
        self.by_words = bm25_scorer(some.text for some in self.entries)
        self.wholes = np.stack([pooled(some.vectors) for some in self.entries])
        self.place = {some.id: number for number, some in enumerate(self.entries)}

    def baselines(self, query: str, relevant: set[str]) -> Iterator[tuple[str, float]]:
        """The average precision of BM25 and of pooled vectors, over all documents."""
        number = self.place[query]
        marks = [some.id in relevant for some in self.entries if some.id != query]
        by_words = self.by_words(tokens(self.entries[number].text))
        for name, values in (("BM25", by_words), ("pooled vectors", self.wholes @ self.wholes[number])):
            yield f"{name}, all documents", average_precision(np.delete(values, number).tolist(), marks)

    def aligned(
        self, query: str, relevant: set[str], constraint: wm.Constraint | None, numbers: Sequence[int]
    ) -> Iterator[tuple[str, float]]:
        """That of alignment, over all documents and over candidates, and what these have of the former's best."""
        own = self.entries[self.place[query]]
        others = [entry for entry in self.entries if entry.id != query]
        solved = self.index.solve([(own, entry) for entry in others], constraint)
        plans = {number: plan for number, plan in enumerate(solved) if not isinstance(plan, ValueError)}
        values = dict(zip(plans, ranking_values([*plans.values()], self.index.scale), strict=True))
        every = [values.get(number, float("-inf")) for number in range(len(others))]
        title = constraint or "evidence"
        yield f"{title}, all documents", average_precision(every, [some.id in relevant for some in others])
        best = sorted(every, reverse=True)[:TOP]
        for most in numbers:
            name = f"{title}, 3 × {most} candidates"
            candidates = self.index.store.candidates(own.text, own.vectors, most)
            candidates = [candidate for candidate in candidates if candidate.entry.id != query]
            hits = self.index.rank(own.document, own.vectors, candidates, len(candidates), constraint)
            yield name, precision([hit.id for hit in hits], relevant)
            if best:
                yield f"{RECALL}{name}", sum(hit.ranked_by >= best[-1] - SAME for hit in hits[: len(best)]) / len(best)


def quality(
    index: Index,
    similar: Mapping[str, set[str]],
    queries: Sequence[str],
    constraints: Sequence[str],
    numbers: Sequence[int],
) -> None:
    """Recall of exhaustive alignment's best, and MAP beside BM25 and pooled vectors."""
    exhaustive = Exhaustive(index)
    found: dict[str, list[float]] = defaultdict(list)
    for query in queries:
        for name, value in exhaustive.baselines(query, similar[query]):
            found[name].append(value)
        for wanted in constraints:
            constraint = None if wanted == "default" else parse_constraint(wanted)
            for name, value in exhaustive.aligned(query, similar[query], constraint, numbers):
                found[name].append(value)
    mean = {name: f"{np.mean(values):.4f}" for name, values in found.items()}
    rows = [[name, mean[name], mean.get(RECALL + name, "")] for name in mean if not name.startswith(RECALL)]
    print(table(["ranking", "MAP", f"recall@{TOP} of all documents"], rows), "\n")


def entries_of(index: Index) -> list[Entry]:
    tables = (pa.Table.from_batches([batch]) for batch in index.store.batches(ENTRY_COLUMNS))
    return [some for table in tables for some in from_arrow(table, index.store.folder)]


def precision(ids: Sequence[str], relevant: set[str]) -> float:
    """The average precision of a ranking that may miss relevant documents: these count as 0."""
    hits, total = 0, 0.0
    for rank, id_ in enumerate(ids, start=1):
        if id_ in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def rates(texts: Mapping[str, str], number: int) -> None:
    """Documents a second with the encoder at work, and its share of the time."""
    if number:
        some = dict(random.Random(1).sample(sorted(texts.items()), min(number, len(texts))))
        with tempfile.TemporaryDirectory() as folder:
            report = written(Index.create(folder), some)
        share = report.encoding_seconds / report.seconds
        print(f"indexing: {report.rate:.1f} documents/s, {share:.1%} of it splitting and encoding ({number} posts)\n")


def enlarged(index: Index, folder: Path, number: int) -> Index:
    """An index of documents of sentences that are drawn from those of another."""
    large = Index.create(folder, index.aligner)
    missing = number - len(large)
    if missing > 0:
        entries = entries_of(index)
        start, stream = time.perf_counter(), drawn(entries, len(large), number)
        while some := list(islice(stream, 2048)):
            large.merge(to_arrow(some, large.store.schema), replace=True)  # tails are measured once, at the end
        large.compact()
        seconds = time.perf_counter() - start
        print(f"{missing:,} documents with vectors written and indexed in {seconds:.0f} s: {missing / seconds:.0f}/s")
    return large


def drawn(entries: Sequence[Entry], first: int, last: int) -> Iterator[Entry]:
    """Documents of random sentences, as many in each as a random post has."""
    pieces = [
        (piece, vector) for some in entries for piece, vector in zip(some.document.pieces, some.vectors, strict=True)
    ]
    for number in range(first, last):
        draw = np.random.default_rng(number)
        size = len(entries[int(draw.integers(len(entries)))].spans)
        some = [pieces[draw.integers(len(pieces))] for _ in range(size)]
        ends = np.cumsum([0, *(len(piece) + 1 for piece, _ in some)])
        spans = np.stack([ends[:-1], ends[1:] - 1], axis=1)
        yield Entry(f"drawn-{number}", "\n".join(piece for piece, _ in some), spans, np.stack([v for _, v in some]))


def speed(index: Index, queries: Sequence[str]) -> dict[str, list[float]]:
    """What a search takes, step by step, in milliseconds, and what a document takes on disk."""
    taken: dict[str, list[float]] = defaultdict(list)
    warming_up = queries[:5]
    for query in [*warming_up, *queries]:
        start = time.perf_counter()
        text = index.split(query)
        (vectors,) = index.aligner.encoder.encode([text.text], [text.spans])
        encoding = time.perf_counter()
        candidates = index.store.candidates(text.text, vectors, CANDIDATES)
        finding = time.perf_counter()
        index.rank(text, vectors, candidates, TOP)
        end = time.perf_counter()
        steps = {"encoding the query": encoding - start, f"3 × {CANDIDATES} candidates": finding - encoding}
        steps |= {f"aligning them, top {TOP} in full": end - finding, "search": end - start}
        for name, seconds in steps.items():
            taken[name].append(1000 * seconds)
    taken = {name: values[len(warming_up) :] for name, values in taken.items()}
    rows = [[name, *(f"{np.percentile(values, share):.1f}" for share in (50, 95))] for name, values in taken.items()]
    print(table([f"{len(index):,} documents", "p50, ms", "p95, ms"], rows), "\n")
    stats = index.store.table.stats()
    each = stats["total_bytes"] / len(index)
    print(f"{each:,.0f} bytes a document, with indices; the folder has {folder_size(index)}")
    memory = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    print(f"memory of the process: {int(memory[1]) / 1000:,.0f} MB\n" if memory else "")
    return taken


def draw(found: Mapping[int, Mapping[str, Sequence[float]]], file: Path) -> None:
    """Milliseconds of each step by the size of the corpus: medians, and the 95th percentile of all together."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    sizes = sorted(found)
    for name in found[sizes[0]]:
        middle = [float(np.median(found[size][name])) for size in sizes]
        whole = name == "search"
        (line,) = axes.plot(sizes, middle, marker="o", linewidth=2.5 if whole else 1.5, label=name)
        if whole:
            high = [float(np.percentile(found[size][name], 95)) for size in sizes]
            axes.plot(sizes, high, linestyle="--", color=line.get_color(), label="search, 95th percentile")
    axes.set(xscale="log", xlabel="documents", ylabel="milliseconds", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, dpi=130)


def folder_size(index: Index) -> str:
    total = sum(file.stat().st_size for file in index.store.folder.rglob("*") if file.is_file())
    return f"{total / 1e6:,.1f} MB"


if __name__ == "__main__":
    main()
