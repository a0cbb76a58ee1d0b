"""The encoder that a name, a folder or a file stands for; MiniLM where nothing is named."""

from pathlib import Path

from whymatch.text.encoders import Encoder
from whymatch.text.encoders.folders import is_static
from whymatch.text.encoders.models import MINILM, locate
from whymatch.text.spans import Splitter, words

_NO_STATIC = (
    "No static model ships with whymatch: in place of 'static', give the folder of a model2vec model (config.json, "
    "model.safetensors and tokenizer.json, such as potion-base-8M has), its name on the Hugging Face hub, or a file of "
    "word vectors, such as GloVe's."
)


def encoder_for(
    spans: str | Splitter, model: str | Path | None = None, *, layer: int | None = None, download: bool = False
) -> Encoder:
    """Words in context, other spans alone; by MiniLM unless another model, or a file of word vectors, is named.

    "multilingual" is the encoder of sixteen languages, which has no vectors of words.

    Static models and word vectors read words alone too.

    Raises:
        ValueError: if there is no such model, or it cannot be loaded.
    """
    if model == "multilingual":
        return _multilingual(spans)
    try:
        if model is not None and (static := _static_encoder(model, download)) is not None:
            if layer is not None:
                raise ValueError(f"{static.name} is a static encoder, and has no layers to choose from.")
            return static
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


def _static_encoder(model: str | Path, download: bool) -> Encoder | None:
    """The static encoder that a file of word vectors or the name or folder of a model stands for, if it does."""
    place = Path(model)
    of_words = place.is_file() or (place / "vocab").is_dir()
    if not of_words:
        if str(model) == "static" and not place.exists():
            raise ValueError(_NO_STATIC)
        if str(model) == MINILM or not is_static(locate(model, download=download)):
            return None
    from whymatch.text.encoders.static import StaticEncoder

    if of_words:
        from whymatch.text.vectors import read_vectors

        return StaticEncoder(read_vectors(model))
    return StaticEncoder(model, download=download)
