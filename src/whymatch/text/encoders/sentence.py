"""One vector for a span by itself, pooled as the model was trained to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whymatch.checkpoints import checkpoint
from whymatch.text.encoders.models import MINILM, Network, load, locate, short
from whymatch.text.spans import Span

WRAPPED_AT_ONCE = 32  # spans that sentence-transformers is given at a time
POOLED = ["Transformer", "Pooling", "Normalize"]


class SentenceEncoder:
    """Each span encoded alone by a sentence model; MiniLM unless told.

    Vectors equal those of sentence-transformers, without importing it, for models that pool by the mean or by the first
    token; other kinds are handed to sentence-transformers, if it is installed. A span longer than the model takes is
    read in windows, where sentence-transformers would cut it off.
    """

    contextual = False

    def __init__(self, model: str | Path = MINILM, *, device: str | None = None, download: bool = False) -> None:
        self.name, self.local = short(model), Path(model).is_dir()
        folder = self.folder = locate(model, download=download)
        try:
            self.pooling = read_pooling(folder)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"The model in {folder} cannot be loaded: its modules.json misleads: {error!r}") from error
        self.wrapped: Any = None
        if self.pooling is None:
            self.wrapped = sentence_transformer(folder, device)
            self.size = int(self.wrapped.get_embedding_dimension())
        else:
            self.network = load(folder, device)
            self.size = int(self.network.model.config.hidden_size)

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        pieces = [[text[start:end] for start, end in some] for text, some in zip(texts, spans, strict=True)]
        distinct = list(dict.fromkeys(piece for some in pieces for piece in some))
        if not distinct:
            return [torch.zeros(0, self.size) for _ in texts]
        if self.wrapped is not None:
            distinct.sort(key=len, reverse=True)  # those of similar length together
            parts = []
            for start in range(0, len(distinct), WRAPPED_AT_ONCE):
                checkpoint()
                some = distinct[start : start + WRAPPED_AT_ONCE]
                parts.append(self.wrapped.encode(some, convert_to_tensor=True, show_progress_bar=False).cpu())
            vectors = torch.cat(parts)
        else:
            assert self.pooling is not None
            with torch.no_grad():
                vectors = pooled(self.network, distinct, *self.pooling).cpu()
        number = {piece: i for i, piece in enumerate(distinct)}
        return [vectors[[number[piece] for piece in some]] for some in pieces]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has; characters, for a model that is handed to sentence-transformers."""
        return [len(text) for text in texts] if self.wrapped is not None else self.network.token_counts(texts)


def pooled(network: Network, pieces: Sequence[str], room: int, by_mean: bool, unit: bool) -> Tensor:
    """(pieces, dimensions); a piece in several windows is the mean over the tokens of all of them, or their first."""
    windows, owner = [], []
    size = max(1, min(network.fits, room - len(network.before) - len(network.after)))
    for number, tokens in enumerate(network.tokens(pieces)["input_ids"] if pieces else []):
        for start in range(0, max(len(tokens), 1), size):
            windows.append(network.window(tokens[start : start + size]))
            owner.append(number)
    sums = torch.zeros(len(pieces), network.model.config.hidden_size, device=network.device)
    counts = torch.zeros(len(pieces), device=network.device)
    for numbers, states in network.batches(windows):
        lengths = torch.tensor([len(windows[number]) if by_mean else 1 for number in numbers], device=network.device)
        counted = torch.arange(states.shape[1], device=network.device)[None] < lengths[:, None]
        of = torch.tensor([owner[number] for number in numbers], device=network.device)
        sums.index_add_(0, of, (states * counted[:, :, None]).sum(dim=1))
        counts.index_add_(0, of, lengths.float())
    vectors = sums / counts.clamp(min=1)[:, None]
    return torch.nn.functional.normalize(vectors) if unit else vectors


def read_pooling(folder: Path) -> tuple[int, bool, bool] | None:
    """Tokens that fit, whether to pool by the mean, whether to scale to length 1; None if we cannot pool that way.

    A folder without sentence-transformers' files, as RoBERTa's, is pooled by the mean.
    """
    if not (folder / "modules.json").is_file():
        return 10**9, True, True
    modules = json.loads((folder / "modules.json").read_text())
    kinds = [module["type"].split(".")[-1] for module in modules]
    if kinds not in (POOLED, POOLED[:2]):
        return None
    settings = json.loads((folder / modules[1]["path"] / "config.json").read_text())
    ways = {key.removeprefix("pooling_mode_") for key, on in settings.items() if key.startswith("pooling_mode_") and on}
    if isinstance(mode := settings.get("pooling_mode"), str):  # sentence-transformers 5 and later may write a word
        ways = {"mean_tokens" if mode == "mean" else "cls_token" if mode == "cls" else mode}
    if ways not in ({"mean_tokens"}, {"cls_token"}):
        return None
    if prompted(folder):
        return None
    room, lower = 10**9, False
    if (folder / "sentence_bert_config.json").is_file():
        limits = json.loads((folder / "sentence_bert_config.json").read_text())
        room, lower = limits.get("max_seq_length") or room, limits.get("do_lower_case", False)
        if not isinstance(room, int) or room < 4:
            raise ValueError(f"max_seq_length is {room!r}")
    return None if lower else (room, ways == {"mean_tokens"}, kinds == POOLED)


def prompted(folder: Path) -> bool:
    """Whether sentence-transformers would put a prompt before every text."""
    file = folder / "config_sentence_transformers.json"
    return file.is_file() and json.loads(file.read_text()).get("default_prompt_name") is not None


def sentence_transformer(folder: Path, device: str | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ValueError(
            f"The model in {folder} needs sentence-transformers: pip install sentence-transformers."
        ) from None
    try:
        return SentenceTransformer(
            str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True}
        )
    except Exception as error:  # a damaged model can raise anything
        raise ValueError(f"The model in {folder} cannot be loaded: {error!r}") from error
