"""Work that is cut into parts and done by many workers on Ray, each part into one Parquet file.

A file is named by what its part is made of, and appears whole: a part that is tried again replaces its own file and
never makes a second one, and work that was broken off goes on with the parts that are missing.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from warnings import catch_warnings, filterwarnings

import pyarrow as pa
from pyarrow import parquet

from whymatch.files import whole_file

LEAST, MOST = 256, 10_000  # rows in a part, and parts


class Slice(NamedTuple):
    """Rows of a file, from the first to before the last."""

    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Part:
    """Rows to work on, and the file that comes of them."""

    slices: tuple[Slice, ...]
    out: str

    @property
    def rows(self) -> int:
        return sum(last - first for _, first, last in self.slices)


class Done(NamedTuple):
    """What came of a part: its file, the rows in it, and what was wrong with others."""

    out: str
    rows: int
    complaints: tuple[str, ...]


class Worker(Protocol):
    """Makes rows of a part; built once on each worker."""

    def work(self, part: Part) -> tuple[pa.Table, list[str]]: ...


def cut(counts: Iterable[tuple[Path, int]], folder: Path, about: object, size: int | None = None) -> list[Part]:
    """Files of so many rows each as parts of `size` rows; `about` is whatever else their results depend on."""
    listed = [*counts]
    size = size or max(LEAST, sum(rows for _, rows in listed) // MOST)
    found: list[list[Slice]] = [[]]
    room = size
    for file, rows in listed:
        first = 0
        while first < rows:
            last = min(rows, first + room)
            found[-1].append(Slice(str(file), first, last))
            room -= last - first
            first = last
            if not room:
                found.append([])
                room = size
    whole = [tuple(some) for some in found if some]
    return [Part(some, str(folder / name(number, some, about))) for number, some in enumerate(whole)]


def name(number: int, slices: Sequence[Slice], about: object) -> str:
    """The same for the same rows of the same files, as far as their sizes and times say."""
    facts = [(*some, (stat := Path(some.file).stat()).st_size, stat.st_mtime_ns) for some in slices]
    digest = hashlib.blake2b(json.dumps([facts, about], default=str).encode(), digest_size=8).hexdigest()
    return f"part-{number:06d}-{digest}.parquet"


def run(parts: Sequence[Part], worker: Callable[[], Worker], address: str = "local") -> Iterator[Done]:
    """Works on the parts that have no file yet, on a cluster, and says of each when it is done, in any order.

    There is a worker for each GPU of the cluster, or for each processor where there is none. A worker that dies is
    replaced, and its part is tried again.
    """
    missing = []
    for part in parts:
        if Path(part.out).is_file():
            yield Done(part.out, part.rows, recorded(Path(part.out)))
        else:
            missing.append(part)
    if not missing:
        return
    with cluster(address) as ray:
        resources = ray.cluster_resources()
        gpus, cpus = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
        described = [{"part": json.dumps(asdict(part))} for part in missing]
        rows = ray.data.from_items(described, override_num_blocks=len(missing))
        done = rows.map_batches(
            Actor,
            fn_constructor_args=(worker,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(len(missing), gpus or cpus)),
            num_cpus=1,
            num_gpus=1 if gpus else 0,
        )
        for row in done.iter_rows():
            yield Done(row["out"], int(row["rows"]), tuple(json.loads(row["complaints"])))


class Actor:
    """A worker on Ray."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        import torch

        if not torch.cuda.is_available():
            torch.set_num_threads(1)  # as many workers as processors
        self.worker = worker()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        found = [self.one(json.loads(text)) for text in batch["part"]]
        return {name: [getattr(done, name) for done in found] for name in ("out", "rows")} | {
            "complaints": [json.dumps(done.complaints) for done in found]
        }

    def one(self, values: dict[str, Any]) -> Done:
        part = Part(tuple(Slice(*some) for some in values["slices"]), values["out"])
        table, complaints = self.worker.work(part)
        write(table, complaints, Path(part.out))
        return Done(part.out, table.num_rows, tuple(complaints))


def write(table: pa.Table, complaints: Sequence[str], out: Path) -> None:
    """A file that is there whole or not at all; what was wrong with rows stands in it too."""
    out.parent.mkdir(parents=True, exist_ok=True)
    about = {**(table.schema.metadata or {}), b"complaints": json.dumps([*complaints]).encode()}
    with whole_file(out) as draft:
        parquet.write_table(table.replace_schema_metadata(about), draft, compression="zstd")


def recorded(out: Path) -> tuple[str, ...]:
    """What was wrong with rows of a part, from its file."""
    return tuple(json.loads((parquet.read_schema(out).metadata or {}).get(b"complaints", b"[]")))


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Ray on this machine ("local"), or a cluster that is there; nothing is reported to anybody.

    Where the program has connected to Ray already, that connection is used, and left open.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # GPUs stay as they are for those who ask for none
    if find_spec("ray") is None:
        raise ModuleNotFoundError("Work on a cluster needs Ray: pip install 'whymatch[scale]'.", name="ray")
    import ray
    import ray.data

    if ray.is_initialized():
        yield ray
        return
    where: dict[str, Any] = {"include_dashboard": False} if address == "local" else {"address": address}
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        with silenced(), catch_warnings():
            filterwarnings("ignore", "lancedb fork support")  # Ray starts other programs, which know nothing of it
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ValueError(f"There is no Ray cluster at {address}: {error} Use --ray local for this machine.") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def silenced() -> Iterator[None]:
    """Without what Ray's own programs write to standard error; what goes wrong is raised."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
