"""Sentences of translations: which groups are found, beside gold that people made; and the time of a book.

    WHYMATCH_DATA=… python -m benchmarks.translations [--book 10000]

Text+Berg's German and French sentences are scored as Vecalign's scorer does: strictly, where a group of both sides is
in the gold as it is; laxly, where it shares a sentence of both sides with one. Sentences without a counterpart count
for precision, and not for recall. The constants of `whymatch.translations.gains` were chosen on this text and on the
made ones below together, where a whole region of values is as good; the test texts of Text+Berg were not seen.

Made texts are 250 of PUD's parallel sentences, of which some are joined, cut in two, left out or added on one side, and
in a second run four passages of one to eight are moved. Of unrelated texts no sentence should be linked.
"""

import argparse
import ast
import gzip
import os
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import whymatch as wm
from whymatch.show.terminal import table

Groups: TypeAlias = list[tuple[tuple[int, ...], tuple[int, ...]]]
PUD = {"en": "English", "de": "German", "fr": "French", "zh": "Chinese"}
_PAIRS = (("en", "de"), ("en", "fr"), ("en", "zh"), ("de", "fr"))
_MOST = 4


class Texts(NamedTuple):
    """Sentences of both sides and the groups that belong together; () on a side where there is no counterpart."""

    left: list[str]
    right: list[str]
    gold: Groups


class Scores(NamedTuple):
    """Strict precision, recall and F1, and lax F1."""

    precision: float
    recall: float
    f1: float
    lax: float


def textberg(folder: Path) -> Texts:
    """The development text of Text+Berg."""
    sides = [[line.strip() for line in (folder / f"dev.{code}").open(encoding="utf-8")] for code in ("de", "fr")]
    lines = (folder / "dev.defr").read_text(encoding="utf-8").splitlines()
    gold = [tuple(tuple(ast.literal_eval(side)) for side in line.split(":")) for line in lines]
    return Texts(sides[0], sides[1], [(left, right) for left, right in gold])


def made(left: Sequence[str], right: Sequence[str], generator: random.Random, *, moves: int = 0) -> Texts:
    """Parallel sentences, of which some are joined, cut, left out, added or moved on one side."""
    at = generator.randrange(len(left) - 250)
    others = [n for n in range(len(left)) if not at <= n < at + 250]
    pieces, n = list[tuple[list[str], list[str]]](), at
    while n < at + 250:
        own, other = [left[n]], [right[n]]
        kind = generator.choices(["one", "join", "cut", "without", "added"], [62, 12, 12, 7, 7])[0]
        sides = [own, other] if generator.random() < 0.5 else [other, own]
        if kind == "join":
            count = min(at + 250 - n, generator.choices([2, 3, 4], [75, 18, 7])[0])
            own[:], other[:] = left[n : n + count], right[n : n + count]
            sides[0][:] = ["".join(sides[0]) if _is_chinese(sides[0][0]) else " ".join(sides[0])]
            n += count - 1
        elif kind == "cut":
            sides[0][:] = _cut(sides[0][0], generator)
        elif kind == "without":
            sides[0].clear()
        elif kind == "added":
            number = others.pop(generator.randrange(len(others)))
            pieces.append(([left[number]], []) if sides[0] is own else ([], [right[number]]))
        pieces.append((own, other))
        n += 1
    order = [*range(len(pieces))]
    for _ in range(moves):
        size = generator.choice([1, 2, 4, 8])
        start, to = (generator.randrange(len(order) - size) for _ in range(2))
        block = order[start : start + size]
        del order[start : start + size]
        order[to:to] = block
    starts = dict[int, int]()
    rights = list[str]()
    for number in order:
        starts[number] = len(rights)
        rights += pieces[number][1]
    lefts, gold = list[str](), Groups()
    for number, (own, other) in enumerate(pieces):
        places = range(len(lefts), len(lefts) + len(own)), range(starts[number], starts[number] + len(other))
        gold.append((tuple(places[0]), tuple(places[1])))
        lefts += own
    return Texts(lefts, rights, gold)


def _is_chinese(text: str) -> bool:
    return bool(re.search("[\u4e00-\u9fff]", text))


