"""Answers to questions that arrived together: pairs under one constraint are encoded and solved in one call."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from whymatch.checking.check import check_texts
from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment
from whymatch.serve.models import RANKING_CONSTRAINT, Models
from whymatch.serve.problems import Problem
from whymatch.serve.questions import Question
from whymatch.serve.schemas import AlignRequest, BatchRequest, CheckRequest, CompareRequest, RankRequest, SearchRequest
from whymatch.versions.comparing import compare_versions

Answer: TypeAlias = bytes | Exception


def answers(models: Models, questions: Sequence[Question]) -> list[Answer]:
    """One answer per question, as JSON, or what is wrong with it; a bad question changes nothing for the others."""
    answered: dict[int, Answer] = {}
    groups: dict[Any, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        if isinstance(question.asked, AlignRequest | BatchRequest):
            groups[id(question.aligner), question.constraint, question.asked.clip].append(number)
        else:
            answered[number] = _attempt(_answer_alone, models, question)
    for (_, _, clip), numbers in groups.items():
        answered |= zip(numbers, _align(models, [questions[number] for number in numbers], clip=clip), strict=True)
    return [answered[number] for number in range(len(questions))]


def _align(models: Models, questions: Sequence[Question], *, clip: bool) -> list[Answer]:
    """Answers to questions that share aligner and constraint."""
    good = [pair for question in questions for pair in question.pairs if not isinstance(pair, Problem)]
    align = partial(questions[0].aligner.outcomes, constraint=questions[0].constraint, clip=clip)
    outcomes = iter(together_or_alone(align, good))
    results = [[pair if isinstance(pair, Problem) else next(outcomes) for pair in asked.pairs] for asked in questions]
    results = _related(models, questions, results)
    return [_attempt(_encode, models, question, result) for question, result in zip(questions, results, strict=True)]


def _related(
    models: Models, questions: Sequence[Question], results: list[list[Alignment | Exception]]
) -> list[list[Alignment | Exception]]:
    """The results with what links mean, for the questions that ask for it; all of them are read in one batch."""
    read = {
        (asked, place): why
        for asked, outcomes in enumerate(results)
        for place, why in enumerate(outcomes)
        if questions[asked].reads_relations and isinstance(why, Alignment)
    }
    changed = dict(zip(read, together_or_alone(models.related, [*read.values()]), strict=True))
    return [
        [changed.get((asked, place), why) for place, why in enumerate(outcomes)]
        for asked, outcomes in enumerate(results)
    ]


def together_or_alone(answer: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]) -> Sequence[Any]:
    """What a function gives for items; where it fails as a whole, each is tried alone, so that one hurts no other."""
    answers = _attempt(answer, items)
    if not isinstance(answers, Exception):
        return answers
    if len(items) <= 1:
        return [answers for _ in items]
    return [one for item in items for one in together_or_alone(answer, [item])]


def _encode(models: Models, question: Question, outcomes: Sequence[Alignment | Exception]) -> bytes:
    """The answer to a question as JSON. Raises what is wrong with a single pair; of many, what is no problem of one."""
    if isinstance(question.asked, AlignRequest):
        return _encode_alignment(outcomes[0], page=question.asked.page)
    results = []
    for outcome in outcomes:
        result = _attempt(_encode_alignment, outcome)
        if isinstance(result, Problem):
            result = b'{"problem":' + result.body() + b"}"
        elif isinstance(result, Exception):
            raise result
        results.append(result)
    return b'{"results":[' + b",".join(results) + b"]}"


def _encode_alignment(outcome: Alignment | Exception, *, page: bool = False) -> bytes:
    """An alignment as JSON, with its page if that is wanted."""
    if isinstance(outcome, Exception):
        raise outcome
    interruption_point()
    return _json(outcome.to_dict() | ({"page": outcome.to_html()} if page else {}))


def _answer_alone(models: Models, question: Question) -> bytes:
    """The answer to a question that shares no work with others."""
    match question.asked:
        case RankRequest():
            return _rank(models, question, question.asked)
        case CheckRequest():
            return _check(question, question.asked)
        case CompareRequest():
            return _compare(question, question.asked)
        case _:
            assert isinstance(question.asked, SearchRequest)
            return _search(models, question, question.asked)


def _check(question: Question, asked: CheckRequest) -> bytes:
    """What the sources say of every claim, as `Check.to_dict` gives it."""
    assert question.sources is not None
    check = check_texts(asked.answer, question.sources, question.aligner)
    interruption_point()
    return _json(check.to_dict() | ({"page": check.to_html()} if asked.page else {}))


def _compare(question: Question, asked: CompareRequest) -> bytes:
    """What became of every block, as `Comparison.to_dict` gives it."""
    assert question.versions is not None
    encoder = question.aligner.encoder
    comparison = compare_versions(*question.versions, relations=asked.relations, encoder=encoder)
    interruption_point()
    return _json(comparison.to_dict() | ({"page": comparison.to_html()} if asked.page else {}))


def _rank(models: Models, question: Question, asked: RankRequest) -> bytes:
    """Documents by their alignment with a text: as `Ranker.rank` gives them, or the most probable match first."""
    pairs = [pair for pair in question.pairs if not isinstance(pair, Problem)]
    if models.ranker is not None and question.constraint is None:
        ranked = models.ranker.rank(pairs[0][0], [right for _, right in pairs], asked.top_k)
    else:
        evidence = question.aligner.cost.evidence is not None
        constraint = question.constraint or (None if evidence else RANKING_CONSTRAINT)
        whys = question.aligner.align_many(pairs, constraint, clip=True, links_only=True, progress=False)
        ranked = [_ranked(number, whys[number]) for number in sorted(range(len(whys)), key=lambda n: _order(whys[n]))]
    results = []
    for result in ranked[: asked.top_k]:
        interruption_point()
        links = [link.to_dict() for link in result["links"]]
        results.append(result | {"text": asked.documents[result["corpus_id"]], "links": links})
    return _json({"results": results})


def _order(why: Alignment) -> tuple[float, float, float]:
    """What documents are sorted by: equal texts first, then the smallest p-value; without evidence, the score."""
    if why.judgement is None:
        return 0.0, 0.0, -why.score
    return -(why.judgement.probability or 0.0), why.judgement.p_value, -why.judgement.bits


def _ranked(number: int, why: Alignment) -> dict[str, Any]:
    """What an answer says of one document."""
    judged: dict[str, Any] = {}
    if why.judgement is not None:
        judged = {
            "verdict": why.verdict,
            "probability": why.probability,
            "bits": why.bits,
            "p_value": why.p_value,
        }
    return {"corpus_id": number, **judged, "score": why.score, "links": why.links}


def _search(models: Models, question: Question, asked: SearchRequest) -> bytes:
    """What the index has, as `SearchResults.to_dict` gives it."""
    results = models.refreshed_index().search(asked.query, asked.top_k, question.constraint, where=asked.where)
    interruption_point()
    return _json(results.to_dict() | ({"page": results.to_html()} if asked.page else {}))


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _attempt(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function gives, or its error; a ValueError becomes a problem."""
    try:
        return work(*arguments, **options)
    except ValueError as error:
        return Problem(422, str(error))
    except Exception as error:
        return error
