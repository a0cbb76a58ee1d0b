"""Notebooks, executed without Jupyter: cells are run in order in one namespace, in a folder of their own.

    python -m website.notebooks        # executes docs/notebooks/*.ipynb, and writes their outputs into them

Pictures are not written into them: they are large, and the site makes them anew.
"""

import ast
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook; a cell of code has what it printed, and its last value as text and, if it can, as HTML."""

    code: bool
    source: str
    printed: str = ""
    value: str | None = None
    html: str | None = None


def executed(file: Path) -> list[Cell]:
    """The cells of a notebook with what they give; an error in a cell is raised."""
    cells = [(cell["cell_type"] == "code", "".join(cell["source"])) for cell in _read(file)["cells"]]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _folder_of_its_own(), _single_precision():
        return [_run(source, namespace, file.name) if code else Cell(code, source) for code, source in cells]


def stored(file: Path) -> list[Cell]:
    """The cells of a notebook with the outputs that it has."""
    return [_stored(cell) for cell in _read(file)["cells"]]


def write(file: Path, cells: list[Cell]) -> None:
    """Writes the outputs, but for pictures, into a notebook."""
    notebook, number = _read(file), 0
    for old, new in zip(notebook["cells"], cells, strict=True):
        if new.code:
            number += 1
            old |= {"execution_count": number, "outputs": _outputs(new, number)}
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(source: str, namespace: dict[str, Any], name: str) -> Cell:
    tree = ast.parse(source, name)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    if value is None:
        return Cell(True, source, printed.getvalue())
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    return Cell(True, source, printed.getvalue(), repr(value), html)


def _stored(cell: dict[str, Any]) -> Cell:
    printed, value = "", None
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            printed = "".join(output["text"])
        else:
            value = "".join(output["data"]["text/plain"])
    return Cell(cell["cell_type"] == "code", "".join(cell["source"]), printed, value)


def _outputs(cell: Cell, number: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed.splitlines(keepends=True)})
    if cell.value is not None:
        data = {"text/plain": cell.value.splitlines(keepends=True)}
        if cell.html is not None and "<iframe" not in cell.html:
            data["text/html"] = cell.html.splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs


def _read(file: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return notebook


@contextmanager
def _folder_of_its_own() -> Iterator[None]:
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@contextmanager
def _single_precision() -> Iterator[None]:
    """Numbers are those of single precision, whatever the processor of this machine would choose."""
    from whymatch.matching.defaults import default_aligner
    from whymatch.matching.relations import shipped_reader

    kept = default_aligner, shipped_reader
    with patch("whymatch.text.encoders.compiled.native_precision", lambda: "float32"):
        for cache in kept:
            cache.cache_clear()
        yield
    for cache in kept:
        cache.cache_clear()


if __name__ == "__main__":
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        write(notebook, executed(notebook))
        print(notebook.name)
