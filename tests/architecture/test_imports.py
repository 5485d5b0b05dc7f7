"""Dependencies point inward only (docs/architecture.md): this test draws every arrow from the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate import ports

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "layers/core/python"

#: What each room may import of ours. A room is a module or package; the longest match counts.
ALLOWED = {
    "tidegate": (),
    "tidegate.domain": ("tidegate.domain",),
    "tidegate.ports": ("tidegate.domain", "tidegate.ports"),
    "tidegate.messages": ("tidegate.domain",),
    "tidegate.config": ("tidegate.domain", "tidegate.config"),
    "tidegate.usecases": (
        "tidegate.domain",
        "tidegate.ports",
        "tidegate.messages",
        "tidegate.config",
        "tidegate.usecases",
    ),
    "tidegate.adapters": ("tidegate.domain", "tidegate.ports", "tidegate.adapters"),
    "tidegate.settings": ("tidegate.domain",),
    "tidegate.telemetry": ("tidegate.domain",),
    "tidegate.web": (
        "tidegate.domain",
        "tidegate.ports",
        "tidegate.usecases",
        "tidegate.telemetry",
        "tidegate.web",
    ),
    "tidegate.bootstrap": ("tidegate",),
    "functions": ("tidegate",),
    "runner": ("runner", "tidegate.domain", "tidegate.adapters"),
    "cdk": ("cdk",),
    "local": ("local", "tidegate"),
    "cli": ("cli", "local", "tidegate"),
    "soak": ("soak", "local"),
    "bench": ("bench", "local", "runner", "soak", "tidegate"),
}

#: Rooms that start in every deploy's critical path: they must not import what is slow to import.
QUICK = {"runner": {"pydantic", "boto3", "botocore", "aws_lambda_powertools", "github"}}

DOMAIN_MAY_NOT = {
    "os",
    "time",
    "socket",
    "subprocess",
    "random",
    "secrets",
    "uuid",
    "urllib",
    "http",
    "pathlib",
    "logging",
}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path
    for top in ("functions", "runner", "cdk", "local", "cli", "soak", "bench"):
        for path in sorted((TOP / top).rglob("*.py")):
            yield ".".join(part for part in path.relative_to(TOP).with_suffix("").parts if part != "__init__"), path


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full names, so that the arrows can be read"
            yield node.module or ""


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def _room(module: str) -> str:
    return max((room for room in ALLOWED if _within(module, room)), key=len)


OURS = ("tidegate", "functions", "runner", "cdk", "local", "cli", "soak", "bench")
MODULES = list(_modules())


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_a_module_imports_only_what_lies_further_in(module, path):
    room = _room(module)
    for imported in _imports(path):
        if imported.split(".")[0] in OURS:
            assert any(_within(imported, allowed) for allowed in ALLOWED[room]), f"{module} must not import {imported}"


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_the_domain_uses_only_the_standard_library_and_no_outside_world(module, path):
    if _room(module) != "tidegate.domain":
        return
    for imported in _imports(path):
        top = imported.split(".")[0]
        assert top == "tidegate" or top in sys.stdlib_module_names, f"{module} must not import {imported}"
        assert top not in DOMAIN_MAY_NOT, f"{module} must not import {imported}: pass in what it needs"
    names = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert not names & {"datetime.now", "datetime.datetime.now", "date.today"}, f"{module} must not read a clock"


@pytest.mark.parametrize("room", QUICK)
def test_what_starts_in_every_deploy_imports_nothing_slow(room):
    for module, path in MODULES:
        if _room(module) == room:
            slow = {name.split(".")[0] for name in _imports(path)} & QUICK[room]
            assert not slow, f"{module} must not import {slow}"


def test_nothing_that_is_deployed_imports_the_fakes_for_tests():
    for module, path in MODULES:
        if not _within(module, "tidegate.adapters.memory"):
            fakes = [name for name in _imports(path) if _within(name, "tidegate.adapters.memory")]
            assert not fakes, f"{module} must not import {fakes}: they are not deployed"


@pytest.mark.parametrize("room", list((PACKAGE / "tidegate/ports").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_port_can_be_imported_from_the_package(room):
    for node in ast.parse(room.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            assert getattr(ports, node.name).__module__ == f"tidegate.ports.{room.stem}"


def test_a_handler_is_the_only_file_of_its_function():
    for function in sorted((TOP / "functions").iterdir()):
        if function.is_dir():
            sources = [path.name for path in function.rglob("*.py")]
            assert sources == ["handler.py"], f"{function.name}: what is more than a handler belongs in the layer"


def test_nothing_is_imported_from_a_module_of_tests():
    for path in sorted((TOP / "tests").rglob("*.py")):
        for imported in _imports(path):
            if imported.startswith("tests."):
                assert ".test_" not in imported, f"{path}: what {imported} shares belongs in a module beside it"
