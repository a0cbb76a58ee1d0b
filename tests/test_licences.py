"""Whatever whymatch and its extras install has a licence under which users of an MIT project can ship it.

The licences are read from the metadata of the installed packages, over everything that the extras need directly or
through other packages. The tools of the `dev` and `docs` extras are not checked: nobody ships them.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = ROOT / "pyproject.toml"

ALLOWED = frozenset(
    {
        # Permissive licences and dedications to the public domain ask for little more than to keep their notice.
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT"),
        *("MIT-CMU", "PSF-2.0", "Zlib"),
        # An exception adds permissions.
        "Apache-2.0 WITH LLVM-exception",
        # MPL-2.0 holds for its own files: a project that imports them unchanged owes nothing more.
        "MPL-2.0",
    }
)
"""Licences by their SPDX names. GPL and AGPL are missing because what is combined with them must be shipped under them.
LGPL is missing because users may then ship a program only in a form in which the library can be replaced, which a
single executable is not; a package that needs it has to be read by hand."""

SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "osi approved :: apache software license": "Apache-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Other names in the fields `License` and `Classifier`, in lower case, and what they stand for."""

READ_BY_HAND = {
    "dirtyjson": "MIT OR AFL-2.1, as its LICENSE says: either may be chosen.",
    "scipy": "BSD-3-Clause. Its text names the GPL for libgfortran, whose exception lets anything be linked with it.",
    "tiktoken": "MIT, by its text, which stands where a name is looked for.",
    "matplotlib": "PSF-2.0. Its text names the GPL for FreeType, which is licensed as FTL OR GPL: FTL is permissive.",
}
"""Packages whose metadata leave a question, and the answer."""

GNU = re.compile(r"GNU\s+(?:\w+\s+)?General\s+Public|\b[AL]?GPL", re.IGNORECASE)
CUDA = re.compile(r"(?:nvidia|cuda)-")
"""CUDA libraries, which PyPI's builds of torch for Linux bring along. They are proprietary; NVIDIA allows to ship them
with an application, and torch's builds for CPUs do without. What torch needs of them is not checked."""


def licence_problem(package: Distribution) -> str | None:
    """Why the metadata of a package do not show that it can be shipped; None if they do."""
    metadata = package.metadata
    kinds = [line.split("::")[-1].strip() for line in metadata.get_all("Classifier", []) if line.startswith("License")]
    statements = [*metadata.get_all("License-Expression", []), *metadata.get_all("License", []), *kinds]
    statements = [text.strip() for text in statements if text.strip().lower() not in ("", "unknown", "osi approved")]
    texts = [text for text in statements if "\n" in text or len(text) > 200]
    names = [text for text in statements if text not in texts]
    for name in names:
        if not is_allowed(name):
            return f"its licence is {name!r}, which is not allowed"
    if any(GNU.search(text) for text in texts):
        return "the text of its licence mentions the GNU licences"
    return None if names else "its metadata name no licence"


def is_allowed(statement: str) -> bool:
    """Whether a name of a licence or an SPDX expression can be met by allowed licences alone.

    AND binds tighter than OR, and a parenthesis is a licence.
    """
    statement = SPELLINGS.get(statement.lower(), statement)
    allowed = {name.lower() for name in ALLOWED}
    inner = re.search(r"\(([^()]*)\)", statement)
    while inner:
        verdict = "MIT" if is_allowed(inner[1]) else "refused"
        statement = statement[: inner.start()] + verdict + statement[inner.end() :]
        inner = re.search(r"\(([^()]*)\)", statement)
    return any(
        all(name.strip().lower() in allowed for name in re.split(r"\s+AND\s+", choice, flags=re.IGNORECASE))
        for choice in re.split(r"\s+OR\s+", statement, flags=re.IGNORECASE)
    )


