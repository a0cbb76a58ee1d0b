"""Costs: what a pair of spans costs, as a value made of a base distance and a tuple of terms. Low is good."""

from whymatch.cost.background import Background
from whymatch.cost.cost import (
    COSTS,
    Base,
    Cosine,
    Cost,
    Dot,
    Euclidean,
    NegativeCosine,
    ScaledDot,
    SquaredEuclidean,
    named_cost,
)
from whymatch.cost.evidence import Evidence
from whymatch.cost.term import PaddedPairs, Term
from whymatch.cost.terms import Calibrated, Neighbours, Novelty, Order, Refined, WholeText
from whymatch.cost.words import RareWords, Relations, SharedWords, WordCounts, WordTerm

__all__ = [
    "COSTS",
    "Background",
    "Base",
    "Calibrated",
    "Cosine",
    "Cost",
    "Dot",
    "Euclidean",
    "Evidence",
    "NegativeCosine",
    "Neighbours",
    "Novelty",
    "Order",
    "PaddedPairs",
    "RareWords",
    "Refined",
    "Relations",
    "ScaledDot",
    "SharedWords",
    "SquaredEuclidean",
    "Term",
    "WholeText",
    "WordCounts",
    "WordTerm",
    "named_cost",
]
