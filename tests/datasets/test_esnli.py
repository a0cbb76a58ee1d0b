"""e-SNLI: the starred words are the spans, whoever marked them."""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.writing import real, write, write_rows
from whymatch.datasets.eraser import read_eraser
from whymatch.datasets.esnli import highlights, majority, read_esnli, read_snli
from whymatch.datasets.folders import read_split
from whymatch.text.spans import Span

LEFT, RIGHT = "Two women are embracing.", "The men fight."


def row(**changes: str) -> dict[str, str]:
    return {
        "pairID": "7.jpg#1",
        "gold_label": "contradiction",
        "Sentence1": LEFT,
        "Sentence2": RIGHT,
        "Sentence1_marked_1": "Two *women* are *embracing.*",
        "Sentence2_marked_1": " The *men* fight.",
        "Sentence1_marked_2": "*Two* *women* are embracing.",
        "Sentence2_marked_2": "The men *fight.*",
        "Sentence1_marked_3": LEFT,
        "Sentence2_marked_3": "The *men* *fight.*",
        **changes,
    }


def table(*rows: dict[str, str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("end", ["", ".gz"])
def test_the_first_annotator_the_second_and_the_majority(tmp_path: Path, end: str) -> None:
    (read,) = read_esnli(write(tmp_path / f"esnli_dev.csv{end}", table(row())))
    pair = read.pair()
    assert (pair.id, pair.label) == ("7.jpg#1", "contradiction")
    assert pair.left.pieces == ["Two", "women", "are", "embracing", "."]
    assert [pair.left[span] for span in pair.left_rationale or ()] == ["women", "embracing."]
    assert [pair.right[span] for span in pair.right_rationale or ()] == ["men"]
    other = read.pair("second")
    assert [other.left[span] for span in other.left_rationale or ()] == ["Two", "women"]
    assert [other.right[span] for span in other.right_rationale or ()] == ["fight."]
    most = read.pair("majority")
    assert [most.left[span] for span in most.left_rationale or ()] == ["women"]
    assert [most.right[span] for span in most.right_rationale or ()] == ["men", "fight."]


def test_one_annotator_is_the_majority_of_one(tmp_path: Path) -> None:
    only = {name: value for name, value in row().items() if not name.endswith(("_2", "_3"))}
    (read,) = read_esnli(write(tmp_path / "esnli_train_1.csv", table(only)))
    assert read.rationales("first") == read.rationales("majority")
    assert read.rationales("second") == (None, None)


@given(
    st.lists(st.tuples(st.text("abc.,'é*", min_size=1, max_size=4), st.booleans()), min_size=1), st.sampled_from(" \t")
)
def test_spans_cover_exactly_the_starred_words(words: list[tuple[str, bool]], blank: str) -> None:
    words = [(word, star) for word, star in words if not word.startswith("*") and not word.endswith("*")]
    plain = blank.join(word for word, _ in words)
    marked = "  ".join(f"*{word}*" if star else word for word, star in words)
    assert [plain[start:end] for start, end in highlights(marked, plain)] == [word for word, star in words if star]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("a *b* , c", ["b"]),  # other white space
        ("a *b,* c", ["b,"]),
        ("a *b*, c", ["b"]),
        ("a, *b c*", None),
        ("*a b,* c", ["a b,"]),
        ("a b, *c", None),
        ("a b,", None),
        ("a b, c d", None),
        ("a B, c", None),
    ],
)
def test_a_marked_sentence_is_the_sentence_up_to_white_space(marked: str, expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="marked sentence"):
            highlights(marked, "a b, c")
    else:
        assert ["a b, c"[start:end] for start, end in highlights(marked, "a b, c")] == expected


def test_more_than_half_is_the_majority() -> None:
    a, b = (Span(0, 2),), (Span(0, 2), Span(3, 5))
    assert majority((a, b)) == a
    assert majority((a, b, b)) == b
    assert majority((a, (), ())) == ()


