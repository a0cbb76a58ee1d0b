"""The model that settings describe."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.learning.sections import EncoderSettings
from whymatch.learning.settings import Settings
from whymatch.learning.teacher import Teacher
from whymatch.matching.classifier import Classifier
from whymatch.matching.costs import COSTS, blended
from whymatch.matching.ranker import Ranker
from whymatch.matching.rarity import Rarity
from whymatch.matching.reader import Reader
from whymatch.matching.refinement import Refinement
from whymatch.text.document import Document
from whymatch.text.encoders.context import InContext, WordEncoder
from whymatch.text.encoders.models import MINILM, locate
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import FineTuned, SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.spans import words
from whymatch.text.vectors import WordVectors, read_vectors


def build(settings: Settings, records: Sequence[Pair | Query]) -> Ranker | Classifier:
    """A model with the labels of the records that it is trained on and chosen by."""
    vectors = word_vectors(settings, records)
    weights = word_weights(vectors, records, settings.encoder.rare) if vectors and settings.encoder.rare else None
    encoder = learner(settings, settings.encoder, vectors, weights)
    rule, cost = settings.rule.build(), blended(COSTS[settings.cost], settings.neighbours, settings.whole)
    parts: dict[str, Any] = {"split": settings.spans}
    if settings.refine or settings.novelty:
        parts["refinement"] = Refinement(settings.refine, settings.novelty, settings.nearest)
    if settings.rarity or settings.shared:
        every = (text.text for text in texts_of(records))
        parts["rarity"] = Rarity.of_texts(every, settings.rarity, settings.shared)
    if settings.reader is not None:
        parts["reader"] = Reader(learner(settings, settings.reader, vectors), alone=settings.reader.alone)
    if settings.task == "rank":
        return Ranker(encoder, rule, cost, **parts)
    labels = sorted({str(record.label) for record in records if isinstance(record, Pair)})
    return Classifier(encoder, rule, labels, cost, **parts, hidden=settings.hidden, dropout=settings.dropout)


def learner(
    settings: Settings, chosen: EncoderSettings, vectors: WordVectors | None, weights: Tensor | None = None
) -> Any:
    """An encoder that starts from a model, frozen under a map or fine-tuned, or from word vectors."""
    if chosen.kind == "recurrent":
        assert vectors is not None
        return RecurrentEncoder(
            vectors,
            chosen.hidden,
            chosen.layers,
            in_context=settings.spans == "word" or chosen.context == "text",
            dropout=chosen.dropout or 0.0,
            seed=settings.schedule.seed,
            weights=weights,
        )
    model = chosen.model or MINILM
    if chosen.kind == "fine-tuned":
        alone = chosen.context == "none"
        tuned = FineTuned(model) if alone else InContext(model, jointly=chosen.context == "both")
        for part in tuned.modules():
            if isinstance(part, nn.Dropout) and chosen.dropout is not None:
                part.p = chosen.dropout
        return tuned
    if settings.spans == "word" or chosen.context == "text":
        words_or_spans = WordEncoder(model, layer=chosen.layer)
        return Projected(words_or_spans, words_or_spans.size, chosen.dropout or 0.0, learned=chosen.map)
    sentences = SentenceEncoder(model)
    return Projected(sentences, sentences.size, chosen.dropout or 0.0, learned=chosen.map)


def check_parts(settings: Settings) -> None:
    """Raises where the model, the vectors or the teacher that a run starts from are not there."""
    if settings.loss.teacher is not None:
        Teacher(settings.loss.teacher)
    for chosen in parts_of(settings):
        if chosen.kind != "recurrent":
            locate(chosen.model or MINILM)
        elif not Path(str(chosen.vectors)).exists():
            raise ValueError(f"There are no vectors at {chosen.vectors}.")


def parts_of(settings: Settings) -> list[EncoderSettings]:
    """The encoder, and the reader where there is one."""
    return [settings.encoder, *([settings.reader] if settings.reader else [])]


def word_vectors(settings: Settings, records: Sequence[Pair | Query]) -> WordVectors | None:
    """The vectors of the words that the data set has, those of its test split included, if an encoder reads them."""
    files = [chosen.vectors for chosen in parts_of(settings) if chosen.vectors is not None]
    if not files:
        return None
    test: list[Pair | Query] = []
    if any(Path(settings.data).glob("test.jsonl*")):
        test = read_split(settings.data, "test", settings.task, settings.spans)
    known = {text.text[a:b] for text in texts_of([*records, *test]) for a, b in words(text.text)}
    return read_vectors(files[0], keep=known)


def word_weights(vectors: WordVectors, records: Sequence[Pair | Query], power: float) -> Tensor:
    """(vectors): how much each word counts."""
    rare, weights = Rarity.of_texts((text.text for text in texts_of(records)), 1.0), torch.ones(len(vectors.vectors))
    for word, row in vectors.words.items():
        weights[row] = rare.of_word(word.casefold()) ** power
    return weights


def texts_of(records: Iterable[Pair | Query]) -> list[Document]:
    """Every text of the records, once."""
    found: dict[Document, None] = {}
    for record in records:
        texts = (record.left, record.right) if isinstance(record, Pair) else (record.query, *record.documents)
        found.update(dict.fromkeys(texts))
    return list(found)
