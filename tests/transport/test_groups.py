"""Groups linked in order: optimal against every alignment there is, and against a plain dynamic program."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.transport import GroupLink, InOrder, InOrderSolution, in_order
from whymatch.transport.groups import GroupCosts


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def tied(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-2, 2, shape).astype(float)


def forbidden(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(rng.random(shape) < 0.6, np.inf, rng.standard_normal(shape))


def nearly_equal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return -1 + 1e-9 * rng.standard_normal(shape)


def by_size(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Larger groups gain more, as where costs grow with the text."""
    sizes = np.add.outer(np.arange(shape[2]), np.arange(shape[3])) + 2
    return rng.uniform(-1, 0.3, shape) * sizes


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0, 1, shape)


FAMILIES = (normal, tied, forbidden, nearly_equal, by_size, positive)


@st.composite
def problems(draw: st.DrawFn, largest: int = 4) -> np.ndarray:
    n, m = draw(st.integers(0, largest)), draw(st.integers(0, largest))
    most = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return draw(st.sampled_from(FAMILIES))(rng, (n, m, most, most))


def least_of_all(cost: np.ndarray, i: int = 0, j: int = 0) -> float:
    """The least cost of all alignments of the spans from i and from j on, by looking at each of them."""
    n, m, most, _ = cost.shape
    if i == n or j == m:
        return 0.0
    best = min(least_of_all(cost, i + 1, j), least_of_all(cost, i, j + 1))
    for a, b in product(range(min(most, n - i)), range(min(most, m - j))):
        best = min(best, cost[i + a, j + b, a, b] + least_of_all(cost, i + a + 1, j + b + 1))
    return best


def least(cost: np.ndarray) -> float:
    """The same by a table, for larger problems."""
    n, m, most, _ = cost.shape
    table = np.zeros((n + 1, m + 1))
    for i, j in product(range(1, n + 1), range(1, m + 1)):
        best = min(table[i - 1, j], table[i, j - 1])
        for a, b in product(range(min(most, i)), range(min(most, j))):
            best = min(best, table[i - 1 - a, j - 1 - b] + cost[i - 1, j - 1, a, b])
        table[i, j] = best
    return float(table[n, m])


def check_promises(solution: InOrderSolution, cost: np.ndarray) -> None:
    n, m, most, _ = cost.shape
    i = j = 0
    for link in solution.links:
        assert 1 <= len(link.left) <= most
        assert 1 <= len(link.right) <= most
        assert i <= link.left.start < link.left.stop <= n
        assert j <= link.right.start < link.right.stop <= m
        i, j = link.left.stop, link.right.stop
        assert link.cost == cost[link.left[-1], link.right[-1], len(link.left) - 1, len(link.right) - 1]
        assert link.cost < 0 or len(solution.links) > 1
    assert solution.cost == pytest.approx(sum(link.cost for link in solution.links), abs=1e-9)
    assert solution.outside >= solution.cost


@given(problems())
def test_no_alignment_of_groups_in_order_costs_less(cost: np.ndarray) -> None:
    solution = in_order(cost, InOrder(cost.shape[2]))
    check_promises(solution, cost)
    assert solution.cost == pytest.approx(least_of_all(cost), abs=1e-9)
    assert solution.computed == 1


@given(problems(40))
def test_larger_problems_agree_with_a_plain_dynamic_program(cost: np.ndarray) -> None:
    solution = in_order(cost, InOrder(cost.shape[2]))
    check_promises(solution, cost)
    assert solution.cost == pytest.approx(least(cost), abs=1e-9)


@given(problems(12))
def test_the_same_problem_has_the_same_answer_and_no_link_that_gains_nothing(cost: np.ndarray) -> None:
    rule = InOrder(cost.shape[2])
    solution = in_order(cost, rule)
    assert in_order(cost.copy(), rule) == solution
    assert in_order(np.zeros_like(cost), rule).links == ()


