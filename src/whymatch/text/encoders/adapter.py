"""Low-rank adapters (LoRA): what a frozen model learns, as a product of two thin matrices for each linear layer.

An adapted layer computes W·x + SCALE · up·(down·x). `up` starts at zero, so that an adapter changes nothing before it
is trained. Folded into W, it costs no time: `merged` gives such a model, with plain linear layers, for any backend.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from whymatch.text.encoders.folding import SCALE

_METADATA = "whymatch adapter"  # one entry, since safetensors writes several in any order


@dataclass(frozen=True)
class Adapter:
    """How large an adapter is, and on how many of the last transformer layers it sits; on all of them if None.

    >>> import whymatch as wm
    >>> encoder = wm.learning.FineTuned(adapter=wm.learning.Adapter(rank=4, last_layers=2))
    >>> sum(weights.numel() for weights in encoder.parameters() if weights.requires_grad)   # of 22 million
    55296

    Args:
        rank: the width of the two matrices that are learned for each layer.
        last_layers: on how many of the last layers it sits.
    """

    rank: int = 8
    last_layers: int | None = None

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"An adapter has a rank of 1 or more, got {self.rank}.")
        if self.last_layers is not None and self.last_layers < 1:
            raise ValueError(f"An adapter sits on 1 or more layers, got {self.last_layers}.")


@dataclass(frozen=True)
class Base:
    """The model that an adapter belongs to: its name, and the SHA-256 of its weights."""

    name: str
    sha256: str

    def check(self, sha256: str, folder: Path) -> None:
        """Raises ValueError where the weights in a folder are not those that the adapter was trained over."""
        if sha256 != self.sha256:
            raise ValueError(
                f"The adapter was trained over {self.name} with weights of the SHA-256 {self.sha256}, and those in "
                f"{folder} have {sha256}. Install or download the version of {self.name} that it was trained over."
            )


class LowRank(nn.Linear):
    """A linear layer, frozen, with an adapter: `down` (rank, in) and `up` (out, rank) are what is trained.

    Without gradients it runs with the folded weights, which are kept until one of the three matrices changes.
    """

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__(base.in_features, base.out_features, bias=base.bias is not None, device="meta")
        if rank > min(base.weight.shape):
            raise ValueError(f"An adapter's rank is at most {min(base.weight.shape)} for this model, got {rank}.")
        self.weight, self.bias = base.weight, base.bias
        down = torch.empty(rank, base.in_features)
        nn.init.kaiming_uniform_(down, a=5**0.5)  # drawn on the CPU: the same numbers for every device
        self.down = nn.Parameter(down.to(base.weight))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank).to(base.weight))
        self._kept: tuple[object, Tensor] | None = None
        self.train(base.training)

    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return nn.functional.linear(x, self.folded(), self.bias)
        self._kept = None
        return super().forward(x) + SCALE * nn.functional.linear(nn.functional.linear(x, self.down), self.up)

    def folded(self) -> Tensor:
        """(out, in): the weights with the adapter in them, without gradients."""
        matrices, kept = (self.weight, self.down, self.up), self._kept
        key = [(matrix.data_ptr(), matrix._version, matrix.dtype, matrix.device) for matrix in matrices]
        if kept is not None and kept[0] == key:
            return kept[1]
        with torch.no_grad(), torch.autocast(self.weight.device.type, enabled=False):
            folded = torch.addmm(self.weight, self.up, self.down, alpha=SCALE)
        if self.up.grad is None and self.down.grad is None:  # or an optimiser may step: a fused one counts no version
            self._kept = key, folded
        return folded


def attach(model: nn.Module, adapter: Adapter) -> None:
    """Freezes a model of transformers, and gives an adapter to every linear layer of its last transformer layers.

    Raises:
        ValueError: if the model has no such layers, or the adapter is too large for them.
    """
    layers = _transformer_layers(model)
    count = len(layers) if adapter.last_layers is None else adapter.last_layers
    if count > len(layers):
        raise ValueError(f"An adapter sits on up to {len(layers)} layers of this model, got {count}.")
    places = [
        (parent, name, part)
        for layer in layers[len(layers) - count :]
        for parent in layer.modules()
        for name, part in parent.named_children()
        if isinstance(part, nn.Linear)
    ]
    if not places:
        raise ValueError(f"A {type(model).__name__} has no linear layers that an adapter could be put on.")
    adapted = [LowRank(part, adapter.rank) for _, _, part in places]  # before anything is changed
    model.requires_grad_(False)
    for (parent, name, _), part in zip(places, adapted, strict=True):
        setattr(parent, name, part)


def _transformer_layers(model: Any) -> nn.ModuleList:
    """The layers of a transformer, in their order."""
    count = model.config.num_hidden_layers
    for part in model.modules():
        if isinstance(part, nn.ModuleList) and len(part) == count:
            return part
    raise ValueError(f"A {type(model).__name__} has no list of {count} layers that an adapter could be put on.")


def _adapted(model: nn.Module) -> Iterator[tuple[str, LowRank]]:
    """The layers with an adapter, by name."""
    return ((name, part) for name, part in model.named_modules() if isinstance(part, LowRank))


def merged(model: nn.Module) -> Any:
    """A copy of a model with its adapter folded into plain linear layers; a model without one as it is."""
    if not any(True for _ in _adapted(model)):
        return model
    copy = deepcopy(model)
    for name, part in [*_adapted(copy)]:
        plain = nn.Linear(part.in_features, part.out_features, bias=part.bias is not None, device="meta")
        plain.weight, plain.bias = nn.Parameter(part.folded().clone(), requires_grad=False), part.bias
        parent, _, own = name.rpartition(".")
        setattr(copy.get_submodule(parent), own, plain.train(part.training))
    return copy


def adapter_weights(model: nn.Module) -> dict[str, Tensor]:
    """What of a model is its adapter: `down` and `up` of every adapted layer, by name."""
    return {f"{name}.{own}": getattr(part, own) for name, part in _adapted(model) for own in ("down", "up")}


def write_adapter(
    model: nn.Module, adapter: Adapter, base: Base, file: Path, dtype: torch.dtype = torch.float32
) -> None:
    """Writes the adapter of a model as safetensors: its weights alone, with what it takes to put them on again."""
    tensors = {name: weight.detach().cpu().to(dtype) for name, weight in adapter_weights(model).items()}
    described = {**asdict(adapter), "base": asdict(base)}
    save_file(tensors, file, metadata={_METADATA: json.dumps(described, sort_keys=True)})


def read_adapter(file: Path) -> tuple[Adapter, Base, dict[str, Tensor]]:
    """An adapter from its file, its base, and its weights in single precision, which `load_adapter` puts on a model.

    Raises:
        ValueError: if the file is missing, damaged or no adapter.
    """
    try:
        with safe_open(file, "pt") as opened:
            described = json.loads((opened.metadata() or {})[_METADATA])
            tensors = {name: opened.get_tensor(name).float() for name in opened.keys()}  # noqa: SIM118
        rank, last_layers, base = described["rank"], described["last_layers"], described["base"]
        if type(rank) is not int or type(last_layers) not in (int, type(None)):
            raise ValueError(f"it has the rank {rank!r:.40} on {last_layers!r:.40} layers")
        return Adapter(rank, last_layers), Base(str(base["name"]), str(base["sha256"])), tensors
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no adapter: {error}.") from error


def load_adapter(model: nn.Module, adapter: Adapter, tensors: Mapping[str, Tensor]) -> None:
    """Attaches an adapter with weights that `read_adapter` gave.

    Raises:
        ValueError: if they are not those of such an adapter for this model.
    """
    attach(model, adapter)
    weights = adapter_weights(model)
    if odd := weights.keys() ^ tensors.keys():
        raise ValueError(f"The adapter's weights are not for this model: {min(odd)} is missing in one of them.")
    with torch.no_grad():
        for name, weight in weights.items():
            if weight.shape != tensors[name].shape:
                raise ValueError(f"The adapter's {name} is {tuple(tensors[name].shape)}, not {tuple(weight.shape)}.")
            weight.copy_(tensors[name])


def mean_adapter(model: nn.Module, states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The adapter of the same rank that is nearest to the mean of several, given as states of the model.

    The mean of products is not the product of means, and has a higher rank: it is cut by its singular values.
    """
    weights: dict[str, Tensor] = {}
    for name, part in _adapted(model):
        products = [state[f"{name}.up"].double() @ state[f"{name}.down"].double() for state in states]
        left, values, right = torch.linalg.svd(torch.stack(products).mean(dim=0), full_matrices=False)
        rank = len(part.down)
        roots = values[:rank].sqrt()
        weights[f"{name}.up"] = (left[:, :rank] * roots).to(part.up)
        weights[f"{name}.down"] = (roots[:, None] * right[:rank]).to(part.down)
    return weights
