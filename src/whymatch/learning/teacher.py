"""A trained ranker whose scores another one learns from."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from whymatch.matching.ranker import Ranker
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document, document
from whymatch.text.spans import splitter


class Teacher:
    """It reads texts in spans of its own, such as whole ones, and does not learn."""

    def __init__(self, folder: str | Path, device: torch.device) -> None:
        model = from_pretrained(folder)
        if not isinstance(model, Ranker):
            raise ValueError(f"[loss] teacher is a ranker, and {folder} holds a {model.kind}.")
        self.model = model.to(device)
        self.split = splitter(model.split)
        self.texts: dict[str, Document] = {}

    def scores(self, pairs: Sequence[tuple[Document, Document]]) -> Tensor:
        """(pairs), high is good."""
        with torch.no_grad():
            return self.model([(self.read(left), self.read(right)) for left, right in pairs]).score

    def read(self, text: Document) -> Document:
        """The text in the teacher's spans."""
        if text.text not in self.texts:
            self.texts[text.text] = document(text.text, self.split)
        return self.texts[text.text]
