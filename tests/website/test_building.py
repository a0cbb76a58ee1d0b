"""The site, built as `make docs` builds it: without a warning, and without anything from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.show.test_browser import browser  # noqa: F401

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//", re.IGNORECASE)
pytest.importorskip("mkdocstrings", reason="the site is built with mkdocs: pip install 'whymatch[docs]'")
pytest.importorskip("material", reason="the site is built with mkdocs-material: pip install 'whymatch[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Warnings, such as those of broken links and lost pages, end the building."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not FETCHED.search(text), page.name
        assert "<div data-picture=" not in text
        assert "<div data-output=" not in text
    assert not any("@import" in style.read_text(encoding="utf-8") for style in site.rglob("style.css"))


def test_pictures_notebooks_and_examples_are_in_their_pages(site: Path) -> None:
    text = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in ("gallery", "notebooks/duplicates")}
    assert text["gallery"].count('<iframe class="whymatch"') == 5
    assert '<iframe class="whymatch"' in text["notebooks/duplicates"]
    assert "<th>e-value</th>" in text["notebooks/duplicates"]
    assert (site / "notebooks" / "duplicates.ipynb").is_file()
    reference = (site / "reference" / "index.html").read_text(encoding="utf-8")
    assert reference.count('<span class="gp">&gt;&gt;&gt; </span>') > 100  # prompts, as code
    assert "<blockquote>" not in reference


def test_a_page_opened_as_a_file_has_pictures_and_a_search(site: Path, browser: Any) -> None:  # noqa: F811
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "concepts" / "evidence.html").as_uri())
    inside = page.frame_locator("iframe.whymatch").first
    inside.locator("#links tr").first.wait_for()
    page.locator("[data-md-component=search-query]").fill("certificate")
    page.locator(".md-search-result__item").first.wait_for()
    page.keyboard.press("Escape")
    copy = page.locator("[data-clipboard-target]").first
    copy.click()
    assert str(copy.get_attribute("data-clipboard-text")).startswith("import whymatch as wm\naligner = wm.Aligner()\n")
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]
    page.close()
