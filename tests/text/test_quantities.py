"""Numbers, quantities and dates are read as values, however they are written."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.text.amounts import amounts, periods
from whymatch.text.dates import MONTHS, dates
from whymatch.text.quantities import quantities

ONES = str.split(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
TENS = str.split("- ten twenty thirty forty fifty sixty seventy eighty ninety")
BEFORE, AFTER = "They counted ", " things there."


def in_words(number: int, conjunction: str = " ") -> str:
    """A number below a billion in English words: the reference for the reader."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    power, name = next((p, n) for p, n in ((10**6, "million"), (1000, "thousand"), (100, "hundred")) if number >= p)
    head, rest = f"{in_words(number // power, conjunction)} {name}", number % power
    if not rest:
        return head
    return head + (conjunction if power == 100 else " ") + in_words(rest, conjunction)


def spellings(number: int) -> list[str]:
    grouped = f"{number:,}"
    words = [in_words(number), in_words(number, " and ")] if number > 1 else []
    return [str(number), grouped, grouped.replace(",", "\u202f"), f"{number}.0", *words]


def values(text: str) -> list[Fraction]:
    return [one.value for one in quantities(text)]


@given(number=st.integers(0, 10**9 - 1))
def test_every_way_to_write_a_number_gives_its_value(number: int) -> None:
    for spelling in spellings(number):
        assert values(BEFORE + spelling + AFTER) == [number], spelling


@given(whole=st.integers(0, 10**6), cents=st.integers(0, 99))
def test_decimals_are_exact_with_either_mark(whole: int, cents: int) -> None:
    expected = Fraction(100 * whole + cents, 100)
    english = f"{whole:,}.{cents:02}"
    continental = english.translate(str.maketrans(",.", ".,"))
    assert values(BEFORE + english + AFTER) == values(BEFORE + continental + AFTER) == [expected]


@given(number=st.integers(1, 99))
def test_ordinals_in_digits_and_words_agree(number: int) -> None:
    ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    irregular = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
    head, hyphen, last = in_words(number).rpartition("-")
    last = (
        irregular.get(last) or {"twelve": "twelfth"}.get(last) or last.removesuffix("y") + ("ieth" * last.endswith("y"))
    )
    last = last if last.endswith(("th", "st", "nd", "rd")) else last + "th"
    digits, words = (quantities(f"It was the {form} time.") for form in (f"{number}{ending}", head + hyphen + last))
    assert [one.value for one in digits] == [one.value for one in words] == [number]
    assert digits[0].unit == words[0].unit is not None


