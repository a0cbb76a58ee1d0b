"""Krippendorff's alpha, against published examples, against its definition pair by pair, and by its laws."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.study.report import alpha

Level = Literal["ordinal", "nominal"]
Units = list[list[int]]
LEVELS: tuple[Level, Level] = ("nominal", "ordinal")
VALUES = (0, 1, 2, 3)
ratings = st.lists(st.lists(st.sampled_from(VALUES), max_size=4), max_size=8)


def columns(*annotators: str) -> Units:
    """Units from one string an annotator: a dot is a missing value, and a letter stands for its place from a."""
    return [
        [int(mark) if mark.isdigit() else ord(mark) - ord("a") for mark in unit if mark != "."]
        for unit in zip(*annotators, strict=True)
    ]


# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections A, B, and C with D.
TWO_BINARY = columns("0100000010", "1110010000")
TWO_NOMINAL = columns("aabbdcccedda", "babbbccceddd")
FOUR = columns("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# The worked example of Wikipedia's article on Krippendorff's alpha: three coders, fifteen units.
THREE = columns(".....34121133.3", "1.213343.......", "..21344.21133.4")


@pytest.mark.parametrize(
    ("units", "level", "published"),
    [
        (TWO_BINARY, "nominal", 0.095),
        (TWO_NOMINAL, "nominal", 0.692),
        (FOUR, "nominal", 0.743),
        (FOUR, "ordinal", 0.815),
        (THREE, "nominal", 0.691),
    ],
)
def test_published_examples(units: Units, level: Level, published: float) -> None:
    assert alpha(units, range(6), level) == pytest.approx(published, abs=5e-4)


def by_definition(units: Units, level: Level) -> Fraction | None:
    """1 - Do/De in exact arithmetic, from the pairs of values within units and among all values."""
    judged_twice = [unit for unit in units if len(unit) > 1]
    pooled = [value for unit in judged_twice for value in unit]
    totals = [pooled.count(value) for value in VALUES]

    def distance(one: int, other: int) -> Fraction:
        low, high = sorted((one, other))
        if level == "nominal":
            return Fraction(low != high)
        return (sum(totals[low : high + 1]) - Fraction(totals[low] + totals[high], 2)) ** 2

    if len({*pooled}) < 2:
        return None
    observed = sum(
        sum(distance(*pair) for pair in permutations(unit, 2)) * Fraction(1, len(unit) - 1) for unit in judged_twice
    )
    expected = sum(distance(*pair) for pair in permutations(pooled, 2)) * Fraction(1, len(pooled) - 1)
    return 1 - observed / expected


def same(one: float | None, other: float | Fraction | None) -> bool:
    if one is None or other is None:
        return one is other
    return one == pytest.approx(float(other), rel=1e-9, abs=1e-9)


@given(ratings, st.sampled_from(LEVELS))
def test_alpha_is_its_definition(units: Units, level: Level) -> None:
    assert same(alpha(units, VALUES, level), by_definition(units, level))


@given(ratings, st.sampled_from(LEVELS), st.randoms())
def test_the_order_of_units_and_annotators_does_not_matter(units: Units, level: Level, chance: random.Random) -> None:
    shuffled = [chance.sample(unit, len(unit)) for unit in chance.sample(units, len(units))]
    assert same(alpha(shuffled, VALUES, level), alpha(units, VALUES, level))


@given(ratings, st.permutations(VALUES))
def test_nominal_alpha_does_not_depend_on_the_names_of_values(units: Units, names: Sequence[int]) -> None:
    renamed = [[names[value] for value in unit] for unit in units]
    assert same(alpha(renamed, VALUES, "nominal"), alpha(units, VALUES, "nominal"))


@given(ratings)
def test_ordinal_alpha_depends_on_the_order_of_values_alone(units: Units) -> None:
    reversed_scale = [[3 - value for value in unit] for unit in units]
    stretched = [[value**2 * 7 for value in unit] for unit in units]
    assert same(alpha(reversed_scale, VALUES, "ordinal"), alpha(units, VALUES, "ordinal"))
    assert same(alpha(stretched, [0, 7, 20, 28, 63], "ordinal"), alpha(units, VALUES, "ordinal"))


@given(st.lists(st.lists(st.sampled_from((0, 1)), max_size=4), max_size=8))
def test_of_two_values_nominal_and_ordinal_are_the_same(units: Units) -> None:
    assert same(alpha(units, (0, 1), "ordinal"), alpha(units, (0, 1), "nominal"))


@given(st.lists(st.tuples(st.sampled_from(VALUES), st.integers(2, 4)), min_size=1), st.sampled_from(LEVELS))
def test_perfect_agreement_is_one(agreed: list[tuple[int, int]], level: Level) -> None:
    units = [[value] * times for value, times in agreed]
    differ = len({value for value, _ in agreed}) > 1
    assert alpha(units, VALUES, level) == (1.0 if differ else None)


@pytest.mark.parametrize("level", LEVELS)
def test_ratings_by_chance_have_an_alpha_near_zero(level: Level) -> None:
    chance = random.Random(7)
    units = [chance.choices(VALUES, (4, 3, 2, 1), k=3) for _ in range(4000)]
    assert alpha(units, VALUES, level) == pytest.approx(0, abs=0.04)  # its standard deviation is about 0.01


@pytest.mark.parametrize("units", [[], [[0], [1]], [[2, 2], [2, 2]], [[1, 1], [0]]])
def test_alpha_is_not_defined_where_nothing_was_judged_twice_or_nothing_differs(units: Units) -> None:
    assert alpha(units, (0, 1, 2), "ordinal") is None


def test_a_value_that_cannot_be_given_is_refused() -> None:
    with pytest.raises(ValueError, match="Values are 0, 1, got 2, 5"):
        alpha([[0, 1], [2, 5]], (0, 1), "nominal")
