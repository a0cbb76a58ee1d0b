"""Documents that say the same are found by their evidence, and grouped."""

from pathlib import Path

import numpy as np
import pytest

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.search.duplicates import Duplicate, duplicates
from whymatch.search.index import Index


def lines(number: int, *chosen: int) -> list[str]:
    return [post(number, 6).split("\n")[line] for line in chosen]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    found = Index.create(tmp_path_factory.mktemp("duplicates") / "index", aligner())
    chain = {
        "chain-1": "\n".join(lines(500, 0, 1, 2) + lines(501, 0)),
        "chain-2": "\n".join(lines(500, 0, 1, 2) + lines(502, 0, 1, 2)),
        "chain-3": "\n".join(lines(502, 0, 1, 2) + lines(503, 0, 1, 2)),
    }
    found.add({**posts(80), "copy": post(3), "nearly": post(8) + "\nOne more", **chain})
    found.compact()
    return found


def test_duplicates_are_grouped_with_the_pair_that_holds_the_group_together(index: Index) -> None:
    groups = {tuple(group.texts): group for group in duplicates(index, e_value=0.01)}
    assert set(groups) == {("copy", "post-3"), ("nearly", "post-8"), ("chain-1", "chain-2", "chain-3")}
    chain = groups["chain-1", "chain-2", "chain-3"]
    assert [(pair.left, pair.right) for pair in chain.pairs] == [("chain-1", "chain-2"), ("chain-2", "chain-3")]
    assert chain.reasons == chain.pairs
    assert chain.weakest == chain.pairs[1]
    for group in groups.values():
        assert group.texts == {id_: index[id_].text for id_ in group.texts}
        for pair in group.pairs:
            assert pair.e_value == pytest.approx(len(index) * pair.p_value)
            assert pair.bits == pytest.approx(sum(link.bits or 0 for link in pair.alignment.links))
    copies = groups["copy", "post-3"].weakest
    assert (copies.probability, len(copies.alignment.links)) == (1.0, 4)


def test_reasons_are_the_surest_pairs_that_connect_a_group(index: Index) -> None:
    groups = duplicates(index, e_value=20.0)
    assert any(len(group.pairs) > len(group.texts) for group in groups), "there are cycles"
    for group in groups:
        assert len(group.reasons) == len(group.texts) - 1
        reasons = {(pair.left, pair.right) for pair in group.reasons}
        before = list[Duplicate]()
        for pair in group.pairs:  # the pairs before it that are reasons connect the two already, or it is one
            before += [pair] if (pair.left, pair.right) in reasons else []
            joined = {pair.left}
            for _ in group.texts:
                joined |= {id_ for one in before if {one.left, one.right} & joined for id_ in (one.left, one.right)}
            assert pair.right in joined
        for id_ in group.texts:
            nearest = group.surest(id_)
            assert nearest.p_value == min(one.p_value for one in group.pairs if id_ in (one.left, one.right))


def test_groups_say_how_much_was_compared_and_against_what(index: Index) -> None:
    groups = duplicates(index, e_value=0.01)
    assert groups.verdict == f"3 groups of documents say the same: 7 of {len(index)} documents."
    assert groups.to_dict()["limits"] == {"e_value": 0.01, "probability": None}
    assert groups.background == f"{len(index) - 1} documents of the index", "every text once"
    assert [*groups[:1]] == [groups[0]]


def test_limits_are_those_of_every_pair_and_copies_are_always_found(index: Index) -> None:
    pairs = {(p.left, p.right): p for group in duplicates(index, e_value=1.0) for p in group.pairs}
    for limit in (1e-6, 1e-100):
        kept = {(p.left, p.right) for group in duplicates(index, e_value=limit) for p in group.pairs}
        assert kept == {ids for ids, pair in pairs.items() if pair.e_value <= limit} | {("copy", "post-3")}
    for limit in (0.5, 0.999):
        found = [p for group in duplicates(index, probability=limit) for p in group.pairs]
        assert all(pair.probability is not None and pair.probability >= limit for pair in found)
        assert ("copy", "post-3") in {(pair.left, pair.right) for pair in found}