def _cut(sentence: str, generator: random.Random) -> list[str]:
    """A sentence in two, at a comma if there is one in its middle."""
    size = len(sentence)
    for pattern in (r"[,;:，；：、]\s*", r"\s+", ""):
        ends = [match.end() for match in re.finditer(pattern, sentence) if size / 5 < match.end() < size * 4 / 5]
        if ends:
            end = generator.choice(ends)
            return [sentence[:end].strip(), sentence[end:].strip()]
    return [sentence]


def groups(bitext: wm.Bitext) -> Groups:
    """All groups of a bitext, with sentences that stand alone."""
    alone = [((n,), ()) for n in bitext.alone[0]] + [((), (n,)) for n in bitext.alone[1]]
    return [*((one.left, one.right) for one in bitext.passages), *alone]


def scores(gold: Groups, answer: Groups) -> Scores:
    """Those of Vecalign's scorer."""
    linked = [one for one in answer if all(one)], [one for one in gold if all(one)]
    precision, recall = _share(answer, gold), _share(linked[1], linked[0])
    lax = _share(answer, gold, lax=True), _share(linked[1], linked[0], lax=True)
    return Scores(precision, recall, _f1(precision, recall), _f1(*lax))


def _share(groups: Groups, others: Groups, *, lax: bool = False) -> float:
    """The share of some groups that are among others, or that share sentences of both sides with one."""
    exact = set(others)
    partners = dict[int, set[int]]()
    for left, right in others:
        for n in left:
            partners.setdefault(n, set()).update(right)
    hits = sum(one in exact or (lax and any(partners.get(n, set()) & {*one[1]} for n in one[0])) for one in groups)
    return hits / max(1, len(groups))


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / max(1e-9, precision + recall)


def expressible(gold: Groups) -> float:
    """The share of gold groups of both sides that have up to four sentences on each side, one after another."""
    linked = [one for one in gold if all(one)]
    fit = [all(len(side) <= _MOST and side[-1] - side[0] == len(side) - 1 for side in one) for one in linked]
    return sum(fit) / len(linked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=int, default=0, metavar="N", help="also the time of N sentences a side")
    settings = parser.parse_args()
    data = Path(os.environ["WHYMATCH_DATA"])
    sentences = {
        code: gzip.decompress((data / "pud" / f"{name}.txt.gz").read_bytes()).decode().splitlines()
        for code, name in PUD.items()
    }
    berg = textberg(data / "textberg")
    print(f"Text+Berg: groups of up to four that follow one another are {expressible(berg.gold):.1%} of the gold.")
    rows = [_row("Text+Berg dev, de-fr", [berg]), _row("the same, one to one alone", [berg], most=1)]
    for moves in (0, 4):
        for own, other in _PAIRS:
            texts = [made(sentences[own], sentences[other], random.Random(seed), moves=moves) for seed in range(3)]
            name = f"PUD {own}-{other}{', moved' if moves else ''}"
            rows.append(_row(name, texts, moved=bool(moves)))
            if moves:
                rows.append(_row(f"PUD {own}-{other}, in order alone", texts))
    print(table(["strict", "precision", "recall", "F1", "lax F1"], rows), end="\n\n")
    half = [wm.bitext(sentences["en"][:100], sentences[code][500:600]) for code in ("de", "fr", "zh")]
    linked = [1 - len(one.alone[0]) / 100 for one in half]
    print("Unrelated texts of 100 sentences, English and de, fr, zh: linked sentences", *map("{:.0%}".format, linked))
    print("and what is said of them:", *{remark for one in half for remark in one.remarks})
    if settings.book:
        print(_book(berg, settings.book))


def _row(name: str, texts: Sequence[Texts], **options: Any) -> list[str]:
    """The mean scores of some texts."""
    each = [scores(one.gold, groups(wm.bitext(one.left, one.right, **options))) for one in texts]
    return [name, *(f"{sum(values) / len(each):.3f}" for values in zip(*each, strict=True))]


def _book(berg: Texts, size: int) -> str:
    """The time of a book: Text+Berg again and again, each time with other first words."""
    sides = [[f"{n // len(side)}. {side[n % len(side)]}" for n in range(size)] for side in (berg.left, berg.right)]
    start, began = time.perf_counter(), time.process_time()
    wm.bitext(sides[0], sides[1])
    return f"{size:,} sentences a side: {time.perf_counter() - start:.0f} s, {time.process_time() - began:.0f} s of CPU"


if __name__ == "__main__":
    main()
