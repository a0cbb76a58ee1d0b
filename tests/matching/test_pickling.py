"""Alignments and aligners go to other processes and back, by pickle, multiprocessing and joblib."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import pytest

import whymatch as wm
from whymatch.cost import Cosine, Cost, Evidence, Relations

PAIR = (
    "It rained all day. Take 5 mg of it twice a day. Wine is red.",
    "All day long there was rain. Take 50 mg of it twice a day.",
)
TEXTS = [f"Text {n} is about rain. Its number is {n * 7}. Nobody has read it {n % 9} times yet." for n in range(220)]
ALIGNERS = {
    "default": {},
    "words": {"spans": "word"},
    "plain": {"spans": "line", "cost": "cosine", "below": 0.5},
    "relations": {"relations": True},
    "read by relations": {"cost": Cost(Cosine(), Evidence(), Relations(0.5))},
    "background": {"background": TEXTS},
}
SMALL = 20_000  # bytes: without the background that ships, and without the weights of models


@pytest.mark.parametrize("name", ALIGNERS)
@pytest.mark.usefixtures("minilm")
def test_an_aligner_that_was_used_gives_the_same_after_it_was_pickled(name: str) -> None:
    aligner = wm.Aligner(**ALIGNERS[name])  # type: ignore[arg-type]
    why = aligner.align(*PAIR)
    data = pickle.dumps(aligner)
    assert pickle.loads(data).align(*PAIR) == why
    assert pickle.loads(pickle.dumps(why)) == why
    assert len(data) < SMALL or name == "background"


@pytest.mark.usefixtures("minilm")
def test_alignments_of_many_pairs_can_be_pickled() -> None:
    whys = wm.Aligner().align_many([PAIR, PAIR[::-1]])
    again = pickle.loads(pickle.dumps(whys))
    assert again == whys
    assert type(again) is type(whys)


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
@pytest.mark.usefixtures("minilm")
def test_other_processes_align_as_this_one_does(start: str) -> None:
    aligner = wm.Aligner(relations=True)
    expected = aligner.align(*PAIR)
    with ProcessPoolExecutor(2, mp_context=get_context(start)) as pool:
        assert [*pool.map(aligner.align, *zip(*[PAIR] * 4, strict=True))] == [expected] * 4


@pytest.mark.usefixtures("minilm")
def test_joblib_aligns_in_other_processes() -> None:
    aligner = wm.Aligner()
    expected = aligner.align(*PAIR)
    work = (joblib.delayed(aligner.align)(*PAIR) for _ in range(4))
    assert joblib.Parallel(n_jobs=2)(work) == [expected] * 4
