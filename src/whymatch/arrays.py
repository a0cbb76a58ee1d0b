"""The array API of what a caller gave, for code that is written once for numpy and torch."""

from typing import Any

import numpy as np


def array_namespace(*arrays: Any) -> Any:
    """The module with the functions of the array API for these arrays: numpy itself, or what wraps torch.

    array_api_compat wraps numpy too, which has the same functions from 2.1 on; to load its wrapper takes 0.1 s.
    """
    if all(isinstance(array, np.ndarray | np.generic) for array in arrays):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)
