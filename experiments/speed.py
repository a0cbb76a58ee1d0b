"""The paper's table 7: parameters, training time and inference time of transport beside attention.

Needs no data: made-up texts of the sizes of the paper's StackExchange, and random vectors.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from experiments.records import markdown, slug, write_run
from whymatch.learning.losses import contrastive
from whymatch.matching.aligner import Aligner
from whymatch.matching.matcher import Matcher
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend, Rule, Transport
from whymatch.text.document import Document, joined
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.trainable import Projected, TrainableEncoder
from whymatch.text.vectors import WordVectors
from whymatch.transport.constraints import Balanced, Exactly, OneTo, UpTo

Pairs: TypeAlias = Sequence[tuple[Document, Document]]
Loss: TypeAlias = Callable[[Pairs], Tensor]

ATTENTION = "Attention"
RULES: dict[str, Rule] = {
    ATTENTION: Attend(),
    "OT": Transport(Balanced()),
    "OT (1:1)": Transport(OneTo(1)),
    "OT (relaxed 1:1)": Transport(UpTo(1, below=1.0)),  # of random vectors, about half of all pairs cost less
    "OT (exact k = 2)": Transport(Exactly(2)),
}
ENCODERS = {"bi-SRU": "the paper's encoder, 2 layers of 200", "frozen": "a linear map over vectors that are known"}
WORDS, WIDE, FROZEN = 5000, 300, 384  # of the vocabulary, of a word vector, of a frozen vector
SENTENCES, LENGTH = (1, 6), (12, 35)  # of a text, and words of a sentence; the paper's means are 3.7 and 23.5
WARM_UP = 2  # rounds that compile and fill caches
ROUNDS = {"bi-SRU": 7, "frozen": 61}  # on a CPU

ABOUT = """
Made-up texts of the sizes of the paper's StackExchange (1 to 6 sentences of 12 to 35 words), and a ranker that learns
through its score. Every round takes a step and a prediction with each rule in turn; times are medians over rounds,
ratios medians of the ratios within a round. The paper, with Sinkhorn on a V100: "3.3 times slower than attention during
training and 1.6 times slower than attention during inference". Its attention has parameters of its own, ours has none.
""".strip()

COLUMNS = ["parameters", "training step, ms", "to attention", "prediction of a pair, ms", "to attention"]
PAPER = {
    ATTENTION: ["Attention, the paper", "2.4M", "180 s an epoch", "1", "4.9", "1"],
    "OT": ["OT, the paper", "2.0M", "600 s an epoch", "3.3", "8.0", "1.6"],
}
"""What the paper measured on a V100."""


class Times(NamedTuple):
    """Seconds of every round: a training step, and a prediction of the same batch."""

    step: list[float]
    look: list[float]


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def now() -> float:
    """The time when all work is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def made_up(
    seed: int, pairs: int, sentences: tuple[int, int] = SENTENCES, length: tuple[int, int] = LENGTH
) -> list[tuple[Document, Document]]:
    """Pairs of texts of random words."""
    choose = random.Random(seed)

    def text() -> Document:
        pieces = (
            " ".join(f"w{choose.randrange(WORDS)}" for _ in range(choose.randint(*length)))
            for _ in range(choose.randint(*sentences))
        )
        return joined(list(pieces))

    return [(text(), text()) for _ in range(pairs)]


def word_vectors() -> WordVectors:
    chance = torch.Generator().manual_seed(0)
    return WordVectors("random", {f"w{i}": i for i in range(WORDS)}, torch.randn(WORDS, WIDE, generator=chance).numpy())


def make_encoder(kind: str, batches: Sequence[Pairs]) -> TrainableEncoder:
    """An encoder of its own for every model, with the same vectors."""
    if kind == "bi-SRU":
        return RecurrentEncoder(word_vectors())
    pieces = dict.fromkeys(piece for pairs in batches for pair in pairs for text in pair for piece in text.pieces)
    vectors = torch.randn(len(pieces), FROZEN, generator=torch.Generator().manual_seed(0))
    return Projected(Precomputed(dict(zip(pieces, vectors, strict=True)), "random"), FROZEN)


def ranking(encoder: TrainableEncoder, rule: Rule) -> tuple[Ranker, Loss]:
    """A ranker with the hinge between the first and the second of every two pairs."""
    model = Ranker(Aligner("sentence", encoder), rule).to(device())

    def loss(pairs: Pairs) -> Tensor:
        scores = model(pairs).score.view(-1, 2)
        return contrastive(scores[:, 0], scores[:, 1:], 0.2).mean()

    return model, loss


