"""A Hugging Face encoder with its tokenizer on torch: loaded from a folder as data, and read in batches of windows."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from whymatch.batching import Size, padded, pieces
from whymatch.interruption import interruption_point
from whymatch.text.encoders.folders import file_stamps, read_weights, staged
from whymatch.text.encoders.windows import WindowNetwork, special_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

MAX_TOKENS_PER_BATCH = {"cpu": 2**10, "cuda": 2**16}  # padding included


@dataclass(frozen=True, eq=False)
class Network(WindowNetwork):
    """A Hugging Face encoder with its tokenizer, on torch: for training, for GPUs and for models of any family."""

    model: Any
    """A model of transformers; which class it has depends on its folder."""
    tokenizer: "PreTrainedTokenizerFast"
    before: list[int]
    after: list[int]
    room: int

    def write(self, folder: Path) -> None:
        """Writes model and tokenizer as `load` reads them."""
        with quietly():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @property
    def layers(self) -> int:
        return int(self.model.config.num_hidden_layers)

    @property
    def size(self) -> int:
        return int(self.model.config.hidden_size)

    @property
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    @property
    def backend(self) -> str:
        return "torch float32"

    @property
    def unknown_token(self) -> int | None:
        number: int | None = self.tokenizer.unk_token_id
        return number

    def frozen(self) -> AbstractContextManager[Any]:
        return torch.no_grad()

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat([torch.zeros(0, self.size, device=self.device), *parts])

    @cached_property
    def plain_tokenizer(self) -> "Tokenizer":
        backend: Tokenizer = self.tokenizer.backend_tokenizer
        copy = type(backend).from_str(backend.to_str())
        copy.no_truncation()
        copy.no_padding()
        return copy

    def together(self, left: list[int], right: list[int]) -> tuple[list[int], list[int], int]:
        """Two texts in one window, as the tokenizer puts them; the left one starts where a text alone does.

        Gives the tokens, the type of each (which text it counts with), and where the right one starts.
        """
        ids, types, size, first, second = self._pair_of_letters

        def replaced(values: list[int], of_left: list[int], of_right: list[int]) -> list[int]:
            return [*values[:first], *of_left, *values[first + size : second], *of_right, *values[second + size :]]

        own_types = replaced(types, [types[first]] * len(left), [types[second]] * len(right))
        return replaced(ids, left, right), own_types, second - size + len(left)

    @cached_property
    def _pair_of_letters(self) -> tuple[list[int], list[int], int, int, int]:
        """Two texts of one letter in one window: tokens, types, the size of a text, and where each starts."""
        bare, both = self.tokenizer("a", add_special_tokens=False)["input_ids"], self.tokenizer("a", "a")
        ids, size, first = both["input_ids"], len(bare), len(self.before)
        types = both.get("token_type_ids") or [0] * len(ids)
        second = next(i for i in range(first + size, len(ids)) if ids[i : i + size] == bare)
        return ids, types, size, first, second

    def read(
        self, windows: Sequence[list[int]], layer: int | None = None, types: Sequence[list[int]] | None = None
    ) -> tuple[Tensor, np.ndarray]:
        return self._gathered(len(windows), self.batches(windows, layer, types))

    def batches(
        self, windows: Sequence[list[int]], layer: int | None = None, types: Sequence[list[int]] | None = None
    ) -> Iterator[tuple[list[int], Tensor, np.ndarray]]:
        """As `WindowNetwork.batches`; `types` are those of the tokens, where a window holds two texts."""
        kind = self.device.type
        lengths = [len(window) if kind == "cpu" else stepped(len(window), self.room) for window in windows]
        filled = [number for number, window in enumerate(windows) if window]
        longest_first = sorted(filled, key=lengths.__getitem__, reverse=True)
        max_tokens = MAX_TOKENS_PER_BATCH.get(kind, MAX_TOKENS_PER_BATCH["cpu"])
        for batch in pieces(longest_first, [Size(n=length) for length in lengths], max_tokens):
            interruption_point()
            length = lengths[batch[0]]
            ids, mask = padded([windows[number] for number in batch], length, self.tokenizer.pad_token_id or 0)
            given = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
            if types is not None and any(map(any, (types[number] for number in batch))):
                given["token_type_ids"], _ = padded([types[number] for number in batch], length)
            inputs = {name: torch.from_numpy(values).to(self.device) for name, values in given.items()}
            out = self.model(**inputs, output_hidden_states=layer is not None)
            states = out.last_hidden_state if layer is None else out.hidden_states[layer]
            yield batch, states.flatten(0, 1).float(), length * np.arange(len(batch))


def stepped(length: int, room: int) -> int:
    """The next of few lengths: a GPU's attention makes a plan for each length that it meets.

    >>> [stepped(length, room=500) for length in (3, 9, 64, 65, 300, 490)]
    [8, 16, 64, 128, 320, 500]
    """
    step = 8 if length <= 64 else 64
    return min(-(-length // step) * step, max(length, room))


@contextmanager
def quietly() -> Iterator[None]:
    """Without the messages and progress bars of transformers for the time of a block."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, showed_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if showed_bars:
            logging.enable_progress_bar()


