"""Makes what ships beside the background's texts: their vectors, what chance gives, and two calibrations.

    WHYMATCH_DATA=… python -m experiments.calibration --vectors FOLDER

Vectors of the data are kept in FOLDER, so that a second run encodes nothing. Written are, in
src/whymatch/matching/general/: minilm.safetensors (the vectors of texts.txt in 8 bits) and measured.json.

Both calibrations are fitted on StackExchange's duplicates. For that of corpora they are half of the weight, a quarter
are random pairs, and a quarter pairs of one site that are no duplicates. Each site by itself and all sites together
are a corpus with a background of its own, once with whole posts and once with titles alone: a user's corpus may be
narrow or wide, and its texts short or long. For single pairs the background is the one that ships, which knows little
of the subject that both texts are about: all pairs that are no duplicates are of one site, and they have four times the
weight of the duplicates.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import whymatch as wm
from experiments.corpora import CHOICES, NUMBERS, Corpus, Encoding, stackexchange
from experiments.evidence import Measured, random_pairs
from whymatch.cost import Background
from whymatch.files import write_whole
from whymatch.matching import shipped
from whymatch.matching.significance import Calibration

_MIN_MATCHES = 25  # of a site that is a corpus of its own
_MIN_SITE_SPANS = 400
_RANDOM_PAIRS = 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--sites", choices=("all", "choices"), default="all", help="choices: for the benchmark alone")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    aligner = wm.Aligner()
    background = write_vectors(aligner)
    chance = aligner.judge._chance(background)
    write_measured({"digest": background.digest, "cost": aligner.cost.to_list(), "chance": chance.to_dict()})
    encoding = Encoding(aligner, settings.vectors)
    corpora = [stackexchange(settings.data, encoding, titles=titles) for titles in (False, True)]
    fitted = fit(aligner, corpora, CHOICES if settings.sites == "choices" else CHOICES + NUMBERS, background)
    write_measured({name: vars(calibration) for name, calibration in fitted.items()})
    for name, calibration in fitted.items():
        print(f"{name}: slope {calibration.slope:.3f}, offset {calibration.offset:.3f}; {calibration.fitted_on}")


def write_vectors(aligner: wm.Aligner) -> Background:
    """Encodes the texts that ship, writes their vectors, and gives the background that users get."""
    documents = [aligner.split(text) for text in shipped.shipped_texts()]
    encoded = aligner.encoder.encode([text.text for text in documents], [text.spans for text in documents])
    vectors = np.concatenate(encoded).astype(np.float32)
    scales = np.abs(vectors).max(axis=1) / 127
    rounded = np.rint(vectors / scales[:, None]).astype(np.int8)
    save_file({"vectors": rounded, "scales": scales.astype(np.float32)}, shipped.FOLDER / "minilm.safetensors")
    return shipped.shipped_background(aligner)


def write_measured(values: dict[str, object]) -> None:
    """Replaces these values in measured.json."""
    file = shipped.FOLDER / "measured.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    write_whole(file, json.dumps(known | values, indent=1, ensure_ascii=False) + "\n")


def fit(
    aligner: wm.Aligner, corpora: Sequence[Corpus], sites: Sequence[str], general: Background
) -> dict[str, Calibration]:
    """The calibrations of corpora with a background of their own, and of single pairs."""
    narrow = [corpus.of([site]) for corpus in corpora for site in sites]
    own = [
        Measured(part, aligner)
        for part in narrow
        if len(part.matches) >= _MIN_MATCHES and sum(map(len, part.documents)) >= _MIN_SITE_SPANS
    ]
    own += [Measured(corpus.of(sites), aligner) for corpus in corpora]
    single = [Measured(corpus.of(sites), aligner, general) for corpus in corpora]
    words = f"{len(sites)} StackExchange sites: duplicates, and as many pairs that are none"
    careful = f"{len(sites)} StackExchange sites: duplicates, and four times as many pairs of one site that are none"
    return {
        "corpus": fit_one(own, f"{words}, in posts and titles"),
        "general": fit_one(single, careful, share=0.2, random_share=0.0),
    }


def fit_one(parts: Sequence[Measured], fitted_on: str, *, share: float = 0.5, random_share: float = 0.5) -> Calibration:
    """A calibration in which each part counts by its matches, and these count as a `share` of all.

    Of the pairs that do not match, `random_share` are random ones, and the others pairs of one site.
    """
    p_values, labels, weights = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for part in parts:
        corpus = part.corpus
        kinds = [corpus.matches, random_pairs(corpus, _RANDOM_PAIRS, seed=1), corpus.others]
        shares = [1.0, random_share, 1 - random_share]
        for pairs, weight, match in zip(kinds, shares, (True, False, False), strict=True):
            if pairs and weight:
                p_values.append(np.exp2(-part.surprise(pairs)))
                labels.append(np.full(len(pairs), match))
                weights.append(np.full(len(pairs), weight * len(corpus.matches) / len(pairs)))
    values, matches, counts = map(np.concatenate, (p_values, labels, weights))
    return Calibration.fit(values, matches, fitted_on, counts, share)


if __name__ == "__main__":
    main()
