"""Contradictions in edited sentences, and in pairs that mean the same: by rules, by the model, by both.

    WHYMATCH_DATA=… python -m benchmarks.conflicts [--split choose] [--edits 150]

Sentences of four sources (image captions, stories and articles, posts, claims of Wikipedia) are edited once each:
another number, name or antonym, two exchanged roles, a negation, or something harmless. A sentence belongs to the split
"choose" or "report" by its digest: rules were chosen on the first; docs/measured/relations.md names exceptions.
Paraphrases are MTRef and Edinburgh++ (their train parts to choose, dev and test to report). PAWS' pairs share their
words and differ in roles, or do not; the rules for roles were looked at on all of them, and the model was trained on
four fifths of them.

Of each pair it is printed whether rules find a conflict, whether the model says "contradicts", and what
`Link.contradicts` says: whether either does, without roles and opposites that the model rules out; then how well a
score tells paraphrases from edits: the model's probability of a contradiction, and the same with 1 where there is a
conflict.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.metrics import roc_auc_score

import whymatch as wm
from benchmarks.word_alignment import edinburgh, mtref
from whymatch.matching.conflicts import Conflict, Kind
from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.matching.defaults import word_aligner
from whymatch.matching.relating import pair_conflicts
from whymatch.matching.relations import shipped_reader
from whymatch.show.terminal import table
from whymatch.text.antonyms import FILE as ANTONYMS
from whymatch.text.dates import MONTHS, WEEKDAYS
from whymatch.text.spans import sentences

Pair: TypeAlias = tuple[str, str]
Edit: TypeAlias = Callable[[str, random.Random], str | None]
EDITS = ("number", "negation", "name", "antonym, common", "antonym, WordNet", "role")
KINDS: tuple[Kind, ...] = ("number", "date", "name", "negation", "antonym", "role")
_NUMBER_WORDS = str.split("two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty")
_NUMBER = re.compile(rf"(?<![\w.,:/-])(\d[\d,]*(?:\.\d+)?)(?![\w:/-])|\b({'|'.join(_NUMBER_WORDS)})\b(?!-)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|will|would|can|could|should|must)\b(?! (?:not|n't|no|never)\b|n['’]t)"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?(?=[ ,.;])")
_NO_NAMES = {
    *MONTHS,
    *WEEKDAYS,
    *FUNCTION_WORDS,
    "mrs",
    "prime",
    "minister",
    "daily",
}  # capitals that name no person or place
_ROLES = [
    re.compile(
        rf"(?P<x>{_NAME.pattern})(?P<v>(?:,)? (?:[a-z]+ ){{1,6}})"
        r"(?P<y>[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?(?=[ ,.;]))"
    ),
    re.compile(r"\b(?P<x>[Tt]he [a-z]{3,}|[Aa]n? [a-z]{3,})(?P<v> (?:is |was )?[a-z]+(?:s|ed|ing)"
               r"(?: (?:at|to|on|over|for))? )(?P<y>(?:the|an?) [a-z]{3,})(?=[ ,.])"),
]  # fmt: skip
_COMMON_OPPOSITES = """
big small|hot cold|increase decrease|increased decreased|open closed|open close|old young|new old|good bad|high low
higher lower|first last|before after|above below|more less|always never|early late|easy difficult|strong weak
fast slow|long short|accept reject|accepted rejected|allow forbid|allowed prohibited|buy sell|start stop
started stopped|win lose|won lost|inside outside|happy sad|rich poor|full empty|public private|left right
north south|east west|black white|light dark|day night|man woman|boy girl|men women|male female|internal external
maximum minimum|true false|positive negative|rose fell|rising falling|gain loss|agree disagree|enable disable
enabled disabled|install uninstall|possible impossible|legal illegal|safe dangerous|dry wet|clean dirty|up down
indoors outdoors|asleep awake|standing sitting|arrive leave|add remove|include exclude|approved rejected
success failure
"""


def read(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from lines


def sources(folder: Path) -> dict[str, list[str]]:
    """The sentences of each source, of 5 to 40 words."""
    captions = csv.DictReader(read(folder / "esnli" / "esnli_dev.csv.gz"))
    posts = (json.loads(line) for line in read(folder / "stackexchange" / "cqadupstack" / "corpus.jsonl.gz"))
    stories = (path.read_text(encoding="utf-8") for path in sorted((folder / "multirc" / "docs").iterdir())[:400])
    claims = (
        json.loads(line)["claim"]
        for name in ("train", "dev")
        for line in read(folder / "wice" / f"tokens_{name}.jsonl.gz")
    )
    texts: dict[str, Iterable[str]] = {
        "captions": (row["Sentence1"] for row in captions),
        "stories": stories,
        "posts": (str(post.get("text", "")) for _, post in zip(range(4000), posts, strict=False)),
        "claims": claims,
    }
    return {name: sorted({s for text in own for s in _sentences(text)}) for name, own in texts.items()}


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        sentence = text[start:end]
        if 5 <= len(sentence.split()) <= 40 and "\n" not in sentence:
            yield sentence


def in_split(sentence: str, split: str) -> bool:
    digest = hashlib.sha256(sentence.encode()).digest()[0]
    return (digest % 2 == 0) == (split == "choose")


def another_number(sentence: str, rng: random.Random) -> str | None:
    matches = [match for match in _NUMBER.finditer(sentence) if match.start() or not re.match(r"\d+[.)]", sentence)]
    if not matches:
        return None
    match = rng.choice(matches)
    if match[2]:
        new = rng.choice([word for word in _NUMBER_WORDS if word != match[2]])
    else:
        digits = [place for place, character in enumerate(match[1]) if character.isdigit()]
        place = rng.choice(digits)
        new_digit = rng.choice([d for d in "123456789" if d != match[1][place]])
        new = match[1][:place] + new_digit + match[1][place + 1 :]
        if rng.random() < 0.3 and match[1].isdigit():
            new = match[1] + "0" if match[1].strip("0") else "7"
    return sentence[: match.start()] + new + sentence[match.end() :]


def negated(sentence: str, rng: random.Random) -> str | None:
    if removed := re.search(r" not\b(?! (?:only|just))|(?<=[a-z])n't\b(?<!can't)(?<!won't)", sentence):
        return sentence[: removed.start()] + sentence[removed.end() :]
    if sentence.startswith("There is a "):
        return "There is no " + sentence.removeprefix("There is a ")
    if not (match := _AUXILIARY.search(sentence)):
        return None
    new = rng.choice(
        [f"{match[1]} not", f"{match[1]} never", f"{match[1]}n't" if match[1] not in ("will", "can") else "cannot"]
    )
    return sentence[: match.start()] + new + sentence[match.end() :]


def renamed(names: Sequence[str]) -> Edit:
    def another_name(sentence: str, rng: random.Random) -> str | None:
        matches = [m for m in _NAME.finditer(sentence) if not any(part.lower() in _NO_NAMES for part in m[0].split())]
        if not matches:
            return None
        match, new = rng.choice(matches), rng.choice(names)
        if set(new.split()) & set(re.findall(r"\w+", sentence)):
            return None
        return sentence[: match.start()] + new + sentence[match.end() :]

    return another_name


def opposed(pairs: Iterable[Pair]) -> Edit:
    others = defaultdict[str, list[str]](list)
    for one, other in pairs:
        others[one].append(other)
        others[other].append(one)

    def another_word(sentence: str, rng: random.Random) -> str | None:
        matches = [match for match in re.finditer(r"\b[a-z]{2,}\b", sentence) if match[0] in others]
        if not matches:
            return None
        match = rng.choice(matches)
        return sentence[: match.start()] + rng.choice(others[match[0]]) + sentence[match.end() :]

    return another_word


def exchanged(sentence: str, rng: random.Random) -> str | None:
    for pattern in _ROLES:
        match = pattern.search(sentence)
        verbs = set() if match is None else set(match["v"].split())
        if match and match["x"].lower() != match["y"].lower() and not verbs & {"and", "or", "with", "is", "was", "are"}:
            x, y = match["x"], match["y"]
            if x[0].isupper() and match.start() == 0 and x.split()[0] in ("The", "A", "An"):
                x, y = x[0].lower() + x[1:], y[0].upper() + y[1:]
            return sentence[: match.start()] + y + match["v"] + x + sentence[match.end() :]
    return None


def harmless(sentence: str, rng: random.Random) -> str | None:
    def thousands(match: re.Match[str]) -> str:
        return f"{int(match[0]):,}" if rng.random() < 0.5 else f"{int(match[0]):,}".replace(",", "\u202f")

    changes: list[Callable[[], str]] = [
        lambda: re.sub(r"([.!?])$", r" \1", sentence),
        lambda: re.sub(r"[.!?]$", "", sentence),
        lambda: sentence.lower(),
        lambda: re.sub(r"\s*,", "", sentence) if not re.search(r"\d,\d", sentence) else sentence,
        lambda: sentence.replace(" ", "  "),
        lambda: f'"{sentence}"',
        lambda: re.sub(r"(?<![\w.,:/-])[1-9]\d{3,6}(?![\w:/.,-])", thousands, sentence),
        lambda: re.sub(r"(?<=\d),(?=\d{3}\b)", "", sentence),
        lambda: re.sub(r"(?<=\d)\s?%", " percent", sentence),
        lambda: re.sub(
            rf"\b({'|'.join(_NUMBER_WORDS[:9])})\b(?!-)", lambda m: str(_NUMBER_WORDS.index(m[0]) + 2), sentence
        ),
        lambda: re.sub(r"(\w)n['’]t\b", lambda m: f"{m[1]} not" if m[1] not in "ao" else m[0], sentence),
    ]
    rng.shuffle(changes)
    return next((new for change in changes if (new := change()) != sentence), None)


def edits(texts: dict[str, list[str]], split: str, per_source: int) -> dict[str, dict[str, list[Pair]]]:
    """Pairs of a sentence and its edit, by kind of edit and source."""
    wordnet = [
        (lemma, other)
        for lemma, *others in (line.split() for line in ANTONYMS.read_text(encoding="utf-8").splitlines())
        for other in others
        if lemma not in "=#"
    ]
    common = [(one, other) for one, other in (pair.split() for pair in re.split(r"[|\n]", _COMMON_OPPOSITES.strip()))]
    result = defaultdict[str, dict[str, list[Pair]]](dict)
    for source, own in texts.items():
        rng = random.Random(source + split)
        candidates = [sentence for sentence in own if in_split(sentence, split)]
        rng.shuffle(candidates)
        names = sorted({match[0] for sentence in candidates for match in _NAME.finditer(sentence)})
        names = [name for name in names if not any(part.lower() in _NO_NAMES for part in name.split())]
        kinds: dict[str, Edit] = {
            "number": another_number,
            "negation": negated,
            "name": renamed(names),
            "antonym, common": opposed(common),
            "antonym, WordNet": opposed(wordnet),
            "role": exchanged,
            "harmless": harmless,
        }
        for kind, edit in kinds.items():
            pairs = ((sentence, edit(sentence, rng)) for sentence in candidates)
            changed = ((sentence, new) for sentence, new in pairs if new is not None and new != sentence)
            result[kind][source] = [pair for _, pair in zip(range(per_source), changed, strict=False)]
    return result


def paraphrases(folder: Path, split: str) -> dict[str, list[Pair]]:
    texts = {
        f"MTRef {part}": mtref(folder / "word_alignment", part)
        for part in [{"choose": "train", "report": "dev"}[split]]
    } | {
        f"Edinburgh++ {part}": edinburgh(folder / "word_alignment", part)
        for part in [{"choose": "train", "report": "test"}[split]]
    }
    pairs = {name: [(left.text, right.text) for left, right, _ in own] for name, own in texts.items()}
    rows = [
        *csv.reader(io.StringIO("".join(read(folder / "paws" / "dev.tsv.gz"))), delimiter="\t", quoting=csv.QUOTE_NONE)
    ][1:]
    for label, name in (("1", "PAWS, paraphrases"), ("0", "PAWS, others")):
        pairs[name] = [(one, other) for _, one, other, own in rows if own == label and in_split(one, split)]
    return pairs


class Judged(NamedTuple):
    """What rules and the model say of pairs."""

    conflicts: list[tuple[Conflict, ...]]
    """What rules find."""
    confirmed: list[tuple[Conflict, ...]]
    """That, without the roles and opposites that the model rules out."""
    probability: np.ndarray
    """(pairs,): that the texts contradict each other, by the model."""
    says_so: np.ndarray
    """(pairs,): whether the model's relation is "contradicts"."""

    @property
    def in_conflict(self) -> np.ndarray:
        """(pairs,): whether there is a conflict."""
        return np.array([bool(own) for own in self.confirmed], bool)

    @property
    def score(self) -> np.ndarray:
        """(pairs,): the model's probability, and 1 where there is a conflict."""
        return np.maximum(self.probability, self.in_conflict)


