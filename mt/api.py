"""The Python API: from mt.api import Translator."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from mt import build
from mt.config.loading import checked
from mt.config.schema import Decoding
from mt.errors import UserError
from mt.runs.folder import check_run, load_run
from mt.translation.segments import Translation
from mt.translation.translator import Translator as LineTranslator

Folder = str | PathLike[str]


class Translator:
    """The translator that a run delivered: texts in, translations out."""

    def __init__(self, lines: LineTranslator) -> None:
        self._lines = lines

    @classmethod
    def from_run(
        cls,
        folder: Folder,
        *,
        ensemble: Sequence[Folder] = (),
        decoding: Mapping[str, Any] | None = None,
        n_best: int = 1,
        alignments: bool = False,
        device: str = "auto",
    ) -> "Translator":
        """Load a finished run, or several with the same vocabulary that decide together.

        `decoding` changes the run's own search settings, by the names of `conf/decoding`, such as
        `{"beam_size": 8}` or `{"beam_size": 1, "sampling": {"temperature": 0.8, "seed": 1}}`.

        Raises UserError for folders or settings that do not fit, BadFileError for a damaged run.
        """
        if isinstance(ensemble, str | PathLike):
            raise TypeError("ensemble takes a list of folders, not one folder")
        if not isinstance(n_best, int) or isinstance(n_best, bool):
            raise TypeError(f"n_best takes a whole number, not {n_best!r}")
        run_dir = Path(folder)
        for key, each in (("folder", folder), *(("ensemble", other) for other in ensemble)):
            check_run(str(each), key)
        settings = checked(Decoding, asdict(load_run(run_dir).decoding) | dict(decoding or {}))
        if n_best < 1 or (settings.sampling is None and n_best > settings.beam_size):
            raise UserError(f"n_best: a beam of {settings.beam_size} has no {n_best} best; raise beam_size")
        lines = build.translator_of_run(
            run_dir,
            settings,
            device,
            ensemble=[Path(each) for each in ensemble],
            num_hypotheses=n_best,
            alignments=alignments,
        )
        return cls(lines)

    def translate(self, texts: Sequence[str], *, prefixes: Sequence[str] | str | None = None) -> list[Translation]:
        """Return one translation for each text, in order: its text, score, tokens, alignment, and the others of n-best.

        `prefixes` holds for each text, or is for all, the beginning of its translation. Of a text with line breaks
        they count as spaces. Raises UserError for prefixes that do not fit the texts, the vocabulary or the longest
        output.
        """
        if isinstance(texts, str):
            raise TypeError("translate takes a list of texts, not one text")
        lines = list(texts)
        if prefixes is not None and not isinstance(prefixes, str) and len(prefixes) != len(lines):
            counts = f"{len(prefixes)} for {len(lines)} texts"
            raise UserError(f"prefixes: {counts}; give one for each text, or a single one, not in a list, for all")
        return self._lines.translate_all(lines, prefixes=prefixes)

    def pieces(self, translation: Translation) -> list[str]:
        """Return the written form of a translation's tokens."""
        return self._lines.target_tokenizer.subwords(translation.tokens)
