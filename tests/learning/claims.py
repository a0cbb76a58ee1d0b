"""A small data set for searches: claims about orders, and texts in which one sentence or two are the reason."""

import json
import random
from pathlib import Path
from typing import Any

SAYINGS = (
    ("Order {} was paid in full.", "Nothing of {} is outstanding.", "Another purchase has been settled completely."),
    ("The parcel {} is lost.", "Nobody has seen {} since June.", "Some package cannot be found."),
    ("Ticket {} was refunded.", "For {} they sent the price back.", "Money for a cancelled trip has been returned."),
    ("Room {} is closed for repairs.", "Painters are in {} this week.", "Some chamber is shut while it gets fixed."),
)
FILLERS = ("It rained in the morning.", "The office opens at nine.", "Please hold the line.", "Lunch is at noon.")


def claims(count: int, seed: int, *, marked: bool = True) -> list[dict[str, Any]]:
    """Rows of pairs: a number, which is rare, says what is the reason, where the other words say something else."""
    draw, rows = random.Random(seed), []
    for number in draw.sample(range(1000, 9999), count):
        claim, reason, other = (saying.format(number) for saying in draw.choice(SAYINGS))
        label = draw.choice(("yes", "no"))
        sentences = [reason if label == "yes" else reason.replace(str(number), f"{number} not"), other]
        sentences += [*draw.sample(FILLERS, 2), other.replace(".", ", they say.")]
        reason = sentences[0]
        draw.shuffle(sentences)
        text = " ".join(sentences)
        row: dict[str, Any] = {"left": claim, "right": text, "label": label}
        if marked:
            row["right_rationale"] = [[text.index(reason), text.index(reason) + len(reason)]]
        rows.append(row)
    return rows


def searches(count: int, seed: int) -> list[dict[str, Any]]:
    """Rows of queries, each with the document that has its number and three that have not."""
    draw, rows = random.Random(seed), []
    pairs = claims(4 * count, seed)
    for start in range(0, len(pairs), 4):
        chosen = pairs[start : start + 4]
        rows.append({"query": chosen[0]["left"], "documents": [row["right"] for row in chosen], "relevant": [0]})
        draw.shuffle(chosen)
    return rows


def write(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Path:
    """The folder, with a file for each split."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, own in rows.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    return folder
