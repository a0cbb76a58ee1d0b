"""Laws of evidence: bits follow from the tails of a background, and chance is worth nothing."""

import json
import pickle
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from math import inf, log, log2
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.optimize import linear_sum_assignment

import whymatch as wm
from tests.cost.drawing import SHAPES, Drawn, background, documents, draw
from whymatch.cost import (
    Background,
    Base,
    Calibrated,
    Cosine,
    Cost,
    Euclidean,
    Evidence,
    NegativeCosine,
    Neighbours,
    Order,
    Relations,
    SharedWords,
    WholeText,
    WordCounts,
)
from whymatch.cost.background import MANY_TEXTS, MAX_SPANS, MIN_SPANS, MIN_TEXTS, pieces_of, sample
from whymatch.cost.evidence import counted_spans
from whymatch.text.document import Document, joined

shapes = st.sampled_from(SHAPES)
dimensions = st.sampled_from([1, 2, 3, 16, 384])
seeds = st.integers(0, 10**6)
Slow: TypeAlias = Callable[[int, int, float], float]


def text_of(rows: np.ndarray, name: str) -> Document:
    return joined([f"{name}{number}" for number in range(len(rows))])


def evidence_of(
    left: np.ndarray, right: np.ndarray, against: Background, base: Base | None = None, *terms: wm.cost.Term
) -> np.ndarray:
    """The evidence (n, m) of all pairs, in bits."""
    cost = Cost(base or Cosine(), *terms, Evidence(against))
    bits: np.ndarray = -cost(left, right, texts=[(text_of(left, "l"), text_of(right, "r"))])
    return bits


def distances(x: np.ndarray, others: np.ndarray) -> list[float]:
    """1 minus the cosines of a vector with others, and 1 where one is zero, in double precision."""
    x, others = x.astype(np.float64), others.astype(np.float64)
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(x)
    return [1.0 if length == 0 else 1 - product / length for product, length in zip(others @ x, lengths, strict=True)]


def slow_tail(x: np.ndarray, others: np.ndarray) -> tuple[float, float, int]:
    """The threshold, the mean excess and the rank of a span's tail, of costs in the order of their size."""
    costs = sorted(distances(x, others))
    size = max(10, round(0.0125 * len(costs)))
    tail = costs[2 : 2 + size]
    as_near = sum(cost <= tail[-1] + 1e-6 for cost in costs) - 2
    return tail[-1], sum(tail[-1] - cost for cost in tail) / size, max(as_near, size)


def slow_bits(x: np.ndarray, others: np.ndarray, typical: tuple[float, float]) -> Callable[[float], float]:
    """How rare any cost is for a span, where `typical` is the mean threshold and the mean excess of the background."""
    threshold, excess, rank = slow_tail(x, others)
    (own,) = distances(x, x[None])
    if threshold < typical[0]:
        room = min(1.0, max(0.0, (threshold - own) / max(typical[0] - own, 1e-9)))
        threshold += (typical[0] - threshold) / 2 * room
    else:
        threshold -= (threshold - typical[0]) / 2
    excess = max(excess, max(typical[1], 1e-5 * max(typical[0], abs(1 - typical[0]))) / 2)
    return lambda cost: log2(len(others) / rank) + (threshold - cost) / (excess * log(2))


def slow_evidence(left: Sequence[Callable[[float], float]], right: Sequence[Callable[[float], float]]) -> Slow:
    """The evidence of a pair of spans with these bits at a cost; it is that of spans that could be significant."""
    least = max(log2(len(left) * len(right)), 1 + log2(80))  # a copy of a span whose tail is full of copies has less
    counted = [[bits(0.0) > least for bits in side] for side in (left, right)]
    trials = log2(max(1, sum(counted[0])) * max(1, sum(counted[1])))
    return lambda i, j, cost: (left[i](cost) + right[j](cost)) / 2 * (counted[0][i] and counted[1][j]) - trials


@settings(max_examples=25)
@given(shape=shapes, size=st.sampled_from([1, 2, 16]), spans=st.sampled_from([200, 213]), seed=seeds)
def test_bits_follow_the_formula(shape: str, size: int, spans: int, seed: int) -> None:
    others = draw(shape, spans, size, seed)
    left, right = draw(shape, 2, size, seed + 1), draw("ordinary", 3, size, seed + 2)
    right[0] = others[0]
    tails = [slow_tail(x, others) for x in others]
    typical = float(np.mean([tail[0] for tail in tails])), float(np.mean([tail[1] for tail in tails]))
    found = evidence_of(left.astype(np.float64), right.astype(np.float64), background(others))
    bits = [[slow_bits(x, others, typical) for x in side] for side in (left, right)]
    evidence = slow_evidence(*bits)
    for i, j in np.ndindex(found.shape):
        (cost,) = distances(left[i], right[j : j + 1])
        # Single precision moves a cost by 1e-6, which a steep tail makes larger.
        assert found[i, j] == pytest.approx(evidence(i, j, cost), rel=2e-3, abs=0.02)


