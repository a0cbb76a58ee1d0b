"""Texts into entries of an index, by any worker: the table is not needed for it."""

from collections.abc import Mapping

from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.encoding import each_alone
from whymatch.search.rows import Entry, entry
from whymatch.text.document import Document
from whymatch.text.spans import is_blank


def outcomes(aligner: Aligner, documents: Mapping[str, Text]) -> dict[str, Entry | ValueError]:
    """Each document with its vectors, or what is wrong with it."""
    found: dict[str, Entry | ValueError] = {}
    ready: dict[str, Document] = {}
    for id_, text in documents.items():
        try:
            ready[checked(id_)] = split(aligner, text)
        except (ValueError, TypeError) as error:
            found[id_] = ValueError(str(error))
    encoder = aligner.encoder
    vectors = each_alone(
        lambda some: encoder.encode([text.text for text in some], [text.spans for text in some]), [*ready.values()]
    )
    for (id_, text), some in zip(ready.items(), vectors, strict=True):
        try:
            found[id_] = some if isinstance(some, ValueError) else entry(id_, text, some)
        except ValueError as error:
            found[id_] = error
    return {id_: found[id_] for id_ in documents}


def split(aligner: Aligner, text: Text) -> Document:
    """A text that has spans."""
    found = aligner.split(text)
    if not len(found) or is_blank(found.text):
        raise ValueError("The text is empty.")
    return found


def checked(id_: object) -> str:
    """An id that can be kept."""
    if not isinstance(id_, str):
        raise TypeError(f"An id is a string, got {type(id_).__name__}.")
    if is_blank(id_):
        raise ValueError("The id is empty.")
    if "\0" in id_ or len(id_.encode()) > 1000:
        raise ValueError(f"An id has no zero bytes and 1,000 bytes or fewer: {id_!r:.40}.")
    return id_