@pytest.mark.parametrize(
    "bad",
    [
        {"gold_label": "-"},
        {"Sentence1_marked_1": "Two *men* are embracing."},
        {"Sentence2_marked_3": "The *men fight."},
        {"Sentence2_marked_3": ""},
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, bad: dict[str, str]) -> None:
    file = write(tmp_path / "esnli_test.csv", table(row(), row(**bad)))
    with pytest.raises(ValueError, match=r"esnli_test\.csv, line 3: "):
        list(read_esnli(file))


def test_broken_tables_are_named(tmp_path: Path) -> None:
    for text in ("gold_label,Sentence1\nneutral,a\n", table(row()) + 'x,"open\n', table(row()) + "," * 40 + "\n"):
        with pytest.raises(ValueError, match=r"bad\.csv, line [23]: "):
            list(read_esnli(write(tmp_path / "bad.csv", text)))


def test_labels_alone_have_no_rationales(tmp_path: Path) -> None:
    file = write(tmp_path / "train.tsv.gz", "premise\thypothesis\tlabel\tsource\nA cat.\tA pet.\tentailment\tsnli\n")
    (read,) = read_snli(file)
    assert read.pair().left_rationale is None
    for bad in ("a\tb\n", "a\tb\tmaybe\tx\n", "\tb\tneutral\tx\n"):
        with pytest.raises(ValueError, match=r"bad\.tsv, line 1: "):
            list(read_snli(write(tmp_path / "bad.tsv", bad)))


@pytest.mark.parametrize("layout", ["docs", "docs.jsonl"])
def test_erasers_esnli_has_its_sentences_on_two_sides(tmp_path: Path, layout: str) -> None:
    texts = {"7.jpg#1_premise": "Two women are embracing .", "7.jpg#1_hypothesis": "The men fight ."}
    if layout == "docs":
        for name, text in texts.items():
            write(tmp_path / "docs" / name, text)
    else:
        write_rows(tmp_path / "docs.jsonl", [{"docid": name, "document": text} for name, text in texts.items()])

    def piece(end: str, start: int) -> dict[str, Any]:
        return {"docid": f"7.jpg#1_{end}", "start_token": start, "end_token": start + 1, "text": ""}

    base: dict[str, Any] = {
        "annotation_id": "7.jpg#1",
        "classification": "contradiction",
        "query": "",
        "query_type": None,
    }
    named = {"docids": ["7.jpg#1_hypothesis", "7.jpg#1_premise"]}
    rows = [
        base | named | {"evidences": [[piece("premise", 1), piece("hypothesis", 1)], [piece("premise", 3)]]},
        base | {"docids": None, "evidences": [[piece("hypothesis", 2)]]},
    ]
    write_rows(tmp_path / "test.jsonl", rows)
    first, second = read_eraser(tmp_path, "test")
    assert (first.left.text, first.right.text) == tuple(texts.values())
    assert [first.left[span] for span in first.left_rationale or ()] == ["women", "embracing"]
    assert [first.right[span] for span in first.right_rationale or ()] == ["men"]
    assert second.left.text == first.left.text
    assert second.left_rationale == ()
    assert [second.right[span] for span in second.right_rationale or ()] == ["fight"]
    assert [len(pair.left) for pair in read_split(tmp_path, "test", "classify", "word")] == [5, 5]  # type: ignore[union-attr]


def test_the_real_esnli_is_read_in_full() -> None:
    folder = real("esnli")
    for split, count in (("dev", 9_842), ("test", 9_824)):
        pairs = list(read_esnli(folder / f"esnli_{split}.csv.gz"))
        assert len(pairs) == count
        assert Counter(len(pair.left_marks) for pair in pairs) == {3: count}
        for pair in pairs:
            assert all(not set(pair.left[a:b]) & {"*", " "} for marks in pair.left_marks for a, b in marks)


def test_the_real_labels_are_read_in_full() -> None:
    assert sum(1 for _ in read_snli(real("snli") / "train.tsv.gz")) == 94_092
