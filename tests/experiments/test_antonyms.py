"""Antonyms are those that WordNet says, and words with a prefix that WordNet says negates."""

from pathlib import Path

import pytest

from experiments.antonyms import PARTS, WordNet
from whymatch.text.antonyms import FILE

INSTALLED = Path("/usr/share/wordnet")  # by Debian's package wordnet-base
ADJECTIVES = """
00000001 00 a 01 cooked 0 002 ! 00000002 a 0101 & 00000003 a 0000 | having been prepared
00000002 00 a 01 raw 0 002 ! 00000001 a 0101 & 00000004 a 0000 | not treated with heat
00000003 00 s 01 baked 0 001 & 00000001 a 0000 | cooked by dry heat
00000004 00 s 01 unbaked 0 001 & 00000002 a 0000 | in its natural state
00000005 00 a 01 mixed 0 000 | made of several; "mixed feelings"
00000006 00 a 01 unmixed 0 000 | not mixed with other things
00000007 00 a 01 close 0 000 | near
00000008 00 a 01 disclose 0 000 | shown; "do not close it"
00000009 00 a 01 just 0 002 ! 00000010 a 0101 + 00000001 n 0101 | fair
00000010 00 a 01 unjust 0 002 ! 00000009 a 0101 + 00000002 n 0101 | not fair
"""
NOUNS = """
00000001 00 n 01 justness 0 001 + 00000009 a 0101 | fairness
00000002 00 n 01 unjustness 0 001 + 00000010 a 0101 | the state
00000003 00 n 01 baked 0 000 | a dish
00000004 00 n 01 discooked 0 000 | not cooked
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"adj": ADJECTIVES, "noun": NOUNS}
    for part in PARTS:
        (tmp_path / f"data.{part}").write_text("  1 the licence\n" + texts.get(part, "").lstrip(), encoding="utf-8")
    return tmp_path


def test_a_prefix_negates_where_clusters_derivations_or_definitions_say_so(folder: Path) -> None:
    direct = {("cooked", "raw"), ("just", "unjust")}
    supported = {("baked", "unbaked"), ("mixed", "unmixed"), ("justness", "unjustness")}
    assert WordNet.read(folder).pairs() == direct | supported


@pytest.mark.skipif(not INSTALLED.is_dir(), reason="WordNet's files are not installed")
def test_the_file_that_ships_has_the_pairs_that_wordnet_gives() -> None:
    lines = [line.split() for line in FILE.read_text(encoding="utf-8").splitlines()]
    shipped = {(lemma, other) for lemma, *others in lines if lemma not in ("#", "=") for other in others}
    assert shipped == WordNet.read(INSTALLED).pairs()
