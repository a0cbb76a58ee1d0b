"""How the time of exact alignment on a GPU grows with the number of spans and of pairs, beside what no kernel can beat.

    python -m benchmarks.growth measure growth.json      # on a machine with a GPU
    python -m benchmarks.growth plot growth.json docs/images/growth.png

The floor is the larger of two times: that of a CUDA graph of one kernel with next to nothing to do (the fastest seen),
and that of reading the costs and writing the plans once at the bandwidth of a large copy.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu import attention, costs, timed
from whymatch.transport import Constraint, Exactly, OneTo, solve

SPANS = [(side, 1024) for side in (8, 16, 32, 64, 128, 256)]
PAIRS = [(32, 10**power) for power in range(6)]
WAYS: dict[str, Constraint] = {"OneTo(1)": OneTo(1), "Exactly(4)": Exactly(4)}


def measure() -> dict[str, Any]:
    """Microseconds of each way, by size and number, and the two floors of this GPU."""
    found: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "rows": []}
    for side, count in [*SPANS, *PAIRS]:
        cost = costs(side, count)
        times = {"softmax attention, both directions": timed(partial(attention, -cost))}
        times |= {name: timed(partial(solve, cost, constraint)) for name, constraint in WAYS.items()}
        found["rows"].append({"side": side, "count": count, "bytes": 2 * cost.nbytes, "times": times})
        print(side, count, times, file=sys.stderr, flush=True)
    large = torch.ones(2**30, device="cuda")
    other = torch.empty_like(large)
    ways = partial(other.copy_, large), partial(torch.add, large, 1.0, out=other)
    found["bandwidth"] = 2 * large.nbytes / (min(map(timed, ways)) / 1e6)
    found["launch"] = min(timed(partial(large[:1].add_, 1.0)) for _ in range(5))
    return found


def plot(found: dict[str, Any], file: Path) -> None:
    """Two panels with logarithmic axes: by spans for 1,024 pairs, and by pairs for 32 spans."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for panel, some, key in zip(panels, (SPANS, PAIRS), ("side", "count"), strict=True):
        rows = [row for row in found["rows"] if (row["side"], row["count"]) in some]
        x = [row[key] for row in rows]
        for name, colour in zip(rows[0]["times"], ("0.55", "C0", "C1"), strict=True):
            panel.loglog(x, [row["times"][name] for row in rows], "o-", color=colour, label=name, markersize=4)
        moved = [1e6 * row["bytes"] / found["bandwidth"] for row in rows]
        panel.loglog(x, moved, "k:", label=f"costs read, plans written at {found['bandwidth'] / 1e12:.1f} TB/s")
        fastest = min(found["launch"], *(time for row in found["rows"] for time in row["times"].values()))
        panel.axhline(fastest, color="k", linestyle="--", linewidth=0.8, label="a kernel with next to nothing to do")
        panel.set_xlabel("spans on each side, 1,024 pairs" if key == "side" else "pairs of 32 × 32 spans")
        panel.set_xticks(x, [f"{value:,}" for value in x])
        panel.minorticks_off()
    panels[0].set_ylim(bottom=1)
    panels[0].set_ylabel("µs for the whole batch")
    panels[0].legend(frameon=False, fontsize=7.5)
    figure.suptitle(f"Exact alignment on one {found['gpu']}", fontsize=10)
    figure.savefig(file, dpi=160)


def main() -> None:
    what, file, *more = [*sys.argv[1:], "", ""][:3]
    if what == "measure":
        Path(file).write_text(json.dumps(measure(), indent=1))
    elif what == "plot":
        plot(json.loads(Path(file).read_text()), Path(more[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
