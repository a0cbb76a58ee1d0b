"""What agreement could be: of links that know what people marked, and of a second person with the first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whymatch.datasets.folders import read_split
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
        chosen.append(those(active.any(dim=1), active.any(dim=0)))
        links.append(int(active.sum()))
    found = {"active alignments": bootstrap(links)._asdict(), **rationale_metrics(pairs, chosen)}
    return {**found, "pairs": len(pairs)}


def second_person(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """What a second person marked, as if a model had chosen it; those marks lie beside the data, in NAME-second."""
    folder = Path(settings.data).resolve()
    beside = folder.with_name(f"{folder.name}-second")
    if not beside.is_dir():
        how = f"whymatch data prepare {folder.name} --annotation second --from … --out {beside}"
        raise ValueError(f"There is no {beside}. Make it: {how}")
    others: dict[str, Any] = {pair.id: pair for pair in read_split(beside, "test", settings.task, settings.spans)}
    chosen = []
    for pair in pairs:
        other = others.get(pair.id)
        if other is None or (other.left, other.right) != (pair.left, pair.right):
            raise ValueError(f"{beside} does not have the pair {pair.id} of {folder}: prepare both from one source.")
        if other.left_rationale is None or other.right_rationale is None:
            raise ValueError(f"Nobody else was asked about the pair {pair.id}: {beside} has no marks of it.")
        chosen.append(those(marked(pair.left, other.left_rationale), marked(pair.right, other.right_rationale)))
    return {**rationale_metrics(pairs, chosen), "pairs": len(pairs)}


def those(left: Tensor, right: Tensor) -> Chosen:
    """The spans of either side that are not 0, each chosen to the full."""
    numbers = [side.nonzero().flatten().tolist() for side in (left, right)]
    return Chosen((numbers[0], numbers[1]), (left.float().tolist(), right.float().tolist()))
