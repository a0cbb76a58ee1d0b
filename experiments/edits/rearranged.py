"""Made pairs of sentences whose parts change places: some still say the same, others contradict.

A network that has learned that exchanged roles contradict has to learn where an exchange says nothing: identities
("the winner is Maria"), clauses side by side, lists, "before" and "after", and a negated opposite.
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from experiments.edits.lexicon import Lexicon, part_of
from experiments.edits.text import listed, number_in_words, upper_start

MadePair: TypeAlias = tuple[str, str, bool]
"""Two sentences, and whether they contradict each other."""

_NAMED_ROLES = listed(
    "winner of the race, author of the report, chair of the committee, owner of the house, largest customer, main "
    "supplier, head of the department, best player of the team, editor of the journal, founder of the company, captain "
    "of the ship, director of the film, inventor of the device, new manager, first speaker, oldest member, current "
    "champion, previous owner, contact person, leader of the project, only witness, youngest candidate, designer of "
    "the bridge, buyer of the flat, second author, lead engineer"
)
_PLACE_ROLES = listed(
    "capital of the region, largest city, next stop, venue of the conference, birthplace of the painter, seat of the "
    "court, first destination, nearest airport, home of the team, busiest port, place of delivery, oldest town"
)
_KIN = listed("father, mother, brother, sister, uncle, boss, teacher, neighbour, doctor, lawyer, landlord, successor")
_CAUSED = listed(
    "reason for the delay, cause of the fire, main problem, result of the test, biggest expense, first symptom, most "
    "common error, purpose of the visit, key ingredient, greatest risk, source of the noise, topic of the talk"
)
_CAUSES = listed(
    "a strike, a broken pipe, bad weather, the old wiring, a lack of staff, the rent, a high fever, a wrong password, "
    "an inspection, olive oil, a power failure, a loose screw, climate change, a missing file, heavy traffic, the tax"
)
_PERSONS_DO = listed(
    "lives in {city}, works in {city}, was born in {year}, pays {n} euros, works for {organisation}, cooked dinner, "
    "washed the dishes, won the first game, won the second game, came by train, came by bus, plays the piano, plays "
    "the violin, drives a red car, drives a blue car, arrived on Monday, arrived on Friday, studied law, studied "
    "medicine, drank tea, drank coffee, has two children, has no children, owns a dog, owns a cat, speaks French, "
    "speaks Polish, earns {n} euros, lost {n} pounds, scored {small} goals, chose the small room, chose the large "
    "room, left early, stayed until midnight, voted for the plan, voted against the plan, repaired the roof, painted "
    "the fence"
)
_THINGS = listed(
    "sales in {country}, exports, imports, rents in {city}, the price of oil, the price of gas, the first model, the "
    "second model, revenue, the number of visitors, wages, costs, demand in {country}, profits, the left engine, the "
    "right engine, the old version, the new version, the morning group, the evening group, the north wing"
)
_THINGS_DO = listed(
    "rose by {n}%, fell by {n}%, doubled, stayed the same, cost {n} euros, needed {n} watts, failed, passed the test, "
    "took {small} minutes, opened in {year}, broke records, met the target"
)
_EVENTS = listed(
    "he locked the door, she left the house, the bell rang, the guests arrived, the film began, they had dinner, the "
    "storm hit the coast, the bridge was closed, we signed the contract, the price was raised, the train departed, the "
    "patient woke up, the lights went out, the alarm started, it began to rain, the meeting ended, the team scored, he "
    "called his brother, she paid the bill, the parcel was delivered"
)
_LISTED = listed(
    "flour, eggs, milk, sugar, paper, glue, scissors, nails, wood, rope, apples, pears, plums, grapes, tea, coffee, "
    "juice, bread, cheese, rice, beans, wool, silk, cotton, iron, copper, zinc, salt, pepper, garlic"
)
_OPEN_LIST = listed("you need, the box contains, they sell, we ordered, the shop has, the recipe uses, she bought")
_QUALITIES = listed(
    "cheap, good, quiet, clean, small, cold, fast, loud, heavy, friendly, simple, safe, old, tired, hungry, expensive, "
    "slow, bright, warm, tall, thin, kind, funny, polite, light, narrow, dark, wet, short, clear"
)
_STATES = listed(
    "possible/impossible, legal/illegal, open/closed, allowed/forbidden, complete/incomplete, true/false, "
    "valid/invalid, safe/unsafe, available/unavailable, correct/incorrect, correct/wrong, locked/unlocked, "
    "visible/hidden, present/absent, mandatory/optional, alive/dead, permitted/prohibited, equal/different, "
    "lawful/unlawful, known/unknown, necessary/unnecessary, broken/intact"
)
_DONE = listed(
    "succeeded/succeed/failed, remembered/remember/forgot, accepted the offer/accept the offer/rejected the offer, "
    "won/win/lost, stayed/stay/left, agreed/agree/refused, passed the exam/pass the exam/failed the exam, kept the "
    "promise/keep the promise/broke the promise, attended the meeting/attend the meeting/missed the meeting, obeyed "
    "the rule/obey the rule/broke the rule, allowed it/allow it/forbade it, included the tax/include the tax/left out "
    "the tax"
)
_SUBJECTS = listed(
    "the shop, the form, the answer, the door, the road, the result, smoking, the ticket, the file, parking, the test, "
    "the list, the offer, the method, the entrance, cancelling, the claim, the seat, the device, the patient"
)
_DID_NOT = ("did not", "didn't")
JOINED = (", and ", ", while ", " while ", ", but ", "; ", " and ", ", whereas ")


def rearranged_pair(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """Two made sentences of which one is the other with its parts in other places, in either order."""
    ways = (_identity, _side_by_side, _list, _events, _denied_opposite)
    left, right, contradicts = rng.choices(ways, (3, 4, 2, 2, 2))[0](rng, lexicon)
    left, right = f"{upper_start(left)}.", f"{upper_start(right)}."
    return (right, left, contradicts) if rng.random() < 0.5 else (left, right, contradicts)


def _identity(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """ "The winner is Maria" and "Maria is the winner"; with another name, or with exchanged kin, they contradict."""
    be, contradicts = rng.choice(("is", "was")), rng.random() < 0.5
    kind = rng.choice(("person", "place", "kin", "cause"))
    if kind == "kin":
        a, b = rng.sample(lexicon.names["first name"], 2)
        kin = _one(_KIN, lexicon, rng)
        left = rng.choice((f"the {kin} of {a} {be} {b}", f"{a}'s {kin} {be} {b}"))
        first, second = (a, b) if contradicts else (b, a)
        return left, rng.choice((f"{first} {be} the {kin} of {second}", f"{first} {be} {second}'s {kin}")), contradicts
    if kind == "person":
        names = [
            f"{first} {last}" if rng.random() < 0.5 else rng.choice((first, last))
            for first, last in zip(
                rng.sample(lexicon.names["first name"], 2), rng.sample(lexicon.names["surname"], 2), strict=True
            )
        ]
        role = _one(_NAMED_ROLES, lexicon, rng)
    elif kind == "place":
        names, role = rng.sample(lexicon.names["city"], 2), _one(_PLACE_ROLES, lexicon, rng)
    else:
        names, role = rng.sample(_own(_CAUSES, lexicon), 2), _one(_CAUSED, lexicon, rng)
    article = "the" if " of " in role or kind == "cause" else rng.choice(("the", "our", "their"))
    return f"{article} {role} {be} {names[0]}", f"{names[contradicts]} {be} {article} {role}", contradicts


def _side_by_side(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """Two clauses in the other order say the same; with exchanged predicates they contradict."""
    if rng.random() < 0.5:
        subjects = (
            rng.sample(lexicon.names["first name"], 2)
            if rng.random() < 0.6
            else [f"the {agent}" for agent in rng.sample(lexicon.agents, 2)]
        )
        predicates = rng.sample(_own(_PERSONS_DO, lexicon), 2)
    else:
        subjects, predicates = rng.sample(_own(_THINGS, lexicon), 2), rng.sample(_own(_THINGS_DO, lexicon), 2)
    one, other = (_filled(text, rng, lexicon) for text in subjects)
    does, other_does = (_filled(text, rng, lexicon) for text in predicates)
    joined, other_joined = rng.choice(JOINED), rng.choice(JOINED)
    if rng.random() < 0.5:
        other_joined = joined
    left, contradicts = f"{one} {does}{joined}{other} {other_does}", rng.random() < 0.5
    if contradicts:
        does, other_does = other_does, does
    clauses = [f"{one} {does}", f"{other} {other_does}"]
    if not contradicts or rng.random() < 0.4:
        clauses.reverse()
    return left, other_joined.join(clauses), contradicts


def _list(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """A list in another order says the same."""
    kind = rng.choice(("things", "names", "qualities"))
    if kind == "qualities":
        things, form = (
            rng.sample(_own(_QUALITIES, lexicon), 2),
            f"{_one(_SUBJECTS, lexicon, rng)} {rng.choice(_BE)} {{}}",
        )
    elif kind == "names":
        names = lexicon.names[rng.choice(("first name", "country", "city", "organisation"))]
        things, form = rng.sample(names, rng.choice((2, 3, 3, 4))), "{} " + _one(_PLURAL, lexicon, rng)
    else:
        things = rng.sample(_own(_LISTED, lexicon), rng.choice((2, 3, 3, 4)))
        form = f"{_one(_OPEN_LIST, lexicon, rng)} {{}}"
    first, second = (f"{', '.join(own[:-1])} and {own[-1]}" for own in (things, _shuffled(things, rng)))
    return form.format(first), form.format(second), False


_BE = ("is", "was", "seems", "looked")
_PLURAL = listed(
    "signed the treaty, took part, are on the list, were visited, agreed to the plan, opened new offices, are members, "
    "sent an answer, were mentioned in the report"
)


def _shuffled(things: Sequence[str], rng: random.Random) -> list[str]:
    while (order := rng.sample(things, len(things))) == [*things]:
        pass
    return order


def _events(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """ "X before Y" is "Y after X", in either order of the clauses; with the other word they contradict."""
    x, y = rng.sample(_own(_EVENTS, lexicon), 2)
    early = (f"{x} before {y}", f"before {y}, {x}", f"{y} after {x}", f"after {x}, {y}")
    late = (f"{x} after {y}", f"after {y}, {x}", f"{y} before {x}", f"before {x}, {y}")
    left = rng.choice(early)
    contradicts = rng.random() < 0.5
    return left, rng.choice(late if contradicts else [text for text in early if text != left]), contradicts


def _denied_opposite(rng: random.Random, lexicon: Lexicon) -> MadePair:
    """ "Not possible" is "impossible"; "possible" contradicts both."""
    contradicts = rng.random() < 0.5
    if rng.random() < 0.5:
        subject, be = _one(_SUBJECTS, lexicon, rng), rng.choice(("is", "was"))
        yes, no = _one(_STATES, lexicon, rng).split("/")
        if rng.random() < 0.3:
            yes, no = no, yes
        denied = rng.choice((f"{subject} {be} not {yes}", f"{subject} {be}n't {yes}"))
        return denied, f"{subject} {be} {yes if contradicts else no}", contradicts
    subject = rng.choice((*lexicon.names["first name"], "he", "she", "the team", "the applicant"))
    past, base, opposite = _one(_DONE, lexicon, rng).split("/")
    denied = f"{subject} {rng.choice(_DID_NOT)} {base}"
    return denied, f"{subject} {past if contradicts else opposite}", contradicts


def _own(entries: Sequence[str], lexicon: Lexicon) -> list[str]:
    """Those of a list that belong to the lexicon's part."""
    return [entry for entry in entries if part_of(entry) == lexicon.part]


def _one(entries: Sequence[str], lexicon: Lexicon, rng: random.Random) -> str:
    return rng.choice(_own(entries, lexicon))


def _filled(text: str, rng: random.Random, lexicon: Lexicon) -> str:
    values: dict[str, Callable[[], str]] = {
        "n": lambda: str(rng.randint(2, 90)),
        "small": lambda: number_in_words(rng.randint(2, 9)),
        "year": lambda: str(rng.randint(1900, 2020)),
    }

    def value(match: re.Match[str]) -> str:
        slot = match.group(1)
        return values[slot]() if slot in values else rng.choice(lexicon.names[slot])

    return re.sub(r"\{(\w+)\}", value, text)
