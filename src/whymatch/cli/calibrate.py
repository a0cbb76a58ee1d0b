"""`whymatch calibrate`: from labelled pairs, how probable a match is by its evidence."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from whymatch.cli.align import Text, add_aligner_options, build_aligner, check_limits, checked_pairs, read_pairs
from whymatch.cli.console import check_outputs, complain
from whymatch.files import write_whole
from whymatch.reading import MEGABYTE, TABLE_ENDINGS, JsonObject, ending, opened, read_rows

if TYPE_CHECKING:
    import numpy as np

_Labelled: TypeAlias = tuple[int, tuple[Text, Text], bool]
"""The number of a line, its pair, and whether that matches."""
_COLUMNS = ("left", "right", "match")
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}  # labels in a table


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("calibrate", help="learn from labelled pairs how probable a match is by its evidence")
    pairs = (
        "JSON lines, CSV, TSV or Parquet with left, right and match, which is true or false (in a table also yes or no)"
    )
    parser.add_argument("pairs", metavar="PAIRS", type=Path, help=pairs)
    out = "where to write the calibration, for whymatch align --calibration (default: calibration.json)"
    parser.add_argument("--out", type=Path, metavar="F", default=Path("calibration.json"), help=out)
    parser.add_argument("--figure", type=Path, metavar="F", help="write a reliability diagram: .svg, .pdf or .png")
    add_aligner_options(parser)
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Fits the calibration, writes it, says how well it holds, and returns the exit status: 2 where lines were bad."""
    import numpy as np

    from whymatch.evaluation.calibration import BINS, FOLDS, brier_score, calibration_error, held_out_probabilities
    from whymatch.evaluation.intervals import bootstrap
    from whymatch.matching.judging import calibrated, calibration_inputs, check_labels
    from whymatch.matching.parts import Judgement

    check_limits(settings)
    check_outputs([settings.out, settings.figure], [settings.pairs])
    labelled, bad = _read(settings)
    check_labels([match for *_, match in labelled], len(labelled))
    aligner = build_aligner(settings)
    if aligner.cost.evidence is None:
        raise ValueError(f"Probabilities are those of evidence, and {aligner.cost.name} has none.")
    judged = list[tuple[Judgement, bool]]()
    outcomes = aligner.outcomes([pair for _, pair, _ in labelled], links_only=True)
    for (line, _, match), why in zip(labelled, outcomes, strict=True):
        if isinstance(why, ValueError) or why.judgement is None:
            bad += 1
            complain(f"line {line}: {why if isinstance(why, ValueError) else 'a text has no spans.'}")
        else:
            judged.append((why.judgement, match))
    fitted_on = f"{len(judged):,} pairs of {settings.pairs.name}"
    calibration = calibrated([judgement for judgement, _ in judged], [match for _, match in judged], fitted_on)
    p_values, sizes, _ = calibration_inputs([judgement for judgement, _ in judged])
    matches = np.array([match for _, match in judged])
    held_out = np.stack([held_out_probabilities(p_values, matches, sizes), matches], axis=1)
    background = judged[0][0].background
    facts = {"pairs": len(judged), "matches": int(matches.sum()), "background": background}
    if settings.figure is not None:
        _draw(held_out, settings.figure)
    write_whole(settings.out, json.dumps(calibration.to_dict() | facts, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(judged):,} pairs, {matches.sum():,} of which match, judged against {background}.")
    print(f"On pairs held out ({FOLDS}-fold cross-validation):")
    print(f"  ECE in {BINS} bins: {calibration_error(held_out):.3f}")  # resampling would add noise to every bin of it
    brier = bootstrap(held_out, brier_score)
    print(f"  Brier score: {brier.mean:.3f} (95% interval {brier.low:.3f} to {brier.high:.3f})")
    print(f"Calibration: {settings.out}")
    if settings.figure is not None:
        print(f"Picture: {settings.figure}")
    if bad:
        complain(f"lines that could not be used: {bad}.")
    return 2 if bad else 0


def _read(settings: argparse.Namespace) -> tuple[list[_Labelled], int]:
    """The labelled pairs of a file, and how many of its lines were bad, which are reported."""
    labelled, bad = list[_Labelled](), 0
    for line, pair, fields in _pairs(settings):
        if isinstance(pair, ValueError):
            bad += 1
            complain(f"line {line}: {pair}")
        else:
            labelled.append((line, pair, fields["match"]))
    return labelled, bad


def _pairs(settings: argparse.Namespace) -> Iterator[tuple[int, tuple[Text, Text] | ValueError, dict[str, Any]]]:
    if ending(settings.pairs) in TABLE_ENDINGS:
        yield from checked_pairs(_table_rows(settings), "match")
    else:
        with opened(settings.pairs) as file:
            yield from read_pairs(file, settings, "match")


def _table_rows(settings: argparse.Namespace) -> Iterator[tuple[int, JsonObject | ValueError]]:
    """The numbered rows of a table, in which words may stand for true and false."""
    max_bytes = int(2 * settings.max_mb * MEGABYTE)
    advice = "A table of labelled pairs has the columns left, right and match."
    for row in read_rows(settings.pairs, _COLUMNS, encoding=settings.encoding, max_bytes=max_bytes, advice=advice):
        if isinstance(row.values, ValueError):
            yield row.number or 0, row.values
        else:
            match = row.values["match"]
            yield row.number or 0, {**row.values, "match": _WORDS.get(str(match).strip().lower(), match)}


def _draw(held_out: "np.ndarray", file: Path) -> None:
    from whymatch.evaluation.calibration import reliability

    try:
        from whymatch.show.figures import reliability_diagram
    except ModuleNotFoundError:
        raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
    reliability_diagram(reliability(held_out).tolist(), held_out.tolist(), file)