@given(shape=shapes, size=dimensions, seed=seeds)
def test_evidence_is_finite_symmetric_and_more_for_what_costs_less(shape: str, size: int, seed: int) -> None:
    against = background(draw(shape, MIN_SPANS, size, seed))
    left, right = draw(shape, 3, size, seed + 1).astype(np.float64), draw("zeros", 4, size, seed + 2)
    found = evidence_of(left, right, against)
    assert np.isfinite(found).all()
    turned = evidence_of(right, left, against)
    np.testing.assert_allclose(turned.T, found, rtol=1e-4, atol=1e-3)
    (tails,) = against.tails(Cost(Cosine()), [text_of(left, "l")], [left])
    assert (tails[:, 1] > 0).all()


@given(costs=st.lists(st.floats(0, 2), min_size=2, max_size=8), seed=seeds)
def test_a_lower_cost_has_more_bits(costs: list[float], seed: int) -> None:
    against = background(draw("ordinary", 256, 8, seed))
    (x,) = draw("ordinary", 1, 8, seed + 1)
    (tail,) = against.tails(Cost(Cosine()), [joined(["x"])], [x[None]])
    bits = [float(tail[0, 0] - tail[0, 1] * cost) for cost in sorted(costs)]
    assert bits == sorted(bits, reverse=True)


@settings(max_examples=25)
@given(n=st.integers(1, 5), m=st.integers(1, 5), templates=st.integers(0, 5), seed=seeds)
def test_a_pair_is_worth_less_by_log2_of_the_pairs_that_could_be_significant(
    n: int, m: int, templates: int, seed: int
) -> None:
    vectors = draw("ordinary", 800, 64, seed)
    vectors[100:] = vectors[100]  # worth log2(8 / 7) bits
    left, right = (draw("ordinary", size, 64, seed + side).astype(np.float64) for side, size in ((1, n), (2, m)))
    left[:templates] = vectors[100]
    against = background(vectors)
    together = evidence_of(left, right, against)
    counted = max(1, n - templates) * m
    for i, j in np.ndindex(n, m):
        alone = evidence_of(left[i : i + 1], right[j : j + 1], against)[0, 0]
        assert together[i, j] == pytest.approx(alone - log2(counted), abs=1e-3)
    cost, texts = Cost(Cosine(), Evidence(against)), [(text_of(left, "l"), text_of(right, "r"))]
    part = -cost(left, right, texts=texts, searched=np.array([[40, 50]]))
    np.testing.assert_allclose(part + log2(2000), together + log2(counted))


@settings(max_examples=25)
@given(seed=seeds, share=st.floats(0.1, 0.95), size=st.sampled_from([2, 16, 384]))
def test_a_template_is_worth_no_more_than_how_rare_it_is(seed: int, share: float, size: int) -> None:
    vectors = draw("ordinary", 800, size, seed)
    template = vectors[0].copy()
    copies = round(share * 800)
    vectors[np.random.default_rng(seed).permutation(800)[:copies]] = template
    (bits,) = evidence_of(template[None], template[None], background(vectors))[0]
    rarest = log2(800 / (copies - 2))  # two of them may be the spans themselves
    assert bits <= rarest + 0.01


def test_a_span_that_is_unlike_the_background_is_worth_more_than_a_template() -> None:
    vectors = draw("template", 800, 64)
    unlike = draw("ordinary", 1, 64, seed=9)
    found = [float(evidence_of(rows, rows, background(vectors))[0, 0]) for rows in (vectors[:1], unlike)]
    assert found[0] < 2
    assert found[1] > 8


@given(shape=shapes, n=st.integers(1, 4), m=st.integers(1, 4), seed=seeds)
def test_spans_that_cannot_be_read_have_no_evidence_whatever_their_vectors(
    shape: str, n: int, m: int, seed: int
) -> None:
    left, right = draw(shape, n, 5, seed), draw(shape, m, 5, seed)
    tails = np.zeros((1, n, 2)), np.random.default_rng(seed).random((1, m, 2)) + 0.1
    with np.errstate(over="ignore", invalid="ignore"):
        found = Cost(Cosine(), Evidence())(left, right, tails=tails)
    assert ((found >= 0) & (found <= log2(m))).all()


