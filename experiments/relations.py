"""Trains the adapter that reads relations, over the bundled MiniLM.

    python -m experiments.relations --data DATA --wordnet FOLDER --out RUN [--resume] [--start WEIGHTS]

Teachers come first: networks in which all of MiniLM is trained, each from another seed, on the labels alone. The
adapter then learns from the labels and from the mean of what the teachers say (distillation). `--start` goes on from an
adapter that was trained before, such as the one that ships, which is then the only teacher, so that it learns new kinds
of edits and keeps what it knows. WordNet's database files are those of Debian's package wordnet-base. RUN gets
teacher-N.safetensors, weights.safetensors and state.safetensors; `--resume` goes on after the last epoch that it has.
`python -m experiments.relation_results` measures and calibrates what was trained, and writes what ships.
"""

import argparse
import math
import os
import random
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from experiments.edits.lexicon import Lexicon
from experiments.edits.wordnet import WordNet
from experiments.relation_pairs import MADE, Example, edited_examples, fixed_examples, snli_dev
from whymatch.files import whole_file
from whymatch.matching.entailing import pair_windows
from whymatch.matching.entailment import EntailmentNetwork, padded_inputs
from whymatch.matching.wording import same_wording
from whymatch.text.encoders.adapter import Adapter
from whymatch.text.encoders.windows import WindowNetwork

_WARM_UP = 0.05  # share of the steps
_BATCHES_SORTED_TOGETHER = 50  # pairs of so many batches are sorted by length
_PAIRS_READ_AT_ONCE = 1024


@dataclass(frozen=True)
class Examples:
    """Training pairs as tokens."""

    windows: Sequence[Sequence[int]]
    types: Sequence[Sequence[int]]
    allowed: Tensor
    """(pairs, labels): which labels may be right."""
    taught: Tensor | None = None
    """(pairs, labels): the mean probabilities that teachers give."""


