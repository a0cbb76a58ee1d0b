"""whymatch behind a retriever, measured by the evaluators of sentence-transformers on duplicate posts of StackExchange.

    WHYMATCH_DATA=… python -m benchmarks.reranking [--sites android unix webmasters] [--candidates 20]

Of each duplicate, one post is the query, and the posts of its site that are nobody's query are searched by the cosine
of MiniLM's vectors of whole posts. The best candidates are ranked again by the alignment of their sentences: untrained,
against the background that ships, and against 400 posts of the same site. MiniLM's model card lists duplicates of
StackExchange among its training data.
"""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator, RerankingEvaluator

import whymatch as wm
from whymatch.datasets.corpora import SimilarTexts
from whymatch.datasets.stackexchange import read_stackexchange
from whymatch.sentence_transformers import Reranker
from whymatch.show.terminal import table
from whymatch.text.encoders.models import locate

SITES = ("android", "unix", "webmasters")
BACKGROUND_POSTS = 400


@dataclass(frozen=True)
class Task:
    """Posts by id that are searched with, those that are searched, and which of them are duplicates."""

    queries: dict[str, Any]
    corpus: dict[str, Any]
    relevant: dict[str, set[str]]


def task_of(posts: SimilarTexts, site: str, most: int | None = None) -> Task:
    """The first post of each duplicate of a site is a query; `most` says of how many."""
    relevant: dict[str, set[str]] = {}
    for query, other in posts.similar:
        if posts.sites[query] == site:
            relevant.setdefault(query, set()).add(other)
    corpus = {id_: text for id_, text in posts.texts.items() if posts.sites[id_] == site and id_ not in relevant}
    answered = {query: own & corpus.keys() for query, own in relevant.items() if own & corpus.keys()}
    answered = dict([*answered.items()][:most])
    return Task({query: posts.texts[query] for query in answered}, corpus, answered)


def retrieval(task: Task, model: Any) -> dict[str, float]:
    """MAP@100, MRR@10 and NDCG@10 by `InformationRetrievalEvaluator`."""
    evaluator = InformationRetrievalEvaluator(
        task.queries, task.corpus, task.relevant, map_at_k=[100], mrr_at_k=[10], ndcg_at_k=[10], write_csv=False
    )
    results = evaluator(model)
    return {name: results[f"{model.similarity_fn_name}_{name}"] for name in ("map@100", "mrr@10", "ndcg@10")}


def samples(task: Task, retriever: SentenceTransformer, candidates: int) -> list[dict[str, Any]]:
    """For each query the retriever's best candidates, in order, and which of them are duplicates."""
    vectors = [retriever.encode([*texts.values()], convert_to_tensor=True) for texts in (task.queries, task.corpus)]
    ranked = retriever.similarity(*vectors).argsort(dim=1, descending=True)[:, :candidates].tolist()
    ids, rows = [*task.corpus], list[dict[str, Any]]()
    for (query, text), own in zip(task.queries.items(), ranked, strict=True):
        documents = [ids[place] for place in own]
        if good := [task.corpus[one] for one in documents if one in task.relevant[query]]:
            rows.append({"query": text, "positive": good, "documents": [task.corpus[one] for one in documents]})
    return rows


def reranked(rows: Sequence[dict[str, Any]], reranker: Reranker) -> dict[str, float]:
    """MAP before and after, by `CrossEncoderRerankingEvaluator`; and by `RerankingEvaluator`, which takes vectors."""
    results = CrossEncoderRerankingEvaluator([*rows], write_csv=False, always_rerank_positives=False)(reranker)  # type: ignore[arg-type]
    plain = [
        {
            "query": row["query"],
            "positive": row["positive"],
            "negative": [text for text in row["documents"] if text not in row["positive"]],
        }
        for row in rows
    ]
    same = RerankingEvaluator(plain, similarity_fct=reranker.similarity, write_csv=False)(reranker)  # type: ignore[arg-type]
    return {"before": results["base_map"], "after": results["map"], "after, by vectors": same["map"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--sites", nargs="+", default=[*SITES])
    parser.add_argument("--candidates", type=int, default=20)
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    posts = read_stackexchange([Path(settings.data) / "stackexchange" / "cqadupstack"])
    retriever = SentenceTransformer(str(locate()), device="cpu")
    by_evaluator, again = list[list[str]](), list[list[str]]()
    with tempfile.TemporaryDirectory() as folder:
        encoder = wm.CachedEncoder(wm.SentenceEncoder(), folder)
        for site in settings.sites:
            task = task_of(posts, site)
            own = random.Random(0).sample([*task.corpus.values()], min(BACKGROUND_POSTS, len(task.corpus)))
            rows = samples(task, retriever, settings.candidates)
            models = {
                "the background that ships": wm.Aligner(encode=encoder),
                f"{len(own)} posts of the site": wm.Aligner(encode=encoder, background=own),
            }
            size = f"{len(task.queries)} queries, {len(task.corpus):,} posts"
            by_evaluator.append([site, size, "MiniLM", *_rounded(retrieval(task, retriever))])
            for name, aligner in models.items():
                reranker = Reranker(aligner, retriever, candidates=settings.candidates)
                by_evaluator.append([site, "", f"and whymatch, {name}", *_rounded(retrieval(task, reranker))])
                again.append([site, f"{len(rows)} queries", name, *_rounded(reranked(rows, reranker))])
    print(table(["site", "", "ranked by", "MAP@100", "MRR@10", "NDCG@10"], by_evaluator))
    print(table(["site", "", "background", "MAP before", "MAP after", "after, by vectors"], again))


def _rounded(values: dict[str, float]) -> list[str]:
    return [f"{np.round(value, 3):.3f}" for value in values.values()]


if __name__ == "__main__":
    main()
