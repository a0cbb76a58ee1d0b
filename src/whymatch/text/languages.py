"""The language of a text, offline: by its script, and for the Latin script by its function words and its letters."""

import re
from collections import Counter, defaultdict
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

_SAMPLE = 20_000  # characters of a long text that are looked at
_ADDRESS = re.compile(r"(?:\b\w++://|www\.)\S+|(?<!\S)[^\s@]++@[^\s@]+\.\w+", re.ASCII)  # words of no language
_LATIN = re.compile(r"[a-z\u00aa\u00ba\u00df-\u024f\u1e00-\u1eff]+")  # in lower case
_SCRIPTS = {
    "Han": "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
    "Kana": "\u3040-\u30ff\uff66-\uff9f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Thai": "\u0e00-\u0e7f",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff",
    "Cyrillic": "\u0400-\u052f",
    "Devanagari": "\u0900-\u097f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "Armenian": "\u0530-\u058f",
    "Georgian": "\u10a0-\u10ff",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Telugu": "\u0c00-\u0c7f",
    "Burmese": "\u1000-\u109f",
    "Khmer": "\u1780-\u17ff",
    "Ethiopic": "\u1200-\u137f",
}
_CHARACTERS_PER_WORD = {"Han": 2, "Kana": 2, "Hangul": 2}  # 5 in other scripts
_PATTERNS = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
# The language that a script stands for; others are told from it by letters of their own.
_LANGUAGE_OF = {"Han": "zh", "Kana": "ja", "Hangul": "ko", "Thai": "th", "Arabic": "ar", "Cyrillic": "ru"}
_LANGUAGE_OF |= {"Devanagari": "hi", "Greek": "el", "Hebrew": "he", "Armenian": "hy", "Georgian": "ka", "Bengali": "bn"}
_LANGUAGE_OF |= {"Tamil": "ta", "Telugu": "te", "Burmese": "my", "Khmer": "km", "Ethiopic": "am"}
_OWN_LETTERS = {  # what the languages before it in a list have not
    "Cyrillic": [("be", "ў"), ("kk", "әғқңұ"), ("mn", "өү"), ("mk", "ѓќѕ"), ("sr", "ђћјљњџ"), ("uk", "іїєґ")],
    "Arabic": [("ur", "ٹڈڑںے"), ("fa", "پچژگیک")],
}
_MIN_WORDS = 12  # of a text, fewer of which say too little about a language that is not known here
_LETTER_WEIGHT = 0.5  # of a letter of a language, where a function word weighs 1
_MIN_SHARE = 0.10  # of the words of a text, that are function words of its language
_MIN_SCORE = 0.9  # of a language other than English
_MIN_SIGNS = 3  # of such a language: a different word or a letter of its own counts 2, other letters 1
_LEAD = 1.3  # over the next best language
_KANA_SHARE = 0.1  # of the characters of Japanese, more of which are kana
_OWN_LETTERS_SHARE = 0.02


class _Profiles(NamedTuple):
    """What is known of languages: their names, and for the Latin script which of them have a word or a letter."""

    names: dict[str, str]
    words: dict[str, list[str]]
    letters: dict[str, list[str]]


@cache
def _profiles() -> _Profiles:
    names, words, letters = dict[str, str](), dict[str, list[str]](), dict[str, list[str]]()
    for line in files("whymatch.text").joinpath("languages.txt").read_text(encoding="utf-8").splitlines():
        code, name, own_letters, own_words = line.split("|")
        names[code] = name
        for table, items in ((letters, list(own_letters)), (words, own_words.split())):
            for item in dict.fromkeys(items):
                table.setdefault(item, []).append(code)
    return _Profiles(names, words, letters)


def language_name(code: str) -> str:
    """What a language is called in English.

    >>> language_name("de"), language_name("th")
    ('German', 'Thai')
    """
    return _profiles().names.get(code, code)


def shown(text: str) -> str:
    """A text without the characters in it that do not show, such as soft hyphens and controls; blanks stay.

    >>> shown("Vertrags\\u00adstrafe")
    'Vertragsstrafe'
    """
    return text if text.isprintable() else "".join(one for one in text if one.isprintable() or one.isspace())


def language(text: str) -> str | None:
    """The language of a text as a code of ISO 639-1, or None where too little says which it is.

    Case and punctuation make no difference. Of a long text the beginning is read.

    >>> [language(text) for text in ("The cat sat down.", "Er kommt am 3. Mai und bleibt.", "猫坐在垫子上。", "12")]
    ['en', 'de', 'zh', None]
    """
    return _language(_ADDRESS.sub(" ", shown(text[:_SAMPLE])))