def interleaved(models: Mapping[str, tuple[Matcher, Loss]], batches: Sequence[Pairs], rounds: int) -> dict[str, Times]:
    """Every round takes a step and a prediction with each model in turn, so that all see the machine alike."""
    optimisers = {name: torch.optim.Adam(model.parameters()) for name, (model, _) in models.items()}
    times = {name: Times([], []) for name in models}
    for turn in range(WARM_UP + rounds):
        pairs = batches[turn % len(batches)]
        for name, (model, loss) in models.items():
            model.train()
            started = now()
            optimisers[name].zero_grad()
            torch.autograd.backward(loss(pairs))
            optimisers[name].step()
            trained = now()
            model.eval()
            with torch.no_grad():
                loss(pairs)
            looked = now()
            if turn >= WARM_UP:
                times[name].step.append(trained - started)
                times[name].look.append(looked - trained)
    return times


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """How many times as long, the median over rounds."""
    return median(a / b for a, b in zip(times, others, strict=True))


def measured(kind: str, pairs: int, rounds: int) -> dict[str, dict[str, float]]:
    """The results of every rule with one kind of encoder."""
    batches = [made_up(seed, pairs) for seed in range(3)]
    models = {name: ranking(make_encoder(kind, batches), rule) for name, rule in RULES.items()}
    times = interleaved(models, batches, rounds)
    base = times[ATTENTION]
    return {
        name: {
            "parameters": sum(one.numel() for one in models[name][0].parameters() if one.requires_grad),
            "training step, s": median(step),
            "training step to attention": ratio(step, base.step),
            "prediction of a pair, s": median(look) / pairs,
            "prediction to attention": ratio(look, base.look),
        }
        for name, (step, look) in times.items()
    }


def run_speed(
    folder: Path, line: Callable[[str], None] = print, *, pairs: int | None = None, rounds: int | None = None
) -> None:
    """Measures every rule with every encoder, and writes one JSON each, over those of the same hardware."""
    gpu = torch.cuda.is_available()
    pairs, on = pairs or (64 if gpu else 16), slug(torch.cuda.get_device_name()) if gpu else "cpu"
    for kind, what in ENCODERS.items():
        turns = rounds or (61 if gpu else ROUNDS[kind])
        line(f"speed: {kind}, {what}; {turns} rounds of {pairs} pairs: {' | '.join(COLUMNS)}")
        start = time.perf_counter()
        rules = measured(kind, pairs, turns)
        seconds = (time.perf_counter() - start) / len(rules)
        for row, results in rules.items():
            record: dict[str, Any] = {"table": "speed", "row": row, "seed": 0, "encoder": kind, "pairs": pairs}
            record |= {"rounds": turns, "results": results, "seconds": round(seconds, 1)}
            write_run(folder / f"{on}-{slug(kind)}-{slug(row)}-0.json", record)
            line(
                "  "
                + ", ".join(f"{name} {cell}" for name, cell in zip(["", *COLUMNS], _cells(row, results), strict=True))
            )


def section(runs: Sequence[dict[str, Any]]) -> str:
    """The table, as Markdown: one for each hardware and encoder."""
    lines = ["## Size and speed: the paper's table 7", "", ABOUT, ""]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault((run["hardware"], run["encoder"]), []).append(run)
    for (hardware, kind), group in groups.items():
        size = f"{group[0]['rounds']} rounds of {group[0]['pairs']} pairs"
        results, rows = {run["row"]: run["results"] for run in group}, []
        for row in [row for row in RULES if row in results]:
            rows.append(_cells(row, results[row]))
            rows += [PAPER[row]] if row in PAPER and kind == "bi-SRU" else []
        lines += [f"**{hardware}; {kind}** ({ENCODERS[kind]}), {size}:", "", *markdown(COLUMNS, rows), ""]
    return "\n".join(lines).rstrip()


def _cells(row: str, numbers: Mapping[str, float]) -> list[str]:
    step, look = 1e3 * numbers["training step, s"], 1e3 * numbers["prediction of a pair, s"]
    ratios = [f"{numbers[f'{what} to attention']:.2f}" for what in ("training step", "prediction")]
    return [f"**{row}**", f"{numbers['parameters'] / 1e6:.2f}M", f"{step:.1f}", ratios[0], f"{look:.3f}", ratios[1]]
