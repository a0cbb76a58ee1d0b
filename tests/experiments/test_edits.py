"""Edits change what they promise to change, and leave the rest as it is."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.edits import CONTRADICTING, HARMLESS, edited
from experiments.edits.lexicon import Lexicon, Part, pair_key, part_of
from experiments.edits.made import statement
from experiments.edits.roles import made_pair
from experiments.edits.text import number_in_words
from experiments.edits.wordnet import WordNet

WORDNET = WordNet(
    antonyms={"early": ("late",), "happy": ("unhappy",), "accept": ("reject",), "ascend": ("descend",)},
    synonyms={"car": ("automobile",), "begin": ("start", "commence"), "buy": ("purchase",), "quickly": ("rapidly",)},
    verbs={"is": "be", "chased": "chase", "chasing": "chase", "wrote": "write", "feeds": "feed", "feeding": "feed"},
    participles={"chase": "chased", "feed": "fed", "write": "written"},
)
SENTENCES = [
    "The old dog is chasing a small cat in the garden.",
    "The nurse feeds the patient twice a day.",
    "Take 5 mg of ibuprofen every morning.",
    "Do not take more than 2,000 mg a day.",
    "The notice period is twenty-four months, and the rent is $950 per month.",
    "When the alarm rings, you must leave the building at once.",
    "Anna Miller sold her car to Peter Jones in March 2015.",
    "Sales rose by 12% in Germany, but they fell in France.",
    "All visitors may use the upper entrance on Sunday.",
    "The train from Vienna to Prague leaves at 9 am.",
    "I don't like the colour, and it isn't cheap.",
    "We will buy three cars and begin early.",
    "Dogs are not allowed in the centre because children play there.",
    "there is a man with a hat near the river",
    "Either party can end this agreement with 30 days' notice.",
]
KINDS = [*CONTRADICTING, *HARMLESS]
sentences, seeds = st.sampled_from(SENTENCES), st.integers(0, 2**32)
kinds, parts = st.sampled_from(KINDS), st.sampled_from(["train", "test"])


def lexicon(part: Part) -> Lexicon:
    return Lexicon(part, WORDNET)


def values(text: str) -> Counter[int]:
    """The whole numbers that a text mentions, in digits or in words: a slow reference."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower())
    for number in range(99, 1, -1):
        words = number_in_words(number)
        text = re.sub(rf"\b(?:{words}|{words.replace('-', ' ')})\b", str(number), text)
    return Counter(map(int, re.findall(r"\d+", text)))


def letters(text: str) -> str:
    return re.sub(r"[^\w$€£]+", "", text.lower())


@given(kinds, sentences, seeds, parts)
def test_an_edit_changes_the_sentence_or_says_that_it_does_not_apply(
    kind: str, sentence: str, seed: int, part: Part
) -> None:
    text = edited(kind, sentence, random.Random(seed), lexicon(part))
    assert text is None or (text != sentence and text.strip())


@given(st.sampled_from([*CONTRADICTING]), sentences, seeds)
def test_a_contradicting_edit_changes_more_than_punctuation_and_case(kind: str, sentence: str, seed: int) -> None:
    text = edited(kind, sentence, random.Random(seed), lexicon("train"))
    assert text is None or letters(text) != letters(sentence)


@given(st.sampled_from([*HARMLESS]), sentences, seeds)
def test_a_harmless_edit_keeps_the_numbers(kind: str, sentence: str, seed: int) -> None:
    text = edited(kind, sentence, random.Random(seed), lexicon("train"))
    assert text is None or values(text) == values(sentence)


@given(sentences, seeds)
def test_another_number_has_another_value(sentence: str, seed: int) -> None:
    text = edited("number", sentence, random.Random(seed), lexicon("test"))
    assert text is None or values(text) != values(sentence)


@given(st.sampled_from(["punctuation", "case"]), sentences, seeds)
def test_punctuation_and_case_keep_the_letters(kind: str, sentence: str, seed: int) -> None:
    text = edited(kind, sentence, random.Random(seed), lexicon("train"))
    assert text is None or letters(text) == letters(sentence)


@given(sentences, seeds)
def test_swapped_roles_and_other_orders_keep_the_words(sentence: str, seed: int) -> None:
    for kind in ("role swap", "reordering"):
        text = edited(kind, sentence, random.Random(seed), lexicon("train"))
        assert text is None or Counter(re.findall(r"\w+", text.lower())) == Counter(
            re.findall(r"\w+", sentence.lower())
        )


