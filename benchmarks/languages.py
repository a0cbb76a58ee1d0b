"""Languages: what is recognised, split, found and refused; the multilingual encoder beside MiniLM, and in English.

    WHYMATCH_DATA=… python -m benchmarks.languages --vectors FOLDER [--sites english]

Untrained. Parallel sentences are those of PUD, 1,000 in each language, and ten to thirty in fifteen languages in
sentences.txt beside this file. The bits that are taken off for unrelated texts were chosen on English and German, those
between scripts and for traditional characters with PUD's Chinese sentences in view, those for other Chinese by
judgement. Vectors of StackExchange's posts are kept in FOLDER. MiniLM's model card lists duplicates of StackExchange
among its training data.
"""

import argparse
import csv
import gzip
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np

import whymatch as wm
from benchmarks.word_alignment import edinburgh, f1, mtref, mutual_argmax
from experiments.corpora import Corpus, Encoding
from experiments.evidence import Measured, random_pairs
from whymatch.datasets.corpora import read_texts
from whymatch.datasets.eraser import read_eraser
from whymatch.evaluation.ranking import average_precision
from whymatch.matching.shipped import shipped_background
from whymatch.search.entries import pooled
from whymatch.show.terminal import table
from whymatch.text.encoders.multilingual import MultilingualEncoder
from whymatch.text.languages import language, language_name
from whymatch.text.spans import Span, sentences