def judged(pairs: Sequence[Pair]) -> Judged:
    """What rules and the model say of each pair."""
    relations = shipped_reader().relations(pairs)
    probability = np.array([relation.probabilities["contradicts"] for relation in relations])
    says_so = np.array([relation.name == "contradicts" for relation in relations], bool)
    in_conflict = pair_conflicts(pairs, [None] * len(pairs), word_aligner())
    kept = pair_conflicts(pairs, relations, word_aligner())
    return Judged(in_conflict, kept, probability, says_so)


def row(name: str, pairs: Sequence[Pair], result: Judged, verbose: bool) -> list[str]:
    if verbose:
        same = name.startswith(("harmless", "MTRef", "Edinburgh"))
        for (left, right), own, model in zip(pairs, result.confirmed, result.says_so, strict=True):
            if bool(own or model) == same:
                marks = [(c.kind, [left[a:b] for a, b in c.left], [right[a:b] for a, b in c.right]) for c in own]
                print(f"{name}\n  {left}\n  {right}\n  {marks}, {'contradicts' if model else 'not'} by the model")
    counts = Counter(kind for own in result.conflicts for kind in {one.kind for one in own})
    by_rules = np.mean([bool(own) for own in result.conflicts])
    shares = [(result.in_conflict | result.says_so).mean(), result.says_so.mean(), by_rules]
    kinds = [counts[kind] / max(1, len(pairs)) for kind in KINDS]
    return [name, str(len(pairs)), *(f"{100 * share:.1f}" for share in (*shares, *kinds))]


