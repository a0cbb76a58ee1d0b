"""Reads pairs of texts together, on OpenVINO and without torch: does the left one entail the right one?

The network is the bundled MiniLM with an adapter folded into its weights, and a small head over its states. It is
trained by `entailment.py`, which has the same network on torch.
"""

from collections.abc import Sequence
from functools import cached_property
from math import erf
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from whymatch.interruption import interruption_point
from whymatch.matching.wording import same_wording
from whymatch.text.encoders.compiled import CompiledNetwork, compile_graph, load_compiled
from whymatch.text.encoders.folding import folded
from whymatch.text.encoders.graph import build_graph
from whymatch.text.encoders.models import MINILM, locate
from whymatch.text.encoders.windows import WindowNetwork

LABELS = ("entails", "neutral", "contradicts")
MAX_TOKENS = 256  # of both texts together, special tokens included
HEAD = "head."
_SURE = 12.0  # the logit of what needs no reading


class Entailment:
    """Reads pairs of texts with the adapter and the head of a file of safetensors.

    `precision` is bfloat16 or float32; by default bfloat16 where the processor has it.

    Raises:
        ValueError: if the file is missing, damaged or of another network, or if MiniLM is not on this machine.
    """

    def __init__(self, file: Path, precision: str | None = None) -> None:
        try:
            weights = {name: values.astype(np.float32) for name, values in load_file(file).items()}
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{file} holds no weights: {error}.") from error
        self._file = file
        self._head = {name.removeprefix(HEAD): values for name, values in weights.items() if name.startswith(HEAD)}
        self._adapter = {name: values for name, values in weights.items() if not name.startswith(HEAD)}
        if {*self._head} != {"hidden.weight", "hidden.bias", "logits.weight", "logits.bias"}:
            raise ValueError(f"{file} holds no head: it has {', '.join(sorted(self._head)) or 'none'} of one.")
        self._network: CompiledNetwork = load_compiled(locate(MINILM), precision)
        self._lock = Lock()

    @cached_property
    def _request(self) -> Any:
        network = self._network
        weights = folded(network.weights(), self._adapter, self._file)
        graph = build_graph(network.architecture, weights, network.layers, typed=True)
        return compile_graph(graph, network.precision).create_infer_request()

    def logits(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """(pairs, labels): what each left text says of its right one, in batches of pairs of similar length.

        The two texts are read in the same wording. Where they are then the same but for case, they entail each other
        and are not read.
        """
        wordings = []
        for pair in pairs:
            interruption_point()
            wordings.append(same_wording(*pair))
        windows, types = pair_windows(self._network, wordings)
        same = np.array([left.casefold() == right.casefold() for left, right in wordings], bool)
        windows = [[] if equal else window for window, equal in zip(windows, same, strict=True)]
        logits = np.zeros((len(pairs), len(LABELS)), np.float32)
        logits[same, 0] = _SURE
        for batch, length in self._network.grouped(windows):
            own_types = [types[number] for number in batch]
            inputs = self._network.inputs([windows[number] for number in batch], length)
            inputs.append(np.concatenate([np.array(row, np.int32) for row in own_types]))
            with self._lock:
                states = np.array(next(iter(self._request.infer(inputs).values())))
            logits[batch] = self._read(states, own_types)
        return logits

    def _read(self, states: np.ndarray, types: Sequence[list[int]]) -> np.ndarray:
        """(windows, labels): from the states (tokens, size) of windows, one after another, and the types of tokens."""
        counts = np.array([[row.count(0), row.count(1)] for row in types])
        firsts = np.cumsum(counts.sum(axis=1)) - counts.sum(axis=1)
        starts = np.stack([firsts, firsts + counts[:, 0]], axis=1)
        means = np.add.reduceat(states, starts.ravel(), axis=0) / counts.reshape(-1, 1)
        left, right = means[0::2], means[1::2]
        features = np.concatenate([states[firsts], left, right, np.abs(left - right)], axis=1)
        hidden = _gelu(features @ self._head["hidden.weight"].T + self._head["hidden.bias"])
        return hidden @ self._head["logits.weight"].T + self._head["logits.bias"]


def pair_windows(network: WindowNetwork, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], list[list[int]]]:
    """The tokens of each pair in one window, and their types; what is too long is cut at the end of the longer text."""
    before, between = network.before, network.after
    room = min(network.room, MAX_TOKENS) - len(before) - 2 * len(between)
    lefts, rights = (network.tokens([pair[side] for pair in pairs]) for side in (0, 1))
    windows, types = [], []
    for left, right in zip(lefts, rights, strict=True):
        for_left, for_right = kept(len(left.ids), len(right.ids), room)
        first = [*before, *left.ids[:for_left], *between]
        second = [*right.ids[:for_right], *between]
        windows.append(first + second)
        types.append([0] * len(first) + [1] * len(second))
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


def _gelu(values: np.ndarray) -> np.ndarray:
    """x · Φ(x), with the exact distribution function."""
    powers = np.array([erf(value) for value in (values.ravel() / 2**0.5).tolist()]).reshape(values.shape)
    return values * (1 + powers) / 2
