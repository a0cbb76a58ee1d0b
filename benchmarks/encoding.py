"""How fast MiniLM encodes on each backend: 400 sentences of MultiRC, alone and word by word (layer 3).

    WHYMATCH_DATA=… python -m benchmarks.encoding

The backends take turns in one run, and the best of five rounds counts. On a machine that others use, the time that its
processors spent is steadier than the time that passed; a round's is that of all its threads.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import whymatch as wm
from benchmarks.data import data_folder
from whymatch.show.terminal import table
from whymatch.text.spans import whole, words

SENTENCES, ROUNDS = 400, 5
BACKENDS = "torch float32", "openvino float32", "openvino bfloat16"


def sentences_of(folder: Path) -> list[str]:
    """Sentences of MultiRC's documents, which have one on each line, drawn at random."""
    lines = [line.strip() for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]
    return random.Random(0).sample([line for line in lines if line], SENTENCES)


def timed(encode: Callable[[], list[np.ndarray]]) -> tuple[float, float, np.ndarray]:
    """The seconds that passed, the seconds of all processors, and the vectors."""
    passed, spent = time.perf_counter(), time.process_time()
    vectors = np.concatenate(encode())
    return time.perf_counter() - passed, time.process_time() - spent, vectors


def compare(title: str, encoders: dict[str, wm.SentenceEncoder] | dict[str, wm.WordEncoder], texts: list[str]) -> None:
    """Prints how fast each encoder is, beside torch, and how far its vectors are from those of torch."""
    splitter = whole if title == "sentences" else words
    spans = [splitter(text) for text in texts]
    best = dict.fromkeys(encoders, (np.inf, np.inf))
    vectors = {}
    for _ in range(ROUNDS + 1):  # the first one prepares the shapes of the batches, and is no faster than others
        for name, encoder in encoders.items():
            passed, spent, vectors[name] = timed(lambda encoder=encoder: encoder.encode(texts, spans))  # type: ignore[misc]
            best[name] = min(best[name][0], passed), min(best[name][1], spent)
    base, rows = BACKENDS[0], []
    for name, (passed, spent) in best.items():
        norms = np.linalg.norm(vectors[name], axis=1) * np.linalg.norm(vectors[base], axis=1)
        cosines = ((vectors[name] * vectors[base]).sum(axis=1) / np.where(norms > 0, norms, 1))[norms > 0]
        ratios = f"{best[base][0] / passed:.1f}×", f"{SENTENCES / spent:.0f}", f"{best[base][1] / spent:.1f}×"
        rows.append([name, f"{SENTENCES / passed:.0f}", *ratios, f"{cosines.mean():.6f}", f"{cosines.min():.5f}"])
    heads = ["", "a second", "to torch", "a second of a core", "to torch", "mean cosine", "least"]
    print(f"\n{title}\n\n{table(heads, rows)}", flush=True)


def main() -> None:
    texts = sentences_of(data_folder(__doc__) / "multirc" / "docs")
    compare("sentences", {name: wm.SentenceEncoder(backend=name, device="cpu") for name in BACKENDS}, texts)
    compare("words, layer 3", {name: wm.WordEncoder(backend=name, device="cpu") for name in BACKENDS}, texts)


if __name__ == "__main__":
    main()
