"""Data sets prepared: all or nothing, counted, and readable by our own readers."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.test_esnli import row as esnli_row
from tests.datasets.test_esnli import table
from tests.datasets.writing import corpus_folder, read_rows, real, write, write_rows
from whymatch.datasets.eraser import read_eraser, with_query_spans
from whymatch.datasets.folders import read_split
from whymatch.datasets.prepare import Choices, prepare
from whymatch.datasets.records import Pair, Query
from whymatch.matching.alignment import Alignment
from whymatch.text.document import Document, joined
from whymatch.text.spans import Span

SPLITS = ("train", "val", "test")


@pytest.mark.parametrize("hard", [False, True])
def test_a_corpus_becomes_queries_of_three_splits(tmp_path: Path, hard: bool) -> None:
    if hard:
        pytest.importorskip("bm25s")
    source, out = corpus_folder(tmp_path / "from"), tmp_path / "out"
    statistics = prepare("stackexchange", [source], out, Choices(hard=hard, negatives=5))
    assert sorted(file.name for file in out.iterdir()) == ["statistics.json", "test.jsonl", "train.jsonl", "val.jsonl"]
    assert json.loads((out / "statistics.json").read_text()) == statistics
    assert (statistics["documents"], statistics["similar pairs"]) == (120, 20)
    assert sum(statistics["splits"][split]["queries"] for split in SPLITS) == 40
    assert sum(statistics["splits"][split]["documents"] for split in SPLITS) == 120
    texts = []
    for split in SPLITS:
        for query in read_split(out, split, "rank", "sentence"):
            assert isinstance(query, Query)
            assert query.relevant == (True, *[False] * 5)
        rows = read_rows(out / f"{split}.jsonl")
        texts.append({text for row in rows for text in (row["query"], *row["documents"])})
    for one, other in (*pairwise(texts), (texts[0], texts[2])):
        assert not one & other


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    source = corpus_folder(tmp_path / "from")
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        prepare("stackexchange", [source], tmp_path / name, Choices(seed=seed, negatives=5))
    a, b, c = ([(tmp_path / name / f"{split}.jsonl").read_bytes() for split in SPLITS] for name in "abc")
    assert a == b
    assert a != c


def test_multinews_has_ten_dissimilar_documents(tmp_path: Path) -> None:
    lines = "".join(f"Story {n} starts. ||||| More of story {n}.\n" for n in range(80))
    write(tmp_path / "from" / "train.src.gz", lines)
    statistics = prepare("multinews", [tmp_path / "from"], tmp_path / "out")
    assert statistics["splits"]["test"]["queries"] == 16
    assert {len(row["ids"]) for row in read_rows(tmp_path / "out" / "test.jsonl")} == {11}


def esnli_folder(folder: Path, *, train: bool) -> Path:
    for name in ("dev", "test"):
        rows = [esnli_row(pairID=f"{name}{n}") for n in range(4)]
        other = {key: value.replace("women", "girls") for key, value in esnli_row().items()}
        write(folder / f"esnli_{name}.csv.gz", table(*rows, *[other | {"pairID": f"{name}{n}"} for n in range(4, 8)]))
    for number in (1, 2) if train else ():
        write(folder / f"esnli_train_{number}.csv", table(esnli_row(pairID=f"train{number}")))
    return folder


def test_esnli_keeps_its_splits_and_marks(tmp_path: Path) -> None:
    source = esnli_folder(tmp_path / "from", train=True)
    for annotation, words in (
        ("first", ["women", "embracing."]),
        ("majority", ["women"]),
        ("second", ["Two", "women"]),
    ):
        out = tmp_path / annotation
        statistics = prepare("esnli", [source], out, Choices(annotation=annotation))  # type: ignore[arg-type]
        assert [statistics["splits"][split]["pairs"] for split in SPLITS] == [2, 8, 8]
        pair = read_split(out, "train", "classify", "word")[0]
        assert isinstance(pair, Pair)
        assert [pair.left[span] for span in pair.left_rationale or ()] == words


def test_without_marks_to_train_on_half_of_the_validation_premises_move(tmp_path: Path) -> None:
    source = esnli_folder(tmp_path / "from", train=False)
    with pytest.raises(ValueError, match="--from ESNLI SNLI"):
        prepare("esnli", [source])
    labels = tmp_path / "snli"
    write(labels / "train.tsv", "premise\thypothesis\tlabel\tsource\nA cat.\tA pet.\tentailment\tx\n")
    statistics = prepare("esnli", [source, labels], tmp_path / "out")
    assert statistics["splits"]["train"]["pairs"] == 5
    assert statistics["splits"]["train"]["pairs with a rationale"] == 4
    train, val = (read_rows(tmp_path / "out" / f"{split}.jsonl") for split in ("train", "val"))
    assert not {row["left"] for row in train} & {row["left"] for row in val}
    assert "left_rationale" not in train[0]


def eraser_folder(folder: Path) -> Path:
    write(folder / "docs" / "a.txt", "The cat sat .\nIt was cold .\nThe dog ran away .\n")
    evidence = {"docid": "a.txt", "start_token": 8, "end_token": 13, "text": "The dog ran away ."}
    row = {
        "annotation_id": "a.txt:0:0",
        "classification": "True",
        "docids": None,
        "evidences": [[evidence]],
        "query": "Who ran ? || the dog",
    }
    for split in SPLITS:
        write_rows(folder / f"{split}.jsonl", [row | {"annotation_id": f"a.txt:0:{n}"} for n in range(3)])
    return folder


@pytest.mark.parametrize("name", ["multirc", "eraser"])
def test_erasers_folders_are_counted_and_read_the_same(tmp_path: Path, name: str) -> None:
    source, out = eraser_folder(tmp_path / "from"), tmp_path / "out"
    statistics = prepare(name, [source], out)
    assert statistics["splits"]["val"]["pairs"] == 3
    assert statistics["splits"]["val"]["words marked, %"] == round(100 * 5 / 13, 1)
    assert {file.name for file in out.iterdir()} == {"statistics.json", *(f"{split}.jsonl" for split in SPLITS)}
    for split in SPLITS:
        before, after = (read_split(folder, split, "classify", "sentence") for folder in (source, out))
        for given, prepared in zip(before, after, strict=True):
            assert isinstance(given, Pair)
            assert isinstance(prepared, Pair)
            assert (prepared.id, prepared.label, marked(prepared)) == (given.id, given.label, marked(given))
            assert (prepared.left.pieces, prepared.right.pieces) == (given.left.pieces, given.right.pieces)


def test_the_whole_query_is_one_more_span_and_all_else_survives(tmp_path: Path) -> None:
    source, out = eraser_folder(tmp_path / "from"), tmp_path / "out"
    rows = read_rows(source / "val.jsonl")
    write_rows(source / "val.jsonl", [rows[0], rows[1] | {"query": "The dog ran"}, rows[2] | {"evidences": []}])
    statistics = prepare("multirc", [source], out, Choices(query="whole"))
    assert {file.name for file in out.iterdir()} == {"statistics.json", *(f"{split}.jsonl" for split in SPLITS)}
    assert statistics["documents in all"] == 1
    for split in SPLITS:
        before, after = (read_split(folder, split, "classify", "sentence") for folder in (source, out))
        for given, prepared in zip(before, after, strict=True):
            assert isinstance(given, Pair)
            assert isinstance(prepared, Pair)
            assert (prepared.id, prepared.label, prepared.left_rationale) == (given.id, given.label, None)
            assert prepared.left.pieces[: len(given.left)] == given.left.pieces
            assert prepared.right.pieces == given.right.pieces
            assert marked(prepared) == marked(given)
    three, alone, unmarked = read_split(out, "val", "classify", "sentence")
    assert isinstance(three, Pair)
    assert isinstance(alone, Pair)
    assert isinstance(unmarked, Pair)
    assert three.left.pieces == ["Who ran ?", "the dog", "Who ran ? the dog"]
    assert marked(three) == ["The dog ran away ."]
    assert alone.left.pieces == ["The dog ran"]
    assert unmarked.right_rationale == ()


def marked(pair: Pair) -> list[str]:
    return [pair.right[span] for span in pair.right_rationale or ()]


def test_marks_of_both_sides_stay_with_their_spans() -> None:
    left, right = joined(["one", "two"]), Document("a b c  d", (Span(0, 1), Span(2, 5), Span(7, 8)))
    marks = (Span(4, 7),), (Span(3, 4), Span(7, 8))  # inside a span, and a whole one
    pair = with_query_spans(Pair("x", left, right, "yes", *marks), "whole")
    assert pair.left.pieces == ["one", "two", "one two"]
    assert [pair.left[span] for span in pair.left_rationale or ()] == ["two"]
    assert marked(pair) == ["b c", "d"]
    alone = with_query_spans(Pair("x", left, right, "yes", (Span(0, 3), Span(4, 7)), marks[1]), "one")
    assert alone.left.pieces == [alone.left[span] for span in alone.left_rationale or ()] == ["one two"]
    assert marked(alone) == ["b c", "d"]
    nobody_asked = with_query_spans(Pair("x", left, right, "yes"), "whole")
    assert (nobody_asked.left_rationale, nobody_asked.right_rationale) == (None, None)
    for query in ("whole", "one"):
        nothing = with_query_spans(Pair("x", joined([]), right, "yes", ()), query)
        assert (nothing.left.pieces, nothing.left_rationale) == ([], ())


def scored(predictions: Path, folder: Path, split: str) -> float:
    """Token F1 as ERASER's scorer has it, from the files alone: instances are (annotation, document, token)."""
    gold = {
        (row["annotation_id"], piece["docid"], token)
        for row in read_rows(folder / f"{split}.jsonl")
        for group in row["evidences"]
        for piece in group
        for token in range(piece["start_token"], piece["end_token"])
    }
    lengths = {file.name: len(file.read_text().split()) for file in (folder / "docs").iterdir()}
    said: set[tuple[str, str, int]] = set()
    for row in read_rows(predictions):
        for rationale in row["rationales"]:
            for span in rationale["hard_rationale_predictions"]:
                assert 0 <= span["start_token"] < span["end_token"] <= lengths[rationale["docid"]]
                tokens = range(span["start_token"], span["end_token"])
                said |= {(row["annotation_id"], rationale["docid"], token) for token in tokens}
    return 2 * len(said & gold) / (len(said) + len(gold))


