"""The engines that exported folders are proved with; each library is imported when its engine starts."""

import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mt.errors import UserError
from mt.export.ctranslate2 import SETTINGS


class HuggingFaceEngine:
    """transformers: `MarianMTModel` with `MarianTokenizer`, from a folder, without network. Raises UserError."""

    def __init__(self, folder: Path) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        try:
            import transformers  # noqa: PLC0415  an optional library
        except ImportError as error:
            raise _not_installed("transformers") from error
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")  # which it then does not use
        self.model: Any = transformers.MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer: Any = transformers.MarianTokenizer.from_pretrained(folder)
        self.pad: int = self.model.config.pad_token_id
        self.eos: int = self.model.config.eos_token_id
        self.start: int = self.model.config.decoder_start_token_id

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
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
        return [_until(row[1:], self.eos) for row in outputs.tolist()]

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """One forward pass over source and target."""
        with torch.inference_mode():
            outputs = self.model(
                input_ids=torch.tensor([[*source, self.eos]]),
                decoder_input_ids=torch.tensor([[self.start, *target]]),
            )
        return outputs.logits[0].numpy()

    def text(self, tokens: Sequence[int]) -> str:
        """As `decode` of the whole output gives it, special tokens left out."""
        return str(self.tokenizer.decode([self.start, *tokens, self.eos], skip_special_tokens=True))


class CTranslate2Engine:
    """CTranslate2 on the CPU, one thread, with the types that the folder's weights have. Raises UserError."""

    def __init__(self, folder: Path, *, source_pieces: Sequence[str], target_pieces: Sequence[str]) -> None:
        try:
            import ctranslate2  # noqa: PLC0415  an optional library
        except ImportError as error:
            raise _not_installed("ctranslate2") from error
        self.translator: Any = ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)
        self.settings = json.loads((folder / SETTINGS).read_bytes())
        self.source_pieces = source_pieces
        self.target_pieces = target_pieces
        self.ids = {piece: token for token, piece in enumerate(target_pieces)}

    def pieces(self, texts: Sequence[str]) -> None:
        """The engine takes pieces, not text."""

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """`translate_batch` with the folder's own settings, but a beam of 1."""
        written = [[self.source_pieces[token] for token in source] for source in sources]
        plain = {"beam_size": 1, "min_decoding_length": 0, "no_repeat_ngram_size": 0, "max_decoding_length": longest}
        settings = {**self.settings, **plain}
        results = self.translator.translate_batch(written, **settings)
        return [[self.ids[piece] for piece in result.hypotheses[0]] for result in results]

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """`translate_batch` with the target as a forced prefix and one token after it."""
        result = self.translator.translate_batch(
            [[self.source_pieces[token] for token in source]],
            target_prefix=[[self.target_pieces[token] for token in target]],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=len(target) + 1,
            return_logits_vocab=True,
        )[0]
        return np.stack([np.array(step).reshape(-1) for step in result.logits[0]])

    def text(self, tokens: Sequence[int]) -> None:
        """The engine gives pieces, not text."""


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def _not_installed(library: str) -> UserError:
    return UserError(f"{library} is not installed: pip install 'mt-transformer[export]'")
