"""Folders that transformers writes, with random parameters and a tiny tokenizer."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

BERT_TOKENS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz,.'!", "fish"]
BERT_TOKENS += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + ["two", "the", "red", "漢"]

TEXTS = [
    "the red fish",
    "a blue fish\n\n  two fish",
    "don't fish, I'LL fish 123",
    "ein Fïsch",
    "漢字 😀 \u200b",
    " ",
    "x " * 50,
]
END = "<|endoftext|>"
LONGEST = 24


def write_tokenizer(folder: Path, *, size: int = 300) -> None:
    """`vocab.json` and `merges.txt` of a byte-level BPE, the end of a text first."""
    import tokenizers  # noqa: PLC0415  the writer

    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.model.save(str(folder))


def randomised(model: Any) -> Any:
    torch.manual_seed(1)
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=float(parameter.ndim == 1) / 2, std=0.3)
    return model.eval()


def write_gpt2(folder: Path, **changes: Any) -> Path:
    """A tiny GPT-2 that transformers wrote with its tokenizer; 4 rows more than tokens."""
    import transformers  # noqa: PLC0415  the writer

    folder.mkdir()
    write_tokenizer(folder)
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder)
    end = tokenizer.eos_token_id
    sizes = {"n_positions": LONGEST, "n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": len(tokenizer) + 4}
    config = transformers.GPT2Config(**{**sizes, "bos_token_id": end, "eos_token_id": end, **changes})
    randomised(transformers.GPT2LMHeadModel(config)).save_pretrained(folder)
    return folder


def write_bert(folder: Path, **changes: Any) -> Path:
    """A tiny BERT that transformers wrote with its tokenizer."""
    import transformers  # noqa: PLC0415  the writer

    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in BERT_TOKENS), encoding="utf-8")
    sizes = {"max_position_embeddings": LONGEST, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes |= {"intermediate_size": 24, "vocab_size": len(BERT_TOKENS)}
    randomised(transformers.BertForMaskedLM(transformers.BertConfig(**{**sizes, **changes}))).save_pretrained(folder)
    return folder
