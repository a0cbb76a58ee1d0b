"""`whymatch check`: an answer against its sources, or many answers against theirs."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from whymatch.checking.sources import NamedTexts, refuse_address
from whymatch.cli.align import add_aligner_options, build_aligner, check_limits
from whymatch.cli.console import check_outputs, complain, read_document, standard_input
from whymatch.reading import MEGABYTE, JsonObject, json_lines, opened
from whymatch.text.spans import is_blank

if TYPE_CHECKING:
    from whymatch.checking.result import Check

_KEYS = '"answer" and "sources"'
_OF_THE_INDEX = ("encoder", "layer", "cache", "cost", "background")  # options that an index decides itself


EPILOG = """exit status: 0; with --strict 1 where a claim is not supported, and 2 where a source could not be read;
2 where the answer, every source, a line or an option is wrong; 3 for a fault of whymatch"""


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("check", help="is every claim of an answer supported by its sources?", epilog=EPILOG)
    parser.add_argument(
        "answer", nargs="?", metavar="ANSWER", help="a file, - for standard input, or a text with --text"
    )
    files = "files or folders (text, Markdown, HTML, DOCX, JSON lines, CSV, Parquet), or texts with --text"
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=files)
    parser.add_argument("--text", action="store_true", help="ANSWER and SOURCE are texts, not files")
    parser.add_argument("--index", type=Path, metavar="INDEX", help="search the sources in the folder of an index")
    batch = f"many answers: JSON lines with {_KEYS}, - for standard input; JSON lines out, and their mean"
    parser.add_argument("--batch", metavar="FILE", help=batch)
    parser.add_argument("--html", type=Path, metavar="F", help="write the answer beside its sources as a web page")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--strict", action="store_true", help="exit status 1 where a claim is not supported")
    add_aligner_options(parser)
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Checks, prints, and returns the exit status, as `EPILOG` says."""
    check_limits(settings)
    if settings.batch is not None:
        return _run_many(settings)
    if settings.answer is None or bool(settings.sources) == (settings.index is not None):
        raise ValueError(
            "Give an ANSWER, and either SOURCEs or --index INDEX; or many answers with --batch FILE. "
            "See whymatch check --help."
        )
    _check_index_decides(settings)
    check_outputs([], [] if settings.text else [settings.answer, *settings.sources], page=settings.html)
    answer = settings.answer
    if not settings.text:
        _check_are_files([answer, *settings.sources])
        answer = read_document(answer, max_mb=settings.max_mb, encoding=settings.encoding, marked=True)
    if is_blank(answer):
        raise ValueError("ANSWER is empty: there is nothing to check.")
    checked, all_read = _check(settings, answer)
    if settings.html:
        checked.to_html(settings.html)
    if settings.json:
        print(json.dumps(checked.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        print(checked)
        if settings.html:
            print(f"\nPage: {settings.html}")
    if not settings.strict:
        return 0
    return int(checked.faithfulness < 1) if all_read else 2


def _check_index_decides(settings: argparse.Namespace) -> None:
    """Raises ValueError for an option that would be ignored, since an index was made with its own."""
    given = [name for name in _OF_THE_INDEX if getattr(settings, name) is not None]
    if settings.index is not None and given:
        raise ValueError(f"--{given[0]} does not go with --index: an index is searched with what it was made with.")


def _check_are_files(names: Sequence[str]) -> None:
    """Raises ValueError for what is an address, or a text where --text was forgotten."""
    for name in names:
        refuse_address(name)
        if name != "-" and " " in name and len(name) < 1000 and not Path(name).exists():
            raise ValueError(f"There is no file {name!r:.80}. For texts instead of files, add --text.")


def _check(settings: argparse.Namespace, answer: str) -> tuple["Check", bool]:
    """The check, and whether every source could be read."""
    from whymatch.checking.check import check, check_texts

    if settings.index is not None:
        from whymatch.search.index import Index

        return check(answer, Index.open(settings.index)), True
    if settings.text:
        named = NamedTexts.of(settings.sources)
    else:
        paths = [Path(source) for source in settings.sources]
        named = NamedTexts.of(paths, settings.encoding, settings.max_mb)
    for problem in named.problems:
        complain(problem)
    if not named.texts:
        raise ValueError("There is no source that can be read.")
    checked = check_texts(answer, named, build_aligner(settings))
    return checked, not named.problems and len(checked.sources) == len(named.texts)


def _run_many(settings: argparse.Namespace) -> int:
    """JSON lines in, JSON lines out; a bad line is reported with its number, and the others go on."""
    if settings.answer or settings.sources or settings.index or settings.html or settings.text:
        raise ValueError("--batch takes no ANSWER, SOURCE, --index, --text or --html: it prints JSON lines.")
    from whymatch.checking.check import check_texts
    from whymatch.checking.result import VERDICTS, verdicts_only

    bad, scores, counts = 0, list[float](), dict.fromkeys(VERDICTS, 0)
    with nullcontext(standard_input()) if settings.batch == "-" else opened(Path(settings.batch)) as file:
        aligner = build_aligner(settings)
        for line, row in _rows(file, settings):
            try:
                if isinstance(row, ValueError):
                    raise row
                checked = check_texts(row["answer"], NamedTexts.of(row["sources"]), aligner)
            except (ValueError, TypeError) as error:
                bad += 1
                complain(f"line {line}: {error}")
                continue
            scores.append(checked.faithfulness)
            counts = {verdict: number + checked.counts[verdict] for verdict, number in counts.items()}
            extra = {"id": row["id"]} if isinstance(row.get("id"), str | int) else {}
            print(json.dumps({"line": line, **extra, **verdicts_only(checked)}, ensure_ascii=False, allow_nan=False))
            sys.stdout.flush()
    mean = sum(scores) / len(scores) if scores else None
    print(json.dumps({"answers": len(scores), "mean_faithfulness": mean, "counts": counts}))
    if bad:
        complain(f"lines that could not be checked: {bad}.")
        return 2
    return int(settings.strict and (mean or 0.0) < 1)


def _rows(file: BinaryIO, settings: argparse.Namespace) -> Iterator[tuple[int, JsonObject | ValueError]]:
    """The number and the object of every line, or what is wrong with it."""
    max_bytes = int(4 * settings.max_mb * MEGABYTE)
    for number, row in json_lines(file, encoding=settings.encoding, max_bytes=max_bytes, keys=_KEYS):
        if isinstance(row, ValueError):
            yield number, row
        elif not isinstance(row.get("answer"), str) or is_blank(row["answer"]):
            yield number, ValueError('"answer" is a text that is not empty.')
        elif not isinstance(row.get("sources"), str | list | dict):
            yield number, ValueError('"sources" is a list of texts, or an object with texts by name.')
        else:
            yield number, row
