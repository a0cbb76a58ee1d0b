"""A training step and a prediction with exact alignment, beside the same model with attention.

    python -m benchmarks.training

The paper's encoder (a bidirectional SRU over word vectors) on batches like StackExchange's: 16 pairs of texts (on a GPU
64) of 4 to 16 sentences of 5 to 25 words. The classifier learns through the plan (smooth rule), the ranker through its
score.
"""

import random
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch import Tensor

import whymatch as wm
from whymatch.learning.losses import contrastive
from whymatch.matching.model import Matcher
from whymatch.matching.rules import Rule
from whymatch.show.terminal import table
from whymatch.text.document import Document, joined
from whymatch.text.vectors import WordVectors

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PAIRS, ROUNDS = (64, 30) if DEVICE == "cuda" else (16, 7)
RULES: dict[str, Rule] = {
    "attention": wm.Attend(),
    "Exactly(4)": wm.Transport(wm.Exactly(4), wm.Temperature(0.1)),
    "OneTo(1)": wm.Transport(wm.OneTo(1), wm.Temperature(0.1)),
}


def now() -> float:
    """The time when all work is done."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def batch(seed: int) -> list[tuple[Document, Document]]:
    choose = random.Random(seed)

    def text() -> Document:
        sentences = (
            " ".join(f"w{choose.randrange(5000)}" for _ in range(choose.randint(5, 25)))
            for _ in range(choose.randint(4, 16))
        )
        return joined(list(sentences))

    return [(text(), text()) for _ in range(PAIRS)]


def classifier(
    rule: Rule, vectors: WordVectors
) -> tuple[wm.Classifier, Callable[[Sequence[tuple[Document, Document]]], Tensor]]:
    model = wm.Classifier(wm.RecurrentEncoder(vectors), rule, ["no", "yes"]).to(DEVICE)
    return model, lambda pairs: torch.nn.functional.cross_entropy(
        model.logits(pairs)[0], torch.arange(len(pairs), device=DEVICE) % 2
    )


def ranker(rule: Rule, vectors: WordVectors) -> tuple[Matcher, Callable[[Sequence[tuple[Document, Document]]], Tensor]]:
    model = Matcher(
        wm.RecurrentEncoder(vectors), wm.Transport(rule.constraint) if isinstance(rule, wm.Transport) else rule
    ).to(DEVICE)

    def loss(pairs: Sequence[tuple[Document, Document]]) -> Tensor:
        scores = model(pairs).score.view(-1, 2)
        return contrastive(scores[:, 0], scores[:, 1:], 0.2).mean()

    return model, loss


def main() -> None:
    vectors = WordVectors("random", {f"w{i}": i for i in range(5000)}, torch.randn(5000, 300))
    batches = [batch(seed) for seed in range(3)]
    for name, build in (("classifier", classifier), ("ranker", ranker)):
        models = {rule: build(made, vectors) for rule, made in RULES.items()}
        optimisers = {rule: torch.optim.Adam(model.parameters()) for rule, (model, _) in models.items()}
        steps: dict[str, list[float]] = {rule: [] for rule in RULES}
        looks: dict[str, list[float]] = {rule: [] for rule in RULES}
        for turn in range(ROUNDS + 3):
            for rule, (model, loss) in models.items():
                pairs = batches[turn % len(batches)]
                started = now()
                optimisers[rule].zero_grad()
                torch.autograd.backward(loss(pairs))
                optimisers[rule].step()
                trained = now()
                model.eval()
                with torch.no_grad():
                    loss(pairs)
                looked = now()
                model.train()
                if turn > 2:  # the first rounds compile
                    steps[rule].append(trained - started)
                    looks[rule].append(looked - trained)
        rows = []
        for rule in RULES:
            ratios = [
                median(a / b for a, b in zip(times[rule], times["attention"], strict=True)) for times in (steps, looks)
            ]
            rows.append(
                [
                    rule,
                    f"{1e3 * median(steps[rule]):.1f} ms",
                    f"{ratios[0]:.3f}",
                    f"{1e3 * median(looks[rule]):.1f} ms",
                    f"{ratios[1]:.3f}",
                ]
            )
        print(f"\n{name}\n")
        print(table(["", "training step", "to attention", "prediction", "to attention"], rows))


if __name__ == "__main__":
    main()
