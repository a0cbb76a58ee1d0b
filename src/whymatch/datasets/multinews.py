"""MultiNews: `.src` files, a cluster of articles a line; every two articles of a cluster are similar."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from whymatch.datasets.corpora import Corpus, Text, corpus
from whymatch.reading import text_lines
from whymatch.text.spans import is_blank

BARS, TAG, BREAK = "|||||", "story_separator_special_tag", "NEWLINE_CHAR"


def articles(line: str) -> list[str]:
    """The articles of a cluster, of which some may be empty; what only ends the line is none.

    >>> articles("It rained. NEWLINE_CHAR NEWLINE_CHAR A lot. ||||| Rain fell. story_separator_special_tag Wet. |||||")
    ['It rained.\\n\\nA lot.', 'Rain fell.', 'Wet.']
    """
    found = line.replace(TAG, BARS).split(BARS)
    if len(found) > 1 and is_blank(found[-1]):
        found.pop()
    return ["\n".join(part.strip() for part in article.split(BREAK)).strip() for article in found]


def read_clusters(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The clusters of a file, with their lines."""
    for number, line in text_lines(file):
        yield number, articles(line)


def read_multinews(files: Iterable[Path]) -> Corpus:
    """All clusters of some files as one corpus; empty articles are counted and left out."""
    texts: list[Text] = []
    similar: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for file in files:
        for line, cluster in read_clusters(file):
            full = [article for article in cluster if not is_blank(article)]
            left_out["empty articles"] += len(cluster) - len(full)
            left_out["clusters of one article, which is similar to none"] += len(full) == 1
            ids = [f"{file.name.split('.')[0]}:{line}:{number}" for number, _ in enumerate(full)]
            texts += map(Text, ids, full)
            similar += combinations(ids, 2)
    return corpus(texts, similar, {reason: count for reason, count in left_out.items() if count})
