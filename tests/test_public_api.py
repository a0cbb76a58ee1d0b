"""Public names change with a line in the changelog, and go after they were deprecated for two minor versions."""

import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import whymatch as wm
from tests.public_api import FILE, MODULES, name_of, public_names
from whymatch.deprecation import Renamed, deprecated, renamed_argument

ROOT = Path(__file__).parents[1]


def sections() -> list[tuple[str, str]]:
    """The headings of the changelog with what stands under them, the newest first."""
    parts = re.split(r"(?m)^## (.+)\n", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    return [*zip(parts[1::2], parts[2::2], strict=True)]


def minor(version: str) -> tuple[int, int]:
    major, second = version.split(".")[:2]
    return int(major), int(second)


def released() -> set[str]:
    """The lines of public_api.txt, without those of modules that cannot be imported here."""
    absent = tuple(f"{module}." for module, needs in MODULES.items() if needs is not None and find_spec(needs) is None)
    return {line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith(absent or ("\n",))}


def test_what_changed_since_the_last_release_stands_in_the_changelog() -> None:
    """The names of the last release are in public_api.txt, which `python -m tests.public_api` writes for the next."""
    changed = {name_of(line) for line in released() ^ {*public_names()}}
    heading, text = sections()[0]
    _, heading_of_names, names = text.partition("**Public names**\n")
    assert heading_of_names or not changed, (
        f"CHANGELOG.md, {heading}: write **Public names**, and a line for {sorted(changed)}."
    )
    listed = names.partition("\n**")[0]
    missing = [name for name in sorted(changed) if not any(f"`{one}`" in listed for one in _with_parents(name))]
    assert not missing, f"CHANGELOG.md, {heading}, **Public names**: add a line with each of {missing}."


def _with_parents(name: str) -> list[str]:
    """A name as the changelog writes it, and what it belongs to: a line for a class is one for its methods."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(2, len(parts) + 1)]


def test_nothing_goes_without_having_been_deprecated() -> None:
    now = {name_of(line) for line in public_names()}
    gone = {line for line in released() if name_of(line) not in now}
    assert not [line for line in gone if not line.endswith(" (deprecated)")]


def test_names_that_were_to_go_by_now_are_gone() -> None:
    late = [name for name, renamed in wm._RENAMED.items() if minor(wm.__version__) >= minor(renamed.until)]
    assert not late


def test_a_renamed_name_works_and_says_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wm._RENAMED, "TextAligner", Renamed("Aligner", since="0.1"))
    with pytest.warns(
        FutureWarning, match=r"whymatch.TextAligner .* since whymatch 0.1 and goes with 0.3: use .*Aligner"
    ):
        assert wm.TextAligner is wm.Aligner
    assert "TextAligner" not in wm.__all__


def test_a_warning_points_at_the_line_that_used_the_old_name() -> None:
    @renamed_argument("top", "top_k", since="0.1")
    @deprecated("best", since="0.1")
    def first(top_k: int = 1) -> int:
        return top_k

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert first(top=3) == 3  # type: ignore[call-arg]
    assert "(top=…)" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert hasattr(first, "__deprecated__")
    with pytest.raises(TypeError, match="give one of them"):
        first(top=3, top_k=2)  # type: ignore[call-arg]


def test_the_changelog_has_a_section_for_each_version_the_newest_first() -> None:
    headings = [heading.partition(",")[0] for heading, _ in sections()]
    versions = [heading for heading in headings if heading != "Unreleased"]
    assert "Unreleased" not in headings[1:]
    assert versions == sorted(versions, key=minor, reverse=True)
    assert versions[0] == wm.__version__


def test_the_version_stands_in_one_place() -> None:
    written = f'"{wm.__version__}"'
    files = [file for file in (ROOT / "src").glob("**/*.py") if written in file.read_text(encoding="utf-8")]
    assert files == [ROOT / "src" / "whymatch" / "__init__.py"]
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
