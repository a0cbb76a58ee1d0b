"""A study's folder: study.json, which names the models, and answers.sqlite. Both are made together."""

import json
from pathlib import Path

from whymatch.files import check_new, write_whole
from whymatch.study import answers
from whymatch.study.answers import Answers
from whymatch.study.items import Study

FILE = "study.json"


def write_study(study: Study, folder: Path) -> None:
    """Writes a study without answers into a new folder, or into an empty one.

    Other users of this machine cannot open a new folder: annotators may be among them, and study.json names the models.

    Raises:
        ValueError: if the folder holds anything already.
        OSError: naming the file that cannot be written.
    """
    content = json.dumps(study.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    check_new(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(folder / answers.FILE, answers.empty_file(study))
    write_whole(folder / FILE, content)  # last: a folder without it holds no study


def read_study(folder: Path) -> Study:
    """The study in a folder. Raises ValueError, saying what to do, if there is none that can be read."""
    try:
        return Study.from_dict(json.loads((folder / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no study: whymatch study create makes one.") from None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"The study in {folder / FILE} cannot be read: {type(error).__name__}: {error}. If it was readable before,"
            " put back a copy of the folder."
        ) from None


def open_study(folder: Path) -> tuple[Study, Answers]:
    """The study in a folder and its answers, checked. Raises ValueError, saying what to do, if either is damaged."""
    study = read_study(folder)
    return study, Answers(study, folder)
