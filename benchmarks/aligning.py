"""What aligning costs beyond encoding: 1,000 pairs of texts of 10 sentences, from strings to alignments.

python -m benchmarks.aligning
"""

import random
import time
from collections.abc import Sequence

import numpy as np

import whymatch as wm
from whymatch.show.terminal import table
from whymatch.text.encoders import Encoder
from whymatch.transport.kernels.cpu.compiling import expect_work

PAIRS, SENTENCES = 1000, 10
TEXT = """
the a my your this that network driver laptop kernel screen battery update package file folder button window
light sound cable router printer drops fails works starts stops hangs crashes boots loads opens slowly again never
always after before while during with without on under system user password account music video game browser page
"""


class Timed:
    """An encoder that counts the seconds it takes."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.seconds = encoder, 0.0
        self.name, self.contextual = encoder.name, encoder.contextual

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[wm.Span]]) -> list[np.ndarray]:
        started = time.perf_counter()
        vectors = self.encoder.encode(texts, spans)
        self.seconds += time.perf_counter() - started
        return vectors


def main() -> None:
    choose = random.Random(0)

    def sentence() -> str:
        return " ".join(choose.choices(TEXT.split(), k=choose.randint(8, 20))).capitalize() + " today."

    def text() -> str:
        return " ".join(sentence() for _ in range(SENTENCES))

    pairs = [(text(), text()) for _ in range(PAIRS)]
    encoder = Timed(wm.SentenceEncoder())
    aligner = wm.Aligner(encode=encoder)
    expect_work()
    aligner.align_many(pairs[:2])  # compiles the solvers
    rows = []
    for name, constraint in (("Exactly(4)", wm.Exactly(4)), ("UpTo(1), the default", None)):
        encoder.seconds, started = 0.0, time.perf_counter()
        found = aligner.align_many(pairs, constraint)
        seconds = time.perf_counter() - started
        assert all(len(why.left) == len(why.right) == SENTENCES for why in found)
        rows.append([name, f"{encoder.seconds:.1f} s", f"{seconds:.1f} s", f"{seconds / encoder.seconds:.2f}"])
    print(f"{PAIRS:,} pairs of {SENTENCES} sentences; aligning includes splitting, encoding, margins and paths\n")
    print(table(["", "encoding", "aligning", "ratio"], rows))


if __name__ == "__main__":
    main()
