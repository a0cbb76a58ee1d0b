"""Calibrates and measures the adapter that reads relations: one command, one table.

    python -m experiments.relation_results --data DATA --wordnet FOLDER --weights FILE --out FOLDER

Writes FOLDER/weights.safetensors in half precision and card.json, and prints the table. The temperature is fitted on
the quarter of e-SNLI dev that is not trained on. The threshold of `contradicts` is the lowest that calls so at most 1%
of harmless edits of that quarter's sentences, of made ones and of training sentences, and at most 2% of the human
paraphrases of MTRef's train part. Everything else is measured on sentences, names, opposites and templates that are not
trained on.
"""

import argparse
import gzip
import json
import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

from experiments.edits import CONTRADICTING, HARMLESS, edited
from experiments.edits.lexicon import Lexicon
from experiments.edits.made import statement
from experiments.edits.rearranged import rearranged_pair
from experiments.edits.roles import made_pair
from experiments.edits.wordnet import WordNet
from experiments.relation_card import card
from experiments.relation_pairs import Label, edinburgh, mtref, own_texts, paws, snli_dev, snli_test
from whymatch.files import write_whole
from whymatch.matching.entailing import Entailment
from whymatch.matching.relations import RELATIONS, chosen, combined

_PER_KIND = 50  # edits of a kind for each source
_MAX_WORDS = 40
_MAX_FALSE_ALARMS = 0.01  # of harmless edits on which the threshold is chosen
_MAX_CONTRADICTING_PARAPHRASES = 0.02  # of human paraphrases, likewise: some of them do contradict each other
_PARAPHRASES = 800
_CONTRADICTS = RELATIONS.index("contradicts")
_ISTS = {
    "EQUI": "same",
    "SPE1": "implies",
    "SPE2": "implied",
    "OPPO": "contradicts",
    "SIMI": "related",
    "REL": "related",
}
_LABEL_NUMBERS = {Label.ENTAILS: 0, Label.NEUTRAL: 1, Label.CONTRADICTS: 2}


