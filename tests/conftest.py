"""Set-up that every test relies on."""

from pathlib import Path

import hypothesis

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
