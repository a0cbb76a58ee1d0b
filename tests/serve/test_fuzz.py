"""Requests made up from the schema, right and wrong: no failure, no traceback, and the process lives on."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from tests.serve.serving import Served, until
from whymatch.serve.app import create

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ASKING = ["/align", "/align/batch", "/check", "/compare", "/rank", "/search"]
RIGHT = [(path, GenerationMode.POSITIVE) for path in [*ASKING, "/health", "/ready", "/metrics"]]
WRONG = [(path, GenerationMode.NEGATIVE) for path in ASKING]
KEEP = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [
    "left",
    "right",
    "pairs",
    "answer",
    "sources",
    "old",
    "new",
    "relations",
    "query",
    "documents",
    "constraint",
    "below",
    "spans",
    "clip",
    "top_k",
    "page",
]


@pytest.mark.parametrize(("path", "mode"), RIGHT + WRONG)
def test_no_request_makes_the_server_fail(served: Served, path: str, mode: GenerationMode) -> None:
    for spans in ("line", "paragraph", "text"):  # until their backgrounds are encoded, requests are told to come again
        asked = {"left": "A text.", "right": "Another text.", "spans": spans}
        until(lambda asked=asked: served.post("/align", asked).status_code != 503)
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json", timeout=None)
    operation: Any = next(iter(schema.include(path=path).get_all_operations())).ok()  # type: ignore[union-attr]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=60, deadline=None, suppress_health_check=KEEP, phases=[Phase.generate], database=None)
    def ask(case: Any) -> None:
        response = case.call(base_url=served.url, timeout=None)
        assert "Traceback" not in response.text
        assert ".py" not in response.text or response.status_code == 200
        case.validate_response(response, checks=CHECKS)

    ask()
    assert served.process.poll() is None
    assert httpx.get(f"{served.url}/health", timeout=None).status_code == 200


@pytest.fixture(scope="module")
def client(index: Path) -> Any:
    with TestClient(create(None, index), base_url="http://localhost", raise_server_exceptions=False) as found:
        until(lambda: found.get("/ready").status_code == 200)
        yield found


@settings(max_examples=150, suppress_health_check=[*KEEP, HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(ASKING), body=st.binary(max_size=60) | st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_whatever_comes_is_answered_or_refused(client: TestClient, path: str, body: Any) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert found.status_code < 500
    assert "Traceback" not in found.text
