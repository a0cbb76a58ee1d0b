"""One server for many tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.serving import Served, indexed, serving


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, minilm: Path) -> Path:
    return indexed(tmp_path_factory.mktemp("served") / "index")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, index: Path) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("server"), "--index", index) as found:
        yield found
