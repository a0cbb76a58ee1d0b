"""The background of an index: a sample of its documents, kept beside the table, and what its random pairs have."""

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whymatch.cost import Background, Cost
from whymatch.cost.background import MIN_SPANS, MIN_TEXTS, pieces_of, sample
from whymatch.cost.evidence import measure_key
from whymatch.files import read_json, write_whole
from whymatch.matching.significance import Chance
from whymatch.search.store import Store


def sampled(store: Store, encoder: str) -> Background | None:
    """A sample of the documents of an index, texts that are equal once; None if they or their spans are too few."""
    by_digest: dict[bytes, _SampledRow] = {}
    for batch in store.batches(["id", "digest", "spans"]):
        ids, digests = (batch.column(name).to_pylist() for name in ("id", "digest"))
        sizes = batch.column("spans").value_lengths().to_pylist()
        for id_, digest, size in zip(ids, digests, sizes, strict=True):
            row = by_digest.get(digest)
            if row is None or id_ < row.id:
                by_digest[digest] = _SampledRow(id_, size or 0)
    distinct = sorted(by_digest.values(), key=lambda row: row.id)
    parts = {distinct[number].id: part for number, part in sample(distinct)}
    entries = sorted(store.entries([*parts], skip_damaged=True), key=lambda entry: entry.id)
    documents = pieces_of([entry.document for entry in entries], enumerate(parts[entry.id] for entry in entries))
    if len(documents) < MIN_TEXTS or sum(map(len, documents)) < MIN_SPANS:
        return None
    return Background(
        f"{len(by_digest):,} documents of the index",
        encoder,
        documents,
        np.concatenate([entry.vectors[parts[entry.id]] for entry in entries]).astype(np.float32),
    )


@dataclass(frozen=True)
class _SampledRow:
    """A document that a background may be made of; its length is the number of its spans."""

    id: str
    spans: int

    def __len__(self) -> int:
        return self.spans


class KeptBackground:
    """Two files in the folder of an index: the sample, and what was learned from it, which can be made again.

    Each is written whole. The second names the sample that it belongs to, so that one of another sample is not used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file, self._facts_file = folder / "background.safetensors", folder / "background.json"
        self._read: tuple[object, Background | None] | None = None

    @property
    def background(self) -> Background | None:
        """The sample; None where there is none.

        Raises:
            OSError: if it is damaged.
        """
        if self._read is None:
            version = self._version()
            try:
                self._read = version, None if version is None else Background.read(self._file)
            except ValueError as error:
                raise OSError(
                    f"The background of the index in {self._folder} cannot be used: {error}. Delete that file and run "
                    "whymatch index again, which samples a new one and encodes no document again."
                ) from None
        return self._read[1]

    def refresh(self) -> bool:
        """Whether another process has written another sample meanwhile, which is read when it is used."""
        if self._read is None or self._read[0] == self._version():
            return False
        self._read = None
        return True

    def fits(self, documents: int) -> bool:
        """Whether there is a sample, of an index neither half nor twice as large."""
        try:
            background = self.background
        except OSError:  # it is damaged, and sampled anew
            self._read = None
            return False
        sampled_of = None if background is None else self._facts(background.digest).get("documents")
        return isinstance(sampled_of, int) and sampled_of < 2 * documents and documents < 2 * sampled_of

    def write(self, background: Background, documents: int) -> None:
        """Keeps a sample of an index with so many documents."""
        background.write(self._file)
        self._write_facts({"background": background.digest, "documents": documents})
        shutil.copymode(self._facts_file, self._file)  # safetensors lets nobody else read it
        self._read = None

    def remove(self) -> None:
        """Keeps no sample, where too little is left of the corpus."""
        self._file.unlink(missing_ok=True)
        self._facts_file.unlink(missing_ok=True)
        self._read = None

    def chance(self, background: Background, cost: Cost) -> Chance | None:
        """What random pairs of a background have for a cost, where that is kept."""
        facts = self._facts(background.digest)
        try:
            return Chance.from_dict(facts["chance"][measure_key(background, cost)])
        except (KeyError, TypeError, ValueError):  # there is none, or another version has written it: it is made again
            return None

    def keep_chance(self, background: Background, cost: Cost, chance: Chance) -> None:
        """Keeps what random pairs of the sample have for a cost, unless the folder cannot be written.

        Nothing is kept of another background, such as a sample that another process has replaced meanwhile.
        """
        facts = self._facts(background.digest)
        if not facts:
            return
        facts["chance"] = {**facts.get("chance", {}), measure_key(background, cost): chance.to_dict()}
        with suppress(OSError):  # it is computed again next time
            self._write_facts(facts)

    def _facts(self, digest: str) -> dict[str, Any]:
        """What is kept of the background with this digest; nothing if the file is damaged or of another one."""
        kept = read_json(self._facts_file)
        if not isinstance(kept, dict) or not isinstance(facts := kept.get("facts"), dict):
            return {}
        return facts if kept.get("seal") == _seal(facts) and facts.get("background") == digest else {}

    def _write_facts(self, facts: dict[str, Any]) -> None:
        write_whole(self._facts_file, json.dumps({"facts": facts, "seal": _seal(facts)}, indent=1) + "\n", follow=False)

    def _version(self) -> object:
        try:
            stat = self._file.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _seal(facts: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()
