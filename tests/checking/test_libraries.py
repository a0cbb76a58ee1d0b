"""Documents of the real LangChain and LlamaIndex, where they are installed."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

from whymatch.checking.sources import NamedTexts
from whymatch.text.encoders import models

EXAMPLE = Path(__file__).parents[2] / "examples" / "citations.py"


@pytest.mark.parametrize(
    ("module", "function"), [("langchain_core", "langchain_documents"), ("llama_index", "llama_index_nodes")]
)
def test_documents_of_a_library_are_read_with_their_names(module: str, function: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    example = runpy.run_path(str(EXAMPLE))
    assert NamedTexts.of(example[function]()).texts == example["SOURCES"]


@pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")
def test_the_example_cites_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE))["main"]()
    printed = capsys.readouterr().out
    assert printed.startswith("2 of 4 claims are supported; 1 is contradicted, and 1 has no source.\n")
    assert "travel, characters 86 to 126: Hotels may cost up to 120 euros a night." in printed
