"""The architecture: who may import whom, read from the source without running it."""

import ast
from pathlib import Path

import pytest
from sources import MODULES, ROOT, SCRIPTS, imports, module_name, tree

# What each package or module may import of `mt`, besides itself and mt.errors. The longest name that fits decides,
# and every module must have one.
MAY_IMPORT: dict[str, set[str]] = {
    "mt": set(),
    "mt.errors": set(),
    "mt.reporting": set(),
    "mt.runtime": set(),
    "mt.config": {"mt.data.lines"},
    "mt.model": set(),
    "mt.search": set(),
    "mt.data": {"mt.reporting", "mt.runs.atomic"},
    "mt.doctor": {"mt.data", "mt.reporting"},
    "mt.runs": {"mt.config", "mt.reporting", "mt.runtime", "mt.training.averaging"},
    "mt.training": {"mt.data.batch", "mt.data.loader", "mt.model", "mt.reporting", "mt.runs", "mt.runtime"},
    "mt.training.recipe": {"mt.data"},
    "mt.training.trial": {"mt.data", "mt.training"},
    "mt.translation": {"mt.data", "mt.model", "mt.reporting", "mt.runtime", "mt.search"},
    "mt.translation.known_words": {"mt.data.lines", "mt.data.spaces", "mt.runs.atomic"},
    "mt.translation.scoring": {
        *("mt.config", "mt.data", "mt.reporting", "mt.runs.atomic", "mt.runs.folder", "mt.translation"),
    },
    "mt.translation.robustness": {
        *("mt.data", "mt.reporting", "mt.runs.folder", "mt.runs.metrics", "mt.translation"),
    },
    "mt.translation.card": {"mt.config", "mt.data", "mt.runs", "mt.runtime", "mt.translation"},
    "mt.figures": {"mt.config", "mt.data.lines", "mt.model", "mt.runs"},
    "mt.fast": {"mt.model", "mt.search", "mt.training.loss", "mt.runtime"},
    "mt.fast.native": {"mt.search.candidates"},
    "mt.export": {"mt.config", "mt.data", "mt.model", "mt.reporting", "mt.runs", "mt.search", "mt.translation"},
    "mt.build": {
        *("mt.config", "mt.data", "mt.fast", "mt.model", "mt.runs", "mt.runtime", "mt.search", "mt.training"),
        *("mt.reporting", "mt.translation"),
    },
    "mt.api": {"mt.build", "mt.config", "mt.data", "mt.fast", "mt.model", "mt.runs", "mt.runtime", "mt.translation"},
    "mt.documents": {"mt.data.spaces", "mt.data.untranslatable", "mt.translation.segments"},
    "mt.serving": {"mt.api", "mt.data.lines", "mt.data.spaces", "mt.documents", "mt.translation"},
    "mt.serving.configured": {
        *("mt.api", "mt.config", "mt.data", "mt.fast.memory", "mt.reporting", "mt.runs.folder", "mt.serving"),
        *("mt.runtime", "mt.translation"),
    },
    "mt.serving.ray": {"mt.config", "mt.serving.configured"},
    "mt.commands": {
        *("mt.api", "mt.build", "mt.config", "mt.data", "mt.doctor", "mt.export", "mt.fast", "mt.figures"),
        *("mt.model", "mt.reporting", "mt.runs", "mt.runtime", "mt.training", "mt.translation"),
        *(
            "mt.commands.automatic",
            "mt.commands.classifier_run",
            "mt.commands.examples",
            "mt.commands.inputs",
            "mt.commands.pair_run",
            "mt.commands.preparation",
            "mt.commands.validation",
        ),
    },
    "mt.commands.serve": {"mt.serving"},
    "mt.commands.translate": {"mt.documents"},
    "mt.commands.benchmark": {"mt.benchmark"},
    "mt.commands.benchmark_decode": {"mt.benchmark"},
    "mt.benchmark": {
        *("mt.api", "mt.build", "mt.config", "mt.data", "mt.fast", "mt.model", "mt.reporting", "mt.runtime"),
        *("mt.training", "mt.translation"),
    },
    "mt.benchmark.worker": set(),  # this and the next two run in the environment of the other systems too
    "mt.benchmark.timed_training": {"mt.benchmark.worker"},
    "mt.benchmark.timed_translation": {"mt.benchmark.worker"},
}
# What runs before torch is imported, so that a wrong command line is answered at once.
WITHOUT_TORCH = {
    *("mt", "mt.errors", "mt.reporting", "mt.config", "mt.data.lines", "mt.commands.entry_point"),
    *("mt.commands.inputs", "mt.runs.atomic", "mt.runs.folder", "mt.runs.signals"),
}

