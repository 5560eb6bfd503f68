"""Section 5.1: byte-pair encoding splits sentences into subwords; the only file that runs SentencePiece.

SentencePiece calls a subword a *piece*: a string of its vocabulary, in which "▁" is the space before a word. The
rules of `mt/data/normalization.py` are part of the model file, so text is normalised once, in here, and reference
translations never are.
"""

import bisect
import hashlib
import io
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from jaxtyping import Integer

from mt.data.bpe_dropout import Segmenter
from mt.data.lines import count_lines, read_lines, without_surrogates
from mt.data.normalization import rules
from mt.data.pretrained_tokenizer import PretrainedProcessor
from mt.errors import BadFileError, UserError
from mt.reporting import report
from mt.runs.atomic import LARGEST_TOKENIZER_BYTES, read_file, replace_file

PAD = 0
UNKNOWN = 1
BOS = 2
EOS = 3
MASK = "[MASK]"  # the written form of the token that hides another, in vocabularies that have it

MANY_LINES = 200_000  # from here on learning takes minutes, in which SentencePiece reports nothing

_LARGEST_LINE_BYTES = 1 << 30  # SentencePiece's own limit, 4,192 bytes, drops longer lines silently


def train_tokenizer(
    *,
    text_files: Sequence[Path],
    output: Path,
    vocab_size: int,
    character_coverage: float,
    byte_fallback: bool,
    input_sentence_size: int,
    model_type: str = "bpe",
    verbatim: bool = False,
    mask: bool = False,
) -> None:
    """Learn byte-pair encoding from UTF-8 files of one sentence per line and write the model file whole.

    With the `model_type` char every character is a subword of its own. A `verbatim` model changes nothing in a text:
    it keeps spaces and forms of characters as they are, and knows the line break. With `mask` there is a token `MASK`.

    At most `input_sentence_size` lines are used, spread evenly over all files, so that the same files give the same
    model. Digits are not split, as in the paper's own encoding. `byte_fallback` spends 256 subwords on single bytes,
    after which no text is unknown. A corpus that supports fewer subwords than `vocab_size` gives a smaller vocabulary
    and a warning.

    Raises UserError when the files cannot be read, hold no text, or have more distinct characters than `vocab_size`
    has room for, and DiskError when the model cannot be written.
    """
    total = sum(count_lines(str(path)) for path in text_files)
    taken = min(input_sentence_size, total)
    if taken >= MANY_LINES:
        report(f"learning subwords from {taken:,} lines; this takes minutes")
    sentencepiece.set_min_log_level(2)  # warnings are left out
    normalisation = None if verbatim else rules(_spread_lines(text_files, taken, total))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_spread_lines(text_files, taken, total),
            model_writer=model,
            model_type=model_type,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            normalizer=_normalizer(normalisation),
            user_defined_symbols=["\n"] if verbatim else [],
            control_symbols=[MASK] if mask else [],
            max_sentence_length=_LARGEST_LINE_BYTES,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BOS,
            eos_id=EOS,
        )
    except RuntimeError as error:
        raise UserError(_explain(str(error), text_files, vocab_size)) from error
    replace_file(output, model.getvalue())
    actual = Tokenizer.load(output).vocab_size
    if actual < vocab_size:
        size = f"tokenizer.vocab_size={vocab_size}"
        report(f"warning: the training text supports {actual} subwords, fewer than {size}: using {actual}")


def _normalizer(normalisation: list[tuple[str, str]] | None) -> sentencepiece.SentencePieceNormalizer:
    """The normaliser that applies these rules; with None text stays verbatim."""
    return sentencepiece.SentencePieceNormalizer(
        rule_name="identity" if normalisation is None else None,
        norm_map=normalisation,
        add_dummy_prefix=normalisation is not None,
        remove_extra_whitespaces=normalisation is not None,
        escape_whitespaces=True,
    )


