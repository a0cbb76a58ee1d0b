"""Writers that are killed: what they do to an index, and what they say of it once it is done."""

import json
import os
import random
from pathlib import Path

from tests.search.encoding import aligner, post
from whymatch.datasets.documents import CorpusFiles
from whymatch.search.building import build
from whymatch.search.index import Index

KEEP = {"size": int, "first": str, "even": bool}


def change(folder: Path, who: str, seed: int, journal: Path) -> None:
    """Adds, replaces and deletes documents at random, for ever; each change is announced, and acknowledged after it."""
    draw = random.Random(seed)
    index = Index.create(folder, aligner(), keep=KEEP)
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for turn in range(10**6):
        ids = [f"{who}-{number}" for number in draw.sample(range(40), draw.randint(1, 6))]
        verb = draw.choice(["add", "replace", "replace", "delete"])
        texts = {id_: post(draw.randrange(10**6)) for id_ in ids}
        shared = {f"both-{number}": post(number) for number in draw.sample(range(20), 2)}  # as the other writer does
        wanted = {**texts, **shared} if verb == "add" else texts
        note(file, {"turn": turn, "verb": verb, "documents": wanted})
        if verb == "add":
            index.add(wanted, {id_: kept(text) for id_, text in wanted.items()})
        elif verb == "replace":
            index.replace(wanted, {id_: kept(text) for id_, text in wanted.items()})
        else:
            index.delete(ids)
        note(file, {"turn": turn, "done": True})
        if turn % 10 == 9:
            index.compact()


def kept(text: str) -> dict[str, object]:
    """What is kept of a text: values that say whether they are still with it."""
    return {"size": len(text), "first": text[:20], "even": len(text) % 2 == 0}


def note(file: int, values: dict[str, object]) -> None:
    os.write(file, json.dumps(values).encode() + b"\n")


def index_corpus(folder: Path, corpus: Path) -> None:
    """What `whymatch index --keep` does, in small transactions."""
    index = Index.create(folder, aligner(), keep=KEEP)
    build(index, CorpusFiles(corpus, keep=(*KEEP,)), lambda complaint: None, documents_per_transaction=3)
