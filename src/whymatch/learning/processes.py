"""The processes that learn together, through Accelerate: their device, precision, and what they tell each other."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed.nn  # before there is a group: imported later, its defaults would keep the group past its end
from torch import Tensor, nn


class Processes:
    """One process, or as many as torchrun started; on a GPU in bfloat16 where it has that.

    Gradients are added up here and not by torch's wrapper around a model, since a loss is not one call of the model.
    """

    def __init__(self) -> None:
        try:
            from accelerate import Accelerator
        except ImportError:
            raise ValueError("Training needs accelerate: pip install 'whymatch[train]'.") from None
        bfloat16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        asked = os.environ.get("WORLD_SIZE", "1")  # as torchrun says it
        on_cpu = asked != "1" and not torch.cuda.is_available()  # or it would be one process, without a word
        try:
            self.accelerator: Any = Accelerator(mixed_precision="bf16" if bfloat16 else "no", cpu=on_cpu)
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"WORLD_SIZE asks for {asked} processes. Start them with torchrun: {error}") from None
        self.rank: int = self.accelerator.process_index
        self.count: int = self.accelerator.num_processes
        self.first: bool = self.accelerator.is_main_process
        self.device: torch.device = self.accelerator.device
        if str(self.count) != asked:
            raise ValueError(f"{asked} processes were asked for, and there is {self.count}. Start them with torchrun.")

    def part(self, rows: Sequence[int]) -> Sequence[int]:
        """The rows of a batch that fall to this process."""
        return rows[self.rank :: self.count]

    def precision(self) -> AbstractContextManager[None]:
        return self.accelerator.autocast()

    def backward(self, loss: Tensor) -> None:
        self.accelerator.backward(loss)

    def add(self, value: float) -> float:
        """The sum of a number over all processes."""
        if self.count == 1:
            return value
        return self.accelerator.reduce(torch.tensor(value, dtype=torch.float64, device=self.device)).item()

    def add_gradients(self, weights: Sequence[nn.Parameter]) -> None:
        """Leaves in every process the sum of all gradients."""
        if self.count == 1:
            return
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        summed = self.accelerator.reduce(nn.utils.parameters_to_vector(gradients))
        for weight, part in zip(weights, summed.split([weight.numel() for weight in weights]), strict=True):
            weight.grad = part.view_as(weight).clone()

    def random_states(self) -> dict[str, Tensor]:
        """The states of every process's random numbers, by the number of the process."""
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        gathered: dict[str, Tensor] = {}
        for kind, state in states.items():
            everyones = self.accelerator.gather(state[None].to(self.device)).cpu() if self.count > 1 else state[None]
            gathered |= {f"{kind}.{number}": own for number, own in enumerate(everyones)}
        return gathered

    def set_random_state(self, states: dict[str, Tensor]) -> None:
        """Goes on with this process's random numbers where they were kept."""
        if (state := states.get(f"cpu.{self.rank}")) is not None:
            torch.set_rng_state(state)
        if self.device.type == "cuda" and (state := states.get(f"cuda.{self.rank}")) is not None:
            torch.cuda.set_rng_state(state, self.device)

    def wait(self) -> None:
        """Until every process is here."""
        self.accelerator.wait_for_everyone()

    def end(self) -> None:
        self.accelerator.end_training()
