"""``tidegate policy`` runs the tests of policies, and holds a plan against them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegate_cli.main import app

EXAMPLES = Path(__file__).parents[1] / "data" / "policies"
NETWORK = str(EXAMPLES / "network")
PLAN = str(EXAMPLES / "network" / "testdata" / "plan.json")
RULES = 'package main\nimport rego.v1\ndeny contains msg if { input.bad; msg := sprintf("%s", ["no"]) }\n'


def run(*arguments):
    return CliRunner().invoke(app, ("policy", *arguments))


@pytest.fixture
def policies(tmp_path):
    def write(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.rego").write_text(text, encoding="utf-8")
        return str(tmp_path)

    return write


def test_the_tests_of_the_examples_hold():
    result = run("test", NETWORK)
    assert (result.exit_code, "4 passed, 0 failed." in result.output) == (0, True)


def test_a_test_that_does_not_hold_is_told_with_its_place(policies):
    directory = policies(a=RULES, a_test="package main\nimport rego.v1\ntest_it if count(deny) == 1 with input as {}\n")
    result = run("test", directory, "--json")
    document = json.loads(result.output)
    assert (result.exit_code, document["passed"], document["error"]) == (1, False, None)
    [test] = document["tests"]
    assert (test["name"], test["passed"], test["line"]) == ("main.test_it", False, 3)
    assert test["file"].endswith("a_test.rego")
    assert "0 passed, 1 failed." in run("test", directory).output


def test_without_tests_nothing_has_passed(policies):
    result = run("test", policies(a=RULES))
    assert (result.exit_code, "There are no tests" in result.output) == (1, True)


def test_what_cannot_be_compiled_is_told_with_its_line(policies):
    directory = policies(a="package main\n\nx := := 1\n")
    result = run("test", directory)
    assert result.exit_code == 1
    assert "a.rego:3: " in result.output
    assert json.loads(run("test", directory, "--json").output)["error"]["line"] == 3


def test_a_plan_that_the_policies_refuse_is_told_finding_by_finding():
    result = run("check", PLAN, "--policies", NETWORK, "--json")
    document = json.loads(result.output)
    assert (result.exit_code, document["passed"]) == (1, False)
    assert [(each["rule"], each["address"]) for each in document["findings"]] == [
        ("main.deny", "aws_s3_bucket.logs"),
        ("main.violation_database", "aws_dynamodb_table.users"),
        ("main.warn", "aws_s3_bucket.logs"),
    ]
    assert "The policies deny the plan." in run("check", PLAN, "--policies", NETWORK).output


def test_a_plan_that_nothing_is_wrong_with_passes(policies, tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text("{}", encoding="utf-8")
    result = run("check", str(plan), "--policies", policies(a=RULES))
    assert (result.exit_code, result.output) == (0, "✔ The policies allow the plan.\n")


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("12.30", None),
        ("600", "This costs 600 USD more a month; 500 is the limit."),
        ("NaN", "The cost of this plan is not known."),
        (None, "The cost of this plan is not known."),
    ],
)
def test_the_policy_on_cost_of_the_guide_refuses_what_is_expensive_or_not_known(policies, tmp_path, cost, message):
    guide = (Path(__file__).parents[2] / "docs/policies.md").read_text(encoding="utf-8")
    _, rules = re.findall(r"```rego\n(.*?)```", guide, re.DOTALL)
    plan, output = tmp_path / "plan.json", tmp_path / "infracost.json"
    plan.write_text('{"resource_changes": []}', encoding="utf-8")
    total = {"version": "0.2", "currency": "USD", "projects": [], "totalMonthlyCost": "700"}
    output.write_text(json.dumps({**total, "diffTotalMonthlyCost": cost}), encoding="utf-8")
    stated = ("--cost", str(output)) if cost else ()
    result = run("check", str(plan), "--policies", policies(a=rules), "--json", *stated)
    found = [each["message"] for each in json.loads(result.output)["findings"]]
    assert (result.exit_code, found) == ((1, [message]) if message else (0, []))


def test_policies_in_the_old_syntax_are_held_against_as_well():
    result = run("check", PLAN, "--policies", str(EXAMPLES / "old"))
    assert (result.exit_code, "would be" in result.output) == (1, True)


def test_what_is_not_there_or_no_policy_is_refused(policies, tmp_path):
    assert run("check", PLAN, "--policies", "nowhere").exit_code == 3
    assert run("check", "nowhere.json", "--policies", NETWORK).exit_code == 3
    result = run("check", PLAN, "--policies", NETWORK, "--namespace", "other")
    assert (result.exit_code, "The package other has no rule" in " ".join(result.output.split())) == (1, True)
    big = tmp_path / "big"
    big.mkdir()
    (big / "a.json").write_bytes(b" " * (5 << 20))
    assert run("test", str(big)).exit_code == 2
