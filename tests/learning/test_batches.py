"""The order of an epoch: nothing is left out, like sizes come together, and pieces change no gradient."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.learning.planted import Planted, PlantedTask, planted
from tests.learning.test_fit import hinge, ranker, wins
from whymatch.batching import Size, pieces, size_sorted
from whymatch.learning.fit import BATCHES_SORTED_TOGETHER, Fitting, Schedule, epoch_batches

a_size = st.builds(Size, st.integers(1, 4), st.integers(0, 12), st.integers(0, 12))
some_sizes = st.lists(a_size, max_size=300)
seeds = st.integers(0, 10**12)


@given(sizes=some_sizes, batch=st.integers(1, 40), seed=seeds)
def test_every_row_comes_exactly_once(sizes: list[Size], batch: int, seed: int) -> None:
    found = epoch_batches(sizes, batch, seed)
    assert sorted(row for rows in found for row in rows) == list(range(len(sizes)))


@given(count=st.integers(0, 300), batch=st.integers(1, 40), seed=seeds)
def test_every_batch_but_one_is_full(count: int, batch: int, seed: int) -> None:
    lengths = sorted(map(len, epoch_batches([Size(n=3)] * count, batch, seed)), reverse=True)
    full, rest = divmod(count, batch)
    assert lengths == [batch] * full + [rest] * (rest > 0)


@given(sizes=some_sizes, batch=st.integers(1, 40), seed=seeds)
def test_the_seed_decides(sizes: list[Size], batch: int, seed: int) -> None:
    torch.manual_seed(3)
    first = epoch_batches(sizes, batch, seed)
    torch.manual_seed(4)
    assert epoch_batches(sizes, batch, seed) == first


def test_the_order_leaves_other_randomness_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    epoch_batches([Size()] * 50, 4, seed=0)
    assert torch.equal(torch.rand(3), expected)


@given(seed=seeds, other=seeds)
def test_another_seed_is_another_order_and_other_batches(seed: int, other: int) -> None:
    if seed == other:
        return
    first, second = (epoch_batches([Size()] * 200, 8, number) for number in (seed, other))
    assert first != second
    assert sorted(map(sorted, first)) != sorted(map(sorted, second))


def cells(sizes: Sequence[Size], rows: Sequence[int]) -> int:
    """What rows take when every pair of theirs is padded to the largest."""
    largest = [max(size[side] for size in map(sizes.__getitem__, rows)) for side in (1, 2)]
    return sum(sizes[row].pairs for row in rows) * largest[0] * largest[1]


def waste(sizes: Sequence[Size], found: Sequence[Sequence[int]]) -> float:
    """The share of padding."""
    return 1 - sum(size.cells for size in sizes) / sum(cells(sizes, rows) for rows in found)


@pytest.mark.parametrize("seed", range(3))
def test_padding_is_a_small_part_of_what_a_random_order_pads(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randn(2000, generator=generator).mul(0.8).add(3).exp().long().add(1).tolist()  # few are long
    sizes = [Size(n=2, m=length) for length in lengths]
    order = torch.randperm(len(sizes), generator=generator).tolist()
    at_random = waste(sizes, [order[start : start + 16] for start in range(0, len(order), 16)])
    assert at_random > 0.5
    assert waste(sizes, epoch_batches(sizes, 16, seed)) < at_random / 3


def test_batches_do_not_come_in_order_of_size() -> None:
    sizes = [Size(n=number) for number in range(16 * BATCHES_SORTED_TOGETHER)]
    widest = [max(rows) for rows in epoch_batches(sizes, 16, seed=0)]
    up = sum(a < b for a, b in pairwise(widest))
    assert BATCHES_SORTED_TOGETHER / 4 < up < 3 * BATCHES_SORTED_TOGETHER / 4


@given(
    rows=st.lists(st.integers(0, 19), unique=True),
    sizes=st.lists(a_size, min_size=20, max_size=20),
    most=st.integers(1, 600),
)
def test_pieces_keep_the_order_and_the_limit(rows: list[int], sizes: list[Size], most: int) -> None:
    found = pieces(rows, sizes, most)
    assert [row for piece in found for row in piece] == rows
    assert all(found)
    for piece in found:
        assert len(piece) == 1 or cells(sizes, piece) <= most


@given(
    rows=st.lists(st.integers(0, 19), unique=True),
    sizes=st.lists(a_size, min_size=20, max_size=20),
    most=st.integers(1, 600),
)
def test_no_piece_could_take_the_next_row_too(rows: list[int], sizes: list[Size], most: int) -> None:
    for piece, after in pairwise(pieces(rows, sizes, most)):
        assert cells(sizes, [*piece, after[0]]) > most


@given(sizes=st.lists(a_size, max_size=20), most=st.integers(1, 600))
def test_sorted_batches_hold_every_row_once_from_small_to_large(sizes: list[Size], most: int) -> None:
    rows = [row for batch in size_sorted(range(len(sizes)), sizes, most) for row in batch]
    assert sorted(rows) == [*range(len(sizes))]
    assert [sizes[row] for row in rows] == sorted(sizes)


def gradients(max_cells: int, batch: int) -> tuple[list[torch.Tensor], int]:
    """What one epoch adds to the weights before each of its steps, and how often the loss was asked for."""
    tasks, encoder = planted(21, seed=7)
    model, found, calls = ranker(encoder), list[torch.Tensor](), list[int]()

    def loss(some: Sequence[Planted]) -> torch.Tensor:
        calls.append(len(some))
        return hinge(model, some)

    def keep(_: object) -> None:
        gradient = next(model.parameters()).grad
        assert gradient is not None
        found.append(gradient.clone())

    sizes = {task.left: Size(1, 1, 1 + number % 5) for number, task in enumerate(tasks)}

    class Sized(PlantedTask):
        def size(self, item: Planted) -> Size:
            return sizes[item.left]

    task = Sized(model, loss, lambda: wins(model, tasks[:3]))
    Fitting[Planted](task, Schedule(1, batch), progress=keep, max_cells=max_cells).run(tasks)
    return found, len(calls)


@pytest.mark.parametrize("batch", [21, 8, 5])
def test_learning_in_pieces_is_learning_at_once(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whymatch.learning.fit.MAX_GRADIENT_NORM", 1e6)
    at_once, few = gradients(2**62, batch)
    in_pieces, many = gradients(7, batch)
    assert many > 2 * few
    assert len(in_pieces) == len(at_once)
    for ours, whole in zip(in_pieces, at_once, strict=True):
        assert whole.norm() > 1e-3
        torch.testing.assert_close(ours, whole, rtol=1e-4, atol=1e-6)
