"""Search finds what exhaustive alignment finds, ranks by evidence, and its links are those of the aligner."""

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.cost import Calibrated, Cosine, Cost, Novelty, Order, Term
from whymatch.learning import Projected
from whymatch.search.index import Index
from whymatch.transport.constraints import Constraint

CONSTRAINTS = [wm.UpTo(1, below=0.55), wm.Exactly(3), wm.OneTo(2), wm.Balanced()]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    found = Index.create(tmp_path_factory.mktemp("search") / "index", aligner())
    found.add(posts(60))
    found.compact()
    return found


QUERY = "\n".join([post(7).split("\n")[0], post(11).split("\n")[2], "Nobody says this"])


@pytest.mark.parametrize("constraint", [None, *CONSTRAINTS], ids=str)
def test_with_every_document_a_candidate_search_is_exhaustive_alignment(
    index: Index, constraint: Constraint | None
) -> None:
    judge = wm.Aligner("line", WordSums(), background=index)
    every = judge.align_many([(QUERY, text) for text in posts(60).values()], constraint, clip=True)
    assert index.scale is not None
    sides = [why.judgement.tails for why in every if why.judgement]
    tails = [(np.array(left), np.array(right)) for left, right in sides]
    values = [why.score if constraint else why.bits or 0.0 for why in every]
    surprise, _ = index.scale.judge(values, tails)
    found = index.search(QUERY, 60, constraint, candidates=60)
    assert [hit.ranked_by for hit in found] == pytest.approx(sorted(surprise, reverse=True), abs=0.02)
    best = every[int(np.argmax(surprise))]
    assert found[0].alignment.to_pharaoh() == best.to_pharaoh()
    assert best.p_value is not None
    assert best.judgement is not None
    surprise, sizes = np.array([-np.log2(best.p_value)]), np.array([best.judgement.sizes])
    (probability,) = index.scale.calibration.probability(surprise, sizes)
    assert (found[0].p_value, found[0].probability) == pytest.approx((best.p_value, probability), rel=0.03)
    assert (found.candidates, found.documents) == (60, 60)


def test_an_e_value_is_the_p_value_times_the_documents(index: Index) -> None:
    for hit in index.search(QUERY, 60):
        assert hit.p_value is not None
        assert hit.e_value == pytest.approx(60 * hit.p_value)
        assert (hit.bits, hit.p_value, hit.probability) == (
            hit.alignment.bits,
            hit.alignment.p_value,
            hit.alignment.probability,
        )
        assert hit.ranked_by == pytest.approx(-np.log2(hit.p_value))


FILLER = ["Hello everybody and good morning", "Thanks a lot for any help at all", "I bought it last year"]


def with_filler(texts: dict[str, str]) -> dict[str, str]:
    return {id_: "\n".join([*FILLER, text]) for id_, text in texts.items()}


def test_a_sentence_that_many_documents_have_is_worth_nothing_in_a_query(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    index.add(posts(60) | with_filler(posts(60, 100)))
    found = index.search("\n".join([FILLER[2], post(7).split("\n")[0]]), 120)
    assert found[0].id == "post-7"
    for hit in found:
        assert all(link.at[0] != 0 for link in hit.links)


def test_template_sentences_before_every_document_change_little(index: Index, tmp_path: Path) -> None:
    templated = Index.create(tmp_path, aligner())
    templated.add(with_filler(posts(60)))
    for number in (3, 7, 40):
        query = post(number).split("\n")[0]
        plain, with_template = index.search(query)[0], templated.search("\n".join([*FILLER, query]))[0]
        assert plain.id == with_template.id == f"post-{number}"
        assert [link.texts for link in plain.links] == [link.texts for link in with_template.links]
        assert with_template.bits == pytest.approx(plain.bits, rel=0.5)


def test_a_document_that_is_equal_to_the_query_comes_first_whatever_its_evidence(tmp_path: Path) -> None:
    index = Index.create(tmp_path, aligner())
    line = post(7).split("\n")[0]
    index.add(with_filler(posts(60)) | {"template": "\n".join(FILLER)})
    best = index.search("\n".join(FILLER))[0]
    assert (best.id, best.probability) == ("template", 1.0)
    assert index.search("\n".join([*FILLER, line]))[0].id == "post-7"


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("terms", [(), (Order(0.3),), (Calibrated(),)], ids=["plain", "order", "calibrated"])
def test_scores_of_candidates_are_those_of_alignments(constraint: Constraint, terms: tuple[Term, ...]) -> None:
    used = wm.Aligner("line", WordSums(), Cost(Cosine(), *terms))
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


def test_a_score_is_the_sum_of_its_links_and_they_hold_alone(index: Index) -> None:
    judge = wm.Aligner("line", WordSums(), background=index)
    for hit in index.search(QUERY, 5):
        assert hit.score == hit.alignment.score == pytest.approx(sum(link.share for link in hit.links))
        assert hit.alignment.verify(judge).links_hold


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


def test_a_query_without_words_is_searched_by_its_vectors(minilm: Path, tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index")
    index.add({"rain": "Rain fell.", "wine": "Wine is red."})
    for _ in range(2):
        assert {hit.id for hit in index.search("¡\U000caddf")} == {"rain", "wine"}
        index.compact()


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    assert [*Index.create(tmp_path, aligner()).search("Anything")] == []


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
    assert hit.alignment.judgement is not None
    assert hit.alignment.judgement.background == "texts of many kinds"
    again = wm.Index.open(tmp_path)  # the same vectors, and other costs
    assert again.search("It rained all day.")[0].id == "rain"


def test_the_example_cites_sources_and_says_where_there_is_none(
    minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_path(str(Path(__file__).parents[2] / "examples" / "citations.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 of 4 claims are supported; 1 is contradicted, and 1 has no source."
    assert "    handbook, characters 0 to 44: Employees have 25 days of paid leave a year." in lines
    assert "unsupported: The canteen is closed on Fridays." in lines
