"""StackExchange's formats: dumps, the AskUbuntu benchmark, corpora with pairs."""

import gzip
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from tests.datasets.writing import corpus_folder, real, write, write_rows
from whymatch.datasets.corpora import Text, collected, read_corpus, read_labelled
from whymatch.datasets.folders import read_split
from whymatch.datasets.markup import html_text
from whymatch.datasets.records import Query
from whymatch.datasets.stackexchange import (
    convert_benchmark,
    dump_folders,
    read_benchmark_texts,
    read_candidates,
    read_dumps,
    read_duplicates,
    read_questions,
)

NOTE = "<blockquote><p><strong>Possible Duplicate:</strong><br><a href='x'>Secret title</a></p></blockquote>"


def post(number: int, kind: int = 1, title: str = "Why?", body: str = "<p>It fails.</p>") -> str:
    titled = f" Title={quoteattr(title)}" if kind == 1 else ""
    return f'  <row Id="{number}" PostTypeId="{kind}"{titled} Body={quoteattr(body)} />'


def dump(folder: Path, posts: list[str], links: list[tuple[int, int, int]], end: str = "") -> Path:
    header = '<?xml version="1.0" encoding="utf-8"?>\n'
    write(folder / f"Posts.xml{end}", header + "<posts>\n" + "\n".join(posts) + "\n</posts>")
    rows = [
        f'<row Id="{number}" PostId="{a}" RelatedPostId="{b}" LinkTypeId="{kind}" />'
        for number, (a, b, kind) in enumerate(links)
    ]
    write(folder / f"PostLinks.xml{end}", header + "<postlinks>\n" + "\n".join(rows) + "\n</postlinks>")
    return folder


@pytest.mark.parametrize("end", ["", ".gz"])
def test_questions_are_title_and_body_and_links_of_type_3_are_duplicates(tmp_path: Path, end: str) -> None:
    posts = [post(1, title="A & B"), post(2, kind=2), post(3, body="<p>One.</p><p>Two.</p>")]
    folder = dump(tmp_path / "ask", posts, [(1, 3, 3), (3, 1, 1), (1, 9, 3), (3, 1, 3)], end)
    questions = list(read_questions(folder / f"Posts.xml{end}", "ask"))
    assert questions == [
        Text("ask-1", "A & B\n\nIt fails.", "ask"),
        Text("ask-3", "Why?\n\nOne.\n\nTwo.", "ask"),
    ]
    assert list(read_duplicates(folder / f"PostLinks.xml{end}")) == [("1", "3"), ("1", "9"), ("3", "1")]
    corpus = read_dumps([folder])
    assert corpus.similar == (("ask-1", "ask-3"),)
    assert corpus.left_out == {"links to posts that are not among the questions": 1, "pairs that repeat another": 1}


def test_several_sites_keep_their_numbers_apart(tmp_path: Path) -> None:
    for site in ("ask", "super"):
        dump(tmp_path / site, [post(1, title=site), post(2, title=f"{site} again")], [(1, 2, 3)])
    corpus = read_dumps(dump_folders([tmp_path]))
    assert set(corpus.texts) == {"ask-1", "ask-2", "super-1", "super-2"}
    assert corpus.sites["super-2"] == "super"
    assert len(corpus.similar) == 2


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        ('<row Id="5" PostTypeId="1" Body="x" />', 4),
        ('<row Id="5" Title="x" Body="x" />', 4),
        ('<row Id="5" PostTypeId="1" Title="x"', 5),
        ('<row Id="5" Title="&bomb;" />', 4),
    ],
)
def test_a_bad_post_is_named_by_file_and_line(tmp_path: Path, bad: str, line: int) -> None:
    dump(tmp_path, [post(1), bad], [])
    with pytest.raises(ValueError, match=rf"Posts\.xml, line {line}: "):
        list(read_questions(tmp_path / "Posts.xml"))


