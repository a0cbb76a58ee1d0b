"""OpenVINO, imported without its telemetry.

Importing it as it is would start a process that reports the import to its makers and writes into the user's home.
OpenVINO does without the package that does this, so that package cannot be found while OpenVINO is imported.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TELEMETRY = "openvino_telemetry"


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Makes the telemetry of OpenVINO impossible to import for the time of a block."""
    loaded = sys.modules.get(_TELEMETRY)
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[_TELEMETRY]
        if loaded is not None:
            sys.modules[_TELEMETRY] = loaded


with _without_telemetry():
    import openvino as ov
    from openvino import opset13 as op

__all__ = ["op", "ov"]
