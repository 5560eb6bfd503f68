"""Values are in `conf/`, names and types in `mt/config/schema.py`, and neither has anything that the other lacks."""

import re
import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import hydra
import pytest
import reference
import yaml
from composed import FILES, composed
from omegaconf import OmegaConf
from option_reads import ALL, OptionReads

import mt.config.measurements
import mt.config.schema
from mt.config.commands import COMMANDS
from mt.config.loading import alternatives, known_keys

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf"
SCHEMAS = (mt.config.schema, mt.config.measurements)
CLASSES = [
    kind for module in SCHEMAS for kind in vars(module).values() if getattr(kind, "__module__", "") == module.__name__
]
LABELLED = ["data.train=a.tsv", "data.validation=a.tsv"]
MUST_BE_GIVEN = {
    "experiment=auto": ["budget=2h"],
    "model=bert": ["training.packing=false"],
    "data=files": FILES[1:],
    "data=none": ["data.source_language=en", "data.target_language=de"],
    "data=text": ["data.text=a.en"],
    "data=labelled": LABELLED,
    "experiment=text_classifier": LABELLED,
    "experiment=language_model_small": ["data.text=a.en"],
    "experiment=masked_language_model_small": ["data.text=a.en"],
    "data=hub": ["data.path=x", "data.source_language=en", "data.target_language=de"],
}
CHOICES = [
    f"{path.parent.name}={path.stem}"
    for path in sorted(CONF.glob("*/*.yaml"))  # tests/training/test_table3.py composes those of table3/
    if path.parent.name not in ("hydra", "decoding")
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_composes_and_passes_the_checks(choice: str) -> None:
    command = "sweep" if choice.startswith("sweep=") else "train"
    assert composed(command, choice, *MUST_BE_GIVEN.get(choice, []))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("choice", [path.stem for path in sorted((CONF / "decoding").glob("*.yaml"))])
@pytest.mark.parametrize("name", ["translate", "evaluate", "generate"])
def test_every_decoding_composes(name: str, choice: str) -> None:
    given = {
        "generate": ["run_dir=run"],
        "translate": ["input=-", "run_dir=run"],
        "evaluate": ["hypothesis=a.de", "reference=a.de"],
    }
    assert composed(name, *given[name], f"decoding={choice}")


def leaves(values: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for key, value in values.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_conf_writes_every_option_and_no_other(name: str) -> None:
    """What is null in `conf/` may stand for a branch; what a branch needs is asked for when it is given."""
    written: set[str] = set()
    trains = name in ("train", "sweep", "inspect", "benchmark", "import")
    kinds = ["toy", "files", "hub", "text", "labelled", "task", "none"] if trains else [None]
    for kind in kinds:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose(name, [f"data={kind}"] if kind else [])
        values = OmegaConf.to_container(config, resolve=False)
        assert isinstance(values, dict)
        written |= leaves(values)  # type: ignore[arg-type]
    options = {key for key, kind in known_keys(COMMANDS[name]) if not any(map(is_dataclass, alternatives(kind)))}
    empty = {key for key in written if key in ("data.validation", "data.test", "expected", "decoding.sampling")}
    below = {key for key in options if any(key.startswith(f"{branch}.") for branch in empty)}
    assert written - empty == options - below - empty  # which are files of data=labelled


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_the_file_of_a_command_says_holds(name: str) -> None:
    """No choice among its defaults replaces it: such a file would say one thing and the command do another."""
    said = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        composed = OmegaConf.to_container(hydra.compose(name), resolve=False)
    assert isinstance(composed, dict)
    said = {key: value for key, value in said.items() if key not in ("defaults", "hydra")}
    assert OmegaConf.merge(composed, said) == OmegaConf.create(composed)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_option_has_a_value_in_the_code(kind: Any) -> None:
    assert all(field.default is MISSING and field.default_factory is MISSING for field in fields(kind))


READS = OptionReads(
    CLASSES, (path.read_text(encoding="utf-8") for path in (ROOT / "mt").rglob("*.py") if path.parent.name != "config")
)


def unread(declared: dict[str, set[str]]) -> set[str]:
    """The options, by the class that declares them, which no expression of that class or of one below it reads."""
    found = set()
    for kind in CLASSES:
        read = {name for below in CLASSES if issubclass(below, kind) for name in READS.of(below)}
        found |= {f"{kind.__name__}.{name}" for name in declared[kind.__name__] - read if ALL not in read}
    return found


DECLARED = {kind.__name__: set(kind.__annotations__) - {"kind"} for kind in CLASSES}  # kind chooses the class


def test_every_option_is_used() -> None:
    assert not unread(DECLARED)


@pytest.mark.parametrize("name", ["Training", "Decoding", "Tokenizer", "TrainConfig", "TranslateConfig", "HubData"])
@pytest.mark.parametrize("planted", ["count", "norm", "encode", "append"])
def test_an_unused_option_is_seen_although_other_objects_have_its_name(name: str, planted: str) -> None:
    assert unread({**DECLARED, name: DECLARED[name] | {planted}}) == {f"{name}.{planted}"}


def test_the_reference_is_up_to_date() -> None:
    page = reference.page()
    assert reference.PAGE.read_text(encoding="utf-8") == page, f"run python {reference.__file__}"
    assert page.count("\n") <= 120
    for kind in CLASSES:
        for name, hint in get_type_hints(kind).items():
            if name != "kind" and not any(map(is_dataclass, alternatives(hint))):
                assert re.search(rf"`([a-z]+\.)?{name}(=.*?)?`", page), f"{kind.__name__}.{name}"


def test_the_wheel_has_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "mt").rglob("__init__.py")}
    groups = {".".join(["mt.conf", *path.relative_to(CONF).parts]) for path in CONF.glob("**/") if path != CONF}
    assert listed == packages | groups | {"mt.conf", "mt.scripts"}
    data = project["tool"]["setuptools"]["package-data"]
    for folder in (ROOT / "mt", CONF):
        for path in (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")):
            package = ".".join(path.parent.relative_to(ROOT).parts)
            static = data["mt.serving"] if path.parent.name == "static" else []
            patterns = [*data["*"], *data.get(package, []), *static]
            assert any(path.match(pattern) for pattern in patterns), path
    # `inspect.py` would hide the standard library's module from a script that is run as a file; `import` is a keyword.
    commands = {
        f"mt-{path.stem.removesuffix('_corpus').removesuffix('_model').replace('_', '-')}"
        for path in (ROOT / "scripts").glob("*.py")
        if path.stem != "__init__"
    }
    assert set(project["project"]["scripts"]) == commands == {f"mt-{name}".replace("_", "-") for name in COMMANDS}


def test_constraints_pin_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n")
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {requirement.partition(">=")[0] for requirement in wanted} <= pinned
    assert not [line for line in lines if "+" in line or "://" in line]
