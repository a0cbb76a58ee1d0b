"""Spans of a text, and the splitters that find them.

A splitter takes a text and gives its spans in order. None overlap and none are blank. Blank is what shows nothing:
white space, controls and zero-width characters.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whymatch.text.boundaries import corrected_starts
from whymatch.text.languages import language

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktTokenizer
    from regex import Pattern


class Span(NamedTuple):
    """A piece of a text: `text[span.start:span.end]`.

    >>> import whymatch as wm
    >>> span = wm.Span(2, 5)
    >>> "A cat slept."[span.start : span.end]
    'cat'
    """

    start: int
    end: int


Splitter: TypeAlias = Callable[[str], Iterable[str | Span | tuple[int, int]]]
"""Gives the spans of a text, or pieces that follow one another in it."""
_WINDOW = 10_000  # characters that sentencex reads at a time: its time grows with the square of their number
_LINE_BREAK = r"(?>\r\n|\r|\n)"  # atomic, or CRLF would count as two


def is_visible(character: str) -> bool:
    """Whether a character shows on a page."""
    return character.isprintable() and not character.isspace()


def is_blank(text: str) -> bool:
    """Whether nothing of the text shows on a page."""
    return not any(map(is_visible, text))


def _trimmed(text: str, pieces: Iterable[tuple[int, int]]) -> list[Span]:
    """The pieces without white space around them, and without the blank ones."""
    spans = []
    for start, end in pieces:
        piece = text[start:end]
        if not is_blank(piece):
            spans.append(Span(start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
    return spans


def sentences(text: str) -> list[Span]:
    """Sentences, by sentencex with the rules of the text's language; a paragraph break ends a sentence too.

    Texts whose language is not known are split as English. Thai, whose sentences end in no mark, is cut into phrases.

    >>> [text[start:end] for text in ["It rained, e.g. on Mr. Fox. He left!"] for start, end in sentences(text)]
    ['It rained, e.g. on Mr. Fox.', 'He left!']
    >>> [text[start:end] for text in ["Er kam am 3. Mai und blieb. Wir nicht."] for start, end in sentences(text)]
    ['Er kam am 3. Mai und blieb.', 'Wir nicht.']
    """
    code = language(text) or "en"
    starts = _sentence_starts(text, code)
    if code != "en":
        starts = corrected_starts(text, starts, code)
    return _trimmed(text, pairwise([*starts, len(text)]))


def _sentence_starts(text: str, code: str) -> list[int]:
    """Where the sentences of a text start, and the breaks between its paragraphs.

    The text is read in windows. The next one begins at the last paragraph break of a window, or else at its last
    sentence, which may have been cut off. Where neither stands in its second half, a long sentence goes on.
    """
    from sentencex import get_sentence_boundaries

    starts, begin, goes_on = list[int](), 0, False
    while begin < len(text):
        end = begin + _WINDOW
        pieces = get_sentence_boundaries(code, text[begin:end])[goes_on:]
        late = [piece for piece in pieces if piece["start_index"] >= _WINDOW // 2] if end < len(text) else []
        breaks = [piece for piece in late if piece["is_paragraph_break"]]
        resume = begin + (breaks or late)[-1]["start_index"] if late else end
        starts += [begin + piece["start_index"] for piece in pieces if begin + piece["start_index"] < resume]
        begin, goes_on = resume, not late
    return starts


def punkt(text: str) -> list[Span]:
    """Sentences by nltk's punkt, the paper's splitter, if nltk and its punkt_tab data are installed."""
    return _trimmed(text, _punkt_tokenizer().span_tokenize(text))


@cache
def _punkt_tokenizer() -> "PunktTokenizer":
    missing = (
        "The punkt splitter needs nltk and its data: pip install 'whymatch[punkt]', then nltk.download('punkt_tab')."
    )
    try:
        from nltk.tokenize.punkt import PunktTokenizer

        return PunktTokenizer("english")
    except (ImportError, LookupError):
        raise ValueError(missing) from None


def paragraphs(text: str) -> list[Span]:
    """What stands between empty lines."""
    return _between(rf"{_LINE_BREAK}(?:[^\S\r\n]*{_LINE_BREAK})+", text)


def lines(text: str) -> list[Span]:
    """What stands between line breaks."""
    return _between(r"[\r\n]+", text)


def _between(separator: str, text: str) -> list[Span]:
    """What stands between the matches of a regular expression."""
    ends = [(0, 0), *(match.span() for match in re.finditer(separator, text)), (len(text), len(text))]
    return _trimmed(text, [(before[1], after[0]) for before, after in pairwise(ends)])


def words(text: str) -> list[Span]:
    """Words and numbers with what belongs to them, and every other character that shows, as a reader counts characters.

    A Chinese character is a word, and so are kana of one kind that follow one another. Thai, which has no blanks
    between its words either, is not cut.

    >>> [text[start:end] for text in ["Don't pay €3.50!"] for start, end in words(text)]
    ["Don't", 'pay', '€', '3.50', '!']
    """
    return [Span(*match.span()) for match in _word_pattern().finditer(text) if not is_blank(match[0])]


@cache
def _word_pattern() -> "Pattern[str]":
    import regex  # knows combining marks, and characters made of several

    kana = r"[\p{Hiragana}ー]+|[\p{Katakana}ー]+"
    letter = r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}]]"
    word = rf"{letter}(?:{letter}|[\u200c\u200d\u00ad])*"  # joiners and soft hyphens stand inside words
    # Two regional indicators are a flag. \X finds them too, but counts all those before, for each one anew.
    flag = r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*"
    other = r"(?!\s)\X"  # \X alone would join a blank and a mark after it
    return regex.compile(
        rf"(?V1)\p{{Han}}\p{{M}}*|{kana}|\p{{N}}+(?:[.,]\p{{N}}+)+|{word}(?:['’]{word})*|{flag}|{other}"
    )


def whole(text: str) -> list[Span]:
    """The text as one span, without the white space around it; none if it is blank.

    >>> whole("  Two words. ")
    [Span(start=2, end=12)]
    """
    return _trimmed(text, [(0, len(text))])


SPLITTERS: dict[str, Callable[[str], list[Span]]] = {
    "sentence": sentences,
    "word": words,
    "paragraph": paragraphs,
    "line": lines,
    "text": whole,
    "punkt": punkt,
}


def splitter(name: str) -> Callable[[str], list[Span]]:
    """The splitter of that name; raises ValueError for a name that there is not."""
    if name not in SPLITTERS:
        raise ValueError(f"Spans are {', '.join(SPLITTERS)} or a function of the text, got {name!r}.")
    return SPLITTERS[name]


def token_ranges(text: str, spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Spans as ranges of the tokens that stand between blanks, as ERASER counts them; a token partly in a span is in.

    >>> token_ranges("the cat sat on the mat .", [Span(4, 11), Span(19, 24)])
    [(1, 3), (5, 7)]
    """
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    return [(covered.start, covered.stop) for covered in overlaps(tokens, spans)]


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with a NUL for every character of these spans, which are in order and do not overlap."""
    kept = [0, *(place for span in spans for place in span), len(text)]
    pieces = [text[start:end] for start, end in zip(kept[::2], kept[1::2], strict=True)]
    blanks = ["\0" * (end - start) for start, end in spans]
    return "".join(piece for pair in zip(pieces, [*blanks, ""], strict=True) for piece in pair)


def overlaps(pieces: Sequence[tuple[int, int]], spans: Iterable[tuple[int, int]]) -> list[range]:
    """The range of numbers of the pieces that overlap each span; pieces are in order."""
    starts, ends = [start for start, _ in pieces], [end for _, end in pieces]
    return [range(bisect_right(ends, start), bisect_left(starts, end)) for start, end in spans]
