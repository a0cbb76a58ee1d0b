"""Search finds what exhaustive alignment finds, and its links are those of the aligner."""

from pathlib import Path
from runpy import run_path

import pytest

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.cost import Calibrated, Cosine, Cost, Novelty, Order, Term
from whymatch.learning import Projected
from whymatch.search.duplicates import duplicates
from whymatch.search.index import Index
from whymatch.search.results import ranking_weight
from whymatch.transport.constraints import Constraint

CONSTRAINTS = [wm.UpTo(1, below=0.55), wm.Exactly(3), wm.OneTo(2), wm.Balanced()]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    found = Index.create(tmp_path_factory.mktemp("search") / "index", aligner())
    found.add(posts(60))
    found.compact()
    return found


QUERY = "\n".join([post(7).split("\n")[0], post(11).split("\n")[2], "Nobody says this"])


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_with_every_document_a_candidate_search_is_exhaustive_alignment(index: Index, constraint: Constraint) -> None:
    every = aligner().align_many([(QUERY, text) for text in posts(60).values()], constraint, clip=True)
    best = sorted(every, key=lambda why: -why.score)[:10]
    found = index.search(QUERY, 10, constraint, candidates=60)
    factor = ranking_weight(constraint, 3, 4)
    assert [hit.score for hit in found] == pytest.approx([factor * why.score for why in best], abs=1e-3)
    assert found[0].alignment.to_pharaoh() == best[0].to_pharaoh()
    assert found.candidates == 60


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("terms", [(), (Order(0.3),), (Calibrated(),)], ids=["plain", "order", "calibrated"])
def test_scores_of_candidates_are_those_of_alignments(constraint: Constraint, terms: tuple[Term, ...]) -> None:
    used = wm.Aligner("line", WordSums(), Cost(Cosine(), *terms), below=0.55)
    query, *texts = (used.split(text) for text in (QUERY, *(post(number, 1 + number % 5) for number in range(12))))
    own, *vectors = used.encoder.encode(*zip(*((text.text, text.spans) for text in (query, *texts)), strict=True))
    pairs = [(query, text) for text in texts]
    solved = used.solve(pairs, [(own, rows) for rows in vectors], constraint, clip=True)
    aligned = used.align_many(pairs, constraint, clip=True)
    scores = [plan.score for plan in solved if not isinstance(plan, ValueError)]
    assert scores == pytest.approx([why.score for why in aligned], abs=1e-9)


def test_k_is_clipped_to_the_shorter_text_and_that_is_recorded(index: Index) -> None:
    hit = index.search("The cat sleeps near the dog 3", 1, wm.Exactly(3))[0]
    assert hit.alignment.certificate.clipped
    assert hit.alignment.constraint == wm.Exactly(1)
    assert len(hit.links) == 1


def test_links_carry_offsets_into_query_and_document(index: Index) -> None:
    for hit in index.search(QUERY, 3):
        for link in hit.links:
            assert QUERY[slice(*link.left)] == link.texts[0]
            assert hit.text[slice(*link.right)] == link.texts[1]


