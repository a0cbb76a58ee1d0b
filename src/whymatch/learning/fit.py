"""One plain training loop: batches in a seeded order, warm-up, clipping, early stopping, and a resume to the bit."""

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from whymatch.batching import MAX_CELLS_PER_PASS, Size, pieces
from whymatch.learning.checkpoint import Journal, learned_state, load_checkpoint, restore, save_checkpoint
from whymatch.learning.processes import Processes
from whymatch.text.encoders.adapter import mean_adapter

Item = TypeVar("Item")
BATCHES_SORTED_TOGETHER = 32  # among which items of similar size are brought together
CHECKPOINT_STEPS = 200  # from one checkpoint to the next; the end of an epoch always has one
JOURNAL_STEPS = 20  # from one loss in the journal to the next
MAX_GRADIENT_NORM = 1.0
SEED_STEP = 1_000  # from the seed of one training to that of the next, where weights are averaged


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int = 10
    batch: int = 32
    rate: float = 1e-3
    fine: float = 5e-5
    """The learning rate of a model that is fine-tuned."""
    warmup: int = 0
    """Steps over which the learning rates rise from zero."""
    decay: bool = False
    """Whether the learning rates fall linearly, to zero at the end of the last epoch."""
    patience: int = 3
    """Epochs without a better validation score before early stopping."""
    seed: int = 0
    average_weights_of: int = 1
    """Trainings, from one start in different orders, whose weights are averaged."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "average_weights_of"):
            if getattr(self, name) < 1:
                raise ValueError(f"Schedule({name}={getattr(self, name)}) takes 1 or more.")
        if not (min(self.rate, self.fine) > 0 and self.warmup >= 0):
            raise ValueError("Schedule(rate, fine) take positive numbers, warmup 0 or more.")


class Task(Protocol[Item]):
    """What is trained, and on what: one implementation ranks, another classifies."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""

    @property
    def measure(self) -> str:
        """What the validation score is, for people."""

    def size(self, item: Item) -> Size:
        """What an item takes in memory; batches are of similar sizes."""

    def draw(self, item: Item, generator: torch.Generator) -> Item:
        """The part of an item that is used in one epoch."""

    def loss(self, items: Sequence[Item]) -> Tensor:
        """(items): one loss per item, so that the losses of several processes can be added."""

    def score(self) -> float:
        """How good the model is on validation; high is good."""

    def calibrate(self, report: Callable[[str], None]) -> None:
        """Chooses on validation what else the trained model needs, and reports what could not be chosen."""


class TrainingProgress(NamedTuple):
    """Where a training stands."""

    epoch: int
    done: int
    """Items of this epoch that were used."""
    items: int
    loss: float
    speed: float
    """Items per second, in this epoch."""


