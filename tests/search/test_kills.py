"""Writers killed at any moment lose and double nothing that they acknowledged.

`WHYMATCH_KILLS=50` makes it fifty kills instead of a few.
"""

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.search.encoding import aligner, post, posts
from tests.search.writing import KEEP, change, index_corpus
from tests.search.writing import kept as values
from whymatch.search.index import Index

KILLS = int(os.environ.get("WHYMATCH_KILLS", "6"))
PRELOADED = ["tests.search.writing", "lancedb"]  # so that a writer starts at once


@pytest.fixture(scope="module")
def start() -> Callable[..., Any]:
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)

    def run(target: Callable[..., None], *arguments: object) -> Any:
        process = context.Process(target=target, args=arguments, daemon=True)
        process.start()
        return process

    return run


def test_indexing_killed_and_started_again_ends_with_every_row_once(start: Callable[..., Any], tmp_path: Path) -> None:
    corpus, documents = tmp_path / "c.jsonl", posts(max(600, 60 * KILLS))
    rows = ({"id": id_, "text": text, **values(text)} for id_, text in documents.items())
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    draw, kills = random.Random(0), 0
    while True:
        process = start(index_corpus, tmp_path / "index", corpus)
        process.join(draw.uniform(0.02, 0.3) if kills < KILLS else None)
        if process.exitcode is not None:
            assert process.exitcode == 0
            break
        process.kill()
        process.join()
        kills += 1
    assert kills >= 1
    index = Index.open(tmp_path / "index", aligner())
    assert sorted(index.ids()) == sorted(documents)
    entries = {entry.id: entry for entry in index.entries(documents)}
    assert {id_: (entry.text, entry.metadata) for id_, entry in entries.items()} == {
        id_: (text, values(text)) for id_, text in documents.items()
    }
    for number in (0, 77, 149):
        assert index.search(post(number))[0].id == f"post-{number}"
    assert index.background is not None
    kept = [tails for id_ in documents if (tails := entries[id_].tails) is not None]
    assert len(kept) == len(documents)
    anew = index.tails([replace(entries[id_], tails=None) for id_ in documents])
    np.testing.assert_allclose(np.concatenate(kept), np.concatenate(anew), rtol=1e-3)


def test_two_writers_that_are_killed_lose_and_double_nothing(start: Callable[..., Any], tmp_path: Path) -> None:
    draw, folder = random.Random(1), tmp_path / "index"
    Index.create(folder, aligner(), keep=KEEP)
    before: dict[str, dict[str, str]] = {"one": {}, "two": {}}
    for kill in range(KILLS):
        journals = {who: tmp_path / f"{who}-{kill}.jsonl" for who in before}
        writers = [start(change, folder, who, 2 * kill + side, journals[who]) for side, who in enumerate(before)]
        for process, journal in zip(writers, journals.values(), strict=True):
            while acknowledgements(journal) < 3:
                assert process.is_alive()  # not ended by an error of its own
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.3))
            process.kill()
            process.join()
        found = contents(folder)
        for who, journal in journals.items():
            lines = journal.read_text().splitlines() if journal.exists() else []
            mine = {id_: text for id_, text in found.items() if id_.startswith(f"{who}-")}
            assert mine in possible(before[who], [json.loads(line) for line in lines], who)
            before[who] = mine


def acknowledgements(journal: Path) -> int:
    """How many changes a writer has acknowledged so far."""
    return journal.read_text().count("done") if journal.exists() else 0


def contents(folder: Path) -> dict[str, str]:
    """What is in the index: every document once, and found by search."""
    index = Index.open(folder, aligner())
    ids = list(index.ids())
    assert len(ids) == len(set(ids))
    found = {some.id: some.text for some in index.entries(ids)}
    assert all(some.metadata == values(some.text) for some in index.entries(ids))
    assert all(text == post(int(id_.split("-")[1])) for id_, text in found.items() if id_.startswith("both-"))
    for id_ in random.Random(len(ids)).sample(ids, min(3, len(ids))):
        hits = index.search(found[id_], 3)
        assert id_ in [hit.id for hit in hits]
        assert hits[0].text == found[id_]
    return found


def possible(state: dict[str, str], lines: list[dict[str, Any]], who: str) -> list[dict[str, str]]:
    """What a writer's journal allows: all that it acknowledged, and the last change as a whole or not at all."""
    states = [state]
    for line in lines:
        if "verb" in line:
            states.append(applied(states[-1], line, who))
    return states[-1:] if not lines or "done" in lines[-1] else states[-2:]


def applied(state: dict[str, str], line: dict[str, Any], who: str) -> dict[str, str]:
    mine = {id_: text for id_, text in line["documents"].items() if id_.startswith(f"{who}-")}
    if line["verb"] == "delete":
        return {id_: text for id_, text in state.items() if id_ not in mine}
    return {**mine, **state} if line["verb"] == "add" else {**state, **mine}
