"""Trains the adapter that reads relations, over the bundled MiniLM.

    python -m experiments.relations --data DATA --wordnet FOLDER --out RUN [--resume]

First come pairs of SNLI and paraphrases alone, then PAWS and edits among them. WordNet's database files are those of
Debian's package wordnet-base. RUN gets weights.safetensors and state.safetensors, which `--resume` continues from.
On several devices, or with a process for each core of a busy machine: `torchrun --nproc-per-node 2 -m experiments…`.
`python -m experiments.relation_results` measures and calibrates what was trained, and writes what ships.
"""

import argparse
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from experiments.edits.lexicon import Lexicon
from experiments.edits.wordnet import WordNet
from experiments.relation_pairs import Example, training_examples
from whymatch.files import whole_file
from whymatch.matching.entailing import pair_windows
from whymatch.matching.entailment import EntailmentNetwork, training_batches
from whymatch.matching.wording import same_wording
from whymatch.text.encoders.adapter import Adapter

_WARM_UP = 100  # steps
_BATCHES_SORTED_TOGETHER = 50  # pairs of so many batches are sorted by length
_LABELS_ALONE = ("snli", "edinburgh")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of WordNet's database files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--resume", action="store_true", help="continue the run in --out")
    parser.add_argument("--start", type=Path, help="weights to start from")
    parser.add_argument("--first-steps", type=int, default=3000, help="steps with SNLI and paraphrases alone")
    parser.add_argument("--steps", type=int, default=9000, help="steps in all")
    parser.add_argument("--edits", type=int, default=75_000, help="edited pairs in an epoch")
    parser.add_argument("--batch", type=int, default=32, help="pairs in a batch")
    parser.add_argument("--rate", type=float, default=5e-4, help="the largest learning rate")
    parser.add_argument("--rank", type=int, default=24, help="of the adapter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=int, default=250, help="steps between checkpoints")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        parser.error(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    return settings


def main() -> None:
    settings = arguments()
    lexicon = Lexicon("train", WordNet.read(settings.wordnet))
    torch.manual_seed(settings.seed)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    model = EntailmentNetwork(Adapter(settings.rank))
    if not torch.cuda.is_available():
        model.encoder.set_attn_implementation("eager")  # the backward rule of torch's own attention is slow on CPUs
    weights = sum(weight.numel() for weight in model.trained().values())
    print(f"{weights:,} weights are trained: {2 * weights / 1e6:.2f} MB in half precision", flush=True)
    if settings.start:
        model.load(load_file(settings.start))
    train(model, lexicon, settings)


def train(model: EntailmentNetwork, lexicon: Lexicon, settings: argparse.Namespace, until: int | None = None) -> None:
    """Trains, and writes checkpoints; `until` ends it after so many steps, as an interruption would."""
    weights = model.trained()
    optimizer = torch.optim.AdamW(weights.values(), settings.rate, betas=(0.9, 0.98), weight_decay=0.01)
    settings.out.mkdir(parents=True, exist_ok=True)
    done = _resumed(settings.out, weights, optimizer) if settings.resume else 0
    started, pairs, mean_loss = time.monotonic(), 0, 0.0
    model.train()
    examples_of_batches = _batches(lexicon, settings, done)
    for step, batch in enumerate(examples_of_batches, done):
        if step == until:
            return
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * rate_factor(step, settings.first_steps, settings.steps)
        torch.manual_seed(_seed_of_dropout(settings.seed, step))
        loss = _loss(model, batch)
        torch.autograd.backward(loss)
        _average([weight.grad for weight in weights.values() if weight.grad is not None])
        nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        pairs += len(batch)
        mean_loss += (loss.item() - mean_loss) / min(step - done + 1, 100)
        if dist.is_initialized() and dist.get_rank():
            continue
        if (step + 1) % 50 == 0:
            speed = pairs / (time.monotonic() - started)
            print(f"step {step + 1} of {settings.steps}: loss {mean_loss:.4f}, {speed:.0f} pairs a second", flush=True)
        if (step + 1) % settings.save_every == 0 or step + 1 == settings.steps:
            _save(settings.out, model, optimizer, step + 1)


def _seed_of_dropout(seed: int, step: int) -> int:
    """A seed that depends on the step and the process alone, so that a run that is resumed drops the same values."""
    return random.Random(f"{seed} {step} {dist.get_rank() if dist.is_initialized() else 0}").getrandbits(63)


def rate_factor(step: int, first_steps: int, steps: int) -> float:
    """The share of the largest learning rate: it rises, stays for the first part, and falls to zero in the second."""
    falling = (steps - step) / max(steps - first_steps, 1)
    return min((step + 1) / _WARM_UP, 1.0, falling)


def _average(gradients: list[Tensor]) -> None:
    """Replaces the gradients of each process by their mean over all processes, which read parts of the same batch."""
    if not dist.is_initialized():
        return
    together = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(together)
    parts = torch.split(together / dist.get_world_size(), [gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def _loss(model: EntailmentNetwork, batch: list[Example]) -> Tensor:
    if dist.is_initialized():
        batch = batch[dist.get_rank() :: dist.get_world_size()]
    network = model.network
    windows, types = pair_windows(network, [same_wording(example.left, example.right) for example in batch])
    (inputs,) = training_batches(network, windows, types, [range(len(batch))])
    with torch.autocast(network.device.type, torch.bfloat16):
        logits = model(*inputs)
    allowed = torch.tensor([[bool(example.label & 2**i) for i in range(3)] for example in batch], device=logits.device)
    return -logits.float().log_softmax(-1).masked_fill(~allowed, -torch.inf).logsumexp(-1).mean()


def _batches(lexicon: Lexicon, settings: argparse.Namespace, skipped: int) -> Iterator[list[Example]]:
    """Batches of pairs of similar length until all steps are done, without those of the steps before a checkpoint."""
    rng, step = random.Random(settings.seed), 0
    while step < settings.steps:
        first = step < settings.first_steps
        examples = training_examples(settings.data, lexicon, 0 if first else settings.edits, rng)
        if first:
            examples = [example for example in examples if example.kind in _LABELS_ALONE]
        for batch in shuffled_batches(examples, settings.batch, rng):
            if step >= skipped:
                yield batch
            step += 1
            if step == (settings.first_steps if first else settings.steps):
                break


def shuffled_batches(examples: list[Example], size: int, rng: random.Random) -> Iterator[list[Example]]:
    """All examples once, but for an incomplete batch, in batches of similar length and in random order."""
    order = rng.sample(examples, len(examples))
    batches: list[list[Example]] = []
    del order[len(order) // size * size :]
    for start in range(0, len(order), size * _BATCHES_SORTED_TOGETHER):
        part = order[start : start + size * _BATCHES_SORTED_TOGETHER]
        part.sort(key=lambda example: len(example.left) + len(example.right))
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    rng.shuffle(batches)
    yield from batches


def _save(folder: Path, model: EntailmentNetwork, optimizer: torch.optim.Optimizer, step: int) -> None:
    with whole_file(folder / "weights.safetensors") as draft:
        model.write(draft)
    state = {"step": torch.tensor(step)}
    for name, weight in model.trained().items():
        own = optimizer.state[weight]
        state |= {f"{name}|{key}": own[key] for key in ("step", "exp_avg", "exp_avg_sq")}
        state[f"{name}|weight"] = weight.detach()
    with whole_file(folder / "state.safetensors") as draft:
        save_file(state, draft)


def _resumed(folder: Path, weights: dict[str, Tensor], optimizer: torch.optim.Optimizer) -> int:
    """Puts the state of a run back; gives the steps that it has done."""
    state = load_file(folder / "state.safetensors")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(state[f"{name}|weight"])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[weight] = {key: state[f"{name}|{key}"].to(weight.device) for key in keys}
    return int(state["step"])


if __name__ == "__main__":
    main()
