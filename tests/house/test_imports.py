"""The architecture: who may import whom, read from the source without running it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "mt").rglob("*.py"))
DOORS = sorted((ROOT / "scripts").glob("*.py"))
ids = [str(path.relative_to(ROOT)) for path in MODULES]

# Rooms that need not know each other, and what of `mt` each may import beside itself and mt.errors.
CONFIGURATION = {
    *(
        "mt.config",
        "mt.data_options",
        "mt.benchmark_config",
        "mt.option_types",
        "mt.checks",
        "mt.run_folders",
        "mt.translation_checks",
        "mt.loading",
        "mt.overrides",
        "mt.command",
    )
}
MAY_IMPORT = {
    "mt.model": set(),
    "mt.search": {"mt.native"},
    "mt.engine": {"mt.model", "mt.native"},
    "mt.native": set(),
    "mt.data": set(),
    "mt.evaluation": set(),
    "mt.training": {"mt.data.batch", "mt.data.loader", "mt.model.transformer", "mt.model.packing", "mt.runtime"},
    "mt.translation": {
        *("mt.data", "mt.engine", "mt.model.inspection", "mt.model.transformer", "mt.native", "mt.search"),
        *("mt.alignment", "mt.copies", "mt.parts", "mt.runtime"),
    },
    "mt.parts": {"mt.alignment"},
    "mt.alignment": set(),
    "mt.benchmark.workers": set(),  # they run in the peers' environment too
    "mt.benchmark.ours_decoding": {
        *("mt.benchmark.workers", "mt.build", "mt.config", "mt.parts", "mt.runtime", "mt.translation")
    },
    "mt.benchmark": {"mt.data", "mt.model.transformer", "mt.runtime", "mt.training"},
    "mt.export": {"mt.data.batch", "mt.data.tokenizer", "mt.model", "mt.search"},
    "mt.runtime": set(),
    "mt.copies": {"mt.runtime"},
    "mt.errors": set(),
    **dict.fromkeys(CONFIGURATION, CONFIGURATION | {"mt"}),
}

# Libraries that one room keeps to itself, so that it can be exchanged there.
KEPT = {
    "sentencepiece": {"mt/data/tokenizer.py", "mt/export/pieces.py"},
    "transformers": {
        *("mt/export/engines.py", "mt/benchmark/workers/peers_training.py", "mt/benchmark/workers/peers_decoding.py")
    },
    "ctranslate2": {*("mt/export/engines.py", "mt/export/ctranslate2.py", "mt/benchmark/workers/peers_decoding.py")},
    "google.protobuf": {"mt/export/pieces.py"},
    "datasets": {"mt/data/hub.py"},
    "sacrebleu": {"mt/evaluation.py"},
    "torch.distributed": {"mt/training/distributed.py"},
    "hydra": {"mt/command.py", "mt/overrides.py"},
    "omegaconf": {"mt/command.py"},
}
SLOW = {"torch", "numpy", "datasets", "sacrebleu", "matplotlib", "sentencepiece", "safetensors"}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, at the top or inside a function; `from a import b` counts as a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_rooms_know_only_whom_they_may(path: Path) -> None:
    module = module_name(path)
    rooms = [room for room in MAY_IMPORT if inside(module, room)]
    if not rooms:
        return  # build and the jobs put the rooms together
    allowed = {rooms[0], "mt.errors", *MAY_IMPORT[rooms[0]]}
    strangers = {
        name
        for name in imports(path)
        if inside(name, "mt") and not any(inside(name, room) or name == room.rpartition(".")[0] for room in allowed)
    }
    assert not strangers


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_libraries_stay_in_their_room(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for library, rooms in KEPT.items():
        if relative not in rooms:
            assert not [name for name in imports(path) if inside(name, library)], f"{library} belongs to {rooms}"


@pytest.mark.parametrize("module", sorted(CONFIGURATION))
def test_checks_load_nothing_slow(module: str) -> None:
    path = ROOT / (module.replace(".", "/") + ".py")
    assert not {name for name in imports(path) if name.split(".")[0] in SLOW}


@pytest.mark.parametrize("library", ["datasets", "transformers", "ctranslate2", "google"])
def test_slow_and_optional_libraries_are_loaded_late(library: str) -> None:
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                assert not any(inside(name, library) for name in names), path


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_a_package_is_a_docstring(path: Path) -> None:
    if path.name == "__init__.py":
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert len(body) == 1
        assert ast.get_docstring(ast.Module(body=body, type_ignores=[]))


@pytest.mark.parametrize("path", [path for path in DOORS if path.name != "__init__.py"], ids=lambda path: path.name)
def test_scripts_are_doors(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 40
    allowed = {"mt.command", "mt.config", "mt.benchmark_config", f"mt.jobs.{path.stem}"}
    assert {name for name in imports(path) if inside(name, "mt") and name.rpartition(".")[0] not in allowed} <= allowed
    branches = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For | ast.While | ast.Try | ast.With)
    ]
    assert not branches
