"""The layers of the architecture, held against the code.

Each package may import only what its row names. Every import counts, also one inside a function or
for type checkers only; cycles count where they would happen, at import time.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[1] / "canvas_provider"
NAME: Final = "canvas_provider"

FREE: Final = {"errors", "types", "config"}
"""Open to all."""

JSON: Final = {"pydantic_core"}
"""The codec; the standard library's costs a quarter of the throughput (measured)."""

MODELS: Final = {"pydantic", "pydantic_core", "typing_extensions"}
"""pydantic, and the two packages that its own types come from."""

WEB_CLIENT: Final = {"aiohttp", "yarl"}
"""aiohttp, and the package that its URLs come from."""


@dataclass(frozen=True)
class Layer:
    """What one package may import: ours, and third-party ones."""

    ours: set[str] = field(default_factory=set)
    third_party: set[str] = field(default_factory=set)
    only_in: dict[str, str] = field(default_factory=dict)
    """Third-party packages that have one module to themselves."""


CORE: Final = {"wire", "protocol", "state", "canvas", "serving", "web", "session", "host"}

LAYERS: Final = {
    "errors": Layer({"types"}),
    "types": Layer(),
    "config": Layer({"errors", "types"}),
    "boot": Layer({"canvas", "wire"}),
    "wire": Layer(),
    "state": Layer(set(), MODELS, {"redis": "state.redis"}),
    "protocol": Layer(),
    "serving": Layer(set(), {"starlette", "uvicorn", "sse_starlette"} | JSON),
    "canvas": Layer({"protocol", "state"}, {"jsonschema"} | MODELS),
    "web": Layer({"canvas", "state", "serving"}, {"starlette"} | JSON),
    "session": Layer({"wire", "protocol", "canvas", "state", "web"}, {"uvloop"} | JSON),
    "host": Layer(
        {"wire", "protocol", "serving"},
        {"starlette", "jsonschema", "referencing"} | JSON,
        {"copilot": "host.copilot"},
    ),
    "sdk": Layer({"wire", "protocol", "canvas", "web", "session"}, {"copilot"}),
    "ahp": Layer({"host", "wire", "protocol"}, WEB_CLIENT),
    "testing": Layer(CORE | {"ahp", "cli"}, {"httpx", "starlette"}, {"pytest": "testing.plugin"}),
    "cli": Layer(CORE | {"", "ahp", "sdk"}, {"click"}, {"watchfiles": "cli.watching"}),
}

ROOT: Final = {"", "__main__"}
"""The public face, and what runs it: they may name anything of ours."""


@dataclass(frozen=True)
class Import:
    """One import of a module, by name."""

    module: str
    """Who imports; without the package's own name."""
    target: str
    line: int
    at_import: bool
    """It happens when the module is imported."""

    def __str__(self) -> str:
        return f"{self.module or '__init__'}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def find_imports(module: str, nodes: list[ast.stmt], at_import: bool = True) -> Iterator[Import]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield Import(module, name.name, node.lineno, at_import)
            case ast.ImportFrom(module=source, names=names, level=level):
                assert level == 0, f"{module}:{node.lineno}: a relative import"
                for name in names:
                    # What is imported may be a module or a name in one: both are tried.
                    target = f"{source}.{name.name}"
                    yield Import(module, target, node.lineno, at_import)
            case _:
                inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                for block in ("body", "orelse", "finalbody", "handlers", "cases"):
                    later = inside or (is_for_types(node) and block == "body")
                    here = at_import and not later
                    yield from find_imports(module, getattr(node, block, []), here)


TEMPLATES: Final = PACKAGE / "cli" / "templates"
"""What authors begin with: files that are copied, not modules of ours."""

MODULES: Final = {
    module_name(path): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if TEMPLATES not in path.parents
}

IMPORTS: Final = [
    found
    for module, path in MODULES.items()
    for found in find_imports(module, ast.parse(path.read_text(encoding="utf-8")).body)
]


def own_target(target: str) -> str | None:
    """Which module of ours is meant, if it is one."""
    if target != NAME and not target.startswith(f"{NAME}."):
        return None
    name = target.removeprefix(NAME).removeprefix(".")
    return name if name in MODULES else name.rpartition(".")[0]


def layer_of(module: str) -> str:
    return module.partition(".")[0]


def test_every_package_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} - ROOT <= LAYERS.keys()


def test_each_package_imports_only_what_lies_below_it() -> None:
    wrong = []
    for found in IMPORTS:
        target = own_target(found.target)
        layer = layer_of(found.module)
        if target is None or layer in ROOT:
            continue
        allowed = LAYERS[layer].ours | ({*FREE, layer} if layer not in FREE else {layer})
        if layer_of(target) not in allowed:
            wrong.append(str(found))
    assert wrong == []


def test_each_third_party_package_has_its_place() -> None:
    wrong = []
    for found in IMPORTS:
        package = found.target.partition(".")[0]
        layer = layer_of(found.module)
        if package == NAME or package in sys.stdlib_module_names:
            continue
        allowed = LAYERS[layer] if layer not in ROOT else Layer()
        if package not in allowed.third_party and allowed.only_in.get(package) != found.module:
            wrong.append(str(found))
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in IMPORTS:
        target = own_target(found.target)
        # Importing from the root face would be a circle for everybody below it.
        if target is not None and found.at_import and target != found.module:
            graph[found.module].add(target)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            circle = [*path[path.index(module) :], module]
            pytest.fail(" -> ".join(name or "__init__" for name in circle))
        if module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_the_two_ends_of_the_wire_do_not_know_each_other() -> None:
    assert "host" not in LAYERS["session"].ours
    assert "session" not in LAYERS["host"].ours
