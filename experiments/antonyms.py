"""Makes the file of antonyms that ships with the package from WordNet's own files.

    python -m experiments.antonyms FOLDER

FOLDER holds WordNet 3.0's data files (data.noun, data.verb, data.adj, data.adv), as Debian's package wordnet-base
installs them, and its lists of irregular forms (noun.exc and so on). A line of the file has a lemma and all its
antonyms, in some sense, that come after it in the alphabet; or "=", an irregular form and its lemma. Phrases and
capitalised words are left out. The notice of WordNet's licence at the head of the file is kept.

Two lemmas are antonyms where WordNet says so. WordNet says it of the chief words of a cluster only, so a lemma and the
same with a prefix that negates ("cooked", "uncooked") are antonyms too where WordNet supports it in another way. The
prefix alone does not say so: "close" and "disclose".
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from whymatch.files import write_whole
from whymatch.text.antonyms import FILE

PARTS = ("noun", "verb", "adj", "adv")
PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti")
_LEMMA = re.compile(r"[a-z]{2,}")
_DENIAL = re.compile(r"\b(?:not|no|without|lacks?|lacking|absence|opposite|reverse|undo)\b")
_DERIVED = (
    "+",
    "\\",
    "<",
)  # pointers to a related form, to the noun or adjective of a word, to the verb of a participle
Key: TypeAlias = tuple[str, str]
"""A set of synonyms: its part of speech, and its place in the file."""


@dataclass
class WordNet:
    """What WordNet's files say of lemmas."""

    synsets: dict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))
    """Those of each lemma."""
    glosses: dict[Key, str] = field(default_factory=dict)
    """Without the examples."""
    similar: dict[Key, set[Key]] = field(default_factory=lambda: defaultdict(set))
    opposed: dict[Key, set[Key]] = field(default_factory=lambda: defaultdict(set))
    antonyms: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of lemmas, in the order of the alphabet."""
    derived: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Lemmas that are made of each other, both ways."""

    @classmethod
    def read(cls, folder: Path) -> "WordNet":
        self, own, pointers = cls(), dict[Key, list[str]](), list[tuple[Key, str, Key, str]]()
        for part in PARTS:
            for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
                if line.startswith("  "):
                    continue  # the licence
                head, _, gloss = line.partition(" | ")
                fields = head.split()
                key, words = (fields[2].replace("s", "a"), fields[0]), int(fields[3], 16)
                own[key] = [re.sub(r"\(\w+\)$", "", word) for word in fields[4 : 4 + 2 * words : 2]]
                self.glosses[key] = gloss.partition('; "')[0]
                for lemma in own[key]:
                    self.synsets[lemma].add(key)
                rest = fields[5 + 2 * words :][: 4 * int(fields[4 + 2 * words])]
                for symbol, place, kind, numbers in zip(*[iter(rest)] * 4, strict=True):
                    pointers.append((key, symbol, (kind.replace("s", "a"), place), numbers))
        for key, symbol, other, numbers in pointers:
            if symbol == "&":
                self.similar[key].add(other)
            elif symbol == "!" or symbol in _DERIVED:
                one, two = own[key][int(numbers[:2], 16) - 1], own[other][int(numbers[2:], 16) - 1]
                self._relate(symbol, (key, one), (other, two))
        return self

    def _relate(self, symbol: str, one: tuple[Key, str], other: tuple[Key, str]) -> None:
        if symbol == "!":
            self.opposed[one[0]].add(other[0])
            self.antonyms.add((min(one[1], other[1]), max(one[1], other[1])))
        else:
            self.derived[one[1]].add(other[1])
            self.derived[other[1]].add(one[1])

    def pairs(self) -> set[tuple[str, str]]:
        """The pairs of lemmas, in the order of the alphabet, that are antonyms."""
        pairs = {*self.antonyms, *((min(pair), max(pair)) for pair in self._prefixed() if self._opposes(*pair))}
        return {pair for pair in pairs if all(map(_LEMMA.fullmatch, pair)) and pair[0] != pair[1]}

    def _prefixed(self) -> Iterator[tuple[str, str]]:
        """Lemmas with the same after a prefix that can negate, of which one part of speech is the same."""
        for lemma in self.synsets:
            for other in (prefix + lemma for prefix in PREFIXES):
                if len(lemma) >= 3 and other in self.synsets and self._shared_parts(lemma, other):
                    yield lemma, other

    def _shared_parts(self, lemma: str, other: str) -> set[str]:
        return {part for part, _ in self.synsets[lemma]} & {part for part, _ in self.synsets[other]}

    def _opposes(self, lemma: str, other: str) -> bool:
        """Whether a lemma with a prefix means the opposite of the lemma.

        They are similar to adjectives that are antonyms; or are derived from antonyms that differ in the same prefix;
        or the definition of the one denies the other.
        """
        prefix = other.removesuffix(lemma)
        clusters = {opposite for key in self._cluster(other) for opposite in self.opposed[key]}
        if clusters & self._cluster(lemma):
            return True
        if any((min(a, prefix + a), max(a, prefix + a)) in self.antonyms for a in self.derived[lemma]
               if prefix + a in self.derived[other]):  # fmt: skip
            return True
        parts, forms = self._shared_parts(lemma, other), {lemma, *self.derived[lemma]}
        glosses = (self.glosses[key] for key in self.synsets[other] if key[0] in parts)
        denied = (gloss[match.end() :] for gloss in glosses if (match := _DENIAL.search(gloss)))
        return any(forms & {*re.findall("[a-z]+", words)} for words in denied)

    def _cluster(self, lemma: str) -> set[Key]:
        """The adjectives of a lemma, and those that they are similar to."""
        own = {key for key in self.synsets[lemma] if key[0] == "a"}
        return own | {other for key in own for other in self.similar[key]}


def irregular_forms(folder: Path, lemmas: set[str]) -> list[tuple[str, str]]:
    """The irregular forms of these lemmas, each with its lemma."""
    lines = (
        line.split() for part in PARTS for line in (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
    )
    forms = {(form, lemma) for form, *own in lines for lemma in own if lemma in lemmas and form != lemma}
    return sorted(pair for pair in forms if all(map(_LEMMA.fullmatch, pair)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of WordNet's data files")
    folder: Path = parser.parse_args().folder
    pairs, others = WordNet.read(folder).pairs(), defaultdict(list)
    for lemma, antonym in sorted(pairs):
        others[lemma].append(antonym)
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines += [" ".join([lemma, *rest]) for lemma, rest in others.items()]
    lines += [
        f"= {form} {lemma}" for form, lemma in irregular_forms(folder, {lemma for pair in pairs for lemma in pair})
    ]
    write_whole(FILE, "\n".join(lines) + "\n")
    print(f"{len(pairs)} pairs, {FILE.stat().st_size} bytes: {FILE}")


if __name__ == "__main__":
    main()
