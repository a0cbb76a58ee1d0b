"""Claims checked against the web pages that they cite: which sentences support them, their labels, unsupported words.

    WHYMATCH_DATA=… python -m benchmarks.checking [--words-of tokens_train]

On WiCE: 349 claims of Wikipedia (`claims_dev`) with a page of about 119 sentences each, and 124 parts of claims whose
unsupported words are marked (`tokens_dev`).

**Sentences.** The gold of a claim is several sets of sentences, any of which is right; for a claim without support it
is the empty set. The F1 of a claim is that of the set with the highest, 1 where nothing is found and the empty set is
right; the table has the mean over claims. A baseline finds the sentences whose score reaches a threshold: the cosine
of MiniLM, the share of the claim's words (without function words) that the sentence has, and BM25 over the sentences of
the page. "most k" are the same with a most of k sentences as well. Ours finds the linked spans of `whymatch.check`, and
its threshold is the share of the claim that a span has to add.

**Labels.** Supported, partially supported or not: two thresholds on one number per claim, the highest score of a
sentence for the baselines, and `support` for ours, of the claim as a whole.

Thresholds (and k) are chosen by cross-validation over claims in ten parts: what maximises the mean, or the accuracy, on
nine parts is measured on the tenth. "default" is ours without any threshold fitted.

**By hand.** `checking.jsonl` has 31 claims about six subjects with short sources, written for this benchmark: claims
that are true, mostly in other words, contradicted or made up, and one sentence of which half is made up ("mixed": its
clauses have different verdicts). No rule was chosen by them.

**Words.** F1 over all words of all claims, and the mean F1 of a claim: those that no linked span says, beside those
without a link to the sentence that is nearest by its cosine.
"""

import argparse
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from whymatch.checking.check import Checker, check
from whymatch.checking.evidence import MIN_SHARE, Source, linked_spans, missing_words, stems
from whymatch.checking.findings import Finding
from whymatch.checking.units import Unit
from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.matching.defaults import default_aligner, word_aligner
from whymatch.show.terminal import table
from whymatch.text.document import joined
from whymatch.text.spans import Span, is_blank, words

Row: TypeAlias = Mapping[str, Any]
HAND = Path(__file__).with_suffix(".jsonl")
LABELS = ("not_supported", "partially_supported", "supported")
_FOLDS = 10
_SHARES = np.linspace(0, 0.3, 16)
_MOST = (1, 2, 3, 4, 5, 8, 2000)


def read(path: Path) -> list[Row]:
    """The claims of a file, the blank lines of their pages left out."""
    rows = list[Row]()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            kept = [number for number, sentence in enumerate(row["evidence"]) if not is_blank(sentence)]
            place = {number: new for new, number in enumerate(kept)}
            gold = [{place[number] for number in one if number in place} for one in row["supporting_sentences"]]
            rows.append({**row, "evidence": [row["evidence"][number] for number in kept], "gold": gold})
    return rows


def f1(found: set[int], gold: set[int]) -> float:
    """The F1 of a set of numbers; two empty sets agree."""
    return 2 * len(found & gold) / (len(found) + len(gold)) if found or gold else 1.0


def best_f1(found: Sequence[int], row: Row) -> float:
    """The F1 of sentences that were found, with the set of the gold that suits them best."""
    return max(f1({*found}, gold) for gold in row["gold"])


def cross_validated(values: np.ndarray) -> float:
    """The mean of values (settings, claims), for each claim under the setting that is best on the other parts."""
    parts = np.random.default_rng(0).permutation(values.shape[1]) % _FOLDS
    chosen = np.array(
        [values[values[:, parts != part].mean(axis=1).argmax(), parts == part].sum() for part in range(_FOLDS)]
    )
    return float(chosen.sum() / values.shape[1])


def baselines(row: Row, source: Source, claim: np.ndarray) -> dict[str, np.ndarray]:
    """The scores (sentences) of each baseline, for a claim with this vector."""
    units = source.vectors / np.maximum(np.linalg.norm(source.vectors, axis=1, keepdims=True), 1e-9)
    own = _spoken(row["claim"])
    counted = {word for word in own if word not in FUNCTION_WORDS} or {*own}
    sentences = [_spoken(sentence) for sentence in row["evidence"]]
    overlap = [len(counted & {*sentence}) / len(counted) for sentence in sentences]
    return {
        "MiniLM cosine": units @ (claim / np.linalg.norm(claim)),
        "word overlap": np.array(overlap),
        "BM25": _bm25({*own}, sentences),
    }


