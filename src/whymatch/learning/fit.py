"""One plain training loop: batches in a seeded order, warm-up, clipping, early stopping, and a resume to the bit."""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from whymatch.learning.batches import Size, batches, pieces
from whymatch.learning.checkpoint import load_checkpoint, save_checkpoint
from whymatch.learning.journal import Journal
from whymatch.learning.processes import Processes
from whymatch.text.encoders.trainable import TrainableEncoder

Item = TypeVar("Item")
NOTED = 20  # steps from one loss in the journal to the next


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn."""

    epochs: int = 10
    batch: int = 32
    rate: float = 1e-3
    fine: float = 5e-5
    """The rate of a model that is fine-tuned."""
    warmup: int = 0
    decay: bool = False
    """Whether the rates fall in a line, to nothing at the end of the last epoch."""
    clip: float = 1.0
    patience: int = 3
    accumulate: int = 1
    every: int = 200
    """Steps from one checkpoint to the next; the end of an epoch always has one."""
    seed: int = 0
    rounds: int = 1
    """How often to learn all of it, from one start in other orders: `run_rounds` leaves the mean of the weights."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "accumulate", "every", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"Schedule({name}={getattr(self, name)}) takes 1 or more.")
        if not (min(self.rate, self.fine, self.clip) > 0 and self.warmup >= 0):
            raise ValueError("Schedule(rate, fine, clip) take positive numbers, warmup 0 or more.")


class Progress(NamedTuple):
    """Where a run stands."""

    epoch: int
    done: int
    """Items of this epoch that were learned from."""
    items: int
    loss: float
    speed: float
    """Items a second, in this epoch."""


