"""Questions that requests ask: their texts are split, and their size is known before any of them is encoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whymatch.matching.aligner import Aligner
from whymatch.serve.models import Models
from whymatch.serve.problems import Problem
from whymatch.serve.requests import AlignRequest, BatchRequest, RankRequest, SearchRequest
from whymatch.serve.texts import well_formed
from whymatch.text.document import Document
from whymatch.text.encoders import token_counts, tokens_read
from whymatch.transport.constraints import Constraint, UpTo

Text: TypeAlias = str | list[str]
Documents: TypeAlias = tuple[Document, Document]

# The size of a question is the number of tokens that take as long to encode as the question takes to answer.
SPECIAL = 2  # tokens that a model reads with each span
PAIRS = 3000  # pairs of spans that are solved in the time of a token
SEARCH = 1000  # tokens that finding candidates in an index is worth
PAGE = 500  # tokens that writing a page is worth
DOCUMENT = 10  # spans that a document of an index is taken to have


@dataclass(frozen=True, eq=False)
class Pairing:
    """Which spans of two texts match? `many` pairs are answered with one result each, a single one with its own."""

    pairs: Sequence[Documents | Problem]
    aligner: Aligner
    constraint: Constraint | None
    clip: bool
    page: bool
    many: bool
    size: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """Which documents match a text best? `texts` are the documents as they came."""

    pairs: Sequence[Documents]
    texts: Sequence[Text]
    top_k: int | None
    aligner: Aligner
    constraint: Constraint | None
    size: int


@dataclass(frozen=True, eq=False)
class Search:
    """Which documents of the index match a text best?"""

    query: Document
    top: int
    constraint: Constraint | None
    alone: bool
    """Whether sentences count alone, without their text."""
    page: bool
    size: int


Question: TypeAlias = Pairing | Ranking | Search


def pairing(models: Models, asked: AlignRequest | BatchRequest) -> Pairing:
    """The question of /align or /align/batch. A pair of many that cannot be aligned is a problem of its own.

    Raises a `Problem` with status 413 for more text than the server takes, and `ValueError` for what makes no sense.
    """
    many = isinstance(asked, BatchRequest)
    texts = [(pair.left, pair.right) for pair in (asked.pairs if isinstance(asked, BatchRequest) else [asked])]
    page = isinstance(asked, AlignRequest) and asked.page
    aligner = models.aligner(asked.spans)
    constraint = asked.wanted(aligner.below) or models.constraint
    tokens = _checked_tokens(models, [pair for pair in texts if _is_well_formed(pair)], aligner)
    pairs: list[Documents | Problem] = []
    for left, right in texts:
        try:
            pairs.append(models.pair(left, right, aligner))
        except ValueError as error:
            if not many:
                raise
            pairs.append(Problem(422, str(error)))
    good = [pair for pair in pairs if not isinstance(pair, Problem)]
    _check_matrices(models, good)
    solving = sum(_pairs_solved(constraint, len(left), len(right)) for left, right in good)
    shown = PAGE + 2 * tokens if page else 0  # the words inside links are read in windows that overlap
    size = tokens + SPECIAL * sum(len(text) for pair in good for text in pair) + solving // PAIRS + shown
    return Pairing(pairs, aligner, constraint, asked.clip, page, many, size)


def ranking(models: Models, asked: RankRequest) -> Ranking:
    """The question of /rank; raises as `pairing`."""
    aligner = models.aligner(asked.spans)
    constraint = asked.wanted(aligner.below)
    tokens = _checked_tokens(models, [(asked.query, text) for text in asked.documents], aligner)
    pairs = [models.pair(asked.query, text, aligner) for text in asked.documents]
    cells = _check_matrices(models, pairs)
    size = tokens + SPECIAL * sum(len(right) for _, right in pairs) + cells // PAIRS
    return Ranking(pairs, asked.documents, asked.top_k, aligner, constraint, size)


def searching(models: Models, asked: SearchRequest) -> Search:
    """The question of /search; raises as `pairing`."""
    if not models.indices:
        raise Problem(404, "This server has no index. Start it with whymatch serve --index OUT.")
    if asked.top > models.limits.top:
        raise ValueError(f"This server gives {models.limits.top} results or fewer, got top = {asked.top}.")
    wanted = asked.wanted(models.indices[True].aligner.below if True in models.indices else None)
    alone = wanted is not None and wanted.thresholded
    aligner = models.view(alone=alone).aligner
    tokens = sum(token_counts(aligner.encoder, [_joined(asked.query, aligner)]))
    models.check_tokens(tokens)
    query = models.split(asked.query, aligner)
    solving = asked.top * _pairs_solved(wanted, len(query), DOCUMENT)
    size = SEARCH + tokens + SPECIAL * len(query) + solving // PAIRS + (PAGE if asked.page else 0)
    return Search(query, asked.top, wanted, alone, asked.page, size)


def _checked_tokens(models: Models, pairs: Sequence[tuple[Text, Text]], aligner: Aligner) -> int:
    """How many tokens the model reads for pairs of texts; raises a `Problem` for more than the server takes."""
    tokens = tokens_read(aligner.encoder, [(_joined(left, aligner), _joined(right, aligner)) for left, right in pairs])
    models.check_tokens(tokens)
    return tokens


def _check_matrices(models: Models, pairs: Sequence[Documents]) -> int:
    """How many pairs of spans there are in all; raises `ValueError` for more than the server takes."""
    cells = sum(len(left) * len(right) for left, right in pairs)
    if cells > models.limits.matrices:
        most = f"the {models.limits.matrices:,} that this server takes in a request"
        raise ValueError(f"{cells:,} pairs of spans are more than {most}. Send fewer texts, or use larger spans.")
    return cells


def _pairs_solved(constraint: Constraint | None, left: int, right: int) -> int:
    """The pairs of spans in all problems that are solved for an alignment: its own, and one a link for the margin."""
    _, links = (constraint or UpTo(1)).links(left, right)
    return left * right * (1 + min(links, left + right))


def _joined(text: Text, aligner: Aligner) -> str:
    return text if isinstance(text, str) else aligner.separator.join(text)


def _is_well_formed(pair: tuple[Text, Text]) -> bool:
    try:
        return all(well_formed(text) is text for text in pair)
    except ValueError:  # the splitter refuses it, too
        return False
