"""Values live in `conf/`, names and types in `mt/config.py`, and neither holds anything that the other lacks."""

import ast
import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import hydra
import pytest
import yaml
from composed import FILES, composed
from omegaconf import OmegaConf

import mt.config.schema
from mt.commands.entry_point import SCHEMAS
from mt.config.loading import alternatives, known_keys

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf"
CLASSES = [
    kind for kind in vars(mt.config.schema).values() if is_dataclass(kind) and kind is not mt.config.schema.Bounds
]
MUST_BE_GIVEN = {
    "data=files": FILES[1:],
    "data=none": ["data.source_language=en", "data.target_language=de"],
    "data=hub": ["data.path=x", "data.source_language=en", "data.target_language=de"],
}
CHOICES = [
    f"{path.parent.name}={path.stem}"
    for path in sorted(CONF.glob("*/*.yaml"))
    if path.parent.name not in ("hydra", "decoding")
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_composes_and_passes_the_checks(choice: str) -> None:
    assert composed("train", choice, *MUST_BE_GIVEN.get(choice, []))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("choice", [path.stem for path in sorted((CONF / "decoding").glob("*.yaml"))])
@pytest.mark.parametrize("name", ["translate", "evaluate"])
def test_every_decoding_composes(name: str, choice: str) -> None:
    given = {"translate": ["input=-", "run_dir=run"], "evaluate": ["hypothesis=a.de", "reference=a.de"]}
    assert composed(name, *given[name], f"decoding={choice}")


def leaves(values: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for key, value in values.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_conf_writes_every_option_and_no_other(name: str) -> None:
    """What is null in `conf/` may stand for a branch; what a branch needs is asked for when it is given."""
    written: set[str] = set()
    kinds = ["toy", "files", "hub", "none"] if name in ("train", "inspect", "benchmark", "import") else [None]
    for kind in kinds:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose(name, [f"data={kind}"] if kind else [])
        values = OmegaConf.to_container(config, resolve=False)
        assert isinstance(values, dict)
        written |= leaves(values)  # type: ignore[arg-type]
    options = {key for key, kind in known_keys(SCHEMAS[name]) if not any(map(is_dataclass, alternatives(kind)))}
    empty = {key for key in written if key in ("data.validation", "data.test", "expected", "decoding.sampling")}
    below = {key for key in options if any(key.startswith(f"{branch}.") for branch in empty)}
    assert written - empty == options - below


@pytest.mark.parametrize("name", sorted(SCHEMAS))
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


def used_names() -> set[str]:
    """Every name that the program below the door reads: as an attribute, a keyword, a parameter or a text."""
    door = {
        "config.py",
        "benchmark_config.py",
        "checks.py",
        "translation_checks.py",
        "loading.py",
        "overrides.py",
        "command.py",
    }
    found: set[str] = set()
    for path in (ROOT / "mt").rglob("*.py"):
        if path.name in door:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and path.name == "build.py":
                found.add(node.value)
            elif isinstance(node, ast.arg) and path.parent.name == "data":
                found.add(node.arg)
    return found


def test_every_option_is_used() -> None:
    used = used_names()
    used |= {"kind", "resume"}  # read at the door: which class of data, and whether a used folder is refused
    unused = [f"{kind.__name__}.{name}" for kind in CLASSES for name in get_type_hints(kind) if name not in used]
    assert not unused


def test_the_paper_is_copied_exactly() -> None:
    """Table 3, sections 5.1, 5.3, 5.4 and 6.1."""

    def values(path: str) -> dict[str, Any]:
        loaded = yaml.safe_load((CONF / path).read_text(encoding="utf-8"))
        assert isinstance(loaded, dict)
        return loaded

    names = ("num_layers", "d_model", "d_ff", "num_heads", "dropout")
    assert [values("model/base.yaml")[name] for name in names] == [6, 512, 2048, 8, 0.1]
    assert [values("model/big.yaml")[name] for name in names] == [6, 1024, 4096, 16, 0.3]
    assert values("experiment/paper_big_en_fr.yaml")["model"] == {"dropout": 0.1}
    seconds = {"paper_base": 0.4, "paper_big": 1.0}
    for name, steps, averaged in (("paper_base", 100_000, 5), ("paper_big", 300_000, 20)):
        training = values(f"training/{name}.yaml")
        wanted = {
            "max_steps": steps,
            "batch_tokens": 25_000,
            "warmup_steps": 4000,
            "learning_rate_factor": 1.0,
            "adam_beta1": 0.9,
            "adam_beta2": 0.98,
            "adam_epsilon": 1e-9,
            "label_smoothing": 0.1,
            "average_checkpoints": averaged,
        }
        assert {key: training[key] for key in wanted} == wanted
        assert training["checkpoint_every_steps"] * seconds[name] == 600
    assert values("tokenizer/wmt14_en_de.yaml")["vocab_size"] == 289 * 128
    assert values("tokenizer/wmt14_en_fr.yaml")["vocab_size"] == 32_000
    beam = values("decoding/beam.yaml")
    assert (beam["beam_size"], beam["length_penalty"], beam["length_penalty_form"]) == (4, 0.6, "gnmt")
    assert beam["max_extra_tokens"] == 50
    expected = {"paper_base": 27.3, "paper_big": 28.4, "paper_big_en_fr": 41.8}
    for name, bleu in expected.items():
        assert values(f"experiment/{name}.yaml")["expected"]["bleu"] == bleu


def test_the_wheel_holds_every_room() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    rooms = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "mt").rglob("__init__.py")}
    groups = {f"mt.conf.{path.name}" for path in CONF.iterdir() if path.is_dir()}
    assert listed == rooms | groups | {"mt.conf", "mt.scripts"}
    # `inspect.py` would hide the standard library's module from a script that is run as a file; `import` is no name.
    commands = {
        f"mt-{path.stem.removesuffix('_corpus').removesuffix('_model').replace('_', '-')}"
        for path in (ROOT / "scripts").glob("*.py")
        if path.stem != "__init__"
    }
    assert set(project["project"]["scripts"]) == commands == {f"mt-{name}".replace("_", "-") for name in SCHEMAS}


def test_constraints_pin_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n")
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {requirement.partition(">=")[0] for requirement in wanted} <= pinned
    assert not [line for line in lines if "+" in line or "://" in line]
