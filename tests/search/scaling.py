"""Workers of a cluster: one that counts rows, and one that is killed once."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tests.search.encoding import aligner
from whymatch.matching.aligner import Aligner
from whymatch.search.scale import WorkPart


@dataclass(frozen=True)
class Counting:
    """Makes a row of every row; notes each try, and is killed in the first of the part whose file has a name."""

    notes: Path
    killed_at: str = ""

    def __call__(self) -> "Counting":
        return self

    def work(self, part: WorkPart) -> tuple[pa.Table, list[str]]:
        name = Path(part.out).name
        tries = len([*self.notes.glob(f"{name}.*")])
        (self.notes / f"{name}.{tries}").touch()
        if name == self.killed_at and not tries:
            os.kill(os.getpid(), signal.SIGKILL)
        rows = [f"{each.file}:{row}" for each in part.ranges for row in range(each.first, each.last)]
        return pa.table({"row": rows}), [f"{name} has {len(rows)} rows"]


def words() -> Aligner:
    return aligner()
