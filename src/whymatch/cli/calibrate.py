"""`whymatch calibrate`: from labelled pairs, how probable a match is by its evidence."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import Text, add_aligner_options, build_aligner, check_limits, read_pairs
from whymatch.cli.console import check_outputs, complain
from whymatch.files import write_whole
from whymatch.reading import opened

if TYPE_CHECKING:
    import numpy as np


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("calibrate", help="learn from labelled pairs how probable a match is by its evidence")
    pairs = 'JSON lines with "left", "right" and "match", which is true or false'
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
    for name, statistic in ((f"ECE in {BINS} bins", calibration_error), ("Brier score", brier_score)):
        measured = bootstrap(held_out, statistic)
        print(f"  {name}: {measured.mean:.3f} (95% interval {measured.low:.3f} to {measured.high:.3f})")
    print(f"Calibration: {settings.out}")
    if settings.figure is not None:
        print(f"Picture: {settings.figure}")
    if bad:
        complain(f"lines that could not be used: {bad}.")
    return 2 if bad else 0


def _read(settings: argparse.Namespace) -> tuple[list[tuple[int, tuple[Text, Text], bool]], int]:
    """The number of each line, its pair, and whether that matches; and how many lines were bad, which are reported."""
    labelled, bad = list[tuple[int, tuple[Text, Text], bool]](), 0
    with opened(settings.pairs) as file:
        for line, pair, fields in read_pairs(file, settings, "match"):
            if isinstance(pair, ValueError):
                bad += 1
                complain(f"line {line}: {pair}")
            else:
                labelled.append((line, pair, fields["match"]))
    return labelled, bad


def _draw(held_out: "np.ndarray", file: Path) -> None:
    from whymatch.evaluation.calibration import reliability

    try:
        from whymatch.show.figures import reliability_diagram
    except ModuleNotFoundError:
        raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
    reliability_diagram(reliability(held_out).tolist(), held_out.tolist(), file)
