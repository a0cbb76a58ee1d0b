"""The same training several times over, from one start and in other orders, and the mean of the weights."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from whymatch.learning.fit import Fitting, copies

Item = TypeVar("Item")
APART = 1_000  # from the seed of a round to that of the next


def run_rounds(fitting: Fitting[Item], items: Sequence[Item], *, resume: bool = False) -> float:
    """Learns as many rounds as the schedule has; leaves the mean of their weights in the model and gives its score.

    Models that learned from the same start lie close together, and what each of them learned by chance falls out of the
    mean. A round has a folder of its own; those that have ended are not learned again.
    """
    rounds = fitting.schedule.rounds
    if rounds == 1:
        return fitting.run(items, resume=resume)
    start, found = copies(fitting.model.state_dict()), []
    for number in range(rounds):
        fitting.report(f"round {number + 1} of {rounds}")
        fitting.model.load_state_dict(start)
        schedule = replace(fitting.schedule, seed=fitting.schedule.seed + APART * number)
        folder = fitting.folder / f"round-{number}" if fitting.folder is not None else None
        replace(fitting, schedule=schedule, folder=folder).run(items, resume=resume)
        found.append(copies(fitting.model.state_dict()))
    fitting.model.load_state_dict({name: mean([weights[name] for weights in found]) for name in start})
    score = fitting.score()
    fitting.report(f"the mean of {rounds} rounds, validation {fitting.measure} {score:.4g}")
    return score


def mean(tensors: Sequence[Tensor]) -> Tensor:
    """That of weights; what did not change stays as it is, to the bit, and so does what counts or numbers something."""
    if not tensors[0].is_floating_point():
        return tensors[0]
    return torch.stack([*tensors]).double().mean(dim=0).to(tensors[0].dtype)
