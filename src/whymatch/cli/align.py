"""`whymatch align`: two texts, or many pairs of texts, and why they match."""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar

from whymatch.cli.console import (
    check_outputs,
    complain,
    multiply_in_one_thread,
    read_text,
    standard_input,
)
from whymatch.progress import is_watched, progress_bar
from whymatch.reading import MEGABYTE, JsonObject, json_lines, opened
from whymatch.text.spans import is_blank
from whymatch.transport.constraints import EXAMPLES

if TYPE_CHECKING:
    from whymatch.cost import Background
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.relations import RelationReader
    from whymatch.text.document import Document
    from whymatch.transport.constraints import Constraint

PAIRS_PER_BATCH = 64  # encoded and solved at a time
_KEYS = '"left" and "right"'
Text: TypeAlias = str | list[str]
_Row = TypeVar("_Row")


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("align", help="which spans of two texts match, and why")
    parser.add_argument("left", nargs="?", metavar="LEFT", help="a file, - for standard input, or a text with --text")
    parser.add_argument("right", nargs="?", metavar="RIGHT", help="the same for the other text")
    parser.add_argument("--text", action="store_true", help="LEFT and RIGHT are texts, not files")
    pairs = 'many pairs: JSON lines with "left" and "right", - for standard input; JSON lines out'
    parser.add_argument("--pairs", metavar="FILE", help=pairs)
    constraints = f"{EXAMPLES} (default: up-to:1, every significant link)"
    parser.add_argument("--constraint", metavar="C", help=constraints)
    below = "with up-to and each: link only pairs that cost less than X; evidence costs minus its bits, so -3 is 3 bits"
    parser.add_argument("--below", type=float, metavar="X", help=below)
    parser.add_argument("--clip", action="store_true", help="with --pairs: make k smaller where a text is short")
    parser.add_argument(
        "--calibration", type=Path, metavar="F", help="probabilities as whymatch calibrate learned them"
    )
    parser.add_argument("--html", type=Path, metavar="F", help="write the picture as a web page")
    parser.add_argument("--figure", type=Path, metavar="F", help="write the picture as .svg, .pdf or .png")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    relations = "do not read what links mean: same, implies, implied, contradicts or related, for English texts"
    parser.add_argument("--no-relations", dest="relations", action="store_false", help=relations)
    add_aligner_options(parser)
    parser.set_defaults(run=run)


