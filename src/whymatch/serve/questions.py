"""Questions that requests ask: their texts are split, and their size is known before any of them is encoded.

Building a question raises a `Problem` with status 413 for more than the server takes, and `ValueError` for what cannot
be answered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from whymatch.checking.check import MOST_SOURCES
from whymatch.checking.sources import NamedTexts
from whymatch.matching.aligner import Aligner
from whymatch.serve.models import Limits, Models
from whymatch.serve.problems import Problem
from whymatch.serve.schemas import (
    AlignRequest,
    BatchRequest,
    CheckRequest,
    CompareRequest,
    RankRequest,
    SearchRequest,
    well_formed,
)
from whymatch.text.document import Document
from whymatch.text.encoders import token_counts, tokens_read
from whymatch.text.spans import is_blank
from whymatch.transport.constraints import Constraint, UpTo
from whymatch.versions.comparing import Version, texts_to_read, versions_of

Text: TypeAlias = str | list[str]
Documents: TypeAlias = tuple[Document, Document]

# The size of a question is the number of tokens that take as long to encode as the question takes to answer.
_TOKENS_PER_SPAN = 2  # special tokens that a model reads with each span
_CELLS_PER_TOKEN = 3000  # pairs of spans that are solved in the time of a token
_TOKENS_PER_SEARCH = 1000  # for finding candidates in an index
_TOKENS_PER_PAGE = 500  # for writing a page
_SPANS_PER_DOCUMENT = 10  # assumed of documents in an index
_READINGS = 3  # of a claim with the spans of a source, of which up to eight speak of it
_TOKENS_PER_READ_TOKEN = 4  # for aligning the words of what was read, and looking for conflicts
_TOKENS_PER_EDITED_TOKEN = 7  # for the same, of blocks that have to be linked
_PAIRS_OF_BLOCKS_PER_TOKEN = 8  # that are compared in the time of a token
_FEWER_TOKENS = "Send less text at a time: words are a token or more, and each sign, such as a dot, is one."


@dataclass(frozen=True, eq=False)
class Question:
    """A request with its texts split: pairs of texts, or what is wrong with one pair of many; none for a search."""

    asked: AlignRequest | BatchRequest | RankRequest | SearchRequest | CheckRequest | CompareRequest
    aligner: Aligner
    constraint: Constraint | None
    pairs: Sequence[Documents | Problem]
    size: int
    sources: NamedTexts | None = None
    """Of a check: the sources, split."""
    versions: tuple[Version, Version] | None = None
    """Of a comparison: both versions, cut into blocks."""

    @property
    def reads_relations(self) -> bool:
        """Whether links are to say what they mean: as asked, or else where there is a page."""
        relations = getattr(self.asked, "relations", False)
        return getattr(self.asked, "page", False) if relations is None else relations


def pairing(models: Models, asked: AlignRequest | BatchRequest) -> Question:
    """The question of /align or /align/batch. A pair of many that cannot be aligned is a problem of its own."""
    texts = [(pair.left, pair.right) for pair in (asked.pairs if isinstance(asked, BatchRequest) else [asked])]
    _check(len(texts), models.limits.pairs, "pairs")
    _check_characters(models.limits, (text for pair in texts for text in pair))
    aligner = models.aligner(asked.spans)
    constraint = asked.chosen() or models.constraint
    tokens = _count_tokens(models, [pair for pair in texts if _are_well_formed(pair)], aligner)
    pairs: list[Documents | Problem] = []
    for left, right in texts:
        try:
            pairs.append(models.split_pair(left, right, aligner))
        except ValueError as error:
            if isinstance(asked, AlignRequest):
                raise
            pairs.append(Problem(422, str(error)))
    good = [pair for pair in pairs if not isinstance(pair, Problem)]
    _count_cells(models, good)
    cells = sum(_cells_solved(constraint, len(left), len(right)) for left, right in good)
    size = tokens + _TOKENS_PER_SPAN * sum(len(text) for pair in good for text in pair) + cells // _CELLS_PER_TOKEN
    question = Question(asked, aligner, constraint, pairs, size)
    if question.reads_relations:
        size += 3 * tokens  # linked spans are read together in both orders, and then their words
    if isinstance(asked, AlignRequest) and asked.page:
        size += _TOKENS_PER_PAGE + 2 * tokens  # the words inside links are read in windows that overlap
    return replace(question, size=size)


def ranking(models: Models, asked: RankRequest) -> Question:
    """The question of /rank."""
    _check(len(asked.documents), models.limits.documents, "documents")
    _check_characters(models.limits, [asked.query, *asked.documents])
    aligner = models.aligner(asked.spans)
    tokens = _count_tokens(models, [(asked.query, text) for text in asked.documents], aligner)
    pairs = [models.split_pair(asked.query, text, aligner) for text in asked.documents]
    cells = _count_cells(models, pairs)
    size = tokens + _TOKENS_PER_SPAN * sum(len(right) for _, right in pairs) + cells // _CELLS_PER_TOKEN
    return Question(asked, aligner, asked.chosen(), pairs, size)


def searching(models: Models, asked: SearchRequest) -> Question:
    """The question of /search."""
    _check_characters(models.limits, [asked.query])
    if models.index is None:
        raise Problem(404, "This server has no index. Start it with whymatch serve --index INDEX.")
    if asked.top_k > (most := models.limits.results):
        raise ValueError(f"This server gives {most} results or fewer, got top_k = {asked.top_k}.")
    constraint = asked.chosen()
    aligner = models.index.aligner
    tokens = _check_tokens(models.limits, sum(token_counts(aligner.encoder, [_joined(asked.query, aligner)])))
    spans = len(models.split(asked.query, aligner))
    cells = asked.top_k * _cells_solved(constraint, spans, _SPANS_PER_DOCUMENT)
    size = _TOKENS_PER_SEARCH + tokens + _TOKENS_PER_SPAN * spans + cells // _CELLS_PER_TOKEN
    return Question(asked, aligner, constraint, (), size + (_TOKENS_PER_PAGE if asked.page else 0))


def checking(models: Models, asked: CheckRequest) -> Question:
    """The question of /check. Each sentence of the answer is read with the sources that say most of it."""
    _check(len(asked.sources), models.limits.sources, "sources")
    named = NamedTexts.of([source if isinstance(source, str) else source.model_dump() for source in asked.sources])
    texts = {name: str(text) for name, text in named.texts.items()}
    _check_characters(models.limits, [asked.answer, *texts, *texts.values()])
    if is_blank(asked.answer):
        raise ValueError("The answer is empty: there is nothing to check.")
    if not texts:
        raise ValueError("Every source is empty: give one that has a text.")
    aligner = models.aligner_of_sentences()
    answer, *counts = token_counts(aligner.encoder, [asked.answer, *texts.values()])
    readings = _READINGS * answer * min(MOST_SOURCES, len(texts))
    advice = "Send a shorter answer, or fewer sources: every sentence of an answer is read with up to five of them."
    tokens = _check_tokens(models.limits, answer + sum(counts) + readings, advice)
    claims = models.split(asked.answer, aligner)
    documents = {name: models.split(text, aligner) for name, text in texts.items()}
    named.texts.update(documents)
    cells = _count_cells(models, [(claims, document) for document in documents.values()])
    spans = len(claims) + sum(map(len, documents.values()))
    size = tokens + _TOKENS_PER_READ_TOKEN * readings + _TOKENS_PER_SPAN * spans + cells // _CELLS_PER_TOKEN
    size += _TOKENS_PER_PAGE if asked.page else 0
    return Question(asked, aligner, None, (), size, sources=named)


def comparing(models: Models, asked: CompareRequest) -> Question:
    """The question of /compare. Only blocks that are not in both versions are read."""
    _check_characters(models.limits, [asked.old, asked.new])
    aligner = models.aligner_of_sentences()
    old, new = versions_of(asked.old, asked.new, asked.spans, limit=models.limits.blocks)
    read = texts_to_read(old, new)
    tokens = _check_tokens(models.limits, sum(token_counts(aligner.encoder, [*read[0], *read[1]])))
    advice = "Compare shorter versions, or larger spans."
    pairs = _check(len(read[0]) * len(read[1]), models.limits.matrices, "pairs of edited blocks", advice, 422)
    size = _TOKENS_PER_EDITED_TOKEN * tokens + pairs // _PAIRS_OF_BLOCKS_PER_TOKEN + len(old.blocks) + len(new.blocks)
    size += _TOKENS_PER_PAGE if asked.page else 0
    return Question(asked, aligner, None, (), size, versions=(old, new))


def _check(count: int, most: int, unit: str, advice: str = "Send less at a time.", status: int = 413) -> int:
    """The count. Raises a `Problem` if it is more than the server takes."""
    if count > most:
        detail = f"The request has {count:,} {unit}, and this server takes {most:,} {unit} a request. {advice}"
        raise Problem(status, detail)
    return count


def _check_characters(limits: Limits, texts: Iterable[Text]) -> None:
    """Raises a `Problem` for too many characters; a piece of a text counts as one more, even an empty one."""
    sizes = (len(text) if isinstance(text, str) else sum(map(len, text)) + len(text) for text in texts)
    _check(sum(sizes), limits.characters, "characters")


def _check_tokens(limits: Limits, tokens: int, advice: str = _FEWER_TOKENS) -> int:
    return _check(tokens, limits.tokens, "tokens", advice)


def _count_tokens(models: Models, pairs: Sequence[tuple[Text, Text]], aligner: Aligner) -> int:
    """How many tokens the model reads for pairs of texts; raises a `Problem` for more than the server takes."""
    joined = [(_joined(left, aligner), _joined(right, aligner)) for left, right in pairs]
    return _check_tokens(models.limits, tokens_read(aligner.encoder, joined))


def _count_cells(models: Models, pairs: Sequence[Documents]) -> int:
    """How many pairs of spans there are in all; raises a `Problem` for more than the server takes."""
    cells = sum(len(left) * len(right) for left, right in pairs)
    return _check(cells, models.limits.matrices, "pairs of spans", "Send fewer texts, or use larger spans.", 422)


def _cells_solved(constraint: Constraint | None, left: int, right: int) -> int:
    """Pairs of spans in all problems that an alignment solves: its own, and one per link for the margin."""
    _, links = (constraint or UpTo(1)).links(left, right)
    return left * right * (1 + min(links, left + right))


def _joined(text: Text, aligner: Aligner) -> str:
    return text if isinstance(text, str) else aligner.separator.join(text)


def _are_well_formed(pair: tuple[Text, Text]) -> bool:
    try:
        return all(well_formed(text) is text for text in pair)
    except ValueError:  # the splitter refuses it, too
        return False
