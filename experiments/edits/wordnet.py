"""Antonyms and synonyms of English words in all their forms, read from the database files of Princeton WordNet 3.0."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # of the sense keys in cntlist.rev
_MIN_COUNT = 3  # how often a word has its sense in the texts that were tagged for WordNet
_MIN_SHARE = 0.5  # of a word's uses that a sense must have to be the one that readers expect
_IRREGULAR = {
    line.split()[0]: tuple(line.split()[1:])
    for line in """
    become became become
    begin began begun
    break broke broken
    bring brought brought
    build built built
    buy bought bought
    catch caught caught
    choose chose chosen
    come came come
    draw drew drawn
    drive drove driven
    eat ate eaten
    fall fell fallen
    feel felt felt
    fight fought fought
    find found found
    forget forgot forgotten
    get got got
    give gave given
    go went gone
    grow grew grown
    hate hated hated
    hear heard heard
    hide hid hidden
    hit hit hit
    hold held held
    keep kept kept
    know knew known
    lead led led
    leave left left
    lend lent lent
    lose lost lost
    make made made
    meet met met
    pay paid paid
    push pushed pushed
    rise rose risen
    run ran run
    see saw seen
    sell sold sold
    send sent sent
    show showed shown
    sit sat sat
    sleep slept slept
    speak spoke spoken
    spend spent spent
    stand stood stood
    steal stole stolen
    take took taken
    teach taught taught
    tell told told
    think thought thought
    throw threw thrown
    understand understood understood
    wear wore worn
    win won won
    write wrote written
    """.strip().splitlines()
}


@dataclass(frozen=True)
class WordNet:
    """Words that mean the opposite or the same, for each form of a word: "rises" has the antonym "falls"."""

    antonyms: Mapping[str, tuple[str, ...]]
    synonyms: Mapping[str, tuple[str, ...]]
    verbs: Mapping[str, str]
    """The base of each form of a verb that is hardly ever anything else: "takes" is of "take"."""
    participles: Mapping[str, str]
    """The past participle of each of these verbs by its base."""

    @classmethod
    def read(cls, folder: Path) -> "WordNet":
        """Reads `data.*`, `index.*`, `*.exc` and `cntlist.rev`, as Debian's package `wordnet-base` has them.

        Raises:
            ValueError: if the folder does not have these files.
        """
        try:
            senses = _Senses(folder)
            antonyms, synonyms = _related_forms(senses.antonyms()), _related_forms(senses.synonyms())
        except OSError as error:
            raise ValueError(f"{folder} holds no WordNet: {error}. Debian's package wordnet-base has it.") from error
        forms = {lemma: senses.forms(lemma, "v") for lemma in senses.verbs()}
        verbs = {form: lemma for lemma, own in forms.items() for form in own.values()}
        participles = {lemma: own["participle"] for lemma, own in forms.items() if "participle" in own}
        return cls(antonyms, synonyms, verbs, participles)


class _Senses:
    """The words of each sense, and how often people used a word in that sense."""

    def __init__(self, folder: Path) -> None:
        exceptions = {pos: [*_pairs(folder / f"{name}.exc")] for pos, name in _FILES.items()}
        self._irregular_forms = {pos: {form for form, _ in pairs} for pos, pairs in exceptions.items()}
        self._irregular_words = {pos: {base for _, base in pairs} for pos, pairs in exceptions.items()}
        self._counts: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for line in (folder / "cntlist.rev").read_text(encoding="utf-8").splitlines():
            key, number, count = line.split()
            lemma, _, rest = key.partition("%")
            self._counts[lemma, _TYPES[rest[0]]][int(number)] = int(count)
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._synsets: dict[tuple[str, int], tuple[list[str], list[str]]] = {}
        for pos, name in _FILES.items():
            for line in _lines(folder / f"index.{name}"):
                fields = line.split()
                offsets = fields[-int(fields[2]) :]
                self._numbers |= {(fields[0], pos, int(offset)): i for i, offset in enumerate(offsets, 1)}
            for line in _lines(folder / f"data.{name}"):
                fields = line.partition("|")[0].split()
                end = 4 + 2 * int(fields[3], 16)
                words = [word.partition("(")[0].lower() for word in fields[4:end:2]]
                self._synsets[pos, int(fields[0])] = words, fields[end + 1 :]

    def _expected(self, lemma: str, pos: str, offset: int) -> bool:
        """Whether a reader who meets this word expects this sense of it."""
        number = self._numbers.get((lemma, pos, offset))
        if number is None or not lemma.isalpha() or len(lemma) < 3:
            return False
        every = sum(sum(self._counts.get((lemma, any_pos), {}).values()) for any_pos in _FILES)
        count = self._counts.get((lemma, pos), {}).get(number, 0)
        return count >= _MIN_COUNT and count >= _MIN_SHARE * every

    def antonyms(self) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
        """The forms of two words that are opposites."""
        for (pos, offset), (words, pointers) in self._synsets.items():
            for symbol, target, target_pos, ends in zip(*(iter(pointers),) * 4, strict=False):
                if symbol != "!" or target_pos not in _FILES:
                    continue
                left, right = words[int(ends[:2], 16) - 1], self._synsets[target_pos, int(target)][0]
                other = right[int(ends[2:], 16) - 1]
                if self._expected(left, pos, offset) and self._common(other):
                    yield self.forms(left, pos), self.forms(other, pos)

    def synonyms(self) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
        for (pos, offset), (words, _) in self._synsets.items():
            expected = [word for word in words if self._expected(word, pos, offset)]
            for left in expected:
                for right in expected:
                    if left != right:
                        yield self.forms(left, pos), self.forms(right, pos)

    def verbs(self) -> Iterator[str]:
        """Words of three letters and more that are verbs nine times in ten."""
        for (lemma, pos), counts in self._counts.items():
            every = sum(sum(self._counts.get((lemma, any_pos), {}).values()) for any_pos in _FILES)
            if pos == "v" and lemma.isalpha() and len(lemma) > 2 and sum(counts.values()) >= 0.9 * every:
                yield lemma

    def _common(self, lemma: str) -> bool:
        return lemma.isalpha() and sum(sum(self._counts.get((lemma, pos), {}).values()) for pos in _FILES) >= 1

    def forms(self, lemma: str, pos: str) -> dict[str, str]:
        """A word's forms by what they are for; only its base where the others are irregular and not listed here."""
        forms = {"base": lemma}
        if pos == "v" and lemma in _IRREGULAR:
            return _verb_forms(lemma) | dict(zip(("past", "participle"), _IRREGULAR[lemma], strict=True))
        regular = lemma not in self._irregular_words[pos]
        if pos == "v" and (regular or _past(lemma) in self._irregular_forms[pos]):
            return _verb_forms(lemma)
        if pos == "n" and regular:
            forms["plural"] = _with_s(lemma)
        return forms


