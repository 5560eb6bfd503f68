"""Wrong configurations are refused before anything runs: exit 2, one line, the key and the option that was meant."""

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from composed import FILES, Captured

from mt.commands.entry_point import run
from mt.config.commands import COMMANDS
from mt.config.loading import known_keys
from mt.config.names import names_elsewhere

ROOT = Path(__file__).resolve().parents[2]

# What is typed after mt-train, and what the message must name.
LABELLED = ["data.train=a.tsv", "data.validation=a.tsv"]
WRONG = [
    # unknown keys, each with the option that was meant
    (["training.max_step=5"], ["unknown option training.max_step; did you mean training.max_steps?"]),
    (["trainig.max_steps=5"], ["unknown option trainig.max_steps; did you mean training.max_steps?"]),
    (["max_steps=5"], ["unknown option max_steps; did you mean training.max_steps?"]),
    (["+training.max_step=5"], ["unknown option training.max_step;", "training.max_steps"]),
    (["++training.max_step=5"], ["unknown option training.max_step;", "training.max_steps"]),
    (["+model.heads=2"], ["unknown option model.heads; did you mean model.num_heads?"]),
    (["++sed=1"], ["unknown option sed; did you mean seed?"]),
    (["sed=1"], ["unknown option sed; did you mean seed?"]),
    (["rundir=x"], ["unknown option rundir; did you mean run_dir?"]),
    (["dat=toy"], ["unknown option dat; did you mean data?"]),
    (["modell=small"], ["unknown option modell; did you mean model?"]),
    (["experimnt=paper_base"], ["unknown option experimnt; did you mean experiment?"]),
    (["decoding.beamsize=4"], ["unknown option decoding.beamsize; did you mean decoding.beam_size?"]),
    (["data.filters.max_token=4"], ["did you mean data.filters.max_tokens?"]),
    (["~training.max_step"], ["unknown option training.max_step;", "training.max_steps"]),
    (["data.train=[{source: a, target: b}]"], ["data.train needs another choice first: data=labelled or data=files"]),
    (["data.text=a.en"], ["data.text needs another choice first: data=text"]),
    (["run_dir=."], ["run_dir: . is not a run folder and holds README.md; give a new folder"]),
    (["+data.train=[{source: a, target: b}]"], ["unknown option data.train;"]),
    (["+data.subset=x"], ["unknown option data.subset;"]),
    # flags that do not exist
    (["--epochs", "3"], ["unknown flag --epochs; options are written key=value; did you mean training.max_steps=…?"]),
    (["--lr=0.1"], ["unknown flag --lr; options are written key=value; did you mean training.learning_rate=…?"]),
    (["--batch-size", "32"], ["unknown flag --batch-size;", "did you mean training.batch_tokens=…?"]),
    (["--seed", "3"], ["unknown flag --seed;", "did you mean seed=…?"]),
    (["--colour"], ["unknown flag --colour; options are written key=value\n"]),
    (["--experimental-rerun", "x"], ["unknown flag --experimental-rerun;"]),
    # choices that do not exist
    (["model=bas"], ["model=bas does not exist; did you mean base?"]),
    (["data=wmt"], ["data=wmt does not exist; did you mean wmt14_en_de?"]),
    (["data=multi30k"], ["data=multi30k does not exist; did you mean multi30k_en_de?"]),
    (["data=iwslt"], ["data=iwslt does not exist; choose one of files, hub, labelled, multi30k_en_de,"]),
    (["experiment=paper"], ["experiment=paper does not exist; did you mean paper_base?"]),
    (["experiment=table3/x"], ["experiment=table3/x does not exist; choose one of auto,"]),
    (["decoding=beem"], ["decoding=beem does not exist; did you mean beam?"]),
    (["+model=base"], ["model"]),
    (["data=null"], ["data: expected the name of a choice"]),
    (["data=text", "data.text=~nobody_of_this_name/a"], ["data.text:", "home folder"]),
    # not an override
    (["seed"], ["seed: options are written key=value"]),
    (
        ["data=files", "data.train=[{source: über.en}]"],
        ["such letters need double quotes, as in"],
    ),
    (["seed:1"], ["seed:1"]),
    (["=1"], ["=1"]),
    (["training.max_steps=(1"], ["training.max_steps=(1"]),
    (["data.train=[{source: a"], ["data.train"]),
    (["seed=1,2"], ["seed:", "-m"]),
    # wrong types
    (["seed=one"], ["seed:", "whole number", "'one'"]),
    (["seed="], ["seed:", "whole number"]),
    (["seed=1.5"], ["seed:", "whole number"]),
    (["seed=null"], ["seed:", "whole number"]),
    (["seed=true"], ["seed:", "whole number"]),
    (["seed=[1]"], ["seed:", "whole number"]),
    (["training.fsdp=maybe"], ["training.fsdp:", "true or false"]),
    (["training.fsdp=1"], ["training.fsdp:", "true or false"]),
    (["model.dropout=high"], ["model.dropout:", "a number"]),
    (["model.dropout=nan"], ["model.dropout:"]),
    (["training.max_minutes=inf"], ["training.max_minutes:"]),
    (["budget=30"], ["budget: expected a time with its unit, one of s, m, h and d, such as 90s", "got '30'"]),
    (["budget=0m"], ["budget: expected a time with its unit"]),
    (["budget=1h30m"], ["budget: expected a time with its unit"]),
    (["budget=2h", "training.max_minutes=5"], ["training.max_minutes: budget already limits the time"]),
    (["device=gpu"], ["device:", "auto, cpu, cuda, mps"]),
    (["training.precision=fp16"], ["training.precision:", "auto, bf16, fp32"]),
    (["decoding.precision=fp16"], ["decoding.precision: expected one of auto, fp32, bf16, int8; got", "fp16"]),
    (["decoding.length_penalty_form=hf"], ["decoding.length_penalty_form:", "gnmt, power"]),
    (["data.filters=none"], ["data.filters"]),
    (["run_dir=[a,b]", "name={a: 1}", "seed=x"], ["seed:"]),
    (["name=${nme}"], ["nme"]),
    (["name=../../elsewhere"], ["name: expected the name of a folder under runs/; got '../../elsewhere'"]),
    (["name=''"], ["name: expected the name of a folder"]),
    (["name=.."], ["name: expected the name of a folder"]),
    (["name=/elsewhere"], ["name: expected the name of a folder"]),
    (["name=news/en-de"], ["name: expected the name of a folder under runs/; got 'news/en-de'"]),
    (["name='a\nb'"], ["name: expected the name of a folder under runs/; got 'a\\nb'"]),
    (["~training.max_steps"], ["training.max_steps: is missing"]),
    # out of bounds
    (["seed=-1"], ["seed:", "at least 0"]),
    (["model.num_layers=0"], ["model.num_layers:", "at least 1"]),
    (["model.d_model=-8"], ["model.d_model:", "at least 1"]),
    (["model.dropout=1.0"], ["model.dropout:", "below 1"]),
    (["model.dropout=-0.1"], ["model.dropout:", "at least 0"]),
    (["training.batch_tokens=0"], ["training.batch_tokens:", "at least 1"]),
    (["training.adam_beta2=1"], ["training.adam_beta2:", "below 1"]),
    (["training.learning_rate_factor=0"], ["training.learning_rate_factor:", "above 0"]),
    (["training.max_steps=99999999999999999999"], ["training.max_steps:"]),
    (["decoding.beam_size=0"], ["decoding.beam_size:", "at least 1"]),
    (["decoding.length_penalty=-1"], ["decoding.length_penalty:", "at least 0"]),
    (["decoding.length_penalty=1e18"], ["decoding.length_penalty:", "at most 10"]),
    (["tokenizer.character_coverage=0"], ["tokenizer.character_coverage:", "at least 0.98"]),
    (["model.num_layers=1000000000"], ["model.num_layers:", "at most 1000"]),
    (["training.batch_tokens=9000000000000000000"], ["training.batch_tokens:", "at most"]),
    (["training.adam_epsilon=1e-300"], ["training.adam_epsilon:", "at least 1e-30"]),
    # combinations that cannot work
    (["model.num_heads=3"], ["model.num_heads:", "3", "128"]),
    (["model.d_model=129", "model.num_heads=3"], ["model.d_model:", "even"]),
    (["model.num_heads=3", "model.d_k=8"], ["model.num_heads:", "3", "128"]),
    (["model.positions=rope"], ["model.positions:", "sinusoidal, learned, relative, rotary, alibi, none"]),
    (["model.positions=rotary", "model.d_k=15"], ["model.d_k:", "even", "rotary", "15"]),
    (["model.positions=rotary", "model.score=general"], ["model.score:", "rotary", "scaled_dot", "general"]),
    (["model.positions=relative", "model.score=additive"], ["model.score:", "relative", "scaled_dot", "additive"]),
    (["model.positions=learned", "model.max_positions=512"], ["decoding.max_source_tokens:", "1075", "512"]),
    (
        ["model.positions=learned", "model.max_positions=1200", "decoding.min_output_tokens=1500"],
        ["decoding.max_source_tokens:", "1501", "1200"],
    ),
    (
        ["model.positions=learned", "model.max_positions=100", "decoding.max_source_tokens=40"],
        ["data.filters.max_tokens:", "256", "model.max_positions = 100"],
    ),
    (["model.family=decoder", "model.num_encoder_layers=2"], ["model.num_encoder_layers:", "no encoder"]),
    (["model.family=encoder", "training.packing=false", "model.num_decoder_layers=2"], ["no decoder"]),
    (["model.family=encoder", "training.fsdp=true"], ["training.fsdp:", "model.family=encoder_decoder"]),
    (["model.family=encoder"], ["training.packing:", "model.family=encoder", "false", "true"]),
    (
        ["model=bert", "training.packing=false", "training.micro_batch_tokens=514"],
        ["data.filters.max_tokens:", "256", "515", "training.micro_batch_tokens = 514"],
    ),
    (
        ["model=bert", "training.packing=false", "model.max_positions=500"],
        ["data.filters.max_tokens:", "515", "model.max_positions = 500"],
    ),
    (["data.filters.min_pair_score=0.5"], ["data.filters.pair_scorer:", "both"]),
    (["model.family=decoder", "training.fsdp=true"], ["training.fsdp:", "model.family=encoder_decoder"]),
    (["model.family=decoder", "model.positions=learned"], ["decoding.max_source_tokens:", "2100", "2048"]),
    (
        ["model.family=decoder", "model.positions=learned", "model.max_positions=500", "decoding.max_source_tokens=40"],
        ["data.filters.max_tokens:", "a pair", "256", "model.max_positions = 500"],
    ),
    (["data=text", "data.text=a.en", "experiment=auto", "budget=1h"], ["experiment=auto is for translation"]),
    (["data=text"], ["data=text also needs text", "data.text=book.txt"]),
    (["data=text", "data.text=a.en", "model=small"], ["model.family:", "decoder", "encoder", "masked"]),
    (
        ["data=text", "data.text=a.en", "model=bert", "data.block_tokens=2047"],
        ["data.block_tokens:", "a block of 2047 with its ends", "training.micro_batch_tokens = 2048"],
    ),
    (["data=text", "data.text=a.en", "data.block_tokens=3000"], ["data.block_tokens:", "3000", "2048"]),
    (
        ["data=text", "data.text=a.en", "model.positions=learned", "model.max_positions=100"],
        ["data.block_tokens:", "256", "model.max_positions = 100"],
    ),
    (["data=text", "data.text=a.en", "training.packing=true"], ["training.packing:", "false"]),
    (["data=text", "data.text=a.en", "tokenizer.bpe_dropout=0.1"], ["tokenizer.bpe_dropout:", "0.0"]),
    (["data=text", "data.text=a.en", "data.augmentation.typos=0.1"], ["data.augmentation.typos:", "0.0"]),
    (["data=text", "data.text=missing.txt"], ["data.text:", "missing.txt", "does not exist"]),
    (["data=labelled"], ["also needs train, validation, for example data.train=train.tsv data.validation=dev.tsv"]),
    (["data=labelled", "data.train=a.en", "data.validation=b.tsv"], ["data.train: expected .tsv or .jsonl", "a.en"]),
    (["data=labelled", "data.train=a.tsv", "data.validation=no.tsv"], ["data.validation:", "no.tsv does not exist"]),
    (["data=labelled", *LABELLED, "data.labels=[a,a]"], ["data.labels: expected two or more, each once; got a, a"]),
    (["data=labelled", *LABELLED, "model=small"], ["model.family: data=labelled trains a classifier"]),
    (["data=labelled", *LABELLED, "data.filters.max_tokens=2047"], ["data.filters.max_tokens: a text of 2047", "2049"]),
    (["data=labelled", *LABELLED, "experiment=auto", "budget=1h"], ["experiment=auto", "experiment=text_classifier"]),
    (["tokenizer.model_type=char", "tokenizer.bpe_dropout=0.1"], ["tokenizer.bpe_dropout:", "characters"]),
    (["training.micro_batch_tokens=5000", "training.batch_tokens=4000"], ["training.micro_batch_tokens:", "4000"]),
    (["training.batch_tokens=100"], ["data.filters.max_tokens:", "100"]),
    (["training.micro_batch_tokens=large"], ["training.micro_batch_tokens:", "whole number", "auto"]),
    (["training.packing=never"], ["training.packing:", "true or false", "auto"]),
    (["training.keep_checkpoints=1"], ["training.keep_checkpoints:", "training.average_checkpoints"]),
    (["training.optimizer=muon", "training.fsdp=true"], ["training.optimizer=muon", "training.fsdp=false"]),
    (["training.consistency=r_drop"], ["training.consistency:", "none, rdrop, simcut"]),
    (["training.consistency=rdrop", "model.dropout=0"], ["training.consistency=rdrop", "model.dropout above 0"]),
    (["training.consistency_weight=0"], ["training.consistency_weight:", "above 0"]),
    (["tokenizer.vocab_size=200"], ["tokenizer.vocab_size:", "byte_fallback"]),
    (["data=hub", "data.path=x", "data.source_language=en", "data.target_language=en"], ["data.target_language:"]),
    (["data=multi30k_en_de", "data.target_column=null"], ["data.source_column"]),
    # data that is not given or not there
    (
        ["data=files"],
        [
            "data=files also needs source_language, target_language, train, for example ",
            "data.source_language=en data.target_language=de 'data.train=[{source: a.en, target: a.de}]'\n",
        ],
    ),
    (["data=files", "data.train=[{file: a.tsv}]"], ["also needs source_language, target_language, for example"]),
    (["data=hub"], ["data=hub also needs source_language, target_language, path, for example data.source"]),
    (["decoding.beam_size=???"], ["please give beam_size, for example decoding.beam_size=…"]),
    (
        ["data=hub", "data.path=./gone", "data.source_language=en", "data.target_language=de"],
        ["data.path: ./gone does not exist"],
    ),
    (
        ["FILES", "data.tests=[{name: test, source: a.en, target: a.de}]"],
        ["data.tests[0].name: expected a name of its own, such as news2014; got test"],
    ),
    (["FILES", "data.tests=[{name: ../x, source: a.en, target: a.de}]"], ["data.tests[0].name:", "../x"]),
    (["FILES", "data.tests=[{source: a.en, target: a.de}]"], ["data.tests[0].name: is missing"]),
    (["FILES", "data.train=[]"], ["data.train:", "at least one"]),
    (["FILES", "data.train=a.en"], ["data.train:", "list"]),
    (["FILES", "data.train=[{source: missing.en, target: missing.de}]"], ["data.train[0].source:", "missing.en"]),
    (
        ["FILES", "data.train=[{source: a.en, target: a.de, colour: red}]"],
        ["unknown option data.train[0].colour;", "data.train[0].so"],
    ),
    (
        ["FILES", "data.train=[{sorce: a.en, target: a.de}]"],
        ["did you mean data.train[0].source?"],
    ),
    (["FILES", "data.train=[{source: a.en}]"], ["data.train[0]:", "target: FILE"]),
    (["FILES", "data.train=[{source: a.en, target: a.en}]"], ["data.train[0].target:", "same file"]),
    (["FILES", "data.train=[{source: a.en, file: a.tsv}]"], ["data.train[0]:", "not both"]),
    (["FILES", "data.train=[{file: a.en}]"], ["data.train[0].file:", ".tsv"]),
    (["FILES", "data.train=[{file: a.parquet.gz}]"], ["data.train[0].file:", ".parquet"]),
    (["FILES", "data.train=[{file: a.tsv.bz2}]"], ["data.train[0].file: ", "a.tsv.bz2 does not exist"]),
    (["FILES", "data.train=[{file: a.tsv, source_column: 0}]"], ["data.train[0].source_column:"]),
    (["FILES", "data.train=[{source: a.en, target: .}]"], ["data.train[0].target:", "folder"]),
    (["FILES", "data.test={source: a.en, target: gone.de}"], ["data.test.target:", "gone.de"]),
    (["FILES", "data.validation=null", "data.filters.remove_held_out=false"], ["data.filters.remove_held_out:"]),
    # the run folder
    (["run_dir=a.en"], ["run_dir: expected a folder", "a.en"]),
    (["run_dir="], ["run_dir:", "empty"]),
    (["run_dir=" + "x" * 300], ["xxx", "name too long"]),
]


