"""A folder that transformers loads as `MarianMTModel` and `MarianTokenizer`, and loading it for the proof."""

import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from jaxtyping import Float

from mt.config.schema import Decoding
from mt.errors import UserError
from mt.export.folder import write_files
from mt.export.marian import to_marian
from mt.export.search_settings import EXTRA_POSITIONS, generation_settings, longest_sequence
from mt.export.supported import architecture
from mt.export.vocabulary import SpecialIds, Vocabularies, our_ids
from mt.model.transformer import Transformer
from mt.runs.checkpoint import model_tensors
from mt.translation.translator import Translator


def write_huggingface(
    folder: Path,
    *,
    model: Transformer,
    translator: Translator,
    decoding: Decoding,
    vocabularies: Vocabularies,
    languages: tuple[str, str],
) -> None:
    """Write into an existing folder all but the SentencePiece models. Raises DiskError."""
    special = vocabularies.special
    rows = [our_ids(special, size) for size in (vocabularies.source_size, vocabularies.target_size)]
    tokenizers = (translator.source_tokenizer, translator.target_tokenizer)
    tokens = [tokenizer.subwords(side) for tokenizer, side in zip(tokenizers, rows, strict=True)]
    for side in tokens:
        side[special.pad] = "<pad>"  # also where it is the start, which is our <s>
    shared = model.source_embedding is model.target_embedding
    longest = longest_sequence(decoding)
    generation = {
        **_ids(special),
        "forced_eos_token_id": special.eos,
        "suppress_tokens": [token for token, ours in enumerate(rows[1]) if ours in translator.search.forbidden],
        **generation_settings(decoding),
    }
    tensors = to_marian(
        model_tensors(model), num_layers=len(model.encoder.layers), source_rows=rows[0], target_rows=rows[1]
    )
    files = {
        "config.json": _json(
            _model_config(model, positions=longest + EXTRA_POSITIONS, sizes=(len(rows[0]), len(rows[1])))
            | _ids(special)
            | {"forced_eos_token_id": special.eos}
        ),
        "generation_config.json": _json(generation),
        "tokenizer_config.json": _json(
            _tokenizer_config(tokens[1][special.start], languages, shared=shared, longest=longest)
        ),
        "vocab.json": _json({written: token for token, written in enumerate(tokens[0])}),
        "model.safetensors": safetensors.torch.save(tensors, metadata={"format": "pt"}),
    }
    if not shared:
        files["target_vocab.json"] = _json({written: token for token, written in enumerate(tokens[1])})
    write_files(folder, files)


def _ids(special: SpecialIds) -> dict[str, Any]:
    return {
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": None if special.start == special.pad else special.start,
        "decoder_start_token_id": special.start,
    }


def _model_config(model: Transformer, *, positions: int, sizes: tuple[int, int]) -> dict[str, Any]:
    layer = architecture(model)
    sides: dict[str, Any] = {}
    for side, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        sides[f"{side}_layers"] = len(layers)
        sides[f"{side}_attention_heads"] = layer.num_heads
        sides[f"{side}_ffn_dim"] = layer.d_ff
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": layer.d_model,
        **sides,
        "activation_function": layer.activation,
        "dropout": model.dropout.p,
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
        "share_encoder_decoder_embeddings": model.source_embedding is model.target_embedding,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "use_cache": True,
        "dtype": "float32",
    }


def _tokenizer_config(start: str, languages: tuple[str, str], *, shared: bool, longest: int) -> dict[str, Any]:
    """`split_special_tokens`: a typed `</s>` is text and never becomes a mark."""
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages[0],
        "target_lang": languages[1],
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        **({"bos_token": start} if start != "<pad>" else {}),
        "separate_vocabs": not shared,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
    }


def _json(values: object) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()


class HuggingFaceEngine:
    """`MarianMTModel` with `MarianTokenizer`, from a folder, without network. Raises UserError."""

    def __init__(self, folder: Path) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        try:
            import transformers  # noqa: PLC0415  an optional library
        except ImportError as error:
            raise UserError("transformers is not installed: pip install 'mt-transformer[export]'") from error
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")  # which it then does not use
        self.model: Any = transformers.MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer: Any = transformers.MarianTokenizer.from_pretrained(folder)
        self.pad: int = self.model.config.pad_token_id
        self.eos: int = self.model.config.eos_token_id
        self.start: int = self.model.config.decoder_start_token_id

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """As a user's call of the tokenizer gives them, without the EOS it adds."""
        return [ids[:-1] for ids in self.tokenizer(list(texts))["input_ids"]]

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """`generate` with the folder's own generation configuration, but a beam of 1."""
        width = max(map(len, sources)) + 1
        ids = torch.tensor([[*source, self.eos, *[self.pad] * (width - len(source) - 1)] for source in sources])
        mask = torch.tensor([[1] * (len(source) + 1) + [0] * (width - len(source) - 1) for source in sources])
        outputs = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
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
