"""Pairs of sentences with what the left one says of the right one, from files and from edits."""

import csv
import gzip
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import IntFlag
from pathlib import Path
from typing import NamedTuple

from experiments.edits import edited
from experiments.edits.lexicon import Lexicon, Part
from experiments.edits.made import statement
from experiments.edits.rearranged import JOINED, rearranged_pair
from experiments.edits.roles import made_pair
from experiments.edits.text import lower_start, upper_start
from whymatch.matching.shipped import shipped_texts
from whymatch.text.spans import sentences

PAWS_SEED = 24
MADE = frozenset({"made roles", "rearranged", "joined"})
"""The kinds of pairs that are made, or put together, so that their labels are certain."""
_MAX_WORDS = 28  # of a sentence that is edited
_MAX_WORDS_JOINED = 11  # of a sentence that becomes a clause of another
_PAWS_TIMES = 3  # in an epoch, since it is small and hard


class Label(IntFlag):
    """What the left sentence says of the right one. A union says that it is one of these, and not which."""

    ENTAILS = 1
    NEUTRAL = 2
    CONTRADICTS = 4
    NOT_CONTRADICTS = ENTAILS | NEUTRAL
    NOT_ENTAILS = NEUTRAL | CONTRADICTS


class Example(NamedTuple):
    left: str
    right: str
    label: Label
    kind: str
    """Where it comes from: a data set, or the kind of edit."""

    @property
    def reverse(self) -> "Example":
        """With the sentences exchanged: contradiction holds both ways; of the rest only that they do not contradict."""
        label = self.label if self.label in (Label.CONTRADICTS, Label.NOT_CONTRADICTS) else Label.NOT_CONTRADICTS
        return Example(self.right, self.left, label, self.kind)


_NLI = {"entailment": Label.ENTAILS, "neutral": Label.NEUTRAL, "contradiction": Label.CONTRADICTS}


def snli_train(data: Path) -> list[Example]:
    rows = _rows(data / "snli" / "train.tsv.gz", "\t")
    return [Example(row["premise"], row["hypothesis"], _NLI[row["label"]], "snli") for row in rows]


def snli_test(data: Path) -> list[Example]:
    return [example for _, example in _esnli(data, "test")]


def snli_dev(data: Path) -> tuple[list[Example], list[Example]]:
    """e-SNLI dev in two parts that share no image: three quarters to train on, a quarter for choices."""
    parts: tuple[list[Example], list[Example]] = ([], [])
    for image, example in _esnli(data, "dev"):
        parts[int(hashlib.sha256(image.encode()).hexdigest(), 16) % 4 == 0].append(example)
    return parts


def _esnli(data: Path, split: str) -> Iterator[tuple[str, Example]]:
    for row in _rows(data / "esnli" / f"esnli_{split}.csv.gz", ","):
        example = Example(row["Sentence1"], row["Sentence2"], _NLI[row["gold_label"]], "snli")
        yield row["pairID"].partition("#")[0], example


