"""From settings to a trained model on disk."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from whymatch.datasets.eraser import read_eraser
from whymatch.datasets.jsonl import read_pairs, read_queries
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.classification import macro_f1
from whymatch.evaluation.ranking import average_precision
from whymatch.learning.fit import Fitting
from whymatch.learning.losses import combined, contrastive, rationale
from whymatch.learning.settings import Settings
from whymatch.matching.classifier import Classifier
from whymatch.matching.costs import COSTS
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.text.document import Document
from whymatch.text.encoders.finetuned import FineTuned
from whymatch.text.encoders.projected import Projected
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.word import WordEncoder
from whymatch.text.spans import Span, overlaps, splitter, words
from whymatch.text.vectors import read_vectors

AT_ONCE = 64  # pairs in a batch of validation
FREE = ("epochs", "patience")  # what may change when a run goes on


@dataclass(frozen=True)
class Run:
    """What a run came to: the choices it was made with, and how good it is on validation."""

    settings: Settings
    validation: float
    folder: Path


def train(
    runs: Sequence[Settings], folder: str | Path, *, resume: bool = False, report: Callable[[str], None] = print
) -> Run:
    """Trains every run, keeps the model that validation prefers in `folder/model`, and writes what was tried."""
    folder = Path(folder)
    if not resume and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds a run already. Use --resume to go on with it, or another folder.")
    done = []
    for number, settings in enumerate(runs):
        place = folder if len(runs) == 1 else folder / f"run-{number}"
        report(f"{place}: {settings.task} with {settings.rule.constraint or settings.rule.attention}")
        done.append(train_one(settings, place, resume=resume, report=report))
    best = max(done, key=lambda run: run.validation)
    load_best(best).save_pretrained(folder / "model")
    tried = [
        {"folder": str(run.folder), "validation": run.validation, "settings": asdict(run.settings)} for run in done
    ]
    (folder / "report.json").write_text(json.dumps({"chosen": str(best.folder), "tried": tried}, indent=1))
    return best


def load_best(run: Run) -> Any:
    kind = Ranker if run.settings.task == "rank" else Classifier
    return kind.from_pretrained(run.folder / "best")


def train_one(settings: Settings, folder: Path, *, resume: bool, report: Callable[[str], None]) -> Run:
    """One run, with its checkpoints; the best weights end in `folder/best`."""
    torch.manual_seed(settings.schedule.seed)
    train_split, validation = (read(settings, split) for split in ("train", "val"))
    check(settings, train_split, validation)
    remember(settings, folder, len(train_split), resume)
    model = build(settings, train_split, validation)
    if isinstance(model.encoder, Projected):
        texts = all_texts([*train_split, *validation])
        report(f"encoding {len(texts):,} texts, once")
        model.encoder.encode([text.text for text in texts], [text.spans for text in texts])
    if isinstance(model, Ranker):
        loss: Any = partial(rank_loss, model, settings)
        score: Any = partial(rank_score, model, validation)
    else:
        loss = partial(classify_loss, model, settings)
        score = partial(classify_score, model, validation)
    fitting: Fitting[Any] = Fitting(model, loss, score, settings.schedule, folder, report)
    best = fitting.run(train_split, resume=resume)
    model.save_pretrained(folder / "best")
    return Run(settings, best, folder)


def check(settings: Settings, train_split: Sequence[Any], validation: Sequence[Any]) -> None:
    """Raises for records that could not be learned from or chosen by, before any work."""
    if not validation:
        raise ValueError("The validation split is empty: there is nothing to choose by.")
    labels = {record.label for record in train_split if isinstance(record, Pair)}
    for record in [*train_split, *validation]:
        if isinstance(record, Query) and not (any(record.relevant) and not all(record.relevant)):
            raise ValueError(f"Query {record.id} needs a similar and a dissimilar document.")
        if isinstance(record, Pair) and (record.label is None or record.label not in labels):
            raise ValueError(f"Pair {record.id} has the label {record.label!r}, which is not in the training split.")
    marked = [
        record
        for record in train_split
        if isinstance(record, Pair) and (record.left_rationale or record.right_rationale)
    ]
    if settings.loss.alpha is not None and not marked:
        raise ValueError("[loss] alpha supervises rationales, and the training split has none. Leave alpha out.")


def remember(settings: Settings, folder: Path, items: int, resume: bool) -> None:
    """Writes what a run is made with, and refuses to go on with one that was made otherwise; it may run longer."""
    now = json.loads(json.dumps({**asdict(settings), "items": items}))
    file = folder / "settings.json"
    if resume and file.is_file():
        before = json.loads(file.read_text())
        for values in (before, now):
            values["schedule"] = {key: value for key, value in values["schedule"].items() if key not in FREE}
        changed = [key for key in now if now[key] != before.get(key)]
        if changed:
            raise ValueError(f"{folder} was begun with other settings: {', '.join(changed)}. Use another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**asdict(settings), "items": items}, indent=1))


def read(settings: Settings, split: str) -> list[Any]:
    """The records of one split: ERASER's layout where there is a docs folder, ours otherwise."""
    folder = Path(settings.data)
    if settings.task == "rank":
        return list(read_queries(folder, split, splitter(settings.spans)))
    if (folder / "docs").is_dir():
        return list(read_eraser(folder, split))
    return list(read_pairs(folder, split, splitter(settings.spans)))


