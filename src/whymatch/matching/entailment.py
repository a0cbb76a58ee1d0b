"""A network that reads two texts together and says whether the left one entails the right one or contradicts it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from whymatch.text.encoders.adapter import Adapter, Base, adapter_weights, attach, load_adapter, merged
from whymatch.text.encoders.models import BUNDLED, MINILM, locate
from whymatch.text.encoders.network import Network, load_own

LABELS = ("entails", "neutral", "contradicts")
BASE = Base(MINILM, BUNDLED["model.safetensors"])
MAX_TOKENS = 256  # of both texts together, special tokens included
_HIDDEN = 96
_SURE = 12.0  # the logit of entailment where both texts have the same tokens
_HEAD = "head."


class Head(nn.Module):
    """From the states of two texts to the logits of `LABELS`: the first token, both means, and how these differ."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden, self.logits = nn.Linear(4 * size, _HIDDEN), nn.Linear(_HIDDEN, len(LABELS))

    def forward(self, states: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(batch, labels) from states (batch, length, size), types and mask (batch, length)."""
        left, right = (_mean(states, mask * (types == side)) for side in (0, 1))
        features = torch.cat([states[:, 0], left, right, (left - right).abs()], dim=-1)
        return self.logits(nn.functional.gelu(self.hidden(features)))


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


class EntailmentNetwork(nn.Module):
    """The bundled MiniLM with an adapter, and a head."""

    def __init__(self, adapter: Adapter, device: str | None = None) -> None:
        super().__init__()
        self.adapter = adapter
        self.network = load_own(locate(MINILM), device)
        self.encoder: Any = self.network.model
        attach(self.encoder, adapter)
        self.head = Head(self.network.size).to(self.network.device)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(batch, labels): logits."""
        states = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        return self.head(states.float(), types, mask)

    def trained(self) -> dict[str, Tensor]:
        """What is trained, by name."""
        return adapter_weights(self.encoder) | {
            f"{_HEAD}{name}": weight for name, weight in self.head.named_parameters()
        }

    def load(self, weights: dict[str, Tensor]) -> None:
        """Takes weights over that `trained` gave.

        Raises:
            ValueError: if they are not those of such a network.
        """
        own = self.trained()
        if odd := own.keys() ^ weights.keys():
            raise ValueError(f"The weights are not those of this network: {min(odd)} is missing in one of them.")
        with torch.no_grad():
            for name, weight in own.items():
                weight.copy_(weights[name])

    def write(self, file: Path, dtype: torch.dtype = torch.float32) -> None:
        """Writes what is trained as safetensors, as `read_entailment` reads it."""
        save_file({name: weight.detach().cpu().to(dtype) for name, weight in self.trained().items()}, file)


def read_entailment(file: Path, device: str | None = None) -> "Entailment":
    """The network whose trained weights a file has, for inference.

    Raises:
        ValueError: if the file is missing, damaged or holds other weights, or if MiniLM is not on this machine.
    """
    try:
        weights = {name: weight.float() for name, weight in load_file(file).items()}
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{file} holds no weights: {error}.") from error
    network = load_own(locate(MINILM), device)
    ranks = {len(weight) for name, weight in weights.items() if name.endswith(".down")}
    if len(ranks) != 1:
        raise ValueError(f"{file} holds no adapter: its matrices have the ranks {sorted(ranks)}.")
    of_head = {name.removeprefix(_HEAD): weight for name, weight in weights.items() if name.startswith(_HEAD)}
    load_adapter(network.model, Adapter(ranks.pop()), {name: w for name, w in weights.items() if _HEAD not in name})
    head = Head(network.size)
    try:
        head.load_state_dict(of_head)
    except RuntimeError as error:
        raise ValueError(f"{file} holds no head for this network: {error}") from error
    return Entailment(network, head.to(network.device).eval())


class Entailment:
    """Reads pairs of texts with the adapter folded into the encoder's weights."""

    def __init__(self, network: Network, head: Head) -> None:
        self._network = Network(merged(network.model), network.tokenizer, network.before, network.after, network.room)
        self._head = head

    def logits(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """(pairs, labels): what each left text says of its right one, in batches of pairs of similar length.

        Two texts whose tokens are the same, but for a full stop at the end, entail each other and are not read.
        """
        windows, types = pair_windows(self._network, pairs)
        same = self._same_tokens(pairs)
        windows = [[] if equal else window for window, equal in zip(windows, same, strict=True)]
        logits = np.zeros((len(pairs), len(LABELS)), np.float32)
        logits[same, 0] = _SURE
        with torch.inference_mode():
            for batch, states in self._network.batches(windows, types=types):
                own_types, mask = _padded([types[i] for i in batch], states.shape[1], states.device)
                logits[batch] = self._head(states, own_types, mask).float().cpu().numpy()
        return logits

    def _same_tokens(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        lefts, rights = (self._network.tokens([pair[side].rstrip(" .") for pair in pairs]) for side in (0, 1))
        return np.array([left.ids == right.ids for left, right in zip(lefts, rights, strict=True)], bool)


def pair_windows(network: Network, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], list[list[int]]]:
    """The tokens of each pair in one window, and their types; what is too long is cut at the end of the longer text."""
    special = len(network.together([], [])[0])
    room = min(network.room, MAX_TOKENS) - special
    lefts, rights = (network.tokens([pair[side] for pair in pairs]) for side in (0, 1))
    windows, types = [], []
    for left, right in zip(lefts, rights, strict=True):
        for_left, for_right = kept(len(left.ids), len(right.ids), room)
        window, own_types, _ = network.together(left.ids[:for_left], right.ids[:for_right])
        windows.append(window)
        types.append(own_types)
    return windows, types


def kept(left: int, right: int, room: int) -> tuple[int, int]:
    """How many tokens of two texts are kept where both do not fit: the longer one is cut first.

    >>> kept(10, 20, 40), kept(10, 90, 40), kept(90, 60, 40)
    ((10, 20), (10, 30), (20, 20))
    """
    half = room // 2
    if left + right <= room:
        return left, right
    if left <= half:
        return left, room - left
    return (room - right, right) if right <= half else (half, half)


def _padded(rows: list[list[int]], length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    values = torch.zeros(len(rows), length, dtype=torch.long, device=device)
    mask = torch.zeros_like(values)
    for number, row in enumerate(rows):
        values[number, : len(row)] = torch.tensor(row, device=device)
        mask[number, : len(row)] = 1
    return values, mask


def training_batches(
    network: Network, windows: Sequence[list[int]], types: Sequence[list[int]], batches: Sequence[Sequence[int]]
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Token numbers, types and mask of each batch, (batch, length) each."""
    for batch in batches:
        length = max(len(windows[number]) for number in batch)
        ids, mask = _padded([windows[number] for number in batch], length, network.device)
        yield ids, _padded([types[number] for number in batch], length, network.device)[0], mask