CASES = [
    (Cosine(), ()),
    (NegativeCosine(), ()),
    (Euclidean(), ()),
    (Cosine(), (Neighbours(0.4),)),
    (Cosine(), (WholeText(0.3),)),
    (Cosine(), (SharedWords(0.5, WordCounts.of(["l0 r1", "b3 b4 l0"])),)),
]
case = pytest.mark.parametrize(("base", "terms"), CASES, ids=lambda value: str(value))


@case
def test_numpy_and_torch_agree_and_padding_changes_nothing(base: Base, terms: tuple[wm.cost.Term, ...]) -> None:
    cost = Cost(base, *terms, Evidence(background(draw("ordinary", 240, 5))))
    sizes = np.array([[4, 5], [2, 3], [1, 5], [0, 3]])
    left, right = (draw("ordinary", 4 * n, 5, seed=n).reshape(4, n, 5).astype(np.float64) for n in (4, 5))
    for b, (n, m) in enumerate(sizes):
        left[b, n:], right[b, m:] = 0, 0
    texts = [(text_of(left[b, :n], "l"), text_of(right[b, :m], "r")) for b, (n, m) in enumerate(sizes)]
    by_numpy = cost(left, right, sizes=sizes, texts=texts)
    by_torch = cost(torch.from_numpy(left), torch.from_numpy(right), sizes=sizes, texts=texts)
    assert by_torch.dtype == torch.float64
    for b, (n, m) in enumerate(sizes):
        np.testing.assert_allclose(by_torch[b, :n, :m].numpy(), by_numpy[b, :n, :m], rtol=1e-6)
        alone = cost(left[b, :n], right[b, :m], texts=texts[b : b + 1])
        np.testing.assert_allclose(by_numpy[b, :n, :m], alone, rtol=1e-6)


@case
def test_gradients_are_those_of_the_cost_before_with_the_tails_held_fixed(
    base: Base, terms: tuple[wm.cost.Term, ...]
) -> None:
    against = background(draw("ordinary", 240, 5))
    cost, before = Cost(base, *terms, Evidence(against)), Cost(base, *terms)
    arrays = [draw("ordinary", n, 5, seed=n).astype(np.float64) for n in (3, 4)]
    left, right = (torch.from_numpy(rows).requires_grad_() for rows in arrays)
    texts = [(text_of(arrays[0], "l"), text_of(arrays[1], "r"))]
    (tails_left,), (tails_right,) = (against.tails(before, [texts[0][side]], [arrays[side]]) for side in (0, 1))
    slopes = torch.from_numpy(tails_left[:, None, 1] + tails_right[None, :, 1]) / 2
    weights = torch.from_numpy(np.random.default_rng(0).random((3, 4)))
    found = torch.autograd.grad((weights * cost(left, right, texts=texts)).sum(), (left, right))
    expected = torch.autograd.grad((weights * slopes * before(left, right, texts=texts)).sum(), (left, right))
    torch.testing.assert_close(found, expected)
    tails = tails_left[None], tails_right[None]
    assert torch.autograd.gradcheck(lambda x, y: cost(x, y, texts=texts, tails=tails), (left, right), rtol=1e-2)


def test_a_term_that_mixes_vectors_is_part_of_the_evidence_wherever_it_stands() -> None:
    against, rows = background(draw("ordinary", 240, 5)), draw("ordinary", 4, 5, seed=1)
    texts = [(text_of(rows, "l"), text_of(rows, "r"))]
    first, last = Cost(Cosine(), Neighbours(0.4), Evidence(against)), Cost(Cosine(), Evidence(against), Neighbours(0.4))
    np.testing.assert_array_equal(first(rows, rows, texts=texts), last(rows, rows, texts=texts))


def test_tails_belong_to_the_words_that_were_counted() -> None:
    against, text, rows = background(draw("ordinary", 240, 5)), joined(["b1 b2"]), draw("ordinary", 1, 5, seed=1)
    counts = WordCounts.of(["b1"]), WordCounts.of([f"b{number}" for number in range(240)])
    one, other = (Cost(Cosine(), SharedWords(0.5, some)) for some in counts)
    fresh = background(draw("ordinary", 240, 5)).tails(other, [text], [rows])[0]
    against.tails(one, [text], [rows])
    np.testing.assert_array_equal(against.tails(other, [text], [rows])[0], fresh)


