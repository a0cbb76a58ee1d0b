"""For sentence-transformers: a ranker or an aligner where a CrossEncoder stands, and in their evaluators.

Needs the extra `sentence-transformers`. The other way round, their models are encoders: `Aligner(encode=model)`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from whymatch.matching import reranking
from whymatch.matching.aligner import Aligner
from whymatch.transport.constraints import Constraint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from whymatch.matching.ranker import Ranker


class Reranker:
    """Scores pairs of texts as a `CrossEncoder` does, alone or behind a `SentenceTransformer` that finds candidates.

    `CrossEncoderRerankingEvaluator` takes it as it is. `InformationRetrievalEvaluator` takes it with a `retriever`: the
    best candidates by the retriever's similarity are aligned with the query, and stand before all others.
    `RerankingEvaluator(samples, similarity_fct=reranker.similarity)` takes it with a retriever, too.

        >>> from whymatch.sentence_transformers import Reranker
        >>> ranked = Reranker().rank("The cat slept.", ["Prices rose.", "A cat was asleep."])
        >>> [one["corpus_id"] for one in ranked]
        [1, 0]

    Args:
        model: an `Aligner`, a `Ranker`, or None for `Aligner()`.
        retriever: what finds candidates.
        candidates: how many of each chunk of a corpus are aligned with a query.
        constraint: what an aligner may link, where its costs are no evidence.
    """

    similarity_fn_name = "whymatch"

    def __init__(
        self,
        model: "Aligner | Ranker | None" = None,
        retriever: "SentenceTransformer | None" = None,
        *,
        candidates: int = 100,
        constraint: Constraint | None = None,
    ) -> None:
        if candidates < 1:
            raise ValueError(f"candidates is how many documents are aligned with a query, 1 or more; got {candidates}.")
        self._reranker = reranking.Reranker(model, constraint)
        self.retriever = retriever
        self.candidates = candidates
        self.model_card_data = _NoCard()
        self._texts: dict[str, int] = {}

    def predict(self, sentences: Sequence[tuple[str, str] | list[str]], **_: Any) -> np.ndarray:
        """(pairs) scores, high for a match; a pair that cannot be aligned has less than all others.

        Options of `CrossEncoder.predict` are taken and not used.
        """
        scores = [one.score for one in self._reranker.scored([(left, right) for left, right in sentences])]
        least = min((score for score in scores if score is not None), default=0.0) - 1
        return np.array([least if score is None else score for score in scores])

    def rank(self, query: str, documents: Sequence[str], top_k: int | None = None, **_: Any) -> list[dict[str, Any]]:
        """The best documents, best first, as `CrossEncoder.rank` gives them, with their links and probability."""
        return [
            {
                "corpus_id": number,
                "score": one.score,
                "text": documents[number],
                "probability": one.probability,
                "links": one.links,
                **({} if one.error is None else {"error": one.error}),
            }
            for number, one in self._reranker.rank(query, documents)[:top_k]
        ]

    def encode(self, sentences: str | Sequence[str], **options: Any) -> Tensor:
        """The retriever's vectors with the number of each text in a last column, by which `similarity` knows it."""
        return self._numbered("encode", sentences, options)

    def encode_query(self, sentences: str | Sequence[str], **options: Any) -> Tensor:
        """As `encode`, for queries."""
        return self._numbered("encode_query", sentences, options)

    def encode_document(self, sentences: str | Sequence[str], **options: Any) -> Tensor:
        """As `encode`, for documents."""
        return self._numbered("encode_document", sentences, options)

    def similarity(self, queries: Tensor, documents: Tensor) -> Tensor:
        """(queries, documents): from -1 to 1 the retriever's similarity; above 2 the order of alignments."""
        queries, documents = (side[None] if side.ndim == 1 else side for side in (queries, documents))
        close = self._given_retriever.similarity(queries[:, :-1].float(), documents[:, :-1].float()).cpu().double()
        chosen = close.topk(min(self.candidates, close.shape[1]), dim=1).indices
        texts = [*self._texts]
        left, right = (side[:, -1].long().tolist() for side in (queries, documents))
        pairs = [(texts[left[row]], texts[right[place]]) for row, own in enumerate(chosen.tolist()) for place in own]
        scores = torch.from_numpy(self.predict(pairs)).view(chosen.shape)
        return close.scatter(1, chosen, 3 + scores / (1 + scores.abs()))  # any score in its order, within 2 and 4

    def _numbered(self, method: str, sentences: str | Sequence[str], options: dict[str, Any]) -> Tensor:
        texts = [sentences] if isinstance(sentences, str) else [*sentences]
        vectors = getattr(self._given_retriever, method)(texts, **{**options, "convert_to_tensor": True})
        numbers = [self._texts.setdefault(text, len(self._texts)) for text in texts]
        numbered = torch.cat([vectors.double(), torch.tensor(numbers, device=vectors.device)[:, None].double()], dim=1)
        return numbered[0] if isinstance(sentences, str) else numbered

    @property
    def _given_retriever(self) -> Any:
        if self.retriever is None:
            raise ValueError("Vectors are those of a retriever: give Reranker(retriever=…) a SentenceTransformer.")
        return self.retriever


class _NoCard:
    """Takes the metrics that evaluators write into the card of a model; what they return has them too."""

    def set_evaluation_metrics(self, *_: Any) -> None:
        """Keeps nothing."""
