"""Answers to questions that arrived together: pairs under one constraint are encoded and solved in one call."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.serve.models import DEFAULT, Models
from whymatch.serve.problems import Problem
from whymatch.transport.constraints import Constraint

Text: TypeAlias = str | list[str]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Which spans of two texts match?"""

    left: Text
    right: Text
    aligner: Aligner
    constraint: Constraint | None
    clip: bool
    page: bool = False


@dataclass(frozen=True, eq=False)
class Ranking:
    """Which documents match a text best?"""

    query: Text
    documents: Sequence[Text]
    top_k: int | None
    aligner: Aligner
    constraint: Constraint | None


@dataclass(frozen=True, eq=False)
class Search:
    """Which documents of the index match a text best?"""

    query: Text
    top: int
    constraint: Constraint | None
    alone: bool
    """Whether sentences count alone, without their text."""
    page: bool


Question: TypeAlias = Pairing | Ranking | Search
Answer: TypeAlias = bytes | Exception


def answers(models: Models, questions: Sequence[Question]) -> list[Answer]:
    """One answer a question, as JSON, or what is wrong with it; a bad one changes nothing for the others."""
    found: dict[int, Answer] = {}
    groups: dict[Any, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        if isinstance(question, Pairing):
            groups[id(question.aligner), question.constraint, question.clip].append(number)
        elif isinstance(question, Ranking):
            found[number] = attempt(rank, models, question)
        else:
            found[number] = attempt(search, models, question)
    for numbers in groups.values():
        some = [question for number in numbers if isinstance(question := questions[number], Pairing)]
        found |= zip(numbers, align(models, some), strict=True)
    return [found[number] for number in range(len(questions))]


def align(models: Models, questions: Sequence[Pairing]) -> list[Answer]:
    """Alignments of pairs that share aligner and constraint."""
    pairs = [attempt(models.pair, some.left, some.right, some.aligner) for some in questions]
    good = [pair for pair in pairs if not isinstance(pair, Exception)]
    first = questions[0]
    found = iter(outcomes(first.aligner, good, first.constraint, clip=first.clip))
    return [
        pair if isinstance(pair, Exception) else attempt(written, next(found), some.page)
        for pair, some in zip(pairs, questions, strict=True)
    ]


def outcomes(
    aligner: Aligner, pairs: Sequence[Any], constraint: Constraint | None, *, clip: bool
) -> Sequence[Alignment | Exception]:
    """As `Aligner.outcomes`; where it fails as a whole, each pair is tried alone, so that one cannot hurt the rest."""
    found = attempt(aligner.outcomes, pairs, constraint, clip=clip)
    if not isinstance(found, Exception):
        return found
    if len(pairs) <= 1:
        return [found for _ in pairs]
    return [some for pair in pairs for some in outcomes(aligner, [pair], constraint, clip=clip)]


def written(why: Alignment | Exception, page: bool) -> bytes:
    """An alignment as JSON, with its page if that is wanted."""
    if isinstance(why, Exception):
        raise why
    return encoded(why.to_dict() | ({"page": why.to_html()} if page else {}))


def rank(models: Models, question: Ranking) -> bytes:
    """Documents by their alignment with a text, as `Ranker.rank` gives them."""
    aligner = question.aligner
    pairs = [models.pair(question.query, text, aligner) for text in question.documents]
    if (cells := sum(len(left) * len(right) for left, right in pairs)) > (most := models.limits.ranked):
        raise ValueError(f"{cells:,} pairs of spans are more than the {most:,} that this server ranks. Send less.")
    if models.ranker is not None and question.constraint is None:
        ranked = models.ranker.rank(question.query, question.documents, question.top_k)
    else:
        whys = aligner.align_many(pairs, question.constraint or DEFAULT, clip=True)
        order = sorted(range(len(whys)), key=lambda number: (-whys[number].score, number))[: question.top_k]
        ranked = [
            {"corpus_id": n, "score": whys[n].score, "text": question.documents[n], "links": whys[n].links}
            for n in order
        ]
    return encoded({"results": [row | {"links": [link.to_dict() for link in row["links"]]} for row in ranked]})


def search(models: Models, question: Search) -> bytes:
    """What the index has, as `Results.to_dict` gives it."""
    index = models.index(alone=question.alone)
    text = models.split(question.query, index.aligner)
    found = index.search(text, question.top, question.constraint)
    return encoded(found.to_dict() | ({"page": found.to_html()} if question.page else {}))


def encoded(found: dict[str, Any]) -> bytes:
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def attempt(work: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """What a function gives, or its error; refusals become problems."""
    try:
        return work(*given, **options)
    except ValueError as error:
        return Problem(422, str(error))
    except Exception as error:
        return error
