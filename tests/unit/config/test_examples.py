"""Every example of the document that asked for stacks is read as it stands. They lie in tests/data/stacks."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import jsonschema
import pytest
import yaml

from tidegate.changes.rules.stack import RunStrategy
from tidegate.config.declarations import EngineText
from tidegate.config.loader import LoadedConfiguration, load_configuration
from tidegate.config.resolution import configure
from tidegate.config.schema import json_schema
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.rules.access import Access
from tidegate.rules.errors import InvalidConfiguration

EXAMPLES = Path(__file__).parents[2] / "data/stacks"
#: One line of these is not a list, as its first bracket is missing.
WITHOUT_BRACKET = {"tags-instead-of-stacks", "a-stack-for-each-project"}
#: This one is a section, not a file.
SECTION = "one-of-all-keys"
#: This one limits who applies, and not who unlocks: it is warned of that.
UNLOCKABLE = "controls-by-stack"


def text_of(name: str) -> str:
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def load(name: str) -> LoadedConfiguration:
    return load_text(text_of(name))


def load_text(text: str) -> LoadedConfiguration:
    return load_configuration(text.encode(), "acme/infra")


def stacks_of(loaded: LoadedConfiguration, *directories: str) -> dict[str, list[str]]:
    configured = configure(loaded, [Root(each, each) for each in directories])
    found: dict[str, list[str]] = {each: [] for each in directories}
    for each in configured.roots:
        found[each.root.name].append(each.stack)
    return found


@pytest.mark.parametrize(
    "name", sorted({path.stem for path in EXAMPLES.glob("*.yaml")} - WITHOUT_BRACKET - {SECTION, UNLOCKABLE})
)
def test_an_example_is_in_order_as_it_stands_and_nothing_of_it_misleads(name):
    assert load(name).warnings == ()


@pytest.mark.parametrize("name", sorted(WITHOUT_BRACKET))
def test_the_bracket_that_is_missing_is_told_with_the_list_that_was_meant(name):
    with pytest.raises(InvalidConfiguration) as caught:
        load(name)
    assert (caught.value.line, caught.value.column) == (5, 11)
    assert caught.value.problem == "'project1, prod]' is a string, but a list is needed"
    assert caught.value.allowed == "Write [project1, prod]"


@pytest.mark.parametrize("name", sorted(WITHOUT_BRACKET))
def test_with_its_bracket_the_example_is_in_order(name):
    loaded = load_text(text_of(name).replace("tags: project1, prod]", "tags: [project1, prod]"))
    depending = [
        name for name, each in loaded.declarations.items() if each.depends_on and each.depends_on.text == "dev"
    ]
    assert depending == ["project1/prod", "project2/prod"]
    assert loaded.warnings == ()


def test_without_stacks_there_is_a_default_one_and_a_declared_one_may_be_of_nothing():
    assert stacks_of(load("implicit-default"), "DirA") == {"DirA": ["default"]}
    assert stacks_of(load("no-stacks"), "DirA") == {"DirA": ["default"]}
    assert stacks_of(load("one-stack"), "DirA", "DirB") == {"DirA": ["foo"], "DirB": ["default"]}
    assert stacks_of(load("default-of-nothing"), "DirA", "DirB") == {"DirA": ["foo"], "DirB": []}


def test_all_keys_of_a_stack_are_taken():
    others = "    other_stack1: {tag_query: a}\n    other_stack2: {tag_query: b}\n"
    section = indent(text_of(SECTION), "      ")
    stack = load_text(f"stacks:\n  names:\n{others}    it:\n{section}").stacks[2]
    assert stack.query is not None
    assert stack.query.text == ""
    assert stack.definition.variables == (("VAR1", "value"), ("VAR2", "value"))
    assert stack.definition.rules.apply_after == ("other_stack1", "other_stack2")
    assert stack.definition.run_strategy is RunStrategy.ONE_FOR_ONE


def test_the_gate_of_a_promotion_is_taken_under_both_of_its_names():
    for name in ("promotion", "engine-of-a-stack"):
        prod, dev = load(name).stacks
        assert (prod.definition.rules.apply_after, dev.definition.rules.apply_after) == (("dev",), ())


def test_variables_stand_in_commands_and_environments():
    (workflow,) = load("variable-in-a-command").workflows
    echo = WorkflowStep(StepKind.RUN, ("echo", "${STACK_VAR_STACK_SPECIFIC}"))
    assert workflow.plan == (echo, WorkflowStep(StepKind.INIT), WorkflowStep(StepKind.PLAN))
    assert workflow.lines == {"${STACK_VAR_STACK_SPECIFIC}": 19}
    assert load("environment-by-variable").workflows[0].environment == "${STACK_VAR_ENVIRONMENT}"


def test_each_stack_has_its_engine():
    loaded = load("engine-of-a-stack")
    assert [stack.engine for stack in loaded.stacks] == [
        EngineText("terraform", "1.5.7", 10),
        EngineText("tofu", "1.6.1", 17),
    ]
    dirs = "dirs: {a: {tags: [production]}, b: {tags: [development]}}\n"
    tagged = load_text(dirs + text_of("engine-of-a-stack"))
    assert {
        each.stack: (each.root.engine, each.run.environment)
        for each in configure(tagged, [Root("a", "a"), Root("b", "b")]).roots
    } == {
        "prod": (Engine(EngineName.TERRAFORM, "1.5.7"), "prod"),
        "dev": (Engine(EngineName.TOFU, "1.6.1"), "dev"),
    }


def test_rights_and_requirements_follow_the_stack():
    loaded = load(UNLOCKABLE)
    assert ["may unlock" in each.text for each in loaded.warnings] == [True]
    assert [each.access for each in loaded.policies or ()] == [
        Access(apply=("team:sre",), review=("team:sre",)),
        Access(),
    ]
    assert [each.requirements for each in loaded.checks or ()] == [
        Requirements(approvals=2, any_of=("team:sre",)),
        Requirements(),
    ]


def test_a_root_may_be_in_two_stacks():
    loaded = load("a-root-in-two-stacks")
    assert stacks_of(loaded, "network", "production", "development") == {
        "network": ["prod", "dev"],
        "production": ["prod"],
        "development": ["dev"],
    }


@pytest.fixture(scope="module")
def schema():
    schema = json_schema()
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize(
    "path",
    [
        *(path for path in sorted(EXAMPLES.glob("*.yaml")) if path.stem not in {*WITHOUT_BRACKET, SECTION}),
        EXAMPLES.parent / "configuration/everything.yaml",
    ],
    ids=lambda path: path.stem,
)
def test_the_schema_that_editors_read_takes_the_example(path, schema):
    schema.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
