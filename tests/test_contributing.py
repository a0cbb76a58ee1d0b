"""CONTRIBUTING.md describes the code as it is."""

import doctest
import re
from pathlib import Path

import pytest

import whymatch

ROOT = Path(__file__).parents[1]
SOURCE = Path(whymatch.__file__).parent
GUIDE = ROOT / "CONTRIBUTING.md"


def mapped() -> dict[str, set[str]]:
    """The files that the map names, by the folder under whose heading they stand, relative to src/whymatch."""
    files: dict[str, set[str]] = {}
    folder = None
    for line in GUIDE.read_text(encoding="utf-8").partition("\n## The map\n")[2].partition("\n## ")[0].splitlines():
        if line.startswith("### "):
            heading = re.fullmatch(r"### `src/whymatch/(.*)`", line)
            folder = heading[1].rstrip("/") if heading else None
        elif folder is not None:
            files.setdefault(folder, set()).update(re.findall(r"`(\w+\.py)`", line))
    return files


def test_the_map_names_every_folder_and_file() -> None:
    modules = [file.relative_to(SOURCE) for file in SOURCE.glob("**/*.py")]
    expected: dict[str, set[str]] = {}
    for module in modules:
        folder = module.parent.as_posix().removeprefix(".")
        expected.setdefault(folder, set()).update({module.name} - {"__init__.py"})
    named = {folder: files - {"__init__.py"} for folder, files in mapped().items()}
    assert named.keys() == expected.keys()
    for folder, files in expected.items():
        assert named[folder] == files, f"src/whymatch/{folder}: bring the map in CONTRIBUTING.md up to date"


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "README.md"])
def test_every_path_that_is_named_or_linked_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    linked = re.findall(r"\]\(((?!http|#)[^)#]+)", text)
    named = re.findall(r"`((?:src|tests|docs|website|examples|experiments|benchmarks|locks)/[\w./-]*)`", text)
    for path in [*linked, *named]:
        assert (ROOT / path).exists(), f"{document} names {path}, which is not there"
    for path in re.findall(r"`(\w[\w/]*/\w+\.py)`", text):
        assert (ROOT / path).exists() or (SOURCE / path).exists() or (SOURCE / "transport" / path).exists(), path


def test_every_name_of_the_code_that_the_guide_gives_is_in_the_code() -> None:
    prose = re.sub(r"```.*?```", "", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = {name for quoted in re.findall(r"`([^`\n]+)`", prose) for name in re.findall(r"[A-Za-z_]\w+", quoted)}
    folders = [
        ROOT / name for name in ("src", "tests", "experiments", "benchmarks", "docs", "website", "examples", "locks")
    ]
    files = [ROOT / "Makefile", *(file for folder in folders for file in folder.glob("**/*"))]
    code = [file.read_text(encoding="utf-8") for file in files if file.suffix == ".py" or file.name == "Makefile"]
    paths = [str(file.relative_to(ROOT)) for file in [*files, *ROOT.iterdir()]]
    words = {word for text in [*code, *paths] for word in re.findall(r"\w+", text)}
    assert names - words == set()


def test_the_examples_of_the_guide_run() -> None:
    results = doctest.testfile(str(GUIDE), module_relative=False, optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    assert results.attempted > 10
    assert not results.failed