def _rows(file: Path, delimiter: str) -> Iterator[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(
            lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        )


def paws(data: Path) -> tuple[list[Example], list[Example]]:
    """PAWS' pairs in two parts, four fifths to train on and a fifth to test, that share no sentence in any word order.

    A pair that is no paraphrase contradicts where both have the same words; of others it is known that the left one
    does not entail the right one.
    """
    rows = [*_rows(data / "paws" / "dev.tsv.gz", "\t")]
    groups = _connected([(_bag(row["sentence1"]), _bag(row["sentence2"])) for row in rows])
    random.Random(PAWS_SEED).shuffle(groups)
    parts: tuple[list[Example], list[Example]] = ([], [])
    for group in groups:
        part = parts[len(parts[1]) < len(rows) / 5]
        for row in (rows[number] for number in group):
            left, right = row["sentence1"], row["sentence2"]
            negative = Label.CONTRADICTS if _bag(left) == _bag(right) else Label.NOT_ENTAILS
            part.append(Example(left, right, Label.ENTAILS if row["label"] == "1" else negative, "paws"))
    return parts


def _bag(sentence: str) -> str:
    return " ".join(sorted(re.findall(r"\w+", sentence.lower())))


def _connected(pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
    """The numbers of pairs in groups, so that no two groups have a value in common."""
    parents: dict[str, str] = {}

    def root(value: str) -> str:
        while parents.setdefault(value, value) != value:
            value = parents[value]
        return value

    for left, right in pairs:
        parents[root(left)] = root(right)
    groups: dict[str, list[int]] = defaultdict(list)
    for number, (left, _) in enumerate(pairs):
        groups[root(left)].append(number)
    return [*groups.values()]


def edinburgh(data: Path, split: str) -> list[Example]:
    """Human paraphrases, which may leave out or add what the other has."""
    pairs = json.loads((data / "word_alignment" / "edinburgh" / f"gold.{split}.sure.json").read_text(encoding="utf-8"))
    return [Example(pair["source"], pair["target"], Label.NOT_CONTRADICTS, "edinburgh") for pair in pairs]


def mtref(data: Path, part: str) -> list[Example]:
    """Human paraphrases that are not trained on: the train part sets a threshold, the dev part evaluates."""
    lines = (data / "word_alignment" / "mtref" / f"mtref-{part}.tsv").read_text(encoding="utf-8").splitlines()
    fields = (line.split("\t") for line in lines if line)
    return [Example(row[1], row[3], Label.NOT_CONTRADICTS, "mtref") for row in fields]


def own_texts(part: Part) -> list[list[str]]:
    """The sentences of each of the texts that were written for whymatch; one text in five is for tests."""
    chosen = [
        text for text in shipped_texts() if (hashlib.sha256(text.encode()).digest()[0] % 5 == 0) == (part == "test")
    ]
    return [[text[start:end] for start, end in sentences(text)] for text in chosen]


_CONTRADICTING_WEIGHTS = {
    "number": 5,
    "unit": 2,
    "date": 3,
    "name": 5,
    "negation": 6,
    "antonym": 10,
    "role swap": 9,
    "quantifier": 2,
    "modality": 2,
}
_HARMLESS_WEIGHTS = {
    "punctuation": 4,
    "case": 1,
    "number form": 7,
    "contraction": 2,
    "spelling": 1,
    "reordering": 4,
    "active and passive": 3,
    "synonym": 5,
}


class EditedPairs:
    """Draws pairs of a sentence and what edits make of it or of its paraphrase, with words of one part."""

    def __init__(
        self,
        by_source: Sequence[tuple[float, Sequence[str]]],
        paraphrases: Sequence[Example],
        texts: Sequence[list[str]],
        lexicon: Lexicon,
        rng: random.Random,
    ) -> None:
        self._weights = [weight for weight, _ in by_source]
        self._sources = [[text for text in texts if 3 <= len(text.split()) <= _MAX_WORDS] for _, texts in by_source]
        self._paraphrases, self._texts, self._lexicon, self._rng = paraphrases, texts, lexicon, rng

    def draw(self, count: int) -> Iterator[Example]:
        """Pairs of all kinds: contradicting, harmless, made, rearranged, joined, shortened, of one text."""
        ways = (
            self._contradicting,
            self._harmless,
            self._of_roles,
            self._rearranged,
            self._joined,
            self._shortened,
            self._of_one_text,
            self._identical,
        )
        for way in self._rng.choices(ways, (40, 33, 15, 18, 6, 5, 5, 2), k=count):
            example = way()
            yield example if self._rng.random() < 0.5 else _exchanged(example)

    def _sentence(self) -> str:
        if self._rng.random() < 0.12:
            return statement(self._rng, self._lexicon)
        return self._rng.choice(self._rng.choices(self._sources, self._weights)[0]).strip()

    def _edited(self, kinds: dict[str, int]) -> tuple[str, str, str]:
        """A kind of edit, a sentence to which it applies, and that sentence edited."""
        kind = self._rng.choices([*kinds], [*kinds.values()])[0]
        while True:
            sentence = self._sentence()
            if text := edited(kind, sentence, self._rng, self._lexicon):
                return kind, sentence, text

    def _touched(self, sentence: str, most: int = 2) -> str:
        """The sentence after up to a few harmless edits."""
        for kind in self._rng.choices(
            [*_HARMLESS_WEIGHTS], [*_HARMLESS_WEIGHTS.values()], k=self._rng.randint(0, most)
        ):
            sentence = edited(kind, sentence, self._rng, self._lexicon) or sentence
        return sentence

    def _contradicting(self) -> Example:
        if self._rng.random() < 0.25:
            pair = self._rng.choice(self._paraphrases)
            kind = self._rng.choices([*_CONTRADICTING_WEIGHTS], [*_CONTRADICTING_WEIGHTS.values()])[0]
            if text := edited(kind, pair.right, self._rng, self._lexicon):
                return Example(self._touched(pair.left, 1), text, Label.CONTRADICTS, kind)
        kind, sentence, text = self._edited(_CONTRADICTING_WEIGHTS)
        if self._rng.random() < 0.35:
            sentence, text = self._touched(sentence), self._touched(text)
        return Example(sentence, text, Label.CONTRADICTS, kind)

    def _harmless(self) -> Example:
        if self._rng.random() < 0.25:
            pair = self._rng.choice(self._paraphrases)
            return Example(self._touched(pair.left), self._touched(pair.right), pair.label, "paraphrase")
        kind, sentence, text = self._edited(_HARMLESS_WEIGHTS)
        more = self._touched(text) if self._rng.random() < 0.4 else text
        label = Label.ENTAILS if kind != "synonym" and more == text else Label.NOT_CONTRADICTS
        return Example(sentence, more, label, kind)

    def _of_roles(self) -> Example:
        left, right, swapped = made_pair(self._rng, self._lexicon)
        return Example(left, right, Label.CONTRADICTS if swapped else Label.ENTAILS, "made roles")

    def _rearranged(self) -> Example:
        left, right, contradicts = rearranged_pair(self._rng, self._lexicon)
        return Example(left, right, Label.CONTRADICTS if contradicts else Label.ENTAILS, "rearranged")

    def _joined(self) -> Example:
        """Two sentences as clauses of one, in both orders; half of the time one of them is edited to contradict."""
        first, second = (self._short_sentence() for _ in range(2))
        changed, label = second, Label.ENTAILS
        if self._rng.random() < 0.5:
            kind = self._rng.choices([*_CONTRADICTING_WEIGHTS], [*_CONTRADICTING_WEIGHTS.values()])[0]
            changed = edited(kind, second, self._rng, self._lexicon) or second
            label = Label.ENTAILS if changed == second else Label.CONTRADICTS
        joined = self._rng.choice(JOINED)
        left = f"{first}{joined}{lower_start(second)}"
        return Example(left, f"{upper_start(changed)}{joined}{lower_start(first)}", label, "joined")

    def _short_sentence(self) -> str:
        """A sentence without the mark at its end that may be a clause of another."""
        while True:
            sentence = re.sub(r"\s*[.!]$", "", self._sentence())
            if len(sentence.split()) <= _MAX_WORDS_JOINED and not re.search(r"[,;:?]", sentence):
                return upper_start(sentence)

    def _shortened(self) -> Example:
        while True:
            sentence = self._sentence()
            if text := shortened(sentence):
                return Example(sentence, text, Label.ENTAILS, "shortened")

    def _of_one_text(self) -> Example:
        """Two sentences that stand side by side: they say different things."""
        text = self._rng.choice(self._texts)
        while len(text) < 2:
            text = self._rng.choice(self._texts)
        start = self._rng.randrange(len(text) - 1)
        return Example(text[start], text[start + 1], Label.NEUTRAL, "one text")

    def _identical(self) -> Example:
        sentence = self._sentence()
        return Example(sentence, sentence, Label.ENTAILS, "identical")


def _exchanged(example: Example) -> Example:
    """The other direction: an edit that leaves the meaning as it is entails both ways, a shortened one does not."""
    if example.label == Label.ENTAILS and example.kind == "shortened":
        return Example(example.right, example.left, Label.NEUTRAL, example.kind)
    return Example(example.right, example.left, example.label, example.kind)


_SHORTER = [
    (
        re.compile(r"^([A-Z][^,;:]{15,120}), (?:and|but|because|while|although|which|where|when) [^;:]{10,}?( ?[.!])$"),
        r"\1\2",
    ),
    (re.compile(r"^(?:In|On|During|At|By|For|After) [^,;:]{4,50} ?, ([^;:]{15,})$"), r"\1"),
    (re.compile(r"^([^;:]{10,}?) ?\([^()]{3,60}\) ?([^;:]{5,})$"), r"\1 \2"),
    (
        re.compile(
            r"^([A-Z][^,;:]{15,100}?) (?:while|because|when|during|in front of|near|next to) [^,;:]{5,60}?( ?[.!]?)$"
        ),
        r"\1\2",
    ),
]


def shortened(sentence: str) -> str | None:
    """The sentence without a clause or a phrase that it would still hold without; None where there is none."""
    for pattern, kept in _SHORTER:
        if pattern.match(sentence) and not re.search(r"\b(?:not|no|never|only|if|unless|n't)\b", sentence):
            return upper_start(pattern.sub(kept, sentence))
    return None


def fixed_examples(data: Path) -> list[Example]:
    """What every epoch has: SNLI with a part of e-SNLI dev both ways, PAWS' training part thrice, and paraphrases."""
    snli = [*snli_train(data), *snli_dev(data)[0]]
    swaps, human = paws(data)[0], edinburgh(data, "train")
    examples = [*snli, *(example.reverse for example in snli)]
    examples += [example for _ in range(_PAWS_TIMES) for example in (*swaps, *map(_exchanged, swaps))]
    return [*examples, *human, *map(_exchanged, human)]


def edited_examples(data: Path, lexicon: Lexicon, count: int, rng: random.Random) -> list[Example]:
    """Pairs made by edits of the training sentences, of the texts that ship and of made sentences."""
    snli = [*snli_train(data), *snli_dev(data)[0]]
    swaps, human = paws(data)[0], edinburgh(data, "train")
    texts = own_texts("train")
    by_source = (
        (3.0, [text for example in snli for text in (example.left, example.right)]),
        (2.0, [text for example in swaps for text in (example.left, example.right)]),
        (1.5, [text for example in human for text in (example.left, example.right)]),
        (5.0, [sentence for text in texts for sentence in text]),
    )
    paraphrases = [*human, *human, *human, *(example for example in swaps if example.label == Label.ENTAILS)]
    return [*EditedPairs(by_source, paraphrases, texts, lexicon, rng).draw(count)]
