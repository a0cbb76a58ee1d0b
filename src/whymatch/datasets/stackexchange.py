"""StackExchange's public dumps: `Posts.xml` and `PostLinks.xml` of a site, as one folder a site."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers.expat import ExpatError, ParserCreate

from whymatch.datasets.corpora import Corpus, Text, body, corpus, titled
from whymatch.reading import errors_at, find_file, opened

QUESTION, DUPLICATE = "1", "3"  # PostTypeId, LinkTypeId
AT_ONCE = 1 << 16  # bytes


def rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the attributes of every `row`, in memory that does not grow; a document type is refused."""
    found: list[tuple[int, dict[str, str]]] = []
    parser = ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            found.append((parser.CurrentLineNumber, attributes))

    def refuse(*_: object) -> NoReturn:
        raise ValueError(f"{file}, line {parser.CurrentLineNumber}: a dump declares no document type or entities.")

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    with opened(file) as data:
        more = True
        while more:
            some = data.read(AT_ONCE)
            more = bool(some)
            try:
                parser.Parse(some, not more)
            except ExpatError as error:
                raise ValueError(f"{file}, line {error.lineno}: this is not XML: {error}.") from None
            yield from found
            found.clear()


def read_questions(file: Path, site: str = "") -> Iterator[Text]:
    """The questions of `Posts.xml`: title and body as one text, under the site's name and their number."""
    for line, row in rows(file):
        with errors_at(file, line):
            question = row["PostTypeId"] == QUESTION
            read = Text(named(site, row["Id"]), titled(row["Title"], body(row["Body"])), site) if question else None
        if read is not None:
            yield read


def read_duplicates(file: Path, site: str = "") -> Iterator[tuple[str, str]]:
    """The pairs of `PostLinks.xml` that are duplicates."""
    for line, row in rows(file):
        with errors_at(file, line):
            pair = named(site, row["PostId"]), named(site, row["RelatedPostId"])
            duplicate = row["LinkTypeId"] == DUPLICATE
        if duplicate:
            yield pair


def named(site: str, number: str) -> str:
    return f"{site}-{number}" if site else number


def dumps(folders: Iterable[Path]) -> list[Path]:
    """The folders among these, and among those in them, that hold a dump."""
    every = [inner for folder in folders for inner in (folder, *sorted(p for p in folder.glob("*") if p.is_dir()))]
    return [folder for folder in every if find_file([folder], "Posts.xml") and find_file([folder], "PostLinks.xml")]


def read_dumps(folders: Iterable[Path]) -> Corpus:
    """The questions of several sites and their duplicates; links to what is no question here are counted, and left."""
    texts: list[Text] = []
    similar: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for folder in folders:
        posts, links = find_file([folder], "Posts.xml"), find_file([folder], "PostLinks.xml")
        if posts is None or links is None:
            raise ValueError(f"{folder} has no Posts.xml and PostLinks.xml, plain or gzipped.")
        site = folder.resolve().name
        texts += read_questions(posts, site)
        known = {text.id for text in texts}
        for left, right in read_duplicates(links, site):
            if left in known and right in known:
                similar.append((left, right))
            else:
                left_out["links to posts that are not among the questions"] += 1
    return corpus(texts, similar, left_out)