def _spoken(text: str) -> list[str]:
    pieces = (text[start:end].casefold() for start, end in words(text))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def _bm25(claim: set[str], sentences: Sequence[Sequence[str]], k: float = 1.2, b: float = 0.75) -> np.ndarray:
    counts = Counter(word for sentence in sentences for word in {*sentence})
    mean = sum(map(len, sentences)) / len(sentences)
    rare = {word: log(1 + (len(sentences) - counts[word] + 0.5) / (counts[word] + 0.5)) for word in claim}
    scores = []
    for sentence in sentences:
        own = Counter(sentence)
        room = k * (1 - b + b * len(sentence) / mean)
        scores.append(sum(rare[word] * own[word] * (k + 1) / (own[word] + room) for word in claim & own.keys()))
    return np.array(scores)


def threshold_f1(rows: Sequence[Row], scores: Sequence[np.ndarray], most: Sequence[int]) -> np.ndarray:
    """(settings, claims): the F1 of the sentences that reach each of 40 thresholds, at most k of them."""
    thresholds = np.unique(np.quantile(np.concatenate([np.sort(own)[-8:] for own in scores]), np.linspace(0, 1, 41)))
    values = np.zeros((len(thresholds) * len(most), len(rows)))
    for number, (row, own) in enumerate(zip(rows, scores, strict=True)):
        order = np.argsort(-own, kind="stable")
        values[:, number] = [
            best_f1([j for j in order[:k].tolist() if own[j] >= threshold], row)
            for threshold in thresholds.tolist()
            for k in most
        ]
    return values