def _verb_forms(lemma: str) -> dict[str, str]:
    past, stem = _past(lemma), _doubled(lemma)
    stem = stem[:-1] if stem.endswith("e") and not stem.endswith(("ee", "ye", "oe")) else stem
    return {"base": lemma, "s": _with_s(lemma), "ing": stem + "ing", "past": past, "participle": past}


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and lemma[-2:-1] not in "aeiou":
        return lemma[:-1] + "ied"
    return _doubled(lemma) + "ed"


def _doubled(lemma: str) -> str:
    """With its last letter twice where English writes "stopping": one short vowel before one consonant.

    >>> [_doubled(verb) for verb in ("stop", "open", "show", "cook", "permit")]
    ['stopp', 'open', 'show', 'cook', 'permitt']
    """
    vowels = sum(letter in "aeiou" for letter in lemma)
    closed = lemma[-1] not in "aeiouwxy" and lemma[-2:-1] in list("aeiou") and lemma[-3:-2] not in list("aeiou")
    return lemma + lemma[-1] if closed and (vowels == 1 or lemma.endswith(("mit", "fer", "cur"))) else lemma


def _related_forms(related: Iterator[tuple[dict[str, str], dict[str, str]]]) -> dict[str, tuple[str, ...]]:
    forms: dict[str, list[str]] = defaultdict(list)
    for left, right in related:
        for use, form in left.items():
            if use in right and right[use] not in forms[form]:
                forms[form].append(right[use])
    return {form: tuple(others) for form, others in sorted(forms.items()) if others}


def _lines(file: Path) -> Iterator[str]:
    """The lines of a database file after those of its licence, which start with blanks."""
    return (line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith(" "))


def _pairs(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        form, base, *_ = line.split()
        yield form, base
