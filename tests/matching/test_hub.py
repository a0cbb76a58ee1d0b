"""A model that was pushed is the model that comes back, through a real server of the hub's protocol on this machine."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import whymatch as wm
from whymatch.learning import Projected
from whymatch.matching.card import write_card

NAME = "somebody/finder-of-duplicates"
VECTORS = {"the cat sat": [1.0, 0.0, 0.2], "a dog ran": [0.0, 1.0, 0.1], "a cat was sitting": [0.9, 0.1, 0.2]}


def digest(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """Makes repositories, takes commits, lists files and hands them out, as the hub does for small files."""

    files: ClassVar[dict[str, dict[str, bytes]]] = {}
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(("POST", self.path))
        if self.headers.get("Authorization") != "Bearer secret":
            self.answer(401, {"error": "Who is this?"})
        elif self.path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization']}/{given['name']}"
            self.files.setdefault(name, {})
            self.answer(200, {"url": f"http://{self.headers['Host']}/{name}"})
        elif self.path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            how = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            self.answer(200, {"files": [{"path": one["path"], **how} for one in json.loads(body)["files"]]})
        else:
            name = self.path.removeprefix("/api/models/").removesuffix("/commit/main")
            self.commit(name, [json.loads(line) for line in body.splitlines()])

    def commit(self, name: str, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            if line["key"] == "file":
                self.files[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del self.files[name][line["value"]["path"]]
        sha = self.sha(name)
        self.answer(200, {"commitUrl": f"http://{self.headers['Host']}/{name}/commit/{sha}", "commitOid": sha})

    def do_GET(self) -> None:
        self.asked.append((self.command, self.path))
        parts = self.path.partition("?")[0].strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        name, rest = ("/".join(parts[2:4]), parts[4:]) if api else ("/".join(parts[:2]), parts[2:])
        files = self.files.get(name, {})
        if api and name in self.files and rest[0] == "tree":
            about = {path: {"size": len(data), "oid": digest(data)} for path, data in files.items()}
            self.answer(200, [{"type": "file", "path": path, **own} for path, own in about.items()])
        elif api and name in self.files:
            siblings = [{"rfilename": path} for path in files]
            self.answer(200, {"id": name, "sha": self.sha(name), "siblings": siblings})
        elif rest[:1] == ["resolve"] and (data := files.get("/".join(rest[2:]))) is not None:
            self.answer(200, data, {"ETag": digest(data), "X-Repo-Commit": self.sha(name)})
        else:
            self.answer(404, {"error": "There is no such thing."}, {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self) -> None:
        self.do_GET()

    def sha(self, name: str) -> str:
        return digest(repr(sorted(self.files[name].items())).encode())

    def answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """The server, which huggingface_hub takes for the hub, with an empty cache."""
    Hub.files.clear()
    Hub.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    files = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", files)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield Hub
    server.shutdown()
    server.server_close()
    thread.join()


def classifier() -> wm.Classifier:
    torch.manual_seed(0)
    encoder = Projected(wm.Precomputed(VECTORS), 3)
    return wm.Classifier(wm.Aligner("line", encoder, "cosine"), wm.Exactly(1), ["no", "yes"])


def test_a_model_that_was_pushed_comes_back(hub: type[Hub]) -> None:
    model, given = classifier(), wm.Precomputed(VECTORS)
    address = model.push_to_hub(NAME, token="secret")
    assert address.startswith("http://127.0.0.1")
    assert hub.files[NAME].keys() >= {"config.json", "model.safetensors", "README.md"}
    with pytest.raises(ValueError, match=r"is not on this machine\..*download=True"):
        wm.Classifier.from_pretrained(NAME, given)
    back = wm.Classifier.from_pretrained(NAME, given, download=True)
    pairs = [("the cat sat", "a cat was sitting"), ("the cat sat", "a dog ran")]
    assert [one.probabilities for one in back.predict(pairs)] == [one.probabilities for one in model.predict(pairs)]
    hub.asked.clear()
    assert wm.Classifier.from_pretrained(NAME, given).labels == ["no", "yes"]  # from the cache
    assert hub.asked == []
    with pytest.raises(ValueError, match="is a classifier, not a ranker"):
        wm.Ranker.from_pretrained(NAME, given)


def test_a_model_that_is_pushed_again_takes_the_place_of_the_first(hub: type[Hub]) -> None:
    classifier().push_to_hub(NAME, token="secret")
    hub.files[NAME]["encoder/left.safetensors"] = b"of an earlier model"
    ranker = wm.Ranker(wm.Aligner("line", Projected(wm.Precomputed(VECTORS), 3), "cosine"), wm.Exactly(1))
    ranker.push_to_hub(NAME, token="secret", message="A ranker")
    assert "encoder/left.safetensors" not in hub.files[NAME]
    assert wm.Ranker.from_pretrained(NAME, wm.Precomputed(VECTORS), download=True).kind == "ranker"


def test_the_card_names_the_model_and_has_what_a_run_measured(hub: type[Hub], tmp_path: Path) -> None:
    model = classifier()
    model.push_to_hub(NAME, token="secret")
    card = hub.files[NAME]["README.md"].decode()
    assert card.startswith("---\nlibrary_name: whymatch\npipeline_tag: text-classification\n")
    assert f'wm.Classifier.from_pretrained("{NAME}", download=True)' in card
    model.save_pretrained(tmp_path / "run" / "model")
    write_card(tmp_path / "run" / "model", {"macro F1": 0.75}, "toy", "val")
    model.push_to_hub(NAME, token="secret", card_of=tmp_path / "run")
    card = hub.files[NAME]["README.md"].decode()
    assert "## On toy, val" in card
    assert f'"{NAME}"' in card
    (tmp_path / "run" / "model" / "README.md").write_text("Written by hand.")
    model.push_to_hub(NAME, token="secret", card_of=tmp_path / "run")
    assert hub.files[NAME]["README.md"] == b"Written by hand."
    with pytest.raises(ValueError, match="holds no card"):
        model.push_to_hub(NAME, token="secret", card_of=tmp_path)


def test_what_was_damaged_on_the_way_is_no_model(hub: type[Hub]) -> None:
    classifier().push_to_hub(NAME, token="secret")
    hub.files[NAME]["model.safetensors"] = hub.files[NAME]["model.safetensors"][:-1] + b"x"
    with pytest.raises(ValueError, match=r"model.safetensors is not what was written"):
        wm.Classifier.from_pretrained(NAME, wm.Precomputed(VECTORS), download=True)


def test_refusals_say_why(hub: type[Hub]) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError):
        classifier().push_to_hub(NAME, token="wrong")
    with pytest.raises(ValueError, match="owner/model, got 'model'"):
        classifier().push_to_hub("model")
    with pytest.raises(ValueError, match="could not be fetched"):
        wm.Ranker.from_pretrained("nobody/nothing", download=True)
    assert hub.files == {}


def test_a_folder_of_such_a_name_is_a_folder(hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    classifier().save_pretrained(NAME)
    assert wm.Classifier.from_pretrained(NAME, wm.Precomputed(VECTORS)).labels == ["no", "yes"]
    assert hub.asked == []
