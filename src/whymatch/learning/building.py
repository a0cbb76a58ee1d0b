"""The model that settings describe."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from whymatch.cost import Cost, WordCounts
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.learning.sections import TUNED, EncoderSettings, ReaderSettings
from whymatch.learning.settings import NO_COUNTS, Settings
from whymatch.learning.tasks import Teacher
from whymatch.matching.aligner import Aligner
from whymatch.matching.classifier import Classifier
from whymatch.matching.head import LinkReader
from whymatch.matching.ranker import Ranker
from whymatch.text.document import Document
from whymatch.text.encoders.adapter import Adapter
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.models import MINILM, locate
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected, TrainableEncoder
from whymatch.text.encoders.tuned import FineTuned, InContext
from whymatch.text.encoders.tuning import TunedEncoder, start_from
from whymatch.text.spans import words
from whymatch.text.vectors import WordVectors, read_vectors

TEXTS_PER_BATCH = 2048  # texts that are encoded at a time
SECONDS_BETWEEN_WRITES = 60.0  # of vectors, while texts are being encoded


def build(settings: Settings, records: Sequence[Pair | Query]) -> Ranker | Classifier:
    """A model with the labels and word counts of the records that it is trained on and chosen by."""
    counts = WordCounts.of(text.text for text in texts_of(records)) if _counts_words(settings) else None
    vectors = _word_vectors(settings, records)
    weights = None
    if vectors is not None and counts is not None and settings.encoder.rare:
        weights = _word_weights(vectors, counts, settings.encoder.rare)
    encoder = _encoder(settings, settings.encoder, vectors, weights)
    aligner = Aligner(settings.spans, encoder, Cost.from_list(settings.cost, counts))
    rule = settings.rule.build()
    if settings.task == "rank":
        return Ranker(aligner, rule)
    reader = None
    if settings.reader is not None:
        reader = LinkReader(_encoder(settings, settings.reader, vectors), alone=settings.reader.alone)
    labels = sorted({str(record.label) for record in records if isinstance(record, Pair)})
    return Classifier(aligner, rule, labels, reader=reader, hidden=settings.hidden, dropout=settings.dropout)


def _counts_words(settings: Settings) -> bool:
    """Whether its cost or its encoder weighs words by how many texts have them."""
    return bool(settings.encoder.rare) or Cost.from_list(settings.cost, NO_COUNTS).word_counts is not None


def _encoder(
    settings: Settings,
    chosen: EncoderSettings | ReaderSettings,
    vectors: WordVectors | None,
    weights: Tensor | None = None,
) -> TrainableEncoder:
    """An encoder that starts from a model, frozen under a map or tuned, or from word vectors."""
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
    if chosen.kind in TUNED:
        adapter = Adapter(chosen.rank, chosen.last_layers) if chosen.kind == "adapter" else None
        tuned: TunedEncoder
        if chosen.context == "none":
            tuned = FineTuned(model, adapter=adapter)
        else:
            tuned = InContext(model, jointly=chosen.context == "both", adapter=adapter)
        for part in tuned.modules():
            if isinstance(part, nn.Dropout) and chosen.dropout is not None:
                part.p = chosen.dropout
        return tuned
    assert isinstance(chosen, EncoderSettings)
    base: WordEncoder | SentenceEncoder
    if settings.spans == "word" or chosen.context == "text":
        base = WordEncoder(model, layer=chosen.layer)
    else:
        base = SentenceEncoder(model)
    return Projected(base, base.size, chosen.dropout or 0.0, learned=chosen.kind == "projected")


def check_parts(settings: Settings) -> None:
    """Raises where the model, the vectors or the teacher that a run starts from are not there."""
    if settings.loss.teacher is not None:
        Teacher(settings.loss.teacher)
    for chosen in _encoder_tables(settings):
        if chosen.kind in TUNED:
            start = start_from(chosen.model or MINILM)
            if start.adapter is not None and chosen.kind != "adapter":
                raise ValueError(f"{chosen.model} holds an adapter: give [{chosen.table}] kind = 'adapter'.")
        elif chosen.kind != "recurrent":
            locate(chosen.model or MINILM)
        elif not Path(str(chosen.vectors)).exists():
            raise ValueError(f"There are no vectors at {chosen.vectors}.")


def _encoder_tables(settings: Settings) -> list[EncoderSettings | ReaderSettings]:
    """The encoder, and the reader where there is one."""
    return [settings.encoder, *([settings.reader] if settings.reader else [])]


def _word_vectors(settings: Settings, records: Sequence[Pair | Query]) -> WordVectors | None:
    """The vectors of the words that the data set has, those of its test split included, if an encoder reads them."""
    files = [chosen.vectors for chosen in _encoder_tables(settings) if chosen.vectors is not None]
    if not files:
        return None
    test: list[Pair | Query] = []
    if any(Path(settings.data).glob("test.jsonl*")):
        test = read_split(settings.data, "test", settings.task, settings.spans)
    known = {text.text[a:b] for text in texts_of([*records, *test]) for a, b in words(text.text)}
    return read_vectors(files[0], keep=known)


def _word_weights(vectors: WordVectors, counts: WordCounts, power: float) -> Tensor:
    """(vectors): how much each word counts, by its rarity."""
    weights = torch.ones(len(vectors.vectors))
    for word, row in vectors.words.items():
        weights[row] = counts.of_word(word.casefold()) ** power
    return weights


def texts_of(records: Iterable[Pair | Query]) -> list[Document]:
    """Every text of the records, once."""
    distinct: dict[Document, None] = {}
    for record in records:
        texts = (record.left, record.right) if isinstance(record, Pair) else (record.query, *record.documents)
        distinct.update(dict.fromkeys(texts))
    return list(distinct)


def encode_once(
    encoder: Projected,
    texts: Sequence[Document],
    report: Callable[[str], None],
    progress: Callable[[int, int], None],
    cache: VectorCache | None,
) -> None:
    """Leaves the vectors of all texts with the encoder; the cache writes them now and then, and at an interrupt."""
    new = [text for text in texts if encoder.known.get(text.text, text.spans) is None]
    known = f", {len(texts) - len(new):,} more are known" if len(new) < len(texts) else ""
    report(f"encoding {len(new):,} texts, once{known}")
    written = time.monotonic()
    try:
        for start in range(0, len(new), TEXTS_PER_BATCH):
            batch = new[start : start + TEXTS_PER_BATCH]
            encoder.frozen([text.text for text in batch], [text.spans for text in batch])
            progress(start + len(batch), len(new))
            if cache is not None and time.monotonic() - written > SECONDS_BETWEEN_WRITES:
                cache.keep()
                written = time.monotonic()
    finally:
        if cache is not None:
            cache.keep()
