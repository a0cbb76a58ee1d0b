"""Answers to questions that arrived together: pairs under one constraint are encoded and solved in one call."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from whymatch.interruption import interruption_point
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.serve.models import DEFAULT, Models
from whymatch.serve.problems import Problem
from whymatch.serve.questions import Pairing, Question, Ranking, Search
from whymatch.transport.constraints import Constraint

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
        found |= zip(numbers, align(some), strict=True)
    return [found[number] for number in range(len(questions))]


def align(questions: Sequence[Pairing]) -> list[Answer]:
    """Alignments of pairs that share aligner and constraint."""
    good = [pair for question in questions for pair in question.pairs if not isinstance(pair, Problem)]
    first = questions[0]
    found = iter(outcomes(first.aligner, good, first.constraint, clip=first.clip))
    results = [
        [pair if isinstance(pair, Problem) else next(found) for pair in question.pairs] for question in questions
    ]
    return [attempt(written, question, some) for question, some in zip(questions, results, strict=True)]


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


def written(question: Pairing, found: Sequence[Alignment | Exception]) -> bytes:
    """The answer to a question as JSON; raises what is wrong with its pair, or with more than one pair of many."""
    if not question.many:
        return written_alignment(found[0], question.page)
    results = [attempt(written_alignment, some, False) for some in found]
    return b'{"results":[' + b",".join(map(one_of_many, results)) + b"]}"


def written_alignment(found: Alignment | Exception, page: bool) -> bytes:
    """An alignment as JSON, with its page if that is wanted."""
    if isinstance(found, Exception):
        raise found
    interruption_point()
    return encoded(found.to_dict() | ({"page": found.to_html()} if page else {}))


def one_of_many(found: bytes | Exception) -> bytes:
    """An alignment, or the problem of its pair."""
    if isinstance(found, bytes):
        return found
    if isinstance(found, Problem):
        return b'{"problem":' + found.body() + b"}"
    raise found


def rank(models: Models, question: Ranking) -> bytes:
    """Documents by their alignment with a text, as `Ranker.rank` gives them."""
    if models.ranker is not None and question.constraint is None:
        ranked = models.ranker.rank(question.pairs[0][0], [right for _, right in question.pairs], question.top_k)
    else:
        whys = question.aligner.align_many(question.pairs, question.constraint or DEFAULT, clip=True, links_only=True)
        order = sorted(range(len(whys)), key=lambda number: (-whys[number].score, number))[: question.top_k]
        ranked = [{"corpus_id": number, "score": whys[number].score, "links": whys[number].links} for number in order]
    rows = []
    for row in ranked:
        interruption_point()
        links = [link.to_dict() for link in row["links"]]
        rows.append(row | {"text": question.texts[row["corpus_id"]], "links": links})
    return encoded({"results": rows})


def search(models: Models, question: Search) -> bytes:
    """What the index has, as `Results.to_dict` gives it."""
    found = models.index(alone=question.alone).search(question.query, question.top, question.constraint)
    interruption_point()
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
