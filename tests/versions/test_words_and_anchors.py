"""The words that two passages keep, and the blocks that two versions keep, against plain references."""

from functools import cache
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.versions.anchors import anchors, repeated
from whymatch.versions.words import differing, kept_words

WORDS = st.lists(st.sampled_from(["rent", "the", ",", "due", "not"]), max_size=8)
WORTH = {"rent": 1.0, "due": 1.0, "the": 0.5, "not": 0.5, ",": 0.25}


def best_worth(left: tuple[str, ...], right: tuple[str, ...]) -> float:
    @cache
    def best(i: int, j: int) -> float:
        if i == len(left) or j == len(right):
            return 0.0
        own = WORTH[left[i]] + best(i + 1, j + 1) if left[i] == right[j] else 0.0
        return max(own, best(i + 1, j), best(i, j + 1))

    return best(0, 0)


@given(WORDS, WORDS)
def test_the_words_that_are_kept_are_a_common_subsequence_of_the_largest_worth(
    left: list[str], right: list[str]
) -> None:
    kept = kept_words(left, right)
    assert all(left[i] == right[j] for i, j in kept)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(kept))
    assert sum(WORTH[left[i]] for i, _ in kept) == pytest.approx(best_worth(tuple(left), tuple(right)))


def test_neighbours_are_one_span() -> None:
    left, right = "Pay within 30 days.", "Pay at once, within 30 days."
    assert differing(left, right) == ((), ((4, 12),))
    assert differing("a b", "a b") == ((), ())


BLOCKS = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "eeeee", "f"]), max_size=8)


@given(BLOCKS, BLOCKS)
def test_anchors_are_equal_blocks_in_order_and_others_that_cross_them(left: list[str], right: list[str]) -> None:
    chain, moved = anchors(left, right)
    pairs = [*chain, *moved]
    assert all(left[i] == right[j] for i, j in pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(chain))
    for i, j in moved:
        assert any((a < i) != (b < j) for a, b in chain)


@given(st.permutations(["a", "bb", "ccc", "dddd", "eeeee", "f"]))
def test_the_chain_of_blocks_that_stay_has_the_most_characters(right: list[str]) -> None:
    left = sorted(right)
    chain, _ = anchors(left, right)

    def rises(chosen: tuple[str, ...]) -> bool:
        places = [right.index(one) for one in chosen]
        return places == sorted(places)

    best = max(
        sum(1 + len(one) for one in some) for size in range(7) for some in combinations(left, size) if rises(some)
    )
    assert sum(1 + len(left[i]) for i, _ in chain) == best


def test_repeated_blocks_are_matched_beside_others_and_the_first_with_the_first() -> None:
    left, right = ["x", "same", "y", "same", "z"], ["same", "x", "same", "y", "z"]
    chain, moved = anchors(left, right)
    assert chain == [(0, 1), (1, 2), (2, 3), (4, 4)]
    assert moved == []
    assert repeated(left, right, ([3], [0])) == [(3, 0)]
