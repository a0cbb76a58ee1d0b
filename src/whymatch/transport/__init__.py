"""Arrays in, plans out: optimal transport under constraints that keep an alignment sparse.

Takes arrays of numpy and gives arrays of numpy, takes tensors of torch, on a CPU or a GPU, and gives tensors.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from whymatch.forking import loading

if TYPE_CHECKING:
    from whymatch.transport.batch import pad
    from whymatch.transport.constraints import (
        Balanced,
        Constraint,
        Each,
        Exactly,
        OneTo,
        UpTo,
        constraint_from_dict,
        parse_constraint,
    )
    from whymatch.transport.entropic import Temperature, sinkhorn
    from whymatch.transport.exact import margin, path, solve
    from whymatch.transport.groups import GroupLink, InOrder, InOrderSolution, in_order
    from whymatch.transport.paper import Augmented, Decomposition, augmented, decompose, perturb
    from whymatch.transport.solution import TOLERANCE, Entropic, OptimalPath, Solution, Status

HOMES = {
    "constraints": "Balanced Constraint Each Exactly OneTo UpTo constraint_from_dict parse_constraint",
    "exact": "margin path solve",
    "groups": "GroupLink InOrder InOrderSolution in_order",
    "entropic": "Temperature sinkhorn",
    "solution": "TOLERANCE Entropic OptimalPath Solution Status",
    "batch": "pad",
    "paper": "Augmented Decomposition augmented decompose perturb",
}
"""Where each name lives: it is loaded when it is first used, so that a constraint loads no compiler."""

__all__ = [
    "TOLERANCE",
    "Augmented",
    "Balanced",
    "Constraint",
    "Decomposition",
    "Each",
    "Entropic",
    "Exactly",
    "GroupLink",
    "InOrder",
    "InOrderSolution",
    "OneTo",
    "OptimalPath",
    "Solution",
    "Status",
    "Temperature",
    "UpTo",
    "augmented",
    "constraint_from_dict",
    "decompose",
    "in_order",
    "margin",
    "pad",
    "parse_constraint",
    "path",
    "perturb",
    "sinkhorn",
    "solve",
]


def __getattr__(name: str) -> object:
    for home, names in HOMES.items():
        if name in names.split():
            with loading:
                value = globals()[name] = getattr(import_module(f"whymatch.transport.{home}"), name)
            return value
    raise AttributeError(f"module 'whymatch.transport' has no attribute {name!r}")