def load(folder: Path, device: str | None = None) -> Network:
    """The model in a folder, as `load_own`; while its files stay the same, it is loaded once and shared."""
    try:
        stamps = file_stamps(folder)
    except (OSError, ValueError) as error:
        raise ValueError(f"The model in {folder} cannot be loaded: {error}") from error
    return _loaded(folder, device, stamps)


@lru_cache(maxsize=4)
def _loaded(folder: Path, device: str | None, stamps: object) -> Network:
    return load_own(folder, device)


def load_own(folder: Path, device: str | None = None) -> Network:
    """A copy of the model in a folder that nobody shares, from safetensors only, in evaluation mode.

    Raises:
        ValueError: if the folder does not hold an encoder of texts that transformers knows, with its weights in
            safetensors and a fast tokenizer.
    """
    from transformers import AutoTokenizer

    try:
        with quietly(), staged(folder) as stage:
            model, missing = _build(folder, stage)
            tokenizer: Any = AutoTokenizer.from_pretrained(
                stage, config=model.config, local_files_only=True, trust_remote_code=False
            )
        model.config.name_or_path = tokenizer.name_or_path = ""
        model = model.get_encoder() if model.config.is_encoder_decoder else model
        model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
    except Exception as error:  # a damaged model can raise anything
        raise ValueError(f"The model in {folder} cannot be loaded: {error}") from error
    if missing := [name for name in missing if "pooler" not in name]:
        raise ValueError(f"The weights in {folder} are not those of its config.json: {missing[0]} is missing.")
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise ValueError(f"The folder {folder} holds no tokenizer: there is no vocabulary in it.")
    if not tokenizer.is_fast:
        raise ValueError(f"The tokenizer in {folder} does not give offsets. Use a model with a fast tokenizer.")
    bare, full = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    room = min(tokenizer.model_max_length, _positions(model))
    network = Network(model, tokenizer, *special_tokens(bare, full), room)
    if network.fits < 2:
        raise ValueError(f"The model in {folder} has room for {network.fits} tokens of a text. It needs 2 or more.")
    return network


def _build(folder: Path, stage: Path) -> tuple[Any, list[str]]:
    """The model that the staged configuration describes, with the folder's weights; and the names of missing ones."""
    from transformers import MODEL_MAPPING, AutoConfig

    config = AutoConfig.from_pretrained(stage, local_files_only=True, trust_remote_code=False)
    if type(config) not in MODEL_MAPPING:
        raise ValueError(f"transformers has no encoder for models of the type {config.model_type!r}.")
    known: Any = MODEL_MAPPING[type(config)]
    kinds = known if isinstance(known, tuple) else (known,)
    kind: Any = next((kind for kind in kinds if kind.__name__ in (config.architectures or ())), kinds[0])
    reads = getattr(kind, "input_modalities", "text")
    if {reads} != {"text"} and {*reads} != {"text"}:
        raise ValueError(f"a {kind.__name__} does not read texts alone, but {', '.join(map(str, reads))}.")
    tensors = {name: torch.from_numpy(values) for name, values in read_weights(folder).items()}
    model, report = kind.from_pretrained(  # no folder is given: it cannot look for other files than ours
        None, config=config, state_dict=tensors, dtype=torch.float32, output_loading_info=True
    )
    return model, sorted(report["missing_keys"])


def _positions(model: Any) -> int:
    """How many tokens a model can tell the places of; 512 where it sets no limit."""
    limit = getattr(model.config, "max_position_embeddings", None) or 512
    table = next((part for name, part in model.named_modules() if name.endswith("position_embeddings")), None)
    padding = getattr(table, "padding_idx", None)  # RoBERTa and its kin count places from after it
    return limit - (0 if padding is None else padding + 1) if limit > 0 else 512
