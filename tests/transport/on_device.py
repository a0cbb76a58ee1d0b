"""Runs the kernels for GPUs: on a GPU where there is one, else in Triton's interpreter on the CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from whymatch.transport import Constraint, Solution, path, sinkhorn, solve
from whymatch.transport.kernels import gpu
from whymatch.transport.solution import Entropic, OptimalPath

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def kernels() -> Iterator[None]:
    """Within this, costs go to the kernels for GPUs, wherever they are."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):  # the interpreter works in numpy
        patch.setattr(gpu, "on_gpu", lambda cost: isinstance(cost, torch.Tensor) and gpu.fits(cost))
        if DEVICE == "cpu":
            hasten(patch)
        yield


def hasten(patch: pytest.MonkeyPatch) -> None:
    """Has the interpreter replace Triton's functions by its own once a kernel, not again at every call in a kernel.

    They stay replaced until the kernel has ended, so that all but the first time change nothing, and take a third of
    the time of the tests.
    """
    from triton.runtime import interpreter

    replace, restore, modules = interpreter._patch_lang, interpreter._LangPatchScope.restore, set[int]()

    def replace_once(function: Any) -> Any:
        module = id(function.__globals__)
        if module in modules:
            return interpreter._LangPatchScope()
        modules.add(module)
        return replace(function)

    def restore_all(scope: Any) -> None:
        modules.clear()
        restore(scope)

    patch.setattr(interpreter, "_patch_lang", replace_once)
    patch.setattr(interpreter._LangPatchScope, "restore", restore_all)


def back(results: Any) -> Any:
    """Results on the CPU."""
    return type(results)(*(result.cpu() for result in results))


def solve_there(cost: torch.Tensor, constraint: Constraint, **options: Any) -> Solution:
    with kernels():
        return back(solve(cost.to(DEVICE), constraint, **moved(options)))


def path_there(cost: torch.Tensor, max_k: int | None = None, **options: Any) -> OptimalPath:
    with kernels():
        return back(path(cost.to(DEVICE), max_k, **moved(options)))


def moved(options: dict[str, Any]) -> dict[str, Any]:
    def move(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(move(part) for part in value)
        return value.to(DEVICE) if isinstance(value, torch.Tensor) else value

    return {name: move(value) for name, value in options.items()}


def sinkhorn_there(cost: torch.Tensor, constraint: Constraint, *options: Any, **named: Any) -> Entropic:
    with kernels():
        return back(sinkhorn(cost.to(DEVICE), constraint, *options, **moved(named)))
