"""The Python API: from mt.api import Translator; and what it and the commands load a finished run with."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from mt import build
from mt.config.checks import classifies_pairs
from mt.config.loading import checked
from mt.config.schema import Decoding, LabelledData, TaskData, TextData, TrainConfig
from mt.data.lines import read_lines
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, SearchStoppedError, UserError
from mt.model.decoder_only import AnyTransformer
from mt.runs.checkpoint import check_tensor_file, load_model_tensors, tensors_without_values
from mt.runs.delivery import read_model
from mt.runs.folder import (
    CONFIG,
    MODEL,
    check_ensemble,
    held_out_text,
    load_run,
    run_identity,
    source_words,
    tokenizer_paths,
)
from mt.runtime import choose_device
from mt.translation.as_typed import AsTyped, end_in_marks
from mt.translation.known_words import load_known_words
from mt.translation.limits import Limits, check_type
from mt.translation.segments import Translation
from mt.translation.spelling import Spelling
from mt.translation.translator import Translator as LineTranslator

Folder = str | PathLike[str]


class Translator:
    """The translator that a run delivered: texts in, translations out. Any thread may call it; searches take turns."""

    def __init__(
        self, lines: LineTranslator, *, decoding: Decoding, byte_fallback: bool, limits: Limits | None = None
    ) -> None:
        """Take what translates lines, with the search settings that it was made with."""
        self._lines = lines
        self._decoding = decoding
        self._byte_fallback = byte_fallback
        self.limits = limits or Limits()

    @classmethod
    def from_run(
        cls,
        folder: Folder,
        *,
        ensemble: Sequence[Folder] = (),
        decoding: Mapping[str, Any] | None = None,
        n_best: int = 1,
        alignments: bool = False,
        probabilities: bool = False,
        device: str = "auto",
        limits: Limits | None = None,
    ) -> "Translator":
        """Load a finished run, or several with the same vocabulary as an ensemble.

        `decoding` changes the run's own search settings, by the names of `conf/decoding`, such as
        `{"beam_size": 8}` or `{"beam_size": 1, "sampling": {"temperature": 0.8, "seed": 1}}`.

        Raises UserError for folders or settings that do not fit, BadFileError for a damaged run.
        """
        run_dir = Path(folder)
        check_ensemble(str(folder), [str(each) for each in ensemble], key="folder")
        config = load_run(run_dir)
        settings = _search_settings(config.decoding, decoding, n_best, limits or Limits())
        others = [Path(each) for each in ensemble]
        lines = translator_of_run(
            run_dir,
            settings,
            device,
            ensemble=others,
            num_hypotheses=n_best,
            alignments=alignments,
            probabilities=probabilities,
        )
        return cls(lines, decoding=settings, byte_fallback=config.tokenizer.byte_fallback, limits=limits)

    def with_settings(
        self,
        *,
        decoding: Mapping[str, Any] | None = None,
        n_best: int = 1,
        alignments: bool = False,
        probabilities: bool = False,
    ) -> "Translator":
        """The same prepared weights, searched in another way; `decoding` changes the settings of this translator.

        Raises UserError for settings that do not fit, for another precision than that of the weights, and for
        alignments or probabilities where the run was loaded without them.
        """
        settings = _search_settings(self._decoding, decoding, n_best, self.limits)
        if settings.precision != self._decoding.precision:
            raise UserError(f"decoding.precision: the weights are {self._decoding.precision}; load the run again")
        for key in ("as_typed", "spelling"):
            if getattr(settings, key) and not getattr(self._decoding, key):
                raise UserError(f"decoding.{key}: load the run with it; {key}=true comes too late here")
        if alignments and self._lines.align is None:
            raise UserError("alignments: load the run with alignments=True")
        if probabilities and self._lines.token_scores is None:
            raise UserError("probabilities: load the run with probabilities=True")
        lines = replace(
            self._lines,
            search=build.search(settings, byte_fallback=self._byte_fallback, num_hypotheses=n_best),
            batch_tokens=settings.batch_tokens or self._lines.batch_tokens,
            max_source_tokens=settings.max_source_tokens,
            align=self._lines.align if alignments else None,
            token_scores=self._lines.token_scores if probabilities else None,
            as_typed=self._lines.as_typed if settings.as_typed else None,
            spelling=self._lines.spelling if settings.spelling else None,
        )
        return Translator(lines, decoding=settings, byte_fallback=self._byte_fallback, limits=self.limits)

    @property
    def separator(self) -> str:
        """What joins two translated sentences: nothing where the target language is written without spaces."""
        return self._lines.separator

    @property
    def beam_size(self) -> int:
        """That of the search."""
        return self._decoding.beam_size

    def count_subwords(self, texts: Sequence[str]) -> list[int]:
        """The number of subwords of each text."""
        return list(map(len, self._lines.source_tokenizer.encode_many(texts)))

    def check(self, texts: object) -> list[str]:
        """Return the texts as a list. Raises TypeError for what is not text, UserError for more than the limits."""
        found = check_type(texts)
        self.limits.check_texts(found)
        if self.limits.subwords is not None:
            self.limits.check_subwords(sum(self.count_subwords(found)))
        return found

    def translate(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | str | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> list[Translation]:
        """Return one translation for each text, in order: text, score, tokens, the others of n-best and the like.

        `target_prefixes` holds the beginning of each translation, or one for all. Line breaks in a text are spaces.
        The searches ask `stop`, such as whether a deadline has passed, once a step.
        Raises UserError for a prefix that the vocabulary cannot spell or that is longer than an output may be,
        ValueError for another number of prefixes than of texts, SearchStoppedError when `stop` returns True, and as
        `check` does.
        """
        return self._lines.translate_all(self.check(texts), target_prefixes=target_prefixes, stop=stop)

    def translate_stream(self, texts: Iterable[str]) -> Iterator[Translation]:
        """Translate texts as they come, such as the lines of a file, of which few are in memory at a time.

        The first translation comes after the first text; later some thousand texts are read ahead. Limits are those of
        a text. Raises as `check` does, when it comes to that text.
        """
        if isinstance(texts, str | bytes):
            check_type(texts)
        return self._lines.translate(self.check([text])[0] for text in texts)

    def translate_each(
        self, texts: Sequence[str], *, stop: Callable[[], bool] | None = None
    ) -> list[Translation | Exception]:
        """Return the translation of each text or why it failed, such as DivergedError: one bad text fails alone.

        Raises SearchStoppedError when `stop` returns True, and as `check` does.
        """
        return self._translate_each(self.check(texts), stop)

    def _translate_each(self, texts: list[str], stop: Callable[[], bool] | None) -> list[Translation | Exception]:
        try:
            return list(self._lines.translate_all(texts, stop=stop))
        except SearchStoppedError:
            raise
        except Exception as error:  # noqa: BLE001  a fault of one text is not one of the others
            if len(texts) == 1:
                return [error]
            half = len(texts) // 2
            return [*self._translate_each(texts[:half], stop), *self._translate_each(texts[half:], stop)]


def _search_settings(run: Decoding, changes: Mapping[str, Any] | None, n_best: int, limits: Limits) -> Decoding:
    settings = checked(Decoding, asdict(run) | dict(changes or {}))
    if n_best < 1:
        raise UserError(f"n_best={n_best} is less than 1")
    if settings.sampling is None and n_best > settings.beam_size:
        raise UserError(f"n_best={n_best} exceeds decoding.beam_size={settings.beam_size}; give a larger beam_size too")
    limits.check_search(beam_size=settings.beam_size, n_best=n_best)
    return settings


def translator_of_run(
    run_dir: Path,
    decoding: Decoding | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Path] = (),
    num_hypotheses: int = 1,
    alignments: bool = False,
    probabilities: bool = False,
    processes: bool = False,
) -> LineTranslator:
    """The translator that a finished run delivered, with the run's own search settings unless others are given.

    The models of the runs in `ensemble`, which have its vocabulary (`check_ensemble`), decide with it. Raises UserError
    for a folder that is not a run or does not translate, BadFileError for a damaged one.
    """
    config, *_ = [_translating_run(each) for each in (run_dir, *ensemble)]
    models = [trained_model(each, choose_device(device)) for each in (run_dir, *ensemble)]
    decoding, data = decoding or config.decoding, config.data
    known = load_known_words(source_words(run_dir))
    as_typed, spelling = decoding.as_typed, decoding.spelling
    sample = held_out_text(run_dir, "validation", "source")
    ends_in_marks = not sample.exists() or end_in_marks(list(islice(read_lines(str(sample)), 1000)))
    if isinstance(data, TaskData):  # its sequences are not language: they are taken as they are
        as_typed = spelling = False
    return build.translator(
        config,
        decoding,
        models,
        load_tokenizers(config, run_dir),
        num_hypotheses=num_hypotheses,
        alignments=alignments,
        probabilities=probabilities,
        processes=processes,
        as_typed=AsTyped(known, data.source_language, data.target_language, ends_in_marks) if as_typed else None,
        spelling=Spelling(known, data.source_language) if known and spelling else None,
    )


def model_and_translator(run_dir: Path, decoding: Decoding | None = None) -> tuple[AnyTransformer, LineTranslator]:
    """The model that a run delivered, on the CPU, and the translator with it. Raises as `translator_of_run`."""
    config, model = _translating_run(run_dir), trained_model(run_dir, torch.device("cpu"))
    return model, build.translator(config, decoding or config.decoding, [model], load_tokenizers(config, run_dir))


def _translating_run(run_dir: Path) -> TrainConfig:
    """The configuration of a run. Raises UserError for one that does not translate."""
    config = load_run(run_dir)
    if isinstance(config.data, TextData):
        raise UserError(f"{run_dir} is a language model (data=text) and does not translate; use mt-generate")
    if classifies_pairs(config):
        raise UserError(f"{run_dir} is a pair classifier (model.family=encoder) and does not translate")
    if isinstance(config.data, LabelledData):
        raise UserError(
            f"{run_dir} is a text classifier (data=labelled) and does not translate; mt-translate labels lines of "
            "text, and mt-evaluate scores that"
        )
    return config


def trained_model(run_dir: Path, device: torch.device) -> AnyTransformer:
    """The model that a run delivered. Raises BadFileError when it is damaged, or its tokenizers are not its own."""
    config, _ = load_run(run_dir), run_identity(run_dir)
    model = empty_model(config, load_tokenizers(config, run_dir), torch.device("meta"), file=run_dir / MODEL)
    load_model_tensors(model, read_model(run_dir), origin=run_dir / MODEL)
    return model.to(device)


def empty_model(
    config: TrainConfig, tokenizers: build.Tokenizers, device: torch.device, *, file: Path | None = None
) -> AnyTransformer:
    """A new model with the vocabulary sizes of these tokenizers; on the device "meta" it has shapes without values.

    With the `file` that it will be loaded from, that is compared first, without memory: a damaged configuration may
    ask for any size. Raises BadFileError.
    """
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    source_vocab_size = None if config.tokenizer.shared_vocab else source
    new_model = partial(build.model, config, vocab_size=target, source_vocab_size=source_vocab_size)
    sizes = config.model
    num_layers = (sizes.num_encoder_layers or sizes.num_layers) + (sizes.num_decoder_layers or sizes.num_layers)
    if file is not None and len(tensors_without_values(file)) < num_layers:
        raise BadFileError(f"{file}: has fewer tensors than {CONFIG} has layers: {num_layers}")
    if file is not None or device.type == "meta":
        with torch.device("meta"):
            without_values = new_model()
        if file is not None:
            check_tensor_file(file, dict(without_values.named_parameters()))
        if device.type == "meta":
            return without_values
    return new_model().to(device)


def load_tokenizers(config: TrainConfig, run_dir: Path) -> build.Tokenizers:
    """The tokenizers of source and target in a run folder. Raises BadFileError."""
    source, target = tokenizer_paths(run_dir, shared_vocab=config.tokenizer.shared_vocab)
    loaded = Tokenizer.load(target)
    return (loaded if source == target else Tokenizer.load(source)), loaded
