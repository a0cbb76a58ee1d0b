"""What is shipped holds the sources and the data that belong to it, and nothing else."""

import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from whymatch import __version__
from whymatch.text.encoders.models import BUNDLE, BUNDLED

ROOT = Path(__file__).parents[1]
MINILM = ROOT / "packages" / "minilm"
DATA = {
    "matching/entailment_weights/card.json",
    "matching/entailment_weights/weights.safetensors",
    "matching/general/measured.json",
    "matching/general/minilm.safetensors",
    "matching/general/spans.safetensors",
    "matching/general/texts.txt",
    "py.typed",
    "serve/static/page.html",
    "serve/static/page.js",
    "show/templates/page.html",
    "show/templates/picture.js",
    "text/antonyms.txt",
}
"""Some of the files without which parts of the package do not work."""


def sources(folder: Path) -> set[str]:
    """The files of a package, without what Python and numba keep beside them."""
    files = (file.relative_to(folder.parent) for file in folder.rglob("*") if file.is_file())
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return ZipFile(file)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources(ROOT / "src" / "whymatch")
    assert {f"whymatch/{name}" for name in DATA} <= names
    about = {name.partition(".dist-info/")[2] for name in wheel.namelist()} - {""}
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/LICENSES.md"}


def test_the_wheel_is_small_and_says_what_it_needs(wheel: ZipFile) -> None:
    assert sum(entry.compress_size for entry in wheel.infolist()) < 8e6
    metadata = wheel.read(f"whymatch-{__version__}.dist-info/METADATA").decode()
    base = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert any("openvino" in line for line in base)
    assert not any(heavy in line for line in base for heavy in ("torch", "transformers", "scipy", "lancedb"))
    assert "Requires-Dist: whymatch-minilm==0.1.0; extra == 'bundled'" in metadata


def test_the_sdist_holds_what_the_wheel_is_built_from(tmp_path: Path) -> None:
    (file,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(file) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    about = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "LICENSES.md", "PKG-INFO", "README.md", "SECURITY.md"}
    others = about | {"constraints.txt", "pyproject.toml", ".gitignore"}
    assert names == {f"src/{name}" for name in sources(ROOT / "src" / "whymatch")} | others


def test_the_package_of_the_model_holds_every_file_of_it(minilm: Path, tmp_path: Path) -> None:
    """Built from a copy, whose model is gathered from the one that is installed."""
    copy = tmp_path / "minilm"
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", f"src/{BUNDLE}/__init__.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((MINILM / name).read_bytes())
    for name in BUNDLED:
        target = copy / "src" / BUNDLE / "model" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"weights" if name == "model.safetensors" else (minilm / name).read_bytes())
    (copy / ".gitignore").write_text(f"/src/{BUNDLE}/model/\n")
    (file,) = WheelBuilder(str(copy)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    with ZipFile(file) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
        about = {name.partition(".dist-info/")[2] for name in packed.namelist()} - {""}
        metadata = packed.read("whymatch_minilm-0.1.0.dist-info/METADATA").decode()
    assert names == {f"{BUNDLE}/__init__.py", *(f"{BUNDLE}/model/{name}" for name in BUNDLED)}
    assert about == {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE", "licenses/NOTICE"}
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist" not in metadata
    assert file.endswith("/whymatch_minilm-0.1.0-py3-none-any.whl")
    assert f"dist/{Path(file).name}" in (ROOT / "Makefile").read_text()
