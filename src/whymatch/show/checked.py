"""A check of an answer: as a page with the answer beside its sources, and as text."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from whymatch.show.html import asset, framed, marked_pieces, policy, template
from whymatch.show.words import plain

VERDICT_SIGNS = {"supported": "✓", "contradicted": "≠", "unsupported": "?"}
NO_CLAIM_SIGN = "–"
_WORDS = {"supported": "supported", "contradicted": "contradicted", "unsupported": "no source"}
_NEIGHBOURS = 1  # spans around a cited one that are shown; the others of a source are folded
_MIN_FOLDED = 3


def page(check: Mapping[str, Any]) -> str:
    """The page of the dictionary of a check."""
    style = asset("picture.css") + asset("checked.css")
    script = asset("checked.js") + 'showCheck(document.querySelector(".checked"));\n' + asset("frame.js")
    return template("checked.html").render(
        title=check["verdict"],
        policy=policy(style, script),
        style=style,
        script=script,
        check=check,
        signs=VERDICT_SIGNS,
        no_claim_sign=NO_CLAIM_SIGN,
        verdict_words=_WORDS,
        parts=_answer_parts(check),
        sources=_source_parts(check),
        sure=[
            ("Faithfulness", "the share of claims that are supported; headings, questions and offers are no claims."),
            ("Cited", "spans that share rare words or meaning with a claim; each of them adds 3 bits or more."),
            ("Judged against", f"{check['background']}."),
        ],
    )


def frame(check: Mapping[str, Any]) -> str:
    """The page of a check in a frame of its own, for notebooks."""
    height = min(900, 260 + 96 * (len(check["claims"]) + len(check["no_claims"])))
    return framed(page(check), "Check", height)


def as_text(check: Mapping[str, Any]) -> str:
    """The verdict, and every claim with what speaks for or against it.

    >>> claim = {"verdict": "unsupported", "text": "It snows.", "reason": "No source speaks of this.", "citations": []}
    >>> claim, heading = {**claim, "span": [8, 17]}, {"span": [2, 7], "text": "Today", "kind": "heading"}
    >>> print(as_text({"verdict": "It has no source.", "claims": [claim], "no_claims": [heading], "notes": []}))
    It has no source.
    <BLANKLINE>
    – no claim: Today (heading)
    <BLANKLINE>
    ? no source: It snows.
      No source speaks of this.
    """
    lines = [check["verdict"]]
    for claim in sorted([*check["claims"], *check["no_claims"]], key=lambda piece: piece["span"]):
        if "verdict" not in claim:
            lines += ["", f"{NO_CLAIM_SIGN} no claim: {plain(claim['text'])} ({claim['kind']})"]
            continue
        verdict = claim["verdict"]
        lines += ["", f"{VERDICT_SIGNS[verdict]} {verdict_words(claim)}: {plain(claim['text'])}"]
        for citation in claim["citations"] if verdict != "unsupported" else []:
            start, end = citation["span"]
            lines.append(f"  {plain(citation['source'])}, {start} to {end}: {plain(citation['text'])}")
            lines += [f"    ≠ {words}" for words in conflict_lines(check, citation)]
        if verdict == "unsupported" or not claim["citations"]:
            lines.append(f"  {claim['reason']}")
    lines += [f"\nNote: {plain(note)}" for note in check["notes"]]
    return "\n".join(lines)


def verdict_words(claim: Mapping[str, Any]) -> str:
    """The verdict of a claim in words: one whose relations were not read is supported by its words or meaning alone."""
    alone = claim["verdict"] == "supported" and not claim["read"]
    return _WORDS[claim["verdict"]] + " by its words or meaning alone" * alone


def conflict_lines(check: Mapping[str, Any], citation: Mapping[str, Any]) -> list[str]:
    """Words of the answer and of a source that contradict each other, one line per conflict."""
    texts = {"answer": check["answer"], "source": _text_of(check, citation["source"])}
    return [
        " – ".join(
            plain(" … ".join(texts[side][start:end] for start, end in conflict[side])) or "nothing"
            for side in ("answer", "source")
        )
        + f" ({conflict['kind']})"
        for conflict in citation["conflicts"]
    ]


def _text_of(check: Mapping[str, Any], name: str) -> str:
    return next((source["text"] for source in check["sources"] if source["name"] == name), "")


def _answer_parts(check: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every claim with its pieces, of which some are words in conflict or without a source; and what claims nothing."""
    parts = []
    for number, claim in enumerate(check["claims"]):
        start, end = claim["span"]
        marks = [mark for citation in claim["citations"] for one in citation["conflicts"] for mark in one["answer"]]
        pieces = marked_pieces(check["answer"], start, end, marks)
        if claim["verdict"] != "contradicted":
            pieces = [
                {**piece, "conflict": False, "missing": piece["conflict"]}
                for piece in marked_pieces(check["answer"], start, end, claim["missing"])
            ]
        lines = [line for citation in claim["citations"] for line in conflict_lines(check, citation)]
        words = verdict_words(claim)
        parts.append({**claim, "number": number + 1, "pieces": pieces, "conflicts": lines, "words": words})
    return sorted([*parts, *check["no_claims"]], key=lambda part: part["span"])