@pytest.mark.parametrize("size", [1, 3, 64, 384])
def test_the_tails_of_a_text_are_the_same_to_the_bit_alone_and_among_others(size: int) -> None:
    against = background(draw("ordinary", 1000, size))
    texts = [joined([f"t{n} {i}" for i in range(n)]) for n in (0, 1, 2, 3, 7, 16, 33, 600)]
    vectors = [draw("ordinary", len(text), size, seed=len(text)) for text in texts]
    together = against.tails(Cost(Cosine()), texts, vectors)
    for text, rows, tails in zip(texts, vectors, together, strict=True):
        assert np.array_equal(against.tails(Cost(Cosine()), [text], [rows])[0], tails)


@pytest.fixture(scope="module")
def aligner() -> wm.Aligner:
    encoder = Drawn(noise=0.8)
    made_by = wm.Aligner("line", encoder, "cosine")
    texts = ["\n".join(f"word{number} {i}" for i in range(5)) for number in range(100)]
    return wm.Aligner("line", encoder, background=Background.of(texts, made_by))


topics = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@given(left=topics, right=topics, k=st.integers(1, 4))
def test_exact_solving_the_path_and_the_margin_work_on_evidence(
    aligner: wm.Aligner, left: list[int], right: list[int], k: int
) -> None:
    sides = [[f"topic{topic} {side}{i}" for i, topic in enumerate(own)] for side, own in (("l", left), ("r", right))]
    why = aligner.align(sides[0], sides[1])
    (cost,) = aligner.costs([(why.left, why.right)])
    rows, columns = linear_sum_assignment(np.minimum(cost, 0))
    assert why.score == pytest.approx(-np.minimum(cost, 0)[rows, columns].sum())
    assert why.bits == pytest.approx(why.score if (cost < 0).any() else -cost.min())
    totals = [total for total, links in matchings(cost) if all(cost[at] < 0 for at in links)]
    assert why.certificate.margin == pytest.approx(totals[1] - totals[0] if len(totals) > 1 else inf, abs=1e-6)
    for step in why.path:
        best = min(total for total, links in matchings(cost) if len(links) == step.k)
        assert step.score == pytest.approx(-best)
    (exact,) = aligner.align_many([(sides[0], sides[1])], wm.Exactly(k), clip=True)
    assert exact.score == pytest.approx(why.path[exact.certificate.links - 1].score)
    assert exact.bits == pytest.approx(why.bits)


def matchings(cost: np.ndarray) -> list[tuple[float, list[tuple[int, int]]]]:
    """All ways to link spans one to one, the cheapest first."""
    n, m = cost.shape
    chosen = [
        [*zip(rows, columns, strict=True)]
        for k in range(min(n, m) + 1)
        for rows in combinations(range(n), k)
        for columns in permutations(range(m), k)
    ]
    return sorted((float(sum(cost[at] for at in links)), links) for links in chosen)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("general", [True, False])
def test_a_background_is_read_as_it_was_written(shape: str, general: bool, tmp_path: Path) -> None:
    texts = tuple(Document(f"é ü {number}\n漢字", (wm.Span(0, 3), wm.Span(4, 5))) for number in range(100))
    made = Background("named «so»", "by this", texts, draw(shape, 200, 7), general)
    made.write(tmp_path / "file")
    read = Background.read(tmp_path / "file")
    assert (read.name, read.encoder, read.documents, read.general) == (made.name, made.encoder, texts, general)
    assert read.digest == made.digest
    largest = float(np.abs(made.vectors).max())
    np.testing.assert_allclose(read.vectors, made.vectors, rtol=0, atol=1e-3 * largest)
    read.write(tmp_path / "again")
    np.testing.assert_array_equal(Background.read(tmp_path / "again").vectors, read.vectors)


def test_a_digest_is_that_of_texts_and_vectors() -> None:
    vectors = draw("ordinary", 200, 7)
    changed = vectors.copy()
    changed[3, 2] += 0.1
    digests = [background(vectors).digest, background(changed).digest, background(vectors, per_text=5).digest]
    assert len({*digests}) == 3
    assert Background("another name", "drawn", documents(200), vectors).digest == digests[0]


