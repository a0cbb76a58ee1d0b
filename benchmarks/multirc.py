"""MultiRC without training: which two sentences answer a question, beside the paper's trained models.

WHYMATCH_DATA=… python -m benchmarks.multirc
"""

from statistics import fmean

import whymatch as wm
from benchmarks.data import data_folder
from whymatch.datasets.eraser import read_eraser
from whymatch.evaluation.rationales import f1, tokens_in
from whymatch.show.terminal import table


def main() -> None:
    pairs = list(read_eraser(data_folder(__doc__) / "multirc", "test"))
    alignments = wm.Aligner().align_many([(pair.left, pair.right) for pair in pairs], wm.Exactly(2))
    scores, shares, selected, tokens = [], [], 0, 0
    for pair, why in zip(pairs, alignments, strict=True):
        chosen = tokens_in(pair.right.text, why.rationale("right"))
        scores.append(f1(chosen, tokens_in(pair.right.text, pair.right_rationale or ())))
        length = len(pair.right.text.split())
        shares.append(len(chosen) / length)
        selected, tokens = selected + len(chosen), tokens + length
    rows = [
        [
            "MiniLM, untrained, Exactly(2)",
            *(f"{100 * value:.1f}" for value in (fmean(scores), selected / tokens, fmean(shares))),
        ],
        ["paper, trained: OT (exact k=2)", "34.7", "25.8", ""],
        ["paper, trained: OT (exact k=3)", "37.3", "24.6", ""],
    ]
    print(f"MultiRC test, {len(pairs)} questions with answers; {{question, answer}} against the sentences.\n")
    print(table(["", "rationale F1", "% of tokens", "mean % of a document"], rows))


if __name__ == "__main__":
    main()
