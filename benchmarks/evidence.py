"""What evidence is worth: rankings, thresholds that carry over, templates, calibration, single pairs and time.

    WHYMATCH_DATA=… python -m benchmarks.evidence --vectors FOLDER [--queries 300] [--pairs 4000]

Untrained MiniLM. Choices were made on six StackExchange sites; the numbers are of the other six, of AskUbuntu and of
MultiNews. Two choices, the shrinkage of tails and the form of the calibration, were made with AskUbuntu in view too.
The calibrations are fitted anew, on the six sites of choices alone. Every corpus is its own background, but for the
rows of single pairs. Vectors are kept in FOLDER, so that a second run encodes nothing. MiniLM's model card lists
duplicates of StackExchange among its training data.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

import whymatch as wm
from experiments.calibration import fit
from experiments.corpora import CHOICES, NUMBERS, Corpus, Encoding, askubuntu, multinews, stackexchange
from experiments.evidence import Measured, NumberPairs, random_pairs
from whymatch.cost import Cosine, Cost, Evidence, WholeText
from whymatch.datasets.ranking import bm25_scorer, tokens
from whymatch.evaluation.calibration import brier_score, calibration_error
from whymatch.evaluation.intervals import Interval, bootstrap
from whymatch.evaluation.ranking import average_precision
from whymatch.matching.shipped import shipped_background
from whymatch.matching.significance import logistic
from whymatch.search.entries import pooled
from whymatch.show.terminal import table

TEMPLATES = [
    "Hello everybody, I hope that you are all doing well today.",
    "I have searched the forum before I asked this question.",
    "Please tell me if you need any further information.",
    "I am using the latest version on my computer at home.",
    "Any help with this would be greatly appreciated.",
]
SIZES = {"1": (1, 1), "2": (2, 2), "3-5": (3, 5), "6-11": (6, 11), "12 or more": (12, 10**6)}
OTHER_ENCODERS_TEXTS, OTHER_ENCODERS_PAIRS = 300, 2000
MAX_CHARACTERS = 600  # of a text that is cut into words
Scorer: TypeAlias = Callable[[NumberPairs], np.ndarray]
IN_SEARCH = Cost(Cosine(), WholeText(0.5), Evidence())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=4000, help="random pairs of each corpus")
    words = "file of word vectors, such as GloVe's, with which the threshold is tried too"
    parser.add_argument("--word-vectors", type=Path, metavar="F", help=words)
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    aligner = wm.Aligner()
    encoding = Encoding(aligner, settings.vectors)
    posts, titles = (stackexchange(settings.data, encoding, titles=only) for only in (False, True))
    asked, asked_titles = (askubuntu(settings.data, encoding, titles=only) for only in (False, True))
    news = multinews(settings.data, encoding)
    own = posts.of(NUMBERS)
    thresholds = ranking(own, aligner, settings.queries, settings.pairs)
    carried_over([asked, news], aligner, thresholds["evidence"], settings.pairs)
    templates(own, aligner, encoding, thresholds["evidence"], settings.queries, settings.pairs)
    calibration(aligner, [posts, titles], [asked, asked_titles])
    single_pairs(aligner, [posts, titles], [own, asked], settings.pairs)
    other_encoders([own, asked, news], thresholds["evidence"], settings.word_vectors)
    times(aligner, own)


def ranking(corpus: Corpus, aligner: wm.Aligner, queries: int, number: int) -> dict[str, float]:
    """MAP over all posts, recall where 1% of random pairs pass, and that share by sizes; gives the thresholds."""
    relevant = relevant_of(corpus)
    asked = sorted(random.Random(0).sample(sorted(relevant), min(queries, len(relevant))))
    pairs = random_pairs(corpus, number, seed=0)
    wholes = np.stack([pooled(vectors) for vectors in corpus.vectors])
    by_words = bm25_scorer(text.text for text in corpus.documents)
    plain = Measured(corpus, aligner)
    mixed = Measured(corpus, wm.Aligner(encode=aligner.encoder, cost=IN_SEARCH))
    flat = np.concatenate([v / np.linalg.norm(v, axis=1, keepdims=True).clip(1e-9) for v in corpus.vectors])
    starts = np.cumsum([0, *map(len, corpus.vectors[:-1])])

    def one_vector(pairs: NumberPairs) -> np.ndarray:
        left, right = np.array(pairs).T
        return np.einsum("ij,ij->i", wholes[left], wholes[right])

    def by_bm25(pairs: NumberPairs) -> np.ndarray:
        queries = {left: by_words(tokens(corpus.documents[left].text)) for left in {left for left, _ in pairs}}
        return np.array([queries[left][right] for left, right in pairs])

    def max_similarity(pairs: NumberPairs) -> np.ndarray:
        means = {
            left: np.maximum.reduceat(flat[starts[left] : starts[left] + len(corpus.vectors[left])] @ flat.T, starts, 1)
            for left in {left for left, _ in pairs}
        }
        return np.array([means[left][:, right].mean() for left, right in pairs])

    scorers: dict[str, Scorer] = {
        "one vector": one_vector,
        "BM25": by_bm25,
        "MaxSim": max_similarity,
        "evidence": plain.surprise,
        "evidence, whole text": mixed.surprise,
    }
    precisions: dict[str, np.ndarray] = {}
    for name, scorer in scorers.items():
        precisions[name] = np.array([precision_of(scorer, query, relevant[query], len(wholes)) for query in asked])
    rows, thresholds = [], {}
    for name, scorer in scorers.items():
        random_scores = _in_parts(scorer, pairs)
        thresholds[name] = float(np.quantile(random_scores, 0.99))
        recall = _in_parts(scorer, corpus.matches) > thresholds[name]
        shares = _by_size(corpus, pairs, random_scores > thresholds[name])
        ratio = bootstrap(np.stack([precisions[name], precisions["one vector"]], axis=1), _ratio)
        mean = f"{precisions[name].mean():.4f}"
        rows.append([name, mean, _with_interval(ratio, "{:.3f}"), _share(recall), *shares])
    print(f"StackExchange, {len(corpus.documents):,} posts of {', '.join(NUMBERS)}: {len(asked)} queries,")
    print(f"{len(corpus.matches)} duplicates, {len(pairs):,} random pairs\n")
    sizes = [f"{name} spans" for name in SIZES]
    print(table(["score", "MAP", "of one vector's", "recall at 1%", *sizes], rows), "\n", flush=True)
    return thresholds


def carried_over(corpora: Sequence[Corpus], aligner: wm.Aligner, threshold: float, number: int) -> None:
    """How many random pairs of other corpora pass the threshold of 1% on StackExchange."""
    rows = []
    for corpus in corpora:
        pairs = random_pairs(corpus, number, seed=0)
        measured = Measured(corpus, aligner)
        passes = measured.surprise(pairs) > threshold
        recall = measured.surprise(corpus.matches) > threshold
        rows.append([corpus.name, _share(passes), *_by_size(corpus, pairs, passes), _share(recall)])
    print("The threshold of 1% on StackExchange, evidence: random pairs that pass elsewhere\n")
    print(table(["corpus", "all", *SIZES, "matches"], rows), "\n", flush=True)


def templates(
    corpus: Corpus, aligner: wm.Aligner, encoding: Encoding, threshold: float, queries: int, number: int
) -> None:
    """The same after five fixed sentences are put before every post of one site."""
    site = "android"
    head = wm.Document("\n".join(TEMPLATES), aligner.split(TEMPLATES).spans)
    (vectors,) = aligner.encoder.encode([head.text], [head.spans])
    changed = [number for number, group in enumerate(corpus.groups) if group == site]
    documents, rows = [*corpus.documents], [*corpus.vectors]
    for place in changed:
        documents[place] = aligner.split([*TEMPLATES, *corpus.documents[place].pieces])
        rows[place] = np.concatenate([vectors, corpus.vectors[place]])
    after = replace(corpus, documents=documents, vectors=rows)
    draw = random.Random(0)
    known = {frozenset(pair) for pair in corpus.matches}
    drawn = [draw.sample(changed, 2) for _ in range(number)]
    pairs = [(left, right) for left, right in drawn if frozenset((left, right)) not in known]
    relevant = {query: others for query, others in relevant_of(corpus).items() if corpus.groups[query] == site}
    asked = sorted(draw.sample(sorted(relevant), min(queries, len(relevant))))
    lines = []
    for name, part in (("before", corpus), ("after", after)):
        measured = Measured(part, aligner)
        passes = [_share(measured.surprise(chosen) > threshold) for chosen in (pairs, random_pairs(corpus, number, 0))]
        precision = np.mean([precision_of(measured.surprise, query, relevant[query], len(rows)) for query in asked])
        lines.append([name, *passes, f"{precision:.4f}"])
    print(f"Five fixed sentences before every post of {site}: {len(asked)} queries of that site\n")
    print(table(["", "random pairs of the site that pass", "of all sites", "MAP"], lines), "\n", flush=True)


def calibration(aligner: wm.Aligner, corpora: Sequence[Corpus], tests: Sequence[Corpus]) -> None:
    """Probabilities fitted on six sites, on pairs of AskUbuntu; cosine is calibrated on the same pairs."""
    fitted = fit(aligner, corpora, CHOICES, shipped_background(aligner))["corpus"]
    inputs, labels, weights = list[float](), list[bool](), list[float]()
    for corpus in (part.of(CHOICES) for part in corpora):
        kinds = [(corpus.matches, True, 1.0), (corpus.others, False, 0.5), (random_pairs(corpus, 1500, 1), False, 0.5)]
        for pairs, match, share in kinds:
            inputs += _cosines(corpus, pairs).tolist()
            labels += [match] * len(pairs)
            weights += [share / len(pairs)] * len(pairs)
    features = np.stack([np.ones(len(inputs)), np.array(inputs)], axis=1)
    offset, slope = logistic(features, np.array(labels, float), np.array(weights), ridge=1e-4)
    rows = []
    for corpus in tests:
        pairs = [*corpus.matches, *corpus.others]
        matches = np.array([True] * len(corpus.matches) + [False] * len(corpus.others))
        ours = fitted.probability(Measured(corpus, aligner).surprise(pairs))
        cosine = 1 / (1 + np.exp(-(offset + slope * _cosines(corpus, pairs))))
        for name, probability in (("evidence", ours), ("cosine of one vector", cosine)):
            judged = np.stack([probability, matches], axis=1)
            ece = _with_interval(bootstrap(judged, calibration_error), "{:.3f}")
            rows.append([corpus.name, name, f"{len(pairs):,}", ece, f"{brier_score(judged):.4f}"])
    print("Calibrated on StackExchange (six sites), measured on AskUbuntu, whose pairs are half duplicates\n")
    print(table(["pairs of", "score", "number", "ECE, 10 bins", "Brier"], rows), "\n", flush=True)


def single_pairs(aligner: wm.Aligner, corpora: Sequence[Corpus], tests: Sequence[Corpus], number: int) -> None:
    """Pairs judged one by one against the background that ships, and against one of their own texts."""
    general = shipped_background(aligner)
    fitted = fit(aligner, corpora, CHOICES, general)
    rows = []
    for corpus in tests:
        for name, background in (("ships", general), ("is of these texts", None)):
            calibration = fitted["corpus" if background is None else "general"]
            measured = Measured(corpus, aligner, background)
            kinds = random_pairs(corpus, number, seed=0), corpus.matches
            chances = (calibration.probability(measured.surprise(pairs), measured.counted(pairs)) for pairs in kinds)
            rows.append([corpus.name, name, *(_share(chance > 0.5) for chance in chances)])
    print("Probability above one half, by the background\n")
    print(table(["pairs of", "the background", "random pairs", "duplicates"], rows), "\n", flush=True)


def other_encoders(corpora: Sequence[Corpus], threshold: float, word_vectors: Path | None) -> None:
    """How many random pairs pass the threshold of MiniLM's sentences with other spans and encoders, without tuning."""
    aligners = {"words, MiniLM's layer 3": wm.Aligner("word")}
    if word_vectors is not None:
        means = wm.RecurrentEncoder(wm.read_vectors(word_vectors), layers=0)
        aligners["sentences, word vectors"] = wm.Aligner(encode=means)
        aligners["words, word vectors"] = wm.Aligner("word", means)
    rows = []
    for name, aligner in aligners.items():
        shares = []
        for corpus in corpora:
            draw = random.Random(0)
            numbers = sorted(draw.sample(range(len(corpus.documents)), OTHER_ENCODERS_TEXTS))
            documents = [aligner.split(corpus.documents[number].text[:MAX_CHARACTERS]) for number in numbers]
            encoded = aligner.encoder.encode([text.text for text in documents], [text.spans for text in documents])
            groups = [corpus.groups[number] for number in numbers]
            part = Corpus(corpus.name, documents, encoded, groups, ())
            passes = Measured(part, aligner).surprise(random_pairs(part, OTHER_ENCODERS_PAIRS, seed=0)) > threshold
            shares.append(_share(passes))
        rows.append([name, *shares])
    print(f"The same threshold with other encoders: {OTHER_ENCODERS_PAIRS:,} random pairs that pass\n")
    print(table(["spans and encoder", *(corpus.name for corpus in corpora)], rows), "\n", flush=True)


