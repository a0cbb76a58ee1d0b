"""`whymatch align`: two texts, or many pairs of texts, and why they match."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar

from whymatch.cli.console import complain, is_watched, progress_bar, read_text, standard_input
from whymatch.reading import MEGABYTE, json_lines, opened
from whymatch.text.spans import is_blank
from whymatch.transport.constraints import EXAMPLES

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.transport.constraints import Constraint

PAIRS_PER_BATCH = 64  # encoded and solved at a time
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
    constraints = f"{EXAMPLES} (default: up-to:1, calibrated threshold)"
    parser.add_argument("--constraint", metavar="C", help=constraints)
    parser.add_argument(
        "--below", type=float, metavar="X", help="with up-to and each: link only pairs that cost less than X"
    )
    parser.add_argument("--clip", action="store_true", help="with --pairs: make k smaller where a text is short")
    parser.add_argument("--spans", default="sentence", help="sentence (default), word, paragraph, line, text or punkt")
    models = "a model's folder or name, or word vectors (default: MiniLM)"
    parser.add_argument("--encoder", metavar="MODEL", help=models)
    parser.add_argument("--layer", type=int, help="with --spans word: the layer of the model (default: the middle)")
    costs = "cosine (default), calibrated (default for words), dot, euclidean"
    parser.add_argument("--cost", metavar="NAME", help=costs)
    parser.add_argument("--html", type=Path, metavar="F", help="write the picture as a web page")
    parser.add_argument("--figure", type=Path, metavar="F", help="write the picture as .svg, .pdf or .png")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--limit", type=int, default=2000, help="spans in a text (default: 2000)")
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--encoding", default="utf-8", help="of the files (default: utf-8)")
    parser.add_argument("--download", action="store_true", help="allow fetching a model from the Hugging Face hub")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Aligns, prints, and returns the exit status."""
    if (settings.pairs is None) == (settings.left is None or settings.right is None):
        raise ValueError("Give two texts, LEFT and RIGHT, or many with --pairs FILE. See whymatch align --help.")
    if not 0 < settings.max_mb <= MEGABYTE:
        raise ValueError(f"--max-mb takes a size above 0 and up to a million, got {settings.max_mb:g}.")
    if settings.limit < 1:
        raise ValueError(f"--limit takes a number of spans, 1 or more, got {settings.limit}.")
    if settings.clip and settings.pairs is None:
        raise ValueError("--clip goes with --pairs. For two texts, use a smaller k.")
    if settings.pairs is not None:
        return _run_many(settings)
    left, right = _read_texts(settings)
    aligner, constraint = _build(settings)
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


def _build(settings: argparse.Namespace) -> "tuple[Aligner, Constraint | None]":
    """The aligner and the constraint that the settings describe; what is quick to check is checked first."""
    constraint = chosen_constraint(settings)
    from whymatch.cost import named_cost
    from whymatch.text.spans import splitter

    splitter(settings.spans)
    cost = named_cost(settings.cost) if settings.cost else None
    if settings.layer is not None and settings.spans != "word":
        raise ValueError("--layer goes with --spans word: other spans are encoded by the whole model.")
    from whymatch.matching.aligner import Aligner, encoder_for

    encoder = encoder_for(settings.spans, settings.encoder, layer=settings.layer, download=settings.download)
    return Aligner(settings.spans, encoder, cost, below=settings.below, limit=settings.limit), constraint


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
        rows = _with_progress(_read_pairs(file, settings), Path(settings.pairs))
        while batch := list(islice(rows, PAIRS_PER_BATCH)):
            pairs = [pair for _, pair, _ in batch if not isinstance(pair, ValueError)]
            outcomes = iter(aligner.outcomes(pairs, constraint, clip=settings.clip))
            for line, pair, extra in batch:
                outcome = pair if isinstance(pair, ValueError) else next(outcomes)
                if isinstance(outcome, ValueError):
                    bad += 1
                    complain(f"line {line}: {outcome}")
                else:
                    print(json.dumps({"line": line, **extra, **outcome.to_dict()}, ensure_ascii=False, allow_nan=False))
            sys.stdout.flush()
    if bad:
        complain(f"lines that could not be aligned: {bad}.")
    return 2 if bad else 0


def _read_pairs(
    file: BinaryIO, settings: argparse.Namespace
) -> Iterator[tuple[int, tuple[Text, Text] | ValueError, dict[str, Any]]]:
    """The number of each line, its pair of texts or what is wrong with it, and its id if it has one."""
    max_bytes, keys = int(2 * settings.max_mb * MEGABYTE), '"left" and "right"'
    for number, row in json_lines(file, encoding=settings.encoding, max_bytes=max_bytes, keys=keys):
        try:
            if isinstance(row, ValueError):
                raise row
            if not {"left", "right"} <= row.keys():
                raise ValueError(f"a line is an object with {keys}.")
            for side in ("left", "right"):
                pieces = [row[side]] if isinstance(row[side], str) else row[side]
                if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
                    raise ValueError(f'"{side}" is a text or a list of texts, got {type(row[side]).__name__}.')
                if is_blank("".join(pieces)):
                    raise ValueError(f'"{side}" is empty.')
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