# Libraries that one room keeps to itself, so that it can be exchanged there.
KEPT = {
    "sentencepiece": {"mt/data/tokenizer.py", "mt/export/vocabulary.py"},
    "tokenizers": {"mt/data/pretrained_tokenizer.py"},
    "transformers": {"mt/export/huggingface.py"},
    "ctranslate2": {"mt/export/ctranslate2.py"},
    "google.protobuf": {"mt/export/vocabulary.py"},
    "datasets": {"mt/data/hub.py"},
    "sacrebleu": {"mt/translation/evaluation.py"},
    "torch.distributed": {"mt/training/distributed.py"},
    "hydra": {"mt/commands/entry_point.py", "mt/config/overrides.py", "mt/serving/ray.py"},
    "omegaconf": {"mt/commands/entry_point.py", "mt/serving/ray.py"},
    "ray": {"mt/serving/ray.py"},
}
SLOW = {"torch", "numpy", "datasets", "sacrebleu", "matplotlib", "sentencepiece", "safetensors"}


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def rule_of(module: str) -> str:
    """The entry of `MAY_IMPORT` that decides for a module."""
    return max((name for name in MAY_IMPORT if name != "mt" and inside(module, name)), key=len, default=module)


def strangers(module: str, imported: frozenset[str]) -> set[str]:
    """What a module imports of `mt` and may not. `from mt import build` counts as mt.build."""
    rule = rule_of(module)
    names = [rule]
    if rule.startswith("mt.commands."):
        names.append("mt.commands")
    allowed = {rule, "mt.errors"}.union(*(MAY_IMPORT[name] for name in names))
    if rule == "mt.commands":  # no command imports another
        allowed = {"mt.errors", module, *MAY_IMPORT[rule]}
    used = {
        name for name in imported if inside(name, "mt") and not any(inside(other, name) for other in imported - {name})
    }
    return {name for name in used if not any(inside(name, one) for one in allowed)}


def test_packages_know_only_whom_they_may() -> None:
    modules = {module_name(path): imports(path) for path in MODULES}
    assert [module for module in modules if rule_of(module) not in MAY_IMPORT] == []
    found = {module: strangers(module, imported) for module, imported in modules.items()}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("mt.model.stacks", {"mt", "mt.build"}),
        ("mt.search.beam", {"mt.fast.native.ranking", "mt.fast.native.ranking.ranked_extensions"}),
        ("mt.commands.train", {"mt.commands.evaluate", "mt.commands.evaluate.score_split"}),
        ("mt.config.checks", {"mt.runs.folder", "mt.runs.folder.check_run"}),
        ("mt.runs.folder", {"mt", "mt.api"}),
        ("mt.benchmark.worker", {"mt.build"}),
    ],
)
def test_a_stranger_is_seen(module: str, imported: set[str]) -> None:
    assert strangers(module, frozenset(imported))


@pytest.mark.parametrize("library", KEPT)
def test_libraries_stay_in_their_room(library: str) -> None:
    users = [path for path in MODULES if any(inside(one, library) for one in imports(path))]
    assert {path.relative_to(ROOT).as_posix() for path in users} == KEPT[library]


def test_what_runs_before_torch_loads_nothing_slow() -> None:
    early = [path for path in MODULES if any(inside(module_name(path), name) for name in WITHOUT_TORCH - {"mt"})]
    assert len(early) > 10
    assert [path for path in early if {name.split(".")[0] for name in imports(path)} & SLOW] == []


@pytest.mark.parametrize("library", ["datasets", "transformers", "ctranslate2", "google"])
def test_slow_and_optional_libraries_are_loaded_late(library: str) -> None:
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                assert not any(inside(name, library) for name in names), path


def test_a_package_is_a_docstring() -> None:
    for path in MODULES:
        if path.name == "__init__.py":
            assert len(tree(path).body) == 1, path
            assert ast.get_docstring(tree(path)), path


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.name != "__init__.py"], ids=lambda path: path.name)
def test_scripts_hold_no_logic(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 40
    allowed = {"mt.commands.entry_point", "mt.config.schema", "mt.config.measurements", f"mt.commands.{path.stem}"}
    assert {name for name in imports(path) if inside(name, "mt") and name.rpartition(".")[0] not in allowed} <= allowed
    branches = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For | ast.While | ast.Try | ast.With)
    ]
    assert not branches