@dataclass(frozen=True)
class Schedule:
    """How a network is trained: epochs, pairs in a batch, and the largest learning rate."""

    epochs: int
    batch: int
    rate: float


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of WordNet's database files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--resume", action="store_true", help="continue the run in --out")
    parser.add_argument("--start", type=Path, metavar="WEIGHTS", help="an adapter to go on from, the only teacher then")
    parser.add_argument("--teachers", type=int, default=4, help="whole networks whose mean the adapter learns from")
    parser.add_argument("--teacher-epochs", type=int, default=3)
    parser.add_argument("--teacher-rate", type=float, default=1.5e-4, help="their largest learning rate")
    parser.add_argument("--epochs", type=int, default=16, help="epochs of the adapter")
    parser.add_argument("--rate", type=float, default=1.5e-3, help="the adapter's largest learning rate")
    parser.add_argument("--batch", type=int, default=256, help="pairs in a batch")
    parser.add_argument("--pairs", type=int, help="drawn pairs of the data sets that every epoch has; by default all")
    parser.add_argument("--edits", type=int, default=75_000, help="edited pairs in an epoch")
    parser.add_argument("--edited-epochs", type=int, default=8, help="epochs until edited pairs come again")
    parser.add_argument("--rank", type=int, default=24, help="of the adapter")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        parser.error(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    return settings


def main() -> None:
    settings = arguments()
    settings.out.mkdir(parents=True, exist_ok=True)
    fixed, edited = drawn_examples(settings)
    epochs = [[*range(len(fixed)), *part] for part in _parts(len(fixed), edited)]
    held_out = snli_dev(settings.data)[1]
    network = EntailmentNetwork(None).network
    drawn = [*fixed, *(example for part in edited for example in part)]
    examples, choices = as_tokens(network, drawn), as_tokens(network, map(_worded, held_out))
    started = load_file(settings.start) if settings.start else None
    print(f"{len(fixed):,} pairs in every epoch, and {sum(map(len, edited)):,} edited ones", flush=True)
    teachers = []
    if started is not None:
        teachers.append(probabilities(_adapted(settings.rank, started), examples))
    for number in range(0 if started is not None else settings.teachers):
        file = settings.out / f"teacher-{number}.safetensors"
        torch.manual_seed(1000 * settings.seed + number + 1)
        teacher = EntailmentNetwork(None)
        if file.exists():
            teacher.load(load_file(file))
        else:
            schedule = Schedule(settings.teacher_epochs, settings.batch, settings.teacher_rate)
            train(teacher, examples, epochs[number % len(epochs) :] + epochs, schedule, number + 1, choices)
            with whole_file(file) as draft:
                teacher.write(draft)
        teachers.append(probabilities(teacher, examples))
    if teachers:
        examples = replace(examples, taught=_corrected(torch.stack(teachers).mean(dim=0), examples.allowed, drawn))
    torch.manual_seed(settings.seed)
    model = _adapted(settings.rank, started)
    weights = sum(weight.numel() for weight in model.trained().values())
    print(f"{weights:,} weights are trained: {2 * weights / 1e6:.2f} MB in half precision", flush=True)
    schedule = Schedule(settings.epochs, settings.batch, settings.rate)
    train(model, examples, epochs, schedule, settings.seed, choices, settings.out, resume=settings.resume)


def _adapted(rank: int, weights: dict[str, Tensor] | None) -> EntailmentNetwork:
    """MiniLM with an adapter of a rank and a head: new ones, or those with these weights."""
    model = EntailmentNetwork(Adapter(rank))
    if weights is not None:
        model.load({name: weight.float() for name, weight in weights.items()})
    return model


def _corrected(taught: Tensor, allowed: Tensor, examples: Sequence[Example]) -> Tensor:
    """What teachers say (pairs, labels), with the labels of made pairs, which are certain, where they differ."""
    made = torch.tensor([example.kind in MADE for example in examples])
    right = taught.clamp(min=1e-6) * allowed
    return torch.where(made[:, None], right / right.sum(-1, keepdim=True), taught)


def drawn_examples(settings: argparse.Namespace) -> tuple[list[Example], list[list[Example]]]:
    """The pairs of every epoch, and the edited pairs of each epoch, drawn by several processes; in one wording."""
    with ProcessPoolExecutor() as pool:
        draw = partial(_drawn, settings.data, settings.wordnet, settings.edits, settings.seed)
        edited = pool.map(draw, range(settings.edited_epochs))
        fixed = fixed_examples(settings.data)
        if settings.pairs is not None:
            fixed = random.Random(settings.seed).sample(fixed, settings.pairs)
        return [*pool.map(_worded, fixed, chunksize=2000)], [*edited]


def _drawn(data: Path, wordnet: Path, count: int, seed: int, epoch: int) -> list[Example]:
    rng = random.Random(f"{seed} {epoch}")
    return [*map(_worded, edited_examples(data, _lexicon(wordnet), count, rng))]


@cache
def _lexicon(wordnet: Path) -> Lexicon:
    return Lexicon("train", WordNet.read(wordnet))


def _worded(example: Example) -> Example:
    left, right = same_wording(example.left, example.right)
    return example._replace(left=left, right=right)


def _parts(start: int, edited: Sequence[Sequence[Example]]) -> list[range]:
    """The numbers of the edited pairs of each epoch, where all follow those before `start`."""
    ends = [start, *(start + sum(len(part) for part in edited[: i + 1]) for i in range(len(edited)))]
    return [range(first, last) for first, last in pairwise(ends)]


def as_tokens(network: WindowNetwork, examples: Iterable[Example]) -> Examples:
    """Pairs that are in one wording already, as tokens."""
    examples = [*examples]
    windows, types = pair_windows(network, [(example.left, example.right) for example in examples])
    allowed = torch.tensor([[bool(example.label & 2**i) for i in range(3)] for example in examples])
    return Examples(windows, types, allowed)


def train(
    model: EntailmentNetwork,
    examples: Examples,
    epochs: Sequence[Sequence[int]],
    schedule: Schedule,
    seed: int,
    choices: Examples,
    out: Path | None = None,
    *,
    resume: bool = False,
    until: int | None = None,
) -> None:
    """Trains on the examples whose numbers `epochs` has, in turn, and prints the accuracy on `choices` after each.

    With a folder `out` it writes the weights and the state after each epoch; `until` ends it after so many epochs.
    """
    weights = model.trained()
    optimizer = torch.optim.AdamW(weights.values(), schedule.rate, betas=(0.9, 0.98), weight_decay=0.01)
    done = _resumed(out, weights, optimizer) if out and resume else 0
    for epoch in range(done, schedule.epochs if until is None else until):
        started, total, rng = (
            time.monotonic(),
            torch.zeros((), device=model.network.device),
            random.Random(f"{seed} {epoch}"),
        )
        torch.manual_seed(rng.getrandbits(63))
        batches = shuffled_batches(examples.windows, epochs[epoch % len(epochs)], schedule.batch, rng)
        model.train()
        for number, batch in enumerate(batches):
            progress = (epoch + number / len(batches)) / schedule.epochs
            for group in optimizer.param_groups:
                group["lr"] = schedule.rate * rate_factor(progress)
            loss = _loss(model, examples, batch)
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(weights.values(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
        right = (probabilities(model, choices).argmax(dim=1) == choices.allowed.int().argmax(dim=1)).float().mean()
        speed = len(batches) * schedule.batch / (time.monotonic() - started)
        print(
            f"epoch {epoch + 1} of {schedule.epochs}: loss {total.item() / max(len(batches), 1):.4f}, "
            f"{speed:.0f} pairs a second; held out: {right.item():.1%} right",
            flush=True,
        )
        if out:
            _save(out, model, optimizer, epoch + 1)


def rate_factor(progress: float) -> float:
    """The share of the largest learning rate after a share of the steps: it rises, then falls to zero."""
    return min(progress / _WARM_UP, 0.5 + 0.5 * math.cos(math.pi * progress))


def _loss(model: EntailmentNetwork, examples: Examples, batch: Sequence[int]) -> Tensor:
    """The cross entropy with the labels that may be right; with teachers, half of it with what they say.

    Where several labels may be right, the teachers say which.
    """
    logits = _logits(model, examples, batch)
    log_probabilities = logits.log_softmax(-1)
    allowed = examples.allowed[[*batch]].to(logits.device)
    if examples.taught is None:
        return -log_probabilities.masked_fill(~allowed, -torch.inf).logsumexp(-1).mean()
    taught = examples.taught[[*batch]].to(logits.device)
    right = taught.clamp(min=1e-6) * allowed
    target = (taught + right / right.sum(-1, keepdim=True)) / 2
    return -(target * log_probabilities).sum(-1).mean()


def _logits(model: EntailmentNetwork, examples: Examples, batch: Sequence[int]) -> Tensor:
    """(batch, labels) in single precision."""
    device = model.network.device
    windows, types = ([own[number] for number in batch] for own in (examples.windows, examples.types))
    inputs = padded_inputs(windows, types, device)
    with torch.autocast(device.type, torch.bfloat16):
        return model(*inputs).float()


@torch.no_grad()
def probabilities(model: EntailmentNetwork, examples: Examples) -> Tensor:
    """(pairs, labels): what a network says of all pairs."""
    model.eval()
    order = sorted(range(len(examples.windows)), key=lambda number: len(examples.windows[number]))
    parts = [order[i : i + _PAIRS_READ_AT_ONCE] for i in range(0, len(order), _PAIRS_READ_AT_ONCE)]
    given = torch.cat([_logits(model, examples, part).softmax(-1).cpu() for part in parts])
    return given[np.argsort(order)]


def shuffled_batches(
    windows: Sequence[Sequence[int]], numbers: Sequence[int], size: int, rng: random.Random
) -> list[list[int]]:
    """All numbers once, but for an incomplete batch, in batches with windows of similar length and in random order."""
    order = rng.sample(numbers, len(numbers))
    batches: list[list[int]] = []
    del order[len(order) // size * size :]
    for start in range(0, len(order), size * _BATCHES_SORTED_TOGETHER):
        part = sorted(order[start : start + size * _BATCHES_SORTED_TOGETHER], key=lambda number: len(windows[number]))
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    rng.shuffle(batches)
    return batches


def _save(folder: Path, model: EntailmentNetwork, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    with whole_file(folder / "weights.safetensors") as draft:
        model.write(draft)
    state = {"epoch": torch.tensor(epoch)}
    for name, weight in model.trained().items():
        state |= {f"{name}|{key}": value for key, value in optimizer.state[weight].items()}
        state[f"{name}|weight"] = weight.detach()
    with whole_file(folder / "state.safetensors") as draft:
        save_file(state, draft)


def _resumed(folder: Path, weights: dict[str, Tensor], optimizer: torch.optim.Optimizer) -> int:
    """Puts the state of a run back; gives the epochs that it has done."""
    state = load_file(folder / "state.safetensors")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(state[f"{name}|weight"])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[weight] = {key: state[f"{name}|{key}"].to(weight.device) for key in keys}
    return int(state["epoch"])


if __name__ == "__main__":
    main()
