"""LlamaIndex's nodes are ranked, and responses evaluated, within its own protocols."""

import asyncio
from typing import Any

import pytest

import whymatch as wm

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed: pip install 'whymatch[llamaindex]'")

TEXTS = ["Prices rose in March.", "Cold. A cat was asleep all day.", "猫が寝ていた。", "Rain fell. The cat slept."]
QUERY = "The cat slept all day. It rained."


@pytest.fixture
def nodes() -> list[Any]:
    from llama_index.core.schema import NodeWithScore, TextNode

    return [NodeWithScore(node=TextNode(text=text, id_=str(n)), score=0.5) for n, text in enumerate(TEXTS)]


def test_nodes_are_ranked_with_their_reasons(minilm: object, nodes: list[Any]) -> None:
    from llama_index.core.schema import MetadataMode

    from whymatch.llamaindex import AlignmentRerank
    from whymatch.matching.reranking import Reranker

    ranked = AlignmentRerank().postprocess_nodes(nodes, query_str=QUERY)
    assert [node.node_id for node in ranked] == ["3", "1", "0", "2"]
    assert all("whymatch" not in node.metadata and node.score == 0.5 for node in nodes)
    for node, (number, expected) in zip(ranked, Reranker().rank(QUERY, TEXTS), strict=True):
        assert node.text == TEXTS[number]
        assert node.score == expected.score
        for link in node.metadata["whymatch"]["links"]:
            assert node.text[link["start"] : link["end"]] == link["node"]
        assert node.node.get_content(metadata_mode=MetadataMode.LLM) == node.text  # reasons are not for the model
    assert "Japanese" in ranked[-1].metadata["whymatch"]["error"]


def test_few_and_probable_nodes_are_kept(minilm: object, nodes: list[Any]) -> None:
    from whymatch.llamaindex import AlignmentRerank

    likely = AlignmentRerank(least_probability=0.5, model=wm.Aligner())
    assert [node.node_id for node in asyncio.run(likely.apostprocess_nodes(nodes, query_str=QUERY))] == ["3", "1"]
    assert [node.node_id for node in AlignmentRerank(top_n=1).postprocess_nodes(nodes, query_str=QUERY)] == ["3"]
    assert likely.postprocess_nodes([], query_str=QUERY) == []
    assert likely.to_dict()["class_name"] == "AlignmentRerank"
    with pytest.raises(ValueError, match="give query_str"):
        likely.postprocess_nodes(nodes)


def test_a_response_is_evaluated_by_its_sources(minilm: object) -> None:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    from whymatch.llamaindex import CheckEvaluator

    text, answer = "It opens at noon. Lunch costs 5 euros.", "It opens at noon. Lunch costs 7 euros."
    node = NodeWithScore(node=TextNode(text=text, metadata={"file_name": "canteen"}))
    evaluator, response = CheckEvaluator(wm.Aligner()), Response(answer, source_nodes=[node])
    result = evaluator.evaluate_response("When?", response)
    checked = wm.check(answer, {"canteen": text})
    assert (result.score, result.passing) == (checked.faithfulness, False) == (0.5, False)
    assert result.feedback == f"{checked.verdict}\ncontradicted: Lunch costs 7 euros. {checked.claims[1].reason}"
    assert "canteen" in str(result.feedback)
    assert (result.query, result.contexts, result.response) == ("When?", [node.get_content()], answer)
    assert asyncio.run(evaluator.aevaluate_response("When?", response)) == result
    by_texts = evaluator.evaluate(response=answer, contexts=[text])
    assert (by_texts.score, by_texts.passing) == (0.5, False)
    assert asyncio.run(evaluator.aevaluate(response=answer, contexts=[text])) == by_texts
    assert evaluator.evaluate(response="It opens at noon.", contexts=[text]).passing
    with pytest.raises(ValueError, match="a response and its contexts"):
        evaluator.evaluate(response=answer)
