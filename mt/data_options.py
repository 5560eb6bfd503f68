"""The options of the data, by kind: what `mt.config` is for the rest."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Literal

from mt.option_types import Bounds, Count, File


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which training pairs are left out; validation and test are never filtered."""

    max_tokens: Count  # pieces on either side
    max_length_ratio: Annotated[float, Bounds(1, inf)]  # longer side over shorter side, in pieces
    remove_copies: bool  # source equals target
    remove_duplicates: bool
    remove_held_out: bool  # pairs whose source or target occurs in validation or test


@dataclass(frozen=True, kw_only=True)
class BuiltinData:
    """The English-German corpus that ships with the package."""

    kind: Literal["builtin"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One parallel corpus on disk: two aligned text files, or one file with two columns.

    Text files may be plain, .gz or .xz; `file` is .tsv, .jsonl (also .gz, .xz) or .parquet.
    Keys that are not written are null.
    """

    source: File | None
    target: File | None
    file: File | None
    source_column: str | None
    target_column: str | None


@dataclass(frozen=True, kw_only=True)
class FilesData:
    """The user's own corpora; any number for training."""

    kind: Literal["files"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters
    train: list[Corpus]
    validation: Corpus
    test: Corpus | None


@dataclass(frozen=True, kw_only=True)
class HubData:
    """A Hugging Face dataset: a `translation` feature keyed by language, or two columns if they are named."""

    kind: Literal["hub"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters
    path: str
    subset: str | None
    revision: str | None
    train_split: str
    validation_split: str | None
    test_split: str | None
    source_column: str | None
    target_column: str | None


@dataclass(frozen=True, kw_only=True)
class NoData:
    """The data of a run that was imported: none, only what a training from it would share with others."""

    kind: Literal["none"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters


Data = BuiltinData | FilesData | HubData | NoData
