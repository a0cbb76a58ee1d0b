"""Work on a cluster: nothing is lost, nothing is done twice, and what comes out is what one process would make."""

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import whymatch as wm
from tests.search import scaling
from tests.search.encoding import SIZE, WordSums, aligner, posts
from whymatch.cost import Cosine, Cost, Novelty, Order, RareWords, SharedWords, WordCounts
from whymatch.datasets.documents import CorpusFiles
from whymatch.learning import Projected
from whymatch.search.building import build, build_on_ray
from whymatch.search.index import Index
from whymatch.search.pairs import PairFiles, fingerprint, score_on_ray
from whymatch.search.scale import PartResult, WorkPart, cut_into_parts, run_parts
from whymatch.transport.constraints import Exactly

pytestmark = [
    pytest.mark.filterwarnings("ignore:::ray", "ignore:lancedb fork support"),  # of Ray to itself
]


@given(counts=st.lists(st.integers(0, 40), max_size=6), size=st.integers(1, 30))
def test_every_row_is_in_one_part(counts: list[int], size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    files = [(folder / f"{number}.jsonl", rows) for number, rows in enumerate(counts)]
    for file, _ in files:
        file.touch()
    parts = cut_into_parts(files, folder, "me", size)
    assert parts == cut_into_parts(files, folder, "me", size)
    assert all(part.rows == size for part in parts[:-1])
    found = [(each.file, row) for part in parts for each in part.ranges for row in range(each.first, each.last)]
    assert found == [(str(file), row) for file, rows in files for row in range(rows)]
    assert len({part.out for part in parts}) == len(parts)
    assert not {part.out for part in parts} & {part.out for part in cut_into_parts(files, folder, "another", size)}


def parts_of(folder: Path, rows: int, size: int) -> list[WorkPart]:
    file = folder / "in.jsonl"
    file.touch()
    return cut_into_parts([(file, rows)], folder / "out", "me", size)


def written(parts: list[WorkPart]) -> list[str]:
    return [row for part in parts for row in parquet.read_table(part.out).column("row").to_pylist()]


@pytest.mark.usefixtures("ray_cluster")
def test_a_worker_that_is_killed_is_replaced_and_its_part_comes_once(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, 50, 5)
    (tmp_path / "notes").mkdir()
    name = Path(parts[3].out).name
    done = [*run_parts(parts, scaling.Counting(tmp_path / "notes", killed_at=name))]
    assert sorted(done) == sorted(PartResult(p.out, 5, (f"{Path(p.out).name} has 5 rows",)) for p in parts)
    assert written(parts) == [f"{tmp_path / 'in.jsonl'}:{row}" for row in range(50)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(Path(p.out).name for p in parts)
    tries = Counter(path.name.rpartition(".")[0] for path in (tmp_path / "notes").iterdir())
    assert tries[name] == 2
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.usefixtures("ray_cluster")
def test_work_that_was_broken_off_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, 30, 5)
    (tmp_path / "notes").mkdir()
    counting = scaling.Counting(tmp_path / "notes")
    before = [*run_parts(parts[:2], counting)]
    assert sorted([*run_parts(parts, counting)]) == sorted(
        PartResult(p.out, 5, (f"{Path(p.out).name} has 5 rows",)) for p in parts
    )
    assert {*before} < {*run_parts(parts, counting)}
    assert all(path.suffix == ".0" for path in (tmp_path / "notes").iterdir())  # nothing was done again


@pytest.mark.usefixtures("ray_cluster")
def test_an_index_is_what_one_process_would_make(tmp_path: Path) -> None:
    corpus, bad = tmp_path / "corpus.jsonl", ['{"text": "no id"}', "{broken", '{"id": "post-3", "text": "again"}']
    bad.append('{"id": "x", "text": "A bad size.", "size": "large"}')
    rows = [json.dumps({"id": id_, "text": text, "size": len(text)}) for id_, text in posts(60).items()]
    corpus.write_text("\n".join([*rows[:30], *bad, *rows[30:]]))
    keep, files = {"size": int}, CorpusFiles(corpus, keep=("size",))
    alone, complaints = Index.create(tmp_path / "alone", aligner(), keep=keep), list[str]()
    build(alone, files, complaints.append)
    index = Index.create(tmp_path / "out", aligner(), keep=keep)
    reported: list[str] = []
    report = build_on_ray(index, files, scaling.words, "local", reported.append, rows_per_part=20)
    assert (report.written, report.bad) == (60, 4)
    assert sorted(reported) == sorted(complaints)
    assert sorted(index.ids()) == sorted(alone.ids())
    for one, other in zip(index.entries(posts(60)), alone.entries(posts(60)), strict=True):
        assert one.document == other.document
        assert one.metadata == other.metadata == {"size": len(one.text)}
        assert np.array_equal(one.vectors, other.vectors)
    assert not (tmp_path / "out" / "parts").exists()
    query = posts(1)["post-0"]
    assert [hit.id for hit in index.search(query)] == [hit.id for hit in alone.search(query)]
    again = build_on_ray(index, files, scaling.words, "local", reported.append, rows_per_part=20)
    assert (again.written, again.unchanged, len(index)) == (0, 60, 60)


def test_another_training_is_another_matcher() -> None:
    def ranker(seed: int) -> wm.Ranker:
        model = wm.Ranker(wm.Aligner("line", Projected(aligner().encoder, SIZE)), Exactly(1))
        torch.manual_seed(seed)
        assert isinstance(model.encoder, Projected)
        torch.nn.init.normal_(model.encoder.map.weight)
        return model

    assert fingerprint(ranker(0)) == fingerprint(ranker(0))
    assert len({fingerprint(some) for some in (ranker(0), ranker(1), aligner(), wm.Aligner("word", WordSums()))}) == 4


def test_other_costs_are_another_matcher() -> None:
    words = WordSums()
    nothing, one, more = WordCounts({}, 5), WordCounts({"a": 1}, 5), WordCounts({}, 6)
    terms = RareWords(0.1, nothing), SharedWords(0.1, nothing), RareWords(0.1, one), RareWords(0.1, more)
    found = [
        wm.Aligner("line", words),
        *(wm.Aligner("line", words, Cost(Cosine(), term)) for term in (*terms, Order(0.1), Novelty(0.1), Novelty(0.2))),
    ]
    assert len({fingerprint(one) for one in found}) == len(found)


@pytest.mark.usefixtures("ray_cluster")
def test_pairs_are_scored_as_one_process_would(tmp_path: Path) -> None:
    texts = [*posts(21).values()]
    rows = [json.dumps({"id": i, "left": a, "right": b}) for i, (a, b) in enumerate(pairwise(texts))]
    (tmp_path / "pairs.jsonl").write_text("\n".join([*rows, "nonsense", '{"left": "a"}']))
    pairs, out = PairFiles(tmp_path / "pairs.jsonl"), tmp_path / "out"
    done = [one for one, _ in score_on_ray(pairs, out, scaling.words, Exactly(2), "local", rows_per_part=8)]
    assert sum(len(one.complaints) for one in done) == 2
    found = sorted((row for one in done for row in parquet.read_table(one.out).to_pylist()), key=lambda row: row["row"])
    expected = aligner().align_many([*pairwise(texts)], Exactly(2), clip=True)
    for row, why in zip(found, expected, strict=False):
        assert row["score"] == pytest.approx(why.score)
        spans = [
            (link["left_start"], link["left_end"], link["right_start"], link["right_end"]) for link in row["links"]
        ]
        assert spans == [(*link.left, *link.right) for link in why.links]
    assert [bool(row["error"]) for row in found] == [False] * 20 + [True] * 2
