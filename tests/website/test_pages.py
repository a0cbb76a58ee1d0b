"""Every page is in the navigation, every name in the reference, and every example and command of a page holds."""

import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.public_api import names_of, present
from whymatch.cli import command_line, main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
MADE = {"contributing.md", "changelog.md", "security.md", "reference/commands.md"}
"""Pages that are made when the site is built; those of notebooks are made as well."""
PROMPT = re.compile(r"^\s*(?:\$ |\.venv/bin/)?(whymatch .*)$")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads mkdocs.yml, whose tags name what mkdocs knows."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def navigation() -> Iterator[str]:
    """The pages that the navigation names, as often as it does."""

    def within(entries: list[Any]) -> Iterator[str]:
        for entry in entries:
            for below in [entry] if isinstance(entry, str) else entry.values():
                yield from [below] if isinstance(below, str) else within(below)

    yield from within(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)["nav"])


def public_names() -> Iterator[tuple[str, str, Any]]:
    """The public names by their modules: those of whymatch itself, and what only the others have."""
    seen: set[int] = set()
    for module in present():
        for name in names_of(module):
            value = getattr(import_module(module), name)
            if not inspect.ismodule(value) and id(value) not in seen:
                seen.add(id(value))
                yield module, name, value


def test_every_page_is_in_the_navigation_once() -> None:
    notebooks = {f"notebooks/{file.stem}.md" for file in DOCS.glob("notebooks/*.ipynb")}
    assert sorted(navigation()) == sorted([*PAGES, *MADE, *notebooks])


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_or_shows_exists(page: str) -> None:
    text = re.sub(r"```.*?```", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    made = {DOCS / name for name in navigation()}
    for target in re.findall(r"\]\(((?!http|#)[^)#\s]+)", text):
        path = (DOCS / page).parent / target
        assert path.exists() or path.resolve() in made, target


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_python_in_a_page_is_an_example_that_runs(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in re.findall(r"```(?:python|pycon|py)\b[^\n]*\n(.*?)```", text, re.DOTALL):
        assert block.startswith(">>> "), block


def test_every_public_name_is_in_the_reference_with_an_example_that_stands_alone() -> None:
    reference = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("reference/*.md"))
    for module, name, value in public_names():
        assert f"\n::: {module}.{name}\n" in reference, f"{module}.{name} is not in docs/reference"
        if inspect.isclass(value) or inspect.isfunction(value):  # the others are values, such as TOLERANCE
            docstring = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
            imports = (">>> import whymatch as wm\n", f">>> from {module} import ")
            assert any(line in (docstring or "") for line in imports), f"{module}.{name} has no example"


def commands() -> Iterator[tuple[str, str]]:
    """The commands of the pages and of the README: those that begin a line of code."""
    for file in [ROOT / "README.md", *(DOCS / page for page in PAGES)]:
        for line in file.read_text(encoding="utf-8").splitlines():
            if (command := PROMPT.match(line)) and (line.startswith("    ") or command[0].startswith("$")):
                yield file.relative_to(ROOT).as_posix(), command[1]


@pytest.mark.parametrize(("page", "command"), sorted({*commands()}))
def test_every_command_of_a_page_is_one(page: str, command: str) -> None:
    any_choice = re.sub(r"(\w+)(?:\|\w+)+|[\[\]]", r"\1", command)  # [--query whole|one] may be left out, too
    words = shlex.split(any_choice, comments=True)[1:]
    words = [word for word in takewhile(lambda word: word not in (">", "|"), words) if word != "…"]
    complaint = None
    try:
        command_line().parse_args(words)
    except SystemExit as end:
        complaint = end.code
    assert not complaint, f"{page}: {command}"


def test_every_extra_is_explained() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    table = re.findall(r"^\| (`[^|]*`) \|", (DOCS / "start.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for row in table for name in re.findall(r"[\w-]+", row)} == extras.keys() - {"dev", "build"}


def test_commands_on_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the README and of the pages whose files are all in examples/; what they write goes elsewhere."""
    monkeypatch.chdir(ROOT)
    ran = 0
    for _, command in commands():
        words = shlex.split(command, comments=True)[1:]
        if any(word.startswith("examples/") for word in words) and not {"study", "train"} & {*words}:
            words = [str(tmp_path / word) if "/" not in word and Path(word).suffix else word for word in words]
            assert main(words) == 0, command
            ran += 1
    assert ran >= 4
