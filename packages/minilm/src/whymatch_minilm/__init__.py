"""The files of all-MiniLM-L6-v2, a sentence encoder by the Sentence Transformers team."""

from pathlib import Path

FOLDER = Path(__file__).parent / "model"
"""The folder that holds config.json, model.safetensors, the tokenizer's files and how tokens are pooled."""
