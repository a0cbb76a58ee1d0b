"""What mkdocs calls while it builds: pages that are made of other things, and pictures in their places.

`<div data-picture="forum"></div>` in a page becomes the picture of that name from `website.pictures`.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website.commands import commands_page
from website.notebooks import Cell, executed
from website.pictures import picture

_ROOT = Path(__file__).parents[1]
_PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
_PLACE = re.compile(r'<div data-picture="([\w-]+)"></div>')
_OUTPUT = re.compile(r'<div data-output="([\w.-]+):(\d+)"></div>')

_notebooks: dict[str, list[Cell]] = {}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made of something else: documents of the root, notebooks, commands."""
    made = {page: _from_root(source) for page, source in _PAGES.items()}
    made["reference/commands.md"] = commands_page()
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        name = file.src_uri.removesuffix(".ipynb")
        _notebooks[name] = executed(_ROOT / "docs" / file.src_uri)
        made[f"{name}.md"] = _notebook_page(name, _notebooks[name])
    for page, content in made.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to the guide for contributors stay on the site."""
    up = "../" * page.file.src_uri.count("/")
    for target, source in _PAGES.items():
        markdown = markdown.replace(f"]({up}../{source}", f"]({up}{target}")
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Puts pictures and the outputs of notebooks into their places."""
    html = _PLACE.sub(lambda place: picture(place[1]), html)
    return _OUTPUT.sub(lambda place: _html_of(_notebooks[place[1].replace("..", "/")][int(place[2])]), html)


def _from_root(name: str) -> str:
    """A document of the repository's root, whose links into docs/ are links of the site; other links become names."""
    text = (_ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\[([^\]]+)\]\((?!#|http|[\w/]+\.md)[^)]*\)", r"\1", text)


def _notebook_page(name: str, cells: list[Cell]) -> str:
    """A notebook in Markdown."""
    parts = []
    for number, cell in enumerate(cells):
        if not cell.code:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed:
            parts.append(f'```text title="output"\n{cell.printed.rstrip()}\n```')
        if cell.html is not None:
            parts.append(f'<div data-output="{name.replace("/", "..")}:{number}"></div>')
        elif cell.value is not None:
            parts.append(f'```text title="output"\n{cell.value}\n```')
    file = name.rpartition("/")[2] + ".ipynb"
    parts.append(f"[Download this notebook]({escape(file)})")
    return "\n\n".join(parts) + "\n"


def _html_of(cell: Cell) -> str:
    return f'<div class="output">{cell.html}</div>'
