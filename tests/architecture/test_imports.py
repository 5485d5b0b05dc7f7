"""Dependencies point inward only (docs/architecture.md): this test draws every arrow from the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
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
    # What the runner and the configuration file would refuse, synth refuses before: rules, no verbs.
    "cdk": (
        "cdk",
        "tidegate.deploys.rules.aws_target",
        "tidegate.deploys.rules.mask_pattern",
        "tidegate.deploys.rules.runner_size",
        "tidegate.deploys.rules.plan_runner",
        "tidegate.deploys.rules.workflow_rules",
        "tidegate.rules.errors",
    ),
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
CLOCKS = {"datetime.now", "datetime.datetime.now", "date.today"}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path
    for top in ("functions", "runner", "cdk", "local", "cli", "soak", "bench"):
        for path in sorted((TOP / top).rglob("*.py")):
            yield ".".join(part for part in path.relative_to(TOP).with_suffix("").parts if part != "__init__"), path


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports, each with where it does."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, _at(path, node)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_at(path, node)}: import by full names, so that the arrows can be read"
            yield node.module or "", _at(path, node)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _at(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(TOP)}:{getattr(node, 'lineno', 0)}"


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def _room(module: str) -> str:
    return max((room for room in ALLOWED if _within(module, room)), key=len)


OURS = ("tidegate", "functions", "runner", "cdk", "local", "cli", "soak", "bench")
MODULES = list(_modules())


def _modules_of(room: str) -> list[tuple[str, Path]]:
    return [(module, path) for module, path in MODULES if _room(module) == room]


def test_modules_import_only_what_lies_further_in():
    wrong = [
        f"{at}: {module} must not import {imported}"
        for module, path in MODULES
        for imported, at in _imports(path)
        if imported.split(".")[0] in OURS and not any(_within(imported, allowed) for allowed in ALLOWED[_room(module)])
    ]
    assert not wrong, "\n".join(wrong)


def test_each_room_with_rules_has_modules():
    assert {_room(module) for module, _ in MODULES} == set(ALLOWED)


def test_the_domain_uses_only_the_standard_library_and_no_outside_world():
    wrong = [
        f"{at}: a rule must not import {imported}: pass in what it needs"
        for _, path in _modules_of("tidegate.domain")
        for imported, at in _imports(path)
        if imported.split(".")[0] != "tidegate"
        and (imported.split(".")[0] in DOMAIN_MAY_NOT or imported.split(".")[0] not in sys.stdlib_module_names)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_domain_reads_no_clock():
    wrong = [
        f"{_at(path, node)}: a rule must not read a clock: pass in what time it is"
        for _, path in _modules_of("tidegate.domain")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in CLOCKS
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", QUICK)
def test_what_starts_in_every_deploy_imports_nothing_slow(room):
    slow = [
        f"{at}: {module} must not import {imported}"
        for module, path in _modules_of(room)
        for imported, at in _imports(path)
        if imported.split(".")[0] in QUICK[room]
    ]
    assert not slow, "\n".join(slow)


def test_nothing_that_is_deployed_imports_the_fakes_for_tests():
    fakes = [
        f"{at}: {module} must not import {imported}: fakes are not deployed"
        for module, path in MODULES
        for imported, at in _imports(path)
        if _within(imported, "tests.fakes") and not _within(module, "tests.fakes")
    ]
    assert not fakes, "\n".join(fakes)


def test_every_port_can_be_imported_from_the_package():
    for path in (PACKAGE / "tidegate/ports").glob("[a-z]*.py"):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                given = getattr(ports, node.name, None)
                assert given, f"{_at(path, node)}: tidegate.ports does not give {node.name}"
                assert given.__module__ == f"tidegate.ports.{path.stem}", _at(path, node)


def test_a_handler_is_the_only_file_of_its_function():
    for function in sorted((TOP / "functions").iterdir()):
        if function.is_dir():
            sources = [path.name for path in function.rglob("*.py")]
            assert sources == ["handler.py"], f"{function.name}: what is more than a handler belongs in the layer"


def test_nothing_is_imported_from_a_module_of_tests():
    wrong = [
        f"{at}: what {imported} shares belongs in a module beside it"
        for path in sorted((TOP / "tests").rglob("*.py"))
        for imported, at in _imports(path)
        if imported.startswith("tests.") and ".test_" in imported
    ]
    assert not wrong, "\n".join(wrong)
