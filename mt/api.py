"""The Python API: from mt.api import Translator; and what it and the commands load a finished run with."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from mt import build
from mt.config.loading import checked
from mt.config.schema import Decoding, TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, UserError
from mt.model.transformer import Transformer
from mt.runs.checkpoint import check_tensor_file, load_model_tensors, tensors_without_values
from mt.runs.delivery import read_model
from mt.runs.folder import CONFIG, MODEL, check_ensemble, load_run, run_identity, tokenizer_paths
from mt.runtime import choose_device
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
        """Load a finished run, or several with the same vocabulary as an ensemble.

        `decoding` changes the run's own search settings, by the names of `conf/decoding`, such as
        `{"beam_size": 8}` or `{"beam_size": 1, "sampling": {"temperature": 0.8, "seed": 1}}`.

        Raises UserError for folders or settings that do not fit, BadFileError for a damaged run.
        """
        run_dir = Path(folder)
        check_ensemble(str(folder), [str(each) for each in ensemble], key="folder")
        settings = checked(Decoding, asdict(load_run(run_dir).decoding) | dict(decoding or {}))
        if n_best < 1:
            raise UserError(f"n_best={n_best} is less than 1")
        if settings.sampling is None and n_best > settings.beam_size:
            raise UserError(f"n_best={n_best} exceeds decoding.beam_size={settings.beam_size}")
        others = [Path(each) for each in ensemble]
        return cls(
            translator_of_run(run_dir, settings, device, ensemble=others, num_hypotheses=n_best, alignments=alignments)
        )

    def translate(
        self, texts: Sequence[str], *, target_prefixes: Sequence[str] | str | None = None
    ) -> list[Translation]:
        """Return one translation for each text, in order: its text, score, tokens, alignment, and the others of n-best.

        `target_prefixes` holds the beginning of each translation, or one for all. Line breaks in a text are spaces.
        Raises UserError for a prefix that the vocabulary cannot spell or that is longer than an output may be,
        ValueError for another number of prefixes than of texts.
        """
        if isinstance(texts, str):
            raise TypeError("translate takes a list of texts, not one text")
        return self._lines.translate_all(list(texts), target_prefixes=target_prefixes)


def translator_of_run(
    run_dir: Path,
    decoding: Decoding | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Path] = (),
    num_hypotheses: int = 1,
    alignments: bool = False,
    processes: bool = False,
) -> LineTranslator:
    """The translator that a finished run delivered, with the run's own search settings unless others are given.

    The models of the runs in `ensemble`, which have its vocabulary (`check_ensemble`), decide with it. Raises UserError
    for a folder that is not a run, BadFileError for a damaged one.
    """
    models = [trained_model(each, choose_device(device)) for each in (run_dir, *ensemble)]
    config = load_run(run_dir)
    return build.translator(
        config,
        decoding or config.decoding,
        models,
        load_tokenizers(config, run_dir),
        num_hypotheses=num_hypotheses,
        alignments=alignments,
        processes=processes,
    )


def model_and_translator(run_dir: Path, decoding: Decoding | None = None) -> tuple[Transformer, LineTranslator]:
    """The model that a run delivered, on the CPU, and the translator with it. Raises as `translator_of_run`."""
    config, model = load_run(run_dir), trained_model(run_dir, torch.device("cpu"))
    return model, build.translator(config, decoding or config.decoding, [model], load_tokenizers(config, run_dir))


def trained_model(run_dir: Path, device: torch.device) -> Transformer:
    """The model that a run delivered. Raises BadFileError when it is damaged, or its tokenizers are not its own."""
    config, _ = load_run(run_dir), run_identity(run_dir)
    model = empty_model(config, load_tokenizers(config, run_dir), torch.device("meta"), file=run_dir / MODEL)
    load_model_tensors(model, read_model(run_dir), origin=run_dir / MODEL)
    return model.to(device)


def empty_model(
    config: TrainConfig, tokenizers: build.Tokenizers, device: torch.device, *, file: Path | None = None
) -> Transformer:
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
