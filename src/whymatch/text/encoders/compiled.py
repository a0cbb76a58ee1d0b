"""Encoders of the BERT family on OpenVINO, without torch and transformers: read from a folder as data, and compiled."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import cache, lru_cache
from io import BytesIO
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import openvino as ov
from tokenizers import Tokenizer

from whymatch.batching import Size, padded, pieces
from whymatch.files import cache_folder, file_digest, whole_file
from whymatch.interruption import interruption_point
from whymatch.text.encoders.architecture import Architecture, NotCompiledError, buckets
from whymatch.text.encoders.folders import (
    check_tokenizer_class,
    file_stamps,
    read_config,
    read_shapes,
    read_weights,
    weight_paths,
)
from whymatch.text.encoders.graph import build_graph
from whymatch.text.encoders.tokenizing import ReadTokenizer, read_tokenizer
from whymatch.text.encoders.windows import WindowNetwork

PRECISIONS = {"bfloat16": "bf16", "float32": "f32"}
MAX_TOKENS_PER_BATCH = 2**11  # padding included
MAX_CACHED_GRAPHS = 8  # files; one of MiniLM has 90 MB
_LOWEST = np.float32(np.finfo(np.float32).min)
_DIGEST_SIZE = hashlib.sha256().digest_size


class CompiledNetwork(WindowNetwork):
    """An encoder of the BERT family with its tokenizer, on OpenVINO, with weights that stay as they are.

    The states of a window are the same to the bit whatever other windows are in its batch: its padded length depends
    on its own length alone. Threads may share a network.
    """

    def __init__(self, folder: Path, architecture: Architecture, tokenizer: ReadTokenizer, precision: str) -> None:
        self.folder, self.architecture, self.precision = folder, architecture, precision
        self._tokenizer = tokenizer
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

    def batches(
        self, windows: Sequence[list[int]], layer: int | None = None
    ) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        self.prepare(layer)
        lengths = [padded_length(len(window)) for window in windows]
        filled = [number for number, window in enumerate(windows) if window]
        longest_first = sorted(filled, key=lengths.__getitem__, reverse=True)
        for length, same in groupby(longest_first, key=lengths.__getitem__):
            for batch in pieces([*same], [Size(n=length)] * len(windows), MAX_TOKENS_PER_BATCH):
                interruption_point()
                counts = np.array([len(windows[number]) for number in batch])
                states = self._states([windows[number] for number in batch], length, layer)
                yield batch, states, np.cumsum(counts) - counts

    def _states(self, windows: Sequence[list[int]], length: int, layer: int | None) -> np.ndarray:
        """(tokens, size): the states of the tokens of windows, padded to one length for attention."""
        padding = self.architecture.padding
        ids, filled = padded(windows, length, padding or 0)
        if ids.max() >= self.architecture.words:
            raise ValueError(
                f"The tokenizer in {self.folder} gives the token {ids.max()}, which the model does not have."
            )
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
        with self._lock:  # a request serves one thread at a time, and uses all cores
            return next(iter(self._requests[self.layers if layer is None else layer].infer(inputs).values()))


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
    network = CompiledNetwork(folder, architecture, read_tokenizer(folder), precision)
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


def _compiled(network: CompiledNetwork, layer: int) -> ov.CompiledModel:
    """The graph up to a layer: from the cache on disk, or else built, compiled and written there.

    Raises:
        ValueError: if the weights cannot be read or compiled.
    """
    core, settings = _core(), _settings(network.precision)
    try:
        digests = [file_digest(path) for path in weight_paths(network.folder)]
        processor = [str(core.get_property("CPU", name)) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
        facts = [ov.get_version(), processor, settings, astuple(network.architecture), layer, digests]
        file = cache_folder() / "graphs" / f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]}.openvino"
        try:
            return core.import_model(BytesIO(_read_cached(file)), "CPU", settings)
        except (OSError, ValueError, RuntimeError):  # missing or damaged
            pass
        stored = read_weights(network.folder)
        names = network.architecture.stored_names({name: values.shape for name, values in stored.items()})
        weights = {name: stored[own].astype(np.float32, copy=False) for name, own in names.items()}
        compiled = core.compile_model(build_graph(network.architecture, weights, layer), "CPU", settings)
    except Exception as error:
        raise ValueError(f"The model in {network.folder} cannot be loaded: {error}") from error
    exported = BytesIO()
    compiled.export_model(exported)
    _write_cached(file, exported.getvalue())
    return compiled


def _read_cached(file: Path) -> bytes:
    """What `_write_cached` wrote; raises OSError or ValueError if there is nothing, or something else."""
    content = file.read_bytes()
    if hashlib.sha256(content[_DIGEST_SIZE:]).digest() != content[:_DIGEST_SIZE]:
        raise ValueError(f"{file} is damaged.")
    os.utime(file)  # was used last
    return content[_DIGEST_SIZE:]


def _write_cached(file: Path, content: bytes) -> None:
    """Keeps a compiled graph, after its digest, and drops those that were not used for longest."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as draft:
            draft.write_bytes(hashlib.sha256(content).digest() + content)
        by_use = sorted(file.parent.glob("*.openvino"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_use[MAX_CACHED_GRAPHS:]:
            old.unlink(missing_ok=True)
    except OSError:  # it is compiled again next time
        pass
