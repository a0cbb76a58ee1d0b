"""For LangChain: retrieved documents ranked by what they say of a query, and answers checked against them.

Needs the extra `langchain`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, Field

from whymatch.checking.check import check
from whymatch.checking.result import Check
from whymatch.matching.aligner import Aligner
from whymatch.matching.reranking import Reranker, Scored


class AlignmentReranker(BaseDocumentCompressor):
    """Ranks documents by their alignment with the query, and keeps the best.

    Each document that is kept is a copy whose metadata have `relevance_score`, and `whymatch` with the score, the
    probability and the links (or why it could not be aligned, in which case it stands behind the others).

        >>> from langchain_core.documents import Document
        >>> from whymatch.langchain import AlignmentReranker
        >>> documents = [Document(page_content=text) for text in ("Prices rose.", "It is cold. A cat was asleep.")]
        >>> (best,) = AlignmentReranker(top_n=1).compress_documents(documents, "The cat slept.")
        >>> best.metadata["whymatch"]["links"][0]["document"]
        'A cat was asleep.'

    Attributes:
        model: a `whymatch.Aligner` or `Ranker`; `Aligner()` by default.
        top_n: how many documents are kept at most; all by default.
        least_probability: documents that match with a lower probability, or have none, are dropped.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(cached_property,))

    model: Any = Field(default=None, exclude=True)
    top_n: int | None = Field(default=None, ge=1)
    least_probability: float = Field(default=0.0, ge=0, le=1)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The best documents for a query, best first."""
        if not documents:
            return []
        ranked = self._reranker.rank(query, [document.page_content for document in documents])
        kept = [(number, one) for number, one in ranked if self._keeps(one)]
        return [_with_reasons(documents[number], one) for number, one in kept[: self.top_n]]

    def _keeps(self, scored: Scored) -> bool:
        return not self.least_probability or (scored.probability or 0.0) >= self.least_probability

    @cached_property
    def _reranker(self) -> Reranker:
        return Reranker(self.model)


class CheckAnswer(RunnableSerializable[dict[str, Any], Check]):
    """Checks an answer against the documents that it was made of; gives a `whymatch` check.

    It takes what a retrieval chain gives: a dictionary with the answer and its documents (or texts, or a mapping of
    texts by name). Behind a chain: `chain | CheckAnswer()`, or `chain.assign(check=CheckAnswer())` to keep the rest.

        >>> from langchain_core.documents import Document
        >>> from whymatch.langchain import CheckAnswer
        >>> context = [Document(page_content="It opens at noon. Lunch costs 5 euros.", metadata={"source": "canteen"})]
        >>> CheckAnswer().invoke({"answer": "Lunch costs 7 euros.", "context": context}).verdict
        'The claim is contradicted.'

    Attributes:
        aligner: what cuts texts and encodes them, its cost being evidence; `Aligner()` by default.
        answer_key: where the dictionary has the answer.
        context_key: where it has the documents.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    aligner: Aligner | None = Field(default=None, exclude=True)
    answer_key: str = "answer"
    context_key: str = "context"

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **_: Any) -> Check:  # noqa: A002
        """The check of one answer.

        Raises:
            ValueError: if the dictionary lacks the answer or the documents.
        """
        return self._call_with_config(self._check, input, config)

    def _check(self, given: dict[str, Any]) -> Check:
        for key in (self.answer_key, self.context_key):
            if key not in given:
                raise ValueError(f"CheckAnswer takes {self.answer_key!r} and {self.context_key!r}; got {[*given]}.")
        return check(given[self.answer_key], given[self.context_key], aligner=self.aligner)


def _with_reasons(document: Document, scored: Scored) -> Document:
    links = [
        {"query": link.texts[0], "document": link.texts[1], "start": link.right.start, "end": link.right.end}
        for link in scored.links
    ]
    reasons: dict[str, Any] = {"score": scored.score, "probability": scored.probability, "links": links}
    if scored.error is not None:
        reasons["error"] = scored.error
    metadata = {**document.metadata, "relevance_score": scored.score, "whymatch": reasons}
    return document.model_copy(update={"metadata": metadata})