def _source_parts(check: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every source as spans with the claims that they speak of, those that are cited first; the rest is folded.

    The spans that come closest to a claim without a source are cited too, with the sign of its verdict.
    """
    cited: dict[str, dict[tuple[int, int], list[int]]] = {}
    marks: dict[str, list[Sequence[int]]] = {}
    for number, claim in enumerate(check["claims"]):
        for citation in claim["citations"]:
            spans = cited.setdefault(citation["source"], {})
            spans.setdefault((citation["span"][0], citation["span"][1]), []).append(number)
            own = marks.setdefault(citation["source"], [])
            own += [mark for one in citation["conflicts"] for mark in one["source"]]
    order = sorted(check["sources"], key=lambda source: source["name"] not in cited)
    return [
        {
            "name": source["name"],
            "cited": source["name"] in cited,
            "runs": _runs(source, cited.get(source["name"], {}), marks.get(source["name"], ()), check["claims"]),
        }
        for source in order
    ]


def _runs(
    source: Mapping[str, Any],
    cited: Mapping[tuple[int, int], Sequence[int]],
    marks: Sequence[Sequence[int]],
    claims: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The spans of a source in runs that are shown or folded."""
    spans = [(start, end) for start, end in source["spans"]]
    near = {
        other
        for number, span in enumerate(spans)
        if span in cited
        for other in range(number - _NEIGHBOURS, number + _NEIGHBOURS + 1)
    }
    runs: list[dict[str, Any]] = []
    folded = _folded(len(spans), near)
    for number, (start, end) in enumerate(spans):
        badges = [{"number": n + 1, "verdict": claims[n]["verdict"]} for n in cited.get((start, end), ())]
        part = {"pieces": marked_pieces(source["text"], start, end, marks if badges else ()), "badges": badges}
        if not runs or runs[-1]["folded"] != (number in folded):
            runs.append({"folded": number in folded, "spans": []})
        runs[-1]["spans"].append(part)
    return runs


def _folded(spans: int, near: Collection[int]) -> set[int]:
    """The numbers of the spans in runs of `_MIN_FOLDED` or more that are not near a cited one.

    >>> sorted(_folded(8, {3}))
    [0, 1, 2, 4, 5, 6, 7]
    >>> sorted(_folded(5, {3}))
    [0, 1, 2]
    """
    edges = [-1, *sorted(number for number in near if 0 <= number < spans), spans]
    runs = (range(before + 1, after) for before, after in pairwise(edges))
    return {number for run in runs if len(run) >= _MIN_FOLDED for number in run}
