"""Encoders of the BERT family on OpenVINO, without torch and transformers: read from a folder as data, and compiled."""

import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from whymatch.batching import Size, padded, pieces
from whymatch.interruption import interruption_point
from whymatch.text.encoders.architecture import Architecture, NotCompiledError, buckets
from whymatch.text.encoders.folders import (
    check_tokenizer_class,
    file_stamps,
    read_config,
    read_shapes,
    read_weights,
)
from whymatch.text.encoders.graph import build_graph
from whymatch.text.encoders.runtime import ov
from whymatch.text.encoders.tokenizing import ReadTokenizer, read_tokenizer
from whymatch.text.encoders.windows import WindowNetwork

PRECISIONS = {"bfloat16": "bf16", "float32": "f32"}
MAX_TOKENS_PER_BATCH = 2**11  # padding included
_LOWEST = np.float32(np.finfo(np.float32).min)


class CompiledNetwork(WindowNetwork):
    """An encoder of the BERT family with its tokenizer, on OpenVINO, with weights that stay as they are.

    The states of a window are the same to the bit whatever other windows are in its batch: its padded length depends
    on its own length alone. Threads may share a network.
    """

    def __init__(
        self, folder: Path, architecture: Architecture, tokenizer: ReadTokenizer, precision: str, stamps: object
    ) -> None:
        self.folder, self.architecture, self.precision = folder, architecture, precision
        self._tokenizer = tokenizer
        self.stamps = stamps
        self.before, self.after = tokenizer.before, tokenizer.after
        self.room = min(tokenizer.room, architecture.room)
        self._requests: dict[int, Any] = {}  # for inference, by layer
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return load_compiled, (self.folder, self.precision)

    @property
    def backend(self) -> str:
        return f"openvino {self.precision}"

    @property
    def layers(self) -> int:
        return self.architecture.layers

    @property
    def size(self) -> int:
        return self.architecture.size

    @property
    def unknown_token(self) -> int | None:
        return self._tokenizer.unknown

    @property
    def plain_tokenizer(self) -> Tokenizer:
        return self._tokenizer.tokenizer

    def joined(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.zeros((0, self.size), np.float32), *parts])

    def prepare(self, layer: int | None = None) -> None:
        number = self.layers if layer is None else layer
        with self._lock:
            if number not in self._requests:
                self._requests[number] = _compiled(self, number).create_infer_request()

    def weights(self) -> dict[str, np.ndarray]:
        """The weights in its folder, by the names of its architecture.

        Raises:
            ValueError: if they cannot be read, or have changed since the network was loaded.
        """
        stored = read_weights(self.folder)
        if file_stamps(self.folder) != self.stamps:
            raise ValueError("its files have changed since it was loaded. Make a new encoder.")
        names = self.architecture.stored_names({name: values.shape for name, values in stored.items()})
        return {name: stored[own] for name, own in names.items()}

    def batches(
        self, windows: Sequence[list[int]], layer: int | None = None
    ) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        self.prepare(layer)
        for batch, length in self.grouped(windows):
            counts = np.array([len(windows[number]) for number in batch])
            inputs = self.inputs([windows[number] for number in batch], length)
            with self._lock:  # a request serves one thread at a time, and uses all cores
                request = self._requests[self.layers if layer is None else layer]
                states = next(iter(request.infer(inputs).values()))
            yield batch, states, np.cumsum(counts) - counts

    def grouped(self, windows: Sequence[list[int]]) -> Iterator[tuple[list[int], int]]:
        """The numbers of windows that are read at once, and the length that they are padded to; the longest first."""
        lengths = [padded_length(len(window)) for window in windows]
        filled = [number for number, window in enumerate(windows) if window]
        longest_first = sorted(filled, key=lengths.__getitem__, reverse=True)
        for length, same in groupby(longest_first, key=lengths.__getitem__):
            for batch in pieces([*same], [Size(n=length)] * len(windows), MAX_TOKENS_PER_BATCH):
                interruption_point()
                yield batch, length

    def inputs(self, windows: Sequence[list[int]], length: int) -> list[np.ndarray]:
        """The inputs of the graph for windows that are padded to one length for attention."""
        padding = self.architecture.padding
        ids, filled = padded(windows, length, padding or 0)
        if ids.max() >= self.architecture.words:
            raise ValueError(f"The tokenizer in {self.folder} gives the token {ids.max()}, which its model has not.")
        if padding is None:
            places = np.broadcast_to(np.arange(length), ids.shape)
        else:  # the padding token may stand in a text, and then has no place
            counted = ids != padding
            places = np.cumsum(counted, axis=1) * counted + padding
        cell = np.flatnonzero(filled)
        row = np.zeros(filled.shape, np.int32)
        row[filled] = np.arange(len(cell))
        mask = np.where(filled, np.float32(0), _LOWEST)[:, None, None, :]
        inputs = [*(values.astype(np.int32) for values in (ids[filled], places[filled], row, cell)), mask]
        if self.architecture.family == "mpnet":
            inputs.append(buckets(length))
        return inputs


