"""Conflicts are where two texts that match contradict each other, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.matching.conflicts import Conflict, conflicts
from whymatch.matching.conflicts.opposites import idioms
from whymatch.matching.defaults import word_aligner
from whymatch.text.antonyms import FILE, are_antonyms
from whymatch.text.spans import Span, words

PLAIN = str.split("doctor table garden river letter window music paper bridge teacher kitchen village market forest")
NUMBERS = str.split("2 3 7 12 45 300 1999 2,500 3.5 two nine twelve twenty-four")
NAMES = str.split("Alice Robert Paris Tokyo Microsoft Wilhelm Gupta Okafor")
Links = list[tuple[Span, Span]]


def same_words(left: str, right: str) -> Links:
    """Links of equal words, the first with the first: a word aligner without a model."""
    free, links = words(right), Links()
    for span in words(left):
        form = left[span.start : span.end].lower()
        partner = next((other for other in free if right[other.start : other.end].lower() == form), None)
        if partner is not None:
            free.remove(partner)
            links.append((span, partner))
    return links


def found(left: str, right: str) -> tuple[Conflict, ...]:
    return conflicts(left, right, same_words(left, right))


@st.composite
def sentences(draw: st.DrawFn, *, numbers: int = 0) -> list[str]:
    """Words of a sentence, with this many numbers and some names and negations among them."""
    tokens = draw(st.lists(st.sampled_from([*PLAIN, "the", "and", "not", "of", *NAMES]), min_size=4, max_size=14))
    for _ in range(numbers):  # each with a word after it, for "12 300" is one number
        place = draw(st.integers(1, len(tokens)))
        tokens[place:place] = [draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(PLAIN))]
    return tokens


texts = st.one_of(st.text(), sentences(numbers=1).map(" ".join), st.text(alphabet="Aa1 .,not$%'-\n½"))


@st.composite
def linked_texts(draw: st.DrawFn) -> tuple[str, str, Links]:
    """Two texts and any links at all between their words."""
    left, right = draw(texts), draw(texts)
    own, other = words(left), words(right)
    if not own or not other:
        return left, right, []
    return left, right, draw(st.lists(st.tuples(st.sampled_from(own), st.sampled_from(other)), max_size=20))


@given(linked_texts())
def test_conflicts_lie_inside_the_texts_and_mirror_each_other(pair: tuple[str, str, Links]) -> None:
    left, right, links = pair
    own = conflicts(left, right, links)
    mirrored = conflicts(right, left, [(b, a) for a, b in links])
    assert {(one.kind, one.left, one.right) for one in own} == {(one.kind, one.right, one.left) for one in mirrored}
    for one in own:
        assert one.left or one.right
        assert all(left[start:end].strip() and end <= len(left) for start, end in one.left)
        assert all(right[start:end].strip() and end <= len(right) for start, end in one.right)


@given(text=texts, data=st.data())
def test_a_text_never_contradicts_itself_whatever_the_links(text: str, data: st.DataObject) -> None:
    spans = words(text)
    pairs = st.lists(st.tuples(st.sampled_from(spans), st.sampled_from(spans)), max_size=20) if spans else st.just([])
    links = data.draw(pairs)
    assert conflicts(text, text, links) == ()
    assert found(text, text) == ()


@given(tokens=sentences(numbers=2), change=st.integers(0, 4), end=st.sampled_from([".", "", " .", "!", "..."]))
def test_harmless_edits_give_nothing(tokens: list[str], change: int, end: str) -> None:
    numbers = {"2": "two", "two": "2", "2,500": "2500", "twenty-four": "24", "12": "twelve", "300": "three hundred"}
    text = " ".join(tokens)
    edited = [text, text.lower(), text.upper(), text.replace(" ", "  "), " ".join(numbers.get(t, t) for t in tokens)][
        change
    ]
    assert found(text + ".", edited + end) == ()


@given(tokens=sentences(numbers=3), data=st.data())
def test_any_change_of_one_number_is_found_at_its_place(tokens: list[str], data: st.DataObject) -> None:
    places = [place for place, token in enumerate(tokens) if token in NUMBERS]
    place = data.draw(st.sampled_from(places))
    values = {"two": "2", "twelve": "12"}
    same = {
        tokens[place],
        values.get(tokens[place]),
        *(word for word, digits in values.items() if digits == tokens[place]),
    }
    edited = [*tokens]
    edited[place] = data.draw(st.sampled_from([number for number in NUMBERS if number not in same]))
    left, right = " ".join(tokens) + ".", " ".join(edited) + "."
    marked = [(left[a:b], right[c:d]) for one in found(left, right) for a, b in one.left for c, d in one.right]
    assert any(tokens[place] in a and edited[place] in b for a, b in marked), (left, right, marked)


@given(tokens=sentences(), data=st.data())
def test_a_negation_more_is_found(tokens: list[str], data: st.DataObject) -> None:
    tokens = [token for token in tokens if token != "not"] + ["garden"]
    place = data.draw(st.integers(1, len(tokens) - 1))
    negated = [*tokens[:place], data.draw(st.sampled_from(["not", "never", "n't"])), *tokens[place:]]
    (conflict,) = found(" ".join(tokens), " ".join(negated))
    assert conflict.kind == "negation"
    assert conflict.left == ()
    assert [" ".join(negated)[a:b] for a, b in conflict.right] == [negated[place]]


@given(tokens=sentences(), names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True), data=st.data())
def test_another_name_in_the_same_place_is_found(tokens: list[str], names: list[str], data: st.DataObject) -> None:
    tokens = [token for token in tokens if token not in NAMES] + ["garden", "river"]
    place = data.draw(st.integers(1, len(tokens) - 1))
    left, right = (" ".join([*tokens[:place], name, *tokens[place:]]) for name in names)
    (conflict,) = found(left, right)
    assert (conflict.kind, [left[a:b] for a, b in conflict.left]) == ("name", names[:1])


CONFLICTS = [
    ("number", "The term is twenty-four (24) months.", "The term is thirty-six (36) months.", ["24", "36"]),
    ("number", "Take 1,000 mg of it twice a day.", "Take 1,000 mg of it twice a week.", ["day", "week"]),
    ("number", "Take 5 mg of it.", "Take 5 g of it.", ["5 mg", "5 g"]),
    ("number", "I use Ubuntu 14.04 here.", "I use Ubuntu 16.04 here.", ["14.04", "16.04"]),
    ("number", "Between 5 and 10 people came.", "Between 5 and 5 people came.", ["10", "5"]),
    ("date", "It is due on 3 May 2020.", "It is due on May 4, 2020.", ["3 May 2020", "May 4, 2020"]),
    ("date", "We meet at 5 pm.", "We meet at 18:00.", ["5 pm", "18:00"]),
    ("date", "The shop is closed on Monday.", "The shop is closed on Tuesday.", ["Monday", "Tuesday"]),
    ("name", "He was born in New York.", "He was born in Los Angeles.", ["New York", "Los Angeles"]),
    ("name", "Germany won the match.", "Brazil won the match.", ["Germany", "Brazil"]),
    ("negation", "The defendant was found guilty.", "The defendant was found not guilty.", ["not"]),
    ("negation", "I can install the driver.", "I can't install the driver.", ["can't"]),
    ("negation", "He is no longer president.", "He is president.", ["no"]),
    ("antonym", "The tumour was benign.", "The tumour was malignant.", ["benign", "malignant"]),
    ("antonym", "Prices rose in May.", "Prices fell in May.", ["rose", "fell"]),
    ("antonym", "The drug is safe for adults.", "The drug is unsafe for adults.", ["safe", "unsafe"]),
    ("number", "He was the first man there.", "He was the second man there.", ["first", "second"]),
    ("number", "At least 5 people came.", "At most 5 people came.", ["At least 5", "At most 5"]),
    ("number", "Take more than 5 of it.", "Take no more than 5 of it.", ["more than 5", "no more than 5"]),
    ("number", "It is 20 degrees Celsius now.", "It is 90 degrees Fahrenheit now.", ["20 degrees", "90 degrees"]),
    ("number", "It is 20 degrees now.", "It is 68 degrees now.", ["20 degrees", "68 degrees"]),
    ("number", "It takes 1 hour 30 minutes.", "It takes 1 hour 40 minutes.", ["30 minutes", "40 minutes"]),
    ("number", "They march 20 miles a day.", "They march 30 miles a day.", ["20 miles", "30 miles"]),
    ("number", "They march 2000 miles a year.", "They march 3000 miles a year.", ["2000 miles", "3000 miles"]),
    ("number", "It weighs 5 pounds in all.", "It weighs 5 kg in all.", ["5 pounds", "5 kg"]),
    ("number", "Two-thirds agreed to it.", "70% agreed to it.", ["Two-thirds", "70%"]),
    ("antonym", "The first of them left.", "The last of them left.", ["first", "last"]),
    ("antonym", "It was set in late-1960s London.", "It was set in early-1960s London.", ["late", "early"]),
    ("negation", "It was not 5 people.", "It was 5 people.", ["not"]),
    ("role", "Alice beat Bob.", "Bob beat Alice.", ["Alice", "Bob"]),
    ("role", "He flew from Paris to Rome.", "He flew from Rome to Paris.", ["Paris", "Rome"]),
    ("role", "The Seller shall pay the Buyer at once.", "The Buyer shall pay the Seller at once.", ["Seller", "Buyer"]),
    ("role", "5 cats and 3 dogs slept.", "3 cats and 5 dogs slept.", ["5", "3"]),
]
AGREEMENTS = [
    ("The term is twenty-four (24) months.", "The term is two years."),
    ("Pay within thirty (30) days.", "Pay within 30 days."),
    ("Take 1,000 mg of it twice a day.", "Take 1 g of it two times per day."),
    ("It is due on 3 May 2020.", "It is due on 2020-05-03."),
    ("It is due on 03/05/2020.", "It is due on 3 May 2020."),
    ("We meet at 5 pm.", "We meet at 17:00."),
    ("COVID-19 spread quickly.", "COVID spread quickly."),
    ("He bought 3 pens and 2 books.", "He bought 3 pens."),
    ("Obama visited Berlin.", "Barack Obama visited Berlin."),
    ("The U.S. signed the treaty.", "The United States signed the treaty."),
    ("He works for the FBI.", "He works for the Federal Bureau of Investigation."),
    ("They like Chinese food.", "They like food from China."),
    ("Big dogs bark.", "Large dogs bark."),
    ("It is not uncommon to fail.", "It is common to fail."),
    ("The phone is not cheap.", "The phone is expensive."),
    ("He not only sings but also dances.", "He sings and dances."),
    ("No one was hurt.", "Nobody was hurt."),
    ("Is it possible to do this?", "Isn't it possible to do this?"),
    ("No more than 5 people may enter.", "At most 5 people may enter."),
    ("No more than 5 guests may come.", "Up to 5 guests may come."),
    ("It is 20 degrees Celsius now.", "It is 68 degrees Fahrenheit now."),
    ("It takes 90 minutes to go.", "It takes 1 hour 30 minutes to go."),
    ("It takes 2 hours and 15 minutes.", "It takes 135 minutes."),
    ("It takes an hour and a half.", "It takes 90 minutes."),
    ("She is 5 feet 6 inches tall.", "She is 168 cm tall."),
    ("It weighs 5 pounds in all.", "It weighs 5 lbs in all."),
    ("It weighs 10 pounds in all.", "It weighs 4.5 kg in all."),
    ("It costs 5 pounds in all.", "It costs £5 in all."),
    ("Two-thirds agreed to it.", "67% agreed to it."),
    ("They march 20 miles a day.", "They march 32 km a day."),
    ("Alice beat Bob.", "Bob was beaten by Alice."),
    ("Alice and Bob left the house.", "Bob and Alice left the house."),
    ("They sell apples, pears and plums.", "They sell plums, pears and apples."),
    ("When it rained, Alice left.", "Alice left when it rained."),
    ("She was born in 1923 in Boston.", "She was born in Boston in 1923."),
]


@pytest.mark.parametrize(("kind", "left", "right", "marked"), CONFLICTS)
def test_what_contradicts_is_marked(kind: str, left: str, right: str, marked: list[str]) -> None:
    own = found(left, right)
    assert {one.kind for one in own} == {kind}
    texts = [left[a:b] for one in own for a, b in one.left] + [right[a:b] for one in own for a, b in one.right]
    assert all(any(word in text for text in texts) for word in marked), texts


@pytest.mark.parametrize(("left", "right"), AGREEMENTS)
def test_what_says_the_same_in_other_words_is_not(left: str, right: str) -> None:
    assert found(left, right) == ()


def test_the_default_word_aligner_leads_to_the_same_conflicts() -> None:
    passive = "Alice was beaten by Bob.", "Alice beat Bob."  # the same order of names, but other roles
    pairs = [(left, right) for _, left, right, _ in CONFLICTS] + AGREEMENTS + [passive]
    alignments = word_aligner().align_many(pairs, links_only=True)
    by_model = [
        conflicts(*pair, [(link.left, link.right) for link in why.links])
        for pair, why in zip(pairs, alignments, strict=True)
    ]
    kinds = [{one.kind for one in own} for own in by_model]
    assert kinds == [*({kind} for kind, *_ in CONFLICTS), *(set() for _ in AGREEMENTS), {"role"}]


@given(
    data=st.data(),
    verbs=st.sampled_from(
        [
            ("accept accepts accepted accepting", "reject rejects rejected rejecting"),
            ("increase increases increased increasing", "decrease decreases decreased decreasing"),
            ("rise rises rose risen rising", "fall falls fell fallen falling"),
            ("hot hotter hottest", "cold colder coldest"),
            ("victory victories", "defeat defeats"),
            ("connect connected connecting", "disconnect disconnected disconnecting"),
        ]
    ),
)
def test_antonyms_are_found_in_every_inflection_and_case(verbs: tuple[str, str], data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(forms.split())) for forms in verbs)
    assert are_antonyms(one, other)
    assert are_antonyms(other.upper(), one.capitalize())
    assert not are_antonyms(one, one)


@pytest.mark.parametrize("pair", str.split("safe:unsafe cooked:uncooked patient:impatient regular:irregular tie:untie"))
def test_words_that_wordnet_says_a_prefix_negates_are_antonyms(pair: str) -> None:
    assert are_antonyms(*pair.split(":"))


@pytest.mark.parametrize(
    "pair",
    str.split(
        """close:disclose stall:install voice:invoice ease:disease tribute:distribute less:unless vent:invent
        sight:insight grate:ingrate cover:discover appoint:disappoint form:inform earth:unearth play:display"""
    ),
)
def test_a_prefix_alone_makes_no_antonyms(pair: str) -> None:
    one, other = pair.split(":")
    assert not are_antonyms(one, other)
    assert not are_antonyms(one + "s", other + "s")


@given(word=st.sampled_from(PLAIN), prefix=st.sampled_from(str.split("un in im il ir dis non anti")))
def test_no_prefix_makes_an_antonym_of_a_word_that_is_not_listed(word: str, prefix: str) -> None:
    assert not are_antonyms(word, prefix + word)


@given(
    amounts=st.sampled_from(
        [
            ("no more than 5", "up to 5", "at most 5", "not more than five"),
            ("20 degrees Celsius", "68 degrees Fahrenheit", "20 °C", "68 °F"),
            ("90 minutes", "1 hour 30 minutes", "one and a half hours", "an hour and a half"),
            ("at least 3", "no fewer than 3", "not less than three"),
            ("the first", "the 1st"),
        ]
    ),
    tokens=sentences(),
    data=st.data(),
)
def test_amounts_that_agree_are_judged_by_no_other_rule(
    amounts: tuple[str, ...], tokens: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(tokens)))
    left, right = (
        " ".join(["They", *tokens[:place], data.draw(st.sampled_from(amounts)), "windows", *tokens[place:]])
        for _ in "ab"
    )
    assert found(left, right) == ()


@pytest.mark.parametrize(
    ("text", "asks"), [("Isn't Bob here?", 1), ("Isn't Bob here.", 0), ("Do you not?\nDo not you\ngo?", 0)]
)
def test_a_negator_denies_nothing_where_a_question_mark_follows_on_its_line(text: str, asks: int) -> None:
    assert len(idioms(text)) == asks


@pytest.mark.parametrize("text", ["isn't " + 200_000 * "?" + "x", 20_000 * "do not you ", 200_000 * " " + "no"])
def test_idioms_are_looked_for_in_long_texts(text: str) -> None:
    assert idioms(text) == []


def test_the_file_of_antonyms_is_small_sorted_and_has_its_notice() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in re.sub(r"\s+# ?", " ", text)
    lines = [line for line in text.splitlines() if not line.startswith(("#", "="))]
    assert lines == sorted(lines, key=lambda line: line.split()[0])
    assert all(lemma < other for lemma, *others in map(str.split, lines) for other in others)


@pytest.mark.parametrize("source", ["3-5 days", "3 – 5 days"])
def test_an_end_of_a_range_is_shown_with_the_range(source: str) -> None:
    left, right = "Delivery takes 9 days.", f"Delivery takes {source}."
    [conflict] = found(left, right)
    assert [left[start:end] for start, end in conflict.left] == ["9 days"]
    assert [right[start:end] for start, end in conflict.right] == [source]
