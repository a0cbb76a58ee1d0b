"""Ways to learn through a plan, side by side: a classifier whose true links are planted and never shown.

    python -m benchmarks.rules

Task accuracy and F1 of the links on unseen pairs, milliseconds a step of 32 pairs (validation included), and the bytes
that one step keeps for its backward pass, all for the same model, data and schedule.
"""

import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TypeAlias

import torch
from torch import Tensor

import whymatch as wm
from experiments.unrolled import Unrolled
from tests.learning.planted import LINKS, SIZE, SPANS, Planted, PlantedTask, planted
from whymatch.evaluation.rationales import f1
from whymatch.learning import Attend, Projected, Transport
from whymatch.learning.fit import Fitting, Schedule
from whymatch.matching.rules import Rule
from whymatch.show.terminal import table
from whymatch.transport import Temperature

Loss: TypeAlias = Callable[[Sequence[Planted]], Tensor]


RULES: dict[str, Rule] = {
    "smooth, 0.05 (exact forward)": Transport(wm.Exactly(LINKS), Temperature(0.05)),
    "smooth, 0.1": Transport(wm.Exactly(LINKS), Temperature(0.1)),
    "implicit, 0.1 (entropic forward)": Transport(wm.Exactly(LINKS), Temperature(0.1), soft=True),
    "unrolled, 0.1": Unrolled(wm.Exactly(LINKS), epsilon=0.1),
    "unrolled, 1e-4 (the paper's)": Unrolled(wm.Exactly(LINKS), epsilon=1e-4),
    "attention": Attend(),
}


def main() -> None:
    tasks, encoder = planted(2000, seed=0)
    train, validation, test = tasks[:1600], tasks[1600:1800], tasks[1800:]
    rows = []
    for name, rule in RULES.items():
        torch.manual_seed(0)
        model = wm.Classifier(wm.Aligner("line", Projected(encoder, SIZE)), rule, ["no", "yes"], hidden=64, dropout=0.0)

        def loss(some: Sequence[Planted], model: wm.Classifier = model) -> Tensor:
            logits, _ = model.logits([(task.left, task.similar) for task in some])
            return torch.nn.functional.cross_entropy(
                logits, torch.tensor([int(task.agree) for task in some]), reduction="none"
            )

        started = time.perf_counter()

        def quality(loss: Loss = loss) -> float:
            return -loss(validation).mean().item()

        run = Fitting[Planted](PlantedTask(model, loss, quality), Schedule(20, rate=0.01, warmup=100, patience=20))
        try:
            run.run(train)
        except ValueError as error:
            rows.append([name, str(error).split(".")[0], "", "", ""])
            continue
        step = (time.perf_counter() - started) / run.step
        model.train()
        kept = graph_bytes(loss, train[:32])
        model.eval()
        pairs = [(task.left, task.similar) for task in test]
        with torch.no_grad():
            logits, matched = model.logits(pairs)
        accuracy = fmean(float(row.argmax() == int(task.agree)) for row, task in zip(logits, test, strict=True))
        best = matched.weights.flatten(1).topk(LINKS).indices.tolist()
        links = [
            f1({(at // SPANS, at % SPANS) for at in row}, task.links) for row, task in zip(best, test, strict=True)
        ]
        rows.append([name, f"{accuracy:.3f}", f"{fmean(links):.3f}", f"{1e3 * step:.0f} ms", f"{kept / 1e6:.1f} MB"])
    print(table(["rule, temperature", "accuracy", "F1 of links", "a step", "kept for backward"], rows))


def graph_bytes(loss: Loss, some: Sequence[Planted]) -> int:
    """Bytes of distinct tensors that autograd keeps for one backward pass."""
    seen: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss(some)
    return sum(seen.values())


if __name__ == "__main__":
    main()
