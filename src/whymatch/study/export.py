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

_SEPARATORS = {"word": " ", "paragraph": "\n\n"}
"""Between the spans of a document, so that reading it splits it as before; others stand on a line each."""


def export(
    study: Study, answers: Iterable[Answer], folder: Path, *, least: int = 1, label: str | None = None, seed: int = 0
) -> dict[str, int]:
    """Writes a new folder, whole or not at all, and gives the number of pairs in each split.

    A link that `least` people or more judged is part of the rationale if more of them accept than reject it. A pair is
    exported if any of its links was judged by as many. No text is in two splits. `label` is for pairs that have none.
    """
    accepted = accepted_links(study, answers, least)
    if not accepted:
        raise ValueError(f"No link was judged by {least} or more people: there is nothing to export.")
    documents = {number: _documents(study.pairs[number], study.spans) for number in accepted}
    rows = {number: _row(study.pairs[number], documents[number], links, label) for number, links in accepted.items()}
    splits = _split(study.pairs, [*rows], seed)
    with whole_folder(folder) as draft:
        for split, numbers in splits.items():
            write_json_lines(draft / f"{split}.jsonl", (rows[number] for number in numbers))
        texts = (text for of_pair in documents.values() for text in of_pair.items())
        write_json_lines(draft / "docs.jsonl", ({"docid": name, "document": text.text} for name, text in texts))
    return {split: len(numbers) for split, numbers in splits.items()}


def accepted_links(study: Study, answers: Iterable[Answer], least: int) -> dict[int, list[At]]:
    """The links of each judged pair that a majority of people accepts, whichever models and items they came from."""
    votes: dict[int, dict[str, dict[str, list[int]]]] = {}  # by pair, link and annotator
    for answer in answers:
        if answer.question not in RATINGS:
            of_pair = votes.setdefault(study.by_id[answer.item].pair, {})
            of_pair.setdefault(answer.question, {}).setdefault(answer.annotator, []).append(answer.value)
    links = {(item.pair, link_name(at)): at for item in study.items for at in item.links}
    accepted: dict[int, list[At]] = {}
    for pair, of_pair in sorted(votes.items()):
        judged = {name: [*people.values()] for name, people in of_pair.items() if len(people) >= least}
        if judged:
            names = (name for name, people in judged.items() if _majority(map(_majority, people)))
            accepted[pair] = sorted(links[pair, name] for name in names)
    return accepted


def _majority(votes: Iterable[int]) -> bool:
    """Whether more than half of the votes are 1.

    >>> _majority([1, 0, 1]), _majority([1, 0])
    (True, False)
    """
    counted = [*votes]
    return 2 * sum(counted) > len(counted)


def _documents(pair: Pair, spans: str) -> dict[str, Document]:
    """The two texts of a pair by their names, each of its spans alone, without line breaks inside spans."""
    separator = _SEPARATORS.get(spans, "\n")
    return {
        f"{pair.id}{end}": joined([" ".join(piece.split()) for piece in text.pieces], separator)
        for end, text in zip(SENTENCES, (pair.left, pair.right), strict=True)
    }


def _row(pair: Pair, documents: dict[str, Document], links: Sequence[At], label: str | None) -> dict[str, Any]:
    """ERASER's row of a pair: a group of evidence, left and right, for each accepted link."""
    if pair.label is None and label is None:
        raise ValueError(f"Pair {pair.id} has no label, and training needs one. Give it with --label, or in the pairs.")
    return {
        "annotation_id": pair.id,
        "docids": [*documents],
        "query": "",
        "query_type": None,
        "classification": label if pair.label is None else pair.label,
        "evidences": [
            [_evidence(name, text, number) for (name, text), number in zip(documents.items(), at, strict=True)]
            for at in links
        ],
    }


def _evidence(name: str, text: Document, number: int) -> dict[str, Any]:
    """One span of a document, in tokens between blanks and in sentences."""
    ((first, last),) = token_ranges(text.text, [text.spans[number]])
    return {
        "docid": name,
        "start_token": first,
        "end_token": last,
        "start_sentence": number,
        "end_sentence": number + 1,
        "text": text[text.spans[number]],
    }


def _split(pairs: Sequence[Pair], numbers: Sequence[int], seed: int) -> dict[str, list[int]]:
    """The numbers of pairs by split; pairs that share a text stay together."""
    first: dict[str, int] = {}
    edges = [
        (first.setdefault(text, number), number)
        for number in numbers
        for text in (pairs[number].left.text, pairs[number].right.text)
    ]
    splits = split_whole(components(numbers, edges), seed)
    return {split: sorted(number for group in groups for number in group) for split, groups in splits.items()}
