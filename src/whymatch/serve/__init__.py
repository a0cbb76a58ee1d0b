"""A server of alignments, and what keeps any server of ours safe."""

from importlib.util import find_spec

for needed in ("fastapi", "uvicorn", "prometheus_client"):
    if find_spec(needed) is None:
        raise ModuleNotFoundError(f"Serving needs {needed}: pip install 'whymatch[serve]'.", name=needed)
