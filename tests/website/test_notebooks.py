"""The notebooks run, with the installed package and real models, and give what stands in them."""

import re
from pathlib import Path

import pytest

from website.notebooks import FOLDER, executed, stored

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def test_there_are_notebooks() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["answers", "duplicates", "training"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_gives_what_stands_in_it(file: Path) -> None:
    """Of what was trained, numbers may differ a little from one processor to another."""
    for given, written in zip(executed(file), stored(file), strict=True):
        ours, theirs = f"{given.printed}{given.value}", f"{written.printed}{written.value}"
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
        for number, other in pairs:
            assert float(number) == pytest.approx(float(other), rel=0.05, abs=0.02), ours


def test_an_error_in_a_cell_is_raised(tmp_path: Path) -> None:
    text = (FOLDER / "answers.ipynb").read_text(encoding="utf-8")
    file = tmp_path / "broken.ipynb"
    file.write_text(text.replace("import whymatch as wm", "import whymatch as wm, nothing_of_that_name"))
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        executed(file)