SAME = [
    ("1,000 mg", "1 g"),
    ("1 g", "one gram"),
    ("2 kg", "2000 grams"),
    ("500 ml", "half a litre"),
    ("1.5 m", "150 cm"),
    ("24 months", "two years"),
    ("90 minutes", "one and a half hours"),
    ("30 min", "half an hour"),
    ("2 weeks", "14 days"),
    ("5%", "5 percent"),
    ("5 %", "five per cent"),
    ("half", "50%"),
    ("$5", "5 dollars"),
    ("USD 5", "US$5"),
    ("€5", "5 euros"),
    ("5k", "5,000"),
    ("2.5 million", "2,500,000"),
    ("half a million", "500 000"),
    ("$3m", "3 million dollars"),
    ("three dozen", "36"),
    ("a hundred", "100"),
    ("¾", "three quarters"),
    ("1 1/2", "1.5"),
    ("2½", "two and a half"),
    ("5 miles", "8 km"),
    ("20 °C", "68 °F"),
    ("3 months", "90 days"),
    ("60 mph", "60 miles per hour"),
    ("the '90s", "the 1990s"),
    ("about 50", "48"),
    ("more than 2,000", "2,150"),
    ("28.7 billion", "28.71 billion"),
    ("twenty-four (24)", "24"),
    ("twice", "two times"),
    ("three point five", "3.5"),
    ("-5", "minus 5"),
    ("90 minutes", "1 hour 30 minutes"),
    ("2 hours and 15 minutes", "135 minutes"),
    ("2 years, 3 months", "27 months"),
    ("5 feet 6 inches", "168 cm"),
    ("two years and a half", "30 months"),
    ("3 dollars and 50 cents", "$3.50"),
    ("5 pounds", "5 lbs"),
    ("10 pounds", "4.5 kg"),
    ("5 pounds", "£5"),
    ("3 pounds 8 ounces", "56 ounces"),
    ("5 tons", "5 tonnes"),
    ("$5", "C$5"),
    ("20 degrees", "68 °F"),
    ("two-thirds", "67%"),
    ("two-thirds", "66.7%"),
    ("0.674", "67%"),
]
DIFFERENT = [
    ("5 mg", "50 mg"),
    ("5 mg", "5 g"),
    ("24 months", "36 months"),
    ("$5", "€5"),
    ("5%", "6%"),
    ("2.000", "2,000"),
    ("-5", "5"),
    ("100 yards", "100 metres"),
    ("5 million", "5 billion"),
    ("14.04", "16.04"),
    ("F-16", "F-18"),
    ("about 50", "80"),
    ("more than 2,000", "1,500"),
    ("first", "second"),
    ("1234", "1230"),
    ("1.2.3", "1.2.4"),
    ("5 mg", "5 ml"),
    ("H1N1", "H5N1"),
    ("1 hour 30 minutes", "1 hour 40 minutes"),
    ("10 pounds", "10 kg"),
    ("US$5", "C$5"),
    ("£5", "5 lbs"),
    ("20 degrees", "68 degrees"),
    ("two-thirds", "66%"),
    ("two-thirds", "66.6%"),
    ("at least 5", "at most 5"),
    ("more than 5 miles", "less than 8 km"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_quantity_agrees(one: str, other: str) -> None:
    left, right = quantities(f"It is {one} now."), quantities(f"It is {other} now.")
    assert left
    assert all(a.agrees(b) and b.agrees(a) for a in left for b in right)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_quantities_do_not(one: str, other: str) -> None:
    (left,), (right,) = quantities(f"It is {one} now."), quantities(f"It is {other} now.")
    assert not left.agrees(right)
    assert not right.agrees(left)


@pytest.mark.parametrize(
    "text",
    [
        "no one came",
        "the one that left",
        "They saw one another.",
        "1. Open the box.",
        "(2) Close it.",
        "hundreds of men",
    ],
)
def test_pronouns_and_counters_of_lists_are_no_numbers(text: str) -> None:
    assert quantities(text) == []


LENGTHS = [
    ("foot", "inch", 12),
    ("yard", "foot", 3),
    ("hour", "minute", 60),
    ("week", "day", 7),
    ("pound", "ounce", 16),
]


@given(
    first=st.integers(1, 50),
    names=st.sampled_from(LENGTHS),
    joined=st.sampled_from([" ", ", ", " and "]),
    data=st.data(),
)
def test_falling_units_add_up(first: int, names: tuple[str, str, int], joined: str, data: st.DataObject) -> None:
    large, small, ratio = names
    second = data.draw(st.integers(1, ratio - 1))
    (whole,) = quantities(
        f"It is {first} {large}s{joined}{second} {small}s now.".replace("foots", "feet").replace("inchs", "inches")
    )
    (plain,) = quantities(
        f"It is {ratio * first + second} {small}s now.".replace("foots", "feet").replace("inchs", "inches")
    )
    assert whole.agrees(plain)
    assert whole.value == plain.value


@pytest.mark.parametrize(
    "text",
    [
        "once a week, 2 hours",
        "5 km an hour and 30 minutes",
        "30 minutes, 2 hours",
        "2 hours daily",
        "2 hours 90 minutes",
        "5 miles and 30 minutes",
        "first 5 minutes",
    ],
)
def test_quantities_that_are_no_parts_of_each_other_stay_apart(text: str) -> None:
    assert len(quantities(text)) >= 2


@pytest.mark.parametrize(
    ("phrase", "covered"),
    [
        ("They took no more than 5 mg.", "no more than 5 mg"),
        ("It is about 2 hours and 15 minutes.", "about 2 hours and 15 minutes"),
        ("It was not about 5 mg.", "about 5 mg"),
        ("At least 5 came.", "At least 5"),
    ],
)
def test_a_phrase_is_an_amount_with_its_hedge(phrase: str, covered: str) -> None:
    (one,) = quantities(phrase)
    assert one.phrase is not None
    assert phrase[one.phrase.start : one.phrase.end] == covered


@pytest.mark.parametrize("unit", ["1", "1.", "may ", "one million ", "million ", "\n("])
def test_long_texts_of_any_kind_are_read(unit: str) -> None:
    text = "5 million x" + unit * (200_000 // len(unit)) + " twenty first x"
    assert all(0 <= start < end <= len(text) for start, end in (one.span for one in amounts(text)))


@given(text=st.text(alphabet="0123456789.,- /$%ab½ \n\u202f") | st.text())
def test_any_text_can_be_read_and_spans_lie_inside_it_in_order(text: str) -> None:
    for read in (quantities(text), dates(text)):
        spans = [one.span for one in read]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)


@given(year=st.integers(1000, 2100), month=st.integers(1, 12), day=st.integers(1, 28))
def test_every_way_to_write_a_date_agrees_and_another_day_does_not(year: int, month: int, day: int) -> None:
    name = MONTHS[month - 1].capitalize()

    def forms(day: int) -> list[str]:
        words = [
            f"{day} {name} {year}",
            f"{name} {day}, {year}",
            f"{day} {name[:3]}. {year}",
            f"the {day}th of {name}, {year}",
        ]
        return [*words, f"{year}-{month:02}-{day:02}", f"{day}/{month}/{year}", f"{month:02}/{day:02}/{year}"]

    read = [dates(f"It was on {form} there.") for form in forms(day)]
    assert all(len(one) == 1 for one in read)
    assert all(one[0].agrees(other[0]) for one in read for other in read)
    for form in forms(day % 28 + 1)[:5]:
        (other,) = dates(f"It was on {form} there.")
        assert not any(one[0].agrees(other) for one in read[:5])


@given(hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_a_time_of_day_agrees_with_the_24_hours_of_a_clock(hour: int, minute: int) -> None:
    half = "pm" if hour >= 12 else "am"
    (twelve,) = dates(f"at {hour % 12 or 12}:{minute:02} {half} sharp")
    (twenty_four,) = dates(f"at {hour:02}:{minute:02} sharp")
    (other,) = dates(f"at {hour % 12 or 12}:{(minute + 1) % 60:02} {half} sharp")
    assert twelve.agrees(twenty_four)
    assert not twelve.agrees(other)


@pytest.mark.parametrize(
    "text",
    [
        "You may go.",
        "They march on.",
        "May I ask?",
        "an august body",
        "They march 20 miles.",
        "They march 2000 miles.",
        "March 20 miles!",
        "They march 20 times.",
        "THEY MARCH 20 MEN",
        "Only 3 may enter.",
        "In 2020 5 may enter.",
    ],
)
def test_months_that_are_other_words_are_no_dates(text: str) -> None:
    assert dates(text) == []


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("on 3 May. He left.", "3 May"),
        ("on 3 March. He left.", "3 March"),
        ("on 3 Jan. 2020", "3 Jan. 2020"),
        ("on Jan. 3", "Jan. 3"),
        ("March 20 was cold.", "March 20"),
        ("on march 20 it was", "march 20"),
        ("the 5th of may", "5th of may"),
        ("since may 2020", "may 2020"),
    ],
)
def test_a_date_ends_with_its_month_and_takes_the_point_of_an_abbreviation_only(text: str, date: str) -> None:
    (one,) = dates(text)
    assert text[one.span.start : one.span.end] == date


@pytest.mark.parametrize(
    "text", ["four times a year", "every 3 months", "every quarter", "quarterly", "Once a quarter"]
)
def test_what_recurs_as_often_has_one_period(text: str) -> None:
    [(_, length)] = periods(f"{text}.")
    assert length == 3 * 2629746


@pytest.mark.parametrize(
    "text", ["It takes 3 months.", "A quarter of it is sold.", "He came four times.", "A week passed."]
)
def test_a_duration_or_a_share_is_no_period(text: str) -> None:
    assert periods(text) == []


@pytest.mark.parametrize(
    "text", ["bi-weekly", "semi-annually", "every second day", "every 5 to 7 days", "twice every quarter"]
)
def test_what_is_no_plain_period_is_read_as_none(text: str) -> None:
    assert periods(text) == []
