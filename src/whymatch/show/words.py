"""What an alignment's dictionary says, in words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

IN_CONTEXT = (
    "Faithful to vectors, not to text: spans or their costs were read in context, "
    "so text outside the links may have had a part in them."
)
SHIPPED_BACKGROUND = "texts of many kinds"
"""The name of the background that ships with whymatch."""
OWN_BACKGROUND = "To judge against texts like yours, give them: --background FOLDER, or Aligner(background=…)."
UNREAD = "Not judged: the encoder does not read the language of these texts."
_FORMULA = re.compile(r"\s*[=+\-@\t\r]")  # with which spreadsheets take a cell for a formula
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LIKELY = 0.9  # the probability from which on the verdict has no "probably"
SIGNS = {"same": "=", "implies": "→", "implied": "←", "contradicts": "≠", "related": "~"}
"""The relations of a link, and the sign of each; `implies` is the left span's doing."""
JOINERS = "\u200c\u200d\u00ad"  # without width, but scripts and emoji need them


def number(value: float) -> str:
    """Three decimals, and no minus before a zero.

    >>> number(-1e-9), number(0.12345)
    ('0.000', '0.123')
    """
    return f"{round(value, 3) + 0.0:.3f}"


def bits(value: float) -> str:
    """Evidence with its unit, to one decimal.

    >>> bits(23.41), bits(-0.01)
    ('23.4 bits', '0.0 bits')
    """
    return f"{round(value, 1) + 0.0:.1f} bits"


def evidence(value: float) -> str:
    """How much evidence two texts have; where no link is significant, the value is that of their closest pair.

    >>> evidence(23.41), evidence(-2.0)
    ('23.4 bits of evidence', 'no evidence (the closest pair has -2.0 bits)')
    """
    return f"{bits(value)} of evidence" if value > 0 else f"no evidence (the closest pair has {bits(value)})"


def percent(probability: float | None) -> str:
    """A probability in whole percent; only a certain one is 0% or 100%.

    >>> percent(0.874), percent(0.995), percent(0.005), percent(1.0)
    ('87%', 'over 99%', 'under 1%', '100%')
    """
    if probability is None:
        return "not judged"
    if probability in (0, 1):
        return f"{probability:.0%}"
    if probability >= 0.995:
        return "over 99%"
    return "under 1%" if probability <= 0.005 else f"{probability:.0%}"


def short(value: float) -> str:
    """An e-value or a p-value with two digits.

    >>> short(3.14159e-7), short(0.0213), short(12.3), short(99.7), short(1234.5)
    ('3e-07', '0.021', '12', '100', '1,234')
    """
    if value >= 99.5:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value >= 0.001 else f"{value:.0e}"


def value_text(value: str | float | None) -> str:
    """A value that is kept of a document as text: nothing for none, and numbers as people write them.

    >>> [value_text(value) for value in (None, "unix", 2019, 3.0, 0.1, True)]
    ['', 'unix', '2019', '3', '0.1', 'true']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def no_formula(text: str) -> str:
    """A text as a cell; one that a spreadsheet would take for a formula gets an apostrophe before it.

    >>> [no_formula(text) for text in ("=1+1", "-5", "- one\\n- two", "a = b")]
    ["'=1+1", '-5', "'- one\\n- two", 'a = b']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def kept_text(metadata: Mapping[str, Any]) -> str:
    """What is kept of a document in a line, without what is missing.

    >>> kept_text({"year": 2019, "topic": "unix", "score": None})
    'year 2019, topic unix'
    """
    return ", ".join(f"{name} {value_text(value)}" for name, value in metadata.items() if value is not None)


def in_words(picture: Mapping[str, Any]) -> str:
    """The constraint, as people say it; a threshold of evidence is in bits."""
    words, below = picture["constraint_in_words"], picture["constraint"].get("below")
    if picture["judgement"] is not None and below is not None:
        words = words.replace(f"where the cost is below {below:g}", f"each worth more than {0 - below:g} bits")
    default = " (the default, since no constraint was given)" if picture["by_default"] else ""
    return f"{words}{default}"