def gaining(costs: np.ndarray, side: int) -> np.ndarray:
    """The most that each span of one text gains in any group: what `gains` promises."""
    n, m, most, _ = costs.shape
    gains = np.zeros((n, m)[side])
    for i, j, a, b in np.ndindex(n, m, most, most):
        at, size = ((i, a), (j, b))[side]
        share = -costs[i, j, a, b] / (size + 1)
        for member in range(max(0, at - size), at + 1):
            gains[member] = max(gains[member], share)
    return gains


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands that begin narrow, so that small problems have to widen them; and blocks of few rows."""
    monkeypatch.setattr("whymatch.transport.groups._FIRST_WIDTH", 0)
    monkeypatch.setattr("whymatch.transport.groups._MAX_COSTS_AT_ONCE", 64)
    monkeypatch.setattr("whymatch.transport.groups._MIN_ROWS", 1)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("seed", range(60))
def test_a_band_is_as_good_as_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, most = (int(rng.integers(*limits)) for limits in ((1, 60), (1, 60), (1, 4)))
    cost = FAMILIES[seed % len(FAMILIES)](rng, (n, m, most, most))
    kept = rng.permutation(m)[: min(n, m)]
    cost[np.arange(len(kept)), np.sort(kept), 0, 0] -= rng.integers(0, 4)  # a path that is clear, or less so
    solution = in_order(cost, InOrder(most), gains=(gaining(cost, 0), gaining(cost, 1)))
    check_promises(solution, cost)
    assert solution.cost == pytest.approx(least(cost), abs=1e-9)


@pytest.mark.usefixtures("narrow")
def test_a_clear_path_is_proved_in_a_band() -> None:
    n = 80
    cost = np.full((n, n, 2, 2), np.inf)
    cost[np.arange(n), np.arange(n), 0, 0] = -1.0
    looked = []

    def part(rows: range, columns: range) -> np.ndarray:
        looked.append(len(rows) * len(columns))
        return cost[rows.start : rows.stop, columns.start : columns.stop]

    solution = in_order(part, InOrder(2), sizes=(n, n), gains=(np.ones(n), np.ones(n)))
    assert solution.cost == -n
    assert solution.computed < 0.3
    assert max(looked) < n * n / 10


def test_long_texts_need_no_memory_for_all_pairs() -> None:
    """5,000 × 5,000 spans of which every third is gone, and the others are where they were."""
    import tracemalloc

    kept = np.flatnonzero(np.arange(5000) % 3)
    names = np.concatenate([kept, np.arange(10_000, 11_667)])

    def cost(rows: range, columns: range) -> np.ndarray:
        costs = np.full((len(rows), len(columns), 1, 1), np.inf)
        costs[np.equal.outer(np.arange(rows.start, rows.stop), names[columns.start : columns.stop])] = -1.0
        return costs

    gains = np.ones(5000), np.ones(5000)
    in_order(np.zeros((1, 1, 1, 1)), InOrder(1))  # compiled before memory is counted
    tracemalloc.start()
    solution = in_order(cost, InOrder(1), sizes=(5000, 5000), gains=gains)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [link.left[0] for link in solution.links] == kept.tolist()
    assert peak < 5000 * 5000 * 8 / 2


def test_a_function_is_asked_as_an_array_is_read() -> None:
    cost = normal(np.random.default_rng(0), (30, 20, 4, 4))
    part: GroupCosts = lambda rows, columns: cost[rows.start : rows.stop, columns.start : columns.stop]  # noqa: E731
    assert in_order(part, sizes=(30, 20)) == in_order(cost)


def test_a_group_never_begins_before_its_text() -> None:
    cost = np.full((1, 2, 2, 2), -1.0)
    cost[:, :, 1, :] = -100.0
    assert in_order(cost, InOrder(2)).links == (GroupLink(range(1), range(1), -1.0),)


def test_what_makes_no_sense_is_refused() -> None:
    cost = np.zeros((2, 2, 1, 1))
    for most in (0, 16):
        with pytest.raises(ValueError, match="groups of 1 to 15"):
            InOrder(most)
    with pytest.raises(TypeError, match="whole number"):
        InOrder(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape \(n, m, 4, 4\)"):
        in_order(cost)
    with pytest.raises(ValueError, match="sizes"):
        in_order(lambda rows, columns: cost, InOrder(1))
    with pytest.raises(ValueError, match="gave an array of shape"):
        in_order(lambda rows, columns: cost[:1], InOrder(1), sizes=(2, 2))
    with pytest.raises(ValueError, match="NaN"):
        in_order(cost * np.nan, InOrder(1))
    with pytest.raises(ValueError, match="Gains"):
        in_order(cost, InOrder(1), gains=(np.array([1.0, -1.0]), np.ones(2)))
