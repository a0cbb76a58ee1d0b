"""What encoders share that fine-tune a model: all of its weights are trained, or an adapter over frozen ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from whymatch.text.encoders.adapter import Adapter, Base, attach, load_adapter, merged, read_adapter, write_adapter
from whymatch.text.encoders.folders import CONFIG, copy_files, member, model_files, weights_digest
from whymatch.text.encoders.models import is_folder, locate, name_on_hub, short
from whymatch.text.encoders.network import load_own
from whymatch.text.encoders.trainable import TrainableEncoder

_ADAPTER, _BASE = "adapter.safetensors", "base"  # what the folder of an adapter holds


class TunedEncoder(TrainableEncoder):
    """A copy of a model of its own, whose weights are trained; with an `adapter`, that is trained in their place.

    `model` is a name or a folder. The folder that `write` makes of one with an adapter goes on with that adapter.
    """

    def __init__(self, model: str | Path, adapter: Adapter | None, device: str | None, download: bool) -> None:
        super().__init__()
        start = start_from(model, download=download)
        self.network = load_own(start.folder, device)
        self.model = self.network.model
        self.size = self.network.size
        self.adapter, self.base, self._start = adapter, start.base, start
        if start.adapter is not None:
            if adapter not in (None, start.adapter):
                raise ValueError(f"The adapter in {model} is an {start.adapter}, and an {adapter} was asked for.")
            self.adapter = start.adapter
            load_adapter(self.model, start.adapter, start.weights)
        elif adapter is not None:
            self.base = Base(start.name, weights_digest(start.folder))
            attach(self.model, adapter)
        self.tuned = self.adapter is None  # an adapter starts at zero, and learns at the rate of what is new
        self.name = f"{start.name}, {'fine-tuned' if self.adapter is None else f'adapter of rank {self.adapter.rank}'}"

    def write(self, folder: Path) -> None:
        """Writes what the class reads again: the whole model, or its adapter, with a base that was given by its folder.

        Raises:
            ValueError: if the base has changed since it was loaded.
        """
        if self.adapter is None or self.base is None:
            self.export(folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        write_adapter(self.model, self.adapter, self.base, folder / _ADAPTER)
        if self._start.local:
            copy_files(self._start.folder, self._base_files(self._start.folder), folder / _BASE)
            self.base.check(weights_digest(folder / _BASE), self._start.folder)

    def export(self, folder: Path) -> None:
        """Writes the whole model, with an adapter merged into its weights."""
        replace(self.network, model=merged(self.model)).write(folder)

    def _base_files(self, folder: Path) -> list[str]:
        """The names of the files that the encoder is loaded from."""
        return model_files(folder)


@dataclass(frozen=True)
class Start:
    """The model that training starts from: its folder, its name, and whether it was given by the folder."""

    folder: Path
    name: str
    local: bool
    base: Base | None = None
    adapter: Adapter | None = None
    """One that was trained before, with its `weights`."""
    weights: Mapping[str, Tensor] = field(default_factory=dict)


def start_from(model: str | Path, *, download: bool = False) -> Start:
    """Finds a model, or the base of an adapter in a folder.

    Raises:
        ValueError: if it is not on this machine, or if the base is not the one that the adapter was trained over.
    """
    if not (is_folder(model) and (Path(model).expanduser() / _ADAPTER).is_file()):
        return Start(locate(model, download=download), short(model), is_folder(model))
    folder = Path(model).expanduser()
    adapter, base, weights = read_adapter(member(folder, _ADAPTER))
    inside = (folder / _BASE / CONFIG).is_file()
    try:
        place = folder / _BASE if inside else locate(name_on_hub(base.name), download=download)
        sha256 = weights_digest(place)
    except ValueError as error:
        advice = f" wm.SentenceEncoder({base.name!r}, download=True) fetches it." if not (inside or download) else ""
        raise ValueError(f"The adapter in {folder} needs its base, {base.name}. {error}{advice}") from None
    base.check(sha256, place)
    return Start(place, base.name, inside, base, adapter, weights)
