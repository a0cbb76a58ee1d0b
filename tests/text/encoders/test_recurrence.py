"""The kernel for the recurrence computes what the plain loop computes, gradients included."""

import pytest
import torch

from tests.transport.on_device import DEVICE
from whymatch.text.encoders.sru import recurrence, step_by_step

pytest.importorskip("triton")


def by_kernel(*inputs: torch.Tensor) -> torch.Tensor:
    from whymatch.text.encoders.kernel import Recurrence

    result: torch.Tensor = Recurrence.apply(*inputs)  # type: ignore[no-untyped-call]
    return result


def inputs(batch: int, steps: int, hidden: int, dtype: torch.dtype, apart: bool) -> list[torch.Tensor]:
    """Four inputs as they come out of one product, or apart; gates and bias."""
    generator = torch.Generator().manual_seed(steps)
    parts = torch.randn(batch, steps, 4 * hidden, generator=generator).to(DEVICE, dtype).chunk(4, dim=2)
    both = torch.randn(2, 2 * hidden, generator=generator).to(DEVICE, dtype)
    made = [*(part.clone() if apart else part for part in parts), *both]
    return [part.detach().requires_grad_() for part in made]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("batch", "steps", "hidden"), [(2, 5, 3), (1, 1, 7), (2, 3, 70), (1, 4, 64)])
def test_states_and_gradients_are_the_loops(batch: int, steps: int, hidden: int, apart: bool) -> None:
    given = inputs(batch, steps, hidden, torch.float64, apart)
    weights = torch.randn(batch, steps, hidden, generator=torch.Generator().manual_seed(1)).double().to(DEVICE)
    states, expected = by_kernel(*given), step_by_step(*given)
    torch.testing.assert_close(states, expected)
    here = torch.autograd.grad((states * weights).sum(), given)
    there = torch.autograd.grad((expected * weights).sum(), given)
    for left, right in zip(here, there, strict=True):
        torch.testing.assert_close(left, right)


def test_single_precision_is_close() -> None:
    given = inputs(2, 6, 5, torch.float32, apart=False)
    states, expected = by_kernel(*given), step_by_step(*given)
    assert states.dtype == torch.float32
    torch.testing.assert_close(states, expected)


def test_half_precision_keeps_its_state_in_single() -> None:
    given = inputs(1, 4, 5, torch.bfloat16, apart=False)
    states = by_kernel(*given)
    assert states.dtype == torch.bfloat16
    torch.testing.assert_close(states.float(), step_by_step(*(part.float() for part in given)), atol=0.02, rtol=0.02)
    assert all(part.dtype == torch.bfloat16 for part in torch.autograd.grad(states.float().sum(), given))


def test_an_empty_batch_has_empty_states() -> None:
    given = inputs(0, 4, 5, torch.float32, apart=False)
    states = by_kernel(*given)
    assert states.shape == (0, 4, 5)
    assert torch.autograd.grad(states.sum(), given)[4].shape == (10,)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="on a CPU the layer is the loop itself")
def test_the_layer_uses_the_kernel_on_a_gpu() -> None:
    given = inputs(1, 3, 4, torch.float32, apart=False)
    assert "Recurrence" in type(recurrence(*(part.cuda() for part in given)).grad_fn).__name__
