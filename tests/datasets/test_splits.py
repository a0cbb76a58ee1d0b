"""Splits that share no document, and negatives that are never duplicates."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.datasets.corpora import SimilarTexts
from whymatch.datasets.ranking import Sampling, best_places, bm25_search, queries, split_corpus, tokens
from whymatch.datasets.splits import SHARES, components, dissimilar, split_whole

NUMBERS = st.integers(0, 60)
GRAPHS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=60)


@given(GRAPHS)
def test_components_are_what_can_be_reached(edges: list[tuple[int, int]]) -> None:
    groups = components(range(61), edges)
    assert sorted(node for group in groups for node in group) == list(range(61))
    for group in groups:
        reached, border = {group[0]}, [group[0]]
        while border:
            node = border.pop()
            near = {b for a, b in edges if a == node} | {a for a, b in edges if b == node}
            border += near - reached
            reached |= near
        assert reached == set(group)


@given(GRAPHS, st.integers(0, 5))
def test_no_document_and_no_pair_is_in_two_splits(edges: list[tuple[int, int]], seed: int) -> None:
    groups = components(range(61), edges)
    splits = split_whole(groups, seed)
    of = {node: split for split, members in splits.items() for group in members for node in group}
    assert sum(len(group) for members in splits.values() for group in members) == len(of) == 61
    assert all(of[a] == of[b] for a, b in edges)
    assert splits == split_whole(groups, seed)
    largest = max(map(len, groups))
    for split, share in SHARES.items():
        assert sum(map(len, splits[split])) <= share * 61 + largest


def test_many_small_components_are_split_80_10_10() -> None:
    splits = split_whole([[number] for number in range(1000)], seed=3)
    assert {split: len(members) for split, members in splits.items()} == {"train": 800, "val": 100, "test": 100}
    assert splits != split_whole([[number] for number in range(1000)], seed=4)


@given(st.integers(1, 30), st.integers(0, 20), st.integers(0, 30), st.integers(0, 3))
def test_dissimilar_documents_are_distinct_and_never_forbidden(free: int, never: int, count: int, seed: int) -> None:
    among = [str(number) for number in range(free + never)]
    forbidden = set(among[:never])
    if count > free:
        with pytest.raises(ValueError, match=f"--negatives {free}"):
            dissimilar("0", among, forbidden, count, seed)
        return
    drawn = dissimilar("0", among, forbidden, count, seed)
    assert len(set(drawn)) == len(drawn) == count
    assert not set(drawn) & forbidden
    assert drawn == dissimilar("0", among, forbidden, count, seed)


def chains(number: int = 30, alone: int = 90) -> SimilarTexts:
    """Chains a – b – c: a and c are duplicates by way of b alone, and share their words."""
    texts = {f"{side}{n}": f"the printer {n} and the cable of {side}" for n in range(number) for side in "abc"}
    texts |= {f"d{n}": f"the printer is number {n}" for n in range(alone)}
    sites = {id_: f"site{int(id_[1:]) % 2}" for id_ in texts}
    pairs = tuple(pair for n in range(number) for pair in ((f"a{n}", f"b{n}"), (f"b{n}", f"c{n}")))
    return SimilarTexts(texts, sites, pairs)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_negatives_are_never_duplicates_directly_or_by_others(hard: bool, seed: int) -> None:
    if hard:
        pytest.importorskip("bm25s")
    corpus = chains()
    splits = split_corpus(corpus, seed)
    inside = {split: set(part.groups) for split, part in splits.items()}
    assert sum(map(len, inside.values())) == len(corpus.texts) == len(set().union(*inside.values()))
    for split, part in splits.items():
        rows = list(queries(part, Sampling(8, hard, seed)))
        assert rows == list(queries(part, Sampling(8, hard, seed)))
        assert {row["id"] for row in rows} == {id_ for pair in corpus.similar for id_ in pair} & inside[split]
        for row in rows:
            number, similar = row["id"][1:], row["ids"][: len(row["relevant"])]
            assert {frozenset((row["id"], id_)) for id_ in similar} <= {frozenset(pair) for pair in corpus.similar}
            others = row["ids"][len(similar) :]
            assert len(set(others)) == 8
            assert set(others) <= inside[split]
            assert not set(others) & {f"{side}{number}" for side in "abc"}
            assert row["documents"] == [corpus.texts[id_] for id_ in row["ids"]]
            if hard:
                chosen = others[: len(others) - row["random"]]
                assert {corpus.sites[id_] for id_ in chosen} <= {corpus.sites[row["id"]]}


def test_a_corpus_too_small_for_three_splits_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        split_corpus(SimilarTexts({"a": "x", "b": "y"}, {"a": "", "b": ""}, (("a", "b"),)), 0)


def test_bm25_is_the_formula() -> None:
    pytest.importorskip("bm25s")
    texts = {"a": "cat cat dog", "b": "cat bird", "c": "fish", "d": "dog dog dog bird bird"}
    search = bm25_search(texts)
    lengths = {id_: len(tokens(text)) for id_, text in texts.items()}
    mean = sum(lengths.values()) / len(texts)

    def score(query: str, id_: str) -> float:
        total = 0.0
        for word in set(tokens(query)):
            holds = sum(word in tokens(text) for text in texts.values())
            count = tokens(texts[id_]).count(word)
            weight = log(1 + (len(texts) - holds + 0.5) / (holds + 0.5))
            total += weight * count / (count + 1.5 * (0.25 + 0.75 * lengths[id_] / mean))
        return total

    for query in ("Cat!", "dog bird", "bird cat dog", "fish"):
        ranked = sorted((id_ for id_ in texts if score(query, id_) > 0), key=lambda id_: -score(query, id_))
        assert search(query, (), 9) == ranked
        assert search(query, {ranked[0]}, 1) == ranked[1:2]
    assert search("unheard", (), 3) == []
    assert bm25_search({"a": "?!"})("cat", (), 1) == []


@given(st.lists(st.integers(0, 4)), st.integers(0, 12))
def test_the_best_come_first_and_equals_in_order(scores: list[int], count: int) -> None:
    order = best_places(np.array(scores, dtype=float), max(count, 1))
    every = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    assert list(order[: max(count, 1)]) == every[: max(count, 1)]
