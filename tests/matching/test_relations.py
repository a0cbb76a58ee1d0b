"""Relations follow from two readings, do not depend on the batch, and come from weights that are checked."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whymatch.matching.entailing import MAX_TOKENS, Entailment, kept, pair_windows
from whymatch.matching.entailment import EntailmentNetwork
from whymatch.matching.relations import FOLDER, RELATIONS, Relation, RelationReader, chosen, combined
from whymatch.matching.wording import same_wording
from whymatch.text.encoders.adapter import Adapter

PAIRS = [
    ("Take 5 mg every day.", "Take 50 mg every day."),
    ("A man is sleeping on a bench in the park.", "A man is sleeping."),
    ("A man is sleeping.", "A man is sleeping on a bench in the park."),
    ("The door is open.", "The door is open ."),
    ("The printer does not print in colour.", "I have replaced the black cartridge."),
    ("word " * 400, "The door is open."),
]
logits = arrays(np.float64, (4, 3), elements=st.floats(-30, 30))


@pytest.fixture(scope="module")
def reader() -> RelationReader:
    return RelationReader()


@given(logits, logits)
def test_probabilities_of_relations_add_up_to_one(forward: np.ndarray, backward: np.ndarray) -> None:
    probabilities = combined(forward, backward)
    assert probabilities.shape == (4, len(RELATIONS))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@given(logits, logits)
def test_exchanged_spans_exchange_implies_and_implied(forward: np.ndarray, backward: np.ndarray) -> None:
    one, other = combined(forward, backward), combined(backward, forward)
    np.testing.assert_allclose(one, other[:, [0, 2, 1, 3, 4]])


@pytest.mark.parametrize(
    ("forward", "backward", "relation"),
    [
        ([9, 0, 0], [9, 0, 0], "same"),
        ([9, 0, 0], [0, 9, 0], "implies"),
        ([0, 9, 0], [9, 0, 0], "implied"),
        ([0, 0, 9], [0, 0, 9], "contradicts"),
        ([0, 9, 0], [0, 9, 0], "related"),
    ],
)
def test_sure_readings_give_the_relation_that_they_mean(forward: list[int], backward: list[int], relation: str) -> None:
    probabilities = combined(np.array([forward]), np.array([backward]))
    assert RELATIONS[chosen(probabilities, 0.5)[0]] == relation


@given(logits, logits, st.floats(0.01, 0.99))
def test_contradicts_is_chosen_from_its_threshold_on_and_what_is_less_likely_never(
    forward: np.ndarray, backward: np.ndarray, threshold: float
) -> None:
    probabilities = combined(forward, backward)
    for name, row in zip(chosen(probabilities, threshold), probabilities, strict=True):
        assert (RELATIONS[name] == "contradicts") == (row[3] >= threshold)
        unsure = row[3] == max(row) and RELATIONS[name] == "related"
        assert RELATIONS[name] == "contradicts" or row[name] == max(row) or unsure


@given(st.integers(0, 600), st.integers(0, 600), st.integers(2, 300))
def test_of_spans_that_are_too_long_both_are_kept_and_the_longer_is_cut(left: int, right: int, room: int) -> None:
    for_left, for_right = kept(left, right, room)
    assert for_left + for_right <= room
    assert for_left <= left
    assert for_right <= right
    assert (for_left, for_right) == (left, right) or for_left + for_right >= room - 1
    assert for_left >= min(left, room // 2)
    assert for_right >= min(right, room // 2)


def test_what_ships_is_small_and_says_what_it_is(reader: RelationReader) -> None:
    assert (FOLDER / "weights.safetensors").stat().st_size <= 2.5e6
    assert reader.card["licence"] == "CC BY-SA 4.0"
    assert {"trained_on", "measured", "fails", "base", "temperature", "contradicts_from"} <= reader.card.keys()
    assert 0.5 <= reader.card["contradicts_from"] < 1


def test_pairs_do_not_depend_on_their_batch(reader: RelationReader) -> None:
    together = reader.probabilities(PAIRS)
    alone = np.concatenate([reader.probabilities([pair]) for pair in PAIRS])
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert reader.probabilities([]).shape == (0, len(RELATIONS))


def test_exchanged_pairs_have_the_exchanged_relation(reader: RelationReader) -> None:
    one = reader.probabilities(PAIRS)
    other = reader.probabilities([(right, left) for left, right in PAIRS])
    np.testing.assert_allclose(one, other[:, [0, 2, 1, 3, 4]], atol=1e-4)


def test_plain_pairs_have_the_relation_that_people_see(reader: RelationReader) -> None:
    relations = reader.relations(PAIRS[:5])
    assert [relation.name for relation in relations] == ["contradicts", "implies", "implied", "same", "related"]
    for relation in relations:
        assert relation.probability == relation.probabilities[relation.name]


@pytest.mark.parametrize("right", ["The door is open.", "the door is OPEN .", "The  door is open"])
def test_blanks_case_and_a_full_stop_change_nothing(reader: RelationReader, right: str) -> None:
    (relation,) = reader.relations([("The door is open.", right)])
    assert relation.name == "same"
    assert relation.probability > 0.99


def test_empty_spans_are_read(reader: RelationReader) -> None:
    assert np.isfinite(reader.probabilities([("", "The door is open."), ("", "")])).all()


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy")
    file = tmp_path / "copy" / "weights.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="SHA-256"):
        RelationReader(tmp_path / "copy").relations(PAIRS[:1])
    (tmp_path / "copy" / "card.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match="holds no weights"):
        RelationReader(tmp_path / "copy").relations(PAIRS[:1])


def test_a_merged_network_reads_as_the_trained_one_does(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = EntailmentNetwork(Adapter(2), device="cpu").eval()
    with torch.no_grad():
        for weight in model.trained().values():
            weight.add_(torch.randn_like(weight) * 0.02)
    model.write(tmp_path / "weights.safetensors")
    pairs = [*PAIRS[:3], *PAIRS[4:]]  # the fourth has the same tokens on both sides, and is not read
    merged = Entailment(tmp_path / "weights.safetensors", "float32").logits(pairs)
    for pair, expected in zip(pairs, merged, strict=True):
        (window,), (types,) = pair_windows(model.network, [same_wording(*pair)])
        assert len(window) <= MAX_TOKENS
        ids, own_types = torch.tensor([window]), torch.tensor([types])
        np.testing.assert_allclose(
            model(ids, own_types, torch.ones_like(ids)).detach().numpy()[0], expected, rtol=1e-3, atol=1e-4
        )


def test_a_relation_is_a_plain_value() -> None:
    probabilities = dict(zip(RELATIONS, (0.1, 0.1, 0.1, 0.6, 0.1), strict=True))
    assert Relation("contradicts", probabilities) == Relation("contradicts", probabilities)
    assert Relation("contradicts", probabilities).probability == 0.6