def needed(requirements: Iterable[str], installed: Mapping[str, Distribution]) -> dict[str, str]:
    """The names of all packages that requirements install, each with the name of one package that needs it.

    Markers are those of this machine. Raises LookupError for a package that is not installed.
    """
    waiting = [(Requirement(line), "whymatch", frozenset({""})) for line in requirements]
    visited: set[tuple[str, str]] = set()
    needed_by: dict[str, str] = {}
    while waiting:
        requirement, parent, extras = waiting.pop()
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)
        if not applies or (CUDA.match(name) and parent == "torch"):
            continue
        wanted = {(name, canonicalize_name(extra)) for extra in ("", *requirement.extras)}
        if wanted <= visited:
            continue
        visited |= wanted
        if name not in installed:
            raise LookupError(f"{name}, which {parent} needs, is not installed: pip install -e '.[dev]'")
        needed_by.setdefault(name, parent)
        chosen = frozenset(extra for package, extra in visited if package == name)
        waiting += [(Requirement(line), name, chosen) for line in installed[name].requires or []]
    return needed_by


def problems(requirements: Iterable[str], installed: Mapping[str, Distribution]) -> dict[str, str]:
    """What is wrong with the licences of the packages that requirements install, by package."""
    found = {}
    for name, parent in needed(requirements, installed).items():
        problem = licence_problem(installed[name])
        if problem is not None:
            found[name] = f"{name}, which {parent} needs: {problem}"
    return found


def packages_in(path: Iterable[Path] | None = None) -> dict[str, Distribution]:
    """Installed packages by name; the first of a name counts, as when it is imported."""
    found = distributions() if path is None else distributions(path=[str(folder) for folder in path])
    packages: dict[str, Distribution] = {}
    for package in found:
        packages.setdefault(canonicalize_name(package.metadata["Name"]), package)
    return packages


def own_requirements() -> list[str]:
    """What whymatch and all extras but `dev` and `docs` require, without the extras that name other extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in ("dev", "docs")}
    lines = [*project["dependencies"], *(line for some in extras.values() for line in some)]
    for line in lines:
        requirement = Requirement(line)
        assert requirement.name != "whymatch" or requirement.extras <= extras.keys()
    return [line for line in lines if Requirement(line).name != "whymatch"]


def test_whatever_the_extras_install_can_be_shipped() -> None:
    found = problems(own_requirements(), packages_in())
    assert [problem for name, problem in found.items() if name not in READ_BY_HAND] == []


def test_what_was_read_by_hand_had_to_be() -> None:
    assert READ_BY_HAND.keys() <= problems(own_requirements(), packages_in()).keys()


def test_the_walk_reaches_what_extras_of_dependencies_need() -> None:
    found = needed(own_requirements(), packages_in())
    assert {"torch", "matplotlib", "bm25s", "lancedb", "fastapi", "uvicorn"} <= found.keys()
    assert found["pyarrow"] != "whymatch"  # of ray[data], lancedb and pylance
    assert "pytest" not in found


def test_cuda_libraries_are_no_requirement_of_ours() -> None:
    assert not any(CUDA.match(canonicalize_name(Requirement(line).name)) for line in own_requirements())


BODY = "Permission is hereby granted to use this.\nNo warranty."
GPL_BODY = "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n"


def install(folder: Path, name: str, *fields: str) -> None:
    """Writes a package's metadata as pip would, and nothing else of it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        "Version: 1.0",
        *(field.replace("\n", "\n        ") for field in fields),
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (["License-Expression: GPL-3.0-or-later"], "'GPL-3.0-or-later', which is not allowed"),
        (["License-Expression: MIT AND AGPL-3.0-only"], "not allowed"),
        (["License-Expression: MIT AND (Apache-2.0 OR MIT) AND (GPL-2.0-only OR LGPL-3.0-only)"], "not allowed"),
        (["License-Expression: Apache-2.0 WITH Some-exception"], "not allowed"),
        (["License-Expression: LicenseRef-Proprietary"], "not allowed"),
        (["License: LGPL"], "'LGPL', which is not allowed"),
        (["License: GPLv3", "Classifier: License :: OSI Approved :: MIT License"], "'GPLv3', which is not allowed"),
        (
            ["License: MIT", "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)"],
            "GNU General",
        ),
        (["Classifier: License :: OSI Approved :: GNU Affero General Public License v3"], "GNU Affero"),
        (["Classifier: License :: Other/Proprietary License"], "Proprietary"),
        ([f"License: {GPL_BODY}"], "mentions the GNU licences"),
        ([f"License: {GPL_BODY}", "Classifier: License :: OSI Approved :: BSD License"], "mentions the GNU licences"),
        ([f"License: {BODY}"], "name no licence"),
        (["License: UNKNOWN"], "name no licence"),
        (["Classifier: License :: OSI Approved"], "name no licence"),
        ([], "name no licence"),
    ],
)
def test_a_licence_that_binds_users_or_is_not_named_is_refused(fields: list[str], says: str, tmp_path: Path) -> None:
    install(tmp_path, "direct", "License: MIT", 'Requires-Dist: hidden[more]>=1; python_version > "3"')
    install(tmp_path, "hidden", "License: MIT", 'Requires-Dist: refused; extra == "more"', "Provides-Extra: more")
    install(tmp_path, "refused", *fields)
    found = problems(["direct>=1"], packages_in([tmp_path]))
    assert [*found] == ["refused"]
    assert says in found["refused"]
    assert "which hidden needs" in found["refused"]