@dataclass
class Fitting(Generic[Item]):
    """One training of a task.

    With a folder, checkpoints and `metrics.jsonl` are written there, and `resume` continues from the last checkpoint.
    On a CPU the weights at the end are those of a run that was never interrupted, to the bit. Several processes share
    each batch. With `keep_start`, the weights of the start are kept unless an epoch is better on validation.
    """

    task: Task[Item]
    schedule: Schedule = Schedule()
    folder: Path | None = None
    report: Callable[[str], None] = lambda line: None
    progress: Callable[[TrainingProgress], None] = lambda progress: None
    processes: Processes = field(default_factory=Processes)
    keep_start: bool = False
    checkpoint_steps: int = CHECKPOINT_STEPS
    max_cells: int = MAX_CELLS_PER_PASS
    step: int = field(default=0, init=False)
    epoch: int = field(default=0, init=False)
    place: int = field(default=0, init=False)
    """Batches of this epoch that were used."""
    best: float = field(default=-math.inf, init=False)
    best_epoch: int = field(default=-1, init=False)
    best_weights: dict[str, Tensor] = field(default_factory=dict, init=False)
    journal: Journal | None = field(default=None, init=False)
    last_loss: float = field(default=math.nan, init=False)

    @property
    def model(self) -> nn.Module:
        return self.task.model

    def run(self, items: Sequence[Item], *, resume: bool = False) -> float:
        """Trains until validation no longer improves; leaves the best weights in the model and returns their score.

        Raises:
            ValueError: if there are no items, a loss is not finite, or the folder holds another run.
        """
        if not items:
            raise ValueError("There is nothing to learn from: the training split is empty.")
        self.model.to(self.processes.device)
        self.trainable = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.Adam(self._parameter_groups(), fused=True)
        torch.manual_seed((self.schedule.seed + 1_000_033 * self.processes.rank) % 2**63)
        if self.folder is not None:
            if resume:
                self._load()
            elif self.processes.first and (self.folder / "checkpoints").is_dir():
                raise ValueError(f"{self.folder} holds a run already. Resume it, or use another folder.")
            self.journal = Journal(self.folder, self.step) if self.processes.first else None
        gc.collect()
        gc.freeze()  # a collector that walks through all records again and again takes up to 40% of a step
        try:
            self._run_epochs(items)
        finally:
            gc.unfreeze()
            if self.journal is not None:
                self.journal.close()
        restore(self.model, self.best_weights)
        self.model.eval()
        return self.best

    def _parameter_groups(self) -> list[dict[str, Any]]:
        """The weights with their learning rates: `fine` for models that are pre-trained, `rate` for the others."""
        pretrained = {
            id(weight) for part in self.model.modules() if getattr(part, "tuned", False) for weight in part.parameters()
        }
        new, old = ([w for w in self.trainable if (id(w) in pretrained) is wanted] for wanted in (False, True))
        rates = ((new, self.schedule.rate), (old, self.schedule.fine))
        return [{"params": weights, "lr": rate, "full_rate": rate} for weights, rate in rates if weights]

    def _run_epochs(self, items: Sequence[Item]) -> None:
        sizes = [self.task.size(item) for item in items]
        if self.keep_start and not self.step:
            self.best, self.best_weights = self.score(), _copies(learned_state(self.model))
            self.report(f"untrained, validation {self.task.measure} {self.best:.4g}")
        while self.epoch < self.schedule.epochs and self.epoch - self.best_epoch <= self.schedule.patience:
            self._run_epoch(items, sizes)
            score = self.score()
            if score > self.best:
                self.best, self.best_epoch = score, self.epoch
                self.best_weights = _copies(learned_state(self.model))
            self.epoch, self.place = self.epoch + 1, 0
            self._note({"epoch": self.epoch, "step": self.step, "last loss": self.last_loss, "validation": score})
            done = f"epoch {self.epoch}, step {self.step}, loss {self.last_loss:.4g}"
            self.report(f"{done}, validation {self.task.measure} {score:.4g}")
            self._save()
        if self.epoch < self.schedule.epochs:
            self.report(f"stopped: no better for {self.schedule.patience} epochs; the best was {self.best_epoch + 1}")
        if self.keep_start and self.best_epoch < 0:
            self.report("training did not help: the untrained weights are kept")

    def _run_epoch(self, items: Sequence[Item], sizes: Sequence[Size]) -> None:
        """The rest of an epoch, in the order that its number and the seed decide."""
        seed = (self.schedule.seed * 1_000_003 + self.epoch) % 2**63
        order = epoch_batches(sizes, self.schedule.batch, seed)
        done, since = sum(map(len, order[: self.place])), time.perf_counter()
        first = done
        self.model.train()
        while self.place < len(order):
            rows = order[self.place]
            finished = (self.epoch + self.place / len(order)) / self.schedule.epochs
            share = list(self._share(items, sizes, rows, seed))
            loss = self.last_loss = self._learn(share, len(rows), 1 - finished if self.schedule.decay else 1.0)
            self.place, done = self.place + 1, done + len(rows)
            self.progress(
                TrainingProgress(self.epoch, done, len(items), loss, (done - first) / (time.perf_counter() - since))
            )
            if self.step % self.checkpoint_steps == 0 and self.place < len(order):
                self._save()

    def _share(
        self, items: Sequence[Item], sizes: Sequence[Size], rows: Sequence[int], seed: int
    ) -> Iterator[list[Item]]:
        """This process's share of a batch, in pieces that fit in memory; draws depend on epoch and row alone."""
        for piece in pieces(self.processes.part(rows), sizes, self.max_cells):
            generators = (torch.Generator().manual_seed((seed * 1_000_003 + row) % 2**63) for row in piece)
            yield [self.task.draw(items[row], generator) for row, generator in zip(piece, generators, strict=True)]

    def _learn(self, share: Sequence[Sequence[Item]], items: int, decay: float) -> float:
        """One step of the optimiser on the mean loss of `items` items, of which this process has a share; returns it.

        The learning rates are multiplied by `decay`, and by the part of the warm-up that is done.
        """
        self.step += 1
        self.optimiser.zero_grad()
        total = 0.0
        for piece in share:
            with self.processes.precision():
                loss = self.task.loss(piece).sum() / items
            self.processes.backward(loss)
            total += loss.item()
        total = self.processes.add(total)
        advice = "Try a smaller rate; the last checkpoint is kept."
        if not math.isfinite(total):  # the same in all processes, so that all of them stop
            raise ValueError(f"The loss is {total} at step {self.step}. {advice}")
        self.processes.add_gradients(self.trainable)
        for group in self.optimiser.param_groups:
            group["lr"] = group["full_rate"] * decay * min(1.0, self.step / max(1, self.schedule.warmup))
        norm = nn.utils.clip_grad_norm_(self.trainable, MAX_GRADIENT_NORM)
        if not norm.isfinite():
            raise ValueError(f"The gradient is {norm.item()} at step {self.step}. {advice}")
        self.optimiser.step()
        if self.step % JOURNAL_STEPS == 0:
            self._note({"step": self.step, "loss": total})
        return total

    def score(self) -> float:
        """The validation score, by the first process: the others could differ in the last bit, and stop elsewhere."""
        self.model.eval()
        score = 0.0
        if self.processes.first:
            with torch.no_grad(), self.processes.precision():
                score = float(self.task.score())
        score = self.processes.add(score)
        if not math.isfinite(score):
            raise ValueError(f"The validation score is {score}.")
        return score

    def _note(self, values: dict[str, Any]) -> None:
        if self.journal is not None:
            self.journal.write(values)

    def _save(self) -> None:
        if self.folder is None:
            return
        random = self.processes.random_states()
        if self.processes.first:
            tensors = {f"model.{name}": tensor for name, tensor in learned_state(self.model).items()}
            tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
            for number, values in self.optimiser.state_dict()["state"].items():
                tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in values.items()}
            tensors |= {f"random.{name}": state for name, state in random.items()}
            state = {name: getattr(self, name) for name in ("epoch", "place", "best_epoch")}
            state["best"] = None if self.best == -math.inf else self.best
            save_checkpoint(self.folder / "checkpoints", self.step, _copies(tensors), state)
        self.processes.wait()

    def _load(self) -> None:
        """Goes back to the last checkpoint, if there is one."""
        assert self.folder is not None
        checkpoint = load_checkpoint(self.folder / "checkpoints")
        if checkpoint is None:
            return
        tensors, state, complaints = checkpoint
        for complaint in complaints:
            self.report(complaint)
        self.step, self.epoch, self.place = state["step"], state["epoch"], state["place"]
        self.best, self.best_epoch = -math.inf if state["best"] is None else state["best"], state["best_epoch"]
        try:
            restore(self.model, _under("model.", tensors))
        except RuntimeError as error:
            raise ValueError(f"The checkpoint in {self.folder} is of another model: {error}") from None
        self.best_weights = _under("best.", tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("optimiser.", tensors).items():
            number, _, part = name.partition(".")
            moments.setdefault(int(number), {})[part] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.processes.set_random_state(_under("random.", tensors))
        self.report(f"goes on from step {self.step}, in epoch {self.epoch + 1}")


def fit(fitting: Fitting[Item], items: Sequence[Item], *, resume: bool = False) -> float:
    """Trains as often as the schedule says, leaves the mean of the weights in the model and returns its score.

    Models trained from the same start lie close together, and what each of them learned by chance averages out. Each
    training has a folder of its own; those that have ended are not run again.
    """
    trainings = fitting.schedule.average_weights_of
    if trainings == 1:
        return fitting.run(items, resume=resume)
    start, trained = _copies(learned_state(fitting.model)), list[dict[str, Tensor]]()
    for number in range(trainings):
        fitting.report(f"training {number + 1} of {trainings}")
        restore(fitting.model, start)
        schedule = replace(fitting.schedule, seed=fitting.schedule.seed + SEED_STEP * number)
        folder = fitting.folder / f"training-{number}" if fitting.folder is not None else None
        replace(fitting, schedule=schedule, folder=folder).run(items, resume=resume)
        trained.append(_copies(learned_state(fitting.model)))
    mean = {name: _mean([weights[name] for weights in trained]) for name in start}
    restore(fitting.model, mean | mean_adapter(fitting.model, trained))
    score = fitting.score()
    fitting.report(f"the mean of {trainings} trainings, validation {fitting.task.measure} {score:.4g}")
    if fitting.keep_start:
        mean = _copies(learned_state(fitting.model))
        restore(fitting.model, start)
        if (untrained := fitting.score()) >= score:
            fitting.report("training did not help: the untrained weights are kept")
            return untrained
        restore(fitting.model, mean)
    return score


def epoch_batches(sizes: Sequence[Size], batch: int, seed: int) -> list[list[int]]:
    """Every row once, in batches of similar sizes; the seed decides which, and in which order.

    >>> sorted(row for rows in epoch_batches([Size(n=n) for n in (5, 1, 9, 2, 7)], 2, seed=0) for row in rows)
    [0, 1, 2, 3, 4]
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(sizes), generator=generator).tolist()
    batches = []
    for start in range(0, len(order), batch * BATCHES_SORTED_TOGETHER):
        chunk = sorted(order[start : start + batch * BATCHES_SORTED_TOGETHER], key=lambda row: sizes[row].cells)
        batches += [chunk[i : i + batch] for i in range(0, len(chunk), batch)]
    return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    """The mean of weights; integers stay those of the first, and what did not change stays as it is, to the bit."""
    if not tensors[0].is_floating_point():
        return tensors[0]
    return torch.stack([*tensors]).double().mean(dim=0).to(tensors[0].dtype)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that share no memory, as safetensors wants them."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
