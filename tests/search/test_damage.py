"""A flipped bit in the files of an index is an error that says where, or changes no answer."""

import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.encoding import aligner, post, posts
from whymatch.search.duplicates import duplicates
from whymatch.search.entries import from_arrow, pooled, to_arrow
from whymatch.search.index import Index

DOCUMENTS = {**posts(8), "copy": post(3)}
KEEP = {"year": int, "topic": str, "price": float, "solved": bool}
METADATA = {
    id_: {"year": 2000 + n, "topic": f"topic {n}", "price": n / 4, "solved": n % 2 == 0}
    for n, id_ in enumerate(DOCUMENTS)
}
QUERY = post(3)
FLIPS = 40


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "index"
    index = Index.create(folder, aligner(), keep=KEEP)
    index.add(DOCUMENTS, METADATA)
    index.compact()
    return folder


def answers(folder: Path) -> list[object]:
    """What an index says: hits with their links, duplicates, and all texts."""
    index = Index.open(folder, aligner())
    found = index.search(QUERY, top_k=9)
    hits = [(hit.id, hit.score, str(hit.metadata), [link.texts for link in hit.links]) for hit in found]
    pairs = sorted((pair.left, pair.right, pair.bits) for group in duplicates(index) for pair in group.pairs)
    return [sorted(hits), pairs, {id_: index[id_].text for id_ in sorted(index.ids())}]


def test_a_flipped_bit_is_an_error_in_words_or_changes_no_answer(written: Path, tmp_path: Path) -> None:
    expected, chance, damaged = answers(written), random.Random(0), 0
    names = [path.relative_to(written) for path in sorted(written.rglob("*.lance")) if path.is_file()]
    assert any("data" in name.parts for name in names)
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        shutil.copytree(written, folder)
        file = folder / chance.choice([name for name in names if number % 3 == 0 or "data" in name.parts])
        content = bytearray(file.read_bytes())
        place = chance.randrange(8 * len(content))
        content[place // 8] ^= 1 << place % 8
        file.write_bytes(content)
        try:
            found, complaint = answers(folder), ""
        except (OSError, ValueError) as error:
            found, complaint = [], str(error)
        if complaint:
            assert str(folder) in complaint
            assert "again" in complaint
            damaged += 1
        else:
            assert found == expected
        shutil.rmtree(folder)
    assert damaged > FLIPS / 4


@given(data=st.data())
def test_whatever_is_kept_of_a_document_is_sealed(data: st.DataObject, written: Path) -> None:
    """Any other id, text, span, vector or value is noticed, and the document is named."""
    index = Index.open(written)
    kept = index.columns.fields
    rows = ROWS.setdefault(written, index.store.rows(list(DOCUMENTS), index.store.entry_columns))
    entries = from_arrow(rows, written, index.columns)
    assert {entry.id: (entry.text, entry.metadata) for entry in entries} == {
        id_: (text, METADATA[id_]) for id_, text in DOCUMENTS.items()
    }
    number = data.draw(st.integers(0, rows.num_rows - 1))
    column = data.draw(st.sampled_from(["id", "text", "spans", "vectors", "seal", *kept.values()]))
    row = rows.slice(number, 1).to_pylist()[0]
    values = row[column]
    if column in kept.values() and column != kept["topic"]:
        row[column] = data.draw(st.sampled_from([None, not values if isinstance(values, bool) else values + 1]))
    elif column in ("id", "text", kept["topic"]):
        place = data.draw(st.integers(0, len(values) - 1))
        row[column] = values[:place] + chr(ord(values[place]) ^ 1) + values[place + 1 :]
    elif column == "seal":
        row[column] = bytes([values[0] ^ 128, *values[1:]])
    else:
        at = data.draw(st.integers(0, len(values) - 1)), data.draw(st.integers(0, len(values[0]) - 1))
        kind = np.uint16 if column == "vectors" else np.int32
        numbers = np.array(values, dtype=np.float16 if column == "vectors" else np.int32)
        numbers.view(kind)[at] ^= 1
        row[column] = numbers.tolist()
    damaged = pa.Table.from_pylist([row], schema=rows.schema)
    with pytest.raises(OSError, match="is damaged: its text, spans, vectors or metadata") as raised:
        from_arrow(damaged, "corpus.index", index.columns)
    assert repr(row["id"]) in str(raised.value)
    assert "corpus.index" in str(raised.value)


ROWS: dict[Path, pa.Table] = {}


def test_a_damaged_document_is_written_anew(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", aligner())
    index.add(DOCUMENTS)
    (entry,) = index.entries(["post-2"])
    row = to_arrow([entry], index.store.schema).to_pylist()[0]
    damaged = pa.Table.from_pylist([{**row, "text": row["text"].upper()}], schema=index.store.schema)
    index.store.merge(damaged, replace=True)
    for look in (lambda: index["post-2"], lambda: index.search(QUERY), lambda: list(duplicates(index))):
        with pytest.raises(OSError, match=r"The document 'post-2' of the index in .* is damaged.*Index\.replace"):
            look()
    assert index["post-3"].text == post(3)
    index.replace({"post-2": post(2)})
    assert index["post-2"].text == post(2)
    assert index.search(QUERY)


def test_duplicates_are_found_though_a_pooled_vector_is_damaged(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", aligner())
    index.add(DOCUMENTS)
    (entry,) = index.entries(["copy"])
    row = to_arrow([entry], index.store.schema).to_pylist()[0]
    other = pooled(np.roll(entry.vectors, 1, axis=1)).tolist()
    index.store.merge(pa.Table.from_pylist([{**row, "pooled": other}], schema=index.store.schema), replace=True)
    assert index.store.nearest_texts(pooled(entry.vectors), 1) == ["post-3"]
    assert [[*group.texts] for group in duplicates(index, e_value=1e-30)] == [["copy", "post-3"]]
