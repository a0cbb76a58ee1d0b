"""A search among costs and constraints: one change at a time, kept where validation can tell that it helps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whymatch.evaluation.intervals import Interval
from whymatch.learning.shape import Shape
from whymatch.learning.trials import ORDER, Candidate, Links, Trials

TERMS: dict[str, tuple[float, ...]] = {
    "neighbours": (0.2, 0.4),
    "whole_text": (0.5, 2.0),
    "novelty": (0.5, 1.5),
    "shared_words": (0.5, 1.0),
    "rare_words": (0.5,),
}
"""The terms that are tried, with their numbers."""
PREFERS_DIFFERENCES = ("novelty",)  # terms that are for classifiers
LEANS = 0.005
MOST_LINKS = 6
MAX_STEPS = 8
DEFAULT = Candidate((), Links("exactly:2"))


@dataclass(frozen=True)
class Tried:
    """A change that was tried at a step of the search, and what came of it."""

    step: int
    change: str
    score: float
    gain: Interval
    """Over what was chosen before it, in pairs."""
    chosen: bool


def search(
    trials: Trials,
    start: Candidate,
    shape: Shape,
    *,
    terms: bool = True,
    links: bool = True,
    report: Callable[[str], None] = lambda line: None,
) -> tuple[Candidate, list[Tried]]:
    """The best candidate that validation can tell from simpler ones, and all that was tried on the way.

    From `start` on, the change that helps most is taken, as long as the interval of its gain lies above 0. At the end,
    changes that no longer help beside the others are taken back. Each step is reported when it is done.
    """
    best, tried = start, list[Tried]()
    for step in range(1, MAX_STEPS + 1):
        changes = _changes(best, shape, trials.ranks, terms=terms, links=links)
        options = [(trials.score(option), option) for option in changes if trials.constraint(option) is not None]
        gains = {option: trials.gain(best, option) for _, option in options}
        options.sort(key=lambda scored: -scored[0])
        chosen = next((option for _, option in options if gains[option].low > 0), None)
        tried += [Tried(step, _change(best, own), score, gains[own], own == chosen) for score, own in options]
        taken = "none of them surely helps" if chosen is None else f"{_change(best, chosen)} helps most"
        report(f"step {step}: {len(options)} changes tried, {taken}")
        if chosen is None:
            break
        best = chosen
    return _pruned(trials, start, best, tried), tried


def leaning(trials: Trials, best: Candidate, shape: Shape) -> Candidate:
    """A candidate with one term more, if one seems to help by `LEANS` or more and validation cannot tell.

    What marks teach reads costs, and gains by a term more than links alone do.
    """
    options = _changes(best, shape, trials.ranks, terms=True, links=False)
    more = [option for option in options if len(option.terms) > len(best.terms)]
    top = max(more, key=trials.score, default=best)
    return top if trials.score(top) - trials.score(best) >= LEANS else best


def _pruned(trials: Trials, start: Candidate, best: Candidate, tried: list[Tried]) -> Candidate:
    """The candidate without changes that are worth nothing, or less, beside those that came after them."""
    while True:
        without = [best.having(name, start.value_of(name)) for name in ORDER if best.value_of(name)]
        without += [replace(best, links=start.links)]
        gains = {option: trials.gain(best, option) for option in without if option != best}
        idle = [option for option, gain in gains.items() if gain.mean >= 0]
        if not idle:
            return best
        simpler = max(idle, key=trials.score)
        step = tried[-1].step + 1
        tried.append(Tried(step, _change(best, simpler), trials.score(simpler), gains[simpler], True))
        best = simpler


def _changes(best: Candidate, shape: Shape, ranks: bool, *, terms: bool, links: bool) -> list[Candidate]:
    """All candidates that are one change away."""
    options = []
    if terms:
        for name, values in TERMS.items():
            if not (ranks and name in PREFERS_DIFFERENCES):
                options += [best.having(name, value) for value in (0.0, *values)]
    if links:
        options += [replace(best, links=own) for own in links_for(shape)]
    return [option for option in dict.fromkeys(options) if option != best]


def links_for(shape: Shape) -> list[Links]:
    """The constraints that are tried: for texts of one span, k counts on the side of the longer text."""
    if shape.one_span:
        most = min(MOST_LINKS, int(max(shape.left, shape.right)))
        return [
            *(Links(f"one-to:{k}") for k in (1, 2, 3, 4, 6) if k <= most),
            *(Links(f"up-to:{most}", mean) for mean in (1, 2, 3) if mean < most),
        ]
    most = min(MOST_LINKS, max(1, int(min(shape.left, shape.right))))
    return [
        *(Links(f"exactly:{k}") for k in (1, 2, 3, 4, 6) if k <= most),
        *(Links("up-to:1", mean) for mean in (1, 2, 3, 4) if mean < most),
    ]


def _change(before: Candidate, after: Candidate) -> str:
    """How one candidate differs from another, as settings name it."""
    changes = [
        f"{name} = {after.value_of(name):g}" if after.value_of(name) else f"no {name}"
        for name in ORDER
        if before.value_of(name) != after.value_of(name)
    ]
    return ", ".join(changes + [str(after.links)] * (before.links != after.links))


def summary(start: Candidate, best: Candidate, tried: Sequence[Tried], measure: str) -> list[str]:
    """What was chosen and why, one line per step, and what stays at its default."""
    lines = []
    for one in tried:
        if one.chosen:
            mean, low, high = one.gain
            lines.append(
                f"{one.change}: {measure} {one.score:.3f}, {mean:+.3f} (95% interval {low:+.3f} to {high:+.3f})"
            )
    if best == start:
        lines.append(f"nothing that was tried can be told from the default by {measure}: {start}")
    return lines
