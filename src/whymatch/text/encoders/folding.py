"""Adapters folded into the weights of a network, without torch, so that any backend runs them.

A file apart from `adapter.py`, which trains adapters and needs torch.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

SCALE = 2.0
"""What the product of an adapter's matrices is multiplied by, alpha / rank, for every rank; files rely on it."""


def folded(weights: Mapping[str, np.ndarray], adapter: Mapping[str, np.ndarray], file: Path) -> dict[str, np.ndarray]:
    """The weights of a network with an adapter in them.

    Raises:
        ValueError: if the adapter is not one of this network.
    """
    names = {name.removesuffix(".down") for name in adapter if name.endswith(".down")}
    if {f"{name}.{part}" for name in names for part in ("down", "up")} != adapter.keys():
        raise ValueError(f"{file} holds no adapter: a matrix of it is missing.")
    changed = dict(weights)
    for name in names:
        weight = weights.get(f"{name}.weight")
        product = adapter[f"{name}.up"] @ adapter[f"{name}.down"]
        if weight is None or weight.shape != product.shape:
            raise ValueError(f"{file} holds an adapter of another network: {name} does not fit.")
        changed[f"{name}.weight"] = weight + SCALE * product
    return changed
