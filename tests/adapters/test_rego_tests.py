"""Tests of policies, as Rego has them."""

import pytest

from tidegate.policies.rego.engine import RegoEngine


@pytest.fixture(scope="module")
def engine():
    return RegoEngine()


def tests_of(engine, **files):
    return engine.test({path: text.encode() for path, text in files.items()}, 60)


NEW = "package main\nimport rego.v1\n"
POLICY = NEW + 'deny contains "no" if input.bad\n'


def test_tests_of_policies_tell_which_hold(engine):
    found = tests_of(
        engine,
        **{
            "p/main.rego": POLICY,
            "p/main_test.rego": "package main_test\nimport rego.v1\nimport data.main\n"
            'test_holds if main.deny["no"] with input as {"bad": true}\n'
            'test_does_not if main.deny["no"] with input as {"bad": false}\n'
            "helper := 3\n",
        },
    )
    assert [(each.name, each.passed) for each in found.rules] == [
        ("main_test.test_does_not", False),
        ("main_test.test_holds", True),
    ]
    assert (found.rules[0].file, found.rules[0].line) == ("p/main_test.rego", 5)
    assert not found.passed


def test_a_test_that_cannot_be_evaluated_does_not_hold(engine):
    found = tests_of(engine, **{"a.rego": POLICY, "a_test.rego": NEW + "test_a if 1 / 0 == 1\ntest_b if true\n"})
    broken = {each.name: (each.passed, "divide by zero" in each.error) for each in found.rules}
    assert broken == {"main.test_a": (False, True), "main.test_b": (True, False)}


def test_tests_with_an_unknown_function_are_not_run(engine):
    found = tests_of(engine, **{"a.rego": POLICY, "a_test.rego": NEW + "test_b if true\ntest_a if foo(1)\n"})
    assert not found.passed
    assert ("foo" in found.error, found.file, found.line) == (True, "a_test.rego", 4)


def test_policies_without_tests_have_not_passed_them(engine):
    assert not tests_of(engine, **{"a.rego": POLICY}).passed
    assert tests_of(engine, **{"a.rego": NEW + "x := \n"}).file == "a.rego"


USING = (
    NEW
    + """
deny contains sprintf("%s is bad", [each.name]) if {
  some each in input.things
  each.kind in {"bad", "worse"}
}
"""
)

MOCKING = {
    "a literal": 'count(main.deny) == 1 with input as {"things": [{"name": "x", "kind": "bad"}]}',
    "a rule": "count(main.deny) == 1 with input as mocked",
    "a part of a rule": 'count(main.deny) == 1 with input as mocks["one"]',
    "a function": 'count(main.deny) == 1 with input as mock("worse")',
    "a variable": 'given := mock("bad")\n  count(main.deny) == 1 with input as given',
    "a part of the input": 'count(main.deny) == 1 with input.things as [{"name": "x", "kind": "bad"}]',
    "two": 'main.deny["x is bad"] with input as mocked with data.o as mocks\n  not main.deny.y with input as mocked',
    "words that look like it": 'count(main.deny) == 1 with input as mock("bad") # with input as mocked',
    "text that looks like it": '"with input as mocked" == sprintf("with %s as mocked", ["input"])',
}


@pytest.mark.parametrize("name", MOCKING)
def test_tests_may_put_anything_in_place_of_the_input(engine, name):
    test = f"""package main_test
import rego.v1
import data.main
mocked := {{"things": [{{"name": "x", "kind": "bad"}}]}}
mocks := {{"one": mocked}}
mock(kind) := {{"things": [{{"name": "x", "kind": kind}}]}}
test_it if {{
  {MOCKING[name]}
}}
"""
    found = tests_of(engine, **{"main.rego": USING, "main_test.rego": test})
    assert [(each.name, each.passed, each.error) for each in found.rules] == [("main_test.test_it", True, "")], found


def test_a_test_may_name_a_local_variable_input_in_the_old_syntax(engine):
    policy = 'package main\ndeny[msg] { input.bad; msg := "no" }\n'
    test = 'package main\ntest_it { input := {"bad": true}; deny["no"] with input as input }\n'
    found = tests_of(engine, **{"a.rego": policy, "a_test.rego": test})
    assert [(each.name, each.passed, each.error) for each in found.rules] == [("main.test_it", True, "")]
