"""Which options the program reads: `Training.max_steps` where an expression of that class has `.max_steps`.

The class of an expression is followed from annotations, through assignments, loops and calls, within a function.
`f(**vars(config))` hands every option to a function that refuses what it does not take, and counts as reading all.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

SCHEMAS = ("mt.config.schema", "mt.config.measurements")
Kinds = frozenset[str]
ALL = "*"
NONE: Kinds = frozenset()


class OptionReads:
    """The options of some dataclasses that some source files read, as (class, name of the option)."""

    def __init__(self, classes: Iterable[type], sources: Iterable[str]) -> None:
        self.names = {kind.__name__ for kind in classes}
        self.options = {
            (kind.__name__, name): self._of_hint(hint)
            for kind in classes
            for name, hint in get_type_hints(kind, include_extras=True).items()
        }
        self.returned: dict[str, Kinds] = defaultdict(lambda: NONE)
        self.fields: dict[str, set[str]] = defaultdict(set)  # of every class of the sources
        self.found: set[tuple[str, str]] = set()
        trees = [ast.parse(source) for source in sources]
        for tree in trees:
            self._enter(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    self.returned[node.name] |= self._of_annotation(node.returns)
                if isinstance(node, ast.ClassDef):
                    own = [line.target for line in node.body if isinstance(line, ast.AnnAssign)]
                    self.fields[node.name] |= {name.id for name in own if isinstance(name, ast.Name)}
        for tree in trees:
            self._enter(tree)
            self._read_function(tree, {})

    def of(self, kind: type) -> set[str]:
        """The options of a class that are read, `ALL` among them where it is handed over as a whole."""
        return {name for owner, name in self.found if owner == kind.__name__}

    def _enter(self, module: ast.Module) -> None:
        """Other modules have a Corpus and a Tokenizer too: in each, the names count that come from the schema."""
        imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module in SCHEMAS]
        self.imported = {alias.name for node in imports for alias in node.names}

    def _of_hint(self, hint: Any) -> Kinds:
        inner = frozenset().union(*map(self._of_hint, get_args(hint)))
        return inner | ({hint.__name__} if getattr(hint, "__name__", None) in self.names else NONE)

    def _of_annotation(self, annotation: ast.expr | None) -> Kinds:
        if annotation is None:
            return NONE
        words = set().union(*map(self._word, ast.walk(annotation)))
        if "Data" in words:  # the union of the kinds of data
            words |= {name for name in self.names if name.endswith("Data")}
        return frozenset(words & self.names)

    def _word(self, node: ast.AST) -> set[str]:
        """What a node names in the schema: `Corpus` where that is imported from there, or `schema.Corpus`."""
        match node:
            case ast.Name(id=name) if name in self.imported:
                return {name}
            case ast.Attribute(value=ast.Name(id="schema"), attr=name):
                return {name}
        return set()

    def _read_function(self, function: ast.AST, outer: dict[str, Kinds]) -> None:
        names: dict[str, Kinds] = defaultdict(lambda: NONE, outer)
        if isinstance(function, ast.FunctionDef):
            for argument in (*function.args.args, *function.args.kwonlyargs):
                names[argument.arg] = self._of_annotation(argument.annotation)
        nodes = list(own_nodes(function))
        for _ in range(2):  # a name may be used above the line that gives it its value, in a loop
            for target, value in (pair for node in nodes for pair in bindings(node)):
                names[target] |= self._of(value, names)
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                self._read_function(node, names)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.found |= {(kind, node.attr) for kind in self._of(node.value, names)}
            elif isinstance(node, ast.Call) and called(node) == "getattr":
                self.found |= {(kind, text) for kind in self._of(node.args[0], names) for text in self._texts(nodes)}
            for spread in spreads(node):
                self.found |= {(kind, ALL) for kind in self._of(spread, names)}

    def _texts(self, nodes: list[ast.AST]) -> set[str]:
        """What the name of a `getattr` may be: the texts of the function, and the fields of a class in `fields(…)`."""
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        calls = [node for node in nodes if isinstance(node, ast.Call) and called(node) == "fields"]
        return texts.union(*(self.fields[getattr(call.args[0], "id", "")] for call in calls))

    def _of(self, node: ast.AST, names: dict[str, Kinds]) -> Kinds:
        """The classes that the value of an expression, or its items, may have."""
        match node:
            case ast.Name(id=name):
                return names[name]
            case ast.Attribute(value=value, attr=name):
                return frozenset().union(*(self.options.get((kind, name), NONE) for kind in self._of(value, names)))
            case ast.Call(args=[first, *_]) if called(node) == "replace":
                return self._of(first, names)
            case ast.Call():
                return self.returned[called(node)] | (self._word(node.func) & self.names)
            case ast.Subscript(value=value) | ast.NamedExpr(value=value):
                return self._of(value, names)
            case ast.IfExp(body=one, orelse=other):
                return self._of(one, names) | self._of(other, names)
            case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
                return frozenset().union(*(self._of(value, names) for value in values))
        return NONE


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What a function or module consists of, without the bodies of the functions inside it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef):
            yield from own_nodes(child)


def bindings(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The names that a node binds, each with the expression that it is bound to or is an item of."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
        case ast.Assign(targets=targets, value=value):
            pairs = [(target, value) for target in targets]
        case ast.NamedExpr(target=target, value=value):
            pairs = [(target, value)]
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            pairs = [(target, value)]
        case _:
            pairs = []
    for target, value in pairs:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(each, ast.Name):
                yield each.id, value


def called(node: ast.Call) -> str:
    """The last word of what is called."""
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def spreads(node: ast.AST) -> Iterator[ast.expr]:
    """The objects x of `**vars(x)`, in a call or in a dictionary."""
    values: list[ast.expr] = []
    if isinstance(node, ast.Call):
        values = [keyword.value for keyword in node.keywords if keyword.arg is None]
    if isinstance(node, ast.Dict):
        values = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
    for value in values:
        if isinstance(value, ast.Call) and called(value) == "vars":
            yield value.args[0]


def sources(*folders: Path) -> Iterator[str]:
    """The text of the Python files under some folders."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path.read_text(encoding="utf-8")
