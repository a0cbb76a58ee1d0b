"""How much a server takes on. The defaults are for a machine with two cores."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes of what is asked, and how much is worked on at once."""

    characters: int = 100_000
    """Of all texts of a request."""
    tokens: int = 25_000
    """That the model reads for a request, counted by its tokenizer: about 100,000 characters of English."""
    spans: int = 500
    """Of a text."""
    matrix: int = 40_000
    """Pairs of spans of two texts."""
    matrices: int = 400_000
    """Pairs of spans of all pairs of texts of a request: a batch, or a text and the documents that are ranked."""
    pairs: int = 64
    """In a request to /align/batch."""
    documents: int = 100
    """In a request to /rank."""
    top: int = 50
    """Results of a search."""
    bytes: int = 2**20
    """Of a request's body."""
    requests: int = 64
    """Worked on at once; the next one is refused."""
    seconds: float = 30.0
    """For a request, from the moment that it is complete."""
    body_seconds: float = 10.0
    """For a request to become complete."""
    together: int = 32
    """Requests that are encoded and solved in one round."""
    round: int = 4000
    """Tokens in one round. A larger request has a round of its own, in which smaller ones are let in."""
    waiting: int = 60_000
    """Tokens that may wait for their round, in requests that are larger than a round, and in all others."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"The limit of {name} must be above 0, got {value:g}.")
