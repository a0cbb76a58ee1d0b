"""Comparing two versions: which edits are found for what they are, and which words are marked; beside difflib.

    WHYMATCH_DATA=… python -m benchmarks.comparing [--split choose] [--errors]

Documents are made of the texts of some domains of the background that ships: contracts, terms, policies, statutes and
articles as an encyclopaedia has them. Five texts are a document, each with its title as a heading and its sentences as
numbered clauses. Each document is edited: a changed number, name or negation; a human paraphrase (MTRef, Edinburgh++)
or an author's own revision (arXivEdits) in place of a clause; clauses deleted, inserted from another text of the
same domain, moved to another section, moved and edited, split in two, and merged. All clauses after an edit are
numbered anew. In two places a clause goes, and the clause of another document that is nearest to it by MiniLM stands
there: such pairs must not be linked.

Thresholds were chosen on the split "choose". Two steps were changed after a look at the errors on "check": relations of
groups are not read, and what moved is decided at the end. "report" was measured once, after that. It shares its pairs,
but no document, with "check".

An edit counts as found if its clauses, and no others, are in one change of its kind. Words are those that people
marked as edited in arXivEdits, token by token. difflib matches clauses without their numbers; where it says that some
were replaced, the most similar ones are paired, from a ratio of 0.5 on. A line diff pairs them in order.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TypeAlias

import whymatch as wm
from benchmarks.versions import DOMAINS, EDITS, STATES, Found, Versions, documents, rendered, revisions
from whymatch.show.terminal import table
from whymatch.text.spans import Span, overlaps
from whymatch.versions.words import kept_words

Method: TypeAlias = Callable[[Versions], list[Found]]

_SEEDS = 3  # different edits of the same texts
_RATIO = 0.5


def ours(versions: Versions, encoder: Any = None) -> list[Found]:
    """What `wm.compare` finds, by clauses."""
    (old, left), (new, right) = rendered(versions.old), rendered(versions.new)
    found = []
    for change in wm.compare(old, new, relations=False, encoder=encoder).changes:
        if change.kind != "same":
            state = "moved and edited" if change.kind == "moved" and change.edited else change.kind
            found.append(Found(state, _clauses(change.places[0], left), _clauses(change.places[1], right)))
    return found


def flagged(made: Sequence[Versions]) -> dict[str, tuple[int, int]]:
    """How many of the edits of each kind that change a clause are said to matter, of how many."""
    counts: dict[str, list[int]] = {kind: [0, 0] for kind in (*EDITS, "moved and edited", "split", "merged")}
    for versions in made:
        (old, left), (new, _) = rendered(versions.old), rendered(versions.new)
        matter = {n for one in wm.compare(old, new).changes if one.matters for n in _clauses(one.places[0], left)}
        for kind, found in versions.edits:
            if kind in counts:
                counts[kind][0] += found.left <= matter
                counts[kind][1] += 1
    return {kind: (right, count) for kind, (right, count) in counts.items()}


def _clauses(place: Span | None, places: Sequence[tuple[int, int]]) -> frozenset[int]:
    """The numbers of the clauses that a piece of a text overlaps."""
    numbers = range(0) if place is None else overlaps(places, [place])[0]
    return frozenset(numbers)


def by_difflib(versions: Versions, *, pair: bool = True) -> list[Found]:
    """Clauses matched by difflib; those that were replaced are paired by their ratio, or in order."""
    found = []
    matcher = SequenceMatcher(None, versions.old, versions.new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        ratios = {(a + n, c + n): 1.0 for n in range(min(b - a, d - c))}
        if pair:
            ratios = {(i, j): _ratio(versions.old[i], versions.new[j]) for i in range(a, b) for j in range(c, d)}
        free = set(range(a, b)), set(range(c, d))
        for (i, j), ratio in sorted(ratios.items(), key=lambda one: -one[1]):
            if ratio >= _RATIO and i in free[0] and j in free[1]:
                free[0].discard(i)
                free[1].discard(j)
                found.append(Found("changed", frozenset({i}), frozenset({j})))
        found += [Found("missing", frozenset({i}), frozenset()) for i in free[0]]
        found += [Found("new", frozenset(), frozenset({j})) for j in free[1]]
    return found


def _ratio(left: str, right: str) -> float:
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def scores(made: Sequence[Versions], method: Method) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """How many edits of each kind were found, of how many; how many changes of each state were right, of how many."""
    recall: dict[str, list[int]] = {kind: [0, 0] for kind in STATES}
    precision: dict[str, list[int]] = {state: [0, 0] for state in dict.fromkeys(STATES.values())}
    for versions in made:
        found = method(versions)
        gold = [one for _, one in versions.edits]
        for kind, one in versions.edits:
            recall[kind][0] += one in found
            recall[kind][1] += 1
        for one in found:
            precision[one.state][0] += one in gold
            precision[one.state][1] += 1
    return {k: (a, b) for k, (a, b) in recall.items()}, {k: (a, b) for k, (a, b) in precision.items()}


def share(part: tuple[int, int]) -> str:
    return f"{100 * part[0] / part[1]:.0f}% of {part[1]}" if part[1] else "–"


def marked(
    rows: Sequence[dict[str, Any]], keep: Callable[[list[str], list[str]], list[tuple[int, int]]]
) -> list[float]:
    """Precision, recall and F1 of the tokens of both sides that are marked as edited."""
    right = extra = missed = 0
    for row in rows:
        texts = row["sentence-1"].split(), row["sentence-2"].split()
        kept = keep(*texts)
        for side, text in enumerate(texts):
            ranges = [edit[f"sentence-{side + 1}-token-indices"] for edit in row["edits-combination-0"].values()]
            gold = {n for one in ranges if one for n in range(*one)}
            own = {*range(len(text))} - {pair[side] for pair in kept}
            right, extra, missed = right + len(own & gold), extra + len(own - gold), missed + len(gold - own)
    return [right / (right + extra), right / (right + missed), 2 * right / (2 * right + extra + missed)]


def kept_by_difflib(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(a + i, b + i) for a, b, size in blocks for i in range(size)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--split", choices=[*DOMAINS], default="report")
    parser.add_argument("--errors", action="store_true", help="print what was not found, and what is wrong")
    settings = parser.parse_args()
    if settings.data is None or not settings.data.is_dir():
        sys.exit("No data: name their folder with --data or WHYMATCH_DATA.")
    made = [one for seed in range(_SEEDS) for one in documents(settings.data, settings.split, seed)]
    methods: dict[str, Method] = {
        "whymatch": ours,
        "difflib": by_difflib,
        "line diff": lambda one: by_difflib(one, pair=False),
    }
    measured = [scores(made, method) for method in methods.values()]
    clauses, edits = (sum(len(one) for one in all_of) for all_of in zip(*((v.old, v.edits) for v in made), strict=True))
    print(f"{len(made)} documents, {clauses} clauses, {edits} edits\n")
    for title, which in (("edits found", 0), ("changes right", 1)):
        names = [*measured[0][which]]
        print(
            table([title, *methods], [[name, *(share(one[which][name]) for one in measured)] for name in names]), "\n"
        )
    print(table(["said to matter", "whymatch"], [[kind, share(part)] for kind, part in flagged(made).items()]), "\n")
    rows = revisions(settings.data, "train" if settings.split == "choose" else "dev")
    marks = {"whymatch": kept_words, "difflib": kept_by_difflib}
    cells = [[name, *(f"{value:.3f}" for value in marked(rows, keep))] for name, keep in marks.items()]
    print(table([f"marked words, {len(rows)} pairs", "precision", "recall", "F1"], cells))
    if settings.errors:
        print_errors(made)


def print_errors(made: Sequence[Versions]) -> None:
    for versions in made:
        found, gold = ours(versions), [one for _, one in versions.edits]
        wrong = [("not found", *one) for one in versions.edits if one[1] not in found]
        for what, kind, one in [*wrong, *(("wrong", one.state, one) for one in found if one not in gold)]:
            print(f"\n{what}: {kind}", *(f"- {versions.old[n]}" for n in sorted(one.left)), sep="\n")
            print(*(f"+ {versions.new[n]}" for n in sorted(one.right)), sep="\n")


if __name__ == "__main__":
    main()
