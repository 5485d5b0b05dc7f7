"""What ``stacks`` may say, and what is told to whoever wrote something else."""

from __future__ import annotations

import pytest

from tests.configuration import load, mistakes, refusal
from tidegate.changes.rules.stack import RunStrategy, StackRules
from tidegate.config.declarations import EngineText


def test_a_stack_is_a_leaf_or_a_stack_group_with_variables_an_engine_and_rules():
    loaded = load("""
stacks:
  names:
    dev:
      tag_query: dev
      variables: {region: eu-west-1, Replicas: 5, spot: true, ratio: 1.50, note: ''}
      engine: {name: '${STACK_VAR_ENGINE}', tf_version: 1.6.1}
    prod:
      tag_query: 'prod and not dev'
      engine: tofu
      on_change: {can_apply_after: [dev], apply_after: [stage], run_strategy: all-for-one}
      rules: {apply_after: [dev, shared], plan_after: [], modified_by: [dev, dev], auto_apply: false}
    shared: {tag_query: shared}
    stage: {tag_query: stage, on_change: , rules: , variables: }
    all: {stacks: [dev, stage]}
""")
    dev, prod, _, stage, group = loaded.stacks
    assert dev.definition.variables == (
        ("REGION", "eu-west-1"),
        ("REPLICAS", "5"),
        ("SPOT", "true"),
        ("RATIO", "1.50"),
        ("NOTE", ""),
    )
    assert (dev.line, dev.engine) == (4, EngineText("${STACK_VAR_ENGINE}", "1.6.1", 7))
    assert prod.definition.rules == StackRules(("dev", "stage", "shared"), (), ("dev",), False)
    assert prod.definition.run_strategy is RunStrategy.ALL_FOR_ONE
    assert prod.engine == EngineText("tofu", None, 10)
    assert stage.definition.rules == StackRules()
    assert (group.query, group.definition.contains) == (None, ("dev", "stage"))
    assert not loaded.several


def test_a_stack_says_how_it_is_rolled_out():
    rules = "{max_concurrent: 5, stop_on_failures: 2, soak: 90m, protected: true}"
    it = load(stack(f"{{tag_query: a, rules: {rules}}}")).stacks[1]
    assert it.definition.rules == StackRules(max_concurrent=5, stop_on_failures=2, soak=5400, protected=True)


def stack(text: str) -> str:
    return f"stacks:\n  names:\n    dev: {{tag_query: dev}}\n    it: {text}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("{}", 4, 9, ["neither 'tag_query' nor 'stacks'", "Add tag_query to select roots, or"]),
        ("{tag_query: a, stacks: [dev]}", 4, 9, ["both 'tag_query' and 'stacks'", "Keep one"]),
        ("{stacks: []}", 4, 18, ["the stack group is empty"]),
        ("{stacks: dev}", 4, 18, ["Write [dev]"]),
        ("{stacks: [dve]}", 4, 19, ["the stack 'dve' is not declared", "Did you mean 'dev'?"]),
        ("{tag_query: a, rules: {max_concurrent: 0}}", 4, 48, ["greater than or equal to 1"]),
        ("{tag_query: a, rules: {stop_on_failures: some}}", 4, 50, ["should be a number"]),
        ("{tag_query: a, rules: {soak: soon}}", 4, 38, ["'soon' is not a duration"]),
        ("{tag_query: a, rules: {soak: 8d}}", 4, 38, ["'8d' is too long"]),
        ("{tag_query: a, rules: {apply_after: [dev, prd]}}", 4, 51, ["stack 'it'", "the stack 'prd' is not declared"]),
        ("{tag_query: a, on_change: {can_apply_after: [x]}}", 4, 54, ["the stack 'x' is not declared"]),
        ("{tag_query: a, on_change: {apply_after: [x]}}", 4, 50, ["the stack 'x' is not declared"]),
        ("{tag_query: a, rules: {apply_after: [it]}}", 4, 45, ["it → it"]),
        ("{stacks: [dev, it]}", 4, 18, ["it contains itself"]),
        ("{tag_query: a, on_change: {run_strategy: all}}", 4, 50, ["'one-for-one' or 'all-for-one'"]),
        ("{tag_query: a, can_apply_after: [dev]}", 4, 24, ["unknown key 'can_apply_after'"]),
        ("{tag_query: a, rules: {auto_apply: maybe}}", 4, 44, ["Write true or false"]),
        ("{tag_query: a, variables: {x: [1]}}", 4, 39, ["expected a single value", "Write a string, a number, true"]),
        ("{tag_query: a, variables: {x: {y: 1}}}", 4, 39, ["expected a single value"]),
        ("{tag_query: a, variables: {x: }}", 4, 39, ["needs a value", "''"]),
        ("{tag_query: a, variables: {a-b: 1}}", 4, 36, ["'a-b'", "letters, digits and '_'"]),
        ("{tag_query: a, variables: {ß: 1}}", 4, 36, ["letters, digits and '_'"]),
        ('{tag_query: a, variables: {x: "a\\tb"}}', 4, 39, ["contains invisible characters"]),
        (f"{{tag_query: a, variables: {{x: {'y' * 1001}}}}}", 4, 39, ["at most 1000 characters"]),
        ("{tag_query: a, engine: pulumi}", 4, 32, ["'pulumi' is not an engine", "'terraform' or 'tofu'"]),
        ("{tag_query: a, engine: {version: '>1'}}", 4, 42, ["not an exact version"]),
        ("{tag_query: a, engine: {version: '${STACK_VAR_v}'}}", 4, 42, ["Write ${STACK_VAR_V}"]),
        ("{tag_query: a, engine: {version: 1.2.3, tf_version: 1.2.4}}", 4, 32, ["'1.2.3'", "Keep one"]),
    ],
)
def test_what_stacks_cannot_be_is_told_with_its_place(text, line, column, words):
    error = refusal(stack(text))
    assert (error.line, error.column) == (line, column)
    for word in words:
        assert word in str(error)