@pytest.mark.parametrize(
    "fields",
    [
        ["License-Expression: MIT"],
        ["License-Expression: GPL-2.0-only OR mit"],
        ["License-Expression: (GPL-2.0-only OR BSD-3-Clause) AND Apache-2.0 WITH LLVM-exception"],
        ["License: Apache 2.0", "Classifier: License :: OSI Approved :: Apache Software License"],
        [f"License: {BODY}", "Classifier: License :: OSI Approved :: BSD License"],
        [
            "License: UNKNOWN",
            "Classifier: License :: OSI Approved",
            "Classifier: License :: OSI Approved :: MIT License",
        ],
    ],
)
def test_permissive_licences_are_allowed_wherever_they_are_named(fields: list[str], tmp_path: Path) -> None:
    install(tmp_path, "Some_Package", *fields)
    assert problems(["some-package"], packages_in([tmp_path])) == {}


def test_what_this_machine_does_not_install_is_not_looked_for(tmp_path: Path) -> None:
    install(
        tmp_path, "one", "License: MIT", 'Requires-Dist: two; extra == "more"', 'Requires-Dist: x; python_version < "3"'
    )
    install(tmp_path, "torch", "License: MIT", "Requires-Dist: nvidia-cublas-cu12", "Requires-Dist: one")
    assert problems(["one", 'x; sys_platform == "amiga"', "torch"], packages_in([tmp_path])) == {}


def test_a_package_that_is_not_installed_is_no_package_without_problems(tmp_path: Path) -> None:
    install(tmp_path, "one", "License: MIT", "Requires-Dist: two")
    with pytest.raises(LookupError, match="two, which one needs, is not installed"):
        problems(["one"], packages_in([tmp_path]))


def test_every_file_of_the_wheel_has_its_licence() -> None:
    """LICENSES.md has a row for each, by patterns of which one fits, and names no file that is not there."""
    rows = re.findall(r"(?m)^\| (`.+?) \| ", (ROOT / "LICENSES.md").read_text(encoding="utf-8"))
    patterns = [pattern for row in rows for pattern in re.findall(r"`(whymatch/[^`]+)`", row)]
    source = ROOT / "src"
    covered = [file for pattern in patterns for file in source.glob(pattern)]
    present = {file for file in (source / "whymatch").rglob("*") if file.is_file() and "__pycache__" not in file.parts}
    assert {file for file in covered if file.is_file() and "__pycache__" not in file.parts} == present
    assert all(any(source.glob(pattern)) for pattern in patterns)