PUD = {"en": "English", "de": "German", "fr": "French", "zh": "Chinese"}
PAIRS = 300  # random pairs of texts of each language
QUERIES = 300  # sentences whose translation is looked for
WORD_GRID = [round(0.04 * step, 2) for step in range(5, 25)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors of posts are kept")
    parser.add_argument("--sites", nargs="+", default=["english"], help="of StackExchange")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    data = Path(settings.data)
    pud = {code: _lines(data / "pud" / f"{name}.txt.gz") for code, name in PUD.items()}
    own = own_sentences()
    recognition(pud, own, data)
    splitting(pud, own)
    ours, minilm = wm.Aligner(encode="multilingual"), wm.Aligner()
    unrelated(ours, minilm, pud, own)
    translations(ours, minilm, pud, own)
    spellings(pud)
    in_english(ours, minilm, data, settings)
    words_in_english(data)
    times()


def own_sentences() -> dict[str, list[str]]:
    """Sentences by language: the same ten at the end of each."""
    blocks = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").split("%% ")[1:]
    return {code.strip(): lines.splitlines() for code, _, lines in (block.partition("\n") for block in blocks)}


def recognition(pud: dict[str, list[str]], own: dict[str, list[str]], data: Path) -> None:
    """The share of single sentences whose language is recognised, unknown, or taken for another."""
    rows = []
    for name, code, texts in [
        *((f"PUD, {PUD[code]}", code, texts) for code, texts in pud.items()),
        *((f"own, {language_name(code)}", code, texts) for code, texts in own.items()),
        ("e-SNLI, captions", "en", [*_captions(data)]),
        ("AskUbuntu, titles", "en", [*_titles(data)]),
    ]:
        told = [language(text) for text in texts]
        shares = [told.count(code), told.count(None), sum(one not in (code, None) for one in told)]
        rows.append([name, f"{len(texts):,}", *(f"{share / len(texts):.2%}" for share in shares)])
    print("The language of single sentences\n")
    print(table(["", "sentences", "right", "unknown", "wrong"], rows), "\n", flush=True)


def splitting(pud: dict[str, list[str]], own: dict[str, list[str]]) -> None:
    """F1 of sentence boundaries in paragraphs of five sentences."""
    rows = []
    for code, texts in [*pud.items(), *((f"own, {code}", texts) for code, texts in own.items())]:
        blank = "" if code[-2:] in ("zh", "ja") else " "
        right = found = wanted = 0
        for start in range(0, len(texts), 5):
            paragraph = texts[start : start + 5]
            ends = set(np.cumsum([len(text) + len(blank) for text in paragraph]) - len(blank))
            told = {span.end for span in sentences(blank.join(paragraph))}
            right, found, wanted = right + len(ends & told), found + len(told), wanted + len(ends)
        rows.append([code, f"{wanted:,}", f"{2 * right / (found + wanted):.3f}"])
    print("Sentence boundaries of paragraphs of five\n")
    print(table(["", "boundaries", "F1"], rows), "\n", flush=True)


def unrelated(ours: wm.Aligner, minilm: wm.Aligner, pud: dict[str, list[str]], own: dict[str, list[str]]) -> None:
    """How many random pairs of texts of four sentences have a link, and a probability above one half."""
    rows = []
    kinds = [(code, code, texts, texts) for code, texts in pud.items()]
    kinds += [(left, right, pud[left], pud[right]) for left, right in combinations(pud, 2)]
    kinds += [(f"own, {code}", code, texts, texts) for code, texts in own.items()]
    for name, aligner in (("multilingual", ours), ("MiniLM", minilm)):
        for left, right, texts, others in kinds if aligner is ours else kinds[:3]:
            draw, pairs = random.Random(0), []
            for _ in range(PAIRS if len(texts) > 100 else 100):
                numbers = draw.sample(range(len(texts)), 8)
                pairs.append(([texts[n] for n in numbers[:4]], [others[n] for n in numbers[4:]]))
            whys = _single(aligner, pairs)
            linked = fmean(bool(why.links) for why in whys)
            likely = fmean((why.probability or 0) > 0.5 for why in whys)
            judged = fmean(why.probability is not None for why in whys)
            rows.append([name, f"{left}–{right}", f"{linked:.1%}", f"{likely:.1%}", f"{judged:.0%}"])
    print(f"Unrelated texts of four sentences, {PAIRS:,} random pairs (100 of own sentences), single pairs\n")
    print(table(["encoder", "languages", "a link", "probability > ½", "judged"], rows), "\n", flush=True)


def translations(ours: wm.Aligner, minilm: wm.Aligner, pud: dict[str, list[str]], own: dict[str, list[str]]) -> None:
    """A sentence's own translation: first among all by evidence, and linked as one of four in another order."""
    rows = []
    for name, aligner in (("multilingual", ours), ("MiniLM", minilm)):
        kinds = [("en", code, pud["en"], texts) for code, texts in pud.items() if code != "en"]
        kinds += [("own, en", code, own["en"][-10:], texts[-10:]) for code, texts in own.items() if code != "en"]
        for left, right, texts, others in kinds if aligner is ours else kinds[:2]:
            first, back = _first(aligner, texts, others), _first(aligner, others, texts)
            draw = random.Random(0)
            found = total = wrong = 0
            pairs, orders = [], []
            for _ in range(250 if len(texts) > 100 else 25):
                numbers = draw.sample(range(len(texts)), 4)
                orders.append(draw.sample(range(4), 4))
                pairs.append(([texts[n] for n in numbers], [others[numbers[place]] for place in orders[-1]]))
            for why, order in zip(_single(aligner, pairs), orders, strict=True):
                right_links = sum(order[link.at[1]] == link.at[0] for link in why.links)
                found, wrong, total = found + right_links, wrong + len(why.links) - right_links, total + 4
            rows.append(
                [name, f"{left}–{right}", f"{first:.1%}", f"{back:.1%}", f"{found / total:.1%}", f"{wrong / total:.1%}"]
            )
    print("Translations: the own one first among 1,000 (10 of own sentences), and links of four with four\n")
    print(table(["encoder", "languages", "P@1", "back", "linked", "wrong links"], rows), "\n", flush=True)


def spellings(pud: dict[str, list[str]]) -> None:
    """The share of sentences whose translation is the nearest of 300 English ones, written in several ways."""
    ways: dict[str, Callable[[str], str]] = {
        "as they are": lambda text: text,
        "a soft hyphen at every seventh place": lambda text: "\u00ad".join(re.findall(".{1,7}", text)),
        "in capitals": str.upper,
        "in small letters": str.lower,
    }
    encoder = MultilingualEncoder()
    english = _encoded(encoder, pud["en"][:QUERIES])
    rows = []
    for way, written in ways.items():
        nearest = [
            (_encoded(encoder, map(written, pud[code][:QUERIES])) @ english.T).argmax(1) for code in ("de", "fr")
        ]
        rows.append([way, *(f"{np.mean(own == np.arange(QUERIES)):.1%}" for own in nearest)])
    print(f"The translation is nearest among {QUERIES}\n")
    print(table(["", "German", "French"], rows), "\n", flush=True)


def in_english(ours: wm.Aligner, minilm: wm.Aligner, data: Path, settings: argparse.Namespace) -> None:
    """Both encoders on English: duplicates among posts, links of single pairs, and sentences that answer questions."""
    rows = []
    questions = random.Random(0).sample([*read_eraser(data / "multirc", "val")], 400)
    for name, aligner in (("multilingual", ours), ("MiniLM", minilm)):
        corpus = _posts(data, Encoding(aligner, settings.vectors / name), settings.sites)
        measured, wholes = Measured(corpus, aligner), np.stack([pooled(rows) for rows in corpus.vectors])
        one_vector = _precision(corpus, partial(_cosines, wholes))
        evidence = _precision(corpus, measured.surprise)
        shares = []
        for pairs in (random_pairs(corpus, 500, seed=0), corpus.matches[:300]):
            chosen = [(corpus.documents[a], corpus.documents[b]) for a, b in pairs]
            whys = _single(aligner, chosen)
            shares += [fmean(bool(why.links) for why in whys), fmean((why.probability or 0) > 0.5 for why in whys)]
        whys = aligner.align_many([(pair.left, pair.right) for pair in questions], wm.Exactly(1), links_only=True)
        marked = [
            any(
                a < span.end and span.start < b
                for a, b in pair.right_rationale or ()
                for span in why.rationale("right")
            )
            for pair, why in zip(questions, whys, strict=True)
        ]
        numbers = [f"{one_vector:.3f}", f"{evidence:.3f}", f"{evidence / one_vector:.2f}"]
        rows.append([name, *numbers, *(f"{share:.1%}" for share in shares), f"{fmean(marked):.1%}"])
    print(f"English: posts of {', '.join(settings.sites)}; 400 questions of MultiRC (val)\n")
    head = [
        "encoder",
        "MAP, one vector",
        "evidence",
        "multiple",
        "random: a link",
        "p > ½",
        "duplicates: a link",
        "p > ½",
    ]
    print(table([*head, "MultiRC: nearest sentence is marked"], rows), "\n", flush=True)


def words_in_english(data: Path) -> None:
    """Words encoded alone by the multilingual encoder, by mutual argmax, the threshold chosen on the train files."""
    folder, row = data / "word_alignment", []
    aligner = wm.Aligner("word", MultilingualEncoder(), "cosine", below=0.5)
    for read, train, test in ((edinburgh, "train", "test"), (mtref, "train", "dev")):
        parts = [[*read(folder, split)][:700] for split in (train, test)]
        costs = [aligner.costs([(left, right) for left, right, _ in part]) for part in parts]
        gold = [[links for *_, links in part] for part in parts]
        curve = [f1(mutual_argmax(costs[0], below), gold[0]) for below in WORD_GRID]
        below = WORD_GRID[curve.index(max(curve))]
        row.append(f"{f1(mutual_argmax(costs[1], below), gold[1]):.3f}")
    print("Words alone, multilingual, mutual argmax of cosine: F1 on sure links\n")
    print(table(["", "Edinburgh++ test", "MTRef dev"], [["multilingual, words alone", *row]]), "\n", flush=True)


def times() -> None:
    """Seconds of processor time of the command, its second call."""
    texts = [
        "The price of power has doubled. I like the film.",
        "Der Strompreis hat sich verdoppelt. Ich mag den Film.",
    ]
    rows = []
    for name, options in (("multilingual", ["--encoder", "multilingual"]), ("MiniLM", ["--no-relations"])):
        taken = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "whymatch", "align", "--text", *options, *texts]
            subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        rows.append([name, f"{min(taken[1:]):.2f} s"])
    print("whymatch align --text, processor time of the second call\n")
    print(table(["encoder", "time"], rows))


