"""Simple baselines: what a table's rows are worth beside them."""

from typing import Any

from whymatch.learning.settings import Settings


def baseline(name: str, settings: Settings) -> dict[str, Any]:
    """The metrics of a baseline on the test split, by the names that `evaluate` gives them."""
    raise ValueError(f"There is no baseline {name!r}.")
