"""Models on the Hugging Face Hub or a server that speaks its protocol: uploaded with a card, and found by name."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from whymatch.matching.card import hub_card
from whymatch.matching.matcher import Matcher
from whymatch.matching.saving import save_pretrained
from whymatch.text.encoders.models import fetch

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def push_to_hub(
    model: Matcher,
    name: str,
    *,
    card_of: str | Path | None = None,
    private: bool | None = None,
    revision: str | None = None,
    message: str = "Upload a model of whymatch",
    token: str | None = None,
) -> str:
    """Uploads a model with its card, and returns the address of the commit.

    Raises:
        ValueError: if it is no name on the hub, or a part of the model cannot be written.
        ModuleNotFoundError: if huggingface_hub is not installed.
        huggingface_hub.errors.HfHubHTTPError: if the server refuses it.
    """
    if not is_name(name):
        raise ValueError(f"A name on the hub is owner/model, got {name!r:.80}.")
    run = None if card_of is None else _run_folder(Path(card_of))
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    with TemporaryDirectory() as folder:
        save_pretrained(model, folder)
        (Path(folder) / "README.md").write_text(hub_card(Path(folder), name, run), encoding="utf-8")
        api.create_repo(name, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=folder,
            revision=revision,
            commit_message=message,
            delete_patterns=["encoder/*", "reader/*"],  # of a model from before
        )
    return str(commit.commit_url)


def is_name(model: str | Path) -> bool:
    """Whether this is the name of a model on the hub, and no folder of this machine."""
    return isinstance(model, str) and _NAME.fullmatch(model) is not None and not Path(model).exists()


def from_hub(name: str, *, revision: str | None = None, download: bool = False) -> Path:
    """The folder of a model that was downloaded before, or is now if that is allowed.

    Raises:
        ValueError: if it is not on this machine, and may not or cannot be downloaded.
    """
    folder = fetch(name, revision=revision, download=download)
    if folder is None:
        where = "could not be fetched from the hub" if download else "is not on this machine"
        advice = "" if download else " Give the path of its folder, or allow a download: download=True."
        raise ValueError(f"The model {name} {where}.{advice}")
    return folder


def _run_folder(folder: Path) -> Path:
    """The folder with the card of a run; raises ValueError if there is none."""
    for place in (folder, folder / "model"):
        if (place / "evaluations.json").is_file() or (place / "README.md").is_file():
            return place
    raise ValueError(f"{folder} holds no card: give the folder of a run, or of its model.")
