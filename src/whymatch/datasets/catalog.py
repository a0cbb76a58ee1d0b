"""The data sets that can be prepared: what each is, where its files are, its licence and its published sizes."""

from typing import NamedTuple


class Source(NamedTuple):
    """One data set; nothing is ever downloaded."""

    name: str
    what: str
    where: str
    licence: str
    files: str


SOURCES = (
    Source(
        "stackexchange",
        "duplicate questions, to be ranked; the paper's sites are AskUbuntu and SuperUser, June 2019",
        "https://archive.org/details/stackexchange",
        "CC BY-SA (the version by the date of the post)",
        "Posts.xml and PostLinks.xml, a folder a site",
    ),
    Source(
        "stackexchange",
        "the AskUbuntu benchmark, with its own splits and candidates",
        "https://github.com/taolei87/askubuntu",
        "CC BY-SA (the posts)",
        "text_tokenized.txt, train_random.txt, dev.txt, test.txt",
    ),
    Source(
        "stackexchange",
        "CQADupStack, twelve sites, or any corpus with pairs of ids, or pairs with labels",
        "http://nlp.cis.unimelb.edu.au/resources/cqadupstack",
        "CC BY-SA (the posts)",
        "corpus.jsonl, duplicates.tsv, non_duplicates.tsv; or *.tsv of label, left, right",
    ),
    Source(
        "multinews",
        "news articles on one event, to be ranked; every two of a cluster are similar",
        "https://github.com/Alex-Fabbri/Multi-News",
        "non-commercial research",
        "train.src, val.src, test.src",
    ),
    Source(
        "esnli",
        "sentence pairs with entailment labels and the words that people marked",
        "https://github.com/OanaMariaCamburu/e-SNLI",
        "MIT (annotations), CC BY-SA 4.0 (SNLI)",
        "esnli_train_1.csv, esnli_train_2.csv, esnli_dev.csv, esnli_test.csv; or ERASER's folder",
    ),
    Source(
        "multirc",
        "questions with answers about a document, and the sentences that people marked",
        "https://www.eraserbenchmark.com (splits and marks), https://cogcomp.seas.upenn.edu/multirc (texts)",
        "research and academic use",
        "train.jsonl, val.jsonl, test.jsonl, docs/",
    ),
    Source(
        "eraser",
        "any other data set of the ERASER benchmark",
        "https://www.eraserbenchmark.com",
        "by data set, see the project's page",
        "train.jsonl, val.jsonl, test.jsonl, docs/ or docs.jsonl",
    ),
)
NAMES = tuple(dict.fromkeys(source.name for source in SOURCES))

_COLUMNS = "documents", "similar pairs", "sentences a document", "sentences at most", "words a document", "vocabulary"
PAPER: dict[str, dict[str, float]] = {
    "stackexchange": dict(zip(_COLUMNS, (730_818, 187_377, 3.7, 54, 87, 603_801), strict=True)),
    "multinews": dict(zip(_COLUMNS, (10_130, 22_623, 31, 1_632, 680, 299_732), strict=True)),
}
"""Table 2 of the paper, which has the two ranking sets alone."""

OFFICIAL: dict[str, dict[str, float]] = {
    "multirc": {"train: pairs": 24_029, "val: pairs": 3_214, "test: pairs": 4_848},
    "esnli": {"train: pairs": 549_367, "val: pairs": 9_842, "test: pairs": 9_824},
}
"""The sizes of the official splits, which the paper uses and does not print."""
