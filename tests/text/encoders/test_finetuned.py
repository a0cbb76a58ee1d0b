"""A model that learns as a whole starts as the frozen one, learns, and comes back from its folder."""

from pathlib import Path

import numpy as np
import pytest
import torch

import whymatch as wm
from whymatch.learning import FineTuned
from whymatch.text.document import joined

TEXT = joined(["the cat sat on the mat", "it is very cold today " * 30, "a dog"])


def test_untrained_it_encodes_as_the_frozen_model(roberta: Path) -> None:
    tuned, frozen = FineTuned(roberta, device="cpu"), wm.SentenceEncoder(roberta, backend="openvino float32")
    for encoder in (tuned.train(), tuned.eval()):
        np.testing.assert_allclose(
            encoder.encode([TEXT.text], [TEXT.spans])[0],
            frozen.encode([TEXT.text], [TEXT.spans])[0],
            rtol=1.3e-6,
            atol=1e-5,
        )


def test_learning_changes_its_own_weights_and_nobody_elses(roberta: Path, tmp_path: Path) -> None:
    frozen = wm.SentenceEncoder(roberta, device="cpu")
    before = frozen.encode([TEXT.text], [TEXT.spans])[0]
    model = wm.Ranker(wm.Aligner("line", FineTuned(roberta, device="cpu")), wm.Exactly(1))
    left, right = joined(TEXT.pieces[:1]), joined(TEXT.pieces[2:])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = model([(left, right)]).score.item()
    for _ in range(5):
        optimiser.zero_grad()
        torch.autograd.backward(-model([(left, right)]).score.sum())
        optimiser.step()
    model.eval()
    learned = model([(left, right)]).score.item()
    assert learned > start + 1e-3
    assert np.array_equal(frozen.encode([TEXT.text], [TEXT.spans])[0], before)

    model.save_pretrained(tmp_path)
    assert wm.Ranker.from_pretrained(tmp_path)([(left, right)]).score.item() == pytest.approx(learned, abs=1e-6)
    assert not [file for file in tmp_path.rglob("*") if file.suffix in (".bin", ".pt", ".pkl")]
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    theirs = peer.SentenceTransformer(str(tmp_path / "encoder"), device="cpu").encode(left.pieces)
    np.testing.assert_allclose(model.encoder.encode([left.text], [left.spans])[0], theirs, rtol=1.3e-6, atol=1e-5)