def add_aligner_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options from which `build_aligner` makes an aligner, and those of reading texts."""
    parser.add_argument("--spans", default="sentence", help="sentence (default), word, paragraph, line, text or punkt")
    add_encoder_options(parser)
    parser.add_argument("--layer", type=int, help="with --spans word: the layer of the model (default: the middle)")
    cache = "keep vectors in FOLDER, for runs that repeat: what was encoded before is not encoded again"
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help=cache)
    costs = "evidence (default), cosine, calibrated (for words of texts that are known to match), dot, euclidean"
    parser.add_argument("--cost", metavar="NAME", help=costs)
    background = "texts that evidence is judged against: a corpus as for whymatch index, or the folder of an index"
    parser.add_argument("--background", type=Path, metavar="FOLDER", help=background)
    parser.add_argument("--limit", type=int, default=2000, help="spans in a text (default: 2000)")
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--encoding", default="utf-8", help="of the files (default: utf-8)")


def add_encoder_options(parser: "argparse._ActionsContainer", default: str = "MiniLM") -> None:
    """Adds the options that name an encoder."""
    models = f"a model's folder or name, also of a static one, word vectors, or multilingual (default: {default})"
    parser.add_argument("--encoder", metavar="MODEL", help=models)
    parser.add_argument("--download", action="store_true", help="allow fetching a model from the Hugging Face hub")


def check_limits(settings: argparse.Namespace) -> None:
    """Raises ValueError if --max-mb or --limit makes no sense."""
    check_size(settings)
    if settings.limit < 1:
        raise ValueError(f"--limit takes a number of spans, 1 or more, got {settings.limit}.")


def check_size(settings: argparse.Namespace) -> None:
    """Raises ValueError if --max-mb makes no sense."""
    if not 0 < settings.max_mb <= MEGABYTE:
        raise ValueError(f"--max-mb takes a size above 0 and up to a million, got {settings.max_mb:g}.")


def run(settings: argparse.Namespace) -> int:
    """Aligns, prints, and returns the exit status."""
    if (settings.pairs is None) == (settings.left is None or settings.right is None):
        raise ValueError("Give two texts, LEFT and RIGHT, or many with --pairs FILE. See whymatch align --help.")
    check_limits(settings)
    if settings.clip and settings.pairs is None:
        raise ValueError("--clip goes with --pairs. For two texts, use a smaller k.")
    if settings.pairs is not None:
        return _run_many(settings)
    multiply_in_one_thread()
    check_outputs([settings.figure], [] if settings.text else [settings.left, settings.right], page=settings.html)
    left, right = _read_texts(settings)
    aligner, constraint = _build(settings, (left, right))
    why = aligner.align(left, right, constraint)
    if settings.html:
        why.to_html(settings.html)
    if settings.figure:
        why.to_figure(settings.figure)
    if settings.json:
        print(json.dumps(why.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        from whymatch.show.terminal import print_links, terminal

        print_links(why.to_dict(), terminal())
        for file in filter(None, (settings.html, settings.figure)):
            print(f"Picture: {file}")
    return 0


def _read_texts(settings: argparse.Namespace) -> list[str]:
    """The two texts, read before anything slow happens."""
    if settings.left == settings.right == "-" and not settings.text:
        raise ValueError("Standard input can be one of the two texts, not both.")
    texts = [settings.left, settings.right]
    if not settings.text:
        texts = [read_text(source, max_mb=settings.max_mb, encoding=settings.encoding) for source in texts]
    for name, text in zip(("LEFT", "RIGHT"), texts, strict=True):
        if is_blank(text):
            raise ValueError(f"{name} is empty: there is nothing to align.")
    return texts


def _build(settings: argparse.Namespace, texts: tuple[str, str] | None = None) -> "tuple[Aligner, Constraint | None]":
    """The aligner and the constraint that the settings describe; what is quick to check is checked first.

    `texts` are those that will be aligned, where they are known.
    """
    constraint = chosen_constraint(settings)
    from whymatch.matching.significance import Calibration

    calibration = None if settings.calibration is None else Calibration.read(settings.calibration)
    aligner = build_aligner(settings, below=settings.below)
    if calibration is not None:
        if aligner.cost.evidence is None:
            raise ValueError(f"--calibration goes with evidence, and {aligner.cost.name} is none.")
        aligner.judge.calibration = calibration
    if settings.relations and aligner.zooms:
        aligner.relation_reader = _relation_reader(texts)
    return aligner, constraint


def _relation_reader(texts: tuple[str, str] | None) -> "RelationReader | None":
    """What reads the relations of links; None, and a line that says why, where its model is not there.

    Its model, which takes a while to check, is not looked for where the texts are of another language than it reads.
    """
    from whymatch.matching.relating import looks_english
    from whymatch.matching.relations import shipped_reader

    reader = shipped_reader()
    if texts is not None and not looks_english(*texts):
        return reader
    if (reason := reader.missing) is not None:
        complain(f"Relations are not read: {reason}")
        return None
    return reader


def build_aligner(settings: argparse.Namespace, *, below: float | None = None) -> "Aligner":
    """The aligner that the options describe, with its background; what is quick to check is checked first."""
    from whymatch.cost import named_cost
    from whymatch.text.spans import splitter

    splitter(settings.spans)
    cost = named_cost(settings.cost) if settings.cost else None
    if settings.layer is not None and settings.spans != "word":
        raise ValueError("--layer goes with --spans word: other spans are encoded by the whole model.")
    if settings.background is not None and not settings.background.exists():
        raise ValueError(f"There is no {settings.background}. Give a file or a folder of texts, or an index.")
    from whymatch.matching.aligner import Aligner
    from whymatch.text.encoders.naming import encoder_for

    encoder = encoder_for(settings.spans, settings.encoder, layer=settings.layer, download=settings.download)
    if settings.cache is not None:
        from whymatch.text.encoders.caching import CachedEncoder

        encoder = CachedEncoder(encoder, settings.cache)
    aligner = Aligner(settings.spans, encoder, cost, below=below, limit=settings.limit)
    if settings.background is None:
        return aligner
    if aligner.cost.evidence is None:
        raise ValueError(f"--background goes with evidence, and {aligner.cost.name} is none.")
    background = _read_background(settings, aligner)
    return Aligner(settings.spans, encoder, cost, below=below, background=background, limit=settings.limit)


def _read_background(settings: argparse.Namespace, aligner: "Aligner") -> "Background":
    """The background of an index, or a sample of the texts of a corpus.

    Raises:
        ValueError: if there are too few texts.
    """
    from whymatch.cost.background import MAX_SPANS, Background
    from whymatch.datasets.documents import CorpusFiles

    path = settings.background
    if path.is_dir() and any(path.glob("*.lance")):
        from whymatch.search.index import Index

        background = Index.open(path).background
        if background is None:
            raise ValueError(f"The index in {path} has too few texts to be a background.")
        return background
    corpus = CorpusFiles(path, encoding=settings.encoding, max_mb=settings.max_mb)
    corpus.check()
    texts, draw, read = list[str](), random.Random(0), 0
    for row in corpus:
        if row.error is None:
            read += 1
            if len(texts) < MAX_SPANS:  # no more are needed: a text has a span or more
                texts.append(row.text)
            elif (place := draw.randrange(read)) < MAX_SPANS:
                texts[place] = row.text
    documents = [text for text in (_split(aligner, text) for text in texts) if text is not None]
    return Background.of(documents, aligner, f"{read:,} texts of {path.name}")


def _split(aligner: "Aligner", text: Text) -> "Document | None":
    """A text with its spans; None if it has too many, or cannot be split."""
    try:
        return aligner.split(text)
    except ValueError:
        return None


def chosen_constraint(settings: argparse.Namespace) -> "Constraint | None":
    """What --constraint and --below name; None if neither is given. The threshold may be left open."""
    from whymatch.transport.constraints import UpTo, parse_constraint

    text, below = settings.constraint, settings.below
    if text is None:
        return None if below is None else UpTo(1, below=below)
    if below is not None and not parse_constraint(text).thresholded:
        raise ValueError(f"--below goes with up-to and each, which link spans that cost less; got --constraint {text}.")
    return parse_constraint(text, below)


def _run_many(settings: argparse.Namespace) -> int:
    """JSON lines in, JSON lines out; a bad line is reported with its number, and the others go on."""
    if settings.left or settings.html or settings.figure or settings.text:
        raise ValueError("--pairs takes no LEFT, RIGHT, --text, --html or --figure: it prints JSON lines.")
    bad = 0
    with nullcontext(standard_input()) if settings.pairs == "-" else opened(Path(settings.pairs)) as file:
        aligner, constraint = _build(settings)
        if Path(settings.pairs).is_file():
            aligner.judge.fix_background(_split_pairs(settings, aligner), Path(settings.pairs).name)
        rows = _with_progress(read_pairs(file, settings), Path(settings.pairs))
        while batch := list(islice(rows, PAIRS_PER_BATCH)):
            pairs = [pair for _, pair, _ in batch if not isinstance(pair, ValueError)]
            outcomes = iter(aligner.outcomes(pairs, constraint, clip=settings.clip))
            for line, pair, extra in batch:
                outcome = pair if isinstance(pair, ValueError) else next(outcomes)
                if isinstance(outcome, ValueError):
                    bad += 1
                    complain(f"line {line}: {outcome}")
                else:
                    values = {"line": line, **extra, **outcome.to_dict()}
                    print(json.dumps(values, ensure_ascii=False, allow_nan=False))
            sys.stdout.flush()
    if bad:
        complain(f"lines that could not be aligned: {bad}.")
    return 2 if bad else 0


def _split_pairs(settings: argparse.Namespace, aligner: "Aligner") -> "Iterator[tuple[Document, Document]]":
    """The pairs of a file that can be split, for those that read the first ones."""
    with opened(Path(settings.pairs)) as data:
        for _, pair, _ in read_pairs(data, settings):
            if not isinstance(pair, ValueError):
                left, right = (_split(aligner, text) for text in pair)
                if left is not None and right is not None:
                    yield left, right


def read_pairs(
    file: BinaryIO, settings: argparse.Namespace, label: str | None = None
) -> Iterator[tuple[int, tuple[Text, Text] | ValueError, dict[str, Any]]]:
    """The number of each line, its pair of texts or what is wrong with it, and its id if it has one.

    With a `label`, the last is the field of that name, which is true or false.
    """
    max_bytes = int(2 * settings.max_mb * MEGABYTE)
    return checked_pairs(json_lines(file, encoding=settings.encoding, max_bytes=max_bytes, keys=_KEYS), label)


def checked_pairs(
    rows: Iterable[tuple[int, JsonObject | ValueError]], label: str | None = None
) -> Iterator[tuple[int, tuple[Text, Text] | ValueError, dict[str, Any]]]:
    """As `read_pairs`, from numbered rows with their values by name, or what is wrong with them."""
    for number, row in rows:
        try:
            if isinstance(row, ValueError):
                raise row
            if not {"left", "right"} <= row.keys():
                raise ValueError(f"a line is an object with {_KEYS}.")
            for side in ("left", "right"):
                pieces = [row[side]] if isinstance(row[side], str) else row[side]
                if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
                    raise ValueError(f'"{side}" is a text or a list of texts, got {type(row[side]).__name__}.')
                if is_blank("".join(pieces)):
                    raise ValueError(f'"{side}" is empty.')
            if label is not None:
                if not isinstance(row.get(label), bool):
                    raise ValueError(f'"{label}" is true or false, got {row.get(label)!r:.40}.')
                yield number, (row["left"], row["right"]), {label: row[label]}
                continue
            extra = {"id": row["id"]} if "id" in row else {}
            if not _is_writable(extra):
                raise ValueError('"id" holds what JSON cannot: NaN, infinity or half a surrogate pair.')
            yield number, (row["left"], row["right"]), extra
        except ValueError as error:
            yield number, error, {}


def _is_writable(value: object) -> bool:
    """Whether a value can be written as JSON."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _with_progress(rows: Iterator[_Row], path: Path) -> Iterator[_Row]:
    """The rows, with a progress bar if a person is watching and the answers go elsewhere."""
    if sys.stdout.isatty() or not is_watched():
        yield from rows
        return
    lines = 0
    if path.is_file():
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
    with progress_bar("aligning", lines or None) as update:
        for number, row in enumerate(rows, start=1):
            yield row
            update(number)