def damaged(file: Path, how: str) -> None:
    content, arrays = file.read_bytes(), load_file(file)
    if how == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif how == "a bit":
        place = len(content) - 100  # within the vectors or the texts
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    elif how == "no header":
        save_file(arrays, file)
    elif how == "no vectors":
        save_file({"texts": arrays["texts"]}, file, {"name": "x", "encoder": "x", "general": "true", "digest": "x"})
    elif how == "fewer vectors":
        facts = {"name": "x", "encoder": "x", "general": "true", "digest": "x"}
        save_file({**arrays, "vectors": arrays["vectors"][1:].copy()}, file, facts)
    elif how == "another file":
        file.write_text("# A text\n")
    else:
        file.unlink()


@pytest.mark.parametrize("how", ["cut", "a bit", "no header", "no vectors", "fewer vectors", "another file", "no file"])
def test_a_damaged_background_is_refused(how: str, tmp_path: Path) -> None:
    file = tmp_path / "background.safetensors"
    background(draw("ordinary", 200, 7)).write(file)
    damaged(file, how)
    with pytest.raises(ValueError, match="damaged"):
        Background.read(file)


@pytest.mark.parametrize("fact", ["encoder", "general", "spans"])
def test_no_fact_of_a_background_can_change_unnoticed(fact: str, tmp_path: Path) -> None:
    file = tmp_path / "background.safetensors"
    background(draw("ordinary", 200, 7)).write(file)
    arrays = load_file(file)
    with safe_open(file, framework="np") as stored:
        facts = stored.metadata()
    if fact == "spans":
        texts = json.loads(arrays["texts"].tobytes())
        texts["spans"][3][0][1] -= 1
        arrays["texts"] = np.frombuffer(json.dumps(texts, ensure_ascii=False).encode(), dtype=np.uint8)
    else:
        facts[fact] = {"encoder": "another", "general": "true"}[fact]
    save_file(arrays, file, facts)
    with pytest.raises(ValueError, match="damaged"):
        Background.read(file)


@pytest.mark.parametrize("base", [Cosine(), NegativeCosine(), Euclidean()], ids=lambda base: base.name)
def test_a_template_has_no_evidence_under_any_cost_with_a_lowest_value(base: Base) -> None:
    rows = draw("ordinary", 400, 12)
    rows[::2] = rows[0]  # half of the background are copies of one span
    made = background(rows, 4)
    cost = Cost(base, Evidence(made))
    before = cost.before_evidence
    assert before is not None
    (tails,) = made.tails(before, [joined(["template", "another"])], [rows[[0, 1]]])
    left, _ = counted_spans(tails[None], tails[None], before.least)
    assert left.tolist() == [[False, True]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_background_has_finite_vectors(value: float) -> None:
    rows = draw("ordinary", 200, 3)
    rows[7, 1] = value
    with pytest.raises(ValueError, match="NaN or infinity"):
        background(rows)


def test_texts_of_other_dimensions_than_the_background_are_refused() -> None:
    with pytest.raises(ValueError, match="vectors of 5 dimensions, and the texts of 4"):
        background(draw("ordinary", 200, 5)).tails(Cost(Cosine()), [joined(["a"])], [draw("ordinary", 1, 4)])
    with pytest.raises(TypeError, match="got one string"):
        Background.of("a text", wm.Aligner("line", wm.Precomputed({"a": [1.0]})))
    with pytest.raises(TypeError, match="takes a Background or nothing"):
        Evidence(5)  # type: ignore[arg-type]


def test_a_background_can_be_pickled() -> None:
    made = background(draw("ordinary", 240, 5))
    text, rows = joined(["a", "b"]), draw("ordinary", 2, 5, seed=1)
    expected = made.tails(Cost(Cosine()), [text], [rows])
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made) == "Background('drawn spans', 240 spans, drawn)"
    assert again.digest == made.digest
    np.testing.assert_array_equal(again.tails(Cost(Cosine()), [text], [rows]), expected)