def build(settings: Settings, train_split: Sequence[Any], validation: Sequence[Any]) -> Ranker | Classifier:
    """The model that the settings describe, with the labels of the training split and the words of every split."""
    chosen = settings.encoder
    learner: Any
    if chosen.kind == "recurrent":
        assert chosen.vectors is not None
        test = read(settings, "test") if any(Path(settings.data).glob("test.jsonl*")) else []
        texts = all_texts([*train_split, *validation, *test])
        known = {text.text[a:b] for text in texts for a, b in words(text.text)}
        vectors = read_vectors(chosen.vectors, keep=known)
        in_context = settings.spans == "word"
        learner = RecurrentEncoder(
            vectors,
            chosen.hidden,
            chosen.layers,
            in_context=in_context,
            dropout=chosen.dropout,
            seed=settings.schedule.seed,
        )
    elif chosen.kind == "fine-tuned":
        learner = FineTuned(chosen.model) if chosen.model else FineTuned()
    else:
        kind: Any = WordEncoder if settings.spans == "word" else SentenceEncoder
        base = kind(chosen.model) if chosen.model else kind()
        learner = Projected(base, base.size, chosen.dropout)
    rule, cost = settings.rule.build(), COSTS[settings.cost]
    if settings.task == "rank":
        assert isinstance(rule, Transport)
        return Ranker(learner, rule.constraint, cost, split=settings.spans)
    labels = sorted({record.label for record in train_split})
    return Classifier(
        learner, rule, labels, cost, split=settings.spans, hidden=settings.hidden, dropout=settings.dropout
    )


def all_texts(records: Sequence[Pair | Query]) -> list[Document]:
    found: dict[Document, None] = {}
    for record in records:
        texts = (record.left, record.right) if isinstance(record, Pair) else (record.query, *record.documents)
        found.update(dict.fromkeys(texts))
    return list(found)


def rank_loss(model: Ranker, settings: Settings, queries: Sequence[Query]) -> Tensor:
    """The hinge between each similar document and the worst of the dissimilar ones that are drawn for it."""
    pairs, width = [], settings.loss.negatives
    for query in queries:
        good = [text for text, similar in zip(query.documents, query.relevant, strict=True) if similar]
        bad = [text for text, similar in zip(query.documents, query.relevant, strict=True) if not similar]
        drawn = [bad[int(torch.randint(len(bad), ()))] for _ in range(width)] if len(bad) > width else bad
        chosen = good[int(torch.randint(len(good), ()))]
        pairs += [(query.query, text) for text in [chosen, *drawn, *[drawn[-1]] * (width - len(drawn))]]
    scores = model(pairs).score.view(len(queries), width + 1)
    return contrastive(scores[:, 0], scores[:, 1:], settings.loss.margin)


def rank_score(model: Ranker, queries: Sequence[Query]) -> float:
    """Mean average precision."""
    values = []
    for query in queries:
        scores = model([(query.query, text) for text in query.documents]).score
        values.append(average_precision(scores.tolist(), query.relevant))
    return fmean(values)


def classify_loss(model: Classifier, settings: Settings, pairs: Sequence[Pair]) -> Tensor:
    """Cross entropy, with that of the rationales where they are supervised."""
    logits, matched = model.logits([(pair.left, pair.right) for pair in pairs])
    task = torch.nn.functional.cross_entropy(
        logits, torch.tensor([model.labels.index(str(pair.label)) for pair in pairs])
    )
    if settings.loss.alpha is None:
        return task
    assert isinstance(model.rule, Transport)
    soft = Transport(model.rule.constraint, model.rule.smooth, soft=True)
    reasons = []
    for side, texts, marks in (
        (0, [pair.left for pair in pairs], [pair.left_rationale for pair in pairs]),
        (1, [pair.right for pair in pairs], [pair.right_rationale for pair in pairs]),
    ):
        rows = [row for row, mark in enumerate(marks) if mark is not None]
        if rows:
            cost, sizes = matched.cost[rows], matched.sizes[rows]
            gold = torch.zeros(len(rows), cost.shape[1 + side])
            for place, row in enumerate(rows):
                gold[place, spans_in(texts[row], marks[row] or ())] = 1
            reasons.append(rationale(soft.weights(cost, sizes), gold, sizes, model.rule.constraint, side))
    if not reasons:
        return settings.loss.alpha * task
    return combined(task, torch.stack(reasons).mean(), settings.loss.alpha)


def spans_in(text: Document, marked: Sequence[Span]) -> list[int]:
    """The numbers of the spans that overlap what people marked."""
    return sorted({number for some in overlaps(text.spans, marked) for number in some})


def classify_score(model: Classifier, pairs: Sequence[Pair]) -> float:
    """Macro F1."""
    predicted = []
    for start in range(0, len(pairs), AT_ONCE):
        logits, _ = model.logits([(pair.left, pair.right) for pair in pairs[start : start + AT_ONCE]])
        predicted += [model.labels[number] for number in logits.argmax(dim=1).tolist()]
    return macro_f1(predicted, [pair.label for pair in pairs])