def _lines(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def _captions(data: Path) -> Iterator[str]:
    with gzip.open(data / "esnli" / "esnli_test.csv.gz", "rt", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            yield row["Sentence1"]
            yield row["Sentence2"]


def _titles(data: Path) -> Iterator[str]:
    for line in _lines(data / "stackexchange" / "askubuntu" / "train_titles.tsv.gz"):
        yield from line.split("\t")[1:]


def _first(aligner: wm.Aligner, texts: Sequence[str], others: Sequence[str]) -> float:
    """The share of texts, 300 at most, whose own other text has the most evidence among all others."""
    among = aligner.split(others)
    costs = aligner.costs([(aligner.split([text]), among) for text in texts[:QUERIES]])
    return fmean(int(cost[0].argmin()) == number for number, cost in enumerate(costs))


def _single(aligner: wm.Aligner, pairs: Sequence[tuple[object, object]]) -> list[wm.Alignment]:
    """Alignments against the background that ships, as pairs that come one by one have them."""
    general = wm.Aligner(encode=aligner.encoder, background=shipped_background(aligner))
    general.judge._scales = aligner.judge._scales
    return general.align_many(pairs, links_only=True)  # type: ignore[arg-type]


def _posts(data: Path, encoding: Encoding, sites: Sequence[str]) -> Corpus:
    """The posts of some sites, with their duplicates."""
    folder = data / "stackexchange" / "cqadupstack"
    texts = [text for text in read_texts(folder / "corpus.jsonl.gz") if text.site in sites]
    place = {text.id: number for number, text in enumerate(texts)}
    pairs = [line.split() for line in (folder / "duplicates.tsv").read_text().splitlines()]
    matches = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
    return encoding.corpus(", ".join(sites), [t.text for t in texts], [str(t.site) for t in texts], matches)


def _encoded(encoder: MultilingualEncoder, texts: Iterable[str]) -> np.ndarray:
    """(texts, 512): each text as one span."""
    pieces = [*texts]
    return np.concatenate(encoder.encode(pieces, [[Span(0, len(piece))] for piece in pieces]))


def _cosines(wholes: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    left, right = np.array(pairs).T
    return np.einsum("ij,ij->i", wholes[left], wholes[right])


def _precision(corpus: Corpus, scorer: Callable[[Sequence[tuple[int, int]]], np.ndarray], queries: int = 60) -> float:
    """The mean average precision of posts that have duplicates, among all posts."""
    relevant: dict[int, set[int]] = {}
    for left, right in corpus.matches:
        relevant.setdefault(left, set()).add(right)
        relevant.setdefault(right, set()).add(left)
    asked = sorted(random.Random(0).sample(sorted(relevant), min(queries, len(relevant))))
    precisions = []
    for query in asked:
        others = [number for number in range(len(corpus.documents)) if number != query]
        scores = scorer([(query, other) for other in others])
        precisions.append(average_precision(scores.tolist(), [other in relevant[query] for other in others]))
    return fmean(precisions)


if __name__ == "__main__":
    main()
