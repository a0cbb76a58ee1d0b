"""A corpus on disk, and the documents in it that match a text, with the links that say why."""

from importlib.util import find_spec

if find_spec("lancedb") is None:
    raise ModuleNotFoundError("Search needs LanceDB: pip install 'whymatch[search]'.", name="lancedb")
