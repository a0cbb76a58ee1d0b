"""Links that know what people marked: the agreement that a constraint leaves possible."""

from collections.abc import Sequence
from typing import Any

import torch

from whymatch.datasets.records import Pair
from whymatch.evaluation.intervals import bootstrap
from whymatch.learning.evaluate import Chosen, rationale_metrics
from whymatch.learning.settings import Settings
from whymatch.learning.tasks import marked
from whymatch.matching.rules import Transport


def knowing_links(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Links under the row's constraint, where marked spans are cheap: two cost 0, one 0.5, none 1."""
    rule = settings.rule.build()
    if not isinstance(rule, Transport):
        raise ValueError('The baseline "marks-known" links spans: it takes a [rule] constraint, not attention.')
    chosen, links = [], []
    for pair in pairs:
        left, right = marked(pair.left, pair.left_rationale), marked(pair.right, pair.right_rationale)
        cost = 1 - (left[:, None] + right[None, :]) / 2
        active = rule.active(cost[None], torch.tensor([cost.shape]))[0]
        spans = active.any(dim=1), active.any(dim=0)
        kept = [side.nonzero().flatten().tolist() for side in spans]
        chosen.append(Chosen((kept[0], kept[1]), (spans[0].float().tolist(), spans[1].float().tolist())))
        links.append(int(active.sum()))
    found = {"active alignments": bootstrap(links)._asdict(), **rationale_metrics(pairs, chosen)}
    return {**found, "pairs": len(pairs)}
