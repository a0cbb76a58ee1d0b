"""What can be collected here, and how the examples of documents are computed."""

from importlib.util import find_spec

import pytest

TRITON = ["src/whymatch/transport/kernels/gpu/*.py", "src/whymatch/text/encoders/kernel.py"]
"""The kernels for GPUs are Triton's, and need it to be imported."""
collect_ignore_glob = [] if find_spec("triton") else TRITON


@pytest.fixture(autouse=True)
def documents_in_single_precision(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers in documents are those of single precision, whatever the processor of this machine would choose."""
    if request.path.suffix == ".md":
        monkeypatch.setattr("whymatch.text.encoders.compiled.native_precision", lambda: "float32")
