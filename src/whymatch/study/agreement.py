"""How well people agree: Krippendorff's alpha."""

from collections.abc import Iterable, Sequence
from typing import Literal


def alpha(units: Iterable[Sequence[int]], values: Sequence[int], level: Literal["ordinal", "nominal"]) -> float | None:
    """1 is agreement, 0 what chance would give. A unit is what several people said of one thing.

    None where nothing was judged twice, or where all judged everything the same: agreement is not defined then.

    >>> round(alpha([[0, 0], [1, 1], [2, 2], [0, 1]], [0, 1, 2], "nominal"), 3)
    0.667
    >>> alpha([[1, 1], [1, 1]], [0, 1], "nominal") is None
    True
    """
    twice = [unit for unit in units if len(unit) > 1]
    if len({value for unit in twice for value in unit}) < 2:
        return None
    try:
        from krippendorff import alpha as of_krippendorff
    except ModuleNotFoundError:
        raise ValueError("Agreement needs krippendorff: pip install 'whymatch[study]'.") from None
    counts = [[unit.count(value) for value in values] for unit in map(list, twice)]
    return float(of_krippendorff(value_counts=counts, value_domain=values, level_of_measurement=level))
