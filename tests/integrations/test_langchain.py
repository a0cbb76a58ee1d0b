"""LangChain's documents are ranked, and answers checked, within its own protocols."""

import asyncio
from typing import Any

import pytest

import whymatch as wm

pytest.importorskip("langchain_core", reason="langchain-core is not installed: pip install 'whymatch[langchain]'")

TEXTS = ["Prices rose in March.", "Cold. A cat was asleep all day.", "猫が寝ていた。", "Rain fell. The cat slept."]
QUERY = "The cat slept all day. It rained."


@pytest.fixture
def documents() -> list[Any]:
    from langchain_core.documents import Document

    return [Document(page_content=text, metadata={"source": f"{n}.txt"}, id=str(n)) for n, text in enumerate(TEXTS)]


def test_documents_are_ranked_with_their_reasons(minilm: object, documents: list[Any]) -> None:
    from whymatch.langchain import AlignmentReranker
    from whymatch.matching.reranking import Reranker

    ranked = AlignmentReranker().compress_documents(documents, QUERY)
    assert [document.id for document in ranked] == ["3", "1", "0", "2"]
    assert all("whymatch" not in document.metadata for document in documents)
    for document, (number, expected) in zip(ranked, Reranker().rank(QUERY, TEXTS), strict=True):
        assert document.page_content == TEXTS[number]
        assert document.metadata["source"] == f"{number}.txt"
        assert document.metadata["relevance_score"] == expected.score
        for link in document.metadata["whymatch"]["links"]:
            assert document.page_content[link["start"] : link["end"]] == link["document"]
            assert link["query"] in QUERY
    assert "Japanese" in ranked[-1].metadata["whymatch"]["error"]


def test_few_and_probable_documents_are_kept(minilm: object, documents: list[Any]) -> None:
    from whymatch.langchain import AlignmentReranker

    assert [d.id for d in AlignmentReranker(top_n=1).compress_documents(documents, QUERY)] == ["3"]
    likely = AlignmentReranker(least_probability=0.5)
    assert [d.id for d in asyncio.run(likely.acompress_documents(documents, QUERY))] == ["3", "1"]
    assert likely.compress_documents([], QUERY) == []
    with pytest.raises(ValueError, match="top_n"):
        AlignmentReranker(top_n=0)


def test_a_ranker_or_an_aligner_of_your_own_ranks(minilm: object, documents: list[Any]) -> None:
    from whymatch.langchain import AlignmentReranker

    ranker = wm.Ranker(wm.Aligner(cost="cosine"), wm.Exactly(1))
    for model in (ranker, wm.Aligner("text")):
        assert len(AlignmentReranker(model=model, top_n=2).compress_documents(documents, QUERY)) == 2


def test_an_answer_is_checked_at_the_end_of_a_chain(minilm: object) -> None:
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from whymatch.langchain import CheckAnswer

    context = [Document(page_content="It opens at noon. Lunch costs 5 euros.", metadata={"source": "canteen"})]
    chain: Any = RunnablePassthrough.assign(
        context=RunnableLambda(lambda _: context), answer=RunnableLambda(lambda asked: asked["input"])
    )
    given = {"input": "It opens at noon. Lunch costs 7 euros."}
    checked = (chain | CheckAnswer()).invoke(given)
    assert checked == wm.check(given["input"], {"canteen": context[0].page_content})
    assert chain.assign(check=CheckAnswer()).invoke(given)["check"] == checked
    assert asyncio.run((chain | CheckAnswer()).ainvoke(given)) == checked
    assert (chain | CheckAnswer()).batch([given, given]) == [checked, checked]


def test_what_a_check_needs_is_named(minilm: object) -> None:
    from whymatch.langchain import CheckAnswer

    renamed = CheckAnswer(answer_key="reply", context_key="sources", aligner=wm.Aligner())
    assert renamed.invoke({"reply": "It rained.", "sources": ["It rained."]}).faithfulness == 1
    with pytest.raises(ValueError, match="takes 'reply' and 'sources'; got"):
        renamed.invoke({"answer": "It rained."})
