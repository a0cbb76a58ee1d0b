"""One plain training loop: batches in a seeded order, warm-up, clipping, early stopping, and a resume to the bit."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from whymatch.learning.checkpoint import load_checkpoint, save_checkpoint

Item = TypeVar("Item")


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn."""

    epochs: int = 10
    batch: int = 32
    rate: float = 1e-3
    warmup: int = 0
    clip: float = 1.0
    patience: int = 3
    accumulate: int = 1
    every: int = 200
    """Steps from one checkpoint to the next; the end of an epoch always has one."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "accumulate", "every"):
            if getattr(self, name) < 1:
                raise ValueError(f"Schedule({name}={getattr(self, name)}) takes 1 or more.")
        if not (self.rate > 0 and self.clip > 0 and self.warmup >= 0):
            raise ValueError("Schedule(rate, clip) take positive numbers, warmup 0 or more.")


@dataclass
class Fitting(Generic[Item]):
    """A run: the model, what a batch costs it, and how good it is on validation (high is good).

    With a folder, checkpoints and `metrics.jsonl` are written there, and `resume` goes on from the last checkpoint. On
    a CPU the weights at the end are those of a run that was never interrupted, to the bit.
    """

    model: nn.Module
    loss: Callable[[Sequence[Item]], Tensor]
    validate: Callable[[], float]
    schedule: Schedule = Schedule()
    folder: Path | None = None
    report: Callable[[str], None] = lambda line: None
    step: int = field(default=0, init=False)
    epoch: int = field(default=0, init=False)
    place: int = field(default=0, init=False)
    best: float = field(default=-math.inf, init=False)
    best_epoch: int = field(default=-1, init=False)
    best_weights: dict[str, Tensor] = field(default_factory=dict, init=False)

    def run(self, items: Sequence[Item], *, resume: bool = False) -> float:
        """Learns until validation no longer improves; leaves the best weights in the model and returns their score."""
        if not items:
            raise ValueError("There is nothing to learn from: the training split is empty.")
        learned = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.Adam(learned, lr=self.schedule.rate)
        torch.manual_seed(self.schedule.seed)
        if self.folder is not None:
            if resume:
                self.load()
            elif (self.folder / "checkpoints").is_dir():
                raise ValueError(f"{self.folder} holds a run already. Resume it, or use another folder.")
        while self.epoch < self.schedule.epochs and self.epoch - self.best_epoch <= self.schedule.patience:
            self.run_epoch(items)
            score = self.score()
            if score > self.best:
                self.best, self.best_epoch = score, self.epoch
                self.best_weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
            self.epoch, self.place = self.epoch + 1, 0
            self.note({"epoch": self.epoch, "step": self.step, "validation": score})
            self.save()
        self.model.load_state_dict(self.best_weights)
        self.model.eval()
        return self.best

    def run_epoch(self, items: Sequence[Item]) -> None:
        """The rest of an epoch, in the order that its number and the seed decide."""
        size = self.schedule.batch
        order = torch.randperm(
            len(items), generator=torch.Generator().manual_seed(self.schedule.seed * 1_000_003 + self.epoch)
        ).tolist()
        self.model.train()
        while self.place < len(items):
            rows = order[self.place : self.place + size * self.schedule.accumulate]
            self.learn([[items[row] for row in rows[i : i + size]] for i in range(0, len(rows), size)])
            self.place += len(rows)
            if self.step % self.schedule.every == 0 and self.place < len(items):
                self.save()

    def learn(self, batches: Sequence[Sequence[Item]]) -> None:
        """One step of the optimiser, on one batch or several."""
        self.step += 1
        self.optimiser.zero_grad()
        total = 0.0
        items = sum(map(len, batches))
        for batch in batches:
            loss = self.loss(batch) * (len(batch) / items)
            if not loss.isfinite():
                raise ValueError(
                    f"The loss is {loss.item()} at step {self.step}. Try a smaller rate; the last checkpoint is kept."
                )
            torch.autograd.backward(loss)
            total += loss.item()
        for group in self.optimiser.param_groups:
            group["lr"] = self.schedule.rate * min(1.0, self.step / max(1, self.schedule.warmup))
            length = nn.utils.clip_grad_norm_(group["params"], self.schedule.clip)
            if not length.isfinite():
                where = f"The gradient is {length.item()} at step {self.step}"
                raise ValueError(f"{where}. Try a smaller rate; the last checkpoint is kept.")
        self.optimiser.step()
        if self.step % 20 == 0:
            self.note({"step": self.step, "loss": total})

    def score(self) -> float:
        self.model.eval()
        with torch.no_grad():
            score = float(self.validate())
        if math.isnan(score):
            raise ValueError("The validation score is NaN.")
        return score

    def note(self, values: dict[str, Any]) -> None:
        self.report(", ".join(f"{name} {value:.4g}" for name, value in values.items()))
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(values) + "\n")

    def forget_later_notes(self) -> None:
        """Leaves out of metrics.jsonl what was measured after the checkpoint, and will be measured again."""
        assert self.folder is not None
        file = self.folder / "metrics.jsonl"
        if file.is_file():
            rows = [line for line in file.read_text().splitlines() if line.endswith("}")]
            kept = [line for line in rows if json.loads(line)["step"] <= self.step]
            draft = file.with_suffix(".draft")
            draft.write_text("".join(f"{line}\n" for line in kept))
            draft.replace(file)

    def save(self) -> None:
        if self.folder is None:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
        for number, values in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in values.items()}
        tensors["random"] = torch.get_rng_state()
        state = {name: getattr(self, name) for name in ("epoch", "place", "best_epoch")}
        state["best"] = None if self.best == -math.inf else self.best
        save_checkpoint(self.folder / "checkpoints", self.step, copies(tensors), state)

    def load(self) -> None:
        """Goes back to the last checkpoint, if there is one."""
        assert self.folder is not None
        found = load_checkpoint(self.folder / "checkpoints")
        if found is None:
            return
        tensors, state, complaints = found
        for complaint in complaints:
            self.report(complaint)
        self.step, self.epoch, self.place = state["step"], state["epoch"], state["place"]
        self.forget_later_notes()
        self.best, self.best_epoch = -math.inf if state["best"] is None else state["best"], state["best_epoch"]
        self.model.load_state_dict(under("model.", tensors))
        self.best_weights = under("best.", tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in under("optimiser.", tensors).items():
            number, _, part = name.partition(".")
            moments.setdefault(int(number), {})[part] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        torch.set_rng_state(tensors["random"])


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that share no memory, as safetensors wants them."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
