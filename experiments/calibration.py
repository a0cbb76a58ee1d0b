"""Makes what ships beside the background's texts: their vectors, what chance gives, and two calibrations.

    WHYMATCH_DATA=… python -m experiments.calibration --vectors FOLDER

Vectors of the data are kept in FOLDER, so that a second run encodes nothing. Written are, in
src/whymatch/matching/general/: minilm.safetensors (the vectors of texts.txt in 8 bits), spans.safetensors (where
those stand in the texts) and measured.json.

Both calibrations are fitted on StackExchange's duplicates, and on pairs of one site that are none: half of them drawn
at random, half listed by the data set. Duplicates have 40% of the weight. Each site is a corpus of its own, once with
whole posts and once with titles alone, since a user's corpus is mostly about one subject, and its texts are short or
long. For the calibration of corpora, each site is its own background. For that of single pairs the background is the
one that ships, which knows little of the subject that both texts are about, so that the sizes of the texts count.
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
from whymatch.text.document import Document
from whymatch.text.spans import Span

_MIN_MATCHES = 25  # of a site that is a corpus of its own
_MIN_SITE_SPANS = 400
_RANDOM_PAIRS = 1500
_SHARE = 0.4  # of the weight, for pairs that match


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--sites", choices=("all", "choices"), default="all", help="choices: for the benchmark alone")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    aligner = wm.Aligner(encode=wm.SentenceEncoder(backend="openvino float32"))  # the same on every processor
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
    """Encodes the texts and phrases that ship, writes their vectors, and gives the background that users get."""
    documents = [aligner.split(text) for text in shipped.shipped_texts()]
    phrases = [Document(phrase, (Span(0, len(phrase)),)) for phrase in shipped.set_phrases()]
    arrays = dict[str, np.ndarray]()
    for name, texts in (("vectors", documents), ("phrases", phrases)):
        encoded = aligner.encoder.encode([text.text for text in texts], [text.spans for text in texts])
        vectors = np.concatenate(encoded).astype(np.float32)
        scales = np.abs(vectors).max(axis=1) / 127
        arrays |= {name: np.rint(vectors / scales[:, None]).astype(np.int8), f"{name}_scales": scales}
    save_file(arrays, shipped.FOLDER / "minilm.safetensors")
    spans = np.array([[*span] for text in documents for span in text.spans], np.uint16)
    counts = np.array([len(text) for text in documents], np.uint16)
    save_file({"spans": spans, "counts": counts}, shipped.FOLDER / "spans.safetensors")
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
    by_site = (corpus.of([site]) for corpus in corpora for site in sites)
    parts = [part for part in by_site if len(part.matches) >= _MIN_MATCHES and _spans(part) >= _MIN_SITE_SPANS]
    texts = f"sentences by MiniLM in posts and titles of {len(sites)} StackExchange sites"
    words = f"{texts}: duplicates, and one and a half times as many others"
    return {
        "corpus": fit_one([Measured(part, aligner) for part in parts], words),
        "general": fit_one([Measured(part, aligner, general) for part in parts], words, general=True),
    }


def _spans(corpus: Corpus) -> int:
    return sum(map(len, corpus.documents))


def fit_one(parts: Sequence[Measured], fitted_on: str, *, general: bool = False) -> Calibration:
    """A calibration in which each part counts by its matches; sizes count where the background is `general`."""
    p_values, labels, weights, sizes = (list[np.ndarray]() for _ in range(4))
    for part in parts:
        corpus = part.corpus
        kinds = [corpus.matches, random_pairs(corpus, _RANDOM_PAIRS, seed=1), corpus.others]
        for pairs, weight, match in zip(kinds, (1.0, 0.5, 0.5), (True, False, False), strict=True):
            if pairs:
                p_values.append(np.exp2(-part.surprise(pairs)))
                sizes.append(part.counted(pairs))
                labels.append(np.full(len(pairs), match))
                weights.append(np.full(len(pairs), weight * len(corpus.matches) / len(pairs)))
    values, matches, counts = map(np.concatenate, (p_values, labels, weights))
    by_size = np.concatenate(sizes) if general else None
    return Calibration.fit(values, matches, fitted_on, counts, _SHARE, by_size, general=general)


if __name__ == "__main__":
    main()
