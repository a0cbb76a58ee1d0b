"""`whymatch doctor` finds what is wrong, and says what is missing."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whymatch.cli import doctor, main
from whymatch.cli.doctor import VERBS
from whymatch.matching.relations import RelationReader
from whymatch.text.encoders import models
from whymatch.transport.kernels.cpu.compiling import Kernel

Report = Callable[[], tuple[int, dict[str, Any]]]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """The exit status, and what `--json` prints."""

    def run() -> tuple[int, dict[str, Any]]:
        status = main(["doctor", "--json"])
        return status, json.loads(capsys.readouterr().out)

    return run


def test_a_sound_installation_passes_every_check(
    minilm: object, report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = report()
    assert (status, found["works"]) == (0, True)
    assert [check["name"] for check in found["checks"]] == ["solver", "alignment", "relations"]
    assert all(check["passed"] for check in found["checks"])
    assert found["model"]["backend"].startswith("openvino ")
    assert {"numpy", "openvino", "numba"} <= found["packages"].keys()
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("whymatch works: the self-test found no fault")
    assert Kernel.steps_left == 0  # as the tests set it


def test_a_solver_that_misses_an_optimum_is_found(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    best = doctor._best_by_trying
    monkeypatch.setattr(models, "bundle", lambda: None)
    monkeypatch.setattr(doctor, "_best_by_trying", lambda cost: np.array(best(cost)) - 1e-6)
    status, found = report()
    assert (status, found["works"]) == (1, False)
    assert "missed an optimum" in found["checks"][0]["found"]


def test_links_and_relations_that_are_wrong_are_found(
    minilm: object, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    relations = RelationReader.relations
    monkeypatch.setattr(doctor, "_RIGHT", "I like music.")
    monkeypatch.setattr(RelationReader, "relations", lambda self, pairs: relations(self, pairs)[::-1])
    status, found = report()
    assert status == 1
    assert [check["passed"] for check in found["checks"]] == [True, False, False]
    assert "have the links" in found["checks"][1]["found"]
    assert "same and contradicts" in found["checks"][2]["found"]


def test_a_damaged_model_is_a_fault_and_a_missing_one_is_said(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> None:
        raise ValueError("config.json is missing")

    monkeypatch.setattr(models, "bundle", damaged)
    status, found = report()
    assert status == 1
    assert found["checks"][0] == {"name": "model", "passed": False, "found": "config.json is missing", "seconds": 0.0}
    monkeypatch.setattr(models, "bundle", lambda: None)
    status, found = report()
    assert status == 0
    assert "make minilm" in found["model"]["advice"]
    assert not found["verbs"][0]["ready"]


def test_what_is_missing_for_a_verb_is_said_with_what_to_install(
    report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = doctor._installed
    monkeypatch.setattr(models, "bundle", lambda: None)
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "lancedb" else installed(name))
    _, found = report()
    rows = {row["verbs"]: row for row in found["verbs"]}
    assert rows["index, search, duplicates"]["missing"] == ["lancedb"]
    assert rows["index, search, duplicates"]["advice"] == "lancedb is missing: pip install 'whymatch[search]'"
    assert rows["serve"]["ready"]
    main(["doctor"])
    assert "pip install 'whymatch[search]'" in capsys.readouterr().out


def test_every_extra_that_a_verb_needs_is_one_of_the_package() -> None:
    assert {*VERBS.values()} <= doctor._requirements().keys()


def test_the_least_cost_by_trying_is_that_of_an_example() -> None:
    cost = np.array([[1.0, 5.0, 2.0], [2.0, 8.0, 9.0]])
    assert doctor._best_by_trying(cost) == [1.0, 4.0]
