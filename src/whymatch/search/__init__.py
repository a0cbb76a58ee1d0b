"""A corpus on disk, and the documents in it that match a text, with the links that say why."""

import os
from importlib.util import find_spec

os.environ.setdefault("LANCEDB_LOG", "error")  # that a compaction gave way to another writer is no news
if find_spec("lancedb") is None:
    raise ModuleNotFoundError("Search needs LanceDB: pip install 'whymatch[search]'.", name="lancedb")
