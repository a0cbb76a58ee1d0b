"""The paper's figure 5: what every method makes of one synthetic problem."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whymatch.cost import Cosine
from whymatch.matching.attention import attention, count_active, entmax15, max_sim, sparsemax
from whymatch.show.terminal import table as as_table
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo
from whymatch.transport.entropic import Temperature, sinkhorn
from whymatch.transport.exact import solve


def synthetic_cost(left: int = 30, right: int = 20, seed: int = 0) -> Tensor:
    """Cosine distances of spans about eighteen topics, of which the two texts share six."""
    generator = torch.Generator().manual_seed(seed)
    topics = torch.randn(18, 32, generator=generator)
    of_left = torch.randint(0, 12, (left,), generator=generator)
    of_right = torch.randint(6, 18, (right,), generator=generator)
    x, y = (topics[of] + 0.5 * torch.randn(len(of), 32, generator=generator) for of in (of_left, of_right))
    return Cosine().between(x, y)


def heat_maps_of_every_method(picture: Path) -> None:
    """Solves the problem by every method, prints what each promises and gives, and draws the plans."""
    cost = synthetic_cost()
    n, m = cost.shape
    constraints: list[tuple[str, Constraint]] = [
        ("vanilla", Balanced()),
        ("one-to-k", OneTo(1)),
        ("relaxed one-to-k", UpTo(1, below=0.5)),
        ("exact-k", Exactly(4)),
    ]
    baselines: list[tuple[str, float, Any]] = [
        ("attention", 1.0, torch.softmax),
        ("attention, T = 0.1", 0.1, torch.softmax),
        ("attention, T = 0.01", 0.01, torch.softmax),
        ("sparse attention", 1.0, sparsemax),
        ("1.5-entmax attention", 1.0, entmax15),
    ]
    rows, plans = [], {"cost (dark is cheap)": (-cost).tolist()}
    for paper_name, constraint in constraints:
        solution = solve(cost, constraint)
        links = int(count_active(solution.plan).number)
        fewest, most = constraint.links(n, m)
        promise = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        rows.append(
            [repr(constraint), paper_name, promise, f"{links}", f"{links / (n * m):.1%}", f"{solution.gap:.0e}"]
        )
        plans[f"{constraint}\n{links} links"] = solution.plan.tolist()
    others = {
        "exact-k by Sinkhorn": [sinkhorn(cost, Exactly(4), Temperature(0.1)).plan],
        "late interaction (MaxSim)": [max_sim(cost)],
    }
    for name, temperature, normaliser in baselines:
        others[name] = list(attention(cost, temperature=temperature, normaliser=normaliser))
    for name, matrices in others.items():
        links = int(count_active(*matrices).number)
        each = " and ".join(str(int(count_active(matrix).number)) for matrix in matrices)
        rows.append(["", name, "none", f"{links}", f"{links / (n * m):.1%}", ""])
        plans[f"{name}\n{each} active"] = matrices[0].tolist()
    print(f"A synthetic problem: {n} spans on the left, {m} on the right, {n * m} pairs that could be linked.\n")
    print(as_table(["constraint", "in the paper", "promised links", "links", "of all pairs", "gap to optimum"], rows))
    print("\nAttention has a matrix for each direction, and its links are those active in either.")
    draw(plans, picture)


def draw(plans: dict[str, list[list[float]]], picture: Path) -> None:
    """Writes the picture, or says what is missing to write it."""
    try:
        from experiments.figures import heat_maps
    except ModuleNotFoundError:
        print("\nFor a picture, install matplotlib.")
        return
    heat_maps(plans, picture)
    print(f"\nPicture: {picture}")