def test_predictions_score_in_erasers_own_layout(tmp_path: Path) -> None:
    folder, file = eraser_folder(tmp_path / "from"), tmp_path / "predictions.jsonl"
    for sentences, expected in (([2], 1.0), ([1, 2], 2 * 5 / (9 + 5)), ([0], 0.0)):
        rows: list[dict[str, Any]] = []
        for pair in read_eraser(folder, "test"):
            links = aligned(pair, sentences)
            rows.append(links.to_eraser(pair.id, left=None, right="a.txt"))
        write_rows(file, rows)
        assert scored(file, folder, "test") == pytest.approx(expected)


def aligned(pair: Pair, sentences: list[int]) -> Alignment:
    """An alignment that links these right spans: nearest in a table of vectors that says so."""
    import torch

    import whymatch as wm

    left, right = pair.left.pieces, pair.right.pieces
    vectors = dict(zip([*left, *right], torch.eye(len(left) + len(right)), strict=True))
    for number, sentence in enumerate(sentences):
        vectors[right[sentence]] = vectors[left[number]]
    aligner = wm.Aligner("line", wm.Precomputed(vectors))
    return aligner.align(pair.left, pair.right, wm.Exactly(len(sentences)))


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    source = esnli_folder(tmp_path / "from", train=True)
    write(source / "esnli_test.csv", table(esnli_row(), esnli_row(gold_label="?")))
    with pytest.raises(ValueError, match=r"esnli_test\.csv, line 3"):
        prepare("esnli", [source], tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["from"]


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    source, out = corpus_folder(tmp_path / "from"), tmp_path / "out"
    write(out / "mine.txt", "precious")
    with pytest.raises(ValueError, match="there already"):
        prepare("stackexchange", [source], out, Choices(negatives=5))
    assert [file.name for file in out.iterdir()] == ["mine.txt"]
    (out / "mine.txt").unlink()
    prepare("stackexchange", [source], out, Choices(negatives=5))
    assert (out / "train.jsonl").is_file()


@pytest.mark.parametrize(
    ("name", "choices", "said"),
    [
        ("nothing", Choices(), "Data sets are"),
        ("stackexchange", Choices(), "holds none of"),
        ("multinews", Choices(), r"no \.src"),
        ("esnli", Choices(), "no esnli_dev"),
        ("multirc", Choices(), "not ERASER's layout"),
        ("multirc", Choices(hard=True), "has labels"),
        ("stackexchange", Choices(negatives=0), "1 or more"),
        *(
            (name, Choices(query="whole"), f"{name} has no queries of several parts: --query is for multirc and eraser")
            for name in ("stackexchange", "multinews", "esnli")
        ),
    ],
)
def test_what_cannot_be_prepared_is_said(tmp_path: Path, name: str, choices: Choices, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        prepare(name, [tmp_path], None, choices)
    with pytest.raises(ValueError, match="is not there"):
        prepare("multinews", [tmp_path / "missing"])


def test_the_real_sets_are_prepared_without_a_document_in_two_splits(tmp_path: Path) -> None:
    for name, folder in (("stackexchange", real("stackexchange/cqadupstack")), ("multinews", real("multinews"))):
        statistics = prepare(name, [folder], tmp_path / name)
        seen = []
        for split in SPLITS:
            rows = read_rows(tmp_path / name / f"{split}.jsonl")
            seen.append({id_ for row in rows for id_ in (row["id"], *row["ids"])})
            share = statistics["splits"][split]["documents"] / statistics["documents"]
            assert share == pytest.approx(0.8 if split == "train" else 0.1, abs=0.005)
        assert not seen[0] & seen[1] | seen[0] & seen[2] | seen[1] & seen[2]
