"""StackExchange's duplicate questions: the public dumps of its sites, and the AskUbuntu benchmark."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate

from whymatch.datasets.conversion import Conversion
from whymatch.datasets.corpora import SimilarTexts, Text, collected, read_corpus, read_labelled
from whymatch.datasets.markup import post_text, titled
from whymatch.datasets.ranking import corpus_statistics, counted, query_row
from whymatch.datasets.splits import dissimilar
from whymatch.reading import JsonObject, errors_at, find_file, opened, required_file, tab_fields

_QUESTION, _DUPLICATE = "1", "3"  # PostTypeId, LinkTypeId
_XML_CHUNK_BYTES = 1 << 16
_BENCHMARK_SPLITS = {"train": "train_random.txt", "val": "dev.txt", "test": "test.txt"}


def read_stackexchange(paths: Sequence[Path]) -> SimilarTexts:
    """The questions in these folders, whichever layout they have."""
    if folders := dump_folders(paths):
        return read_dumps(folders)
    if find_file(paths, "corpus.jsonl"):
        return read_corpus(only_folder(paths))
    tables = [file for path in paths for file in ([path] if path.is_file() else sorted(path.glob("*.tsv*")))]
    if tables:
        return read_labelled(tables)
    raise ValueError(
        f"{', '.join(map(str, paths))} holds none of Posts.xml with PostLinks.xml, text_tokenized.txt, corpus.jsonl "
        "with duplicates.tsv, or .tsv files of label, left and right. `whymatch data list` says where they are found."
    )


def only_folder(paths: Sequence[Path]) -> Path:
    """The folder of a layout that is one folder."""
    if len(paths) != 1:
        raise ValueError(f"This layout is one folder, got {len(paths)}: {', '.join(map(str, paths))}.")
    return paths[0]


def _xml_rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the attributes of every `row`, in memory that does not grow; a document type is refused."""
    rows: list[tuple[int, dict[str, str]]] = []
    parser = ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            rows.append((parser.CurrentLineNumber, attributes))

    def refuse(*_: object) -> NoReturn:
        raise ValueError(f"{file}, line {parser.CurrentLineNumber}: a dump declares no document type or entities.")

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    with opened(file) as data:
        chunk = b"<"
        while chunk:
            chunk = data.read(_XML_CHUNK_BYTES)
            try:
                parser.Parse(chunk, not chunk)
            except ExpatError as error:
                raise ValueError(f"{file}, line {error.lineno}: this is not XML: {error}.") from None
            yield from rows
            rows.clear()


def read_questions(file: Path, site: str = "") -> Iterator[Text]:
    """The questions of `Posts.xml`: title and body as one text, under the site's name and their number."""
    for line, row in _xml_rows(file):
        with errors_at(file, line):
            if row["PostTypeId"] != _QUESTION:
                continue
            question = Text(_post_id(site, row["Id"]), titled(row["Title"], post_text(row["Body"])), site)
        yield question


def read_duplicates(file: Path, site: str = "") -> Iterator[tuple[str, str]]:
    """The pairs of `PostLinks.xml` that are duplicates."""
    for line, row in _xml_rows(file):
        with errors_at(file, line):
            pair = _post_id(site, row["PostId"]), _post_id(site, row["RelatedPostId"])
            duplicate = row["LinkTypeId"] == _DUPLICATE
        if duplicate:
            yield pair


def _post_id(site: str, number: str) -> str:
    return f"{site}-{number}" if site else number


def dump_folders(folders: Iterable[Path]) -> list[Path]:
    """The folders among these, and among those in them, that hold a dump."""
    every = [inner for folder in folders for inner in (folder, *sorted(p for p in folder.glob("*") if p.is_dir()))]
    return [folder for folder in every if find_file([folder], "Posts.xml") and find_file([folder], "PostLinks.xml")]


def read_dumps(folders: Iterable[Path]) -> SimilarTexts:
    """The questions of several sites and their duplicates; links to what is no question here are left out."""
    texts: list[Text] = []
    similar: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for folder in folders:
        site = folder.resolve().name
        texts += read_questions(required_file([folder], "Posts.xml"), site)
        known = {text.id for text in texts}
        for left, right in read_duplicates(required_file([folder], "PostLinks.xml"), site):
            if left in known and right in known:
                similar.append((left, right))
            else:
                left_out["links to posts that are not among the questions"] += 1
    return collected(texts, similar, left_out)


class Candidates(NamedTuple):
    """A query, the texts to be ranked for it, which of them are similar, and their BM25 scores where there are any."""

    query: str
    texts: tuple[str, ...]
    similar: frozenset[str]
    scores: tuple[float, ...] = ()


def read_benchmark_texts(file: Path) -> dict[str, str]:
    """The texts of `text_tokenized.txt` by id: rows of id, title and body."""
    return {id_: titled(title, body) for _, (id_, title, body) in tab_fields(file, 3)}


def read_candidates(file: Path, known: Mapping[str, object]) -> Iterator[Candidates]:
    """Rows of query, similar and dissimilar texts, or of query, similar texts, candidates and their BM25 scores.

    In the second form only the candidates are ranked, which may hold none of the similar texts.
    """
    for number, (query, similar, others, *rest) in tab_fields(file, 3, 4):
        with errors_at(file, number):
            good, listed = similar.split(), others.split()
            scores = tuple(map(float, rest[0].split())) if rest else ()
            unknown = [id_ for id_ in (query, *good, *listed) if id_ not in known]
            if unknown:
                raise ValueError(f"{unknown[0]} is not among the texts.")
            if rest and len(scores) != len(listed):
                raise ValueError(f"there are {len(listed)} candidates and {len(scores)} scores.")
            if not rest and set(good) & set(listed):
                raise ValueError(f"{min(set(good) & set(listed))} is both similar and dissimilar to {query}.")
            candidates = Candidates(query, tuple(listed if rest else [*good, *listed]), frozenset(good), scores)
        yield candidates


def convert_benchmark(folder: Path, negatives: int, seed: int) -> Conversion:
    """The AskUbuntu benchmark with its own splits; a training query keeps so many of its hundred random negatives."""
    lists = {split: required_file([folder], name) for split, name in _BENCHMARK_SPLITS.items()}
    texts = read_benchmark_texts(required_file([folder], "text_tokenized.txt"))
    counts: dict[str, Counter[str]] = {split: Counter() for split in _BENCHMARK_SPLITS}
    similar: set[tuple[str, str]] = set()
    left_out: Counter[str] = Counter()

    def rows(split: str, file: Path) -> Iterator[JsonObject]:
        for query, ids, good, scores in read_candidates(file, texts):
            similar.update((min(query, id_), max(query, id_)) for id_ in good)
            relevant, others = ([id_ for id_ in dict.fromkeys(ids) if (id_ in good) is kind] for kind in (True, False))
            if not relevant:
                left_out[f"queries of {split} without a similar text among their candidates"] += 1
                continue
            if not scores and len(others) > negatives:
                others = dissimilar(query, others, (), negatives, seed)
            yield query_row(query, relevant, others, texts)

    def statistics() -> JsonObject:
        corpus = SimilarTexts(texts, {}, tuple(sorted(similar)), left_out)
        return {**corpus_statistics(corpus, counts), "negatives": negatives, "seed": seed}

    return Conversion({split: counted(rows(split, file), counts[split]) for split, file in lists.items()}, statistics)
