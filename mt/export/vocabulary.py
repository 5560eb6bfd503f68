"""The vocabulary of another engine: its token ids, and SentencePiece models in their order.

Here the special subwords are always the first four. A model that was trained here leaves with the same ids. A Marian
folder may number its tokens otherwise, in OPUS-MT's layout `</s>` 0, `<unk>` 1 and `<pad>` last, and start the
decoder from `<pad>`. A run that was imported from one notes that order in `identity.json`, so that it can be
exported again as it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer
from mt.errors import BadFileError, UserError
from mt.runs.atomic import LARGEST_TOKENIZER_BYTES, read_file
from mt.runs.folder import IDENTITY, read_identity

SPECIAL_SUBWORDS = ("<pad>", "<unk>", "<s>", "</s>")  # by our ids
_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # SentencePiece's types of subwords
_TEXT_TYPES = (_NORMAL, 4, 6)  # normal, defined by the user, a single byte
_LOWEST_SCORE = -1e9


@dataclass(frozen=True)
class SpecialIds:
    """The special tokens of a Marian folder by their ids, `start` being the decoder's first input."""

    pad: int
    unknown: int
    start: int
    eos: int


OWN = SpecialIds(pad=PAD, unknown=UNKNOWN, start=BOS, eos=EOS)


@dataclass(frozen=True)
class Vocabularies:
    """The token ids of the other engine: special ones, and the sizes of source and target."""

    special: SpecialIds
    source_size: int
    target_size: int


def vocabularies_of_run(run_dir: Path, tokenizers: tuple[Tokenizer, Tokenizer]) -> Vocabularies:
    """The token ids with which a run is exported: its own, or those it was imported with. Raises BadFileError."""
    note = read_identity(run_dir).get("imported")
    if note is None:
        return Vocabularies(OWN, *(tokenizer.vocab_size for tokenizer in tokenizers))
    try:
        return Vocabularies(SpecialIds(**note["special"]), int(note["tokens"]), int(note["tokens"]))
    except (ValueError, TypeError, KeyError) as error:
        raise BadFileError(f"{run_dir / IDENTITY}: damaged ({error}); import the model again") from error


def our_ids(special: SpecialIds, size: int) -> list[int]:
    """For each token id of a vocabulary of that size, the id of our subword.

    One id that is both pad and start is our BOS, because the decoder reads it; nothing ever reads it as pad.
    """
    ours = {special.pad: PAD, special.unknown: UNKNOWN, special.eos: EOS}
    ours[special.start] = BOS
    others = iter(range(len(SPECIAL_SUBWORDS), len(SPECIAL_SUBWORDS) + size))
    return [ours[token] if token in ours else next(others) for token in range(size)]


def marian_ids(special: SpecialIds, size: int, *, vocab_size: int) -> list[int]:
    """For each of our `vocab_size` subwords the token id; those beyond the other vocabulary are unknown there."""
    first = [special.pad, special.unknown, special.start, special.eos]
    rest = [token for token in range(size) if token not in first]
    missing = vocab_size - len(SPECIAL_SUBWORDS) - len(rest)
    return [*first, *rest, *[special.unknown] * missing]


def tokenizer_models(folder: Path, tokens: Sequence[str], special: SpecialIds) -> tuple[bytes, bytes]:
    """The SentencePiece models of a Marian folder, source and target, with the ids of one joint vocabulary.

    A Marian folder has a model for each side and one `vocab.json` over both, given as `tokens`. Here a tokenizer's
    ids are the model's own, so each model is rewritten with all subwords of the vocabulary in one order, and after them
    those that only the models have. Segmentation depends on the written forms, scores and normaliser alone, which
    stay. Raises UserError, BadFileError.
    """
    models = [_parsed(path) for path in (folder / "source.spm", folder / "target.spm")]
    # A token that has the name of one of our special subwords, but is not one, never comes from text; it keeps its id.
    order = [
        f"{token} ({number})" if token in SPECIAL_SUBWORDS else token
        for number, token in enumerate(tokens)
        if number not in vars(special).values()
    ]
    known = {*tokens, *SPECIAL_SUBWORDS}
    texts = (each.piece for model in models for each in model.pieces if each.type in _TEXT_TYPES)
    order += dict.fromkeys(text for text in texts if text not in known)
    source, target = (_with_subwords(model, order) for model in models)
    return source, target


def _with_subwords(model: Any, subwords: Sequence[str]) -> bytes:
    """The model with exactly the special subwords and then these, in this order.

    A subword that the model lacks is never produced from text, but has its text when its id comes out of a translation.
    """
    known = {each.piece: (each.score, each.type) for each in model.pieces if each.type in _TEXT_TYPES}
    del model.pieces[:]
    for special in SPECIAL_SUBWORDS:
        model.pieces.add(piece=special, score=0.0, type=_UNKNOWN if special == "<unk>" else _CONTROL)
    for subword in subwords:
        score, kind = known.get(subword, (_LOWEST_SCORE, _UNUSED))
        model.pieces.add(piece=subword, score=score, type=kind)
    trainer = model.trainer_spec
    trainer.pad_piece, trainer.unk_piece, trainer.bos_piece, trainer.eos_piece = SPECIAL_SUBWORDS
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = range(len(SPECIAL_SUBWORDS))
    trainer.vocab_size = len(model.pieces)
    return bytes(model.SerializeToString())


def _parsed(path: Path) -> Any:
    content = read_file(path, LARGEST_TOKENIZER_BYTES)
    try:
        from google.protobuf.message import DecodeError  # noqa: PLC0415  optional libraries
        from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415
    except ImportError as error:
        raise UserError("to import, install the extra: in the repository, pip install -e '.[export]'") from error
    try:
        return sentencepiece_model_pb2.ModelProto.FromString(content)
    except DecodeError as error:
        raise BadFileError(f"{path}: not a SentencePiece model") from error
