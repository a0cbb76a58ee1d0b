"""Texts as they come in JSON: JSON allows what no text can hold."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator


def well_formed(text: str) -> str:
    """The text, unless half a surrogate pair stands in it: no file, page or encoder takes that."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"Half a surrogate pair stands at character {error.start}.") from None
    return text


Written: TypeAlias = Annotated[str, AfterValidator(well_formed)]