class Tokenizer:
    """A trained SentencePiece model: text to subword ids and back, without begin and end marks.

    Of an imported model it may be a `tokenizer.json` instead (`mt/data/pretrained_tokenizer.py`), which is not sampled
    and does not number words. Special ids are inserted by their number only; no text, `</s>` included, becomes one.
    """

    def __init__(self, *, model: bytes) -> None:
        """Take the content of a model file. Raises BadFileError when `train_tokenizer` cannot have written it."""
        self._processor: Any = PretrainedProcessor(model) if model.startswith(b"{") else _sentencepiece(model)
        self.vocab_size: int = self._processor.get_piece_size()
        self.mask: int = self._processor.piece_to_id(MASK)  # UNKNOWN where the vocabulary does not have it
        self.fingerprint = hashlib.sha256(model).hexdigest()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a model file. Raises BadFileError, naming it, when it is missing, damaged or foreign."""
        content = read_file(path, LARGEST_TOKENIZER_BYTES)
        try:
            return cls(model=content)
        except BadFileError as error:
            raise BadFileError(f"tokenizer {path}: {error}; train it again or restore it") from error

    def encode(self, text: str) -> list[int]:
        """Return the subword ids of one text."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str], *, num_threads: int = 1) -> list[list[int]]:
        """Return the subword ids of each text. A lone surrogate, which UTF-8 cannot carry, counts as U+FFFD.

        With -1 `num_threads` is the number of cores.
        """
        ids: list[list[int]] = self._processor.encode(list(map(without_surrogates, texts)), num_threads=num_threads)
        return ids

    def encode_sampled(self, texts: Sequence[str], *, alpha: float, seed: int | str) -> list[list[int]]:
        """Return ids with BPE-dropout (Provilkov et al. 2020): each merge is left out with probability `alpha`.

        Equal texts in equal order and an equal seed give equal subwords. Raises UserError for an imported vocabulary of
        another kind than BPE.
        """
        chance = random.Random(seed)
        normalised = self._processor.normalize(list(map(without_surrogates, texts)))
        sampled = [self._segmenter.sample(text, alpha=alpha, chance=chance) for text in normalised]
        return [_unknown_once(ids) if UNKNOWN in ids else ids for ids in sampled]

    def decode(self, ids: Iterable[int] | Integer[np.ndarray, " subwords"]) -> str:
        """Return the text of the ids, on one line: special ids vanish, ids that do not exist count as unknown."""
        # Under byte fallback a model may produce the bytes of a line break, which no input contains.
        return self.decode_lines(ids).replace("\n", " ").replace("\r", " ")

    def decode_lines(self, ids: Iterable[int] | Integer[np.ndarray, " subwords"]) -> str:
        """Return the text of the ids with its line breaks."""
        known = [int(i) if 0 <= i < self.vocab_size else UNKNOWN for i in ids]
        text: str = self._processor.decode(known)
        return text

    def subwords(self, ids: Iterable[int] | Integer[np.ndarray, " subwords"]) -> list[str]:
        """Return the written form of each id. Raises IndexError for an id that does not exist."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def words_of_text(self, text: str) -> list[int]:
        """Return for each subword of `encode(text)` the number of its word, from 0; words are what spaces separate."""
        valid = without_surrogates(text)
        encoded = self._processor.encode(valid, return_type="offset_mapping")
        return _words_at(valid, [start for start, _ in encoded["offsets"]])

    def words_of_output(self, ids: Sequence[int]) -> list[int]:
        """Return for each id the number of its word in the text that `decode` gives, from 0."""
        decoded = self._processor.decode(list(ids), return_type="offset_mapping")
        return _words_at(decoded["text"], [start for start, _ in decoded["offsets"]])

    @cached_property
    def _segmenter(self) -> Segmenter:
        """The merges of the model: every subword but the special ones and the single bytes."""
        model = self._processor
        every_id = range(self.vocab_size)
        bytes_ = {model.id_to_piece(i): i for i in every_id if model.is_byte(i)}
        merged = [i for i in every_id if not (model.is_byte(i) or model.is_control(i) or model.is_unknown(i))]
        ids = {model.id_to_piece(i): i for i in merged}
        scores = {subword: model.get_score(i) for subword, i in ids.items()}
        if any(score % 1 for score in scores.values()):  # of merges, it is their rank
            raise UserError("tokenizer.bpe_dropout: this vocabulary was not learned by merging, so give 0")

        def spell(character: str) -> list[int]:
            return [bytes_.get(f"<0x{byte:02X}>", UNKNOWN) for byte in character.encode()] if bytes_ else [UNKNOWN]

        return Segmenter(scores=scores, ids=ids, spell=spell)


def _sentencepiece(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.load_from_serialized_proto(model)
        # Damaged subwords that are not UTF-8 load without complaint and fail later, when written out.
        every_id = list(range(processor.get_piece_size()))
        processor.decode(every_id), processor.id_to_piece(every_id)
    except (RuntimeError, ValueError, IndexError) as error:
        raise BadFileError("not a SentencePiece model, or a damaged one") from error
    specials = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
    if specials != (PAD, UNKNOWN, BOS, EOS):
        raise BadFileError(f"its special ids are {specials}, not {(PAD, UNKNOWN, BOS, EOS)}")
    return processor


def _unknown_once(ids: list[int]) -> list[int]:
    """Neighbouring unknown characters are one unknown subword, as in SentencePiece."""
    return [i for before, i in zip([-1, *ids], ids, strict=False) if not before == i == UNKNOWN]


def _words_at(text: str, positions: Sequence[int]) -> list[int]:
    """The number of the word at or after each position, of the last one after its end; nothing for a blank text."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return [min(bisect.bisect_right(ends, position), len(ends) - 1) for position in positions] if ends else []


def _spread_lines(text_files: Sequence[Path], taken: int, total: int) -> Iterator[str]:
    """So many of the lines of all the files, which are `total`, evenly spaced."""
    is_taken = ((number + 1) * taken // total > number * taken // total for number in range(total))
    return compress(chain.from_iterable(read_lines(str(path)) for path in text_files), is_taken)


def _explain(message: str, text_files: Sequence[Path], vocab_size: int) -> str:
    """One line for the user, from SentencePiece's own message."""
    files = ", ".join(str(path) for path in text_files)
    if match := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"tokenizer.vocab_size={vocab_size} is too small for the characters of {files}: "
            f"give at least {match[1]}, or lower tokenizer.character_coverage"
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return f"no text to train a tokenizer on in {files or 'an empty list of files'}"
    return f"cannot train a tokenizer on {files}: {message.strip()}"