def test_a_document_type_is_refused_before_it_can_expand(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><posts><row Title="&b;"/></posts>'
    file = write(tmp_path / "Posts.xml", bomb)
    with pytest.raises(ValueError, match=r"Posts\.xml, line 1: .*document type"):
        list(read_questions(file))


def test_a_dump_streams(tmp_path: Path) -> None:
    posts = [post(number, body="<p>" + "word " * 2000 + "</p>") for number in range(40)]
    file = dump(tmp_path, posts, []) / "Posts.xml"
    file.write_bytes(file.read_bytes()[:-40])  # its end is missing, and its beginning is read all the same
    questions = read_questions(file)
    assert next(questions).id == "0"
    with pytest.raises(ValueError, match="not XML"):
        list(questions)


def test_a_damaged_file_is_called_damaged(tmp_path: Path) -> None:
    file = tmp_path / "Posts.xml.gz"
    file.write_bytes(gzip.compress(b"<posts>" + b" " * 10**6)[:-9])
    with pytest.raises(ValueError, match="is damaged"):
        list(read_questions(file))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a &amp; b</p><p>c</p>", "a & b\n\nc"),
        ("<p>x</p><script>alert(1)</script><style>p {}</style><p>y</p>", "x\n\ny"),
        ("<pre><code>if a &lt; b:\n    run()\n</code></pre>", "if a < b:\n    run()"),
        ("<p>use <code>ls</code>  and\n<b>cd</b></p>", "use ls and cd"),
        ("<ul><li>one</li><li>two</li></ul>", "one\n\ntwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<p>1 < 2 & 3 > 2</p>", "1 < 2 & 3 > 2"),
        ("</pre></script><p>still here", "still here"),
        ("", ""),
    ],
)
def test_html_becomes_what_a_reader_sees(html: str, text: str) -> None:
    assert html_text(html) == text


def test_the_note_that_names_the_duplicate_goes(tmp_path: Path) -> None:
    dump(tmp_path, [post(1, body=f"{NOTE}<p>Mine.</p><blockquote><p>quoted</p></blockquote>")], [])
    (question,) = read_questions(tmp_path / "Posts.xml")
    assert question.text == "Why?\n\nMine.\n\nquoted"


def askubuntu(folder: Path) -> Path:
    write(
        folder / "text_tokenized.txt.gz", "".join(f"{n}\ttitle {n}\t{'body' if n % 2 else ''}\n" for n in range(1, 40))
    )
    write(folder / "train_random.txt", "1\t2 3\t" + " ".join(map(str, range(4, 34))) + "\n")
    write(folder / "dev.txt", "5\t6\t6 7 8\t3.5 2 1\n9\t\t10 11\t2 1\n")
    write(folder / "test.txt", "12\t13 14\t15 13\t2 1\n")
    return folder


def test_the_askubuntu_benchmark_keeps_its_splits_and_candidates(tmp_path: Path) -> None:
    folder = askubuntu(tmp_path / "bench")
    texts = read_benchmark_texts(folder / "text_tokenized.txt.gz")
    assert texts["1"] == "title 1\n\nbody"
    assert texts["2"] == "title 2"
    assert [candidates.scores for candidates in read_candidates(folder / "dev.txt", texts)] == [(3.5, 2, 1), (2, 1)]
    out = tmp_path / "out"
    statistics = convert_benchmark(folder, 20, seed=0).run(out)
    expected = {"train": (True, True, *[False] * 20), "val": (True, False, False), "test": (True, False)}
    for split, relevant in expected.items():
        (query,) = read_split(out, split, "rank", "line")
        assert isinstance(query, Query)
        assert query.relevant == relevant
    assert statistics["left out"] == {"queries of val without a similar text among their candidates": 1}
    assert statistics["documents"] == 39


@pytest.mark.parametrize(
    "bad", ["1\t2\n", "1\t2\t99\n", "1\t2\t3\t1 2\n", "1\t2\t3\tx\n", "1\t2 3\t3\n", "1\t2\t3\t4\t5\n"]
)
def test_a_bad_list_of_candidates_is_named_by_file_and_line(tmp_path: Path, bad: str) -> None:
    file = write(tmp_path / "dev.txt", "1\t2\t2 3\t2 1\n" + bad)
    with pytest.raises(ValueError, match=r"dev\.txt, line 2: "):
        list(read_candidates(file, dict.fromkeys("123")))


def test_a_corpus_with_pairs_is_read(tmp_path: Path) -> None:
    corpus = read_corpus(corpus_folder(tmp_path, pairs=3, alone=2))
    assert len(corpus.texts) == 8
    assert corpus.similar == (("a0", "b0"), ("a1", "b1"), ("a2", "b2"))
    assert corpus.texts["b0"].startswith("Question b0\n\nHow do I")
    assert corpus.texts["a0"].startswith("How do I")


