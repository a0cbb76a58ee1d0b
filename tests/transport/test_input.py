"""What callers take for costs, sizes and masses: any array or list of numbers is read as it is, the rest refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from whymatch.transport import Balanced, Exactly, pad, path, sinkhorn, solve

Array = NDArray[Any]

COST: Any = np.random.default_rng(0).integers(-99, 99, (5, 7)).astype(np.float64)


def in_a_record(values: Array) -> Array:
    """A field of a record array, whose steps in memory are not multiples of its size."""
    record = np.zeros(values.shape, dtype=[("before", "i1"), ("value", values.dtype)])
    record["value"] = values
    return record["value"]


def read_only(values: Array) -> Array:
    copy = values.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "negative strides": lambda values: np.ascontiguousarray(np.flip(values))[(slice(None, None, -1),) * values.ndim],
    "big-endian": lambda values: values.astype(values.dtype.newbyteorder(">")),
    "read-only": read_only,
    "by column": np.asfortranarray,
    "record": in_a_record,
    "list": lambda values: values.tolist(),
    "list of arrays": list,
    "tensor": torch.from_numpy,
}
KINDS = ["f8", "f4", "f2", "i8", "i4", "i2", "i1"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers_are_the_same_however_they_lie_in_memory(layout: str, kind: str) -> None:
    cost = LAYOUTS[layout](COST.astype(kind))
    supply, demand = (LAYOUTS[layout](np.array(masses).astype(kind)) for masses in ([7] * 5, [5] * 7))
    sizes = LAYOUTS[layout](np.array([4, 6]).astype(kind if kind.startswith("i") else int))
    expected, plain = torch.from_numpy(COST), (torch.full((5,), 7), torch.full((7,), 5))
    for found, wanted in (
        (solve(cost, Exactly(2), sizes=sizes), solve(expected, Exactly(2), sizes=torch.tensor([4, 6]))),
        (solve(cost, Balanced(), mass=(supply, demand)), solve(expected, Balanced(), mass=plain)),
        (sinkhorn(cost, Exactly(2)), sinkhorn(expected, Exactly(2))),
    ):
        assert np.allclose(found.plan, wanted.plan, atol=1e-3)
    assert np.array_equal(path(cost).partner, path(expected).partner)
    assert np.array_equal(pad([cost, cost])[0], torch.stack([expected, expected]))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_and_a_view_with_a_negative_bit_are_numbers_too() -> None:
    conjugate = torch.complex(torch.zeros(5, 7).double(), torch.from_numpy(-COST)).conj().imag
    assert conjugate.is_neg()
    costs: list[Any] = [np.matrix(COST), conjugate]
    for cost in costs:
        assert np.array_equal(solve(cost, Exactly(3)).plan, solve(COST, Exactly(3)).plan)


def test_lists_lose_no_precision() -> None:
    cost: Any = [[1e300, 1.0 + 2**-40], [1.0, 1e-300]]
    large: Any = [[1e300]]
    assert solve(cost, Exactly(1)).cost.item() == 1e-300
    assert path(cost).increments.tolist() == [1e-300, 1.0 + 2**-40 + 1.0 - 1e-300]
    assert solve(large, Exactly(1)).cost.item() == 1e300  # single precision would make it +inf, which forbids


def nested(depth: int) -> list[Any]:
    values: list[Any] = []
    for _ in range(depth):
        values = [values]
    return values


NOT_NUMBERS: dict[str, Callable[[], Any]] = {
    "dict": dict,
    "str": lambda: "ab",
    "bytes": lambda: b"ab",
    "set": lambda: {1, 2},
    "generator": lambda: (value for value in (1, 2)),
    "function": lambda: len,
    "none inside": lambda: [[1, None], [2, 3]],
    "strings": lambda: [["1", "2"], ["3", "4"]],
    "ragged": lambda: [[1, 2], [3]],
    "nested deep": lambda: nested(5000),
    "bool": lambda: np.ones((2, 2), dtype=bool),
    "complex": lambda: np.ones((2, 2), dtype=complex),
    "object": lambda: np.ones((2, 2), dtype=object),
    "masked": lambda: np.ma.array(np.ones((2, 2)), mask=np.eye(2, dtype=bool)),
    "long double": lambda: np.ones((2, 2), dtype=np.longdouble),
    "dates": lambda: np.zeros((2, 2), dtype="M8[s]"),
    "record": lambda: np.zeros((2, 2), dtype=[("a", "f8")]),
    "large": lambda: [[10**30, 1], [1, 1]],
    "sparse tensor": lambda: torch.eye(2).to_sparse(),
    "tensor without data": lambda: torch.ones(2, 2, device="meta"),
    "complex tensor": lambda: torch.ones(2, 2, dtype=torch.complex64),
    "bool tensor": lambda: torch.ones(2, 2, dtype=torch.bool),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_not_numbers_is_refused(name: str) -> None:
    if name == "long double" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("a long double is a double here")
    right: Any = np.ones(7)
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("Costs", lambda values: solve(values, Exactly(1))),
        ("Costs", path),
        ("Costs", lambda values: pad([values])),
        ("Sizes", lambda values: solve(COST, Exactly(1), sizes=values)),
        ("The left mass", lambda values: solve(COST, Balanced(), mass=(values, right))),
    ]
    for what, call in calls:
        with pytest.raises(TypeError, match=f"^{what} must"):
            call(NOT_NUMBERS[name]())


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ([[5.0, 7.0]] * 3, TypeError),
        (torch.ones(3, 2), TypeError),
        (torch.ones(3, 2, dtype=torch.bfloat16), TypeError),
        ([[True, True]] * 3, TypeError),
        ([[5, None]] * 3, TypeError),
        ([[2**64, 1]] * 3, TypeError),
        (5, ValueError),
        ([5, 7], ValueError),
        ([[5, 7]] * 2, ValueError),
        ([[[5, 7]] * 3], ValueError),
        ([[5, 7, 1]] * 3, ValueError),
        ([[5, -7]] * 3, ValueError),
        ([[6, 7]] * 3, ValueError),
        (np.array([[2**64 - 1, 1]] * 3, dtype=np.uint64), ValueError),
        ([[2**62, 1]] * 3, ValueError),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: Any, error: type[Exception]) -> None:
    batch: Any = np.stack([COST] * 3)
    for call in (lambda: solve(batch, Exactly(1), sizes=sizes), lambda: path(batch, sizes=sizes)):
        with pytest.raises(error, match="numbers of left and right spans"):
            call()


def test_sizes_of_a_single_matrix_are_one_pair() -> None:
    sizes: Any = (2, 7)
    assert solve(COST, Exactly(2), sizes=sizes).plan[2:].sum() == 0
    sizes = [sizes]
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        solve(COST, Exactly(2), sizes=sizes)