def times(aligner: wm.Aligner, corpus: Corpus) -> None:
    """What aligning takes with evidence, as a multiple of plain cosine, from given vectors; the best of five rounds."""
    measured = Measured(corpus, aligner)
    plain = wm.Aligner(encode=aligner.encoder, cost="cosine", below=0.8)  # about as many links as evidence has
    chosen = random_pairs(corpus, 1000, seed=3)
    texts = [(corpus.documents[left], corpus.documents[right]) for left, right in chosen]
    vectors, tails = ([(v[left], v[right]) for left, right in chosen] for v in (corpus.vectors, measured.tails))
    given = wm.Aligner(encode=aligner.encoder, background=measured.scale.background)
    given.judge._scales = aligner.judge._scales
    runs: dict[str, Callable[[], object]] = {
        "plain": lambda: plain.align_vectors(texts, vectors),
        "evidence, tails given": lambda: given.align_vectors(texts, vectors, tails=tails),
        "evidence, tails measured": lambda: given.align_vectors(texts, vectors),
    }
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(6):
        for name, run in runs.items():
            start = time.process_time()  # of the processor: a busy machine does not count
            run()
            taken[name].append(time.process_time() - start)
    best = {name: min(seconds[1:]) for name, seconds in taken.items()}
    rows = [[name, f"{1000 * best[name]:.0f} ms", f"{best[name] / best['plain']:.2f}"] for name in best]
    print(table(["1,000 pairs from given vectors", "time", "of plain cosine"], rows), "\n", flush=True)


