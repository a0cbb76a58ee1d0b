"""The training pairs keep test sentences apart, and training resumes to the bit."""

import gzip
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from experiments.edits.lexicon import Lexicon
from experiments.relation_pairs import (
    Example,
    Label,
    edited_examples,
    fixed_examples,
    own_texts,
    paws,
    shortened,
    snli_dev,
)
from experiments.relation_results import ists
from experiments.relations import Examples, Schedule, as_tokens, probabilities, rate_factor, shuffled_batches, train
from tests.experiments.test_edits import SENTENCES, WORDNET
from whymatch.matching.entailment import EntailmentNetwork
from whymatch.text.encoders.adapter import Adapter


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files in the layout of the real ones."""
    folder = tmp_path_factory.mktemp("data")
    labels = ["entailment", "neutral", "contradiction"]
    rows = [f"{left}\t{right}\t{labels[i % 3]}\tmade" for i, left in enumerate(SENTENCES) for right in SENTENCES[:2]]
    write(folder / "snli" / "train.tsv.gz", "\n".join(["premise\thypothesis\tlabel\tsource", *rows]))
    pairs = [f"{i // 3}.jpg#0r{i % 3},{labels[i % 3]},A man {i} sits.,A man {i} stands." for i in range(120)]
    for split in ("dev", "test"):
        write(folder / "esnli" / f"esnli_{split}.csv.gz", "\n".join(["pairID,gold_label,Sentence1,Sentence2", *pairs]))
    groups = [f"{i}\tHans {i // 4} met Anna {i % 4}.\tAnna {i % 4} met Hans {i // 4}.\t{i % 2}" for i in range(200)]
    write(folder / "paws" / "dev.tsv.gz", "\n".join(["id\tsentence1\tsentence2\tlabel", *groups]))
    gold = [{"source": "he left early .", "target": "he went away early ."}] * 5
    for split in ("train", "test"):
        file = folder / "word_alignment" / "edinburgh" / f"gold.{split}.sure.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(gold))
    return folder


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(f"{text}\n".encode()))


def test_the_two_parts_of_paws_share_no_sentence_in_any_word_order(data: Path) -> None:
    train_part, test_part = paws(data)
    words = [{" ".join(sorted(t.split())) for e in part for t in (e.left, e.right)} for part in (train_part, test_part)]
    assert not words[0] & words[1]
    assert len(train_part) + len(test_part) == 200
    assert 40 <= len(test_part) < 60
    assert paws(data) == (train_part, test_part)


def test_pairs_with_the_same_words_contradict_and_others_do_not_entail(data: Path) -> None:
    labels = {example.label for part in paws(data) for example in part}
    assert labels == {Label.ENTAILS, Label.CONTRADICTS}
    write(data / "other" / "paws" / "dev.tsv.gz", "id\tsentence1\tsentence2\tlabel\n1\tHe ran.\tShe sat.\t0")
    assert [example.label for part in paws(data / "other") for example in part] == [Label.NOT_ENTAILS]


def test_the_two_parts_of_esnli_dev_share_no_image(data: Path) -> None:
    images = [{int(example.left.split()[2]) // 3 for example in part} for part in snli_dev(data)]
    assert not images[0] & images[1]
    assert all(images)


def test_the_two_parts_of_the_shipped_texts_share_no_text() -> None:
    parts = [{tuple(text) for text in own_texts(part)} for part in ("train", "test")]
    assert not parts[0] & parts[1]
    assert len(parts[1]) > 100


@given(st.sampled_from([*Label]))
def test_a_contradiction_holds_both_ways_and_nothing_else_becomes_one(label: Label) -> None:
    reverse = Example("a", "b", label, "snli").reverse
    assert (reverse.left, reverse.right) == ("b", "a")
    assert (reverse.label == Label.CONTRADICTS) == (label == Label.CONTRADICTS)
    assert label == Label.CONTRADICTS or not reverse.label & Label.CONTRADICTS


@pytest.mark.parametrize(
    "sentence", ["The game was stopped because it rained hard.", "In May 2001, the bridge was closed to traffic."]
)
def test_a_shortened_sentence_has_no_new_words(sentence: str) -> None:
    text = shortened(sentence)
    assert text is not None
    assert len(text) < len(sentence)
    assert {*text.lower().strip(".").split()} <= {*sentence.lower().replace(",", "").strip(".").split()}


def test_training_pairs_are_reproducible_and_have_no_words_of_the_other_part(data: Path) -> None:
    lexicon, other = Lexicon("train", WORDNET), Lexicon("test", WORDNET)
    first, second = (edited_examples(data, lexicon, 300, random.Random(5)) for _ in range(2))
    assert first == second
    made = [example for example in first if example.kind == "made roles"]
    words = {word for example in made for word in (example.left + " " + example.right).lower().replace(".", "").split()}
    assert made
    assert not words & ({*other.agents} - {*lexicon.agents})


def test_what_every_epoch_has_is_read_in_both_orders(data: Path) -> None:
    examples = fixed_examples(data)
    pairs = {(example.left, example.right) for example in examples}
    assert pairs == {(right, left) for left, right in pairs}
    assert {example.kind for example in examples} == {"snli", "paws", "edinburgh"}


@given(st.integers(0, 200), st.integers(1, 9), st.integers(0, 2**32))
def test_batches_have_every_example_once_but_for_an_incomplete_batch(count: int, size: int, seed: int) -> None:
    windows = [[0] * (i % 7) for i in range(count)]
    batches = shuffled_batches(windows, range(count), size, random.Random(seed))
    assert {len(batch) for batch in batches} <= {size}
    seen = Counter(number for batch in batches for number in batch)
    assert len(seen) == count // size * size
    assert {*seen.values()} <= {1}


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_learning_rate_rises_and_falls_to_zero(progress: float, later: float) -> None:
    assert 0 <= rate_factor(progress) <= 1
    assert rate_factor(0) == 0
    assert rate_factor(1) == pytest.approx(0)
    if 0.1 <= progress <= later:
        assert rate_factor(progress) >= rate_factor(later)


@pytest.fixture(scope="module")
def examples(data: Path) -> Examples:
    """Pairs as tokens."""
    return as_tokens(EntailmentNetwork(None, device="cpu").network, fixed_examples(data)[:24])


def test_training_resumes_to_the_bit(examples: Examples, tmp_path: Path) -> None:
    schedule, epochs = Schedule(epochs=3, batch=4, rate=1e-3), [range(12), range(12, 24)]

    def weights(folder: Path, *, until: int | None = None, resume: bool = False) -> dict[str, torch.Tensor]:
        folder.mkdir(exist_ok=True)
        torch.manual_seed(0)
        model = EntailmentNetwork(Adapter(2), device="cpu")
        train(model, examples, epochs, schedule, 3, examples, folder, resume=resume, until=until)
        return load_file(folder / "weights.safetensors")

    whole = weights(tmp_path / "whole")
    weights(tmp_path / "parts", until=2)
    resumed = weights(tmp_path / "parts", resume=True)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert any(weight.any() for name, weight in whole.items() if name.endswith(".up"))


def test_an_adapter_learns_what_teachers_say_among_the_labels_that_may_be_right(examples: Examples) -> None:
    """Where every label may be right, only the teachers teach: here that all pairs are neutral."""
    torch.manual_seed(0)
    model = EntailmentNetwork(Adapter(2), device="cpu")
    taught = torch.tensor([[0.0, 1.0, 0.0]]).expand(len(examples.allowed), 3)
    with_teachers = replace(examples, allowed=torch.ones_like(examples.allowed), taught=taught)
    before = probabilities(model, examples)[:, 1].mean()
    train(model, with_teachers, [range(24)], Schedule(epochs=4, batch=8, rate=3e-3), 0, examples)
    assert probabilities(model, examples)[:, 1].mean() > max(before, torch.tensor(0.8))


def test_gold_chunks_are_read_with_their_relation(tmp_path: Path) -> None:
    lines = [
        "<alignment>",
        "8 9 <==> 11 12 // EQUI // 5 // at 91 <==> aged 91 ",
        "1 <==> 1 2 // SPE1_FACT // 3 // a red car <==> a car ",
        "4 <==> 4 // OPPO // 4 // open <==> closed ",
        "0 <==> 3 // NOALI // 0 // -not aligned- <==> , ",
    ]
    write(tmp_path / "ists" / "train.news.wa.gz", "\n".join(lines))
    expected = [("at 91", "aged 91", "same"), ("a red car", "a car", "implies"), ("open", "closed", "contradicts")]
    assert ists(tmp_path) == {"news": expected}
