"""Filters select what they say, and a bad one is an error in words that names the columns."""

import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.encoding import aligner, post, posts
from whymatch.search.columns import Columns
from whymatch.search.filters import MAX_CHARACTERS, MAX_OPERATIONS, condition
from whymatch.search.index import Index

KEEP = {"year": int, "topic": str, "Price (€)": float, "solved": bool, "in": str, "user.name": str}
TOPICS = ["tex", "unix", "o'x", None]
METADATA: dict[str, dict[str, Any]] = {
    f"post-{n}": {
        "year": None if n % 10 == 9 else 1990 + n,
        "topic": TOPICS[n % 4],
        "Price (€)": n / 4,
        "solved": n % 2 == 0,
        "in": "x" if n < 30 else "y",
        "user.name": f"user {n % 3}",
    }
    for n in range(60)
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    results = Index.create(tmp_path_factory.mktemp("filters") / "index", aligner(), keep=KEEP)
    results.add(posts(60), METADATA)
    results.compact()
    return results


def written(value: object) -> str:
    """A value as a filter has it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def column(name: str) -> str:
    return name if name.isidentifier() and name != "in" else f"`{name}`"


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "year": st.integers(1980, 2060),
    "topic": st.sampled_from(["tex", "unix", "o'x", "", "zzz"]),
    "Price (€)": st.sampled_from([0.0, 1.25, 7.0, 100.5]),
    "solved": st.booleans(),
    "in": st.sampled_from(["x", "y", "like"]),
    "user.name": st.sampled_from(["user 0", "user 2", "nobody"]),
}


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[str, Callable[[dict[str, Any]], bool]]:
    """A filter, and the same in Python: nothing holds of a value that is missing."""
    name = draw(st.sampled_from([*VALUES]))
    sign = draw(st.sampled_from(["=", "!=", "<>"] if KEEP[name] is bool else [*SIGNS]))
    value = draw(VALUES[name])
    compare = SIGNS[sign]
    return (
        f"{column(name)} {sign} {written(value)}",
        lambda row: row[name] is not None and compare(row[name], value),
    )


@given(one=comparisons(), other=comparisons(), joined=st.sampled_from(["AND", "or"]))
def test_a_filter_selects_the_documents_of_which_it_holds(
    index: Index, one: tuple[str, Callable[..., bool]], other: tuple[str, Callable[..., bool]], joined: str
) -> None:
    where = f"({one[0]}) {joined} {other[0]}"
    both = all if joined == "AND" else any
    expected = {id_ for id_, row in METADATA.items() if both(holds(row) for _, holds in (one, other))}
    assert index.store.selected(where).documents == len(expected)
    if expected:
        assert {hit.id for hit in index.search(post(1), 60, where=where)} <= expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("topic IS NULL AND year < 2000", {3, 7}),
        ("NOT solved AND year BETWEEN 2000 AND 2004", {11, 13}),
        ("topic LIKE 'te%' AND year IN (1990, 1994, 1995)", {0, 4}),
        ("lower(topic) ILIKE 'U%' and year <= 1991", {1}),
        ("id = 'post-7' OR text = '" + post(3) + "'", {3, 7}),
        ('"Price (€)" > 14.5', {59}),
        ("`in` = 'x' AND `user.name` = 'user 1' AND year > 2015", {28}),
        ("length(`user.name`) = 6 AND year = 1990", {0}),
        ("year % 10 = 0 AND CAST(year AS string) = '2000'", {10}),
        ("coalesce(year, 0) = 0 AND solved = false AND starts_with(id, 'post-5')", {59}),
    ],
)
def test_filters_have_the_words_of_sql(index: Index, where: str, expected: set[int]) -> None:
    assert {hit.id for hit in index.search(post(1), 60, where=where)} == {f"post-{n}" for n in expected}


def test_a_search_with_a_filter_ranks_the_documents_that_it_leaves_as_one_without(index: Index) -> None:
    query = "\n".join([post(7).split("\n")[0], post(12).split("\n")[2]])
    every = index.search(query, 60, candidates=60)
    results = index.search(query, 60, candidates=60, where="year >= 2000")
    left = [hit for hit in every if (METADATA[hit.id]["year"] or 0) >= 2000]
    assert [hit.id for hit in results] == [hit.id for hit in left]
    assert results.documents == len(left)
    for hit, same in zip(results, left, strict=True):
        assert (hit.alignment, hit.p_value) == (same.alignment, same.p_value)
        assert hit.p_value is not None
        assert hit.e_value == pytest.approx(hit.p_value * len(left))
        assert hit.metadata == METADATA[hit.id]


def test_a_filter_that_holds_for_nothing_gives_nothing(index: Index) -> None:
    results = index.search(post(1), where="year > 3000")
    assert (len(results), results.candidates, results.documents) == (0, 0, 0)


def test_few_documents_are_found_among_many_where_partitions_are_probed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.search.store.MIN_INDEXED_ROWS", 300)
    monkeypatch.setattr("whymatch.search.store.PROBED_PARTITIONS", 1)
    monkeypatch.setattr("whymatch.search.store.PROBED_SPAN_PARTITIONS", 1)
    many = Index.create(tmp_path, aligner(), keep={"number": int})
    many.add(posts(400), {f"post-{n}": {"number": n} for n in range(400)})
    many.compact()
    assert "pooled" in many.store.indexed_columns
    results = many.search(post(1), 10, where="number IN (17, 201, 399)")
    assert {hit.id for hit in results} == {"post-17", "post-201", "post-399"}
    assert all({"text", "spans"} <= hit.places.keys() for hit in results)


BAD = [
    ("", "4,000 characters or fewer"),
    ("x" * (MAX_CHARACTERS + 1), "4,000 characters or fewer"),
    ("yeer > 3", "there is no column 'yeer'"),
    ("Year > 3", "there is no column 'Year'"),
    ("topic > 3", "3 cannot be compared with text"),
    ("year = '2019'", '"2019" cannot be compared with whole numbers'),
    ("year > ", "Expected: an expression"),
    ("year", "it compares nothing"),
    ("year > 2019; DROP TABLE documents", "';', character 12, means nothing here"),
    ("year > 2019 --", "Expected"),
    ("year > 2019 /* all */", "there is no column 'all'"),
    ('topic = "tex"', "A text stands in single quotes"),
    ("topic = 'tex", '"\'", character 9, is never closed'),
    ("`topic = 'tex'", "'`', character 1, is never closed"),
    ("seal = 'x' OR vectors IS NULL", "there is no column 'seal'"),
    ("kept_0 > 3", "there is no column 'kept_0'"),
    ("_rowid > 3", "there is no column '_rowid'"),
    ("repeat(topic, 1000000000) = 'x'", "there is no function 'repeat'"),
    ("id IN (SELECT id FROM documents)", "there is no column 'SELECT'"),
    ("1 / 0 = 1", "Divide by zero"),
    ("CAST(topic AS int) > 3", "Cannot cast string"),
    ("(" * 200 + "solved" + ")" * 200, "recursion limit exceeded"),
    ("NOT " * 300 + "solved", "cannot be used"),
    ("topic = '\ud800'", "cannot be used"),
    ("year > 1\0", r"'\\x00', character 9, means nothing"),
]


@pytest.mark.parametrize(("where", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_bad_filter_is_refused_with_the_columns_that_there_are(index: Index, where: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        index.search(post(1), where=where)
    message = str(raised.value)
    assert "The columns are: year (whole number), topic (text), Price (€) (number), solved (true or false), " in message
    assert "id (text), text (text)." in message
    assert not any(word in message for word in ("cargo", "Lance", "kept_1", "Utf8"))


PARTS = [
    "year",
    "topic",
    "`in`",
    "`",
    '"',
    "'",
    "''",
    ";",
    "--",
    "/*",
    "(",
    ")",
    ",",
    ">",
    "=",
    "NOT",
    "OR",
    "3",
    "x",
    ".",
]
PARTS += [
    "CAST",
    "AS",
    "int",
    "lower",
    "IN",
    "LIKE",
    "'a'",
    "\0",
    "\ud800",
    "é",
    "kept_1",
    "1e400",
    "[",
    "{",
    "$1",
    "?",
    "::",
]


@given(where=st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join) | st.text(max_size=20))
def test_any_text_is_a_filter_or_an_error_in_words(index: Index, where: str) -> None:
    try:
        documents, refused = index.store.selected(where).documents, ""
    except ValueError as error:
        documents, refused = 0, str(error)
    assert "cannot be used: " in refused or not refused
    assert 0 <= documents <= 60


def test_a_filter_is_a_text() -> None:
    with pytest.raises(TypeError, match="A filter is a text"):
        condition(3, Columns())  # type: ignore[arg-type]


@pytest.mark.parametrize("more", ["+1", "-1", " OR year=1", " AND NOT solved"])
def test_a_filter_of_many_operations_is_read_or_refused_and_never_ends_the_process(index: Index, more: str) -> None:
    each = len(re.findall(r"[-+=]|OR|AND|NOT", more))
    most = (MAX_OPERATIONS - 1) // each
    index.search("The cat runs", where="year=1" + more * most)
    with pytest.raises(ValueError, match=r"signs and words of SQL, and 250 can be read; IN \(…\) holds many"):
        index.search("The cat runs", where="year=1" + more * (most + 1))
    index.search("The cat runs", where=f"year IN ({', '.join(map(str, range(600)))})")
