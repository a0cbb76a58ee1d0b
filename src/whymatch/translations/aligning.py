"""From a text and its translation to the sentences that belong together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from whymatch.progress import call_progress
from whymatch.text.document import Document, document
from whymatch.text.encoders import check_readable, unread_language
from whymatch.text.spans import Splitter, splitter
from whymatch.translations.bitext import Bitext, Passage
from whymatch.translations.gains import Groups, TranslationCosts, nearest
from whymatch.transport.groups import GroupLink, InOrder, in_order

if TYPE_CHECKING:
    from whymatch.text.encoders import Encoder

LIMIT = 20_000
"""Sentences of a text. Time grows with the product of both numbers, memory with their sum."""
_MOVED_FROM = 0.3
"""The likeness above which a link of moved passages gains: without order there is less to go by."""
_UNLIKE = 0.4
"""The median likeness of passages below which a remark says so: that of translations is .55 and more."""
_SIDES = ("source", "translated")


def bitext(
    source: str | Sequence[str] | Document,
    translation: str | Sequence[str] | Document,
    *,
    spans: str | Splitter = "sentence",
    encoder: "Encoder | None" = None,
    most: int = 4,
    moved: bool = False,
    progress: bool | None = None,
) -> Bitext:
    """Which sentences of a text and of its translation belong together, in groups of up to `most` with up to `most`.

    The links are in the order of both texts, and optimal: no others in order gain more. All groups are looked at, so
    that this needs no assumption about where the optimum lies. Sentences that no link gains anything by are left out.

    >>> import whymatch as wm
    >>> german = ["Es regnete den ganzen Tag.", "Der Laden war zu.", "Also hatten wir kein Brot."]
    >>> bitext = wm.bitext("It rained all day. The shop was closed, so we had no bread.", german)
    >>> [(one.left, one.right) for one in bitext.passages]
    [((0,), (0,)), ((1,), (1, 2))]

    Args:
        source: a text, a list of its sentences, or a document.
        translation: likewise.
        spans: sentence, line, paragraph, or a splitter, for texts that are not split.
        encoder: reads both languages; by default the multilingual one, for sixteen languages.
        most: sentences of a group.
        moved: whether to look for passages that stand at another place, among the sentences that are left out.
        progress: whether to show progress; by default at a terminal and in notebooks, if it takes long.

    Raises:
        ModuleNotFoundError: if the multilingual encoder is needed and its extra is not installed.
        ValueError: if a text is not valid Unicode, has more than 20,000 sentences, or cannot be read by the encoder.
    """
    rule, cut = InOrder(most), splitter(spans) if isinstance(spans, str) else spans
    texts = [document(text, cut, limit=LIMIT) for text in (source, translation)]
    if encoder is None:
        from whymatch.text.encoders.multilingual import MultilingualEncoder

        encoder = MultilingualEncoder()
    for side, text in zip(_SIDES, texts, strict=True):
        check_readable(encoder, side, text)
    mirrored = texts[1].pieces < texts[0].pieces  # so that the other way round gives the mirrored links
    left, right = reversed(texts) if mirrored else texts
    passages = _passages(left, right, encoder, rule, moved=moved, progress=progress)
    if mirrored:
        passages = [replace(one, left=one.right, right=one.left) for one in passages]
    remarks = [
        f"The passages are hardly alike ({middle:.2f} of 1 in the middle): the texts may be no translations."
        for middle in ([median(one.likeness for one in passages)] if passages else [])
        if middle < _UNLIKE
    ]
    remarks += [
        f"{encoder.name} does not read {name}, the language of the {side} text: links may be wrong."
        for side, text in zip(_SIDES, texts, strict=True)
        if (name := unread_language(encoder, text.text))
    ]
    return Bitext(texts[0], texts[1], tuple(sorted(passages, key=lambda one: one.left)), tuple(remarks))


def _passages(
    left: Document, right: Document, encoder: "Encoder", rule: InOrder, *, moved: bool, progress: bool | None
) -> list[Passage]:
    """The links in order, then those of passages that moved, where they are asked for."""
    if not len(left) or not len(right):
        return []
    with call_progress("Reading both texts", len(left) + len(right), progress) as show:
        own = Groups(left, encoder, rule.most, show)
        other = Groups(right, encoder, rule.most, lambda count: show(len(left) + count))
    costs = TranslationCosts(own, other)
    with call_progress("Linking sentences", len(left), progress) as show:

        def counted(rows: range, columns: range) -> np.ndarray:
            show(rows.stop)
            return costs(rows, columns)

        links = in_order(counted, rule, sizes=(len(left), len(right))).links
    passages = [_passage(link, costs) for link in links]
    if moved:
        passages += [replace(_passage(link, costs), moved=True) for link in _moved(links, own, other, costs, rule)]
    return passages


def _passage(link: GroupLink, costs: TranslationCosts) -> Passage:
    return Passage(tuple(link.left), tuple(link.right), costs.likeness(link.left, link.right))


def _moved(
    links: Iterable[GroupLink], left: Groups, right: Groups, costs: TranslationCosts, rule: InOrder
) -> Iterator[GroupLink]:
    """Links of sentences that are in no link yet: runs of them with runs of them, those that gain most first.

    Two runs are linked where a sentence of one and one of the other are the nearest to each other of all such ones.
    """
    taken = {n for link in links for n in link.left}, {n for link in links for n in link.right}
    free = [[n for n in range(len(side)) if n not in own] for side, own in zip((left, right), taken, strict=True)]
    runs = [_runs(numbers) for numbers in free]
    pairs = nearest(left.vectors[free[0], 0], right.vectors[free[1], 0])
    near = {(runs[0][free[0][i]], runs[1][free[1][j]]) for i, j, likeness in pairs if likeness > _MOVED_FROM}
    links = [link for own, other in near for link in _between(own, other, costs, rule)]
    for link in sorted(links, key=lambda link: (link.cost, link.left[0], link.right[0])):
        if taken[0].isdisjoint(link.left) and taken[1].isdisjoint(link.right):
            taken[0].update(link.left)
            taken[1].update(link.right)
            yield link


def _runs(numbers: Sequence[int]) -> dict[int, range]:
    """The run of numbers that follow one another, for each of some numbers in order."""
    runs = dict[int, range]()
    for _, members in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        own = [number for _, number in members]
        runs |= dict.fromkeys(own, range(own[0], own[-1] + 1))
    return runs


def _between(own: range, other: range, costs: TranslationCosts, rule: InOrder) -> Iterator[GroupLink]:
    """The optimal links in order of two runs, where links have to be likelier than in their order."""

    def within(rows: range, columns: range) -> np.ndarray:
        return costs(own[rows.start : rows.stop], other[columns.start : columns.stop], _MOVED_FROM)

    for link in in_order(within, rule, sizes=(len(own), len(other))).links:
        yield GroupLink(own[link.left.start : link.left.stop], other[link.right.start : link.right.stop], link.cost)
