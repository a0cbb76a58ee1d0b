"""The server under load, from this process over loopback: many requests at once against one at a time.

    python -m benchmarks.serve [--seconds 15] [--people 32] [--memory 20000]
    python -m benchmarks.serve --hostile [--seconds 60] [--people 4]

Texts are made up and never repeat, so nothing is encoded twice. The last table says what bounds the server: the rate of
the encoder and of the whole aligner alone, a pair at a time and as many together as the server takes.

With `--hostile` people send posts, each waiting for the answer before sending the next, while one more client sends ten
requests a minute that are as expensive as they can be. A row says what they were and what became of them, and how long
the people waited.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import whymatch as wm
from whymatch.serve.models import Limits
from whymatch.show.terminal import table

TEXT = """
the a my your this that network driver laptop kernel screen battery update package file folder button window
light sound cable router printer drops fails works starts stops hangs crashes boots loads opens slowly again never
always after before while during with without on under system user password account music video game browser page
"""
POSTS = (6, 12)  # sentences, words in each
SIZES = {"titles (1 sentence)": (1, 6), "posts (6 sentences)": POSTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="for each measurement")
    parser.add_argument("--people", type=int, default=32, help="who ask at once")
    parser.add_argument("--memory", type=int, default=20_000, help="requests over which memory is watched; 0 for none")
    parser.add_argument("--hostile", action="store_true", help="measure people beside a client that means harm")
    settings = parser.parse_args()
    if settings.hostile:
        measure_hostile(settings.people, settings.seconds)
        return
    with served() as url:
        rows = []
        for name, size in SIZES.items():
            asyncio.run(load(url, size, people=settings.people, seconds=2))  # warm
            one = asyncio.run(load(url, size, people=1, seconds=settings.seconds))
            many = asyncio.run(load(url, size, people=settings.people, seconds=settings.seconds))
            rows += [row(name, 1, one, one), row(name, settings.people, many, one)]
        print(table(["texts", "at once", "requests/s", "ratio", "p50 ms", "p99 ms", "statuses"], rows), "\n")
        beyond = asyncio.run(load(url, POSTS, people=160, seconds=settings.seconds / 2))
        print(f"160 at once, where the limit is {Limits().requests}: {beyond.statuses}; p99 of a refusal", end=" ")
        print(f"{1000 * part(beyond.refusals, 99):.0f} ms; all with Retry-After: {beyond.told}\n")
        if settings.memory:
            watch_memory(url, settings.memory, settings.people)
    bounds(settings.people)


class Load:
    """What came of a load."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.refusals: list[float] = []
        self.told = True
        self.counts: Counter[int] = Counter()
        self.seconds = 0.0

    @property
    def statuses(self) -> str:
        return ", ".join(f"{number:,} × {status}" for status, number in sorted(self.counts.items()))

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds


def row(name: str, people: int, found: Load, one: Load) -> Sequence[str]:
    p50, p99 = (f"{1000 * part(found.times, share):.0f}" for share in (50, 99))
    return [name, str(people), f"{found.rate:.1f}", f"{found.rate / one.rate:.2f}", p50, p99, found.statuses]


def part(times: Sequence[float], share: int) -> float:
    """The time below which a share, in hundredths, of all times lie."""
    return quantiles(times, n=100)[share - 1] if len(times) > 1 else sum(times)


