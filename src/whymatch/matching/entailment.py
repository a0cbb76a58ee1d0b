"""The network that reads two texts together, on torch, for training; `entailing.py` runs it without torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from whymatch.matching.entailing import HEAD, LABELS
from whymatch.text.encoders.adapter import Adapter, Base, adapter_weights, attach
from whymatch.text.encoders.models import BUNDLED, MINILM, locate
from whymatch.text.encoders.network import load_own

BASE = Base(MINILM, BUNDLED["model.safetensors"])
_HIDDEN = 96


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
    """The bundled MiniLM and a head. An adapter over MiniLM is trained, or all of its weights where there is none."""

    def __init__(self, adapter: Adapter | None, device: str | None = None) -> None:
        super().__init__()
        self.network = load_own(locate(MINILM), device)
        self.encoder: Any = self.network.model
        self._adapted = adapter is not None
        if adapter is not None:
            attach(self.encoder, adapter)
        self.head = Head(self.network.size).to(self.network.device)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(batch, labels): logits."""
        states = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        return self.head(states.float(), types, mask)

    def trained(self) -> dict[str, Tensor]:
        """What is trained, by name."""
        own = adapter_weights(self.encoder) if self._adapted else dict(self.encoder.named_parameters())
        return own | {f"{HEAD}{name}": weight for name, weight in self.head.named_parameters()}

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
        """Writes what is trained as safetensors, as `Entailment` reads it."""
        save_file({name: weight.detach().cpu().to(dtype) for name, weight in self.trained().items()}, file)


def padded_inputs(
    windows: Sequence[Sequence[int]], types: Sequence[Sequence[int]], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Token numbers, types and mask of a batch, (batch, length) each, from the windows of its pairs and their types."""
    rows = np.zeros((3, len(windows), max(map(len, windows))), np.int64)
    for number, (window, own_types) in enumerate(zip(windows, types, strict=True)):
        rows[:, number, : len(window)] = window, own_types, [1] * len(window)
    ids, typed, mask = torch.from_numpy(rows).to(device)
    return ids, typed, mask
