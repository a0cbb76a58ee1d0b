"""Deleting what a prediction rests on changes it, and deleting the rest does not."""

from collections.abc import Sequence

import pytest
import torch

import whymatch as wm
from whymatch.evaluation.rationales import faithfulness
from whymatch.learning import Projected, Transport
from whymatch.text.document import Document, joined

NAMES = [f"piece {number}" for number in range(12)]
VECTORS = wm.Precomputed(dict(zip(NAMES, torch.randn(12, 6, generator=torch.Generator().manual_seed(1)), strict=True)))


def test_a_classifier_over_spans_encoded_alone_is_sufficient() -> None:
    torch.manual_seed(0)
    model = wm.Classifier(wm.Aligner("line", Projected(VECTORS, 6)), Transport(wm.Exactly(2)), ["no", "yes"])
    pairs: list[tuple[Document, Document]] = [
        (joined(NAMES[:4]), joined(NAMES[4:9])),
        (joined(NAMES[5:8]), joined(NAMES[8:])),
    ]
    before = model.predict(pairs)
    kept = []
    for prediction in before:
        assert prediction.alignment is not None
        at = [link.at for link in prediction.alignment.links]
        kept.append((sorted({i for i, _ in at}), sorted({j for _, j in at})))

    def predict(texts: Sequence[tuple[Document, Document]]) -> list[float]:
        return [now.probabilities[first.label] for now, first in zip(model.predict(texts), before, strict=True)]

    measures = faithfulness(pairs, kept, predict(pairs), predict)
    assert measures.sufficiency == pytest.approx([0, 0], abs=1e-6)
    assert max(map(abs, measures.comprehensiveness)) > 1e-4


def test_the_measures_are_falls_of_probability() -> None:
    left, right = joined(["a", "b"]), joined(["c", "d"])
    chance = {4: 0.9, 2: 0.5}

    def predict(texts: Sequence[tuple[Document, Document]]) -> list[float]:
        return [chance[len(a) + len(b)] - ("a" in a.text) * 0.1 for a, b in texts]

    measures = faithfulness([(left, right)], [([0], [0])], predict([(left, right)]), predict)
    assert measures.comprehensiveness == pytest.approx([0.8 - 0.5])
    assert measures.sufficiency == pytest.approx([0.8 - 0.4])
    with pytest.raises(ValueError, match="no pairs"):
        faithfulness([], [], [], predict)