def test_variables_of_one_name_in_upper_case_are_refused_with_both_lines():
    error = refusal(
        "stacks:\n  names:\n    a:\n      tag_query: ''\n      variables:\n        foo: 1\n        Foo: 2\n"
    )
    assert (error.line, error.column) == (7, 9)
    assert error.problem == "the variables 'foo' (line 6) and 'Foo' both become STACK_VAR_FOO"


def test_variables_are_bounded_together():
    one = "stacks: {names: {a: {tag_query: '', variables: {" + ", ".join(f"v{n}: {'x' * 1000}" for n in range(11))
    assert "10000 characters" in str(refusal(one + "}}}}\n"))


def test_the_names_of_stacks_are_plain():
    assert "is not a valid stack name" in str(refusal("stacks: {names: {'a b': {tag_query: ''}}}\n"))
    assert refusal("stacks: {names: {'a b': {tag_query: ''}}}\n").column == 18


def test_stacks_that_wait_for_each_other_are_shown_as_a_cycle():
    error = refusal("""
stacks:
  names:
    dev: {tag_query: dev, rules: {apply_after: [prod]}}
    prod:
      tag_query: prod
      on_change: {can_apply_after: [dev]}
""")
    assert "dev → prod → dev" in error.problem
    assert error.line in {4, 7}


def test_mistakes_of_roots_and_stacks_are_told_together():
    text = "dirs:\n  a: {name: x}\n  b: {name: x}\nstacks: {names: {s: {stacks: [t]}}}\n"
    assert [each.line for each in mistakes(text)] == [3, 4]


def test_a_stack_that_is_not_declared_is_told_beside_mistakes_of_other_kinds():
    found = mistakes("""
stakcs: 1
stacks:
  names:
    dev: {tag_query: dev, tagz: x}
    prod: {tag_query: prod, rules: {apply_after: [dev, stagin], plan_after: dev, modified_by: [[dev], dve]}}
    all: {stacks: [dev, prd]}
    odd: 7
""")
    told = {(each.line, each.problem) for each in found}
    assert {(2, "unknown key 'stakcs'"), (5, "unknown key 'tagz'")} < told
    assert {
        (6, "stack 'prod': the stack 'stagin' is not declared"),
        (6, "stack 'prod': the stack 'dve' is not declared"),
    } < told
    assert (7, "stack 'all': the stack 'prd' is not declared") in told
    assert len({(each.line, each.column) for each in found}) == len(found)
    assert [each.line for each in found] == sorted(each.line for each in found)


@pytest.mark.parametrize("text", ["stacks: 1", "stacks: {names: [dev]}", "stacks: {names: {a: {stacks: [a]}}}\nx: 1"])
def test_what_is_no_mapping_of_stacks_names_none_that_is_not_declared(text):
    assert [each.problem for each in mistakes(text) if "the stack" in each.problem] == []
