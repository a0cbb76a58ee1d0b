"""The encoder that a name, a folder or a file stands for; MiniLM where nothing is named."""

from pathlib import Path

from whymatch.text.encoders import Encoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.spans import Splitter, words


def encoder_for(
    spans: str | Splitter, model: str | None = None, *, layer: int | None = None, download: bool = False
) -> Encoder:
    """Words in context, other spans alone; by MiniLM unless another model, or a file of word vectors, is named.

    "multilingual" is the encoder of sixteen languages, which has no vectors of words.
    """
    if model == "multilingual":
        return _multilingual(spans)
    if model is not None and (Path(model).is_file() or (Path(model) / "vocab").is_dir()):
        from whymatch.text.encoders.recurrent import RecurrentEncoder
        from whymatch.text.vectors import read_vectors

        return RecurrentEncoder(read_vectors(model), layers=0)
    try:
        if spans in ("word", words):
            from whymatch.text.encoders.context import WordEncoder

            return WordEncoder(model or MINILM, layer=layer, download=download)
        from whymatch.text.encoders.sentence import SentenceEncoder

        return SentenceEncoder(model or MINILM, download=download)
    except ModuleNotFoundError as error:
        if "pip install" in str(error):
            raise
        advice = "pip install 'whymatch[train]'"
        raise ModuleNotFoundError(f"This encoder needs {error.name}: {advice}.", name=error.name) from None


def _multilingual(spans: str | Splitter) -> Encoder:
    from whymatch.text.encoders.multilingual import MultilingualEncoder

    if spans in ("word", words):
        raise ValueError(
            "The multilingual encoder reads whole spans, and has no vectors of words in their context. For words, give "
            "a multilingual transformer by its name or folder, such as --encoder FacebookAI/xlm-roberta-base."
        )
    return MultilingualEncoder()
