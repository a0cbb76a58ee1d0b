"""Texts as they come in JSON: JSON allows what no text can hold."""

from typing import TypeVar

Text = TypeVar("Text", str, list[str], str | list[str])


def well_formed(text: Text) -> Text:
    """The text, unless half a surrogate pair stands in it: no file, page or encoder takes that."""
    try:
        "".join(text).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"Half a surrogate pair stands at character {error.start}.") from None
    return text
