"""One server for many tests, in a process of its own and in this one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.serve.serving import LIMITS, Served, indexed, serving, until
from whymatch.serve.app import create


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, minilm: Path) -> Path:
    return indexed(tmp_path_factory.mktemp("served") / "index")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, index: Path) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("server"), "--index", index) as found:
        yield found


@pytest.fixture(scope="module")
def client(index: Path) -> Iterator[TestClient]:
    with TestClient(create(None, index, limits=LIMITS), base_url="http://localhost") as found:
        until(lambda: found.get("/ready").status_code == 200)
        yield found
