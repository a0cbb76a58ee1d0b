"""Makes the file of antonyms that ships with the package from WordNet's own files.

    python -m experiments.antonyms FOLDER

FOLDER holds WordNet 3.0's data files (data.noun, data.verb, data.adj, data.adv), as Debian's package wordnet-base
installs them, and its lists of irregular forms (noun.exc and so on). A line of the file has a lemma and all its
antonyms, in some sense, that come after it in the alphabet; or "=", an irregular form and its lemma. Phrases and
capitalised words are left out. The notice of WordNet's licence at the head of the file is kept.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

from whymatch.files import write_whole
from whymatch.text.antonyms import FILE

PARTS = ("noun", "verb", "adj", "adv")
_LEMMA = re.compile(r"[a-z]{2,}")


def antonyms(folder: Path) -> set[tuple[str, str]]:
    """The pairs of lemmas, in the order of the alphabet, that WordNet's files mark as antonyms."""
    synsets, pointers = {}, []
    for part in PARTS:
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):
                continue  # the licence
            fields = line.partition(" | ")[0].split()
            offset, kind, words = fields[0], fields[2].replace("s", "a"), int(fields[3], 16)
            lemmas = [re.sub(r"\(\w+\)$", "", word) for word in fields[4 : 4 + 2 * words : 2]]
            synsets[kind, offset] = lemmas
            rest = fields[5 + 2 * words :]
            for symbol, other, other_kind, numbers in zip(
                *[iter(rest[: 4 * int(fields[4 + 2 * words])])] * 4, strict=True
            ):
                if symbol == "!":
                    lemma = lemmas[int(numbers[:2], 16) - 1]
                    pointers.append((lemma, (other_kind.replace("s", "a"), other), int(numbers[2:], 16) - 1))
    pairs = ((lemma, synsets[synset][number]) for lemma, synset, number in pointers)
    return {(min(pair), max(pair)) for pair in pairs if all(map(_LEMMA.fullmatch, pair)) and pair[0] != pair[1]}


def irregular_forms(folder: Path, lemmas: set[str]) -> list[tuple[str, str]]:
    """The irregular forms of these lemmas, each with its lemma."""
    lines = (
        line.split() for part in PARTS for line in (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
    )
    forms = {(form, lemma) for form, *own in lines for lemma in own if lemma in lemmas and form != lemma}
    return sorted(pair for pair in forms if all(map(_LEMMA.fullmatch, pair)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of WordNet's data files")
    folder: Path = parser.parse_args().folder
    others = defaultdict(list)
    for lemma, antonym in sorted(antonyms(folder)):
        others[lemma].append(antonym)
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines += [" ".join([lemma, *rest]) for lemma, rest in others.items()]
    own = {lemma for pair in antonyms(folder) for lemma in pair}
    lines += [f"= {form} {lemma}" for form, lemma in irregular_forms(folder, own)]
    write_whole(FILE, "\n".join(lines) + "\n")
    print(f"{sum(map(len, others.values()))} pairs, {FILE.stat().st_size} bytes: {FILE}")


if __name__ == "__main__":
    main()
