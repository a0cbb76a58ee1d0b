"""What can be collected here, and how the examples of documents are computed."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

TRITON = ["src/whymatch/transport/kernels/gpu/*.py", "src/whymatch/text/encoders/kernel.py"]
"""The kernels for GPUs are Triton's, and need it to be imported."""
OF_OTHERS = {
    "langchain_core": ["src/whymatch/langchain.py", "docs/tasks/ecosystem.md"],
    "llama_index": ["src/whymatch/llamaindex.py", "docs/tasks/ecosystem.md"],
    "datasets": ["docs/tasks/ecosystem.md"],
    "mkdocstrings": ["website/examples.py", "website/hooks.py"],
}
"""What needs the packages of extras to be imported or shown."""
collect_ignore_glob = [
    *([] if find_spec("triton") else TRITON),
    *(file for package, files in OF_OTHERS.items() if find_spec(package) is None for file in files),
]


@pytest.fixture(autouse=True)
def documents_in_single_precision(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Numbers in documents are those of single precision, whatever the processor of this machine would choose.

    Default aligners and the reader of relations are kept by their precision, so they are made anew before and after.
    """
    if request.path.suffix != ".md":
        yield
        return
    from whymatch.matching.defaults import default_aligner
    from whymatch.matching.relations import shipped_reader

    monkeypatch.setattr("whymatch.text.encoders.compiled.native_precision", lambda: "float32")
    for kept in (default_aligner, shipped_reader):
        kept.cache_clear()
    yield
    for kept in (default_aligner, shipped_reader):
        kept.cache_clear()