def worth(picture: Mapping[str, Any]) -> list[float]:
    """What each link adds to the evidence, in bits; of costs that are no evidence, what it adds to the score."""
    plain_costs = picture["judgement"] is None or picture["zero"] == picture["neutral"]
    return [link["share"] if plain_costs else link["bits"] for link in picture["links"]]


def meaning(link: Mapping[str, Any]) -> str | None:
    """The relation of a link: words in conflict make it a contradiction; None where it was not read.

    >>> meaning({"relation": {"name": "implies"}, "conflicts": []}), meaning({"relation": None, "conflicts": []})
    ('implies', None)
    """
    if link.get("conflicts"):
        return "contradicts"
    return None if link.get("relation") is None else link["relation"]["name"]


def conflicts_first(picture: Mapping[str, Any]) -> dict[str, Any]:
    """The same dictionary with the links that contradict each other before the others, else in their order."""
    return {**picture, "links": sorted(picture["links"], key=lambda link: meaning(link) != "contradicts")}


def conflict_words(picture: Mapping[str, Any], link: Mapping[str, Any]) -> list[str]:
    """The words of a link that contradict each other, a line for each conflict: '5 mg – 50 mg (number)'."""
    lines = []
    for conflict in link.get("conflicts", ()):
        sides = [
            " … ".join(picture[side]["text"][start:end] for start, end in conflict[side]) or "nothing"
            for side in ("left", "right")
        ]
        lines.append(f"{' – '.join(map(plain, sides))} ({conflict['kind']})")
    return lines