def auc_rows(results: Mapping[str, Judged]) -> list[list[str]]:
    """For each kind of edit and for all: the area under the curve of paraphrases against edits, by two scores."""
    same = [own for name, own in results.items() if name.startswith(("MTRef", "Edinburgh"))]
    edited = {name: [own] for name, own in results.items() if name in EDITS}
    rows = []
    for name, own in {**edited, "all edits": [part for parts in edited.values() for part in parts]}.items():
        sizes = [sum(len(part.probability) for part in parts) for parts in (same, own)]
        if not all(sizes):
            continue
        labels = np.repeat([0, 1], sizes)
        both = [np.concatenate([value(part) for part in (*same, *own)]) for value in (_probability, _score)]
        rows.append([name, *(f"{roc_auc_score(labels, scores):.3f}" for scores in both)])
    return rows


def _probability(result: Judged) -> np.ndarray:
    return result.probability


def _score(result: Judged) -> np.ndarray:
    return result.score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--split", choices=["choose", "report"], default="report")
    parser.add_argument("--edits", type=int, default=150, help="edits of each kind and source")
    parser.add_argument("--only", help="only rows whose name begins with this")
    parser.add_argument(
        "--verbose", action="store_true", help="print edits that were missed and alarms that were false"
    )
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    folder = Path(settings.data)
    groups = {
        kind: [pair for pairs in by_source.values() for pair in pairs]
        for kind, by_source in edits(sources(folder), settings.split, settings.edits).items()
    } | paraphrases(folder, settings.split)
    chosen = {name: pairs for name, pairs in groups.items() if name.startswith(settings.only or "")}
    results = {name: judged(pairs) for name, pairs in chosen.items() if pairs}
    rows = [row(name, chosen[name], result, settings.verbose) for name, result in results.items()]
    print(f"whymatch {wm.__version__}, {settings.split}: % of pairs that contradict each other\n")
    print(table(["pairs", "number of pairs", "contradict", "by the model", "by rules", *KINDS], rows), "\n")
    print("Human paraphrases rather than edits, area under the curve\n")
    print(table(["edits", "probability of the model", "1 where rules find a conflict"], auc_rows(results)))


if __name__ == "__main__":
    main()
