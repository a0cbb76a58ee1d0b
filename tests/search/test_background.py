"""An index keeps a background of its documents, and the tails of their spans, which are those measured anew."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.cost import Background, Cosine, Cost, Evidence, WholeText
from whymatch.matching.judging import Judge
from whymatch.search.entries import Entry, to_arrow
from whymatch.search.index import Index


def indexed(folder: Path, documents: int) -> Index:
    index = Index.create(folder, aligner())
    index.add(posts(documents))
    index.compact()
    return index


def tails(index: Index) -> dict[str, np.ndarray | None]:
    return {entry.id: entry.tails for entry in index.entries(index.ids())}


def assert_tails_are_those_measured_anew(index: Index) -> None:
    entries = index.entries(index.ids())
    anew = index.tails([replace(entry, tails=None) for entry in entries])
    for entry, rows in zip(entries, anew, strict=True):
        assert entry.tails is not None
        np.testing.assert_allclose(entry.tails, rows, rtol=1e-4)
        (kept,) = index.tails([entry])
        assert kept.tobytes() == entry.tails.tobytes()


def test_a_small_index_is_judged_against_the_background_that_ships(tmp_path: Path) -> None:
    index = indexed(tmp_path, 10)
    assert index.background is None
    assert index.scale is not None
    assert index.scale.background.general
    assert all(rows is None for rows in tails(index).values())


def test_tails_that_are_kept_are_those_measured_anew(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    assert_tails_are_those_measured_anew(index)
    index.add(posts(5, 60))  # measured as they are written
    index.replace({"post-3": "Another text"})
    assert_tails_are_those_measured_anew(index)


def test_a_background_has_every_text_once(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    index.add(posts(60) | {f"copy-{number}": post(number) for number in range(60)})
    assert index.background is not None
    assert sorted(text.text for text in index.background.documents) == sorted(posts(60).values())


def test_a_new_background_is_sampled_as_the_corpus_doubles_or_halves(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    digests = []
    for added, deleted in ((posts(59, 60), {}), (posts(1, 119), {}), ({}, posts(60))):
        index.add(added)
        index.delete(deleted)
        index.compact()
        assert index.background is not None
        digests.append(index.background.digest)
        assert_tails_are_those_measured_anew(index)
    assert digests[0] != digests[1] != digests[2]
    assert digests[0] == Background.of(sorted_texts(posts(60)), aligner()).digest
    assert digests[2] == Background.of(sorted_texts(posts(60, 60)), aligner()).digest
    index.delete(posts(60, 60))
    index.compact()
    assert index.background is None


def test_rows_written_anew_leave_documents_alone_that_were_changed_or_deleted_meanwhile(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    before = index.entries(["post-1", "post-2", "post-3"])
    index.replace({"post-1": "Another text"})
    index.delete(["post-2"])
    index.store.rewrite(to_arrow([replace(entry, tails=None, measured=None) for entry in before], index.store.schema))
    assert index["post-1"].text == "Another text"
    assert "post-2" not in index
    assert index["post-3"].text == post(3)
    assert tails(index)["post-3"] is None
    assert len(index) == 59


def sorted_texts(documents: dict[str, str]) -> list[str]:
    return [documents[id_] for id_ in sorted(documents)]


def test_what_random_pairs_have_is_computed_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = indexed(tmp_path, 60).search(post(7))
    monkeypatch.setattr(Judge, "_chance", lambda *given: pytest.fail("it was computed again"))
    after = Index.open(tmp_path, aligner()).search(post(7))
    assert [(hit.id, hit.p_value) for hit in after] == [(hit.id, hit.p_value) for hit in before]


def test_damaged_facts_are_computed_anew_and_a_damaged_background_is_an_error(tmp_path: Path) -> None:
    before = [hit.p_value for hit in indexed(tmp_path, 60).search(post(7))]
    facts = tmp_path / "background.json"
    kept = json.loads(facts.read_text())
    (chance,) = kept["facts"]["chance"].values()
    chance["threshold"] += 1
    facts.write_text(json.dumps(kept))
    assert [hit.p_value for hit in Index.open(tmp_path, aligner()).search(post(7))] == before
    file = tmp_path / "background.safetensors"
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    with pytest.raises(OSError, match=r"background of the index in .* again, which samples a new one"):
        Index.open(tmp_path, aligner()).search(post(7))
    Index.open(tmp_path, aligner()).compact()
    assert [hit.p_value for hit in Index.open(tmp_path, aligner()).search(post(7))] == before


def test_another_process_sees_a_new_background_after_refresh(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    reader = Index.open(tmp_path, aligner())
    assert reader.background is not None
    before = reader.background.digest
    index.add(posts(60, 60))
    index.compact()
    assert index.background is not None
    assert reader.background.digest == before != index.background.digest
    reader.refresh()
    assert reader.background.digest == index.background.digest
    assert reader.search(post(70))[0].id == "post-70"


@pytest.mark.parametrize("damage", ["tails", "measured", "document", "another"])
def test_tails_of_another_document_or_background_or_with_a_flipped_bit_are_not_used(
    tmp_path: Path, damage: str
) -> None:
    index = indexed(tmp_path, 60)
    entry, other = index.entries(["post-3", "post-4"])
    assert entry.tails is not None and entry.measured is not None  # noqa: PT018
    (right,) = index.tails([entry])
    flipped = entry.tails.copy()
    flipped.view(np.uint32)[0, 0] ^= 1
    changed: dict[str, Entry] = {
        "tails": replace(entry, tails=flipped),
        "measured": replace(entry, measured="0" + entry.measured[1:]),
        "document": replace(other, tails=entry.tails, measured=entry.measured),
        "another": entry.with_tails(flipped, "0123456789abcdef"),
    }
    (measured,) = index.tails([changed[damage]])
    (expected,) = index.tails([other]) if damage == "document" else (right,)
    np.testing.assert_allclose(measured, expected, rtol=1e-4)
    assert measured.tobytes() != flipped.tobytes()


def test_another_cost_has_tails_of_its_own(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    whole = wm.Aligner("line", WordSums(), Cost(Cosine(), WholeText(0.5), Evidence()))
    other = Index.open(tmp_path, whole)
    entries = other.entries(["post-3"])
    assert other.background is not None
    expected = other.background.tails(Cost(Cosine(), WholeText(0.5)), [entries[0].document], [entries[0].vectors])
    np.testing.assert_allclose(other.tails(entries)[0], expected[0], rtol=1e-4)
    assert not np.allclose(other.tails(entries)[0], index.tails(entries)[0])


def test_an_index_is_a_background_for_an_aligner(tmp_path: Path) -> None:
    index = indexed(tmp_path, 60)
    why = wm.Aligner("line", WordSums(), background=index).align(post(3), post(3) + "\nOne more")
    assert why.judgement is not None
    assert why.judgement.background == "60 documents of the index"
    assert why.probability is not None
    assert why.probability > 0.9
