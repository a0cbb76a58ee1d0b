"""Short statements made from templates: instructions, clauses of contracts, notices, posts, results."""

import random
import re
from collections.abc import Callable

from experiments.edits.lexicon import MONTHS, WEEKDAYS, Lexicon, part_of
from experiments.edits.text import listed, number_in_words, upper_start

_TEMPLATES = """
Take {n} mg of {drug} {often}.
Take {n} mg.
Take {small} tablets of {drug} {often} with food.
The recommended dose of {drug} is {n} mg per day.
Do not take more than {n} mg of {drug} in 24 hours.
Give the patient {n} ml of {drug} every {small} hours.
The patient received {n} mg of {drug} on {weekday}.
{drug} must be stored below {n} degrees.
Children under {small} must not take {drug}.
Payment is due within {n} days of the invoice.
The tenant shall pay a deposit of ${money}.
The notice period is {small} months.
Either party may terminate this agreement with {n} days' notice.
The warranty covers all parts for {small} years.
The supplier shall deliver {n} units by {month} {day}.
{organisation} shall pay {surname} ${money} per month.
The contract ends on {day} {month} {year}.
Interest of {n}% per year is charged on late payments.
This agreement is governed by the laws of {country}.
The licence fee is ${money} per year.
The meeting is on {weekday} at {small} pm.
{first_name} will arrive in {city} on {weekday}.
The train from {city} to {other_city} leaves at {small} am.
The shop opens at {small} am and closes at {small} pm.
Flights to {city} cost about ${money}.
My laptop has {n} GB of memory and runs {organisation}.
I upgraded to version {n} and it works now.
The update fixes the bug in {organisation}.
The download takes {small} minutes on my machine.
You can install it without root access.
The server must be restarted after every update.
I have {small} monitors and only one of them works.
{organisation} reported a profit of ${money} million in {year}.
{surname} won the election in {country} with {n}% of the vote.
{first_name} {surname} was born in {city} in {year}.
Unemployment in {country} rose to {n}% in {month}.
Sales fell by {n}% in the {small_ordinal} quarter.
{country} beat {other_country} {small}-0 in {city}.
About {n} people were injured in the accident near {city}.
The company employs {n} people in {country}.
{surname} was appointed director of {organisation} in {year}.
We tested {n} samples, and {small} of them failed.
The temperature rose from {small} to {n} degrees.
The sample contained {n} g of salt per litre.
All participants were older than {n} years.
The house has {small} bedrooms and was built in {year}.
Add {n} g of sugar and bake for {n} minutes.
The bridge is {n} metres long.
The film lasts {n} minutes and was directed by {first_name} {surname}.
Please send the form to {first_name} {surname} by {weekday}.
Smoking is allowed in all rooms.
Pets are not allowed in the building.
Employees may work from home {often}.
Visitors must wear a badge at all times.
Dogs must be kept on a lead between {month} and {other_month}.
""".strip().splitlines()
_OFTEN = listed(
    "once a day, twice a day, three times a day, every morning, every evening, once a week, twice a week, every other "
    "day"
)


def statement(rng: random.Random, lexicon: Lexicon) -> str:
    """A statement of this part's templates, with this part's names."""
    template = rng.choice([template for template in _TEMPLATES if part_of(template) == lexicon.part])
    numbers: list[Callable[[], str]] = [
        lambda: str(rng.randint(2, 12)),
        lambda: str(5 * rng.randint(1, 40)),
        lambda: str(rng.randint(11, 999)),
        lambda: f"{100 * rng.randint(10, 90):,}",
    ]

    def value(match: re.Match[str]) -> str:
        slot = match.group(1)
        own = {
            "n": rng.choice(numbers)(),
            "small": number_in_words(rng.randint(2, 12)) if rng.random() < 0.5 else str(rng.randint(2, 12)),
            "money": f"{rng.choice((1, 10, 50, 100)) * rng.randint(2, 99):,}",
            "day": str(rng.randint(1, 28)),
            "year": str(rng.randint(1900, 2025)),
            "month": rng.choice(MONTHS),
            "weekday": rng.choice(WEEKDAYS),
            "often": rng.choice(_OFTEN),
            "ordinal": rng.choice(("first", "second", "third", "fourth")),
        }
        slot = slot.removeprefix("other_").removeprefix("small_")
        return own[slot] if slot in own else rng.choice(lexicon.names[slot.replace("_", " ")])

    return upper_start(re.sub(r"\{(\w+)\}", value, template))