@pytest.mark.parametrize(
    ("spans", "per_text", "message"),
    [
        (MIN_SPANS - 1, 4, f"takes {MIN_TEXTS} texts with {MIN_SPANS} spans or more.*texts: 50, spans: 199"),
        (MIN_SPANS, 25, "texts: 8, spans: 200"),
        (4, 4, "texts: 1, spans: 4"),
    ],
)
def test_a_background_that_says_too_little_is_refused(spans: int, per_text: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        background(draw("ordinary", spans, 3), per_text)


def test_a_background_takes_one_vector_per_span() -> None:
    with pytest.raises(ValueError, match=r"200 spans takes as many vectors, got \(199, 3\)"):
        Background("x", "x", documents(200), draw("ordinary", 199, 3))
    with pytest.raises(ValueError, match=r"got \(200,\)"):
        Background("x", "x", documents(200), np.zeros(200, np.float32))


def test_texts_that_are_equal_count_once_and_large_corpora_are_sampled() -> None:
    made_by = wm.Aligner("line", Drawn(4), "cosine")
    texts = ["\n".join(f"{number} {i}" for i in range(10)) for number in range(30)]
    made = Background.of([*texts, *texts, ""], made_by, name="thirty")
    assert [text.text for text in made.documents] == texts
    assert repr(made) == "Background('thirty', 300 spans, drawn)"
    with pytest.raises(ValueError, match="Give more texts"):
        Background.of([texts[0]] * 100, made_by)
    many = documents(3 * MAX_SPANS, per_text=7)
    chosen = sample(many)
    assert MAX_SPANS - 7 <= sum(len(many[number]) for number, _ in chosen) <= MAX_SPANS
    assert all(part == slice(0, len(many[number])) for number, part in chosen), "short texts are taken whole"
    assert chosen == sorted(chosen) == sample(many)
    assert pieces_of(many, chosen) == tuple(many[number] for number, _ in chosen)


def test_of_long_texts_pieces_are_taken() -> None:
    made_by = wm.Aligner("line", Drawn(4), "cosine")
    texts = ["\n".join(f"{number} {i}" for i in range(500)) for number in range(60)]
    made = Background.of(texts, made_by)
    assert [text.text for text in made.documents] == texts
    assert {len(text) for text in made.documents} == {MAX_SPANS // MANY_TEXTS}
    assert len({text.spans[0].start for text in made.documents}) > 1, "not all from the beginning"
    whole = made_by.encoder.encode(texts, [made_by.split(text).spans for text in texts])
    for text, rows, own in zip(made.documents, np.split(made.vectors, 60), whole, strict=True):
        start = made_by.split(text.text).spans.index(text.spans[0])
        np.testing.assert_array_equal(rows, own[start : start + len(text)].astype(np.float32))


@settings(max_examples=20)
@given(seed=seeds, share=st.floats(0, 0.3))
def test_texts_that_are_left_out_do_not_count(seed: int, share: float) -> None:
    out = [number for number in range(200) if np.random.default_rng([seed, number]).random() < share]
    rows, asked = draw("ordinary", 600, 5, seed), draw("ordinary", 4, 5, seed + 1)
    against = background(rows, per_text=3)
    (tails,) = against.tails(Cost(Cosine()), [text_of(asked, "l")], [asked], out)
    table = against._table(Cost(Cosine()))
    left = rows[~np.isin(np.arange(600) // 3, out)]
    for x, (intercept, slope) in zip(asked, tails, strict=True):
        bits = slow_bits(x, left, (table.threshold, table.scale))
        for cost in (0.0, 0.3, 1.0):
            assert intercept - slope * cost == pytest.approx(bits(cost), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("term", [Order(0.1), Calibrated(), Relations(2.0)], ids=str)
def test_terms_that_compare_the_pairs_of_two_texts_come_after_evidence(term: wm.cost.Term) -> None:
    with pytest.raises(ValueError, match=rf"{term.name} has no meaning or takes too long: put it after Evidence"):
        Cost(Cosine(), term, Evidence())
    assert Cost(Cosine(), Evidence(), term).evidence == Evidence()
    assert Cost(Cosine(), Evidence(), term).before_evidence == Cost(Cosine())


def test_a_cost_with_evidence_is_a_value_like_any_other() -> None:
    cost = Cost(Cosine(), Neighbours(0.4), Evidence())
    assert cost.to_list() == ["cosine", {"neighbours": 0.4}, {"evidence": {}}]
    assert Cost.from_list(cost.to_list()) == cost == cost.against(background(draw("ordinary", 200, 3)))
    assert hash(Cost.from_list(cost.to_list())) == hash(cost)
    assert cost.name == "cosine distance with neighbours (0.4) and evidence"
    assert (cost.neutral, cost.least, Cost(Cosine(), Evidence()).contextual) == (0, -inf, False)
    assert cost.before_evidence == Cost(Cosine(), Neighbours(0.4))
    assert Cost(Cosine()).evidence is None
    assert Cost(Cosine()).before_evidence is None


def test_evidence_without_a_background_says_what_to_give() -> None:
    rows = draw("ordinary", 2, 3)
    with pytest.raises(ValueError, match="give Evidence"):
        Cost(Cosine(), Evidence())(rows, rows)
