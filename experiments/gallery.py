"""The paper's figures 8 and 9: example rationales, the same two texts under every constraint and under attention."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import torch

from whymatch.datasets.catalog import SOURCES
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, as_pair
from whymatch.learning.tasks import spans_in
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend
from whymatch.matching.saving import from_pretrained
from whymatch.show.gallery import page
from whymatch.show.words import in_words
from whymatch.text.document import Document
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo

SEED = 0
MARGIN = 0.45  # of the threshold below the neutral cost, where the aligner knows none


@dataclass(frozen=True)
class Examples:
    """The examples of a data set: how many, the k of exact k, and the most spans of a text that is read easily."""

    name: str
    title: str
    about: str
    task: Literal["rank", "classify"]
    spans: str
    k: int
    number: int
    longest: int

    @property
    def licence(self) -> str:
        return next(source.licence for source in SOURCES if source.name == self.name)


SETS = (
    Examples("stackexchange", "StackExchange", "A question and one that asks the same.", "rank", "sentence", 2, 3, 9),
    Examples("multinews", "MultiNews", "Two articles on one event.", "rank", "sentence", 6, 2, 10),
    Examples("esnli", "e-SNLI", "A premise and a hypothesis.", "classify", "word", 3, 6, 18),
    Examples("multirc", "MultiRC", "A question with an answer, and a document.", "classify", "sentence", 2, 2, 14),
)
ABOUT = """
Each pair of texts under five rules; the small pictures show which pairs of spans a rule links. A constraint says how
many links there are before it sees a text. Attention gives weight to nearly every pair: cut to those that the paper
calls active, it still has to be searched for the reason.
""".strip()
TEMPERATURE = 0.1  # of attention: the one of the paper's three that does best here
ATTENTION = "pairs whose attention, in either direction, exceeds 0.01 / (n·m), the paper's threshold for active ones"


def gallery(data: Path, model: Path | None = None) -> str:
    """The page of examples from the test splits of the prepared data sets in a folder."""
    trained = None if model is None else from_pretrained(model)
    sets = [examples for examples in SETS if (data / examples.name).is_dir()]
    if not sets:
        names = ", ".join(examples.name for examples in SETS)
        raise ValueError(
            f"{data} holds none of {names}: `whymatch data prepare NAME --from … --out {data}/NAME` makes one."
        )
    encoder = "all-MiniLM-L6-v2, untrained"
    if trained is not None:
        encoder, sets = trained.encoder.name, [examples for examples in sets if suits(trained, examples)]
        if not sets:
            kind = f"a {trained.kind} of {trained.aligner.spans} spans"
            raise ValueError(f"The model in {model} is {kind}, and {data} has nothing for one.")
    return page(
        [group(examples, data, trained) for examples in sets], "Example rationales", f"{ABOUT} Encoder: {encoder}."
    )


def suits(model: Ranker | Classifier, examples: Examples) -> bool:
    """Whether a trained model does what a data set asks for."""
    return (examples.task == "rank") == isinstance(model, Ranker) and model.aligner.spans == examples.spans


def group(examples: Examples, data: Path, model: Ranker | Classifier | None) -> dict[str, Any]:
    """The examples of one data set."""
    records = read_split(data / examples.name, "test", examples.task, examples.spans)
    pairs = choose([as_pair(record) for record in records], examples)
    aligner = Aligner(examples.spans) if model is None else model.aligner
    shown = []
    for number, pair in enumerate(pairs, start=1):
        title = f"{examples.title} {number}" + (f": {pair.label}" if pair.label else "")
        if isinstance(model, Classifier):
            title += f", predicted {model.predict([(pair.left, pair.right)])[0].label}"
        shown.append(example(pair, title, aligner, examples.k))
    drawn = f"{len(pairs)} of {len(records):,} in the test split, by seed {SEED}."
    about = f"{examples.about} {drawn} Licence: {examples.licence}."
    return {"title": examples.title, "about": about, "examples": shown}


def choose(pairs: Sequence[Pair], examples: Examples) -> list[Pair]:
    """So many pairs by chance, every label in turn: those of a suitable length, before any other."""
    drawn = random.Random(SEED).sample(pairs, len(pairs))

    def unsuitable(pair: Pair) -> bool:
        sizes = len(pair.left), len(pair.right)
        return min(sizes) < examples.k or max(sizes) > examples.longest

    by_label: dict[str, list[Pair]] = {}
    for pair in sorted(drawn, key=unsuitable):
        if len(pair.left) and len(pair.right):
            by_label.setdefault(str(pair.label), []).append(pair)
    rounds = zip_longest(*(by_label[label] for label in sorted(by_label)))
    return [pair for pairs_of_labels in rounds for pair in pairs_of_labels if pair is not None][: examples.number]


def example(pair: Pair, title: str, aligner: Aligner, k: int) -> dict[str, Any]:
    """One pair of texts under every rule, as the page takes it; exact k is shown first."""
    below = aligner.below if aligner.below is not None else aligner.cost.neutral - MARGIN
    constraints: list[Constraint] = [Exactly(k), UpTo(1, below=below), OneTo(1), Balanced()]
    texts = (pair.left, pair.right)
    rules = [by_constraint(aligner.align_many([texts], constraint, clip=True)[0]) for constraint in constraints]
    rules.append(by_attention(texts, aligner))
    marks = (pair.left_rationale, pair.right_rationale)
    sides = {
        side: {
            "text": text.text,
            "spans": [[*span] for span in text.spans],
            "marked": spans_in(text, marked or ()),
        }
        for side, text, marked in zip(("left", "right"), texts, marks, strict=True)
    }
    return {"title": title, "chosen": 0, "rules": rules, **sides}


def by_constraint(why: Alignment) -> dict[str, Any]:
    links = [[*link.at, link.share] for link in why.links]
    name = repr(why.constraint).replace("k=", "").replace("below=", "below ")
    return {"name": name, "words": f"{in_words(why.to_dict())}.".capitalize(), "links": links}


def by_attention(texts: tuple[Document, Document], aligner: Aligner) -> dict[str, Any]:
    """Attention in both directions, cut to its active pairs, strongest first."""
    cost = torch.from_numpy(aligner.costs([texts])[0])
    rule, sizes = Attend(TEMPERATURE), torch.tensor([[len(text) for text in texts]])
    active, weights = rule.active(cost[None], sizes)[0], rule.weights(cost[None], sizes)[0]
    links = [[i, j, float(weights[i, j])] for i, j in active.nonzero().tolist()]
    links.sort(key=lambda link: (-link[2], link))
    return {"name": f"attention, T = {TEMPERATURE:g}", "words": f"{ATTENTION}.".capitalize(), "links": links}