def test_texts_that_are_equal_are_one_group_however_many_there_are(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", aligner())
    index.add({f"{n:03}-{text}": post(text) for n in range(70) for text in (1, 2, 3)})
    groups = duplicates(index, e_value=1e-300, neighbours=1)
    assert sorted(len(group.texts) for group in groups) == [70, 70, 70]
    assert all(len({*group.texts.values()}) == 1 for group in groups)


def test_every_pair_of_a_corpus_is_compared_where_all_are_neighbours(index: Index) -> None:
    entries = sorted(index.entries(index.ids()), key=lambda entry: entry.id)
    judge = wm.Aligner("line", WordSums(), background=index)
    numbers = [(i, j) for i in range(len(entries)) for j in range(i + 1, len(entries))]
    every = judge.align_vectors(
        [(entries[i].document, entries[j].document) for i, j in numbers],
        [(entries[i].vectors, entries[j].vectors) for i, j in numbers],
        links_only=True,
    )
    expected = {
        (entries[i].id, entries[j].id): why.bits
        for (i, j), why in zip(numbers, every, strict=True)
        if why.p_value is not None and why.p_value * len(entries) <= 0.3
    }
    found = duplicates(index, e_value=0.3, neighbours=len(entries))
    bits = {(pair.left, pair.right): pair.bits for group in found for pair in group.pairs}
    assert bits == pytest.approx(expected, rel=1e-4)


def test_progress_reaches_the_number_of_documents(index: Index) -> None:
    done: list[int] = []
    duplicates(index, progress=done.append)
    assert done[-1] == len(index)


def test_costs_without_evidence_are_judged_by_evidence_of_the_same_vectors(index: Index) -> None:
    plain = Index.open(index.store.folder, wm.Aligner("line", WordSums(), "cosine"))
    assert plain.scale is None
    assert ["copy", "post-3"] in [[*group.texts] for group in duplicates(plain)]


@pytest.mark.parametrize("limits", [{"e_value": 0.0}, {"probability": 1.5}, {"neighbours": 0}])
def test_limits_out_of_range_are_refused(index: Index, limits: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Duplicates take"):
        duplicates(index, **limits)  # type: ignore[arg-type]


def test_equal_texts_are_the_surest_even_if_they_are_templates(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", aligner())
    index.add({f"{n:03}": post(n) for n in range(80)} | {"twin-a": "word9 x", "twin-b": "word9 x\r\n"})
    groups = duplicates(index, e_value=1e9, neighbours=3)
    assert {groups[0].pairs[0].left, groups[0].pairs[0].right} == {"twin-a", "twin-b"}


def test_the_best_of_many_is_less_probable_than_a_pair_that_was_given(index: Index) -> None:
    scale, alone = index.scale, index.aligner.judge.scale_of(index.background or index.aligner.judge._shipped)
    assert scale is not None
    surprise = np.linspace(0, 40, 50)
    among, given = (one.calibration.probability(surprise) for one in (scale, alone))
    assert (among < given).all()
    odds = (given / (1 - given)) / (among / (1 - among))
    share = alone.calibration.share
    np.testing.assert_allclose(odds, (len(index) - 1) * share / (1 - share), rtol=1e-6)


def test_groups_come_in_the_order_of_their_probabilities_and_unlikely_ones_are_left_out(index: Index) -> None:
    groups = duplicates(index, e_value=0.01)
    probabilities = [group.weakest.probability or 0.0 for group in groups]
    assert probabilities == sorted(probabilities, reverse=True)
    assert len({*probabilities}) == 3
    for group in groups:
        assert group.weakest.probability == min(pair.probability or 0.0 for pair in group.reasons)
    by_default = duplicates(index)
    assert [tuple(group.texts) for group in by_default] == [("copy", "post-3"), ("nearly", "post-8")]
    assert [note.partition(":")[0] for note in by_default.notes] == [
        "2 pairs are left out whose probability is below one half"
    ]
    assert by_default.to_dict()["limits"] == {"e_value": 0.01, "probability": 0.5}


def test_the_reason_of_a_pair_is_where_it_differs_if_it_does() -> None:
    near = wm.Aligner("line", WordSums(), "cosine", below=0.9)
    for texts, reason in [
        (("Sound\nIt works on mine", "Sound\nIt works not on mine"), ("It works on mine", "It works not on mine")),
        (("Sound\nIt works", "Sound\nRain"), ("Sound", "Sound")),
        (("Rain", "Wine"), None),
    ]:
        assert Duplicate("a", "b", 0.0, 0.0, 1.0, near.align(*texts)).reason == reason
