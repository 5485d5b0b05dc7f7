"""Dependencies point inward only (docs/architecture.md): this test draws every arrow from the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from docs.features import PAGE, features, page
from tidegate import ports

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "layers/core/python"

#: What each kind of module of the package may import of it. A module's place tells its kind.
RULE, ADAPTER, VERB, WIRING = "rule", "adapter", "verb", "wiring"
MAY_IMPORT = {
    RULE: {RULE},
    "ports": {RULE, "ports", WIRING},
    # Makes adapters, and what holds state for a process, when a verb first asks for it.
    WIRING: {RULE, ADAPTER, VERB, "config", "documents", "ports", "settings", "web"},
    "messages": {RULE, "messages"},
    "settings": {RULE},
    "telemetry": {RULE},
    ADAPTER: {RULE, ADAPTER, "documents", "messages", "ports"},
    "config": {RULE, "config", "documents"},
    "documents": {RULE, "documents"},
    VERB: {RULE, VERB, "config", "messages", "ports"},
    "web": {RULE, VERB, "ports", "telemetry", "web"},
    "bootstrap": {
        RULE,
        ADAPTER,
        VERB,
        WIRING,
        "bootstrap",
        "config",
        "messages",
        "ports",
        "settings",
        "telemetry",
        "web",
    },
    "": set(),
}
#: Packages that are nothing but adapters; elsewhere they stand in a package ``adapters``.
ADAPTERS = ("tidegate.aws", "tidegate.vcs.github", "tidegate.vcs.gitlab", "tidegate.vcs.git", "tidegate.policies.rego")
#: Wires by itself: the package with all wires takes long to import.
WEBHOOK = "tidegate.vcs.webhook_function"

#: What programs beside the package may import of ours.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "functions": ("tidegate",),
    "runner": ("runner", "tidegate"),
    # What the runner and the configuration file would refuse, synth refuses before: rules, no verbs. State machines are
    # read as the command reads them.
    "tidegate_cdk": (
        "tidegate_cdk",
        "tidegate.aws.definitions",
        "tidegate.clusters.adapters.machines",
        "tidegate.clusters.rules",
        "tidegate.deploys.rules.aws_target",
        "tidegate.deploys.rules.cluster",
        "tidegate.deploys.rules.mask_pattern",
        "tidegate.deploys.rules.runner_size",
        "tidegate.deploys.rules.plan_runner",
        "tidegate.deploys.rules.workflow_rules",
        "tidegate.notifications.rules",
        "tidegate.rules.errors",
    ),
    "tidegate_local": ("tidegate_local", "tidegate"),
    "tidegate_cli": ("tidegate_cli", "tidegate_local", "tidegate"),
    "soak": ("soak", "tidegate_local"),
    "bench": ("bench", "tidegate_local", "runner", "soak", "tidegate"),
}

#: Programs that start in every deploy's critical path: they must not import what is slow to import.
QUICK = {"runner": {"pydantic", "boto3", "botocore", "aws_lambda_powertools", "github"}}

RULES_MAY_NOT = {
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
    for top in ("functions", "runner", "tidegate_cdk", "tidegate_local", "tidegate_cli", "soak", "bench"):
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


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _kind(module: str) -> str:
    """Return the kind of a module of the package, by its place."""
    if module == WEBHOOK:
        return "bootstrap"
    if module == "tidegate.ports.wiring":
        return WIRING
    parts = module.split(".")
    first = parts[1] if len(parts) > 1 else ""
    if {"rules", "texts"} & set(parts[1:]):
        return RULE
    if first != "bootstrap" and ("adapters" in parts or any(_within(module, each) for each in ADAPTERS)):
        return ADAPTER
    return first if first in MAY_IMPORT else VERB


MODULES = list(_modules())
PACKAGE_MODULES = [(module, path) for module, path in MODULES if _within(module, "tidegate")]


def _of_kind(kind: str) -> list[tuple[str, Path]]:
    return [(module, path) for module, path in PACKAGE_MODULES if _kind(module) == kind]


def test_each_kind_of_module_imports_only_what_its_kind_may():
    wrong = [
        f"{at}: {module} ({_kind(module) or 'the package itself'}) must not import {imported} ({_kind(imported)})"
        for module, path in PACKAGE_MODULES
        for imported, at in _imports(path)
        if _within(imported, "tidegate") and _kind(imported) not in MAY_IMPORT[_kind(module)]
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_modules_of_each_kind():
    assert {_kind(module) for module, _ in PACKAGE_MODULES} == set(MAY_IMPORT)


def test_features_depend_on_each_other_in_one_direction():
    order = TopologicalSorter(features())
    assert list(order.static_order()), "CycleError names the features that depend on each other"


def test_the_documented_picture_shows_how_features_depend_on_each_other():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run make docs"


def test_programs_import_only_what_they_may():
    ours = ("tidegate", *PROGRAMS)
    wrong = [
        f"{at}: {module} must not import {imported}"
        for program, allowed in PROGRAMS.items()
        for module, path in _modules_of(program)
        for imported, at in _imports(path)
        if imported.split(".")[0] in ours and not any(_within(imported, each) for each in allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_runner_imports_only_rules_and_adapters_of_the_package():
    wrong = [
        f"{at}: {module} must not import {imported}"
        for module, path in _modules_of("runner")
        for imported, at in _imports(path)
        if _within(imported, "tidegate") and _kind(imported) not in {RULE, ADAPTER}
    ]
    assert not wrong, "\n".join(wrong)


def _modules_of(program: str) -> list[tuple[str, Path]]:
    return [(module, path) for module, path in MODULES if _within(module, program)]


def test_rules_use_only_the_standard_library_and_no_outside_scenario():
    wrong = [
        f"{at}: a rule must not import {imported}: pass in what it needs"
        for _, path in _of_kind(RULE)
        for imported, at in _imports(path)
        if imported.split(".")[0] != "tidegate"
        and (imported.split(".")[0] in RULES_MAY_NOT or imported.split(".")[0] not in sys.stdlib_module_names)
    ]
    assert not wrong, "\n".join(wrong)


def test_rules_read_no_clock():
    wrong = [
        f"{_at(path, node)}: a rule must not read a clock: pass in what time it is"
        for _, path in _of_kind(RULE)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in CLOCKS
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("program", QUICK)
def test_what_starts_in_every_deploy_imports_nothing_slow(program):
    slow = [
        f"{at}: {module} must not import {imported}"
        for module, path in _modules_of(program)
        for imported, at in _imports(path)
        if imported.split(".")[0] in QUICK[program]
    ]
    assert not slow, "\n".join(slow)


def test_nothing_that_is_deployed_imports_tests():
    wrong = [
        f"{at}: {module} must not import {imported}: tests are not deployed"
        for module, path in MODULES
        for imported, at in _imports(path)
        if _within(imported, "tests")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_port_can_be_imported_from_the_package():
    for path in (PACKAGE / "tidegate/ports").glob("[a-z]*.py"):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                given = getattr(ports, node.name, None)
                assert given, f"{_at(path, node)}: tidegate.ports does not give {node.name}"
                assert given.__module__ == f"tidegate.ports.{path.stem}", _at(path, node)


def test_verbs_take_the_part_of_the_forge_that_they_need():
    whole = [
        _at(path, node)
        for module, path in PACKAGE_MODULES
        if module != "tidegate.ports.wiring"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith("ports.forge")
    ]
    assert whole == []


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
