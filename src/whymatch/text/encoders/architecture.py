"""What config.json says of an encoder of the BERT family: its sizes, and which weights it must have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

BUCKETS = 32
"""The number of relative distances that MPNet tells apart."""
_MAX_DISTANCE = 128
ACTIVATIONS = {"gelu": "erf", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "relu": "relu"}
RELATIVE = "encoder.relative_attention_bias"


class NotCompiledError(Exception):
    """Why a model does not run on OpenVINO, although it may run on torch."""


class LayerNames(NamedTuple):
    """What the parts of a transformer layer are called, after the name of the layer."""

    layer: str
    query: str
    key: str
    value: str
    attended: str
    attended_norm: str
    inner: str
    outer: str
    norm: str


_BERT = LayerNames(
    layer="encoder.layer",
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    attended="attention.output.dense",
    attended_norm="attention.output.LayerNorm",
    inner="intermediate.dense",
    outer="output.dense",
    norm="output.LayerNorm",
)
_MPNET = _BERT._replace(
    query="attention.attn.q",
    key="attention.attn.k",
    value="attention.attn.v",
    attended="attention.attn.o",
    attended_norm="attention.LayerNorm",
)
_DISTILBERT = LayerNames(
    layer="transformer.layer",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    attended="attention.out_lin",
    attended_norm="sa_layer_norm",
    inner="ffn.lin1",
    outer="ffn.lin2",
    norm="output_layer_norm",
)


class _Family(NamedTuple):
    prefix: str
    """What stands before the names of the weights if the model was saved with a head."""
    names: LayerNames
    words: int
    """The vocabulary's size where config.json does not give it."""
    after_padding: bool = False
    """Whether places are counted from after the number of the padding token."""


_ROBERTA = _Family("roberta", _BERT, 50265, True)
_FAMILIES = {
    "bert": _Family("bert", _BERT, 30522),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": _Family("distilbert", _DISTILBERT, 30522),
    "mpnet": _Family("mpnet", _MPNET, 30527, True),
}
_OTHER_COMPUTATIONS = "is_decoder", "add_cross_attention", "pruned_heads"
"""Settings that change what is computed, if they are set."""


