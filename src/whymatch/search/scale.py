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
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from warnings import catch_warnings, filterwarnings

import pyarrow as pa
from pyarrow import parquet

from whymatch.files import whole_file

_MIN_ROWS_PER_PART = 256
_MAX_PARTS = 10_000
_Row = TypeVar("_Row")


class RowRange(NamedTuple):
    """The rows of a file from `first` to before `last`, counted from 0."""

    file: str
    first: int
    last: int


class WorkPart(NamedTuple):
    """Rows to work on, and the file that is made of them."""

    ranges: tuple[RowRange, ...]
    out: str

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(last - first for _, first, last in self.ranges)

    def rows_from(self, read: Callable[[Path], Iterator[_Row]]) -> Iterator[_Row]:
        """The rows themselves, of what `read` gives for each file."""
        return chain.from_iterable(islice(read(Path(file)), first, last) for file, first, last in self.ranges)


class PartResult(NamedTuple):
    """The file of a part that is done, the rows in it, and complaints about rows that are not."""

    out: str
    rows: int
    complaints: tuple[str, ...]


class Worker(Protocol):
    """Makes the table of a part and complaints about its bad rows; built once in each worker process."""

    def work(self, part: WorkPart) -> tuple[pa.Table, list[str]]: ...


def cut_into_parts(
    row_counts: Iterable[tuple[Path, int]], folder: Path, facts: object, rows_per_part: int | None = None
) -> list[WorkPart]:
    """Parts of `rows_per_part` rows of the files, in order, whose results go into a folder.

    `facts` are whatever else the results depend on: they are part of the names of the files.
    """
    counts = [*row_counts]
    size = rows_per_part or max(_MIN_ROWS_PER_PART, sum(rows for _, rows in counts) // _MAX_PARTS)
    groups: list[list[RowRange]] = []
    taken = 0
    for file, rows in counts:
        first = 0
        while first < rows:
            if taken % size == 0:
                groups.append([])
            last = min(rows, first + size - taken % size)
            groups[-1].append(RowRange(str(file), first, last))
            taken, first = taken + last - first, last
    return [
        WorkPart(tuple(ranges), str(folder / _file_name(number, ranges, facts))) for number, ranges in enumerate(groups)
    ]


def run_parts(
    parts: Sequence[WorkPart], make_worker: Callable[[], Worker], address: str = "local"
) -> Iterator[PartResult]:
    """Works on the parts that have no file yet, on a Ray cluster, and yields the result of every part, in any order.

    There is a worker for each GPU of the cluster, or for each processor where there is none. A worker that dies is
    replaced, and its part is tried again.
    """
    missing = []
    for part in parts:
        if Path(part.out).is_file():
            metadata = parquet.read_schema(part.out).metadata or {}
            yield PartResult(part.out, part.rows, tuple(json.loads(metadata.get(b"complaints", b"[]"))))
        else:
            missing.append(part)
    if not missing:
        return
    with ray_cluster(address) as ray:
        resources = ray.cluster_resources()
        gpus, cpus = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
        rows = ray.data.from_items([{"part": json.dumps(part)} for part in missing], override_num_blocks=len(missing))
        results = rows.map_batches(
            _RayActor,
            fn_constructor_args=(make_worker,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(len(missing), gpus or cpus)),
            num_cpus=1,
            num_gpus=1 if gpus else 0,
        )
        for row in results.iter_rows():
            out, count, complaints = json.loads(row["result"])
            yield PartResult(out, count, tuple(complaints))


class _RayActor:
    """A worker process of Ray, which takes parts and gives results as JSON."""

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        import torch

        if not torch.cuda.is_available():
            torch.set_num_threads(1)  # as many workers as processors
        self.worker = make_worker()

    def __call__(self, batch: dict[str, Sequence[str]]) -> dict[str, list[str]]:
        return {"result": [json.dumps(self._result(*json.loads(part))) for part in batch["part"]]}

    def _result(self, ranges: Sequence[tuple[str, int, int]], out: str) -> PartResult:
        part = WorkPart(tuple(RowRange(*each) for each in ranges), out)
        table, complaints = self.worker.work(part)
        metadata = {**(table.schema.metadata or {}), b"complaints": json.dumps(complaints).encode()}
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        with whole_file(out) as draft:
            parquet.write_table(table.replace_schema_metadata(metadata), draft, compression="zstd")
        return PartResult(out, table.num_rows, tuple(complaints))


def _file_name(number: int, ranges: Sequence[RowRange], facts: object) -> str:
    """The same for the same rows of the same files, as far as their sizes and times say."""
    stats = [(*each, (stat := Path(each.file).stat()).st_size, stat.st_mtime_ns) for each in ranges]
    digest = hashlib.blake2b(json.dumps([stats, facts], default=str).encode(), digest_size=8).hexdigest()
    return f"part-{number:06d}-{digest}.parquet"


@contextmanager
def ray_cluster(address: str) -> Iterator[Any]:
    """The module `ray`, connected to this machine ("local") or to a cluster; usage is not reported to anybody.

    Where the program has connected to Ray already, that connection is used, and left open. Raises ValueError if there
    is no cluster at the address.
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
        with _silent_standard_error(), catch_warnings():
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
def _silent_standard_error() -> Iterator[None]:
    """Drops what Ray's own programs write to standard error; errors are raised all the same."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
