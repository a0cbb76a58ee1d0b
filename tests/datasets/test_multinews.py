"""MultiNews: clusters of articles."""

from pathlib import Path

import pytest

from tests.datasets.writing import real, write
from whymatch.datasets.corpora import articles, read_multinews
from whymatch.reading import text_lines


@pytest.mark.parametrize("separator", ["|||||", "story_separator_special_tag"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_every_two_articles_of_a_cluster_are_similar(tmp_path: Path, separator: str, end: str) -> None:
    file = write(tmp_path / f"train.src{end}", f"One. {separator} Two. {separator} Three.\nFour. {separator} Five.\n")
    corpus = read_multinews([file])
    assert list(corpus.texts.values()) == ["One.", "Two.", "Three.", "Four.", "Five."]
    named = {frozenset((corpus.texts[a], corpus.texts[b])) for a, b in corpus.similar}
    assert named == {frozenset(pair) for pair in (("One.", "Two."), ("One.", "Three."), ("Two.", "Three."))} | {
        frozenset(("Four.", "Five."))
    }


def test_marks_of_line_breaks_become_line_breaks() -> None:
    assert articles("a NEWLINE_CHAR b NEWLINE_CHAR NEWLINE_CHAR c") == ["a\nb\n\nc"]


def test_what_is_empty_is_counted_and_what_repeats_is_one_article(tmp_path: Path) -> None:
    file = write(tmp_path / "val.src", "One. ||||| ||||| Two. |||||\nTwo. ||||| Six.\nAlone.\n\n")
    corpus = read_multinews([file])
    assert list(corpus.texts.values()) == ["One.", "Two.", "Six.", "Alone."]
    assert len(corpus.similar) == 2
    assert corpus.left_out == {
        "empty articles": 2,
        "clusters of one article, which is similar to none": 1,
        "texts that repeat another": 1,
    }


def test_what_is_not_utf8_is_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "test.src"
    file.write_bytes(b"fine ||||| fine\nbad \xff ||||| fine\n")
    with pytest.raises(ValueError, match=r"test\.src, line 2: "):
        read_multinews([file])


def test_the_real_multinews_is_read_in_full() -> None:
    folder = real("multinews")
    splits = [
        [articles(line) for _, line in text_lines(folder / f"{split}.src.gz")] for split in ("train", "val", "test")
    ]
    assert [len(clusters) for clusters in splits] == [2_800, 350, 350]
    sizes = [len(cluster) for clusters in splits for cluster in clusters]
    assert sum(sizes) == 8_829
    assert sum(size * (size - 1) // 2 for size in sizes) == 8_045
