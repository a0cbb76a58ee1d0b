"""For LlamaIndex: retrieved nodes ranked by what they say of a query, and answers checked against them.

Needs the extra `llamaindex`.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from whymatch.checking.check import check
from whymatch.matching.aligner import Aligner
from whymatch.matching.reranking import Reranker, Scored


class AlignmentRerank(BaseNodePostprocessor):
    """Ranks nodes by the alignment of their text with the query, and keeps the best, with their scores.

    The metadata of each node that is kept have `whymatch`: its probability and its links, or why it could not be
    aligned, in which case it stands behind the others and has no score. Nodes are copied.

        >>> from llama_index.core.schema import NodeWithScore, TextNode
        >>> from whymatch.llamaindex import AlignmentRerank
        >>> texts = "Prices rose.", "It is cold. A cat was asleep."
        >>> nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
        >>> (best,) = AlignmentRerank(top_n=1).postprocess_nodes(nodes, query_str="The cat slept.")
        >>> best.node.metadata["whymatch"]["links"][0]["node"]
        'A cat was asleep.'

    Attributes:
        model: a `whymatch.Aligner` or `Ranker`; `Aligner()` by default.
        top_n: how many nodes are kept at most; all by default.
        least_probability: nodes that match with a lower probability, or have none, are dropped.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(cached_property,))

    model: Any = Field(default=None, exclude=True)
    top_n: int | None = Field(default=None, ge=1)
    least_probability: float = Field(default=0.0, ge=0, le=1)

    @classmethod
    def class_name(cls) -> str:
        """Its name in what LlamaIndex writes."""
        return "AlignmentRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("AlignmentRerank aligns nodes with a query: give query_str or query_bundle.")
        if not nodes:
            return []
        texts = [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        ranked = self._reranker.rank(query_bundle.query_str, texts)
        kept = [(number, one) for number, one in ranked if self._keeps(one)]
        return [_with_reasons(nodes[number], one) for number, one in kept[: self.top_n]]

    def _keeps(self, scored: Scored) -> bool:
        return not self.least_probability or (scored.probability or 0.0) >= self.least_probability

    @cached_property
    def _reranker(self) -> Reranker:
        return Reranker(self.model)


class CheckEvaluator(BaseEvaluator):
    """Evaluates whether the contexts of a response support it: the score is the share of its claims that they support.

    `passing` where all are. `feedback` has the verdict, and a line for each claim that is not supported. The query is
    not read. `evaluate_response` names sources as their nodes do.

        >>> from whymatch.llamaindex import CheckEvaluator
        >>> contexts = ["It opens at noon. Lunch costs 5 euros."]
        >>> result = CheckEvaluator().evaluate(response="It opens at noon. Lunch costs 7 euros.", contexts=contexts)
        >>> result.score, result.passing
        (0.5, False)

    Args:
        aligner: what cuts texts and encodes them, its cost being evidence; `Aligner()` by default.
    """

    def __init__(self, aligner: Aligner | None = None) -> None:
        self.aligner = aligner

    def evaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **_: Any
    ) -> EvaluationResult:
        """The result for a response and its contexts.

        Raises:
            ValueError: if there is no response or no list of contexts.
        """
        return self._result(query, response, contexts, contexts)

    async def aevaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **_: Any
    ) -> EvaluationResult:
        """As `evaluate`, in a thread."""
        return await asyncio.to_thread(self._result, query, response, contexts, contexts)

    def evaluate_response(self, query: str | None = None, response: Any = None, **_: Any) -> EvaluationResult:
        """The result for a response of a query engine, with its source nodes."""
        text, contexts, nodes = _parts(response)
        return self._result(query, text, contexts, nodes)

    async def aevaluate_response(self, query: str | None = None, response: Any = None, **_: Any) -> EvaluationResult:
        """As `evaluate_response`, in a thread."""
        text, contexts, nodes = _parts(response)
        return await asyncio.to_thread(self._result, query, text, contexts, nodes)

    def _result(
        self, query: str | None, response: str | None, contexts: Sequence[str] | None, sources: Sequence[Any] | None
    ) -> EvaluationResult:
        if response is None or contexts is None or sources is None:
            raise ValueError("CheckEvaluator takes a response and its contexts.")
        checked = check(response, [*sources], aligner=self.aligner)
        lines = [f"{one.verdict}: {one.text} {one.reason}" for one in checked.claims if one.verdict != "supported"]
        return EvaluationResult(
            query=query,
            contexts=[*contexts],
            response=response,
            passing=not lines,
            score=checked.faithfulness,
            feedback="\n".join([checked.verdict, *lines]),
        )

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        """There are none."""


def _parts(response: Any) -> tuple[str | None, list[str] | None, list[Any] | None]:
    """The text of a response, those of its source nodes, and these nodes."""
    if response is None:
        return None, None, None
    nodes = [*response.source_nodes]
    return str(response), [node.get_content() for node in nodes], nodes


def _with_reasons(node: NodeWithScore, scored: Scored) -> NodeWithScore:
    links = [
        {"query": link.texts[0], "node": link.texts[1], "start": link.right.start, "end": link.right.end}
        for link in scored.links
    ]
    reasons: dict[str, Any] = {"probability": scored.probability, "links": links}
    if scored.error is not None:
        reasons["error"] = scored.error
    inner = node.node.model_copy(
        update={
            "metadata": {**node.node.metadata, "whymatch": reasons},
            "excluded_embed_metadata_keys": [*node.node.excluded_embed_metadata_keys, "whymatch"],
            "excluded_llm_metadata_keys": [*node.node.excluded_llm_metadata_keys, "whymatch"],
        }
    )
    return NodeWithScore(node=inner, score=scored.score)
