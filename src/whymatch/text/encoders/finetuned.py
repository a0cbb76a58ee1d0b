"""A sentence model that learns as a whole."""

import json
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from whymatch.text.encoders.models import MINILM, locate, short
from whymatch.text.encoders.modules import LIMITS, MODULES, read_pooling
from whymatch.text.encoders.network import load_own
from whymatch.text.encoders.sentence import pooled
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.spans import Span


class FineTuned(TrainableEncoder):
    """As `SentenceEncoder`, with a copy of the model of its own, whose weights learn."""

    contextual = False
    tuned = True

    def __init__(self, model: str | Path = MINILM, *, device: str | None = None, download: bool = False) -> None:
        super().__init__()
        folder = locate(model, download=download)
        self.pooling = read_pooling(folder)
        if self.pooling.learned:
            raise ValueError(f"{model} has a Dense layer, which is not trained here. Use a model without it.")
        self.network = load_own(folder, device)
        self.model = self.network.model
        self.size = int(self.model.config.hidden_size)
        self.name = f"{short(model)}, fine-tuned"
        self.eval()  # as the network comes

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        pieces = [[text[start:end] for start, end in some] for text, some in zip(texts, spans, strict=True)]
        distinct = list(dict.fromkeys(piece for some in pieces for piece in some))
        vectors = pooled(self.network, distinct, self.pooling)
        number = {piece: i for i, piece in enumerate(distinct)}
        return [vectors[[number[piece] for piece in some]] for some in pieces]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return self.network.token_counts(texts)

    def write(self, folder: Path) -> None:
        """A model that this class, `SentenceEncoder` and sentence-transformers read."""
        self.network.write(folder)
        kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
        modules = [
            {"idx": i, "name": str(i), "path": place, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, place) in enumerate(kinds.items())
            if kind != "Normalize" or self.pooling.unit
        ]
        by_mean = self.pooling.by_mean
        ways = {"pooling_mode_mean_tokens": by_mean, "pooling_mode_cls_token": not by_mean}
        (folder / "1_Pooling").mkdir(exist_ok=True)
        for name, values in (
            (MODULES, modules),
            ("1_Pooling/config.json", {"word_embedding_dimension": self.size, **ways}),
            (LIMITS, {"max_seq_length": min(self.pooling.room, self.network.room)}),
        ):
            (folder / name).write_text(json.dumps(values))
