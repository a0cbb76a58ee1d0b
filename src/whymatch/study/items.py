"""A study as it was created: pairs of texts, links of hidden models to judge, and the order that people see them in."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from whymatch.datasets.records import Pair
from whymatch.text.document import Document
from whymatch.text.spans import Span

_FORMAT = 2
RATINGS = ("redundancy", "relevance", "overall")
Asked: TypeAlias = Literal["ratings", "links", "both"]
At: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Item:
    """Links of one pair, in the order of the texts, by one model or by several that chose the same."""

    id: str
    """Random: it says nothing of the models."""
    pair: int
    models: tuple[int, ...]
    links: tuple[At, ...]


@dataclass(frozen=True)
class Study:
    """What people are asked, and about what; it never changes once it is written.

    Annotators may know `id`, the ids of items, the texts and the links; they must not know anything else.
    """

    id: str
    """Random: annotators' browsers keep answers to different studies apart by it."""
    secret: str
    """Random: the key to the order in which each annotator sees the items."""
    title: str
    asked: Asked
    spans: str
    models: tuple[str, ...]
    pairs: tuple[Pair, ...]
    items: tuple[Item, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        return {item.id: item for item in self.items}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything, by which answers belong to one study. It is not for annotators."""
        return hashlib.sha256(json.dumps(self.to_dict()).encode()).hexdigest()

    def questions(self, item: Item) -> dict[str, tuple[int, ...]]:
        """What is asked about an item, and which answers there are: 0 to 2, or 0 and 1 to reject and accept a link."""
        ratings = {} if self.asked == "links" else dict.fromkeys(RATINGS, (0, 1, 2))
        links = {} if self.asked == "ratings" else {link_name(at): (0, 1) for at in item.links}
        return {**ratings, **links}

    def order(self, annotator: str) -> list[Item]:
        """The items as one person sees them: every pair once, in an order of their own, before any pair again.

        The order is the same each time. It follows from the secret, so that nobody can work out from it how the items
        are stored, nor from the items how somebody else sees them.
        """
        rounds: dict[int, list[Item]] = {}
        for item in sorted(self.items, key=lambda item: self._keyed_hash(annotator, item.id)):
            rounds.setdefault(item.pair, []).append(item)
        of_pairs = list(rounds.values())
        longest = max(map(len, of_pairs), default=0)
        return [items[place] for place in range(longest) for items in of_pairs if place < len(items)]

    def _keyed_hash(self, *words: str) -> bytes:
        return hmac.digest(self.secret.encode(), json.dumps(words).encode(), "sha256")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "format": _FORMAT,
            "id": self.id,
            "secret": self.secret,
            "title": self.title,
            "asked": self.asked,
            "spans": self.spans,
            "models": [*self.models],
            "pairs": [
                {"id": pair.id, "label": pair.label, "left": _as_dict(pair.left), "right": _as_dict(pair.right)}
                for pair in self.pairs
            ],
            "items": [asdict(item) for item in self.items],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Study":
        """The study that `to_dict` described; raises KeyError, TypeError or ValueError for other values."""
        if values["format"] != _FORMAT:
            known = f"this version reads {_FORMAT}. Create the study anew"
            raise ValueError(f"its format is {values['format']!r:.60}, and {known}")
        if values["asked"] not in get_args(Asked):
            raise ValueError(f"it asks for {values['asked']!r:.60}")
        pairs = tuple(
            Pair(str(row["id"]), _as_document(row["left"]), _as_document(row["right"]), row["label"])
            for row in values["pairs"]
        )
        models = tuple(map(str, values["models"]))
        items = tuple(_read_item(row, pairs, models) for row in values["items"])
        if len({item.id for item in items}) != len(items):
            raise ValueError("two items have the same id")
        texts = {name: str(values[name]) for name in ("id", "secret", "title", "spans")}
        return cls(**texts, asked=values["asked"], models=models, pairs=pairs, items=items)


def _read_item(row: Mapping[str, Any], pairs: Sequence[Pair], models: Sequence[str]) -> Item:
    """An item whose pair, spans and models are there."""
    item = Item(str(row["id"]), row["pair"], tuple(row["models"]), tuple((i, j) for i, j in row["links"]))
    if item.pair not in range(len(pairs)):
        raise ValueError(f"item {item.id} names a pair that is not there")
    left, right = (range(len(side)) for side in (pairs[item.pair].left, pairs[item.pair].right))
    if not all(i in left and j in right for i, j in item.links) or not {*item.models} <= {*range(len(models))}:
        raise ValueError(f"item {item.id} names a span or a model that is not there")
    return item


def _as_dict(document: Document) -> dict[str, Any]:
    return {"text": document.text, "spans": document.spans}


def _as_document(values: Mapping[str, Any]) -> Document:
    return Document(values["text"], tuple(Span(*span) for span in values["spans"]))


def link_name(at: At) -> str:
    """The question whether one link is right.

    >>> link_name((0, 2))
    '0-2'
    """
    return f"{at[0]}-{at[1]}"
