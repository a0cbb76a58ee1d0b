"""A small RoBERTa with random weights."""

from pathlib import Path

import pytest
import torch

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "and", "ran", "away", "it", "is", "cold", "today", "very"]


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