@pytest.mark.parametrize(
    ("file", "row"),
    [
        ("corpus.jsonl", '{"id": "x"}'),
        ("corpus.jsonl", '{"id": "x", "text": 3}'),
        ("corpus.jsonl", "[]"),
        ("corpus.jsonl", "{"),
        ("duplicates.tsv", "a\tnobody"),
        ("duplicates.tsv", "a\ta"),
        ("duplicates.tsv", "a"),
        ("non_duplicates.tsv", "a\tnobody"),
    ],
)
def test_a_bad_row_of_a_corpus_is_named_by_file_and_line(tmp_path: Path, file: str, row: str) -> None:
    write_rows(tmp_path / "corpus.jsonl", [{"id": id_, "text": f"text {id_}"} for id_ in "abcd"])
    write(tmp_path / "duplicates.tsv", "a\tb\n")
    write(tmp_path / "non_duplicates.tsv", "a\tc\n")
    with (tmp_path / file).open("a") as end:
        end.write(row + "\n")
    line = 5 if file == "corpus.jsonl" else 2
    with pytest.raises(ValueError, match=rf"{file}, line {line}: "):
        read_corpus(tmp_path)


def test_a_pair_cannot_be_both_similar_and_not(tmp_path: Path) -> None:
    corpus_folder(tmp_path, pairs=2, alone=1)
    write(tmp_path / "non_duplicates.tsv", "b1\ta1\n")
    with pytest.raises(ValueError, match="b1 and a1 are duplicates"):
        read_corpus(tmp_path)


def test_nothing_is_lost_silently() -> None:
    texts = [Text("1", "a"), Text("2", "a"), Text("3", "b"), Text("4", " "), Text("5", "c")]
    pairs = [("1", "2"), ("1", "3"), ("3", "2"), ("3", "4"), ("5", "3")]
    corpus = collected(texts, pairs)
    assert set(corpus.texts) == {"1", "3", "5"}
    assert corpus.similar == (("1", "3"), ("3", "5"))
    assert len(corpus.texts) + corpus.left_out["blank texts"] + corpus.left_out["texts that repeat another"] == len(
        texts
    )
    assert len(corpus.similar) + sum(count for why, count in corpus.left_out.items() if "pair" in why) == len(pairs)
    with pytest.raises(ValueError, match="id 1"):
        collected([*texts, Text("1", "z")], [])


def test_labelled_pairs_are_a_corpus_of_their_texts(tmp_path: Path) -> None:
    page = "How to x < y?<p>Body &lt;tag&gt;.</p>"
    noted = f"Title{NOTE}<p>Mine.</p>"
    file = write(tmp_path / "pairs.tsv.gz", f"duplicate\t{page}\tplain <b> title\nnon-duplicate\t{page}\t{noted}\n")
    corpus = read_labelled([file])
    assert list(corpus.texts.values()) == ["How to x < y?\n\nBody <tag>.", "plain <b> title", "Title\n\nMine."]
    assert corpus.similar == (("0", "1"),)
    write(tmp_path / "bad.tsv", "duplicate\ta\tb\nperhaps\ta\tb\n")
    with pytest.raises(ValueError, match=r"bad\.tsv, line 2: a label is"):
        read_labelled([tmp_path / "bad.tsv"])


def test_the_real_cqadupstack_is_read_in_full() -> None:
    corpus = read_corpus(real("stackexchange/cqadupstack"))
    assert (len(corpus.texts), len(corpus.similar), dict(corpus.left_out)) == (11_292, 1_438, {})


def test_the_real_labelled_pairs_are_read_in_full() -> None:
    folder = real("stackexchange/askubuntu")
    for name, pairs in (("train_titles", 24_000), ("test_titles", 6_000), ("full_text", 1_000)):
        corpus = read_labelled([folder / f"{name}.tsv.gz"])
        lost = dict(corpus.left_out)
        assert lost.pop("pairs labelled as different") == pairs // 2
        assert len(corpus.similar) + sum(count for why, count in lost.items() if "pair" in why) == pairs // 2
        assert not any("<p>" in text and "</p>" in text for text in corpus.texts.values())
