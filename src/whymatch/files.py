"""Files and folders written whole or not at all, digests, the cache folder, and names from data kept inside."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import gethostname
from typing import Any
from uuid import uuid4

_LOCK_FILES = (".lock", ".writer.json")


@contextmanager
def whole_file(file: str | Path, *, follow: bool = True) -> Iterator[Path]:
    """Yields the path of a draft to write; when the block ends, the draft is renamed to `file`.

    A crash, a full disk or an exception leaves `file` as it was before. The draft is on disk before the rename, so
    that a power cut cannot leave an empty file. Devices and pipes, which cannot be replaced, are written directly.
    A symbolic link is followed, or else replaced: in folders that come from others it may lead anywhere.

    Raises:
        OSError: naming `file`, whatever went wrong with the draft.
    """
    target = Path(os.path.realpath(file)) if follow else Path(file)
    if not follow and target.is_symlink():
        target.unlink()
    special = target.exists() and not target.is_file() and not target.is_dir()
    draft = target if special else target.with_name(f".{target.name[:200]}.{uuid4().hex[:12]}.draft")
    with _errors_name(file):
        try:
            yield draft
            if not special:
                _flush(draft)
                if target.is_file():
                    shutil.copymode(target, draft)
                draft.replace(target)
        finally:
            if not special:
                draft.unlink(missing_ok=True)


def write_whole(file: str | Path, content: str | bytes, *, follow: bool = True) -> None:
    """Writes text (as UTF-8, line breaks unchanged) or bytes into `file`, whole or not at all, as `whole_file` does."""
    with whole_file(file, follow=follow) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def whole_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yields a draft folder to write into; when the block ends, the draft is renamed to `folder`.

    Raises:
        ValueError: if `folder` holds anything already, unless `replace` is set.
        OSError: naming `folder`, if the draft cannot be written.
    """
    if not replace:
        check_new(folder)
    draft = folder.with_name(f".{folder.name[:200]}.{uuid4().hex[:12]}.draft")
    with _errors_name(folder):
        try:
            draft.mkdir(parents=True)
            yield draft
            for file in draft.rglob("*"):
                if file.is_file():
                    _flush(file)
            if replace:
                shutil.rmtree(folder, ignore_errors=True)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def check_new(folder: Path, advice: str = "Name a new or an empty folder.") -> None:
    """Raises ValueError if there is anything where a folder is to be written."""
    if folder.exists() and (not folder.is_dir() or any(file.name not in _LOCK_FILES for file in folder.iterdir())):
        raise ValueError(f"{folder} is there already. {advice}")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps other processes from writing into a folder that this block writes into.

    Raises:
        ValueError: naming the process that holds the folder.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = (folder / name for name in _LOCK_FILES)
    try:
        with FileLock(lock, timeout=0):
            write_whole(holder, json.dumps({"process": os.getpid(), "host": gethostname()}))
            yield
            holder.unlink(missing_ok=True)
    except Timeout:
        other = read_json(holder) or {"process": "of another user", "host": "this machine or another"}
        process, host = other["process"], other["host"]
        raise ValueError(
            f"Process {process} on {host} is writing to {folder}. Wait until it ends, or use another folder."
        ) from None


def read_json(file: Path) -> Any:
    """The value that a JSON file holds; None where there is no file, or none that can be read."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def cache_folder() -> Path:
    """Where whymatch keeps what can be made again: $XDG_CACHE_HOME/whymatch, or ~/.cache/whymatch."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whymatch"


def file_digest(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal.

    Raises:
        OSError: if the file cannot be read.
    """
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def inside(folder: Path, name: str) -> Path:
    """The path of a file whose name comes from data, which must stay in `folder`, symbolic links resolved.

    Raises:
        ValueError: if the name leads out of the folder.
    """
    try:
        base, path = folder.resolve(), (folder / name).resolve()
    except (OSError, ValueError, RuntimeError, TypeError) as error:  # a zero byte, a loop of links, no string
        raise ValueError(f"{name!r:.80} is no name of a file: {error}") from None
    if not path.is_relative_to(base):
        raise ValueError(f"{name!r:.80} leads out of {folder}. Files named by data must lie inside their folder.")
    return path


@contextmanager
def _errors_name(path: str | Path) -> Iterator[None]:
    """Raises every OSError again with the path that a user knows: errors of `write` name no file at all."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _flush(file: Path) -> None:
    """Waits until what was written to a file is on disk."""
    with file.open("rb") as written:
        os.fsync(written.fileno())
