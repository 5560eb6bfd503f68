"""The options of the commands that measure: recipes against each other, and this system against others."""

from dataclasses import dataclass
from typing import Literal

from mt.config.schema import Count, CountOrZero, Decoding, Device, TrainConfig

System = Literal["ours", "torch", "torch_compiled", "hf_marian", "hf_marian_compiled"]
DecodingSystem = Literal[
    "ours_fp32", "ours_bf16", "ours_int8", "huggingface", "ctranslate2_float32", "ctranslate2_int8"
]


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """A row of the table that a sweep makes."""

    name: str  # what is before its first _ is its block, of which there is a plot; the first row is the baseline
    options: str  # of mt-train, as they are typed
    like: str | None  # a recipe of conf/experiment, whose expected figures are shown too


@dataclass(frozen=True, kw_only=True)
class SweepConfig(TrainConfig):
    """`mt-sweep`: trainings one after the other, each in `run_dir/ROW-SEED`, and a table of their results."""

    table: list[SweepRow]  # each with a name and its options
    shared: str  # options of all rows; those of the command line replace them, those of a row replace both
    rows: list[str] | None  # the names of those to train; null: all
    seeds: list[CountOrZero]


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(TrainConfig):
    """`mt-benchmark`: the step of a training, ours and that of other systems, on the same batches."""

    systems: list[System]
    precisions: list[Literal["fp32", "bf16"]]
    rounds: Count  # measured ones, after one to warm up
    steps_per_round: Count
    systems_python: str  # of an environment with requirements-systems.txt
    output: str  # a folder for training-NAME-DEVICE.json and .md


@dataclass(frozen=True, kw_only=True)
class BenchmarkDecodeConfig:
    """`mt-benchmark-decode`: the decoding of a run, ours and that of other systems, with the same weights."""

    run_dir: str  # null is the newest finished run under runs/
    device: Device
    systems: list[DecodingSystem]
    sentences: Count  # the number of sentences of the test split
    batches: list[Count]  # sentences at a time
    single_sentences: Count  # the number of them where they are translated one by one
    beam_sizes: list[Count]
    rounds: Count  # measured ones, after one to warm up
    threads: Count  # of each system
    systems_python: str  # of an environment with requirements-systems.txt
    output: str  # a folder for decoding-NAME.json and .md
    decoding: Decoding
