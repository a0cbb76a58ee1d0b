"""The tokenizer of a BERT-family model from its folder, as transformers would build it, without transformers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from whymatch.text.encoders.architecture import NotCompiledError
from whymatch.text.encoders.folders import all_tokenizer_settings, member, read_object
from whymatch.text.encoders.windows import special_tokens

TOKENIZER = "tokenizer.json"
_GENERIC = {"PreTrainedTokenizerFast", "TokenizersBackend"}
"""Classes of transformers that take tokenizer.json as it is. Others build its parts anew, from the settings."""


class ReadTokenizer(NamedTuple):
    """A tokenizer without truncation and padding, and what has to be known of it."""

    tokenizer: Tokenizer
    before: list[int]
    """The special tokens before a text."""
    after: list[int]
    room: int
    """Tokens that the settings let a window have, special ones included."""
    unknown: int | None
    """The token that stands for what it does not know."""


def read_tokenizer(folder: Path) -> ReadTokenizer:
    """The tokenizer in tokenizer.json.

    Raises:
        NotCompiledError: if there is no such file, or if transformers would not tokenize as it says.
        ValueError: if a file is damaged or leads out of the folder.
    """
    settings = all_tokenizer_settings(folder)
    if not (folder / TOKENIZER).is_file():
        raise NotCompiledError(f"its tokenizer is not in {TOKENIZER}")
    content = read_object(folder, TOKENIZER)
    try:
        tokenizer = Tokenizer.from_str(member(folder, TOKENIZER).read_text(encoding="utf-8"))
    except Exception as error:  # tokenizers has no narrower one
        raise ValueError(f"{TOKENIZER} is damaged: {error}") from None
    if tokenizer.get_vocab_size() <= len(tokenizer.get_added_tokens_decoder()):
        raise ValueError(f"there is no vocabulary in {TOKENIZER}.")
    if settings.get("tokenizer_class") not in _GENERIC and _parts(content) != _expected_parts(content, settings):
        raise NotCompiledError(f"{TOKENIZER} and the settings of its tokenizer differ")
    for token, number in _added_tokens(folder, settings):
        known = tokenizer.token_to_id(token)
        if known is None or number not in (None, known):
            raise NotCompiledError(f"the settings of its tokenizer add the token {token!r:.40}")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare, full = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
    return ReadTokenizer(
        tokenizer, *special_tokens(bare, full), _room(settings), _unknown(tokenizer, content, settings)
    )


def _parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """What tokenizer.json says of the parts that transformers would build anew."""
    parts = {part: content.get(part) for part in ("normalizer", "pre_tokenizer")}
    if _kind(content) == "Unigram":  # its table of characters is taken over
        parts["normalizer"] = (parts["normalizer"] or {"type": None}).get("type") in (None, "Precompiled")
    return parts


def _expected_parts(content: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same parts as transformers builds them for the tokenizers of the BERT family."""
    kind = _kind(content)
    if kind == "WordPiece":
        normalizer = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
            "strip_accents": settings.get("strip_accents"),
            "lowercase": settings.get("do_lower_case", True),
        }
        return {"normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    if kind == "BPE":
        space = settings.get("add_prefix_space", False)
        byte_level = {"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": True, "use_regex": True}
        return {"normalizer": None, "pre_tokenizer": byte_level}
    scheme = "always" if settings.get("add_prefix_space", True) else "never"
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    return {
        "normalizer": kind == "Unigram",
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
    }


def _kind(content: Mapping[str, Any]) -> str | None:
    model = content.get("model")
    return model.get("type") if isinstance(model, dict) else None


def _added_tokens(folder: Path, settings: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    """The tokens that settings name, with their numbers where those are given."""
    for key, value in settings.items():
        if key.endswith("_token") and (token := _text(value)):
            yield token, None
    decoder = settings.get("added_tokens_decoder")
    if isinstance(decoder, dict):
        for number, value in decoder.items():
            yield _text(value), int(number)
    if (folder / "added_tokens.json").is_file():
        for token, number in read_object(folder, "added_tokens.json").items():
            yield token, number


def _text(token: object) -> str:
    """What a token that settings name says: a string, or the content of an object."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _room(settings: Mapping[str, Any]) -> int:
    room = settings.get("model_max_length")
    if room is None:
        return 10**9
    if not isinstance(room, int | float) or not room > 0:
        raise ValueError(f"tokenizer_config.json has model_max_length {room!r:.40}, which must be 1 or more.")
    return int(min(room, 10**9))


def _unknown(tokenizer: Tokenizer, content: Mapping[str, Any], settings: Mapping[str, Any]) -> int | None:
    model = content["model"]
    if _kind(content) == "Unigram":
        number = model.get("unk_id")
        return number if isinstance(number, int) else None
    return tokenizer.token_to_id(_text(settings.get("unk_token")) or _text(model.get("unk_token")) or "<unk>")
