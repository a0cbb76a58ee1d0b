"""What a link means: whether two spans say the same, one implies the other, or they contradict each other.

An adapter over the bundled MiniLM reads two spans together, once in each order, and says whether the first entails the
second or contradicts it. Both answers together give the relation. The weights ship with the package in the folder
`entailment_weights/`; its `card.json` says what they were trained on, what was measured, where they fail, and which
licence they have.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whymatch.files import file_digest
from whymatch.text.encoders import models

if TYPE_CHECKING:
    from whymatch.matching.entailing import Entailment

RELATIONS = ("same", "implies", "implied", "contradicts", "related")
"""`implies`: the left span implies the right one; `implied`: the right one implies the left one."""
FOLDER = Path(__file__).parent / "entailment_weights"
_CONTRADICTS, _RELATED = RELATIONS.index("contradicts"), RELATIONS.index("related")


@dataclass(frozen=True)
class Relation:
    """What two linked spans say of each other."""

    name: str
    """One of `RELATIONS`."""
    probabilities: Mapping[str, float]
    """The calibrated probability of each of `RELATIONS`; they add up to 1."""

    @property
    def probability(self) -> float:
        """That of the relation named."""
        return self.probabilities[self.name]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Relation":
        """What `asdict` gave.

        Raises:
            ValueError: if it names no relation, or has no probability of one.
        """
        probabilities = {name: float(values["probabilities"][name]) for name in RELATIONS}
        if values["name"] not in RELATIONS:
            raise ValueError(f"a relation called {values['name']!r:.40}")
        return cls(str(values["name"]), probabilities)


class RelationReader:
    """Reads the relations of pairs of spans; English only. The network is loaded when it is first needed.

        >>> reader = RelationReader()                                                          # doctest: +SKIP
        >>> [relation.name for relation in reader.relations([("Take 5 mg.", "Take 50 mg.")])]  # doctest: +SKIP
        ['contradicts']

    Args:
        folder: of the weights and their card; those that ship by default.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = Path(folder)

    def __reduce__(self) -> tuple[Any, ...]:
        return shipped_reader, () if self._folder == FOLDER else (self._folder,)

    @property
    def card(self) -> Mapping[str, Any]:
        """What the weights were trained on, their licence, and what calibrates them.

        Raises:
            ValueError: if there is none, or if the weights are not those that it describes.
        """
        return self._checked[1]

    @cached_property
    def _checked(self) -> tuple[Path, Mapping[str, Any]]:
        """The file of the weights, and the card that describes it."""
        file, weights = self._folder / "card.json", self._folder / "weights.safetensors"
        try:
            card = json.loads(file.read_text(encoding="utf-8"))
            expected, digest = card["sha256"], file_digest(weights)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._folder} holds no weights with their card: {error}.") from error
        if digest != expected:
            raise ValueError(
                f"{weights} has the SHA-256 {digest}, and its card says {expected}. Install whymatch again."
            )
        return weights, card

    @property
    def missing(self) -> str | None:
        """Why relations cannot be read on this machine; None where they can."""
        if models.bundle() is None:
            return "they take the bundled model: pip install 'whymatch[bundled]'."
        return None if (self._folder / "card.json").exists() else f"there are no weights in {self._folder}."

    @cached_property
    def _entailment(self) -> "Entailment":
        from whymatch.matching.entailing import Entailment

        return Entailment(self._checked[0])

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """(pairs, relations): calibrated probabilities of `RELATIONS` for the texts of left and right spans.

        All pairs are read in one call, both ways. Of spans that are too long together, the longer is cut.
        """
        both_ways = [*pairs, *((right, left) for left, right in pairs)]
        logits = self._entailment.logits(both_ways) / self.card["temperature"]
        return combined(logits[: len(pairs)], logits[len(pairs) :])

    def contradiction(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """(pairs,): the calibrated probability of `contradicts`."""
        return self.probabilities(pairs)[:, _CONTRADICTS]

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """The relation of each pair."""
        probabilities = self.probabilities(pairs)
        names = chosen(probabilities, self.card["contradicts_from"])
        return [
            Relation(RELATIONS[name], dict(zip(RELATIONS, map(float, row), strict=True)))
            for name, row in zip(names, probabilities, strict=True)
        ]


@cache
def shipped_reader(folder: Path = FOLDER) -> RelationReader:
    """The reader with the weights that ship, or with those of a folder; loaded once in each process."""
    return RelationReader(folder)


def combined(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """(pairs, 5): probabilities of `RELATIONS` from the logits (pairs, 3) of both directions.

    Two spans contradict each other with the mean probability of both directions. If they do not, each direction entails
    or does not, independently of the other.
    """
    one, other = _softmax(forward), _softmax(backward)
    contradicts = (one[:, 2] + other[:, 2]) / 2
    entails, entailed = (_entails(logits) for logits in (forward, backward))
    rest = np.stack(
        [entails * entailed, entails * (1 - entailed), (1 - entails) * entailed, (1 - entails) * (1 - entailed)]
    )
    same, implies, implied, related = (1 - contradicts) * rest
    return np.stack([same, implies, implied, contradicts, related], axis=1)


def chosen(probabilities: np.ndarray, contradicts_from: float) -> np.ndarray:
    """(pairs,): the number of each pair's relation in `RELATIONS`.

    `contradicts` from a probability on, and otherwise the most probable one. Where that is a contradiction of a lower
    probability, two spans are `related`: that they are the same, or that one implies the other, is less likely still.
    """
    likely = probabilities.argmax(axis=1)
    unless_sure = np.where(likely == _CONTRADICTS, _RELATED, likely)
    return np.where(probabilities[:, _CONTRADICTS] >= contradicts_from, _CONTRADICTS, unless_sure)


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _entails(logits: np.ndarray) -> np.ndarray:
    """(pairs,): the probability of entailment where there is no contradiction."""
    return _softmax(logits[:, :2])[:, 0]