@lru_cache(maxsize=1024)
def _language(sample: str) -> str | None:
    sample = sample.casefold()
    words = _LATIN.findall(sample)
    counts = _other_scripts(sample)
    in_words = {name: count / _CHARACTERS_PER_WORD.get(name, 5) for name, count in counts.items()}
    if not counts or max(in_words.values()) < len(words):
        return _latin_language(sample, words)
    if counts["Kana"] >= _KANA_SHARE * (counts["Kana"] + counts["Han"]) > 0:
        counts["Kana"] += counts.pop("Han", 0)
    script = max(counts, key=counts.__getitem__)
    for code, letters in _OWN_LETTERS.get(script, ()):
        if sum(map(sample.count, letters)) >= _OWN_LETTERS_SHARE * counts[script]:
            return code
    return _LANGUAGE_OF[script]


def scripts(text: str) -> list[str]:
    """The scripts of a text, that with the most letters first; "Other" for those without a name here.

    >>> scripts("漢字 (kanji)"), scripts("12 °C"), scripts("3.14")
    (['Latin', 'Han'], ['Latin'], [])
    """
    sample = shown(text[:_SAMPLE]).casefold()
    counts = Counter({"Latin": sum(map(len, _LATIN.findall(sample)))}) + _other_scripts(sample)
    if other := sum(map(str.isalpha, sample)) - sum(counts.values()):
        counts["Other"] = max(0, other)
    return [name for name, count in counts.most_common() if count]


def _other_scripts(sample: str) -> Counter[str]:
    """How many characters of each script but the Latin one are in a text."""
    if sample.isascii():
        return Counter()
    return +Counter({name: len(pattern.findall(sample)) for name, pattern in _PATTERNS.items()})


def _latin_language(sample: str, words: list[str]) -> str | None:
    """The language of a text in the Latin script, whose words are given in lower case."""
    scores, known, signs = _scores(sample, words)
    if not scores:
        return None
    (best, score), (_, next_best) = [*sorted(scores.items(), key=lambda item: -item[1]), ("", 0.0)][:2]
    if best == "en":
        return best if score > next_best and known[best] >= _MIN_SHARE * len(words) else None
    clear = score >= max(_MIN_SCORE, _LEAD * next_best, _MIN_SHARE * len(words))
    return best if clear and signs[best] >= _MIN_SIGNS else None


def _scores(sample: str, words: list[str]) -> tuple[dict[str, float], Counter[str], Counter[str]]:
    """What speaks for each language in a text in lower case with these words: scores, how many words it has, signs."""
    profiles = _profiles()
    scores, known, signs = defaultdict[str, float](float), Counter[str](), Counter[str]()
    for word, count in Counter(words).items():
        codes = profiles.words.get(word, ())
        for code in codes:
            scores[code] += (count if len(word) > 1 else min(count, 2)) / len(codes)
            known[code] += count
            signs[code] += min(len(word), 2)
    if not sample.isascii():
        for letter, codes in profiles.letters.items():
            for code in codes if (count := sample.count(letter)) else ():
                scores[code] += _LETTER_WEIGHT * count / len(codes)
                signs[code] += 2 if len(codes) == 1 else 1
    return scores, known, signs


def leans_to_another(text: str) -> bool:
    """Whether what little a text says of its language speaks for another one than English."""
    sample = shown(text[:_SAMPLE]).casefold()
    scores, _, _ = _scores(sample, [word for word in _LATIN.findall(sample) if len(word) > 1])
    best = max(scores, key=scores.__getitem__, default="en")
    return best != "en" and scores[best] >= max(_MIN_SCORE, 2 * scores.get("en", 0.0))


def may_be_english(text: str) -> bool:
    """Whether a text may be English: it is, or it is so short that nothing says what it is.

    >>> may_be_english("Haustiere sind verboten."), may_be_english("Lunch costs 5 euros.")
    (False, True)
    >>> may_be_english("Nimm fünf Milligramm davon, und zwar dreimal am Tag nach dem Essen mit etwas Wasser.")
    False
    >>> may_be_english("Take five milligrams of it, three times a day after a meal with some water.")
    True
    """
    code = language(text)
    if code is not None or len(_LATIN.findall(shown(text[:_SAMPLE]).casefold())) >= _MIN_WORDS:
        return code == "en"
    return not leans_to_another(text)