@dataclass
class Fitting(Generic[Item]):
    """A run: the model, what each item of a batch costs it, and how good it is on validation (high is good).

    With a folder, checkpoints and `metrics.jsonl` are written there, and `resume` goes on from the last checkpoint. On
    a CPU the weights at the end are those of a run that was never interrupted, to the bit. Several processes share each
    batch: the loss is one value an item, so that their sum is what one process would learn from.
    """

    model: nn.Module
    loss: Callable[[Sequence[Item]], Tensor]
    validate: Callable[[], float]
    schedule: Schedule = Schedule()
    folder: Path | None = None
    report: Callable[[str], None] = lambda line: None
    progress: Callable[[Progress], None] = lambda progress: None
    size: Callable[[Item], Size] = lambda item: Size()
    """What an item takes in memory; batches are of similar sizes, and learned from in pieces of `most` cells."""
    most: int = 2**62
    draw: Callable[[Item, torch.Generator], Item] = lambda item, chance: item
    """What of an item is used in an epoch."""
    processes: Processes = field(default_factory=Processes)
    measure: str = "score"
    """What `validate` gives, for people."""
    begin: Callable[[float], None] = lambda done: None
    """Told before each step how much of the run is done."""
    step: int = field(default=0, init=False)
    epoch: int = field(default=0, init=False)
    place: int = field(default=0, init=False)
    """Batches of this epoch that were learned from."""
    best: float = field(default=-math.inf, init=False)
    best_epoch: int = field(default=-1, init=False)
    best_weights: dict[str, Tensor] = field(default_factory=dict, init=False)
    journal: Journal | None = field(default=None, init=False)
    last_loss: float = field(default=math.nan, init=False)

    def run(self, items: Sequence[Item], *, resume: bool = False) -> float:
        """Learns until validation no longer improves; leaves the best weights in the model and returns their score."""
        if not items:
            raise ValueError("There is nothing to learn from: the training split is empty.")
        self.model.to(self.processes.device)
        self.learned = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.Adam(self.groups(), fused=True)
        torch.manual_seed((self.schedule.seed + 1_000_033 * self.processes.rank) % 2**63)
        if self.folder is not None:
            if resume:
                self.load()
            elif self.processes.first and (self.folder / "checkpoints").is_dir():
                raise ValueError(f"{self.folder} holds a run already. Resume it, or use another folder.")
            self.journal = Journal(self.folder, self.step) if self.processes.first else None
        gc.collect()
        gc.freeze()  # a collector that walks through all records again and again takes up to 40% of a step
        try:
            self.run_epochs(items)
        finally:
            gc.unfreeze()
            if self.journal is not None:
                self.journal.close()
        self.model.load_state_dict(self.best_weights)
        self.model.eval()
        return self.best

    def groups(self) -> list[dict[str, Any]]:
        """What is learned, with its rate: a model that has learned before, and what starts here."""
        known = {
            id(weight)
            for part in self.model.modules()
            if isinstance(part, TrainableEncoder) and part.tuned
            for weight in part.parameters()
        }
        new, old = ([w for w in self.learned if (id(w) in known) is wanted] for wanted in (False, True))
        rates = ((new, self.schedule.rate), (old, self.schedule.fine))
        return [{"params": weights, "lr": rate, "most": rate} for weights, rate in rates if weights]

    def run_epochs(self, items: Sequence[Item]) -> None:
        sizes = [self.size(item) for item in items]
        while self.epoch < self.schedule.epochs and self.epoch - self.best_epoch <= self.schedule.patience:
            self.run_epoch(items, sizes)
            score = self.score()
            if score > self.best:
                self.best, self.best_epoch = score, self.epoch
                self.best_weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
            self.epoch, self.place = self.epoch + 1, 0
            self.note({"epoch": self.epoch, "step": self.step, "last loss": self.last_loss, "validation": score})
            done = f"epoch {self.epoch}, step {self.step}, loss {self.last_loss:.4g}"
            self.report(f"{done}, validation {self.measure} {score:.4g}")
            self.save()
        if self.epoch < self.schedule.epochs:
            self.report(f"stopped: no better for {self.schedule.patience} epochs; the best was {self.best_epoch + 1}")

    def run_epoch(self, items: Sequence[Item], sizes: Sequence[Size]) -> None:
        """The rest of an epoch, in the order that its number and the seed decide."""
        seed = (self.schedule.seed * 1_000_003 + self.epoch) % 2**63
        order = batches(sizes, self.schedule.batch, seed)
        done, since = sum(map(len, order[: self.place])), time.perf_counter()
        first = done
        self.model.train()
        while self.place < len(order):
            rows = order[self.place : self.place + self.schedule.accumulate]
            gone = (self.epoch + self.place / len(order)) / self.schedule.epochs
            self.begin(gone)
            parts = list(self.share(items, sizes, rows, seed))
            loss = self.last_loss = self.learn(parts, sum(map(len, rows)), 1 - gone if self.schedule.decay else 1.0)
            self.place, done = self.place + len(rows), done + sum(map(len, rows))
            self.progress(Progress(self.epoch, done, len(items), loss, (done - first) / (time.perf_counter() - since)))
            if self.step % self.schedule.every == 0 and self.place < len(order):
                self.save()

    def share(
        self, items: Sequence[Item], sizes: Sequence[Size], rows: Sequence[Sequence[int]], seed: int
    ) -> Iterator[list[Item]]:
        """This process's part of a step, in pieces that fit in memory; what is drawn depends on epoch and row alone."""
        for batch in rows:
            for piece in pieces(self.processes.part(batch), sizes, self.most):
                chance = (torch.Generator().manual_seed((seed * 1_000_003 + row) % 2**63) for row in piece)
                yield [self.draw(items[row], generator) for row, generator in zip(piece, chance, strict=True)]

    def learn(self, parts: Sequence[Sequence[Item]], items: int, left: float) -> float:
        """One step of the optimiser on the mean loss of `items` items, of which this process has some; returns it.

        `left` is how much of the rates is left.
        """
        self.step += 1
        self.optimiser.zero_grad()
        total = 0.0
        for part in parts:
            with self.processes.precision():
                loss = self.loss(part).sum() / items
            self.processes.backward(loss)
            total += loss.item()
        total = self.processes.add(total)
        if not math.isfinite(total):  # the same in all processes, so that all of them stop
            raise ValueError(
                f"The loss is {total} at step {self.step}. Try a smaller rate; the last checkpoint is kept."
            )
        self.processes.add_gradients(self.learned)
        for group in self.optimiser.param_groups:
            group["lr"] = group["most"] * left * min(1.0, self.step / max(1, self.schedule.warmup))
        length = nn.utils.clip_grad_norm_(self.learned, self.schedule.clip)
        if not length.isfinite():
            where = f"The gradient is {length.item()} at step {self.step}"
            raise ValueError(f"{where}. Try a smaller rate; the last checkpoint is kept.")
        self.optimiser.step()
        if self.step % NOTED == 0:
            self.note({"step": self.step, "loss": total})
        return total

    def score(self) -> float:
        """How good the model is, by the first process: the others could differ in the last bit, and stop elsewhere."""
        self.model.eval()
        score = 0.0
        if self.processes.first:
            with torch.no_grad(), self.processes.precision():
                score = float(self.validate())
        score = self.processes.add(score)
        if not math.isfinite(score):
            raise ValueError(f"The validation score is {score}.")
        return score

    def note(self, values: dict[str, Any]) -> None:
        if self.journal is not None:
            self.journal.write(values)

    def save(self) -> None:
        if self.folder is None:
            return
        random = self.processes.random_states()
        if self.processes.first:
            tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
            tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
            for number, values in self.optimiser.state_dict()["state"].items():
                tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in values.items()}
            tensors |= {f"random.{name}": state for name, state in random.items()}
            state = {name: getattr(self, name) for name in ("epoch", "place", "best_epoch")}
            state["best"] = None if self.best == -math.inf else self.best
            save_checkpoint(self.folder / "checkpoints", self.step, copies(tensors), state)
        self.processes.wait()

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
        self.best, self.best_epoch = -math.inf if state["best"] is None else state["best"], state["best_epoch"]
        try:
            self.model.load_state_dict(under("model.", tensors))
        except RuntimeError as error:
            raise ValueError(f"The checkpoint in {self.folder} is of another model: {error}") from None
        self.best_weights = under("best.", tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in under("optimiser.", tensors).items():
            number, _, part = name.partition(".")
            moments.setdefault(int(number), {})[part] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.processes.set_random_state(under("random.", tensors))
        self.report(f"goes on from step {self.step}, in epoch {self.epoch + 1}")


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that share no memory, as safetensors wants them."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
