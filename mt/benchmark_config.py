"""The options of the benchmarks, beside those of the jobs in `mt/config.py`."""

from dataclasses import dataclass
from typing import Literal

from mt.config import Decoding, TrainConfig
from mt.option_types import Contestant, Count, DecodingContestant


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(TrainConfig):
    """`mt-benchmark`: the step of a training against other systems' on the same batches."""

    contestants: list[Contestant]
    precisions: list[Literal["fp32", "bf16"]]
    rounds: Count
    steps_per_round: Count
    profile: bool  # one more step of ours, with a table of where its time goes
    peers_python: str  # of an environment with requirements-peers.txt
    output: str  # a folder


@dataclass(frozen=True, kw_only=True)
class BenchmarkDecodeConfig:
    """`mt-benchmark-decode`: a run's translations against other systems' with the same weights."""

    run_dir: str  # null in `conf/` stands for the newest finished run under runs/
    huggingface: str | None  # a folder of mt-export; null is export/huggingface in the run folder
    ctranslate2: str | None  # a folder of mt-export, in float32; null is export/ctranslate2 in the run folder
    contestants: list[DecodingContestant]
    sentences: Count  # of the test split
    batches: list[Count]  # sentences at a time
    single_sentences: Count  # of the test split, where they come one by one
    beam_sizes: list[Count]
    rounds: Count
    threads: Count  # of each contestant
    peers_python: str  # of an environment with requirements-peers.txt
    output: str  # a folder
    decoding: Decoding
