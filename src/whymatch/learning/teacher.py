"""A trained ranker whose scores another one learns from."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Query
from whymatch.learning.tasks import in_pieces
from whymatch.matching.ranker import Ranker
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document


class Teacher:
    """It reads texts in spans of its own, such as whole ones, and does not learn."""

    def __init__(self, folder: str | Path) -> None:
        try:
            model = from_pretrained(folder)
        except ValueError as error:
            raise ValueError(f"[loss] teacher is the folder of a trained ranker: {error}") from None
        if not isinstance(model, Ranker):
            raise ValueError(f"[loss] teacher is a ranker, and {folder} holds a {model.kind}.")
        self.model = model
        self.texts: dict[Document, Document] = {}

    def read(self, data: str | Path, queries: Sequence[Query]) -> None:
        """Reads the training queries of a data set again, in its own spans, as it did when it learned."""
        for ours, its in zip(queries, read_split(data, "train", "rank", self.model.split), strict=True):
            assert isinstance(its, Query)
            self.texts |= zip((ours.query, *ours.documents), (its.query, *its.documents), strict=True)

    def scores(self, pairs: Sequence[tuple[Document, Document]]) -> Tensor:
        """(pairs), high is good; as many at once as fit in memory."""
        its = [(self.texts[left], self.texts[right]) for left, right in pairs]
        found = torch.zeros(len(pairs), device=self.model.device)
        with torch.no_grad():
            for rows in in_pieces(its):
                found[rows] = self.model([its[row] for row in rows]).score
        return found
