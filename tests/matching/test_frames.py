"""Data frames: a row per pair, the same kind out as in, and the same numbers as without a frame."""

from collections.abc import Callable
from typing import Any

import pytest

import whymatch as wm
from whymatch.matching.frames import Alignments

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'whymatch[search]'")
pd = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'whymatch[dev]'")

LEFT = ["Take 5 mg of it twice a day. It helps.", "Wine is red.", "The disk is full.", "Rain fell."]
RIGHT = ["Take 50 mg of it twice a day.", "Prices rose.", "There is no room on the disk.", "Rain fell."]
PAIRS = [*zip(LEFT, RIGHT, strict=True)]
ADDED = ["probability", "verdict", "bits", "links", "conflicts", "error"]


def as_pandas(columns: dict[str, Any]) -> Any:
    return pd.DataFrame(columns, index=[7 * place for place in range(len(columns["left"]))])


def as_polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed: pip install polars").DataFrame(columns)


def as_dataset(columns: dict[str, Any]) -> Any:
    reason = "datasets is not installed: pip install 'whymatch[datasets]'"
    return pytest.importorskip("datasets", reason=reason).Dataset.from_dict(columns)


KINDS: list[Any] = [as_pandas, as_polars, pa.table, as_dataset]


@pytest.fixture(scope="module")
def aligner(minilm: object) -> wm.Aligner:
    return wm.Aligner(relations=True)


def rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of any frame, missing values as None."""
    if isinstance(frame, pd.DataFrame):
        values: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
        return values
    if hasattr(frame, "to_list"):  # a Dataset
        return list(frame.to_list())
    return list(frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dicts())


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_comes_back_with_its_alignments(make: Callable[..., Any], aligner: wm.Aligner) -> None:
    frame = make({"number": [1, 2, 3, 4], "left": LEFT, "right": RIGHT})
    out = aligner.align_frame(frame, "left", "right")
    assert type(out) is type(frame)
    expected = aligner.align_many(PAIRS, links_only=True)
    for number, (row, why) in enumerate(zip(rows(out), expected, strict=True), start=1):
        assert [*row] == ["number", "left", "right", *ADDED]
        assert (row["number"], row["left"], row["right"]) == (number, why.left.text, why.right.text)
        assert (row["probability"], row["verdict"], row["bits"]) == (why.probability, why.verdict, why.bits)
        assert row["error"] is None
        for values, link in zip(row["links"], why.links, strict=True):
            assert (values["left"], values["right"], values["bits"]) == (*link.texts, link.bits)
            assert why.left.text[values["left_start"] : values["left_end"]] == values["left"]
            assert why.right.text[values["right_start"] : values["right_end"]] == values["right"]
            assert values["relation"] == (link.relation and link.relation.name)
    assert rows(out)[0]["conflicts"] == [{"kind": "number", "left": "5 mg", "right": "50 mg"}]
    if isinstance(out, pd.DataFrame):
        assert [*out.index] == [*frame.index]


@pytest.mark.parametrize("make", KINDS)
def test_a_row_that_cannot_be_aligned_has_its_error_and_changes_no_other(
    make: Callable[..., Any], aligner: wm.Aligner
) -> None:
    bad = ["日本語のテキストです。", None, "", *LEFT[:2]]
    out = rows(aligner.align_frame(make({"left": bad, "right": [*RIGHT[:3], *RIGHT[:2]]}), "left", "right"))
    good = rows(aligner.align_frame(make({"left": LEFT[:2], "right": RIGHT[:2]}), "left", "right"))
    assert out[3:] == good
    assert all(row["error"] and row["probability"] is None and row["links"] == [] for row in out[:2])
    assert "NoneType" in out[1]["error"]
    assert [row["error"] for row in out[2:]] == [None, None, None]


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_without_rows_gets_columns_of_the_same_types(make: Callable[..., Any], aligner: wm.Aligner) -> None:
    frame = make({"left": LEFT, "right": RIGHT})
    full, none = (aligner.align_frame(rows_of, "left", "right") for rows_of in (frame, without_rows(frame)))
    assert types_of(full) == types_of(none)
    assert len(none) == 0


def without_rows(frame: Any) -> Any:
    return frame.select(range(0)) if hasattr(frame, "features") else frame[:0]


def types_of(frame: Any) -> Any:
    if isinstance(frame, pd.DataFrame):
        return [str(kind) for kind in frame.dtypes]
    return frame.features if hasattr(frame, "features") else frame.schema


def test_a_dataset_keeps_what_was_done_to_it_and_its_splits_are_aligned_one_by_one(aligner: wm.Aligner) -> None:
    dataset = as_dataset({"left": LEFT, "right": RIGHT, "label": [1, 0, 1, 1]})
    chosen = dataset.filter(lambda row: row["label"] == 1).shuffle(seed=1)
    out = aligner.align_frame(chosen, "left", "right")
    assert out.remove_columns(ADDED).to_list() == chosen.to_list()
    assert out["bits"][:] == [why.bits for why in aligner.align_many(zip(chosen["left"], chosen["right"], strict=True))]
    assert out.map(lambda row: {"sure": row["probability"] > 0.5})["sure"][:] == [
        one > 0.5 for one in out["probability"]
    ]
    import datasets

    with pytest.raises(TypeError, match=r"got datasets\..* Give one of its splits"):
        aligner.align_frame(datasets.DatasetDict({"train": dataset}), "left", "right")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])
def test_alignments_become_a_frame(library: str, aligner: wm.Aligner) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    whys = aligner.align_many(PAIRS)
    assert isinstance(whys, Alignments)
    frame = whys.to_frame(library)
    assert type(frame).__module__.startswith(library)
    assert [(row["left"], row["right"]) for row in rows(frame)] == PAIRS
    assert [row["probability"] for row in rows(frame)] == [why.probability for why in whys]
    assert rows(whys[1:3].to_frame(library)) == rows(frame)[1:3]
    assert whys[-1] is [*whys][-1]


def test_costs_without_evidence_have_missing_numbers_and_constraints_are_kept() -> None:
    aligner = wm.Aligner("line", wm.Precomputed({"a": [1.0, 0.0], "b": [0.0, 1.0]}))
    frame = as_pandas({"left": [["a", "b"], ["a"]], "right": [["b", "a"], ["b"]]})
    out = rows(aligner.align_frame(frame, "left", "right", wm.Exactly(2)))
    assert [(link["left"], link["right"]) for link in out[0]["links"]] == [("a", "a"), ("b", "b")]
    assert (out[0]["probability"], out[0]["bits"]) == (None, None)
    assert "exactly" in out[1]["error"].lower()
    clipped = rows(aligner.align_frame(frame, "left", "right", wm.Exactly(2), clip=True))
    assert [len(row["links"]) for row in clipped] == [2, 1]


FRAME = {"left": LEFT, "right": RIGHT}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: as_pandas(FRAME).rename(columns={"left": "body"}), ValueError, "no column 'left'.*: 'body', 'right'."),
        (lambda: pa.table({f"column {n}": [1] for n in range(10_000)}), ValueError, "'column 9' and 9,990 more.$"),
        (
            lambda: pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_product([["x"], ["left", "right"]])),
            ValueError,
            "several levels",
        ),
        (lambda: pd.DataFrame([["a", "b", "c"]], columns=["left", "left", "right"]), ValueError, "2 columns 'left'"),
        (lambda: pa.table({**FRAME, "links": LEFT}), ValueError, "a column 'links', .*Rename it"),
        (lambda: as_polars(FRAME).lazy(), TypeError, r"LazyFrame. Call .collect\(\)"),
        (lambda: FRAME, TypeError, "got builtins.dict"),
    ],
)
def test_what_cannot_be_a_frame_is_refused(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wm.Aligner("line").align_frame(make(), "left", "right")


def test_a_library_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="pandas, polars, pyarrow, datasets; got 'excel'"):
        Alignments().to_frame("excel")
