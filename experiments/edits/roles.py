"""Who does what to whom: subject and object that change places, active and passive, converses; made sentences."""

import random
import re
from dataclasses import dataclass

from experiments.edits.lexicon import Lexicon
from experiments.edits.text import listed, lower_start, upper_start
from experiments.edits.wordnet import WordNet

_DETERMINERS = listed("a an the two three four several some his her their another one many its our my")
_AUXILIARIES = {"is", "are", "was", "were"}
_PREPOSITIONS = ["at", "to", "after", "behind", "over", "onto", "under", "into", "against", "for", "toward", "towards"]
_ENDS = {
    *listed(
        "in on at near while with by during through and to from for of as outside inside before after because when "
        "that who which"
    ),
    *listed("is are was were has have had or but under over behind beside along down up across"),
}
_SYMMETRIC = listed(
    "meet marry resemble equal match hug kiss embrace touch face join fight accompany contain include become remain "
    "cost"
)
_PLURAL_DETERMINERS = {"two", "three", "four", "several", "some", "many"}
_NAMES = re.compile(
    r"\b(?!The |A |An |In |It |He |She |They |This |That |There |We |I |On |At |As |If |When |After |For )"
    r"[A-Z][\w'-]*(?: (?:of |de |van )?[A-Z][\w'-]*)*"
)
_FROM_TO = re.compile(r"\bfrom ((?:the )?[\w-]+(?: [A-Z][\w-]+)*) to ((?:the )?[\w-]+(?: [A-Z][\w-]+)*)")
_THAN = re.compile(
    r"^([^,;]{2,60}?) ((?:is|are|was|were|has|have|had|costs?|weighs?|earns?|ran|runs?|scored) "
    r"(?:\w+ )?(?:\w+er|(?:more|less|fewer)(?: \w+)?) than) ([^,;.]{2,60})"
)
_ORDER = re.compile(
    r"^([^,;]{8,90}?),? (before|after) ((?:the|he|she|it|they|we|a|an|his|her|their) [^,;.]{5,90}?)(\s?[.!]?)$"
)


@dataclass(frozen=True)
class Clause:
    """A sentence cut around a verb and the two noun phrases beside it."""

    subject: str
    verb: tuple[str, ...]
    """The auxiliary, if there is one, and the verb."""
    preposition: str
    object: str
    rest: str

    @property
    def plural(self) -> tuple[bool, bool]:
        return _plural(self.subject), _plural(self.object)

    def text(self, subject: str, verb: str, object_: str) -> str:
        return upper_start(" ".join(filter(None, (subject, verb, self.preposition, object_)))) + self.rest


def _plural(phrase: str) -> bool:
    return phrase.split(maxsplit=1)[0].lower() in _PLURAL_DETERMINERS or (
        phrase.endswith("s") and not phrase.endswith("ss")
    )


def clause(sentence: str, wordnet: WordNet) -> Clause | None:
    """The first clause, where the sentence starts with a noun phrase, a verb and another noun phrase; or None."""
    words = [(match.group(), match.end()) for match in re.finditer(r"[\w'-]+|[^\w\s]", sentence)]
    subject = _noun_phrase([word for word, _ in words], 0, wordnet)
    start = subject
    if not subject or start >= len(words) - 2:
        return None
    verb: tuple[str, ...]
    if words[start][0] in _AUXILIARIES:
        verb, base = (words[start][0], words[start + 1][0]), wordnet.verbs.get(words[start + 1][0])
        if not words[start + 1][0].endswith("ing"):
            return None
        start += 2
    else:
        verb, base = (words[start][0],), wordnet.verbs.get(words[start][0])
        if base == words[start][0] or words[start][0].endswith("ing"):
            return None
        start += 1
    if base is None or base in _SYMMETRIC or start >= len(words):
        return None
    preposition = words[start][0] if words[start][0] in _PREPOSITIONS else ""
    start += bool(preposition)
    end = _noun_phrase([word for word, _ in words], start, wordnet)
    if (
        not end
        or (end < len(words) and words[end][0] in ("and", "of", "or", "'", "-", "'s"))
        or "'" in words[end - 1][0]
    ):
        return None
    between = [word for word, _ in words[start:end]]
    return Clause(
        lower_start(sentence[: words[subject - 1][1]]),
        verb,
        preposition,
        " ".join(between),
        sentence[words[end - 1][1] :],
    )


