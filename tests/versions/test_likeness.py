"""Costs of groups of blocks: the same in parts as in one piece, and within the bounds that the band's proof needs."""

import numpy as np
import pytest

from tests.versions.test_comparing import PARAGRAPHS, ByLetters
from whymatch.text.spans import words
from whymatch.versions.likeness import FROM, GroupGains, features

LEFT = [*PARAGRAPHS, "The rent is paid by the tenant.", "It is due on the first day."]
RIGHT = ["The rent is paid on the first day by the tenant.", *PARAGRAPHS[::-1], "Dogs may be kept.", "In the garden."]


@pytest.fixture(params=[None, 2], ids=["in a row", "with a gap"])
def gains(request: pytest.FixtureRequest) -> GroupGains:
    corpus = [[text[a:b] for a, b in words(text)] for text in [*LEFT, *RIGHT]]
    left, right = features(LEFT, RIGHT, corpus, ByLetters())
    follows = np.ones(len(LEFT), bool), np.ones(len(RIGHT), bool)
    if request.param is not None:
        follows[1][request.param] = False
    return GroupGains(left, right, follows, 3)


def test_parts_are_those_of_the_whole(gains: GroupGains) -> None:
    whole = gains(range(len(LEFT)), range(len(RIGHT)))
    assert np.isfinite(whole).sum() > 10
    for rows, columns in ((range(1, 4), range(2, 6)), (range(7, 8), range(len(RIGHT))), (range(1), range(1))):
        part = gains(rows, columns)
        np.testing.assert_allclose(part, whole[rows.start : rows.stop, columns.start : columns.stop], rtol=1e-5)


def test_no_group_gains_more_than_its_blocks_can(gains: GroupGains) -> None:
    whole = gains(range(len(LEFT)), range(len(RIGHT)))
    left, right = gains.gains
    for i, j, a, b in np.argwhere(np.isfinite(whole)):
        assert i >= a
        assert j >= b
        assert -whole[i, j, a, b] <= min(left[i - a : i + 1].sum(), right[j - b : j + 1].sum())
    assert (whole[np.isfinite(whole)] < 0).all()


def test_one_block_becomes_several_or_several_one_and_never_across_a_gap(gains: GroupGains) -> None:
    whole = gains(range(len(LEFT)), range(len(RIGHT)))
    assert np.isinf(whole[:, :, 1:, 1:]).all()
    split = whole[:, len(RIGHT) - 1, 0, 1]
    assert np.flatnonzero(np.isfinite(split)).tolist() == [1], "only the clause on dogs was split"


def test_equal_blocks_gain_all_that_they_can() -> None:
    corpus = [[text[a:b] for a, b in words(text)] for text in PARAGRAPHS]
    left, right = features(PARAGRAPHS, PARAGRAPHS, corpus, ByLetters())
    alone = np.zeros(len(PARAGRAPHS), bool)
    cost = GroupGains(left, right, (alone, alone), 2)(range(6), range(6))
    np.testing.assert_allclose(np.diag(cost[:, :, 0, 0]), -(1 - FROM) * left.lengths, rtol=1e-5)
    assert np.isinf(cost[:, :, 1, 0]).all(), "no block stands behind another"
