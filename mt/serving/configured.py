"""The application that a configuration describes, with its runs loaded."""

from dataclasses import asdict
from pathlib import Path

import torch
from starlette.datastructures import State

from mt.api import Translator
from mt.config.schema import ServeConfig
from mt.data.lines import read_lines
from mt.fast.memory import keep_freed_memory
from mt.reporting import report
from mt.runs.folder import load_run, source_words
from mt.runtime import choose_device
from mt.serving.access import ApiKeys, RateLimit
from mt.serving.application import Observed, application
from mt.serving.documents import Documents
from mt.serving.metrics import Metrics
from mt.serving.requests import Gate
from mt.serving.service import Pair, Service
from mt.translation.known_words import load_known_words
from mt.translation.limits import Limits

_CPU_BATCH_TOKENS = 1024
_GPU_BATCH_TOKENS = 2048


def application_of(config: ServeConfig) -> Observed:
    """The application. Raises UserError and BadFileError."""
    keep_freed_memory(large=False)
    gate = Gate(_keys_of(config), RateLimit(config.requests_per_minute), timeout_seconds=config.timeout_seconds)
    limits = Limits(
        texts=config.max_texts,
        characters=config.max_characters,
        subwords=config.queue_tokens,
        n_best=1 + config.max_alternatives,
    )
    metrics = Metrics()
    on_cpu = choose_device(config.device).type == "cpu"
    threads = torch.get_num_threads() if on_cpu else 1
    torch.set_num_threads(1)  # in each of those
    service = Service(
        pairs_of(config),
        limits=limits,
        batch_tokens=config.batch_tokens or (_CPU_BATCH_TOKENS if on_cpu else _GPU_BATCH_TOKENS),
        queue_tokens=config.queue_tokens,
        threads=threads,
        report=metrics.note_batch,
    )
    return application(
        service,
        gate,
        metrics,
        most_characters=config.max_characters,
        documents=Documents(service, most_bytes=config.max_document_bytes, seconds=config.document_seconds),
        cors_origins=config.cors_origins,
        log=report,
    )


def reload(config: ServeConfig, state: State) -> None:
    """Exchange the models and the keys of an application for those that the files have now.

    Raises UserError, BadFileError, and FailedError for a model that cannot translate; nothing is exchanged then.
    """
    keys = _keys_of(config)
    state.service.exchange(pairs_of(config))
    state.gate.keys = keys


def _keys_of(config: ServeConfig) -> ApiKeys | None:
    return None if config.api_keys is None else ApiKeys(read_lines(config.api_keys), origin=config.api_keys)


def pairs_of(config: ServeConfig) -> list[Pair]:
    """All runs, loaded. Raises UserError and BadFileError."""
    return [pair_of(config, run_dir) for run_dir in (config.run_dir, *config.runs)]


def pair_of(config: ServeConfig, run_dir: str) -> Pair:
    """A run, loaded."""
    data, decoding = load_run(run_dir).data, asdict(config.decoding)
    translator = Translator.from_run(
        run_dir, decoding=decoding, alignments=True, probabilities=True, device=config.device
    )
    known_words = load_known_words(source_words(Path(run_dir)))
    return Pair(data.source_language, data.target_language, translator, known_words)
