"""A ranker's teacher scores texts as it was trained to read them, and its scores are learned."""

import json
from pathlib import Path

import pytest
import torch

import whymatch as wm
from tests.cli.test_train import OTHER, PETS, SAME
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Query
from whymatch.learning import Projected
from whymatch.learning.evaluate import scores_of
from whymatch.learning.losses import contrastive, distilled
from whymatch.learning.tasks import RankTask, Teacher, _by_query

SPLIT = [OTHER[0], f"{SAME[1]} {OTHER[2]}"]  # spans of its own, one of them of two sentences


def ranker(split: str, seed: int) -> wm.Ranker:
    """A ranker with a map of its own."""
    model = wm.Ranker(wm.Aligner(split, Projected(wm.SentenceEncoder(), 384), "cosine"), wm.Exactly(1))
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.data = torch.randn(weight.shape, generator=generator)
    return model


@pytest.fixture
def data(tmp_path: Path, minilm: Path) -> Path:
    rows = [
        {"query": f"{PETS[0]} {PETS[1]}", "documents": [SAME[0], f"{OTHER[0]} {OTHER[1]}", SPLIT], "relevant": [0]},
        {"query": PETS[2], "documents": [f"{SAME[2]} {OTHER[3]}", OTHER[2]], "relevant": [0]},
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def queries(data: Path, spans: str) -> list[Query]:
    return [query for query in read_split(data, "train", "rank", spans) if isinstance(query, Query)]


@pytest.mark.parametrize("split", ["text", "sentence", "word"])
def test_it_scores_what_it_would_rank(split: str, data: Path, tmp_path: Path) -> None:
    model = ranker(split, 1)
    model.save_pretrained(tmp_path / "teacher")
    teacher, ours = Teacher(tmp_path / "teacher"), queries(data, "sentence")
    teacher.read(data, ours)
    found = teacher.scores([(query.query, text) for query in ours for text in query.documents])
    its, _ = scores_of(model, queries(data, split))
    assert found.tolist() == pytest.approx([score for some in its for score in some], abs=1e-5)


def test_hinge_and_teacher_are_mixed(data: Path, tmp_path: Path) -> None:
    ranker("text", 1).save_pretrained(tmp_path / "teacher")
    teacher, model, ours = Teacher(tmp_path / "teacher"), ranker("sentence", 2), queries(data, "sentence")
    teacher.read(data, ours)
    pairs = [(query.query, text) for query in ours for text in query.documents]
    scores, its = _by_query(model(pairs).score, ours), _by_query(teacher.scores(pairs), ours)
    hinge = contrastive(scores[:, 0], scores[:, 1:], 0.4)
    found = RankTask(model, ours, margin=0.4, teacher=teacher).loss(ours)
    torch.testing.assert_close(found, 0.5 * hinge + 0.5 * distilled(scores, its, 0.4))
    assert (found - hinge).abs().min() > 1e-3  # it is not the hinge alone
    assert not its.requires_grad
    torch.testing.assert_close(RankTask(model, ours, margin=0.4).loss(ours), hinge)


def test_what_is_taught_is_learned(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whymatch.learning.tasks.TEACHER_WEIGHT", 1.0)
    ranker("text", 1).save_pretrained(tmp_path / "teacher")
    teacher, model, ours = Teacher(tmp_path / "teacher"), ranker("sentence", 2), queries(data, "sentence")
    teacher.read(data, ours)
    pairs = [(query.query, text) for query in ours for text in query.documents]
    its = _by_query(teacher.scores(pairs), ours)

    def apart() -> float:
        return distilled(_by_query(model(pairs).score, ours), its, 0.2).sum().item()

    before, least = apart(), distilled(its, its, 0.2).sum().item()
    weights = list(model.parameters())
    optimiser = torch.optim.Adam(weights, lr=0.02)
    for _ in range(60):
        loss = RankTask(model, ours, teacher=teacher).loss(ours)
        for weight, gradient in zip(weights, torch.autograd.grad(loss.sum(), weights), strict=True):
            weight.grad = gradient
        optimiser.step()
    assert apart() - least < 0.2 * (before - least)