def _noun_phrase(words: list[str], start: int, wordnet: WordNet) -> int:
    """Where a noun phrase that starts here ends; 0 where none does: a determiner and up to three words."""
    if start >= len(words) or words[start].lower() not in _DETERMINERS:
        return 0
    end = start + 1
    while (
        end < len(words) and words[end].replace("'", "").isalpha() and words[end].islower() and words[end] not in _ENDS
    ):
        if words[end] in wordnet.verbs and end > start + 1:
            break
        end += 1
    return end if start + 2 <= end <= start + 4 else 0


def role_swap(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Two participants change places: subject and object, two names, from and to, both sides of a comparison."""
    ways = [_swapped_clause, _swapped_names, _swapped_ends]
    rng.shuffle(ways)
    return next(filter(None, (way(sentence, rng, lexicon) for way in ways)), None)


def _swapped_clause(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    del rng
    parts = clause(sentence, lexicon.wordnet)
    if parts is None or parts.plural[0] != parts.plural[1] or parts.subject.lower() == parts.object.lower():
        return None
    return parts.text(parts.object, " ".join(parts.verb), parts.subject)


def _swapped_names(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    del lexicon
    names = list(_NAMES.finditer(sentence))
    pairs = [(a, b) for a in names for b in names if a.end() < b.start() and a.group() != b.group()]
    pairs = [(a, b) for a, b in pairs if not _side_by_side(sentence[a.end() : b.start()])]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    between = sentence[a.end() : b.start()]
    return f"{sentence[: a.start()]}{b.group()}{between}{a.group()}{sentence[b.end() :]}"


def _side_by_side(between: str) -> bool:
    """Whether the order of two names does not matter: "X and Y", "X, Y", "X met Y", "X with Y", "X is near Y"."""
    words = re.findall(r"\w+", between.lower())
    if {*words} & {"next", "near", "close", "beside", "between", "met", "married"}:
        return True
    return len(words) < 1 or words[0] in ("and", "or") or words[-1] in ("and", "or", "with")


def _swapped_ends(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    del rng, lexicon
    if (match := _FROM_TO.search(sentence)) and match.group(1).lower() != match.group(2).lower():
        return f"{sentence[: match.start()]}from {match.group(2)} to {match.group(1)}{sentence[match.end() :]}"
    if match := _THAN.match(sentence):
        left, middle, right = match.groups()
        return f"{upper_start(right)} {middle} {lower_start(left)}{sentence[match.end() :]}"
    if match := _ORDER.match(sentence):
        left, middle, right, end = match.groups()
        return f"{upper_start(right)} {middle} {lower_start(left)}{end}"
    return None


def passive(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """The same said the other way round: "A man is riding a horse" becomes "A horse is being ridden by a man"."""
    del rng
    parts = clause(sentence, lexicon.wordnet)
    if parts is None or parts.preposition:
        return None
    form = parts.verb[-1]
    participle = lexicon.wordnet.participles.get(lexicon.wordnet.verbs[form])
    if participle is None:
        return None
    plural = parts.plural[1]
    if len(parts.verb) == 2:
        now = parts.verb[0] in ("is", "are")
        auxiliary = (("are" if plural else "is") if now else ("were" if plural else "was")) + " being"
    else:
        auxiliary = ("are" if plural else "is") if form.endswith("s") else ("were" if plural else "was")
    return parts.text(parts.object, f"{auxiliary} {participle} by", parts.subject)


def made_pair(rng: random.Random, lexicon: Lexicon) -> tuple[str, str, bool]:
    """Two made sentences about the same two participants, and whether the second swaps their roles."""
    swapped = rng.random() < 0.5
    way = rng.choices((_event_pair, _converse_pair, _comparison_pair, _transfer_pair), (5, 2, 2, 2))[0]
    left, right = way(rng, lexicon, swapped)
    adjunct = f" {rng.choice(lexicon.adjuncts)}" if rng.random() < 0.5 else ""
    left, right = f"{left}{adjunct}.", f"{right}{adjunct}."
    return (right, left, swapped) if rng.random() < 0.5 else (left, right, swapped)


def _participants(rng: random.Random, lexicon: Lexicon) -> tuple[str, str]:
    if rng.random() < 0.4:
        kind = rng.choice(("first name", "surname", "organisation", "country"))
        first, second = rng.sample(lexicon.names[kind], 2)
        return first, second
    first, second = rng.sample(lexicon.agents, 2)
    return (f"the {first}", f"the {second}") if rng.random() < 0.7 else (_with_article(first), _with_article(second))


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _event_pair(rng: random.Random, lexicon: Lexicon, swapped: bool) -> tuple[str, str]:
    a, b = _participants(rng, lexicon)
    base, past, participle = rng.choice(lexicon.events)
    tense = rng.choice(("past", "will", "has", "may"))

    def said(way: str, a: str, b: str) -> str:
        active = {"past": past, "will": f"will {base}", "has": f"has {participle}", "may": f"may {base}"}[tense]
        be = {"past": "was", "will": "will be", "has": "has been", "may": "may be"}[tense]
        ways = {
            "active": f"{a} {active} {b}",
            "passive": f"{b} {be} {participle} by {a}",
            "cleft": f"it {'was' if tense == 'past' else 'is'} {a} who {active} {b}",
        }
        return upper_start(ways[way])

    first, second = rng.choice(
        (
            ("active", "active"),
            ("active", "passive"),
            ("passive", "passive"),
            ("active", "cleft"),
            ("passive", "active"),
        )
    )
    if not swapped and first == second:
        second = "passive" if first == "active" else "active"
    return said(first, a, b), said(second, b, a) if swapped else said(second, a, b)


def _converse_pair(rng: random.Random, lexicon: Lexicon, swapped: bool) -> tuple[str, str]:
    a, b = _participants(rng, lexicon)
    thing = rng.choice(
        ["the house", "a car", "the painting", "two tickets", "the old boat", "some land", "a used phone", "the shares"]
    )
    left = f"{a} sold {thing} to {b}"
    give, receive = rng.choice((("sold", "bought"), ("lent", "borrowed"), ("sent", "received"), ("sold", "purchased")))
    left, right = f"{a} {give} {thing} to {b}", f"{b} {receive} {thing} from {a}"
    if swapped:
        right = rng.choice((f"{a} {receive} {thing} from {b}", f"{b} {give} {thing} to {a}"))
    return upper_start(left), upper_start(right)


def _comparison_pair(rng: random.Random, lexicon: Lexicon, swapped: bool) -> tuple[str, str]:
    a, b = _participants(rng, lexicon)
    more, less = rng.choice(
        (
            ("taller", "shorter"),
            ("older", "younger"),
            ("faster", "slower"),
            ("larger", "smaller"),
            ("richer", "poorer"),
            ("stronger", "weaker"),
            ("more expensive", "cheaper"),
            ("higher", "lower"),
        )
    )
    be = rng.choice(("is", "was"))
    right = (
        rng.choice((f"{a} {be} {less} than {b}", f"{b} {be} {more} than {a}"))
        if swapped
        else f"{b} {be} {less} than {a}"
    )
    return upper_start(f"{a} {be} {more} than {b}"), upper_start(right)


def _transfer_pair(rng: random.Random, lexicon: Lexicon, swapped: bool) -> tuple[str, str]:
    a, b = _participants(rng, lexicon)
    thing = rng.choice(
        listed("a book, the keys, a letter, the report, some money, the invoice, a written notice, the medicine")
    )
    verb = rng.choice(("gave", "sent", "handed", "showed", "offered"))
    c, d = (b, a) if swapped else (a, b)
    first, second = f"{a} {verb} {b} {thing}", f"{c} {verb} {thing} to {d}"
    return upper_start(first), upper_start(second)