def expanded(arguments: list[str]) -> list[str]:
    """FILES is a valid choice of files; the later arguments replace some of it."""
    if arguments[0] != "FILES":
        return arguments
    given = {argument.split("=")[0] for argument in arguments}
    return [argument for argument in FILES if argument.split("=")[0] not in given] + arguments[1:]


@pytest.mark.reliability(20)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=lambda value: " ".join(value)[:60])
def test_refuses(arguments: list[str], named: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    job = Captured()
    before = sorted(Path().rglob("*"))
    assert run("train", job, expanded(arguments)) == 2
    printed, message = capfd.readouterr()
    assert not job
    assert printed == ""
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    for part in named:
        assert part in message
    assert sorted(Path().rglob("*")) == before


CODE = [
    "+hydra.callbacks.x._target_=os.system",
    "+hydra.callbacks={x: {_target_: os.system}}",
    "+hydra={callbacks: {x: {_target_: os.system}}}",
    "++hydra.sweeper._target_=os.system",
    "hydra.launcher._target_=os.system",
    "+hydra.launcher.a.b._target_=os.system",
    "hydra.launcher={_target_: os.system}",
    "+hydra.launcher.additional_parameters={_target_: os.system}",
    "hydra.launcher.x=${oc.create:'{\"\\x5ftarget_\": os.system}'}",
    "hydra.launcher=${data.train.0}",
    "hydra.sweeper.params={hydra.job_logging: {handlers: {x: {'()': os.system}}}}",
    "+hydra.sweeper.custom_search_space=os.system",
    "hydra.job_logging={handlers: {x: {'()': os.system}}}",
    "++hydra.hydra_logging.handlers.console.class=os.system",
    "hydra.searchpath=[file://.]",
    "hydra.job.env_set.CC=evil",
    "hydra/callbacks=x",
    "hydra/job_logging=x",
    "hydra/launcher=../../x",
    "hydra/launcher=basic,../../x",
    "+hydra.run._target_=os.system",
    "+experiment@hydra=toy",
    "hydra@_global_=x",
    "~hydra",
    "~hydra.job_logging",
    "data@hydra.callbacks=toy",
    "+data/x=toy",
    "data=../../x",
    "+experiment='/../x'",
    "experiment=table3/../../x",
    "model=base,../x",
    "model=${oc.decode:'\"\\x2e\"'}",
]


@pytest.mark.parametrize("flags", [[], ["-m"], ["--help"], ["--cfg", "all"], ["--hydra-help"]], ids=str)
@pytest.mark.parametrize("override", CODE)
def test_an_override_cannot_choose_code(override: str, flags: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("train", Captured(), [*flags, "run_dir=x-${seed}", override]) == 2
    refused = "may not choose code|unknown option|expected the name of a choice|several values need -m"
    assert re.fullmatch(f"error: .*({refused}).*\n", capfd.readouterr().err)


@pytest.mark.parametrize("flags", [["--config-dir=."], ["-cd", "."], ["--help", "--config-path=."], ["--config-n=x"]])
def test_a_flag_cannot_choose_other_configurations(flags: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("train", Captured(), flags) == 2
    assert "error: unknown flag" in capfd.readouterr().err


# What is typed elsewhere, and the option of ours.
FOREIGN = {
    "train": {
        "lr": "training.learning_rate",
        "learning_rate": "training.learning_rate",
        "optimizer.lr": "training.learning_rate",
        "epochs": "training.max_steps",
        "max_epochs": "training.max_steps",
        "batch_size": "training.batch_tokens",
        "n_layers": "model.num_layers",
        "layers": "model.num_layers",
        "encoder_layers": "model.num_encoder_layers",
        "dec_depth": "model.num_decoder_layers",
        "norm_first": "model.norm",
        "model.tied": "model.tied_embeddings",
        "max_position_embeddings": "model.max_positions",
        "hidden_size": "model.d_model",
        "dim": "model.d_model",
        "ffn": "model.d_ff",
        "n_heads": "model.num_heads",
        "model.heads": "model.num_heads",
        "vocab": "tokenizer.vocab_size",
        "tokenizer.vocabulary_size": "tokenizer.vocab_size",
        "tokenizer.joint": "tokenizer.shared_vocab",
        "warmup": "training.warmup_steps",
        "training.cooldown": "training.decay_fraction",
        "training.sharding": "training.fsdp",
        "initialise_from": "finetune_from",
        "num_beams": "decoding.beam_size",
        "src": "data.source_language",
        "tgt_lang": "data.target_language",
        "output_dir": "run_dir",
        "max_steps": "training.max_steps",
        "Max-Steps": "training.max_steps",
    },
    "translate": {
        "beam": "decoding.beam_size",
        "beams": "decoding.beam_size",
        "src": "source",
        "prefix": "target_prefix",
        "nbest": "n_best",
    },
    "evaluate": {"ref": "reference", "hyp": "hypothesis"},
}


@pytest.mark.parametrize(
    ("name", "typed", "meant"), [(name, *pair) for name, words in FOREIGN.items() for pair in words.items()]
)
def test_the_name_of_another_toolkit_gets_ours_back(
    name: str, typed: str, meant: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(name, Captured(), [f"{typed}=1"]) == 2
    assert capfd.readouterr().err == f"error: unknown option {typed}; did you mean {meant}?\n"


@pytest.mark.parametrize("option", names_elsewhere())
def test_the_table_of_names_gives_options_that_exist(option: str) -> None:
    known = {key for schema in COMMANDS.values() for key, _ in known_keys(schema)}
    assert option in known


GIVEN = ["run_dir=run", "input=a.en"]
WRONG_ELSEWHERE = [
    ("translate", ["run_dir=run"], ["source, input, document:", "none of them is given"]),
    ("translate", ["run_dir=run", "source=a", "input=-"], ["source, input, document:", "source and input are given"]),
    ("translate", ["run_dir=run", "document=gone.md", "output=o.md"], ["document: gone.md does not exist"]),
    ("translate", ["run_dir=run", "document=a.en"], ["output:", "ends in .en"]),
    ("translate", ["run_dir=run", "document=a.en", "output=b.en", "n_best=2"], ["n_best:", "not to a document"]),
    ("translate", ["run_dir=run", "document=a.en", "output=b.en", "scores=true"], ["scores:", "not to a document"]),
    ("translate", ["run_dir=run", "document=a.en", "output=./a.en"], ["output:", "also the input"]),
    ("translate", ["run_dir=gone", "source=a"], ["run_dir: gone does not exist"]),
    ("translate", ["run_dir=.", "source=a"], ["run_dir:", "config.yaml, tokenizer.model, model.safetensors"]),
    ("translate", ["source=a"], ["run_dir:", "no finished run"]),
    ("translate", ["run_dir=run", "input=gone.en"], ["input:", "gone.en"]),
    ("translate", ["run_dir=run", "input=a.en", "output=no/where.de"], ["output:", "no"]),
    ("translate", ["run_dir=run", "input=a.en", "output=run"], ["output:", "the folder run"]),
    ("translate", ["run_dir=run", "input=a.en", "output=./a.en"], ["output:", "also the input"]),
    ("translate", ["run_dir=run", f"input={'long ' * 99}"], ["long", "name too long"]),
    ("translate", ["run_dir=run", "input=a.en", "decoding.beamsize=2"], ["decoding.beam_size"]),
    ("translate", ["run_dir=run", "input=a.en", "seed=2"], ["unknown option seed;"]),
    ("translate", [*GIVEN, "column=1", "field=text"], ["column, field:", "not both"]),
    ("translate", ["run_dir=run", "source=a", "column=1"], ["column:", "input=FILE"]),
    ("translate", ["run_dir=run", "source=a", "field=text"], ["field:", "input=FILE"]),
    ("translate", [*GIVEN, "column=1", "translation_field=score"], ["translation_field:", "taken"]),
    ("translate", ["run_dir=run", "source=a", "shard=1/2"], ["shard:", "input=FILE"]),
    ("translate", ["run_dir=run", "input=-", "shard=1/2"], ["shard:", "input=FILE"]),
    ("translate", [*GIVEN, "shard=0/2"], ["shard:", "3/16", "0/2"]),
    ("translate", [*GIVEN, "shard=3/2"], ["shard:", "3/16", "3/2"]),
    ("translate", [*GIVEN, "shard=3"], ["shard:", "3/16"]),
    ("translate", [*GIVEN, "decoding=sampling", "decoding.beam_size=4"], ["decoding.beam_size:", "sampling"]),
    ("translate", [*GIVEN, "decoding=sampling", "decoding.sampling.top_p=1"], ["decoding.sampling.top_p:", "below 1"]),
    (
        "translate",
        [*GIVEN, "decoding.sampling.top_p=0.5"],
        ["choice first: decoding=sampling"],
    ),
    (
        "translate",
        [*GIVEN, "decoding.min_output_tokens=9", "decoding.max_output_tokens=8"],
        ["decoding.min_output_tokens:", "9", "decoding.max_output_tokens = 8"],
    ),
    ("translate", ["run_dir=run", "document=run", "output=o.md"], ["document: run is a folder, not a file"]),
    ("translate", [*GIVEN, "ensemble=[gone]"], ["ensemble: gone does not exist"]),
    (
        "translate",
        [*GIVEN, "ensemble=[run,other]"],
        ["ensemble: other does not have the vocabulary of run", "tokenizer.model"],
    ),
    ("train", ["decoding=sampling"], ["decoding.sampling:", "mt-translate"]),
    ("compare", ["runs=[run]"], ["runs: needs two run folders"]),
    ("compare", ["run", "runs=[a,b]"], ["runs: give all run folders in it, run too"]),
    ("compare", ["runs=[run,.,run]"], ["runs: needs two run folders", "each once"]),
    ("compare", ["runs=[run,./run]"], ["runs: needs two run folders", "each once"]),
    ("compare", ["runs=[run,gone]"], ["runs: gone does not exist"]),
    ("evaluate", ["run_dir=run", "source=a.en"], ["reference:"]),
    ("evaluate", ["run_dir=run", "reference=a.de"], ["reference:"]),
    ("evaluate", ["hypothesis=a.de", "reference=a.de", "robustness=true"], ["robustness:", "source=FILE"]),
    ("evaluate", ["run_dir=run", "reference=gone.de", "source=a.en"], ["reference:", "gone.de"]),
    ("evaluate", ["hypothesis=a.de", "source=a.en", "reference=a.de"], ["reference:", "one of"]),
    ("translate", [*GIVEN, "output=o.TXT.gz"], ["output: o.TXT.gz would hold plain text; give a name without .gz"]),
    ("inspect", ["output=a.en"], ["output: a.en is a file"]),
    ("inspect", ["output=other"], ["output: other/report.html", "the run's own files"]),
    ("translate", ["run_dir=a.en", "source=a"], ["run_dir: a.en is a file, not a folder"]),
    ("export", ["run_dir=run", "format=huggingface", "output=run/checkpoints/x"], ["output:", "the run's own files"]),
    ("average", ["run_dir=run", "checkpoints=0"], ["checkpoints:", "at least 1"]),
    ("average", [], ["run_dir:", "no run"]),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [["seed=x,1"], ["model=bas,small"], ["model.num_heads=3,4"], ["seed=interval(1,3)"]])
def test_the_first_job_that_is_refused_ends_a_sweep(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    job = Captured()
    assert run("train", job, ["-m", "run_dir=x-${seed}", *words]) == 2
    assert not job
    assert capfd.readouterr().err.split("\n")[-2].startswith("error: ")


@pytest.mark.reliability(20)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "arguments", "named"), WRONG_ELSEWHERE)
def test_other_commands_refuse(
    name: str, arguments: list[str], named: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "run", folder / "other")
    (folder / "other/tokenizer.model").write_text("y", encoding="utf-8")
    (folder / "other/identity.json").touch()
    assert run(name, Captured(), arguments) == 2
    message = capfd.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    for part in named:
        assert part in message


@pytest.mark.reliability(20)
@pytest.mark.parametrize("line", [None, ""])
@pytest.mark.parametrize("asked", ["query=bash", "query=fish", "query=ksh", "install=ksh", "bash", "a=b"])
def test_a_completion_that_no_shell_asked_for_is_refused(
    asked: str, line: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COMP_LINE", raising=False)
    if line is not None:
        monkeypatch.setenv("COMP_LINE", line)
    assert run("translate", Captured(), ["-sc", asked]) == 2
    message = capfd.readouterr().err
    assert message.startswith(f"error: {asked}: ")
    assert message.count("\n") == 1
    assert "install=bash" in message


@pytest.mark.reliability(20)
@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        *(("train", [word]) for word in ("training.max_step=5", "model.num_heads=3")),
        *((name, ["run_dir=gone"]) for name in ("average", "evaluate", "generate", "serve", "benchmark_decode")),
        ("compare", ["runs=[gone,lost]"]),
        ("benchmark", ["model.num_heads=3"]),
        ("attention", ["run_dir=gone", "source=a"]),
        ("export", ["run_dir=gone", "format=huggingface"]),
        ("translate", ["run_dir=gone", "source=a"]),
        ("import_model", ["folder=gone", "run_dir=r", "source_language=en", "target_language=de"]),
        ("inspect_corpus", ["data=files", "data.train=gone"]),
    ],
)
def test_refuses_fast_and_without_torch(script: str, arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; from scripts.{script} import main; main()"
    started = seconds_of_children()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert seconds_of_children() - started < 3
    assert done.stderr.startswith("error: ")


def seconds_of_children() -> float:
    """The processor's time in all processes that this one has waited for, however busy the machine is with others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
