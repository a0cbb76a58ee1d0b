"""Single steps of the CPU kernels that whole problems exercise only by luck."""

import numpy as np
import pytest

from whymatch.transport.kernels.cpu.masses import Flow, untangle


@pytest.mark.parametrize("seed", range(20))
def test_untangling_keeps_what_every_span_sends_and_takes_and_leaves_a_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, 2)
    units = rng.integers(0, 4, (m, n))
    flow = Flow(units.copy(), np.zeros((m, n), np.int64), np.zeros(m, np.int64))
    for j in range(m):
        rows = np.flatnonzero(units[j])
        flow.held[j] = len(rows)
        flow.holders[j, : len(rows)] = rows
    untangle(flow)
    assert (flow.units >= 0).all()
    assert (flow.units.sum(axis=0) == units.sum(axis=0)).all()
    assert (flow.units.sum(axis=1) == units.sum(axis=1)).all()
    assert not flow.units[units == 0].any()
    incidence = [np.eye(n + m)[i] - np.eye(n + m)[n + j] for j, i in np.argwhere(flow.units)]
    assert len(incidence) == (np.linalg.matrix_rank(np.array(incidence)) if incidence else 0)
    for j in range(m):
        assert sorted(flow.holders[j, : flow.held[j]]) == np.flatnonzero(flow.units[j]).tolist()