@contextmanager
def served(*options: str) -> Iterator[str]:
    """A server in a process of its own, once it is ready."""
    command = [sys.executable, "-m", "whymatch", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        while asyncio.run(get(url, "/ready"))[0] != 200:
            time.sleep(0.2)
        try:
            yield url
        finally:
            process.terminate()


async def load(url: str, size: tuple[int, int], *, people: int, seconds: float = 1e9, requests: int = 10**9) -> Load:
    """Each person sends a request, waits for the answer, and sends the next, for some time or some requests."""
    found, began, left = Load(), time.perf_counter(), [requests]

    async def person(seed: int) -> None:
        choose = random.Random(f"{seed} {time.time_ns()}")
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        while time.perf_counter() - began < seconds and left[0] > 0:
            left[0] -= 1
            asked = json.dumps({"left": text(choose, *size), "right": text(choose, *size)}).encode()
            sent = time.perf_counter()
            writer.write(request(url, "POST", "/align", asked))
            status, head, _ = await answer(reader)
            took = time.perf_counter() - sent
            found.counts[status] += 1
            if status == 200:
                found.times.append(took)
            else:
                found.refusals.append(took)
                found.told &= b"retry-after" in head.lower()
                await asyncio.sleep(0.2)
        writer.close()

    await asyncio.gather(*map(person, range(people)))
    found.seconds = time.perf_counter() - began
    return found


def text(choose: random.Random, sentences: int, words: int) -> str:
    """Sentences that are like no others."""
    words_of = TEXT.split()
    made = (f"{' '.join(choose.choices(words_of, k=words))} {choose.randrange(10**6)}." for _ in range(sentences))
    return " ".join(map(str.capitalize, made))


def request(url: str, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """Status, head and body of a response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    return int(head.split()[1]), head, await reader.readexactly(int(length.split(b":")[1]))


async def get(url: str, path: str) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    writer.write(request(url, "GET", path))
    status, _, body = await answer(reader)
    writer.close()
    return status, body


def measure_hostile(people: int, seconds: float) -> None:
    """Prints how long people wait beside each kind of hostile request."""
    with TemporaryDirectory() as folder, served("--index", index(Path(folder))) as url:
        asyncio.run(load(url, POSTS, people=people, seconds=2))  # warm
        head = ["ten a minute of", "answered with", "requests/s", "p50 ms", "p99 ms", "longest ms", "MiB"]
        rows = []
        for name, (path, body, leaves) in {"nothing": ("", {}, False), **hostile_requests()}.items():
            small, statuses = asyncio.run(beside(url, path, body, leaves=leaves, people=people, seconds=seconds))
            times = [
                f"{1000 * value:.0f}" for value in (part(small.times, 50), part(small.times, 99), max(small.times))
            ]
            said = ", ".join(f"{number} × {status}" for status, number in sorted(statuses.items()))
            rows.append([name, said, f"{small.rate:.1f}", *times, f"{resident(url):.0f}"])
            assert {*small.counts} == {200}, small.statuses
            print(*rows[-1], sep=" | ", flush=True)
    print(table(head, rows))


def hostile_requests() -> dict[str, tuple[str, object, bool]]:
    """Requests by name: path, body, and whether the client leaves at once. All but the first are within the limits."""
    choose = random.Random(1)
    dots = {"left": "." * 12_451, "right": "." * 12_449}
    letters = [f"{choose.choice(TEXT.split())}{number}" for number in range(200)]
    many = {"left": letters, "right": letters[::-1]}
    sentences = [text(choose, 24, 2) for _ in range(100)]
    return {
        "99,000 dots": ("/align", {"left": "." * 99_000, "right": "."}, False),
        "24,900 dots": ("/align", dots, False),
        "24,900 dots, client leaves": ("/align", dots, True),
        "8,000 dots, with a page": ("/align", {"left": "." * 4001, "right": "." * 3999, "page": True}, False),
        "24,900 times a": ("/align", {"left": "a " * 12_451, "right": "a " * 12_449}, False),
        "24,900 Chinese characters": ("/align", {"left": "漢" * 12_450, "right": "字" * 12_450}, False),
        "99,000 letters in one word": ("/align", {"left": "x" * 50_000, "right": "y" * 49_000, "page": True}, False),
        "99,000 flags, as words": ("/align", {"left": "\U0001f1e6" * 99_000, "right": "b", "spans": "word"}, False),
        "99,000 Thai letters": ("/align", {"left": "\u0e01" * 75_000 + "!\u0e01" * 12_000, "right": "b"}, False),
        "200 × 200 spans, many links": ("/align", many | {"constraint": "up-to:9999", "below": 2, "page": True}, False),
        "10 pairs of 200 × 200 spans": ("/align/batch", {"pairs": [many] * 10, "constraint": "balanced"}, False),
        "100 documents to rank": ("/rank", {"query": text(choose, 100, 2), "documents": sentences}, False),
        "a search for 500 sentences": (
            "/search",
            {"query": text(choose, 500, 2), "top_k": 50, "constraint": "up-to:9999", "below": 2, "page": True},
            False,
        ),
        "a list of 500,000 numbers": ("/align", {"left": [1] * 330_000, "right": "b"}, False),
    }


async def beside(
    url: str, path: str, body: object, *, leaves: bool, people: int, seconds: float
) -> tuple[Load, Counter[int | str]]:
    """What came of the requests of people, and of those that a hostile client sent meanwhile, ten a minute."""
    statuses: Counter[int | str] = Counter()
    sent = request(url, "POST", path, json.dumps(body, ensure_ascii=False).encode())

    async def harm(delay: float) -> None:
        await asyncio.sleep(delay)
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        writer.write(sent)
        await writer.drain()
        if leaves:
            await asyncio.sleep(0.2)
        statuses["left" if leaves else (await answer(reader))[0]] += 1
        writer.close()

    work = [asyncio.ensure_future(harm(delay)) for delay in range(0, int(seconds), 6) if path]
    small = await load(url, POSTS, people=people, seconds=seconds)
    await asyncio.gather(*work)
    return small, statuses


def index(folder: Path) -> str:
    """An index of made-up posts."""
    choose = random.Random(2)
    wm.Index.create(folder / "index").add({str(number): text(choose, *POSTS) for number in range(300)})
    return str(folder / "index")


def resident(url: str) -> float:
    """What the server holds in memory, in MiB."""
    figures = asyncio.run(get(url, "/metrics"))[1].decode().splitlines()
    return next(float(line.split()[1]) for line in figures if line.startswith("process_resident_memory_bytes")) / 2**20


def watch_memory(url: str, requests: int, people: int) -> None:
    """What the process holds, in ten steps."""
    rows = []
    for step in range(11):
        if step:
            some = asyncio.run(load(url, (1, 4), people=people, requests=requests // 10))
            assert {*some.counts} == {200}, some.statuses
        rows.append([f"{step * requests // 10:,}", f"{resident(url):.0f}"])
        print(f"after {rows[-1][0]} requests: {rows[-1][1]} MiB", flush=True)
    print()


def bounds(people: int) -> None:
    """The rates of encoder and aligner without a server around them."""
    rows, choose = [], random.Random(1)
    aligner = wm.Aligner()
    for name, size in SIZES.items():
        pairs = [(text(choose, *size), text(choose, *size)) for _ in range(4 * people)]
        aligner.align_many(pairs[:2])
        groups = [pairs[start : start + people] for start in range(0, len(pairs), people)]
        for together, some in ((1, [[pair] for pair in pairs[: 2 * people]]), (people, groups)):
            rate = [len(some) * together / timed(work, some) for work in (encode, wm.Aligner.align_many)]
            rows.append([name, str(together), *(f"{value:.1f}" for value in rate)])
    print(table(["without a server", "together", "encoded pairs/s", "aligned pairs/s"], rows))


def encode(aligner: wm.Aligner, pairs: Sequence[tuple[str, str]]) -> None:
    texts = [some for pair in pairs for some in pair]
    aligner.encoder.encode(texts, [[wm.Span(*span) for span in aligner.splitter(some)] for some in texts])


def timed(work: object, groups: Sequence[Sequence[tuple[str, str]]]) -> float:
    assert callable(work)
    aligner = wm.Aligner()
    started = time.perf_counter()
    for some in groups:
        work(aligner, some)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
