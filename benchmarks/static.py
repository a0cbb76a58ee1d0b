"""What static encoders save and lose beside MiniLM: posts of StackExchange ranked by evidence, and sentences a second.

    WHYMATCH_DATA=… python -m benchmarks.static --vectors FOLDER --model POTION [--word-vectors GLOVE] [--queries 100]

POTION is the folder of a model2vec model, such as the potion-base-8M that the package mostlyai-qa 1.10.11 carries. Word
vectors are tried with frequent words counting less, and with all words counting the same; the choice between the two
was made on six sites, and the other six are reported. Each part is its own background. Speed is the number of sentences
per second of processor time on one thread, the best of five rounds in which the encoders take turns. MiniLM's model
card lists duplicates of StackExchange among its training data.
"""

import argparse
import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import whymatch as wm
from benchmarks.evidence import precision_of, relevant_of
from experiments.corpora import CHOICES, NUMBERS, Corpus, Encoding, stackexchange
from experiments.evidence import Measured
from whymatch.evaluation.intervals import Interval, bootstrap
from whymatch.show.terminal import table
from whymatch.text.encoders import Encoder

BASE = "MiniLM"
SENTENCES, ROUNDS = 512, 5
LEAST_SECONDS = 0.5  # of a round: fast encoders repeat the sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--model", type=Path, required=True, help="folder of a model2vec model")
    parser.add_argument("--word-vectors", type=Path, metavar="F", help="file of word vectors, frequent words first")
    parser.add_argument("--queries", type=int, default=100, help="of each part")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    encoders: dict[str, Encoder] = {BASE: wm.SentenceEncoder(), settings.model.name: wm.StaticEncoder(settings.model)}
    if settings.word_vectors is not None:
        vectors = wm.read_vectors(settings.word_vectors)
        encoders[f"{vectors.name}, frequent words count less"] = wm.StaticEncoder(vectors)
        same = replace(vectors, name=f"{vectors.name}, the same", by_frequency=False)
        encoders[f"{vectors.name}, all words count the same"] = wm.StaticEncoder(same)
    corpora = {
        name: stackexchange(settings.data, Encoding(wm.Aligner(encode=encoder), settings.vectors))
        for name, encoder in encoders.items()
    }
    for title, sites in (("choices", CHOICES), ("reported", NUMBERS)):
        rank(title, encoders, {name: corpus.of(sites) for name, corpus in corpora.items()}, settings.queries)
    speed(encoders, corpora[BASE])


def rank(title: str, encoders: dict[str, Encoder], corpora: dict[str, Corpus], queries: int) -> None:
    """Prints the mean average precision of each encoder, and its ratio to MiniLM's, by queries resampled."""
    base = corpora[BASE]
    relevant = relevant_of(base)
    asked = sorted(random.Random(0).sample(sorted(relevant), min(queries, len(relevant))))
    precisions = {}
    for name, encoder in encoders.items():
        measured = Measured(corpora[name], wm.Aligner(encode=encoder))
        values = [precision_of(measured.surprise, query, relevant[query], len(base.documents)) for query in asked]
        precisions[name] = np.array(values)
    rows = []
    for name, own in precisions.items():
        ratio = bootstrap(
            np.stack([own, precisions[BASE]], axis=1), lambda pairs: pairs[:, 0].mean() / pairs[:, 1].mean()
        )
        rows.append([name, f"{own.mean():.3f}", _with_interval(ratio)])
    print(f"\n{title}: {len(base.documents):,} posts, {len(asked)} queries\n")
    print(table(["encoder", "MAP", f"of {BASE}'s"], rows), flush=True)


def speed(encoders: dict[str, Encoder], corpus: Corpus) -> None:
    """Prints how many sentences each encoder reads per second of processor time."""
    pieces = sorted({piece for text in corpus.documents for piece in text.pieces})
    texts = random.Random(0).sample(pieces, SENTENCES)
    spans = [[wm.Span(0, len(text))] for text in texts]
    best = dict.fromkeys(encoders, np.inf)
    for _ in range(ROUNDS):
        for name, encoder in encoders.items():
            began, times = time.process_time(), 0
            while (spent := time.process_time() - began) < LEAST_SECONDS:
                encoder.encode(texts, spans)
                times += 1
            best[name] = min(best[name], spent / times)
    rows = [[name, f"{SENTENCES / spent:,.0f}", f"{best[BASE] / spent:.0f}×"] for name, spent in best.items()]
    print(f"\n{SENTENCES} sentences of the posts\n")
    print(table(["encoder", "sentences per second of processor time", f"of {BASE}'s"], rows))


def _with_interval(interval: Interval) -> str:
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


if __name__ == "__main__":
    main()
