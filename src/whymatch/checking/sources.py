"""Sources in any form as named texts: strings, mappings, files and folders, and documents of other libraries."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from whymatch.datasets.documents import CorpusFiles
from whymatch.text.document import Document
from whymatch.text.spans import is_blank

_NAMES = ("source", "title", "file_name", "file_path", "url", "id")
"""Keys of a document's metadata that may hold its name, the first that does."""


_FILE = re.compile(
    r"\S+\.(?:txt|text|md|html?|xhtml|docx?|pdf|jsonl|csv|tsv|parquet|odt|rtf|pptx|xlsx)(?:\.gz)?", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?:/\S+", re.IGNORECASE)
_MAX_NAME = 500  # characters of the name of a file
_MAX_NAMED = 5  # files that are not read and that a note names


def refuse_names(sources: Any) -> None:
    """Raises ValueError where a source that is a text is the name of a file or folder, or an address.

    The texts of a mapping have names of their own, and are taken as they are.
    """
    for text in [sources] if isinstance(sources, str) else sources if isinstance(sources, list | tuple) else ():
        name = text.strip() if isinstance(text, str) and len(text) < _MAX_NAME else ""
        refuse_address(name)
        if name and not re.search(r"\s", name) and (_FILE.fullmatch(name) or _exists(name)):
            raise ValueError(f"A source is a text, and {name!r} looks like a file: give pathlib.Path({name!r}).")


def refuse_address(name: str) -> None:
    """Raises ValueError for an address of the web."""
    if _ADDRESS.fullmatch(name):
        raise ValueError(
            f"{name} is an address, and addresses are not fetched. Save the page as a file, and give that."
        )


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


class NamedTexts:
    """Texts by name, each name once, and what could not be read."""

    def __init__(self) -> None:
        self.texts: dict[str, str | Document] = {}
        self.problems: list[str] = []
        self._added = 0

    @classmethod
    def of(cls, sources: Any, encoding: str = "utf-8", max_mb: float = 5.0) -> "NamedTexts":
        """What `whymatch.check` takes, except an index.

        Raises:
            TypeError: if something is none of these.
            ValueError: if a path has no file that can be read.
        """
        named = cls()
        if isinstance(sources, Mapping):
            for name, text in sources.items():
                named.add(str(name), text)
            return named
        for source in [sources] if isinstance(sources, str | Path | Document) else _items(sources):
            if isinstance(source, Path):
                named.read(source, encoding, max_mb)
            elif isinstance(source, str | Document):
                named.add("", source)
            else:
                named.add(*named_document(source))
        return named

    def add(self, name: str, text: Any) -> None:
        """Adds a text; without a name it gets its number, and a name that was there already gets one too."""
        self._added += 1
        if not isinstance(text, str | Document):
            raise TypeError(f"A source is a text, got {type(text).__name__} for {name or 'a source'!r:.60}.")
        if name in self.texts or not name:
            base, first = (f"{name} ", 2) if name else ("source ", self._added)
            name = next(numbered for n in count(first) if (numbered := f"{base}{n}") not in self.texts)
        if is_blank(text if isinstance(text, str) else text.text):
            self.problems.append(f"{name} is empty.")
        else:
            self.texts[name] = text

    def read(self, path: Path, encoding: str, max_mb: float) -> None:
        """Adds the documents of a file or a folder; those that cannot be read are problems."""
        corpus = CorpusFiles(path, encoding=encoding, max_mb=max_mb, with_markup=True)
        for row in corpus:
            if row.error is None:
                self.add(row.id, row.text)
            else:
                self.problems.append(f"{row.place}: {row.error}")
        unread = [file.relative_to(path).as_posix() for file in corpus.unread_files()]
        if unread:
            more = f" and {len(unread) - _MAX_NAMED} more" if len(unread) > _MAX_NAMED else ""
            names = ", ".join(unread[:_MAX_NAMED])
            self.problems.append(f"{path}: {names}{more} could not be read: files of this kind are not known.")


def named_document(document: Any) -> tuple[str, str]:
    """The name and the text of a document of another library, by its attributes: LangChain's and LlamaIndex's.

    A mapping has its text under "text", and its name under "id" or another key of names.

    Raises:
        TypeError: if it has no text.
    """
    if isinstance(document, Mapping):
        text, metadata, own = document.get("text"), document, None
    else:
        text = getattr(document, "page_content", None)
        if text is None and callable(get_content := getattr(document, "get_content", None)):
            text = get_content()
        if text is None:
            text = getattr(document, "text", None)
        metadata = getattr(document, "metadata", None) or {}
        own = next((value for key in ("node_id", "id_", "id") if (value := getattr(document, key, None))), None)
    if not isinstance(text, str):
        raise TypeError(
            "A source is a text, a Path, a mapping with a text, or has page_content, get_content() or text; "
            f"got {type(document).__name__}."
        )
    names = (metadata.get(key) for key in _NAMES) if isinstance(metadata, Mapping) else ()
    return str(next((name for name in names if name), own) or ""), text


def _items(sources: Any) -> Iterator[Any]:
    if not isinstance(sources, Iterable):
        raise TypeError(f"Sources are texts, a mapping, paths, documents or an index, got {type(sources).__name__}.")
    yield from sources