def padded_length(length: int) -> int:
    """The next of few lengths, since each shape is prepared when it is first met.

    >>> [padded_length(length) for length in (3, 17, 64, 65, 129, 300, 512)]
    [16, 32, 64, 128, 256, 384, 512]
    """
    return max(16, 1 << (length - 1).bit_length()) if length <= 128 else -(-length // 128) * 128


def load_compiled(folder: Path, precision: str | None = None) -> CompiledNetwork:
    """The model in a folder; while its files stay the same, it is loaded once and shared.

    Args:
        precision: "bfloat16" or "float32"; by default bfloat16 where the processor has it.

    Raises:
        NotCompiledError: if the model is not of the BERT family, or its tokenizer needs transformers.
        ValueError: if the folder holds no model, or a damaged one.
    """
    try:
        return _loaded(folder, precision or native_precision(), file_stamps(folder))
    except NotCompiledError:
        raise
    except Exception as error:  # a damaged model can raise anything
        raise ValueError(f"The model in {folder} cannot be loaded: {error}") from error


@lru_cache(maxsize=4)
def _loaded(folder: Path, precision: str, stamps: object) -> CompiledNetwork:
    config = read_config(folder)
    check_tokenizer_class(config.get("tokenizer_class"))
    architecture = Architecture.from_config(config)
    architecture.stored_names(read_shapes(folder))
    network = CompiledNetwork(folder, architecture, read_tokenizer(folder), precision, stamps)
    if network.fits < 2:
        raise ValueError(f"it has room for {network.fits} tokens of a text. It needs 2 or more.")
    return network


@cache
def native_precision() -> str:
    """bfloat16 where the processor computes in it, or else float32."""
    return "bfloat16" if _core().get_property("CPU", "INFERENCE_PRECISION_HINT") == ov.Type.bf16 else "float32"


@cache
def _core() -> ov.Core:
    return ov.Core()


def _settings(precision: str) -> dict[str, Any]:
    """How OpenVINO runs a graph: on as many threads as OMP_NUM_THREADS says, or on all cores, which others may use."""
    settings = {
        "INFERENCE_PRECISION_HINT": PRECISIONS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,
    }
    threads = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return settings | ({"INFERENCE_NUM_THREADS": int(threads)} if threads.isdecimal() and int(threads) else {})


def compile_graph(graph: ov.Model, precision: str) -> ov.CompiledModel:
    """The graph, ready to compute in a precision."""
    return _core().compile_model(graph, "CPU", _settings(precision))


def _compiled(network: CompiledNetwork, layer: int) -> ov.CompiledModel:
    """The graph up to a layer.

    It is compiled anew in each process: to read a compiled one from disk takes as long as to read the weights and
    compile them.

    Raises:
        ValueError: if the weights cannot be read or compiled.
    """
    try:
        return compile_graph(build_graph(network.architecture, network.weights(), layer), network.precision)
    except Exception as error:  # a damaged model can raise anything
        raise ValueError(f"The model in {network.folder} cannot be loaded: {error}") from error
