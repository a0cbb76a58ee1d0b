"""Two versions of a document side by side, as one web page that needs nothing else and no script."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from whymatch.show.changes import (
    KIND_NAMES,
    KIND_SIGNS,
    SIDES,
    Change,
    conflict_lines,
    in_reading_order,
    sign,
    state,
    title,
    together,
    unchanged_in_words,
)
from whymatch.show.html import asset, policy, template
from whymatch.show.words import SIGNS

_MAP_HEIGHT = 1000  # of the map's own units
_LEAST_MARK = 4.0  # of those, so that a short change can be seen and pointed at
_FOLDED_FROM = 3  # unchanged passages that follow one another


def changes_page(comparison: Mapping[str, Any]) -> str:
    """The page of a comparison's dictionary."""
    style = asset("picture.css") + asset("changes.css")
    ordered = in_reading_order(comparison["changes"])
    numbers = {id(change): number for number, change in enumerate(ordered)}
    rows = [_row(change, numbers[id(change)], comparison) for change in ordered]
    rows = [*_with_leavers(rows, ordered)]
    listed = [rows_of for change in comparison["changes"] if (rows_of := _entry(change, numbers[id(change)]))]
    return template("changes.html").render(
        policy=policy(style, ""),
        style=style,
        comparison=comparison,
        runs=[*_runs(rows)],
        listed=_moved_together(listed, comparison["changes"], numbers),
        kinds=_kinds(comparison["changes"]),
        matter=sum(change["matters"] for change in comparison["changes"]),
        marks=_map(rows),
        height=_MAP_HEIGHT,
    )


def _row(change: Change, number: int, comparison: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a change: both sides in pieces, its sign and its title."""
    return {
        "id": f"c{number}",
        "kind": change["kind"],
        "matters": change["matters"],
        "quiet": change["kind"] == "same",
        "renumbered": change["renumbered"],
        "numbers": change["numbers"],
        "sign": sign(change),
        "title": title(change),
        "conflicts": conflict_lines(change),
        "sides": [_pieces(change, side, comparison) for side in range(2)],
        "length": max(map(len, change["texts"])),
    }


def _pieces(change: Change, side: int, comparison: Mapping[str, Any]) -> dict[str, Any] | None:
    """The number of a passage and its text, cut where words differ or contradict each other."""
    place, name = change["places"][side], SIDES[side]
    if place is None:
        return None
    start, end = place
    text = comparison[name]["text"]
    begins = comparison[name]["spans"][change[name][0]][0]
    conflicts = [span for one in change["conflicts"] for span in one[name]]
    edges = {start, end, *(edge for span in [*change["marks"][name], *conflicts] for edge in span)}
    pieces = [
        {
            "text": text[a:b],
            "marked": any(first <= a and b <= last for first, last in change["marks"][name]),
            "conflict": any(first <= a and b <= last for first, last in conflicts),
        }
        for a, b in pairwise(sorted(edges))
    ]
    return {"label": text[begins:start], "renumbered": change["renumbered"], "pieces": pieces}


def _with_leavers(rows: Sequence[dict[str, Any]], ordered: Sequence[Change]) -> Iterator[dict[str, Any]]:
    """The rows, and where a passage moved away, one that says where it went."""
    behind: dict[int, list[dict[str, Any]]] = {}
    in_place = [number for number, change in enumerate(ordered) if change["left"] and change["kind"] != "moved"]
    for number, change in enumerate(ordered):
        if change["kind"] == "moved":
            before = [n for n in in_place if ordered[n]["left"][0] < change["left"][0]]
            gone = {"goes": rows[number]["id"], "where": change["where"], "sides": [rows[number]["sides"][0], None]}
            own = rows[number] | gone | {"id": f"{rows[number]['id']}-left", "kind": "gone", "conflicts": []}
            behind.setdefault(before[-1] if before else -1, []).append(own)
    yield from behind.get(-1, [])
    for number, row in enumerate(rows):
        yield row
        yield from behind.get(number, [])


def _runs(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows in runs, of which long ones without changes are folded."""
    for quiet, run in groupby(rows, lambda row: row["quiet"]):
        own = [*run]
        folded = quiet and len(own) >= _FOLDED_FROM
        yield {"folded": folded, "rows": own, "summary": unchanged_in_words(own) if folded else ""}


def _entry(change: Change, number: int) -> dict[str, Any] | None:
    """A line of the list of changes; None for what is the same."""
    if change["kind"] == "same":
        return None
    texts = [text for text in reversed(change["texts"]) if text]
    return {
        "id": f"c{number}",
        "kind": change["kind"],
        "matters": change["matters"],
        "sign": sign(change),
        "title": title(change),
        "conflicts": conflict_lines(change),
        "text": " ".join(texts[0].split()),
        "more": 0,
    }


def _moved_together(
    listed: Sequence[dict[str, Any]], changes: Sequence[Change], numbers: Mapping[int, int]
) -> list[dict[str, Any]]:
    """The list of changes, with passages that moved together, unedited, on one line."""
    followers: dict[str, int] = {}
    for run in together(changes):
        if state(run[0]) == "moved" and not any(change["matters"] for change in run):
            first, *rest = (f"c{numbers[id(change)]}" for change in run)
            followers |= {first: len(rest)} | dict.fromkeys(rest, -1)
    return [entry | {"more": followers.get(entry["id"], 0)} for entry in listed if followers.get(entry["id"], 0) >= 0]


def _kinds(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The legend: what there is, with its sign and how often."""
    rows = [("contradicts", SIGNS["contradicts"], "that matter", sum(change["matters"] for change in changes))]
    for kind, mark in KIND_SIGNS.items():
        count = sum(change["kind"] == kind and not change["matters"] for change in changes)
        rows.append((kind, mark, KIND_NAMES.get(kind, kind), count))
    return [{"kind": kind, "sign": mark, "name": name, "count": count} for kind, mark, name, count in rows if count]


def _map(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the changes are in the document, by the length of what stands before them."""
    total = max(1, sum(row["length"] for row in rows))
    marks, seen = [], 0
    for row in rows:
        if not row["quiet"] and row["kind"] != "gone":
            height = max(_LEAST_MARK, _MAP_HEIGHT * row["length"] / total)
            top = min(_MAP_HEIGHT * seen / total, _MAP_HEIGHT - height)
            marks.append({"row": row, "y": round(top, 2), "height": round(height, 2)})
        seen += row["length"]
    return sorted(marks, key=lambda mark: mark["row"]["matters"])
