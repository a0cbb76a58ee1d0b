"""A low-rank adapter changes nothing at first, then what it learned; folded into the weights, it gives the same."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor, nn

from whymatch.text.encoders.adapter import (
    Adapter,
    Base,
    LowRank,
    adapter_weights,
    attach,
    load_adapter,
    mean_adapter,
    merged,
    read_adapter,
    write_adapter,
)
from whymatch.text.encoders.network import load_own

IDS = torch.tensor([[0, 5, 6, 7, 2], [0, 9, 8, 2, 1]])
SMALL = Adapter(4)
BASE = Base("some/model", "0" * 64)


@pytest.fixture
def model(roberta: Path) -> Any:
    return load_own(roberta, "cpu").model


def states(model: Any) -> Tensor:
    output: Tensor = model(input_ids=IDS).last_hidden_state
    return output


def with_adapter(model: Any, adapter: Adapter = SMALL, seed: int = 0) -> Any:
    """The same model with an adapter that does something."""
    attach(model, adapter)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in adapter_weights(model).values():
            weight.copy_(torch.randn(weight.shape, generator=generator) / 4)
    return model


def test_a_new_adapter_changes_nothing_to_the_bit(model: Any) -> None:
    before = states(model)
    attach(model, Adapter(4))
    assert torch.equal(states(model), before)
    with torch.no_grad():
        assert torch.equal(states(model), before)
        assert torch.equal(states(merged(model)), before)


@settings(max_examples=25)
@given(rank=st.integers(1, 32), seed=st.integers(0, 2**31), last_layers=st.sampled_from([None, 1, 2]))
def test_merged_and_unmerged_agree_to_rounding(rank: int, seed: int, last_layers: int | None, roberta: Path) -> None:
    plain = load_own(roberta, "cpu").model
    model = with_adapter(deepcopy(plain), Adapter(rank, last_layers), seed)
    unmerged, folded = states(model).detach(), merged(model)
    assert not any(isinstance(part, LowRank) for part in folded.modules())
    assert {name for name, _ in folded.named_parameters()} == {name for name, _ in plain.named_parameters()}
    torch.testing.assert_close(states(folded), unmerged, rtol=0, atol=1e-4)  # of values around 1
    torch.testing.assert_close(states(merged(model.double())), states(model), rtol=0, atol=1e-12)
    with torch.no_grad():
        assert torch.equal(states(model), states(merged(model)))
    assert (unmerged - states(plain)).abs().max() > 1e-2


def test_the_base_is_frozen_and_only_its_last_layers_are_adapted(model: Any) -> None:
    linear = {name for name, part in model.named_modules() if isinstance(part, nn.Linear) and ".layer.1." in name}
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with_adapter(model, Adapter(2, 1))
    torch.autograd.backward(states(model).square().sum())
    learns = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learns == {f"{name}.{own}" for name in linear for own in ("down", "up")} == {*adapter_weights(model)}
    assert all(weight.grad is not None and weight.grad.any() for weight in adapter_weights(model).values())
    assert all(torch.equal(model.state_dict()[name], weight) for name, weight in before.items())


def step(model: Any) -> None:
    optimiser = torch.optim.Adam(adapter_weights(model).values(), lr=0.1, fused=True)
    torch.autograd.backward(states(model).square().sum())
    with torch.no_grad():
        states(model)
    optimiser.step()


def load(model: Any, assign: bool = False) -> None:
    model.load_state_dict({name: tensor * 1.5 for name, tensor in model.state_dict().items()}, assign=assign)


def put(model: Any) -> None:
    for weight in adapter_weights(model).values():
        weight.data = weight.data * 2


CHANGES = [step, load, lambda model: load(model, assign=True), put, lambda model: model.double()]


@pytest.mark.parametrize("change", CHANGES, ids=["optimiser", "state", "assigned", "data", "type"])
def test_folded_weights_are_never_stale(change: Callable[[Any], None], model: Any) -> None:
    with_adapter(model)
    with torch.no_grad():
        before = states(model)
    change(model)
    with torch.no_grad():
        after = states(model)
    torch.testing.assert_close(after, states(model), rtol=1e-4, atol=1e-4)
    assert not torch.equal(before, after)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 0.0), (torch.float16, 1e-3)])
def test_an_adapter_comes_back_from_its_file(
    dtype: torch.dtype, tolerance: float, model: Any, roberta: Path, tmp_path: Path
) -> None:
    adapter, file = Adapter(3, 1), tmp_path / "adapter.safetensors"
    write_adapter(with_adapter(model, adapter), adapter, BASE, file, dtype)
    assert file.stat().st_size < sum(4 * weight.numel() for weight in adapter_weights(model).values()) + 4096
    again, base, tensors = read_adapter(file)
    assert (again, base) == (adapter, BASE)
    other = load_own(roberta, "cpu").model
    load_adapter(other, again, tensors)
    torch.testing.assert_close(states(other), states(model), rtol=tolerance, atol=5 * tolerance)
    write_adapter(model, adapter, BASE, tmp_path / "again", dtype)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def described(**changed: Any) -> dict[str, str]:
    values = {"rank": 3, "last_layers": None, "base": {"name": "some/model", "sha256": "0"}, **changed}
    return {"whymatch adapter": json.dumps(values)}


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"whymatch adapter": "{"},
        {"whymatch adapter": "[]"},
        described(rank=0),
        described(rank="3"),
        described(rank=True),
        described(last_layers=0),
        described(last_layers="1"),
        described(last_layers=[1]),
        described(last_layers=True),
        described(base=None),
        described(base={}),
    ],
)
def test_files_that_are_no_adapters_are_refused(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    file = tmp_path / "adapter.safetensors"
    save_file({"x": torch.zeros(1)}, file, metadata=metadata)
    with pytest.raises(ValueError, match=r"adapter.safetensors is no adapter: "):
        read_adapter(file)
    for content in (b"", b"{}", file.read_bytes()[:-1]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="is no adapter"):
            read_adapter(file)
    with pytest.raises(ValueError, match="is no adapter"):
        read_adapter(tmp_path / "missing")


def test_weights_of_another_model_are_refused(model: Any, roberta: Path, tmp_path: Path) -> None:
    write_adapter(with_adapter(model, Adapter(3, 1)), Adapter(3, 1), BASE, tmp_path / "file")
    _, _, tensors = read_adapter(tmp_path / "file")
    for adapter, says in (
        (Adapter(3, 2), "is missing in one of them"),
        (Adapter(4, 1), r"is \(3, 32\), not \(4, "),
    ):
        with pytest.raises(ValueError, match=says):
            load_adapter(load_own(roberta, "cpu").model, adapter, tensors)
    with pytest.raises(ValueError, match=f"trained over some/model .* {'0' * 64}, and those in {tmp_path} have 1f"):
        BASE.check("1f", tmp_path)
    BASE.check("0" * 64, tmp_path)


def test_adapters_that_do_not_fit_are_refused_and_leave_the_model_alone(model: Any) -> None:
    before = {name: weight.requires_grad for name, weight in model.named_parameters()}
    for adapter, says in (
        (Adapter(33), "rank is at most 32 for this model, got 33"),
        (Adapter(2, 3), "on up to 2 layers of this model, got 3"),
    ):
        with pytest.raises(ValueError, match=says):
            attach(model, adapter)
    assert {name: weight.requires_grad for name, weight in model.named_parameters()} == before
    model.config.num_hidden_layers = 7
    with pytest.raises(ValueError, match="has no list of 7 layers"):
        attach(model, Adapter(2))
    for values in ({"rank": 0}, {"rank": -1}, {"last_layers": 0}):
        with pytest.raises(ValueError, match="An adapter"):
            Adapter(**values)


@given(seed=st.integers(0, 2**31), count=st.integers(1, 4))
def test_no_adapter_of_the_rank_is_nearer_to_the_mean_of_several(seed: int, count: int) -> None:
    """By Eckart and Young: compared with the product of means, with each of them, and with small steps away."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(LowRank(nn.Linear(9, 7), rank=3))

    def drawn() -> dict[str, Tensor]:
        shapes = {name: weight.shape for name, weight in adapter_weights(model).items()}
        return {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}

    several = [drawn() for _ in range(count)]
    target = torch.stack([state["0.up"] @ state["0.down"] for state in several]).mean(dim=0)

    def distance(state: dict[str, Tensor]) -> float:
        return torch.linalg.norm(state["0.up"].double() @ state["0.down"].double() - target).item()

    mean = mean_adapter(model, several)
    assert {name: weight.shape for name, weight in mean.items()} == {k: w.shape for k, w in several[0].items()}
    means = {name: torch.stack([state[name] for state in several]).mean(dim=0) for name in mean}
    steps = [{name: weight + 0.01 * noise[name] for name, weight in mean.items()} for noise in (drawn(), drawn())]
    for other in (*several, means, *steps):
        assert distance(mean) <= distance(other) + 1e-4
    if count == 1:
        assert distance(mean) < 1e-4