def how_sure(picture: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an alignment's answer rests on, as pairs of a term and a sentence; the last is the certificate."""
    certificate = ("Certificate", picture["certificate"]["in_words"])
    judgement = picture["judgement"]
    if judgement is None:
        return [certificate]
    chance = (
        f"p = {short(judgement['p_value'])}: the share of random pairs of texts of such sizes with as much evidence."
    )
    hint = f". {OWN_BACKGROUND}" if judgement["background"] == SHIPPED_BACKGROUND else "."
    return [
        ("Chance", chance),
        ("Judged against", f"{judgement['background']}{hint}"),
        ("Probability", f"calibrated on {judgement['calibrated_on']}."),
        certificate,
    ]


def plain(text: str) -> str:
    """One line without characters that a terminal would obey.

    >>> plain("two\\nlines \\x1b[31mred")
    'two lines �[31mred'
    """
    return "".join(c if c.isprintable() or c in JOINERS else "�" for c in " ".join(text.split()))


def shortened(text: str, most: int = 60) -> str:
    """The beginning of a text in a line of at most so many characters, none of which a terminal would obey.

    >>> shortened("All day long there was rain.", 12)
    'All day lon…'
    """
    line = plain(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def verdict(
    probability: float | None,
    reasons: int,
    coverage: tuple[float, float],
    contradicted: int = 0,
    *,
    same: bool,
    strict: bool = False,
) -> str:
    """Whether two texts match, in one sentence; `reasons` are links with evidence, `coverage` shares of both texts.

    `contradicted` are the reasons whose spans contradict each other; `strict` says that links were asked to be worth
    more than chance gives.

    >>> verdict(0.98, 4, (0.5, 0.6), same=False)
    'They match: 4 reasons cover 50% of the left and 60% of the right text.'
    >>> verdict(0.98, 4, (0.5, 0.6), contradicted=2, same=False)
    'They match, but contradict each other in 2 places: 4 reasons cover 50% of the left and 60% of the right text.'
    >>> verdict(0.02, 0, (0.0, 0.0), same=False)
    'No sign of a match: the closest pair is what chance gives.'
    >>> verdict(0.05, 2, (0.5, 0.6), same=False)
    'No sign of a match: the 2 closest pairs are what chance gives.'
    >>> verdict(0.3, 1, (0.5, 0.5), same=False)
    'Probably no match: 1 reason covers 50% of both texts, but chance often gives as much.'
    """
    if same:
        return "They match: the two texts are the same."
    if probability is None:
        return f"Not judged, since costs are no evidence: {'1 link' if reasons == 1 else f'{reasons} links'}."
    if not reasons and strict and probability >= 1 - _LIKELY:
        return "There is evidence of a match, but no pair of spans has as much as was asked for."
    if not reasons and probability >= 1 / 2:
        return "They may match, but no single pair of spans says so."
    if not reasons or (reasons == 1 and probability < 1 - _LIKELY):
        return "No sign of a match: the closest pair is what chance gives."
    left, right = (f"{share:.0%}" for share in coverage)
    texts = f"{left} of both texts" if left == right else f"{left} of the left and {right} of the right text"
    because = f"{'1 reason covers' if reasons == 1 else f'{reasons} reasons cover'} {texts}"
    places = "1 place" if contradicted == 1 else f"{contradicted} places"
    but = f", but contradict each other in {places}" if contradicted else ""
    if probability >= _LIKELY:
        return f"They match{but}: {because}."
    if probability >= 1 / 2:
        return f"They probably match{but}: {because}."
    if probability >= 1 - _LIKELY:
        return f"Probably no match: {because}, but chance often gives as much."
    return f"No sign of a match: the {reasons} closest pairs are what chance gives."


def check_verdict(counts: Mapping[Any, int], by_words: int = 0) -> str:
    """Whether an answer is supported by its sources, in one sentence, by how many claims have each verdict.

    `by_words` of those that are supported are so by their words or meaning alone: relations were not read.

    >>> check_verdict({"supported": 2, "contradicted": 1, "unsupported": 1})
    '2 of 4 claims are supported; 1 is contradicted, and 1 has no source.'
    >>> check_verdict({"supported": 2, "contradicted": 0, "unsupported": 0})
    'Both claims are supported.'
    >>> check_verdict({"supported": 0, "contradicted": 1, "unsupported": 1})
    'Neither of the two claims is supported; 1 is contradicted, and 1 has no source.'
    >>> check_verdict({"supported": 3, "contradicted": 0, "unsupported": 0}, 1)
    'All 3 claims are supported, 1 of them by its words or meaning alone.'
    """
    supported, contradicted, unsupported = (counts[name] for name in ("supported", "contradicted", "unsupported"))
    claims = supported + contradicted + unsupported
    alone = f"by {'its' if by_words == 1 else 'their'} words or meaning alone"
    how = "" if not by_words else f" {alone}" if by_words == supported else f", {by_words} of them {alone}"
    if not claims:
        return "There is no claim to check."
    if claims == 1:
        verdict = f"is supported{how}" if supported else "is contradicted" if contradicted else "has no source"
        return f"The claim {verdict}."
    if supported == claims:
        return f"{'Both' if claims == 2 else f'All {claims}'} claims are supported{how}."
    parts = [f"{contradicted} {'is' if contradicted == 1 else 'are'} contradicted"] if contradicted else []
    parts += [f"{unsupported} {'has' if unsupported == 1 else 'have'} no source"] if unsupported else []
    none = "Neither of the two claims is" if claims == 2 else f"None of the {claims} claims is"
    several = f"{supported} of {claims} claims {'is' if supported == 1 else 'are'}"
    return f"{several if supported else none} supported{how}; {', and '.join(parts)}."


def groups_verdict(sizes: Sequence[int], documents: int) -> str:
    """How many groups of documents say the same, in one sentence, by the number of documents in each.

    >>> groups_verdict([2, 3], 2000)
    '2 groups of documents say the same: 5 of 2,000 documents.'
    >>> groups_verdict([], 2000)
    'No two of 2,000 documents say the same.'
    """
    if not sizes:
        return f"No two of {documents:,} documents say the same."
    if len(sizes) == 1:
        return f"{sizes[0]:,} of {documents:,} documents say the same."
    return f"{len(sizes):,} groups of documents say the same: {sum(sizes):,} of {documents:,} documents."