@given(kinds, sentences, seeds, parts)
def test_edits_are_reproducible(kind: str, sentence: str, seed: int, part: Part) -> None:
    first, second = (edited(kind, sentence, random.Random(seed), lexicon(part)) for _ in range(2))
    assert first == second


@given(sentences, seeds, parts)
def test_names_that_are_put_in_belong_to_the_part(sentence: str, seed: int, part: Part) -> None:
    words = lexicon(part)
    text = edited("name", sentence, random.Random(seed), words)
    known = {name for names in words.names.values() for name in names}
    new = {*re.findall(r"\w+", text or "")} - {*re.findall(r"\w+", sentence)}
    assert {name.lower() for name in new} <= {name.lower() for name in known}


@given(sentences, seeds, parts)
def test_opposites_and_synonyms_that_are_put_in_belong_to_the_part(sentence: str, seed: int, part: Part) -> None:
    for kind in ("antonym", "synonym"):
        text = edited(kind, sentence, random.Random(seed), lexicon(part))
        if text is not None:
            old, new = (re.findall(r"[\w-]+", side.lower()) for side in (sentence, text))
            changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b and {a, b} != {"a", "an"}]
            assert [part_of(pair_key(*pair)) for pair in changed] == [part]


def test_the_parts_share_no_name_no_opposites_no_verb_and_no_statement() -> None:
    train, test = lexicon("train"), lexicon("test")
    for kind, names in train.names.items():
        assert names
        assert test.names[kind]
        assert not {*names} & {*test.names[kind]}
    pairs = [{pair_key(word, other) for word, own in part.antonyms.items() for other in own} for part in (train, test)]
    assert not pairs[0] & pairs[1]
    assert not {*train.events} & {*test.events}
    assert not {*train.agents} & {*test.agents}
    made = [{statement(random.Random(seed), part) for seed in range(200)} for part in (train, test)]
    assert not made[0] & made[1]


@given(seeds, parts)
def test_made_pairs_name_the_same_participants_and_differ(seed: int, part: Part) -> None:
    left, right, _ = made_pair(random.Random(seed), lexicon(part))
    words = lexicon(part)
    known = {*words.agents, *(name.lower() for names in words.names.values() for name in names)}
    both = [Counter(word for word in re.findall(r"\w+", side.lower()) if word in known) for side in (left, right)]
    assert left != right
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ("A man is riding a horse.", "A horse is riding a man.", "role swap"),
        ("A man is riding a horse.", "A horse is being ridden by a man.", "active and passive"),
        ("The ship sailed from Oslo to Hull.", "The ship sailed from Hull to Oslo.", "role swap"),
        ("If it rains, we stay at home.", "We stay at home if it rains.", "reordering"),
        ("Stir it.", "Do not stir it.", "negation"),
    ],
)
def test_an_edit_that_a_reader_would_make_is_drawn(left: str, right: str, kind: str) -> None:
    words = Lexicon("train", WordNet({}, {}, {"riding": "ride", "sailed": "sail"}, {"ride": "ridden"}))
    assert right in {edited(kind, left, random.Random(seed), words) for seed in range(40)}


def test_wordnet_is_read_in_all_forms_of_a_word(tmp_path: Path) -> None:
    licence = "  1 This is the licence.\n"
    for name in ("noun", "adj", "adv"):
        for file in (f"data.{name}", f"index.{name}", f"{name}.exc"):
            (tmp_path / file).write_text("")
    (tmp_path / "verb.exc").write_text("rose rise\nrisen rise\nfell fall\nfallen fall\n")
    (tmp_path / "index.verb").write_text(
        f"{licence}lift v 1 1 ! 1 1 00000100\ndrop v 1 1 ! 1 1 00000200\nhoist v 1 0 1 1 00000100\n"
    )
    (tmp_path / "data.verb").write_text(
        f"{licence}00000100 30 v 02 lift 0 hoist 0 001 ! 00000200 v 0101 00 | to raise\n"
        "00000200 30 v 01 drop 0 001 ! 00000100 v 0101 00 | to let fall\n"
    )
    (tmp_path / "cntlist.rev").write_text("lift%2:30:00:: 1 20\ndrop%2:30:00:: 1 20\nhoist%2:30:00:: 1 5\n")
    read = WordNet.read(tmp_path)
    assert read.antonyms["lifted"] == ("dropped",)
    assert read.antonyms["drops"] == ("lifts",)
    assert read.synonyms["lifting"] == ("hoisting",)
    assert read.verbs["hoisted"] == "hoist"


def test_a_folder_without_wordnet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no WordNet"):
        WordNet.read(tmp_path)