def test_documents_are_found_by_words_alone_and_by_vectors_alone(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    index.add({**posts(30), "rare": "\n".join([*(post(90 + n, 1) for n in range(6)), "xylophone"])})
    hit = index.search("xylophone", 1, candidates=1)[0]
    assert (hit.id, hit.places["words"]) == ("rare", 1)


def test_a_short_document_gains_nothing_by_being_short(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    line, other, _ = QUERY.split("\n")
    index.add(
        {"one": line, "two": f"{line}\n{other}", "long": "\n".join([line, other, *(post(n) for n in range(50, 53))])}
    )
    for constraint in (wm.Exactly(3), wm.UpTo(1, below=0.3)):
        scored = {hit.id: hit for hit in index.search(QUERY, 3, constraint)}
        assert scored["one"].score < scored["two"].score <= scored["long"].score + 1e-9
        for hit in scored.values():
            assert hit.score == hit.alignment.score == pytest.approx(sum(link.share for link in hit.links))
            assert hit.alignment.verify(index.aligner).links_hold


def test_an_explanation_adds_up_to_the_difference_of_the_scores(index: Index) -> None:
    found = index.search(QUERY, 5, wm.Exactly(2))
    why = found.explain(3, found[1].id)
    assert (why.above, why.below) == (found[1], found[3])
    assert sum(some.adds for some in why.differences) == pytest.approx(why.lead, abs=1e-12)
    assert why.lead == found[1].score - found[3].score >= 0
    assert all(some.text == QUERY[slice(*some.span)] for some in why.differences)
    with pytest.raises(ValueError, match="not among the 5 results"):
        found.explain(0, "nobody")
    with pytest.raises(ValueError, match="no result 9"):
        found.explain(0, 8)


def test_a_run_file_has_a_line_a_document(index: Index) -> None:
    found = index.search(QUERY, 3)
    lines = [line.split(" ") for line in found.to_trec("q1", "mine").splitlines()]
    assert [line[2] for line in lines] == [hit.id for hit in found]
    assert [(line[0], line[1], line[3], line[5]) for line in lines] == [("q1", "Q0", str(n), "mine") for n in (1, 2, 3)]
    with pytest.raises(ValueError, match="without blanks"):
        found.to_trec("two words")


@pytest.mark.parametrize("query", ["", " \n", "\ud800"])
def test_a_query_that_shows_nothing_is_refused(index: Index, query: str) -> None:
    with pytest.raises(ValueError, match=r"empty|Unicode"):
        index.search(query)


@pytest.mark.parametrize("query", ["'\"; DROP (", "AND OR NOT", "a*b? ~2 ^3 [x TO y]", "日本語", "x " * 5000])
def test_a_query_is_never_a_program(index: Index, query: str) -> None:
    assert len(index.search(query, 5)) == 5


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    assert [*Index.create(tmp_path, aligner()).search("Anything")] == []


def test_near_duplicates_are_listed_once_with_their_links(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    index.add({**posts(40), "copy": post(3), "nearly": post(8) + "\nOne more"})
    found = {(pair.left, pair.right): pair for pair in duplicates(index, least=0.7)}
    assert set(found) == {("copy", "post-3"), ("nearly", "post-8")}
    assert found["copy", "post-3"].overlap == 1
    assert len(found["nearly", "post-8"].alignment.links) == 4
    assert found["nearly", "post-8"].overlap < 1


def test_a_ranker_searches_with_its_own_constraint_and_calibration(minilm: Path, tmp_path: Path) -> None:
    encoder = Projected(wm.SentenceEncoder(minilm), 384)
    ranker = wm.Ranker(wm.Aligner("sentence", encoder, Cost(Cosine(), Novelty(0.1))), wm.Exactly(2)).eval()

    index = Index.create(tmp_path, ranker)
    index.add({"a": "The cat slept. It rained all day.", "b": "Wine is red. Prices rose."})
    assert index.search("All day there was rain. A cat was asleep.")[0].probability is None
    ranker.calibrate([0.9, 0.8, 0.1, 0.2], [True, True, False, False])
    found = index.search("All day there was rain. A cat was asleep.")
    assert len(found) == 2
    assert found[0].alignment.constraint == wm.Exactly(2)
    assert not found[0].alignment.by_default
    assert found[0].probability == ranker.probability(found[0].score)
    with pytest.raises(ValueError, match="was written with"):
        Index.open(tmp_path, wm.Aligner(encode=wm.SentenceEncoder(minilm)))


def test_untrained_minilm_finds_the_paraphrase(minilm: Path, tmp_path: Path) -> None:
    index = wm.Index.create(tmp_path, wm.Aligner())
    index.add(
        {
            "cat": "A cat was asleep on a mat. Prices rose.",
            "wine": "Wine is red. My uncle sells cars.",
            "rain": "All day long there was rain.",
        }
    )
    hit = index.search("It rained all day.")[0]
    assert hit.id == "rain"
    assert hit.links[0].texts == ("It rained all day.", "All day long there was rain.")
    assert hit.alignment.verify().holds
    again = wm.Index.open(tmp_path)  # the same vectors, and other costs
    assert again.search("It rained all day.")[0].id == "rain"


def test_the_example_cites_sources_and_says_where_there_is_none(
    minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_path(str(Path(__file__).parents[2] / "examples" / "citations.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "    handbook, characters 0 to 44: Employees have 25 days of paid leave a year."
    assert lines[-1] == "    no source says this"