def relevant_of(corpus: Corpus) -> dict[int, set[int]]:
    relevant: dict[int, set[int]] = {}
    for left, right in corpus.matches:
        relevant.setdefault(left, set()).add(right)
        relevant.setdefault(right, set()).add(left)
    return relevant


def precision_of(scorer: Scorer, query: int, relevant: set[int], documents: int) -> float:
    others = [number for number in range(documents) if number != query]
    scores = scorer([(query, other) for other in others])
    return average_precision(scores.tolist(), [number in relevant for number in others])


def _in_parts(scorer: Scorer, pairs: NumberPairs) -> np.ndarray:
    return np.concatenate([scorer(pairs[start : start + 200]) for start in range(0, len(pairs), 200)])


def _cosines(corpus: Corpus, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    wholes = np.stack([pooled(vectors) for vectors in corpus.vectors])
    return np.array([float(wholes[left] @ wholes[right]) for left, right in pairs])


def _by_size(corpus: Corpus, pairs: Sequence[tuple[int, int]], passes: np.ndarray) -> list[str]:
    """The shares of pairs that pass, by the number of spans of the shorter text."""
    shorter = np.array([min(len(corpus.documents[left]), len(corpus.documents[right])) for left, right in pairs])
    inside = [(shorter >= low) & (shorter <= high) for low, high in SIZES.values()]
    return [f"{passes[own].mean():.2%} of {own.sum():,}" if own.any() else "-" for own in inside]


def _share(passes: np.ndarray) -> str:
    return _with_interval(bootstrap(passes.astype(float)), "{:.2%}")


def _with_interval(interval: Interval, form: str) -> str:
    mean, low, high = map(form.format, interval)
    return f"{mean} [{low}, {high}]"


def _ratio(values: np.ndarray) -> float:
    """The ratio of the means of two columns."""
    return float(values[:, 0].mean() / values[:, 1].mean())


if __name__ == "__main__":
    main()
