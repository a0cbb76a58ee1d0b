"""The margin: what the next best alignment costs more."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whymatch.transport import Balanced, Exactly, OneTo, UpTo, margin, solve


def alignments(cost: torch.Tensor, k: int) -> list[float]:
    """The mean cost of every way to place k links, cheapest first."""
    n, m = cost.shape
    return sorted(
        float(cost[list(rows), list(columns)].mean())
        for rows in combinations(range(n), k)
        for columns in permutations(range(m), k)
    )


@given(seed=st.integers(0, 500), n=st.integers(1, 4), m=st.integers(1, 4), k=st.integers(1, 3))
def test_it_is_the_step_to_the_second_best_of_all_alignments(seed: int, n: int, m: int, k: int) -> None:
    if k > min(n, m):
        return
    cost = torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    everything = alignments(cost, k)
    found = margin(cost, Exactly(k), solve(cost, Exactly(k)))
    assert float(found) == pytest.approx(everything[1] - everything[0] if len(everything) > 1 else torch.inf)


@pytest.mark.parametrize("constraint", [Balanced(), OneTo(1), Exactly(2)], ids=repr)
def test_a_tie_has_no_margin(constraint: Balanced | OneTo | Exactly) -> None:
    cost = torch.ones(3, 3)
    assert margin(cost, constraint, solve(cost, constraint)) == 0


def test_an_only_alignment_has_an_infinite_margin() -> None:
    cost = torch.tensor([[1.0, torch.inf], [torch.inf, 1.0]])
    assert margin(cost, OneTo(1), solve(cost, OneTo(1))) == torch.inf
    assert margin(torch.ones(2, 2), UpTo(1), solve(torch.ones(2, 2), UpTo(1))) == torch.inf


def test_a_batch_equals_single_margins_and_a_bad_problem_has_none() -> None:
    cost = torch.randn(5, 6, 4, generator=torch.Generator().manual_seed(0))
    cost[2, 0, 0] = torch.nan
    mass = torch.rand(5, 6), torch.rand(5, 4)
    mass = mass[0] / mass[0].sum(1, keepdim=True), mass[1] / mass[1].sum(1, keepdim=True)
    for constraint, masses in ((Balanced(), mass), (UpTo(2), None), (Exactly(3), None)):
        margins = margin(cost, constraint, solve(cost, constraint, mass=masses), mass=masses)
        assert margins[2].isnan()
        for b in (0, 1, 3, 4):
            one = None if masses is None else (masses[0][b], masses[1][b])
            assert margins[b] == margin(cost[b], constraint, solve(cost[b], constraint, mass=one), mass=one)


def test_single_precision_does_not_blur_it() -> None:
    cost = torch.tensor([[1.0, 1.0 + 2**-20], [5.0, 5.0]])
    assert margin(cost, Exactly(1), solve(cost, Exactly(1))) == 2**-20


def test_a_link_next_to_the_threshold_counts_from_the_threshold_as_it_was_rounded() -> None:
    cost = np.nextafter(np.full((1, 1), 0.55, np.float32), np.float32(0))
    constraint = UpTo(1, below=0.55)
    found = margin(cost, constraint, solve(cost, constraint))
    assert found == np.float32(0.55) - cost[0, 0]
