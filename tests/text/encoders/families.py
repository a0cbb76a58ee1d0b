"""Small models with random weights of every family that is compiled, saved by transformers."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    MPNetTokenizer,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizer,
    XLMRobertaConfig,
    XLMRobertaModel,
    XLMRobertaTokenizer,
)

from tests.conftest import SPOKEN

WORDS = [*SPOKEN, "unbelievable", *".,!?'0123"]
LETTERS = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}


@cache
def _pieces(specials: tuple[str, ...]) -> dict[str, int]:
    tokens = [*specials, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def _bert(folder: Path, *, lower: bool = True) -> None:
    specials = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
    tokenizer = BertTokenizer(_pieces(specials), do_lower_case=lower, model_max_length=60)
    _save(folder, tokenizer, BertModel, BertConfig(**SIZES, vocab_size=len(tokenizer), max_position_embeddings=70))


def _cased(folder: Path) -> None:
    _bert(folder, lower=False)


def _distilbert(folder: Path) -> None:
    tokenizer = BertTokenizer(_pieces(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")), model_max_length=50)
    config = DistilBertConfig(
        dim=32, n_layers=3, n_heads=2, hidden_dim=48, vocab_size=len(tokenizer), max_position_embeddings=64
    )
    _save(folder, tokenizer, DistilBertModel, config)


def _mpnet(folder: Path) -> None:
    tokenizer = MPNetTokenizer(_pieces(("<s>", "<pad>", "</s>", "[UNK]", "<mask>")), model_max_length=300)
    config = MPNetConfig(**SIZES, vocab_size=len(tokenizer), max_position_embeddings=302, pad_token_id=1)
    _save(folder, tokenizer, MPNetModel, config)


def _roberta(folder: Path) -> None:
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator([" ".join(WORDS)] * 5, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary, merges = bpe.model.save(str(folder))
    tokenizer = RobertaTokenizer(vocabulary, merges, model_max_length=62)
    config = RobertaConfig(
        **SIZES, vocab_size=len(tokenizer), max_position_embeddings=66, hidden_act="gelu_new", type_vocab_size=1
    )
    _save(folder, tokenizer, RobertaModel, config)


def _xlm_roberta(folder: Path) -> None:
    specials = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces = [(f"▁{word}", -float(number + 1)) for number, word in enumerate(WORDS)]
    letters = [(letter, -30.0 - number / 9) for number, letter in enumerate(["▁", *LETTERS, "é", "漢", "字"])]
    tokenizer = XLMRobertaTokenizer([*specials, *pieces, *letters, ("<mask>", 0.0)], model_max_length=62)
    config = XLMRobertaConfig(
        **SIZES, vocab_size=len(tokenizer), max_position_embeddings=66, hidden_act="relu", layer_norm_eps=1e-5
    )
    _save(folder, tokenizer, XLMRobertaModel, config)


FAMILIES: dict[str, Callable[[Path], None]] = {
    "bert": _bert,
    "bert, cased": _cased,
    "distilbert": _distilbert,
    "mpnet": _mpnet,
    "roberta": _roberta,
    "xlm-roberta": _xlm_roberta,
}
"""Writes a model of a family into a folder."""


TOKENS = [*dict.fromkeys(["[PAD]", "[UNK]", *SPOKEN, *LETTERS])]
"""Those of the static models that are written here; what is in no such word is unknown."""


def write_model2vec(folder: Path, embeddings: np.ndarray, config: dict[str, Any] | None = None, **more: Any) -> None:
    """Writes a static model as model2vec does: its embeddings, with `weights` and a `mapping` if there are any."""
    tokenizer = Tokenizer(models.WordLevel({token: number for number, token in enumerate(TOKENS)}, "[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(4)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config or {"model_type": "model2vec", "normalize": True}))
    save_file({"embeddings": embeddings, **more}, folder / "model.safetensors")


def _save(folder: Path, tokenizer: Any, kind: Any, config: Any) -> None:
    torch.manual_seed(0)
    model = kind(config)
    for name, weight in model.named_parameters():  # biases of 0 and scales of 1 would hide mistakes
        torch.nn.init.normal_(weight, mean=float("norm" in name.lower() and name.endswith("weight")), std=0.2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
