"""The image serves for a user without rights on a file system that it cannot write to, and is small."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TAG = "whymatch:tested"
TOKEN = "a-token-of-the-test"


def docker(*arguments: str) -> str:
    """What a command of Docker prints."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


@pytest.fixture(scope="module")
def image() -> str:
    """The image, built here."""
    try:
        docker("version", "--format", "{{.Server.Version}}")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no Docker engine answers: {getattr(error, 'stderr', '') or error}")
    if len([*(ROOT / "dist").glob("whymatch*.whl")]) < 2:
        pytest.skip("there are no wheels in dist: make dist")
    docker("build", "-q", "-t", TAG, ".")
    return TAG


@pytest.fixture(scope="module")
def address(image: str) -> Iterator[str]:
    """Where a container serves."""
    options = ["-d", "--rm", "-p", "127.0.0.1::8000", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]
    container = docker("run", *options, "-e", f"WHYMATCH_TOKEN={TOKEN}", image)
    try:
        while docker("inspect", "-f", "{{.State.Health.Status}}", container) == "starting":
            time.sleep(1)
        assert docker("inspect", "-f", "{{.State.Health.Status}}", container) == "healthy"
        assert docker("exec", container, "id", "-u") != "0"
        yield f"http://{docker('port', container, '8000').splitlines()[0]}"
    finally:
        docker("stop", container)


def test_the_image_is_smaller_than_a_gigabyte(image: str) -> None:
    assert int(docker("image", "inspect", "-f", "{{.Size}}", image)) < 1e9


def test_a_container_aligns(address: str) -> None:
    texts = json.dumps({"left": "The cat slept. It is cold.", "right": "A cat was asleep."}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/align", texts, headers)) as answer:
        assert len(json.load(answer)["links"]) == 1


def test_what_the_image_is_made_of_is_what_is_built() -> None:
    """Without an engine: the wheels that the Dockerfile copies are let through to it, and nothing else is."""
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert let_in == ["*", "!constraints.txt", "!dist/whymatch-*.whl", "!dist/whymatch_minilm-*.whl"]
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = " ".join(line for line in lines if line.startswith("COPY dist")).split()[1:-1]
    assert {f"!{name}" for name in copied} == {*let_in[1:]}
    users = [line for line in lines if line.startswith("USER ")]
    assert users == ["USER 65532:65532"]
