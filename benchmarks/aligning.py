"""What aligning costs beyond encoding: 1,000 pairs of texts of 10 sentences, from strings to alignments.

python -m benchmarks.aligning
"""

import random
import time

import whymatch as wm
from whymatch.show.terminal import table
from whymatch.text.document import document

PAIRS, SENTENCES = 1000, 10
TEXT = """
the a my your this that network driver laptop kernel screen battery update package file folder button window
light sound cable router printer drops fails works starts stops hangs crashes boots loads opens slowly again never
always after before while during with without on under system user password account music video game browser page
"""


def main() -> None:
    choose = random.Random(0)

    def sentence() -> str:
        return " ".join(choose.choices(TEXT.split(), k=choose.randint(8, 20))).capitalize() + " today."

    def text() -> str:
        return " ".join(sentence() for _ in range(SENTENCES))

    pairs = [(text(), text()) for _ in range(PAIRS)]
    aligner = wm.Aligner()
    aligner.align_many(pairs[:2])  # compiles the solvers
    documents = [document(side, aligner.split) for pair in pairs for side in pair]
    assert all(len(one) == SENTENCES for one in documents)
    times = {"encoding": [], "aligning": []}  # type: dict[str, list[float]]
    for constraint in (wm.Exactly(4), None):
        started = time.perf_counter()
        aligner.encoder.encode([one.text for one in documents], [one.spans for one in documents])
        encoded = time.perf_counter()
        aligner.align_many(pairs, constraint)
        times["encoding"].append(encoded - started)
        times["aligning"].append(time.perf_counter() - encoded)
    rows = [
        [name, f"{encoding:.1f} s", f"{aligning:.1f} s", f"{aligning / encoding:.2f}"]
        for name, encoding, aligning in zip(("Exactly(4)", "UpTo(1), the default"), *times.values(), strict=True)
    ]
    print(f"{PAIRS:,} pairs of {SENTENCES} sentences; aligning includes splitting, encoding, margins and paths\n")
    print(table(["", "encoding alone", "aligning", "ratio"], rows))


if __name__ == "__main__":
    main()
