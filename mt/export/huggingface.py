"""A folder that transformers loads as `MarianMTModel` and `MarianTokenizer`, and loading it for the proof."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from jaxtyping import Float

from mt.config.schema import Decoding, TrainConfig
from mt.errors import UserError
from mt.export.marian import to_marian
from mt.export.vocabulary import Vocabularies, our_ids
from mt.model.transformer import Transformer
from mt.runs.checkpoint import model_tensors
from mt.translation.translator import Translator


def write_huggingface(
    folder: Path, *, run: TrainConfig, model: Transformer, translator: Translator, vocabularies: Vocabularies
) -> None:
    """Write into an existing folder all but the SentencePiece models. Raises OSError."""
    special = vocabularies.special
    rows = [our_ids(special, size) for size in (vocabularies.source_size, vocabularies.target_size)]
    tokenizers = (translator.source_tokenizer, translator.target_tokenizer)
    tokens = [tokenizer.subwords(side) for tokenizer, side in zip(tokenizers, rows, strict=True)]
    for side in tokens:
        side[special.pad] = "<pad>"  # also where it is the start, which is our <s>
    ids = {
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": None if special.start == special.pad else special.start,
        "decoder_start_token_id": special.start,
        "forced_eos_token_id": special.eos,
    }
    suppressed = [token for token, ours in enumerate(rows[1]) if ours in translator.search.forbidden]
    depths = len(model.encoder.layers), len(model.decoder.layers)
    tensors = to_marian(model_tensors(model), num_layers=depths, source_rows=rows[0], target_rows=rows[1])
    longest = translator.search.longest(run.decoding.max_source_tokens)
    longest_sequence = max(run.decoding.max_source_tokens, longest - 1)  # without BOS or EOS
    files: dict[str, dict[str, Any]] = {
        "config.json": {
            **_model_config(run, sizes=(len(rows[0]), len(rows[1])), positions=longest_sequence + 2),
            "encoder_layers": depths[0],
            "decoder_layers": depths[1],
            "share_encoder_decoder_embeddings": model.source_embedding is model.target_embedding,
            **ids,
        },
        "generation_config.json": ids | {"suppress_tokens": suppressed} | _search_settings(run.decoding, longest),
        "tokenizer_config.json": _tokenizer_config(run, longest_sequence, start=tokens[1][special.start]),
        "vocab.json": {written: token for token, written in enumerate(tokens[0])},
    }
    if not run.tokenizer.shared_vocab:
        files["target_vocab.json"] = {written: token for token, written in enumerate(tokens[1])}
    for name, values in files.items():
        (folder / name).write_bytes((json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode())
    safetensors.torch.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _search_settings(decoding: Decoding, longest: int) -> dict[str, Any]:
    with_start = longest + 1  # `max_length` counts the start token
    settings: dict[str, Any] = {"num_beams": decoding.beam_size, "do_sample": False, "max_length": with_start}
    if decoding.beam_size > 1:
        settings["length_penalty"] = decoding.length_penalty
        settings["early_stopping"] = decoding.early_stopping or "never"
    if decoding.min_output_tokens:
        settings["min_new_tokens"] = decoding.min_output_tokens
    if decoding.no_repeat_ngram_size:
        settings["no_repeat_ngram_size"] = decoding.no_repeat_ngram_size
    return settings


def _model_config(run: TrainConfig, *, sizes: tuple[int, int], positions: int) -> dict[str, Any]:
    sizes_of_stack = {"attention_heads": run.model.num_heads, "ffn_dim": run.model.d_ff}
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": run.model.d_model,
        **{f"{stack}_{name}": size for stack in ("encoder", "decoder") for name, size in sizes_of_stack.items()},
        "activation_function": run.model.activation,
        "dropout": run.model.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": positions,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_bias_logits": False,
        "add_final_layer_norm": False,
        "tie_word_embeddings": True,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "use_cache": True,
        "dtype": "float32",
    }


def _tokenizer_config(run: TrainConfig, longest: int, *, start: str) -> dict[str, Any]:
    """`split_special_tokens`: a typed `</s>` is text and never becomes a mark."""
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": run.data.source_language,
        "target_lang": run.data.target_language,
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        **({"bos_token": start} if start != "<pad>" else {}),
        "separate_vocabs": not run.tokenizer.shared_vocab,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
    }


def load_pretrained(folder: Path, model_class: str, tokenizer_class: str) -> tuple[Any, Any]:
    """A model in fp32 and its tokenizer, by classes of transformers, without network. Raises UserError."""
    try:
        import transformers  # noqa: PLC0415  an optional library
    except ImportError as error:
        raise UserError("transformers is not installed: in the repository, pip install -e '.[export]'") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")  # which it then does not use
    model = getattr(transformers, model_class).from_pretrained(
        folder,
        local_files_only=True,
        attn_implementation="eager",  # config.json could name one to download
        dtype=torch.float32,
        use_safetensors=True,
    )
    return model.eval(), getattr(transformers, tokenizer_class).from_pretrained(folder, local_files_only=True)


class HuggingFaceEngine:
    """`MarianMTModel` with `MarianTokenizer`, from a folder, without network. Raises UserError."""

    def __init__(self, folder: Path) -> None:
        self.model, self.tokenizer = load_pretrained(folder, "MarianMTModel", "MarianTokenizer")
        self.eos: int = self.model.config.eos_token_id
        self.start: int = self.model.config.decoder_start_token_id

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """As a user's call of the tokenizer gives them, without the EOS it adds."""
        return [ids[:-1] for ids in self.tokenizer(list(texts))["input_ids"]]

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """`generate` with the folder's own generation configuration, but a beam of 1."""
        inputs = self.tokenizer.pad({"input_ids": [[*source, self.eos] for source in sources]}, return_tensors="pt")
        outputs = self.model.generate(
            **inputs,
            num_beams=1,
            do_sample=False,
            early_stopping=False,
            length_penalty=1.0,
            min_new_tokens=0,
            max_new_tokens=longest,
            no_repeat_ngram_size=0,
        )
        rows = (row[1:] for row in outputs.tolist())
        return [row[: row.index(self.eos)] if self.eos in row else row for row in rows]

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """One forward pass over source and target."""
        with torch.inference_mode():
            outputs = self.model(
                input_ids=torch.tensor([[*source, self.eos]]),
                decoder_input_ids=torch.tensor([[self.start, *target]]),
            )
        return outputs.logits[0].numpy()

    def decode(self, tokens: Sequence[int]) -> str:
        """As `decode` of the whole output gives it, special tokens left out."""
        return str(self.tokenizer.decode([self.start, *tokens, self.eos], skip_special_tokens=True))
