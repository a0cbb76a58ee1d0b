"""Words of opposite meaning, by WordNet and by short lists of what WordNet leaves out."""

import re
from functools import cache, lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("antonyms.txt")

# Prepositions, pronouns and other words that WordNet does not have, and pairs that it does not call antonyms.
_MORE_PAIRS = """
before after|above below|over under|with without|inside outside|into out|upon off|always never|all none|all some
everyone nobody|everybody nobody|everything nothing|everywhere nowhere|both neither|more less|more fewer|most least
most fewest|many few|much little|often rarely|often seldom|frequently rarely|sometimes never|must may|shall may
mandatory optional|allow forbid|allow prohibit|permit prohibit|allow deny|approve reject|approve deny|grant deny
accept decline|require prohibit|add remove|arrive depart|come go|install uninstall|happy sad|profit loss
worsen improve|sit stand|begin stop|start finish|start end|start stop|seller buyer|vendor purchaser|tenant landlord
lessee lessor|employer employee|lender borrower|debtor creditor|win lose|expand shrink|rise drop|rise decline
rise fall|increase reduce|increase drop|increase decline|raise cut|gain lose|grow shrink|success failure
victory defeat|ally enemy|support oppose|support opposition|confirm deny|include omit|include exclude|keep discard
outdoor indoor|awake sleeping|alone together|day night|morning evening|today yesterday|today tomorrow|summer winter
father mother|son daughter|brother sister|boy girl|man woman|men women|he she|him her|his her|husband wife
king queen|uncle aunt|male female|east west|north south|northern southern|eastern western|left right|top bottom
front back|first last|near far|early late|former latter|next previous|ancient modern|old new|old young
cheap expensive|easy hard|easy difficult|rich poor|fast slow|quick slow|big small|large small|large little|huge tiny
long short|tall short|high low|deep shallow|wide narrow|loud quiet|bright dark|light dark|light heavy|clean dirty
wet dry|hot cold|warm cool|full empty|safe dangerous|strong weak|good bad|good poor|well badly|better worse
best worst|black white|dead alive|die live|kill save|love hate|like dislike|laugh cry|smile frown|push pull
throw catch|attack defend|ask answer|buy sell|borrow lend|send receive|teach learn|enter exit|enter leave
remember forget|build destroy|create destroy|open close|open shut|locked open|lock unlock|connect disconnect
enable disable|appear disappear|agree disagree|true false|right wrong|possible impossible|positive negative
benign malignant|acute chronic|oral intravenous|elevated reduced|public private|legal illegal|guilty innocent
import export|upload download|online offline|encrypt decrypt|compress decompress|maximum minimum|major minor
majority minority|hire fire|employ dismiss|find lose|break fix|simple complicated|simple complex|succeed fail
pass fail|asleep awake|clothed naked|approved unapproved|subscribe unsubscribe|encrypted unencrypted|zip unzip
plug unplug|refundable nonrefundable
""".replace("\n", "|")
_SUFFIXES = [
    (r"ies$", "y"), (r"es$", ""), (r"s$", ""), (r"ied$", "y"), (r"ed$", ""), (r"ed$", "e"), (r"ing$", ""),
    (r"ing$", "e"), (r"([^aeiou])\1(?:ed|ing|er|est)$", r"\1"), (r"ier$", "y"), (r"iest$", "y"), (r"er$", ""),
    (r"er$", "e"), (r"est$", ""), (r"est$", "e"),
]  # fmt: skip
_MAX_CACHED_WORDS = 100_000
_LONGEST_CACHED = 40  # characters: longer words are rare, and a cache of them would be large
_COMPILED_SUFFIXES = [(re.compile(pattern), ending) for pattern, ending in _SUFFIXES]


@cache
def _tables() -> tuple[frozenset[tuple[str, str]], dict[str, list[str]]]:
    """The pairs, in the order of the alphabet, and the lemmas of irregular forms."""
    pairs, irregular = set[tuple[str, str]](), dict[str, list[str]]()
    for line in FILE.read_text(encoding="utf-8").splitlines():
        lemma, *others = line.split()
        if lemma == "=":
            irregular.setdefault(others[0], []).append(others[1])
        elif lemma != "#":
            pairs |= {(lemma, other) for other in others}
    for pair in filter(str.strip, _MORE_PAIRS.split("|")):
        a, b = pair.split()
        pairs.add((min(a, b), max(a, b)))
    return frozenset(pairs), irregular


def lemmas(word: str) -> frozenset[str]:
    """The word in lower case, and what it may be an inflected form of."""
    return (_lemmas if len(word) <= _LONGEST_CACHED else _lemmas.__wrapped__)(word.lower())


@lru_cache(_MAX_CACHED_WORDS)
def _lemmas(word: str) -> frozenset[str]:
    regular = (pattern.sub(ending, word) for pattern, ending in _COMPILED_SUFFIXES if pattern.search(word))
    return frozenset({word, *_tables()[1].get(word, []), *(regular if len(word) > 3 else ())})


def are_antonyms(one: str, other: str) -> bool:
    """Whether two words have opposite meanings in some sense of each, whatever their inflection.

    >>> are_antonyms("rises", "fell"), are_antonyms("approved", "unapproved"), are_antonyms("rise", "increase")
    (True, True, False)
    """
    if one.lower() == other.lower():
        return False
    pairs = _tables()[0]
    return any((min(a, b), max(a, b)) in pairs for a in lemmas(one) for b in lemmas(other))