@dataclass(frozen=True)
class Architecture:
    """The sizes of an encoder, and how it differs from BERT."""

    family: str
    size: int
    heads: int
    layers: int
    inner: int
    words: int
    """Tokens that have vectors."""
    positions: int
    types: int
    """Kinds of texts that a token can belong to; 0 if the family knows none. Every token is of the first kind."""
    epsilon: float
    activation: str
    padding: int | None
    """The token from after whose number places are counted, or None if they are counted from 0."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Architecture":
        """What the content of config.json describes.

        Raises:
            NotCompiledError: if it is no encoder of the BERT family, or one with unusual settings.
            ValueError: if a size is no whole number of 1 or more.
        """
        name = config.get("model_type")
        family = _FAMILIES.get(name) if isinstance(name, str) else None
        if family is None:
            raise NotCompiledError(f"models of the type {name!r:.40} are not of the BERT family")
        for key in _OTHER_COMPUTATIONS:
            if config.get(key):
                raise NotCompiledError(f"config.json sets {key}")
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise NotCompiledError(f"its position_embedding_type is {config['position_embedding_type']!r:.40}")
        small = name == "distilbert"
        activation = config.get("activation" if small else "hidden_act", "gelu")
        if activation not in ACTIVATIONS:
            raise NotCompiledError(f"its activation is {activation!r:.40}")
        if name == "mpnet" and config.get("relative_attention_num_buckets", BUCKETS) != BUCKETS:
            raise NotCompiledError(f"relative_attention_num_buckets is not {BUCKETS}")
        return cls(
            family=str(name),
            size=_whole(config, "dim" if small else "hidden_size", 768),
            heads=_whole(config, "n_heads" if small else "num_attention_heads", 12),
            layers=_whole(config, "n_layers" if small else "num_hidden_layers", 6 if small else 12),
            inner=_whole(config, "hidden_dim" if small else "intermediate_size", 3072),
            words=_whole(config, "vocab_size", family.words),
            positions=_whole(config, "max_position_embeddings", 512),
            types=0 if name in ("mpnet", "distilbert") else _whole(config, "type_vocab_size", 2),
            epsilon=1e-12 if small else float(config.get("layer_norm_eps", 1e-12)),
            activation=str(activation),
            padding=_padding(config, str(name)) if family.after_padding else None,
        )

    def __post_init__(self) -> None:
        if self.size % self.heads:
            raise ValueError(f"a size of {self.size} cannot be shared by {self.heads} attention heads.")

    @property
    def room(self) -> int:
        """Tokens that can be told apart by their places."""
        return self.positions - (0 if self.padding is None else self.padding + 1)

    @property
    def names(self) -> LayerNames:
        return _FAMILIES[self.family].names

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight that it must have, by name."""
        size, inner = self.size, self.inner
        tables = {"word": self.words, "position": self.positions, "token_type": self.types}
        shapes: dict[str, tuple[int, ...]] = {
            f"embeddings.{kind}_embeddings.weight": (rows, size) for kind, rows in tables.items() if rows
        }
        shapes |= {f"embeddings.LayerNorm.{part}": (size,) for part in ("weight", "bias")}
        if self.family == "mpnet":
            shapes[f"{RELATIVE}.weight"] = (BUCKETS, self.heads)
        for number in range(self.layers):
            for name in self.names[1:]:
                path = f"{self.names.layer}.{number}.{name}"
                outputs = inner if name == self.names.inner else size
                shapes[f"{path}.bias"] = (outputs,)
                is_norm = name in (self.names.attended_norm, self.names.norm)
                inputs = inner if name == self.names.outer else size
                shapes[f"{path}.weight"] = (size,) if is_norm else (outputs, inputs)
        return shapes

    def stored_names(self, stored: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
        """What each weight is called among the stored ones, whose shapes are given by name.

        A model that was saved with a head has a prefix, and old ones have gamma and beta for weight and bias.

        Raises:
            ValueError: naming a weight that is missing or has another shape.
        """
        names, prefix = {}, _FAMILIES[self.family].prefix
        if self.layers > len(stored):
            problem = f"{self.layers:,} layers, and {len(stored):,} weights"
            raise ValueError(f"its weights are not those of its config.json: {problem}.")
        for name, shape in self.shapes().items():
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            candidates = (name, f"{prefix}.{name}", old, f"{prefix}.{old}")
            present = next((candidate for candidate in candidates if candidate in stored), None)
            if present is None or stored[present] != shape:
                problem = "is missing" if present is None else f"is {stored[present]}, and not {shape}"
                raise ValueError(f"its weights are not those of its config.json: {name} {problem}.")
            names[name] = present
        return names


def buckets(length: int) -> np.ndarray:
    """(length, length): the number of the relative distance from each token to each other one, for MPNet.

    Near distances have numbers of their own, and far ones share theirs, by the logarithm.

    >>> buckets(3).tolist()
    [[0, 17, 18], [1, 0, 17], [2, 1, 0]]
    """
    place = np.arange(length, dtype=np.int32)
    back, half, near = place[:, None] - place[None, :], BUCKETS // 2, BUCKETS // 4
    distance = np.abs(back)
    far = np.log(np.maximum(distance, 1).astype(np.float32) / near) / np.float32(np.log(_MAX_DISTANCE / near))
    shared = np.minimum(near + (far * (half - near)).astype(np.int32), half - 1)
    numbers = np.where(back < 0, half, 0) + np.where(distance < near, distance, shared)
    return numbers.astype(np.int32)


def _whole(config: Mapping[str, Any], key: str, default: int) -> int:
    value = config.get(key, default)
    if type(value) is not int or value < 1:
        raise ValueError(f"config.json has {key} {value!r:.40}, which must be a whole number of 1 or more.")
    return value


def _padding(config: Mapping[str, Any], family: str) -> int:
    value = 1 if family == "mpnet" else config.get("pad_token_id", 1)
    if type(value) is not int or value < 0:
        raise ValueError(f"config.json has pad_token_id {value!r:.40}, which must be a whole number of 0 or more.")
    return value
