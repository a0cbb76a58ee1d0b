"""A constraint says the same of itself in every form, and of sizes in every kind of array."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import constraints
from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, UpTo
from whymatch.transport.constraints import CONSTRAINTS, constraint_from_dict, parse_constraint

SIZES = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(constraint=constraints())
def test_texts_and_dictionaries_lead_back(constraint: Constraint) -> None:
    below = constraint.zero(0.0) if constraint.thresholded else None
    assert parse_constraint(constraint.text, below).resolved(0.0) == constraint.resolved(0.0)
    assert constraint_from_dict(json.loads(json.dumps(constraint.to_dict()))) == constraint


def test_every_constraint_has_its_own_word_and_says_what_it_does() -> None:
    assert len({kind.word for kind in CONSTRAINTS}) == len({kind.__name__ for kind in CONSTRAINTS}) == len(CONSTRAINTS)
    assert Exactly(1).words == "exactly one link"
    assert OneTo(2).words == "every span of the shorter text in exactly 2 links"
    assert UpTo(1, below=0.5).words == "up to one link a span, where the cost is below 0.5"
    assert UpTo(2).words == "up to 2 links a span, where it is significant"
    assert Each(2, below=0.5).words == "up to 2 links for each left span, where the cost is below 0.5"
    assert Balanced().words == "every span carries its share"


@pytest.mark.parametrize("text", ["", "exactly", "exactly:", "exactly:0x2", "exactly:-1", "balanced:1", "upto:1", "²"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="exactly:2, up-to:2"):
        parse_constraint(text)


@pytest.mark.parametrize(
    "values", [{}, None, "Exactly", {"name": []}, {"name": "Other"}, {"name": "Exactly"}, {"name": "Balanced", "k": 1}]
)
def test_other_dictionaries_are_refused(values: Any) -> None:
    with pytest.raises(ValueError, match=r"named Exactly|no fields of"):
        constraint_from_dict(values)


def test_below_is_left_open_until_it_is_resolved() -> None:
    assert UpTo(2).resolved(0.4) == UpTo(2, below=0.4)
    assert UpTo(2, below=0.1).resolved(0.4) == UpTo(2, below=0.1)
    assert Exactly(2).resolved(None) == Exactly(2)
    assert (UpTo(1).zero(7.0), UpTo(1, below=0.4).zero(7.0), Exactly(1).zero(7.0)) == (0.0, 0.4, 7.0)
    with pytest.raises(ValueError, match=r"give UpTo\(1, below=…\)"):
        UpTo(1).resolved(None)
    with pytest.raises(ValueError, match=r"give Each\(3, below=…\)"):
        Each(3).resolved(None)
    assert Each(2).resolved(0.4) == parse_constraint("each:2", below=0.4) == Each(2, below=0.4)
    with pytest.raises(ValueError, match="below goes with up-to"):
        parse_constraint("exactly:2", below=0.5)


@given(constraint=constraints(), sizes=st.lists(SIZES, min_size=1, max_size=5))
def test_sizes_may_be_numbers_arrays_or_tensors(constraint: Constraint, sizes: list[tuple[int, int]]) -> None:
    methods = [constraint.admits, constraint.per_span]
    methods += [] if constraint.takes_masses else [constraint.full]
    methods += [] if constraint.takes_masses or constraint.shares_right else [constraint.dummies]
    array, tensor = np.array(sizes).T, torch.tensor(sizes).T
    for method in methods:
        one_by_one = np.array([method(*pair) for pair in sizes])
        assert np.array_equal(np.stack(method(*array)).T if one_by_one.ndim == 2 else method(*array), one_by_one)
        there = method(*tensor)
        assert np.array_equal(torch.stack(there).T if one_by_one.ndim == 2 else there, one_by_one)


@given(constraint=constraints(), sizes=SIZES)
def test_what_is_fitted_is_admitted_and_no_larger_k_would_be(constraint: Constraint, sizes: tuple[int, int]) -> None:
    fits = constraint.fitted(*sizes)
    if fits is None:
        assert min(sizes) == 0
        assert not constraint.admits(*sizes)
    else:
        assert fits.admits(*sizes)
    if fits != constraint and fits is not None:
        assert isinstance(fits, Exactly | OneTo)
        assert not type(fits)(fits.k + 1).admits(*sizes)
