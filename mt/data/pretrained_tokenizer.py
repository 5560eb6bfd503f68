"""The tokenizer of an imported model that SentencePiece does not have, such as GPT-2's byte-level BPE.

`tokenizer.json` is the format of Hugging Face's `tokenizers`, which reads it here; the import numbers its tokens so
that the special ones have this project's ids.
"""

from typing import Any

from mt.errors import BadFileError, UserError

_UNKNOWN = 1  # as in `mt/data/tokenizer.py`, which imports this file


class PretrainedProcessor:
    """What `mt.data.tokenizer.Tokenizer` calls of SentencePiece's processor. Special tokens typed in a text are text.

    Raises BadFileError for a file that is not such a tokenizer, UserError without the library.
    """

    def __init__(self, content: bytes) -> None:
        try:
            import tokenizers  # noqa: PLC0415  an optional library
        except ImportError as error:
            raise UserError("the model's tokenizer needs: in the repository, pip install -e '.[export]'") from error
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # the library raises no narrower class
            raise BadFileError("not a tokenizer of Hugging Face, or a damaged one") from error
        self._tokenizer.encode_special_tokens = True
        if {*self._tokenizer.get_vocab().values()} != {*range(self.get_piece_size())}:
            raise BadFileError(f"its ids are not 0 to {self.get_piece_size() - 1}")

    def get_piece_size(self) -> int:
        """The number of tokens."""
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: list[str], *, num_threads: int) -> list[list[int]]:
        """The ids of each text; the library chooses the threads."""
        del num_threads
        return [each.ids for each in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def decode(self, ids: list[int]) -> str:
        """The text of the ids without the special ones."""
        return str(self._tokenizer.decode(ids))

    def piece_to_id(self, token: str) -> int:
        """The id of a written form, that of the unknown token without one."""
        found = self._tokenizer.token_to_id(token)
        return _UNKNOWN if found is None else int(found)

    def id_to_piece(self, token: int) -> str:
        """The written form of an id. Raises IndexError for one that does not exist."""
        if not 0 <= token < self.get_piece_size():
            raise IndexError(token)
        return str(self._tokenizer.id_to_token(token))
