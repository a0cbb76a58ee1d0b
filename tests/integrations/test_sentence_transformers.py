"""The evaluators of sentence-transformers give a whymatch model the metrics that its rankings have."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator, RerankingEvaluator

import whymatch as wm
from benchmarks.reranking import Task, retrieval, samples, task_of
from whymatch.datasets.stackexchange import read_stackexchange
from whymatch.sentence_transformers import Reranker

TASK = Task(
    {"q1": "The cat slept all day. Thanks!", "q2": "Why does my bus come late?"},
    {
        "a": "Prices rose in March.",
        "b": "A cat was asleep for the whole day.",
        "c": "The bus was late again. Why?",
        "d": "Cats and dogs are animals.",
    },
    {"q1": {"b"}, "q2": {"c"}},
)
SAMPLES = [
    {"query": TASK.queries[query], "positive": [TASK.corpus[good]], "documents": [TASK.corpus[one] for one in "adbc"]}
    for query, good in (("q1", "b"), ("q2", "c"))
]


@pytest.fixture(scope="module")
def retriever(minilm: Path) -> SentenceTransformer:
    return SentenceTransformer(str(minilm), device="cpu")


def test_a_cross_encoders_evaluator_takes_it(minilm: Path) -> None:
    results = CrossEncoderRerankingEvaluator(SAMPLES, write_csv=False)(Reranker())  # type: ignore[arg-type]
    assert results["map"] == results["mrr@10"] == 1
    assert results["base_map"] < 0.5


def test_the_evaluators_of_vectors_take_it_behind_a_retriever(retriever: SentenceTransformer) -> None:
    for candidates in (1, 2, 4):
        reranker = Reranker(retriever=retriever, candidates=candidates)
        assert retrieval(TASK, reranker) == {"map@100": 1, "mrr@10": 1, "ndcg@10": 1}
    plain: list[Any] = [
        {"query": one["query"], "positive": one["positive"], "negative": ["It rained."]} for one in SAMPLES
    ]
    for batched in (True, False):
        evaluator = RerankingEvaluator(
            plain, similarity_fct=reranker.similarity, use_batched_encoding=batched, write_csv=False
        )
        assert evaluator(reranker)["map"] == 1  # type: ignore[arg-type]


def test_candidates_stand_before_all_others_in_the_order_of_their_alignments(retriever: SentenceTransformer) -> None:
    reranker = Reranker(retriever=retriever, candidates=2)
    queries, documents = [*TASK.queries.values()], [*TASK.corpus.values()]
    scores = reranker.similarity(reranker.encode_query(queries), reranker.encode_document(documents))
    close = retriever.similarity(retriever.encode(queries), retriever.encode(documents))
    for row, query in enumerate(queries):
        best = close[row].argsort(descending=True)
        chosen = sorted(best[:2].tolist(), key=lambda place: -reranker.predict([(query, documents[place])])[0])
        assert scores[row].argsort(descending=True).tolist() == [*chosen, *best[2:].tolist()]
        assert torch.allclose(scores[row][best[2:]].float(), close[row][best[2:]], atol=1e-6)


def test_pairs_that_cannot_be_aligned_have_less_than_all_others(minilm: Path) -> None:
    scores = Reranker().predict([("A cat.", "猫。"), ("A cat.", "Prices rose."), ("A cat.", "The cat.")])
    assert np.argsort(scores).tolist() == [0, 1, 2]
    ranked = Reranker().rank("A cat.", ["猫。", "The cat."], top_k=2)
    assert [one["corpus_id"] for one in ranked] == [1, 0]
    assert "cannot read" in ranked[1]["error"]


def test_vectors_need_a_retriever(minilm: Path) -> None:
    with pytest.raises(ValueError, match="give Reranker"):
        Reranker().encode(["A cat."])
    with pytest.raises(ValueError, match="1 or more"):
        Reranker(candidates=0)


def test_posts_of_stackexchange_are_reranked(retriever: SentenceTransformer) -> None:
    folder = Path(os.environ.get("WHYMATCH_DATA", "")) / "stackexchange" / "cqadupstack"
    if not (os.environ.get("WHYMATCH_DATA") and folder.is_dir()):
        pytest.skip("WHYMATCH_DATA names no folder with stackexchange/cqadupstack")
    task = task_of(read_stackexchange([folder]), "programmers", 2)
    task = Task(task.queries, dict([*task.corpus.items()][:20]) | _relevant(task), task.relevant)
    rows = samples(task, retriever, 3)
    results = CrossEncoderRerankingEvaluator(rows, write_csv=False)(Reranker())  # type: ignore[arg-type]
    assert 0 < results["map"] <= 1
    evaluator = InformationRetrievalEvaluator(task.queries, task.corpus, task.relevant, write_csv=False)
    assert 0 < evaluator(Reranker(retriever=retriever, candidates=3))["whymatch_map@100"] <= 1  # type: ignore[arg-type]


def _relevant(task: Task) -> dict[str, Any]:
    return {id_: task.corpus[id_] for own in task.relevant.values() for id_ in own}


def test_their_models_are_encoders(retriever: SentenceTransformer) -> None:
    why = wm.Aligner(encode=retriever, cost="cosine", below=0.6).align("The cat slept.", "Prices rose.\nA cat slept.")
    assert [link.texts[0] for link in why.links] == ["The cat slept."]
