"""SentencePiece models with the pieces in another order: so a Marian folder's joint vocabulary becomes a tokenizer.

A Marian folder has a SentencePiece model for each side and one `vocab.json` over both. Here a tokenizer's piece ids
are the model's own, so each side's model is written anew with all pieces of the vocabulary in one order. How text is
cut depends on the written forms, scores and normaliser alone, which stay.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt.errors import BadFileError, UserError

SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # SentencePiece's types of pieces
_TEXT_TYPES = (_NORMAL, 4, 6)  # normal, defined by the user, a single byte
_LEAST = -1e9


def text_pieces(model: bytes, *, origin: Path) -> list[str]:
    """The pieces of a model that stand for text, in its order. Raises BadFileError."""
    return [piece.piece for piece in _parsed(model, origin).pieces if piece.type in _TEXT_TYPES]


def with_pieces(model: bytes, pieces: Sequence[str], *, origin: Path) -> bytes:
    """The model with the special pieces and then these, whatever order and whichever pieces it had.

    A piece that the model lacks is never produced from text, but has its text when its id comes out of a
    translation. Raises BadFileError.
    """
    proto = _parsed(model, origin)
    known = {piece.piece: (piece.score, piece.type) for piece in proto.pieces if piece.type in _TEXT_TYPES}
    types = dict.fromkeys(SPECIAL_PIECES, _CONTROL) | {"<unk>": _UNKNOWN}
    del proto.pieces[:]
    for written, (score, kind) in [
        *((special, (0.0, types[special])) for special in SPECIAL_PIECES),
        *((piece, known.get(piece, (_LEAST, _UNUSED))) for piece in pieces),
    ]:
        proto.pieces.add(piece=written, score=score, type=kind)
    trainer = proto.trainer_spec
    trainer.pad_piece, trainer.unk_piece, trainer.bos_piece, trainer.eos_piece = SPECIAL_PIECES
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = range(len(SPECIAL_PIECES))
    trainer.vocab_size = len(proto.pieces)
    return bytes(proto.SerializeToString())


def _parsed(model: bytes, origin: Path) -> Any:
    try:
        from google.protobuf.message import DecodeError  # noqa: PLC0415  optional libraries
        from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415
    except ImportError as error:
        raise UserError("to import, install the extra: pip install 'mt-transformer[export]'") from error
    try:
        return sentencepiece_model_pb2.ModelProto.FromString(model)
    except DecodeError as error:
        raise BadFileError(f"{origin}: not a SentencePiece model") from error