_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Calibrated:
    """A network with what turns its logits into relations."""

    network: Entailment
    temperature: float
    contradicts_from: float

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        forward, backward = (self.network.logits(way) for way in (pairs, [(right, left) for left, right in pairs]))
        return combined(forward / self.temperature, backward / self.temperature)

    def names(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        return [RELATIONS[number] for number in chosen(self.probabilities(pairs), self.contradicts_from)]

    def scores(self, groups: Mapping[_Key, Sequence[tuple[str, str]]]) -> dict[_Key, np.ndarray]:
        """The probability of `contradicts` for the pairs of each group."""
        return {name: self.probabilities(pairs)[:, _CONTRADICTS] for name, pairs in groups.items()}


def edits_by_kind(
    kinds: Sequence[str], sources: Mapping[str, Sequence[str]], lexicon: Lexicon, seed: int
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """For each kind of edit and each source, sentences with their edited form."""
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for kind in kinds:
        for source, texts in sources.items():
            rng = random.Random(f"{seed} {kind} {source}")
            usable = [text.strip() for text in texts if 3 <= len(text.split()) <= _MAX_WORDS]
            pairs[kind, source] = own = []
            for text in rng.sample(usable, len(usable)):
                if changed := edited(kind, text, rng, lexicon):
                    own.append((text, changed))
                if len(own) == _PER_KIND:
                    break
    return pairs


def test_sources(data: Path, lexicon: Lexicon) -> dict[str, list[str]]:
    """Sentences that are not trained on, by where they come from."""
    rng = random.Random(1)
    captions = [text for example in snli_test(data) for text in (example.left, example.right)]
    return {
        "captions": [*dict.fromkeys(captions)],
        "encyclopedia": [example.left for example in paws(data)[1]],
        "news": [text for example in mtref(data, "dev") for text in (example.left, example.right)],
        "written for whymatch": [sentence for text in own_texts("test") for sentence in text],
        "posts": _posts(data, rng),
        "templates": [*dict.fromkeys(statement(rng, lexicon) for _ in range(2000))],
    }


def _posts(data: Path, rng: random.Random) -> list[str]:
    """Sentences of StackExchange's posts."""
    files = sorted((data / "stackexchange" / "cqadupstack").rglob("*.jsonl*"))
    texts = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            texts += [str(json.loads(line).get("text", "")) for line in lines]
    sentences = [s for text in rng.sample(texts, min(len(texts), 3000)) for s in re.split(r"(?<=[.?!])\s+|\n+", text)]
    return [
        s for s in sentences if 4 <= len(s.split()) <= _MAX_WORDS and re.fullmatch(r"[A-Z][\w\s,.'\"()%$-]+[.?!]", s)
    ]


def ists(data: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Gold aligned chunks of iSTS with their relation, by source."""
    chunks: dict[str, list[tuple[str, str, str]]] = {}
    for file in sorted((data / "ists").glob("train.*.wa.gz")):
        own = chunks.setdefault(file.name.split(".")[1], [])
        for line in gzip.decompress(file.read_bytes()).decode("utf-8").splitlines():
            if match := re.match(r"[\d ]+<==> [\d ]+// (\w+) // \S+ // (.+?) <==> (.+)$", line):
                kind = match.group(1).split("_")[0]
                if kind in _ISTS:
                    own.append((match.group(2).strip(), match.group(3).strip(), _ISTS[kind]))
    return chunks


def calibrated(network: Entailment, data: Path, lexicon: Lexicon) -> Calibrated:
    """Fits the temperature on the quarter of e-SNLI dev that is not trained on, and chooses the threshold."""
    held_out = snli_dev(data)[1]
    logits = torch.from_numpy(network.logits([(example.left, example.right) for example in held_out]))
    labels = torch.tensor([_LABEL_NUMBERS[example.label] for example in held_out])

    def loss(log_temperature: float) -> float:
        return float(torch.nn.functional.cross_entropy(logits / np.exp(log_temperature), labels))

    temperature = float(np.exp(minimize_scalar(loss, bounds=(-1.0, 1.5), method="bounded").x))
    rng = random.Random(2)
    sentences = {
        "captions": [*dict.fromkeys(text for e in held_out for text in (e.left, e.right))],
        "templates": [*dict.fromkeys(statement(rng, lexicon) for _ in range(1000))],
        "encyclopedia": [example.left for example in paws(data)[0]],
        "written for whymatch": [sentence for text in own_texts("train") for sentence in text],
    }
    harmless = edits_by_kind([*HARMLESS], sentences, lexicon, seed=2)
    pairs = [pair for own in harmless.values() for pair in own]
    human = [(example.left, example.right) for example in random.Random(2).sample(mtref(data, "train"), _PARAPHRASES)]
    scores = Calibrated(network, temperature, 0.5).scores({"harmless": pairs, "human": human})
    limits = {"harmless": _MAX_FALSE_ALARMS, "human": _MAX_CONTRADICTING_PARAPHRASES}
    threshold = max(float(np.quantile(scores[kind], 1 - share)) for kind, share in limits.items())
    return Calibrated(network, round(temperature, 4), round(max(threshold, 0.5), 4))


def measured(model: Calibrated, data: Path, lexicon: Lexicon) -> dict[str, Any]:
    """All numbers of the table."""
    results: dict[str, Any] = {"temperature": model.temperature, "contradicts from": model.contradicts_from}
    test = snli_test(data)
    logits = model.network.logits([(example.left, example.right) for example in test])
    right = logits.argmax(axis=1) == [_LABEL_NUMBERS[example.label] for example in test]
    results["SNLI test, accuracy"] = float(np.mean(right))
    sources = test_sources(data, lexicon)
    edits = edits_by_kind([*CONTRADICTING], sources, lexicon, seed=3)
    rng = random.Random(4)
    made = [made_pair(rng, lexicon) for _ in range(8 * _PER_KIND)]
    edits["role swap", "made"] = [(left, right) for left, right, swapped in made if swapped]
    rearranged = [rearranged_pair(rng, lexicon) for _ in range(8 * _PER_KIND)]
    edits["rearranged", "made"] = [(left, right) for left, right, contradicts in rearranged if contradicts]
    harmless = edits_by_kind([*HARMLESS], sources, lexicon, seed=5)
    harmless["rearranged", "made"] = [(left, right) for left, right, contradicts in rearranged if not contradicts]
    harmless["active and passive", "made"] = [(left, right) for left, right, swapped in made if not swapped]
    harmless["identical", "all"] = [(text, text) for texts in sources.values() for text in rng.sample(texts, _PER_KIND)]
    human = {
        name: [(example.left, example.right) for example in own]
        for name, own in (("MTRef dev", mtref(data, "dev")), ("Edinburgh++ test", edinburgh(data, "test")))
    }
    of_edits, of_harmless, of_human = (model.scores(groups) for groups in (edits, harmless, human))
    results["edits called contradicts"] = _shares(of_edits, model.contradicts_from)
    results["harmless edits called contradicts"] = _shares(of_harmless, model.contradicts_from)
    results["paraphrases called contradicts"] = {
        name: float(np.mean(scores >= model.contradicts_from)) for name, scores in of_human.items()
    }
    results["AUC, paraphrase rather than edit"] = _auc(of_human, of_edits)
    results["PAWS, a fifth, accuracy"] = _paws(model, data)
    results["iSTS, relations of gold chunks"] = _ists(model, data)
    return results


def _shares(scores: Mapping[tuple[str, str], np.ndarray], threshold: float) -> dict[str, dict[str, Any]]:
    """For each kind: the share from a threshold on in all and by source, with the numbers of pairs."""
    shares: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(kind for kind, _ in scores):
        own = {source: values for (other, source), values in scores.items() if other == kind and len(values)}
        every = np.concatenate([*own.values()])
        by_source = {source: [float(np.mean(values >= threshold)), len(values)] for source, values in own.items()}
        shares[kind] = {"pairs": len(every), "all": float(np.mean(every >= threshold)), "by source": by_source}
    return shares


def _auc(human: Mapping[str, np.ndarray], edits: Mapping[tuple[str, str], np.ndarray]) -> dict[str, float]:
    """That a human paraphrase has a lower probability of contradiction than an edit, for each kind of edit and all."""
    paraphrases = np.concatenate([*human.values()])
    by_kind = {kind: [own for (other, _), own in edits.items() if other == kind] for kind, _ in edits}
    groups = by_kind | {
        "number, name and negation": [own for kind in ("number", "name", "negation") for own in by_kind[kind]],
        "all": [*edits.values()],
    }
    return {
        kind: float(roc_auc_score(np.repeat([0, 1], [len(paraphrases), len(own)]), np.append(paraphrases, own)))
        for kind, own in ((kind, np.concatenate(own)) for kind, own in groups.items())
    }


def _paws(model: Calibrated, data: Path) -> dict[str, float]:
    """Paraphrase or not, by the probability of `same`; its threshold comes from pairs that are trained on."""
    train, test = paws(data)
    train = random.Random(6).sample(train, 400)
    scores = [model.probabilities([(e.left, e.right) for e in own])[:, 0] for own in (train, test)]
    labels = [np.array([e.label == Label.ENTAILS for e in own]) for own in (train, test)]
    thresholds = np.linspace(0.02, 0.98, 49)
    best = max(thresholds, key=lambda threshold: np.mean((scores[0] >= threshold) == labels[0]))
    return {
        "accuracy": float(np.mean((scores[1] >= best) == labels[1])),
        "at 0.5": float(np.mean((scores[1] >= 0.5) == labels[1])),
        "AUC": float(roc_auc_score(labels[1], scores[1])),
        "threshold": float(best),
    }


def _ists(model: Calibrated, data: Path) -> dict[str, Any]:
    accuracy: dict[str, Any] = {}
    for source, chunks in ists(data).items():
        names = model.names([(left, right) for left, right, _ in chunks])
        accuracy[source] = float(np.mean([name == gold for name, (_, _, gold) in zip(names, chunks, strict=True)]))
        for relation in RELATIONS:
            own = [name == gold for name, (_, _, gold) in zip(names, chunks, strict=True) if gold == relation]
            accuracy[f"{source}, {relation}"] = [float(np.mean(own)) if own else None, len(own)]
    return accuracy


def table(results: Mapping[str, Any]) -> str:
    """The results as a Markdown table."""
    rows = [("SNLI test, accuracy", f"{results['SNLI test, accuracy']:.1%}")]
    for name in ("edits called contradicts", "harmless edits called contradicts"):
        for kind, own in results[name].items():
            sources = ", ".join(f"{source} {share:.0%}" for source, (share, count) in own["by source"].items() if count)
            rows.append((f"{name}: {kind}", f"{own['all']:.1%} of {own['pairs']} ({sources})"))
    rows += [
        (f"paraphrases called contradicts: {k}", f"{v:.1%}")
        for k, v in results["paraphrases called contradicts"].items()
    ]
    auc = results["AUC, paraphrase rather than edit"]
    rows.append(("AUC, paraphrase rather than edit", ", ".join(f"{kind} {value:.3f}" for kind, value in auc.items())))
    rows.append(("PAWS, a fifth", ", ".join(f"{k} {v:.3f}" for k, v in results["PAWS, a fifth, accuracy"].items())))
    for key, value in results["iSTS, relations of gold chunks"].items():
        rows.append(
            (f"iSTS: {key}", f"{value:.1%}" if isinstance(value, float) else f"{value[0] or 0:.1%} of {value[1]}")
        )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of WordNet's database files")
    parser.add_argument("--weights", type=Path, required=True, help="weights.safetensors of a run")
    parser.add_argument("--out", type=Path, required=True, help="folder for what ships")
    parser.add_argument("--trained-by", default="python -m experiments.relations", help="the command, for the card")
    settings = parser.parse_args()
    wordnet = WordNet.read(settings.wordnet)
    settings.out.mkdir(parents=True, exist_ok=True)
    weights = settings.out / "weights.safetensors"
    save_file({name: weight.half() for name, weight in load_file(settings.weights).items()}, weights)
    network = Entailment(weights)
    model = calibrated(network, settings.data, Lexicon("train", wordnet))
    print(f"temperature {model.temperature:.3f}, contradicts from {model.contradicts_from:.3f}", flush=True)
    results = measured(model, settings.data, Lexicon("test", wordnet))
    described = card(weights, settings.trained_by, model.temperature, model.contradicts_from, results)
    write_whole(settings.out / "card.json", json.dumps(described, indent=1, ensure_ascii=False) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
