"""A training step and a prediction with exact alignment, beside the same model with attention.

    python -m benchmarks.training

The paper's encoder (a bidirectional SRU over word vectors) on batches of 16 pairs of texts (on a GPU 64) of 4 to 16
sentences of 5 to 25 words. The classifier learns through the plan (smooth rule), the ranker through its score.
`python -m experiments speed` measures the paper's own table, with texts as short as StackExchange's.
"""

from statistics import median

import torch

import whymatch as wm
from experiments.speed import Loss, Times, device, interleaved, made_up, ranking, ratio, word_vectors
from whymatch.learning import Attend, Transport
from whymatch.matching.rules import Rule
from whymatch.show.terminal import table
from whymatch.transport import Temperature

PAIRS, ROUNDS = (64, 30) if torch.cuda.is_available() else (16, 7)
RULES: dict[str, Rule] = {
    "attention": Attend(),
    "Exactly(4)": Transport(wm.Exactly(4), Temperature(0.1)),
    "OneTo(1)": Transport(wm.OneTo(1), Temperature(0.1)),
}


def classifier(rule: Rule) -> tuple[wm.Classifier, Loss]:
    model = wm.Classifier(wm.Aligner("sentence", wm.RecurrentEncoder(word_vectors())), rule, ["no", "yes"]).to(device())
    return model, lambda pairs: torch.nn.functional.cross_entropy(
        model.logits(pairs)[0], torch.arange(len(pairs), device=device()) % 2
    )


def ranker(rule: Rule) -> tuple[wm.Ranker, Loss]:
    sharp = Transport(rule.constraint) if isinstance(rule, Transport) else rule
    return ranking(wm.RecurrentEncoder(word_vectors()), sharp)


def cells(found: Times, base: Times) -> list[str]:
    """The median of a step and of a prediction, each with its ratio to attention."""
    return [
        cell
        for times, others in zip(found, base, strict=True)
        for cell in (f"{1e3 * median(times):.1f} ms", f"{ratio(times, others):.3f}")
    ]


def main() -> None:
    batches = [made_up(seed, PAIRS, sentences=(4, 16), length=(5, 25)) for seed in range(3)]
    for name, build in (("classifier", classifier), ("ranker", ranker)):
        times = interleaved({rule: build(made) for rule, made in RULES.items()}, batches, ROUNDS)
        rows = [[rule, *cells(found, times["attention"])] for rule, found in times.items()]
        print(f"\n{name}\n")
        print(table(["", "training step", "to attention", "prediction", "to attention"], rows))


if __name__ == "__main__":
    main()
