"""The training pairs keep test sentences apart, and training resumes to the bit."""

import argparse
import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from experiments.edits.lexicon import Lexicon
from experiments.relation_pairs import Example, Label, own_texts, paws, shortened, snli_dev, training_examples
from experiments.relation_results import ists
from experiments.relations import rate_factor, shuffled_batches, train
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
    first, second = (training_examples(data, lexicon, 300, random.Random(5)) for _ in range(2))
    assert first == second
    made = [example for example in first if example.kind == "made roles"]
    words = {word for example in made for word in (example.left + " " + example.right).lower().replace(".", "").split()}
    assert made
    assert not words & ({*other.agents} - {*lexicon.agents})


@given(st.integers(0, 200), st.integers(1, 9), st.integers(0, 2**32))
def test_batches_have_every_example_once_but_for_an_incomplete_batch(count: int, size: int, seed: int) -> None:
    examples = [Example("a" * (i % 7), str(i), Label.ENTAILS, "snli") for i in range(count)]
    batches = [*shuffled_batches(examples, size, random.Random(seed))]
    assert {len(batch) for batch in batches} <= {size}
    seen = Counter(example for batch in batches for example in batch)
    assert len(seen) == count // size * size
    assert {*seen.values()} <= {1}


@given(st.integers(0, 400), st.integers(1, 400))
def test_the_learning_rate_rises_stays_and_falls_to_zero(first: int, more: int) -> None:
    rates = [rate_factor(step, first, first + more) for step in range(first + more + 1)]
    assert all(0 <= rate <= 1 for rate in rates)
    assert rates[-1] == 0
    assert all(rates[step] >= rates[step + 1] for step in range(max(first, 100), first + more))


def test_training_resumes_to_the_bit(data: Path, tmp_path: Path) -> None:
    lexicon = Lexicon("train", WORDNET)
    common = {"data": data, "first_steps": 2, "steps": 4, "edits": 40, "batch": 4, "rate": 1e-3, "seed": 3}

    def weights(folder: Path, *, steps: int = 4, resume: bool = False) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        model = EntailmentNetwork(Adapter(2), device="cpu")
        settings = argparse.Namespace(**common, out=folder, save_every=3, resume=resume)
        train(model, lexicon, settings, until=steps)
        return load_file(folder / "weights.safetensors")

    whole = weights(tmp_path / "whole")
    weights(tmp_path / "parts", steps=3)
    resumed = weights(tmp_path / "parts", resume=True)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert any(weight.any() for name, weight in whole.items() if name.endswith(".up"))


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
