"""Accepted links as a data set in ERASER's layout, which `whymatch train` takes for supervised rationales."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from whymatch.datasets.eraser import SENTENCES
from whymatch.datasets.records import Pair
from whymatch.datasets.splits import components, split_whole
from whymatch.files import whole_folder
from whymatch.reading import write_json_lines
from whymatch.study.answers import Answer
from whymatch.study.items import RATINGS, At, Study, link_name
from whymatch.text.document import Document, joined
from whymatch.text.spans import token_ranges

SEPARATORS = {"word": " ", "paragraph": "\n\n"}
"""Between the spans of a document, so that reading it splits it as before; others stand a line each."""


def export(
    study: Study, answers: Iterable[Answer], folder: Path, *, least: int = 1, label: str | None = None, seed: int = 0
) -> dict[str, int]:
    """Writes a new folder, whole or not at all, and gives the number of pairs in each split.

    A link is a reason if more people accept than reject it, of at least so many; a pair is in if any of its links was
    judged by so many. Texts of two splits are never the same. `label` is for pairs that have none.
    """
    reasons = accepted(study, answers, least)
    if not reasons:
        raise ValueError(f"No link was judged by {least} or more people: there is nothing to export.")
    rows = {number: row(study.pairs[number], links, study.spans, label) for number, links in reasons.items()}
    splits = divide(study.pairs, [*rows], seed)
    with whole_folder(folder) as draft:
        for split, numbers in splits.items():
            write_json_lines(draft / f"{split}.jsonl", (rows[number] for number in numbers))
        write_json_lines(
            draft / "docs.jsonl", (text for number in rows for text in texts(study.pairs[number], study.spans))
        )
    return {split: len(numbers) for split, numbers in splits.items()}


def accepted(study: Study, answers: Iterable[Answer], least: int) -> dict[int, list[At]]:
    """The links of each judged pair that a majority of people accepts, whichever models and items they came from."""
    said: dict[int, dict[str, dict[str, list[int]]]] = {}
    for answer in answers:
        if answer.question not in RATINGS:
            of_pair = said.setdefault(study.by_id[answer.item].pair, {})
            of_pair.setdefault(answer.question, {}).setdefault(answer.annotator, []).append(answer.value)
    links = {(item.pair, link_name(at)): at for item in study.items for at in item.links}
    found: dict[int, list[At]] = {}
    for pair, judged in sorted(said.items()):
        enough = {name: [*people.values()] for name, people in judged.items() if len(people) >= least}
        if enough:
            found[pair] = sorted(
                links[pair, name] for name, people in enough.items() if majority(map(majority, people))
            )
    return found


def majority(votes: Iterable[int]) -> bool:
    """Whether more than half of the votes are 1.

    >>> majority([1, 0, 1]), majority([1, 0])
    (True, False)
    """
    some = [*votes]
    return 2 * sum(some) > len(some)


def row(pair: Pair, links: Sequence[At], spans: str, label: str | None) -> dict[str, Any]:
    """ERASER's row of a pair: a group of evidence, left and right, for each accepted link."""
    said = pair.label if pair.label is not None else label
    if said is None:
        raise ValueError(f"Pair {pair.id} has no label, and training needs one. Give it with --label, or in the pairs.")
    return {
        "annotation_id": pair.id,
        "docids": [f"{pair.id}{end}" for end in SENTENCES],
        "query": "",
        "query_type": None,
        "classification": said,
        "evidences": [
            [
                evidence(f"{pair.id}{end}", rejoined(text, spans), number)
                for end, text, number in zip(SENTENCES, (pair.left, pair.right), at, strict=True)
            ]
            for at in links
        ],
    }


def evidence(name: str, text: Document, number: int) -> dict[str, Any]:
    """One span of a document, in tokens between blanks and in sentences."""
    ((first, last),) = token_ranges(text.text, [text.spans[number]])
    return {
        "docid": name,
        "start_token": first,
        "end_token": last,
        "start_sentence": number,
        "end_sentence": number + 1,
        "text": text.pieces[number],
    }


def rejoined(text: Document, spans: str) -> Document:
    """A text of its spans alone, each without line breaks inside."""
    return joined([" ".join(piece.split()) for piece in text.pieces], SEPARATORS.get(spans, "\n"))


def texts(pair: Pair, spans: str) -> list[dict[str, str]]:
    """The two documents of a pair, as `docs.jsonl` has them."""
    sides = zip(SENTENCES, (pair.left, pair.right), strict=True)
    return [{"docid": f"{pair.id}{end}", "document": rejoined(text, spans).text} for end, text in sides]


def divide(pairs: Sequence[Pair], numbers: Sequence[int], seed: int) -> dict[str, list[int]]:
    """The numbers by split; pairs that share a text stay together."""
    first: dict[str, int] = {}
    shared = [
        (first.setdefault(text, number), number)
        for number in numbers
        for text in (pairs[number].left.text, pairs[number].right.text)
    ]
    found = split_whole(components(numbers, shared), seed)
    return {split: sorted(number for group in groups for number in group) for split, groups in found.items()}