def label_accuracy(labels: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The accuracy and the macro F1 of three labels by two thresholds that are cross-validated."""
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, 61)))
    pairs = [(low, high) for place, low in enumerate(thresholds) for high in thresholds[place:]]
    predicted = np.array([(scores >= low).astype(int) + (scores >= high) for low, high in pairs])
    right = predicted == labels
    parts = np.random.default_rng(0).permutation(len(labels)) % _FOLDS
    chosen = np.zeros(len(labels), int)
    for part in range(_FOLDS):
        best = right[:, parts != part].mean(axis=1).argmax()
        chosen[parts == part] = predicted[best, parts == part]
    return float((chosen == labels).mean()), macro_f1(labels, chosen)


def macro_f1(labels: np.ndarray, chosen: np.ndarray) -> float:
    """The mean of the F1 of each label."""
    both = [((labels == n) & (chosen == n)).sum() for n in range(len(LABELS))]
    each = [(labels == n).sum() + (chosen == n).sum() for n in range(len(LABELS))]
    return float(np.mean([2 * right / max(1, count) for right, count in zip(both, each, strict=True)]))


class Reading:
    """Claims with their pages, read by the checker and by the baselines."""

    def __init__(self, rows: Sequence[Row], checker: Checker) -> None:
        self.rows, self.checker = rows, checker
        self.findings = list[Finding | None]()
        self.shares = np.zeros((len(_SHARES), len(rows)))
        self.scores = list[dict[str, np.ndarray]]()
        for number, row in enumerate(rows):
            (page,), _ = checker.read({"page": joined(row["evidence"])})
            (claim,), _ = checker.read({"claim": joined([row["claim"]])})
            self.scores.append(baselines(row, page, claim.vectors[0]))
            found = checker.findings([Unit(0, Span(0, len(row["claim"])), row["claim"])], [page])
            self.findings.append(found[0][0] if found[0] else None)
            (cost,) = checker.aligner.compare(
                [(claim.document, page.document)], [(claim.vectors, page.vectors)], tails=[(claim.tails, page.tails)]
            )
            own = stems(row["claim"])
            for place, share in enumerate(_SHARES):
                linked = linked_spans(own, page, -cost[0], checker.background, min_share=share)
                self.shares[place, number] = best_f1(linked.spans if linked.adds else (), row)

    def of_sentences(self) -> str:
        """The table of F1 of supporting sentences."""
        rows = []
        for name in self.scores[0]:
            scores = [own[name] for own in self.scores]
            free, limited = (cross_validated(threshold_f1(self.rows, scores, most)) for most in ((2000,), _MOST))
            rows.append([name, f"{free:.3f}", f"{limited:.3f}"])
        default = self.shares[np.abs(_SHARES - MIN_SHARE).argmin()].mean()
        rows += [["whymatch check", f"{cross_validated(self.shares):.3f}", ""]]
        rows += [["whymatch check, default", f"{default:.3f}", ""]]
        return table(["F1 of supporting sentences", "threshold", "most k too"], rows)

    def of_labels(self) -> str:
        """The table of labels."""
        labels = np.array([LABELS.index(row["label"]) for row in self.rows])
        numbers: dict[str, np.ndarray] = {
            name: np.array([own[name].max() for own in self.scores]) for name in self.scores[0]
        }
        numbers["whymatch check"] = np.array([0.0 if one is None else one.support for one in self.findings])
        numbers["whymatch check, coverage alone"] = np.array(
            [0.0 if one is None else one.coverage for one in self.findings]
        )
        most = int(np.bincount(labels).argmax())
        constant = np.full(len(labels), most)
        rows = [["always partially supported", f"{(labels == most).mean():.3f}", f"{macro_f1(labels, constant):.3f}"]]
        rows += [[name, *(f"{value:.3f}" for value in label_accuracy(labels, own))] for name, own in numbers.items()]
        verdicts = Counter[tuple[str, str]](
            (row["label"], "unsupported" if one is None else one.verdict)
            for row, one in zip(self.rows, self.findings, strict=True)
        )
        kinds = ("supported", "contradicted", "unsupported")
        counts = [[label, *(str(verdicts[label, kind]) for kind in kinds)] for label in LABELS]
        return (
            f"{table(['labels', 'accuracy', 'macro F1'], rows)}\n\n{table(['whole claims by verdict', *kinds], counts)}"
        )

    def of_words(self) -> str:
        """The table of unsupported words."""
        methods: dict[str, Callable[[int], list[Span]]] = {
            "words without a link": self._without_link,
            "whymatch check": self._missing,
        }
        rows = []
        for name, method in methods.items():
            both = [self._marked(number, method(number)) for number in range(len(self.rows))]
            right, found, gold = (
                sum(counts) for counts in zip(*((len(a & b), len(a), len(b)) for a, b in both), strict=True)
            )
            mean = sum(f1(a, b) for a, b in both) / len(both)
            rows.append(
                [name, f"{right / max(1, found):.3f}", f"{right / gold:.3f}", f"{2 * right / (found + gold):.3f}"]
            )
            rows[-1].append(f"{mean:.3f}")
        return table(["unsupported words", "precision", "recall", "F1", "mean F1 of a claim"], rows)

    def _missing(self, number: int) -> list[Span]:
        finding = self.findings[number]
        text = self.rows[number]["claim"]
        return [Span(0, len(text))] if finding is None else missing_words(text, finding.said)

    def _without_link(self, number: int) -> list[Span]:
        row = self.rows[number]
        nearest = row["evidence"][int(self.scores[number]["MiniLM cosine"].argmax())]
        why = word_aligner().align_many([(row["claim"], nearest)], links_only=True)[0]
        return [*why.unmatched.left]

    def _marked(self, number: int, spans: Sequence[Span]) -> tuple[set[int], set[int]]:
        """The numbers of the tokens of a claim in these spans, and of those that people marked."""
        row = self.rows[number]
        found, end = set[int](), 0
        for place, token in enumerate(row["claim_tokens"]):
            start = max(end, row["claim"].find(token, end))
            end = start + len(token)
            if any(a < end and start < b for a, b in spans):
                found.add(place)
        return found, {place for place, marked in enumerate(row["non_supported_spans"]) if marked}


def by_hand() -> str:
    """The verdicts of the claims that were written by hand, and of how many that have one the right source is cited."""
    counts, cited, wrong = Counter[tuple[str, str]](), 0, list[str]()
    rows = [json.loads(line) for line in HAND.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        for claim in row["claims"]:
            found = check(claim["text"], row["sources"])
            verdicts = {one.verdict for one in found.claims}
            verdict = verdicts.pop() if len(verdicts) == 1 else "mixed"
            counts[claim["verdict"], verdict] += 1
            names = {one.source for own in found.claims for one in own.citations[:1] if own.verdict != "unsupported"}
            cited += claim["source"] in names
            if verdict != claim["verdict"]:
                wrong.append(f"{claim['text']} {claim['verdict']}, found {verdict}")
    kinds = ("supported", "contradicted", "unsupported", "mixed")
    shown = [[kind, *(str(counts[kind, verdict]) for verdict in kinds)] for kind in kinds]
    sourced = sum(bool(claim["source"]) for row in rows for claim in row["claims"])
    lines = [table(["by hand: is, found", *kinds], shown), f"the right source is cited: {cited} of {sourced}", *wrong]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--words-of", default="tokens_dev", metavar="NAME", help="the file of marked words")
    settings = parser.parse_args()
    if settings.data is None:
        parser.error("No data: name their folder with --data or WHYMATCH_DATA.")
    print(f"{by_hand()}\n", flush=True)
    checker = Checker(default_aligner("sentence"), None)
    folder = Path(settings.data) / "wice"
    print(Reading(read(folder / f"{settings.words_of}.jsonl.gz"), checker).of_words(), flush=True)
    reading = Reading(read(folder / "claims_dev.jsonl.gz"), checker)
    print(f"\n{reading.of_sentences()}\n\n{reading.of_labels()}")


if __name__ == "__main__":
    main()
