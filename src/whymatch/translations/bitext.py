"""A text beside its translation, sentence by sentence; plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whymatch.files import write_whole
from whymatch.show.exchange import as_tmx, as_tsv
from whymatch.text.document import Document
from whymatch.text.languages import language

FORMAT = 1


@dataclass(frozen=True)
class Passage:
    """Sentences of a text, and those of its translation that say the same.

    Args:
        left, right: their numbers in each text, which follow one another.
        likeness: the cosine of both groups, whose vectors are centred on the mean of their text; 1 at most.
        moved: whether they stand at another place in the order of both texts.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    likeness: float
    moved: bool = False


@dataclass(frozen=True, repr=False)
class Bitext:
    """A text and its translation, and which sentences of both belong together.

    >>> import whymatch as wm
    >>> bitext = wm.bitext("It rained. The shop was closed.", "Es regnete. Der Laden war zu.")
    >>> bitext.languages, [bitext.texts(one) for one in bitext.passages][0]
    (('en', 'de'), ('It rained.', 'Es regnete.'))

    Args:
        left: the source, with its sentences as spans.
        right: the translation, likewise.
        passages: what belongs together, in the order of the source; a sentence is in at most one.
        remarks: what a reader has to know, such as a language that the encoder does not read.
    """

    left: Document
    right: Document
    passages: tuple[Passage, ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = f"{len(self.left)} and {len(self.right)} sentences"
        return f"Bitext({sizes}, passages: {len(self.passages)})"

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The languages of both texts as codes of ISO 639-1, where they are recognised."""
        return language(self.left.text), language(self.right.text)

    @property
    def alone(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The numbers of the sentences of each text that have no counterpart."""
        left = {n for one in self.passages for n in one.left}
        right = {n for one in self.passages for n in one.right}
        return tuple(sorted({*range(len(self.left))} - left)), tuple(sorted({*range(len(self.right))} - right))

    @property
    def sizes(self) -> Mapping[tuple[int, int], int]:
        """How many passages there are of each number of left and of right sentences."""
        return Counter((len(one.left), len(one.right)) for one in self.passages)

    @property
    def verdict(self) -> str:
        """What was linked with what, in one sentence."""
        from whymatch.show.translation import translation_in_words

        return translation_in_words(self.to_dict())

    def texts(self, passage: Passage) -> tuple[str, str]:
        """The characters of a passage in both texts, from its first to its last sentence."""
        own, other = (
            text.text[text.spans[numbers[0]].start : text.spans[numbers[-1]].end]
            for text, numbers in ((self.left, passage.left), (self.right, passage.right))
        )
        return own, other

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "languages": [*self.languages],
            "passages": [{**asdict(one), "texts": [*self.texts(one)]} for one in self.passages],
            "alone": {side: [*numbers] for side, numbers in zip(("left", "right"), self.alone, strict=True)},
            "left": {"text": self.left.text, "spans": [[*span] for span in self.left.spans]},
            "right": {"text": self.right.text, "spans": [[*span] for span in self.right.spans]},
            "remarks": [*self.remarks],
        }

    def to_tsv(self, file: str | Path | None = None) -> str:
        """A table with tabs: source, translation, likeness, moved; sentences without a counterpart stand alone.

        Line breaks and tabs of the texts become blanks.
        """
        return _written(as_tsv(self.to_dict()), file)

    def to_tmx(self, file: str | Path | None = None, *, languages: tuple[str, str] | None = None) -> str:
        """A translation memory, TMX 1.4, of all passages; `languages` are recognised where none are given.

        Raises:
            ValueError: if a language is neither given nor recognised.
        """
        return _written(as_tmx(self.to_dict(), languages), file)

    def to_html(self, file: str | Path | None = None) -> str:
        """A page that needs nothing else: both texts side by side, and what has no counterpart."""
        from whymatch.show.translation import translation_page

        return _written(translation_page(self.to_dict()), file)

    def __str__(self) -> str:
        from whymatch.show.translation import translation_as_text

        return translation_as_text(self.to_dict())


def _written(text: str, file: str | Path | None) -> str:
    if file is not None:
        write_whole(file, text)
    return text
