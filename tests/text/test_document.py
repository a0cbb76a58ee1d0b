"""A text with its spans is one value: equal, hashed and copied as such, here and in other processes."""

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.text.document import Document, document
from whymatch.text.spans import SPLITTERS, Span, Splitter

texts = st.text(alphabet="ab. \n", max_size=12)
splits = st.sampled_from([SPLITTERS[name] for name in ("word", "line", "text")])
THERE = """
import pickle, sys
given = pickle.loads(sys.stdin.buffer.read())
made = [type(one)(one.text, one.spans) for one in given]
assert given == made
assert [hash(one) for one in given] == [hash(one) for one in made]
assert {made[0]: "found"}.get(given[0]) == "found"
sys.stdout.buffer.write(pickle.dumps((given, [hash(one.text) for one in given])))
"""


@given(text=texts, other=texts, split=splits, another=splits)
def test_documents_are_equal_where_text_and_spans_are(
    text: str, other: str, split: Splitter, another: Splitter
) -> None:
    one, two = document(text, split), document(other, another)
    assert (one == two) == ((one.text, one.spans) == (two.text, two.spans))
    assert one == document(text, split)
    assert hash(one) == hash(document(text, split))
    assert len({one, two, document(text, split)}) == (1 if one == two else 2)


def test_other_spans_are_another_document() -> None:
    whole, parts = Document("a b", (Span(0, 3),)), Document("a b", (Span(0, 1), Span(2, 3)))
    assert whole != parts
    assert {whole: 1, parts: 2}[Document("a b", parts.spans)] == 2
    assert "hash" not in repr(whole)


@given(text=texts, other=texts, split=splits)
def test_a_copy_is_found_under_its_original_and_a_change_is_not(text: str, other: str, split: Splitter) -> None:
    one = document(text, split)
    for again in (copy.copy(one), copy.deepcopy(one), replace(one), pickle.loads(pickle.dumps(one))):
        assert again == one
        assert hash(again) == hash(one)
    changed = replace(one, text=other, spans=())
    assert hash(changed) == hash(Document(other, ()))
    assert changed == Document(other, ())
    with pytest.raises(ValueError, match="lie in the text"):
        replace(one, text="", spans=(Span(0, 1),))


def test_what_another_process_sends_is_found_under_what_is_made_here() -> None:
    sent = [document(text, SPLITTERS["word"]) for text in ("the cat sat", "on a mat", "")]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    ran = subprocess.run(
        [sys.executable, "-c", THERE],
        input=pickle.dumps(sent),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    back, strings = pickle.loads(ran.stdout)
    assert strings[:2] != [hash(one.text) for one in sent[:2]]  # there, strings do have other hashes
    assert [{one: one.text}[again] for one, again in zip(sent, back, strict=True)] == [one.text for one in sent]
